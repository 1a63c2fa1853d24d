// Cases for the MPI communicator and the forming of groups, run by mpirun. Every rank checks; one failure
// fails the run.
#include "comm/communicator.h"

#include "daos_errno.h"
#include "stepstore/error.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <mpi.h>
#include <thread>

namespace {

using namespace stepstore;

int world_rank = 0;
int world_size = 1;

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, world_rank,           \
                         #condition);                                                                        \
            std::fflush(stderr);                                                                             \
            std::_Exit(1);                                                                                   \
        }                                                                                                    \
    } while (false)

// The code and message of the Error that `call` must throw.
std::pair<int, std::string> error_of(const std::function<void()>& call)
{
    try {
        call();
    } catch (const Error& error) {
        return {error.code(), error.what()};
    }
    return {0, "nothing was thrown"};
}

bool contains(const std::string& text, const std::string& part)
{
    if (text.find(part) != std::string::npos) return true;
    std::fprintf(stderr, "no \"%s\" in: %s\n", part.c_str(), text.c_str());
    return false;
}

std::vector<std::byte> pattern(std::size_t size, unsigned seed)
{
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>((i * 31 + (i >> 16) + seed) & 0xff);
    return bytes;
}

// In rows of two or three ranks, which do not wait for each other.
void check_rows(Communicator& comm)
{
    for (const int size : {2, 3}) {
        const int first = comm.rank() / size * size;
        const RankRow row{first, std::min(size, comm.size() - first)};
        const int rounds = 1 + first; // some have more to do than others
        for (int round = 0; round < rounds; ++round) {
            const auto seed = static_cast<unsigned>(100 * first + round);
            for (const std::size_t length : {0UL, 2040UL, 2041UL, 100000UL}) {
                auto bytes = comm.rank() == first ? pattern(length, seed) : std::vector<std::byte>(3);
                comm.broadcast_row(bytes, row);
                EXPECT(bytes == pattern(length, seed));
            }
            const auto length = [](int rank) { return static_cast<std::size_t>(rank) * 700; };
            std::vector<std::byte> all(1), expected;
            std::vector<std::uint64_t> offsets(1);
            comm.gather_row(pattern(length(comm.rank()), seed), all, offsets, row);
            if (comm.rank() != first) {
                EXPECT(all.empty() && offsets.empty());
                continue;
            }
            for (int rank = first; rank < first + row.count; ++rank) {
                EXPECT(offsets[static_cast<std::size_t>(rank - first)] == expected.size());
                const auto part = pattern(length(rank), seed);
                expected.insert(expected.end(), part.begin(), part.end());
            }
            EXPECT(all == expected && offsets.back() == all.size());
        }
        comm.barrier();
    }
}

void check_collectives(Communicator& comm)
{
    check_rows(comm);
    int size = comm.size();
    EXPECT(comm.on_one_machine());
    auto count = static_cast<std::size_t>(size);
    for (int root = 0; root < size; ++root) {
        for (std::size_t length : {0UL, 1UL, 2040UL, 2041UL, 100000UL}) {
            auto bytes = comm.rank() == root ? pattern(length, 7) : std::vector<std::byte>(3);
            comm.broadcast(bytes, root);
            EXPECT(bytes == pattern(length, 7));
        }
        // Differing lengths, one of them zero.
        auto mine = pattern(static_cast<std::size_t>(comm.rank()) * 5000, static_cast<unsigned>(comm.rank()));
        std::vector<std::byte> all(1);
        std::vector<std::uint64_t> offsets(1);
        comm.gather(mine, all, offsets, root);
        if (comm.rank() != root) {
            EXPECT(all.empty() && offsets.empty());
            continue;
        }
        EXPECT(offsets.size() == count + 1 && offsets.back() == all.size());
        for (std::size_t r = 0; r < count; ++r) {
            std::vector<std::byte> part(all.begin() + static_cast<std::ptrdiff_t>(offsets[r]),
                                        all.begin() + static_cast<std::ptrdiff_t>(offsets[r + 1]));
            EXPECT(part == pattern(r * 5000, static_cast<unsigned>(r)));
        }
    }
    auto all = comm.allgather(static_cast<std::uint64_t>(comm.rank()) + 100);
    EXPECT(all.size() == count);
    for (std::size_t r = 0; r < count; ++r)
        EXPECT(all[r] == r + 100);
    // Some ranks make the one call, some the other. Rank 0 works when all are here, and before any goes on.
    for (int round = 0; round < 20; ++round) {
        const auto mine = static_cast<std::uint64_t>(comm.rank() + round);
        const auto work = [&](const std::vector<std::uint64_t>& numbers) {
            EXPECT(comm.rank() == 0 && numbers.size() == count);
            for (std::size_t r = 0; r < count; ++r)
                EXPECT(numbers[r] == r + static_cast<std::uint64_t>(round));
            return std::uint64_t{77};
        };
        const bool other = comm.rank() > 0 && comm.rank() % 2 == round % 2;
        all = other ? comm.allgather(mine) : comm.allgather_after(mine, work);
        EXPECT(all.front() == 77);
        for (std::size_t r = 1; r < count; ++r)
            EXPECT(all[r] == r + static_cast<std::uint64_t>(round));
    }
    EXPECT(comm.max(static_cast<std::uint64_t>(comm.rank()) * 3) == static_cast<std::uint64_t>(size - 1) * 3);
    comm.barrier();
}

void collectives()
{
    MPI_Comm everyone = MPI_COMM_WORLD;
    auto comm = mpi_communicator(&everyone);
    EXPECT(comm->rank() == world_rank && comm->size() == world_size);
    check_collectives(*comm);
    check_collectives(*self_communicator());
}

void world()
{
    // Several openings one after the other, some at the same time.
    auto first = form_group("out write", GroupChoice::automatic, 20);
    auto second = form_group("in read", GroupChoice::world, 20);
    for (auto* comm : {first.get(), second.get()}) {
        EXPECT(comm->size() == world_size && comm->rank() == world_rank);
        check_collectives(*comm);
    }
    first.reset();
    for (int i = 0; i < 20; ++i)
        EXPECT(form_group("again " + std::to_string(i), GroupChoice::automatic, 20)->size() == world_size);
    check_collectives(*second);
    EXPECT(form_group("out write", GroupChoice::self, 0)->size() == 1);
    EXPECT(error_of([] { form_group("out write", GroupChoice::automatic, -1); }).first == -DER_INVAL);
}

// Ranks that wait for one that works leave the processors alone. Processor time, so a busy machine changes
// nothing.
void waiting()
{
    auto comm = form_group("waiting", GroupChoice::world, 30);
    const auto processor_seconds = [&](const std::function<void()>& wait) {
        comm->barrier();
        const auto before = std::clock();
        if (comm->rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
        wait();
        return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    };
    EXPECT(processor_seconds([&] { comm->barrier(); }) < 0.5);
    EXPECT(processor_seconds([&] {
               auto bytes = comm->rank() == 0 ? pattern(100000, 7) : std::vector<std::byte>();
               comm->broadcast(bytes, 0);
               EXPECT(bytes == pattern(100000, 7));
           }) < 0.5);
}

void large()
{
    auto comm = form_group("large", GroupChoice::world, 30);
    constexpr std::size_t beyond_2_gib = (std::size_t{2} << 30) + 12345;
    {
        std::vector<std::byte> bytes;
        if (comm->rank() == 0) {
            bytes.resize(beyond_2_gib);
            for (std::size_t i = 0; i < beyond_2_gib; i += 4093)
                bytes[i] = static_cast<std::byte>(i >> 12 & 0xff);
            bytes.back() = std::byte{77};
        }
        comm->broadcast(bytes, 0);
        EXPECT(bytes.size() == beyond_2_gib && bytes.back() == std::byte{77});
        for (std::size_t i = 0; i < beyond_2_gib - 1; i += 4093)
            EXPECT(bytes[i] == static_cast<std::byte>(i >> 12 & 0xff));
    }
    // More than one piece from rank 1, none from rank 0.
    constexpr std::size_t beyond_1_gib = (std::size_t{1} << 30) + 999;
    std::vector<std::byte> mine(comm->rank() == 1 ? beyond_1_gib : 0, std::byte{5});
    std::vector<std::byte> all;
    std::vector<std::uint64_t> offsets;
    comm->gather(mine, all, offsets, 0);
    if (comm->rank() == 0) {
        EXPECT((offsets == std::vector<std::uint64_t>{0, 0, beyond_1_gib}));
        EXPECT(all.size() == beyond_1_gib && all.front() == std::byte{5} && all.back() == std::byte{5});
    }
}

void different_keys()
{
    auto comm = form_group("own-" + std::to_string(world_rank), GroupChoice::automatic, 20);
    EXPECT(comm->size() == 1 && comm->rank() == 0);
    // And together again afterwards.
    EXPECT(form_group("common", GroupChoice::automatic, 20)->size() == world_size);
}

void two_groups()
{
    auto comm = form_group(world_rank % 2 == 0 ? "even" : "odd", GroupChoice::automatic, 20);
    EXPECT(comm->size() == world_size / 2 && comm->rank() == world_rank / 2);
    check_collectives(*comm);
}

// The last rank does not come to a call: the others' calls end with what their watch throws, and MPI itself
// goes on.
// In each of them rank 0 waits for the last one, and the others for both or for rank 0.
const std::vector<std::pair<const char*, std::function<void(Communicator&)>>>& calls_with_the_last()
{
    static const std::vector<std::pair<const char*, std::function<void(Communicator&)>>> calls = {
        {"barrier", [](Communicator& comm) { comm.barrier(); }},
        {"broadcast",
         [](Communicator& comm) {
             auto bytes = pattern(10, 1);
             comm.broadcast(bytes, world_size - 1);
         }},
        {"gather",
         [](Communicator& comm) {
             std::vector<std::byte> all;
             std::vector<std::uint64_t> offsets;
             comm.gather(pattern(100000, 1), all, offsets, 0); // rank 0 waits for the last one,
             comm.broadcast(all, 0);                           // and the others for rank 0
         }},
        {"allgather", [](Communicator& comm) { comm.allgather(1); }},
        {"max", [](Communicator& comm) { comm.max(1); }},
    };
    return calls;
}

void a_rank_leaves()
{
    const std::string why = "the last rank left, by an exception";
    for (const bool late : {false, true})
        for (const auto& [name, call] : calls_with_the_last()) {
            auto comm = form_group(name, GroupChoice::world, 20);
            if (world_rank == world_size - 1) {
                if (late) std::this_thread::sleep_for(std::chrono::milliseconds(300));
                comm->leave(why);
            } else {
                EXPECT(error_of([&] { call(*comm); }) == std::pair(-DER_CANCELED, why));
            }
            EXPECT(error_of([&] { comm->barrier(); }).first == -DER_CANCELED); // at once
            comm.reset();
            check_collectives(*form_group("after", GroupChoice::world, 20));
        }
    self_communicator()->leave(why);
}

void a_rank_does_not_come()
{
    for (const auto& [name, call] : calls_with_the_last()) {
        auto comm = form_group(name, GroupChoice::world, 20);
        int looks = 0;
        comm->watch([&] {
            if (++looks == 3) throw Error(-DER_CANCELED, "the last rank is lost");
        });
        if (world_rank < world_size - 1) {
            EXPECT(error_of([&] { call(*comm); }) ==
                   std::pair(-DER_CANCELED, std::string("the last rank is lost")));
            EXPECT(looks == 3);
            EXPECT(error_of([&] { comm->barrier(); }).first == -DER_CANCELED); // at once
            EXPECT(looks == 3);
        }
        comm->watch({});
        comm.reset();
        check_collectives(*form_group("after", GroupChoice::world, 20));
    }
    // Waiting alone is no reason to give up.
    auto comm = form_group("patient", GroupChoice::world, 20);
    int looks = 0;
    comm->watch([&] { ++looks; });
    if (world_rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    check_collectives(*comm);
    EXPECT(world_rank == 0 || looks > 0);
    comm->watch({});
}

void world_but_different()
{
    auto [code, text] =
        error_of([] { form_group("own-" + std::to_string(world_rank), GroupChoice::world, 20); });
    EXPECT(code == -DER_MISMATCH);
    EXPECT(contains(text, "Communicator"));
}

void handed_over_part()
{
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < 3 ? 1 : MPI_UNDEFINED, world_rank, &part);
    if (world_rank < 3) {
        auto comm = mpi_communicator(&part);
        EXPECT(comm->size() == 3);
        MPI_Comm_free(&part); // ours is a duplicate
        check_collectives(*comm);
    } else {
        EXPECT(error_of([&] { mpi_communicator(&part); }).first == -DER_INVAL);
    }
    EXPECT(error_of([] { mpi_communicator(nullptr); }).first == -DER_INVAL);
}

// Parts of a communicator open something each, and a part opens nothing.
void within_a_part()
{
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < 3 ? 1 : 0, world_rank, &part);
    const int others = world_rank < 3 ? 3 : 1;
    auto all = form_group_within(&part, "the thing", 20);
    EXPECT(all->size() == others);
    check_collectives(*all);
    auto some = form_group_within(&part, world_rank == 1 ? "mine" : "the thing", 20);
    EXPECT(some->size() == (others == 3 && world_rank != 1 ? 2 : 1));
    check_collectives(*some);
    if (world_rank == 0) {
        auto error = error_of([&] { form_group_within(&part, "the thing", 0.3); });
        EXPECT(error.first == -DER_TIMEDOUT);
        for (const char* text : {"the thing", "rank 0", "3 ranks", "GroupTimeoutSecs"})
            EXPECT(contains(error.second, text));
    }
    EXPECT(error_of([&] { form_group_within(&part, "the thing", -1); }).first == -DER_INVAL);
    EXPECT(error_of([&] { form_group_within(nullptr, "the thing", 1); }).first == -DER_INVAL);
}

void late_ranks()
{
    // Ranks come seconds apart, but within the time-out.
    std::this_thread::sleep_for(std::chrono::milliseconds(700 * world_rank));
    EXPECT(form_group("late", GroupChoice::automatic, 30)->size() == world_size);
    std::this_thread::sleep_for(std::chrono::milliseconds(700 * (world_size - world_rank)));
    EXPECT(form_group("late", GroupChoice::automatic, 30)->size() == world_size);
}

void expect_advice(const std::pair<int, std::string>& error)
{
    EXPECT(error.first == -DER_TIMEDOUT);
    EXPECT(contains(error.second, "Communicator=self"));
    EXPECT(contains(error.second, "GroupTimeoutSecs"));
    EXPECT(contains(error.second, "the thing"));
}

void only_rank_0()
{
    if (world_rank != 0) return;
    expect_advice(error_of([] { form_group("the thing", GroupChoice::automatic, 1); }));
    expect_advice(error_of([] { form_group("the thing", GroupChoice::automatic, 0.2); }));
    // The ways out work, and MPI itself is as it was.
    EXPECT(form_group("the thing", GroupChoice::self, 1)->size() == 1);
    MPI_Comm alone = MPI_COMM_SELF;
    EXPECT(mpi_communicator(&alone)->size() == 1);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_free(&copy);
}

void without_rank_0()
{
    EXPECT(form_group("all", GroupChoice::automatic, 20)->size() == world_size);
    if (world_rank == 0) return;
    expect_advice(error_of([] { form_group("the thing", GroupChoice::automatic, 1); }));
}

// After meetings that failed, MPI and the meetings of all ranks work on.
void expect_all_is_well()
{
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_free(&copy);
    auto comm = form_group("together again", GroupChoice::automatic, 20);
    EXPECT(comm->size() == world_size);
    check_collectives(*comm);
}

// Jobs on several machines meet over MPI; here the launcher's word for "one machine" is taken away.
void several_machines()
{
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    unsetenv("MPI_LOCALNRANKS");
    two_groups();
    world();
    if (world_rank == 2) return;
    expect_advice(error_of([] { form_group("the thing", GroupChoice::automatic, 1); }));
    // Out of step from now on: told so at once.
    expect_advice(error_of([] { form_group("the thing", GroupChoice::automatic, 1000); }));
    MPI_Comm alone = MPI_COMM_SELF;
    EXPECT(mpi_communicator(&alone)->size() == 1);
}

void part_after_world()
{
    EXPECT(form_group("all", GroupChoice::automatic, 20)->size() == world_size);
    if (world_rank == 3) {
        // Comes when the others have given up: must not be taken for a group, and must not hang.
        std::this_thread::sleep_for(std::chrono::seconds(5));
        expect_advice(error_of([] { form_group("the thing", GroupChoice::automatic, 1); }));
        return;
    }
    auto error = error_of([] { form_group("the thing", GroupChoice::automatic, 1); });
    expect_advice(error);
    EXPECT(contains(error.second, "3 of the 4 ranks"));
}

std::shared_ptr<Communicator> kept;

void freed_at_finalize()
{
    kept = form_group("all", GroupChoice::automatic, 20);
}

void after_finalize()
{
    EXPECT(error_of([] { kept->barrier(); }).first == -DER_NO_PERM);
    kept.reset(); // frees nothing: MPI is gone
    EXPECT(form_group("later", GroupChoice::automatic, 5)->size() == 1);
    EXPECT(error_of([] { form_group("later", GroupChoice::world, 5); }).first == -DER_NOSYS);
}

void not_initialised()
{
    EXPECT(form_group("key", GroupChoice::automatic, 5)->size() == 1);
    auto error = error_of([] { form_group("key", GroupChoice::world, 5); });
    EXPECT(error.first == -DER_NOSYS);
    EXPECT(contains(error.second, "MPI_Init"));
    MPI_Comm world = MPI_COMM_WORLD;
    EXPECT(error_of([&] { mpi_communicator(&world); }).first == -DER_NOSYS);
}

} // namespace

int main(int argc, char** argv)
{
    const std::map<std::string, void (*)()> cases = {
        {"collectives", collectives},
        {"world", world},
        {"large", large},
        {"waiting", waiting},
        {"different_keys", different_keys},
        {"two_groups", two_groups},
        {"a_rank_does_not_come", a_rank_does_not_come},
        {"a_rank_leaves", a_rank_leaves},
        {"world_but_different", world_but_different},
        {"handed_over_part", handed_over_part},
        {"within_a_part", within_a_part},
        {"late_ranks", late_ranks},
        {"only_rank_0", only_rank_0},
        {"without_rank_0", without_rank_0},
        {"part_after_world", part_after_world},
        {"several_machines", several_machines},
        {"freed_at_finalize", freed_at_finalize},
    };
    std::string name = argc > 1 ? argv[1] : "";
    if (name == "not_initialised") {
        not_initialised();
        return 0;
    }
    if (!cases.contains(name)) {
        std::fprintf(stderr, "no case '%s'\n", name.c_str());
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    cases.at(name)();
    if (name == "only_rank_0" || name == "without_rank_0" || name == "part_after_world") expect_all_is_well();
    MPI_Finalize();
    if (name == "freed_at_finalize") after_finalize();
    return 0;
}

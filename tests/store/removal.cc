// Arrays that are removed or made shorter in many transactions: a reader between two of them gets all,
// or is told that it is short. Each such moment is hit exactly, by a back end that calls back after each
// commit.
#include "store/builtin.h"
#include "support/forwarding.h"
#include "support/processes.h"
#include "support/store_fixture.h"

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>

namespace stepstore::testing {
namespace {

std::function<void()> after_commit; // nothing is open on any target then
thread_local int nested = 0;

class WatchedTarget final : public ForwardingTarget {
public:
    using ForwardingTarget::ForwardingTarget;
    void write(FunctionRef<void(WriteTransaction&)> body) override
    {
        ++nested;
        try {
            real_.write(body);
        } catch (...) {
            --nested;
            throw;
        }
        if (--nested != 0 || !after_commit) return;
        const auto look = std::exchange(after_commit, nullptr); // not for what it does itself
        look();
        after_commit = look;
    }
};

// Over another back end, for paths that end with the name.
template <Backend (*real)()>
Backend watched(const char* name)
{
    return {
        name,
        [](const std::string& path, const NewPool& options) -> std::unique_ptr<Storage> {
            return std::make_unique<ForwardingStorage<WatchedTarget>>(path, real().create(path, options));
        },
        [](const std::string& path) -> std::unique_ptr<Storage> {
            return std::make_unique<ForwardingStorage<WatchedTarget>>(path, real().open(path));
        },
        [](const std::string& path) { real().destroy(path); },
        [](const std::string&) { return Found::nothing; },
    };
}

constexpr ArrayAttributes shape{1, 64};
constexpr std::uint64_t piece = 16;
constexpr std::uint64_t pieces = 2500; // so many records, and not in one transaction
constexpr std::uint64_t cells = piece * pieces;

// Each piece is a record of its own.
void fill_with_pieces(Container& container, const ObjectId& oid, const std::vector<std::byte>& content)
{
    container.array_create(oid, shape);
    for (std::uint64_t n = 0; n < pieces; n += 500) {
        std::vector<Range> ranges;
        for (std::uint64_t one = n; one < n + 500; ++one)
            ranges.push_back({one * piece, piece});
        const Bytes memory = Bytes(content).subspan(n * piece, 500 * piece);
        container.array_write(oid, shape, ranges, {&memory, 1});
    }
}

struct Case {
    std::string backend;
    const char* name;
    std::uint64_t object_class;
};

class Removed : public ::testing::TestWithParam<Case> {
protected:
    void SetUp() override
    {
        path = directory / (GetParam().backend + "-watched");
        PoolOptions options;
        options.targets = 4;
        pool = Pool::create(path, options);
        pool->create_container(uuid_of(1), "test", {});
        container = pool->open_container("test");
        fill(*container);
    }
    void TearDown() override
    {
        after_commit = nullptr;
        container.reset();
        pool.reset();
        EXPECT_TRUE(undamaged(Pool::check(path, {})));
        Pool::destroy(path);
    }
    ObjectId oid() const { return array_object(7, GetParam().object_class); }
    void fill(Container& in) const { fill_with_pieces(in, oid(), content); }
    // What a reader gets: all `before` cells, or all that are left of them.
    void expect_all_or_short(Container& in, std::uint64_t before, std::uint64_t after, Epoch epoch = latest)
    {
        const std::uint64_t size = in.array_size(oid(), shape, epoch);
        EXPECT_TRUE(size == before || size == after) << size;
        for (const Range range : {Range{0, before}, Range{0, before / 3}, Range{before / 2, before / 2},
                                  Range{before - piece, piece}, Range{5, 100}}) {
            ReadResult result;
            const auto bytes = read_cells(in, oid(), shape, range.index, range.length, epoch, &result);
            const std::uint64_t end = range.index + range.length;
            const std::uint64_t left = std::max(std::min(after, end), range.index);
            EXPECT_TRUE(result.cells_short == 0 || result.cells_short == end - left) << result.cells_short;
            const std::uint64_t whole = result.cells_short == 0 ? range.length : left - range.index;
            EXPECT_TRUE(
                std::ranges::equal(Bytes(bytes).first(whole), Bytes(content).subspan(range.index, whole)))
                << "cells " << range.index << " to " << end << ", " << result.cells_short << " short";
        }
    }
    // In a process that is killed after so many commits: destroys the array, or cuts it to `left` cells. The
    // process's status.
    int removed_until(bool destroy, std::uint64_t left, int commit) const
    {
        return run_in_child([&] {
            const auto mine = Pool::open(path, Access::read_write)->open_container("test");
            int commits = 0;
            after_commit = [&] {
                if (++commits == commit) raise(SIGKILL);
            };
            if (destroy)
                mine->punch(oid());
            else
                mine->array_set_size(oid(), shape, left);
            return 0;
        });
    }
    // Reads after each commit of `change`, and takes a snapshot at one of them. How many there were.
    int watch(std::uint64_t before, std::uint64_t after, const std::function<void()>& change)
    {
        int commits = 0;
        Epoch snapshot = 0;
        after_commit = [&] {
            expect_all_or_short(*container, before, after);
            if (++commits == 2) snapshot = container->create_snapshot("");
            if (snapshot != 0) expect_all_or_short(*container, before, after, snapshot);
        };
        change();
        after_commit = nullptr;
        EXPECT_EQ(container->array_size(oid(), shape), after);
        EXPECT_NE(snapshot, 0U) << "one transaction did it all";
        expect_all_or_short(*container, before, after, snapshot);
        return commits;
    }

    const std::vector<std::byte> content = pattern(cells, 1);
    TemporaryDirectory directory;
    std::string path;
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Container> container;
};

Backend watched_lmdb()
{
    Backend one = watched<lmdb::backend>("watched-lmdb");
    one.names = [](const std::string& path) { return path.ends_with("lmdb-watched"); };
    return one;
}
Backend watched_memory()
{
    Backend one = watched<memory::backend>("watched-memory");
    one.names = [](const std::string& path) { return path.ends_with("memory-watched"); };
    return one;
}
[[maybe_unused]] const bool registered =
    (register_backend(watched_lmdb()), register_backend(watched_memory()), true);

std::vector<Case> cases()
{
    std::vector<Case> all;
    for (const char* backend : {"lmdb", "memory"}) {
        all.push_back({backend, "S1", class_s1});
        all.push_back({backend, "SX", class_sx});
        all.push_back({backend, "RP_2G1", class_rp_2g1});
        all.push_back({backend, "RP_2GX", class_rp_2gx});
    }
    return all;
}
INSTANTIATE_TEST_SUITE_P(Classes, Removed, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.backend + "_" + info.param.name; });

TEST_P(Removed, ADestroyedArrayIsThereOrGone)
{
    watch(cells, 0, [&] { container->punch(oid()); });
    EXPECT_FALSE(container->holds(oid()));
    fill(*container);
    expect_all_or_short(*container, cells, cells);
}

TEST_P(Removed, AShorterArrayIsThereOrShorter)
{
    for (const std::uint64_t left :
         {std::uint64_t{0}, cells / 2 + 3, std::uint64_t{64 * 5}, std::uint64_t{1}}) {
        watch(cells, left, [&] { container->array_set_size(oid(), shape, left); });
        container->punch(oid());
        fill(*container);
    }
}

TEST_P(Removed, AnArrayOfADestroyedContainerIsThereOrAnError)
{
    int errors = 0;
    after_commit = [&] {
        const int code = der_of([&] { expect_all_or_short(*container, cells, cells); });
        EXPECT_TRUE(code == 0 || code == DER_NONEXIST) << code;
        errors += code == 0 ? 0 : 1;
    };
    pool->destroy_container("test", true);
    after_commit = nullptr;
    EXPECT_GT(errors, 0);
}

// Holes stay holes: of arrays that nothing was removed from, and of those that grew again.
TEST_P(Removed, AHoleIsNoEnd)
{
    container->punch(oid());
    container->array_create(oid(), shape);
    const std::vector<std::byte> zeros(1000);
    const auto expect_hole = [&] {
        ReadResult result;
        EXPECT_EQ(read_cells(*container, oid(), shape, 50, 1000, latest, &result), zeros);
        EXPECT_EQ(result.cells_short, 0U);
    };
    write_cells(*container, oid(), shape, 4000, Bytes(content).first(piece));
    expect_hole();
    container->array_set_size(oid(), shape, 3000);
    expect_hole();
    container->array_set_size(oid(), shape, 5000);
    expect_hole();
}

// A process is killed after each of its transactions in turn.
TEST_P(Removed, AfterAKillItIsThereOrGoneAndTheNextOneBeginsAnew)
{
    if (GetParam().backend != "lmdb") GTEST_SKIP() << "its pools do not survive their process";
    const std::uint64_t half = cells / 2 + 3;
    for (const bool destroy : {true, false}) {
        const std::uint64_t left = destroy ? 0 : half;
        for (int commit = 1;; ++commit) {
            const int status = removed_until(destroy, half, commit);
            expect_all_or_short(*container, cells, left);
            if (destroy && !container->array_attributes(oid())) {
                container->array_create(oid(), shape); // finishes what was left
                EXPECT_EQ(container->array_size(oid(), shape), 0U);
                write_cells(*container, oid(), shape, 100, Bytes(content).first(piece));
                ReadResult result;
                auto expected = std::vector<std::byte>(116);
                std::ranges::copy(Bytes(content).first(piece), expected.begin() + 100);
                EXPECT_EQ(read_cells(*container, oid(), shape, 0, 116, latest, &result), expected);
                EXPECT_EQ(result.cells_short, 0U);
                EXPECT_EQ(container->array_size(oid(), shape), 116U);
            }
            if (!destroy) { // who goes on writes behind the new end, and finishes it by a size of its own
                const std::uint64_t size = container->array_size(oid(), shape);
                write_cells(*container, oid(), shape, size + 500, Bytes(content).first(piece));
                container->array_set_size(oid(), shape, size + 1000);
                ReadResult result;
                const auto bytes = read_cells(*container, oid(), shape, size, 1000, latest, &result);
                auto expected = std::vector<std::byte>(1000);
                std::ranges::copy(Bytes(content).first(piece), expected.begin() + 500);
                EXPECT_EQ(bytes, expected) << "after commit " << commit;
                EXPECT_EQ(result.cells_short, 0U);
            }
            container->punch(oid());
            EXPECT_FALSE(container->holds(oid()));
            fill(*container);
            if (status == 0 || HasFailure()) {
                EXPECT_GT(commit, 3);
                break;
            }
            EXPECT_EQ(status, -SIGKILL);
        }
    }
}

// And who writes without making it anew, or repairs, does the rest of it.
TEST_P(Removed, AWriteOrARepairFinishesWhatAKilledProcessLeft)
{
    if (GetParam().backend != "lmdb") GTEST_SKIP() << "its pools do not survive their process";
    constexpr std::uint64_t few = 100; // records
    constexpr std::array<std::uint64_t, 3> written_at{100, cells / 2, cells - 3};
    int finished = 0;
    for (const bool destroy : {true, false}) {
        const std::uint64_t left = destroy ? 0 : piece;
        for (int commit = 1, status = -SIGKILL; status != 0 && !HasFailure(); ++commit) {
            SCOPED_TRACE("commit " + std::to_string(commit));
            status = removed_until(destroy, left, commit);
            ASSERT_TRUE(status == 0 || status == -SIGKILL);
            const bool begun = container->array_size(oid(), shape) == left;
            const bool by_repair = (commit + (destroy ? 1 : 0)) % 2 == 0;
            std::vector<std::byte> expected(left);
            std::ranges::copy(Bytes(content).first(left), expected.begin());
            if (by_repair) {
                CheckOptions repair;
                repair.repair = true;
                Pool::check(path, repair);
            } else {
                const std::uint64_t at = written_at[static_cast<std::size_t>(commit) % written_at.size()];
                // In a process that has not looked lately.
                write_cells(*Pool::open(path, Access::read_write)->open_container("test"), oid(), shape, at,
                            Bytes(content).first(3));
                expected.resize(at);
                expected.insert(expected.end(), content.begin(), content.begin() + 3);
            }
            if (begun) {
                ++finished;
                EXPECT_LT(Pool::check(path, {}).records, few);
                ReadResult result;
                EXPECT_EQ(container->array_size(oid(), shape), expected.size());
                EXPECT_EQ(read_cells(*container, oid(), shape, 0, expected.size(), latest, &result),
                          expected);
                EXPECT_EQ(result.cells_short, 0U);
            }
            container->punch(oid());
            fill(*container);
        }
    }
    EXPECT_GT(finished, 5);
}

// Of an object that has records on one target alone, such as a small file.
TEST_P(Removed, WhatLiesOnOneTargetGoesInOneCommit)
{
    const bool is_spread = GetParam().object_class == class_sx;
    for (std::uint64_t chunk = 0; chunk < 6; ++chunk) {
        const ObjectId small = array_object(100 + chunk, GetParam().object_class);
        write_cells(*container, small, shape, chunk * shape.chunk_size, Bytes(content).first(piece));
        const Epoch snapshot = container->create_snapshot("");
        int commits = 0;
        after_commit = [&] { ++commits; };
        container->punch(small);
        if (is_spread) {
            EXPECT_EQ(commits, 1) << "chunk " << chunk;
        }
        EXPECT_EQ(container->array_size(small, shape), 0U);
        EXPECT_EQ(container->array_size(small, shape, snapshot), chunk * shape.chunk_size + piece);
        EXPECT_TRUE(std::ranges::equal(
            read_cells(*container, small, shape, chunk * shape.chunk_size, piece, snapshot),
            Bytes(content).first(piece)));
        commits = 0;
        container->punch(small); // of nothing
        if (is_spread) {
            EXPECT_EQ(commits, 0);
        }
        write_cells(*container, small, shape, chunk * shape.chunk_size, Bytes(content).first(1));
        EXPECT_EQ(container->array_size(small, shape), chunk * shape.chunk_size + 1);
        after_commit = nullptr;
    }
}

TEST_P(Removed, WhatLiesOnOneTargetInTooManyRecordsIsThereOrGone)
{
    constexpr ArrayAttributes one_chunk{1, 1 << 20};
    const ObjectId many = array_object(200, GetParam().object_class);
    for (std::uint64_t n = 0; n < pieces; ++n)
        write_cells(*container, many, one_chunk, n * piece, Bytes(content).subspan(n * piece, piece));
    int commits = 0;
    after_commit = [&] {
        ++commits;
        const std::uint64_t size = container->array_size(many, one_chunk);
        EXPECT_TRUE(size == cells || size == 0) << size;
        ReadResult result;
        const auto bytes = read_cells(*container, many, one_chunk, 0, cells, latest, &result);
        EXPECT_TRUE(result.cells_short == cells || (result.cells_short == 0 && bytes == content));
    };
    container->punch(many);
    after_commit = nullptr;
    EXPECT_GT(commits, 1);
    EXPECT_EQ(container->array_size(many, one_chunk), 0U);
}

TEST_P(Removed, TheStatusIsTheSizeAndTheLatestWrite)
{
    const auto expect_same = [&](Epoch epoch) {
        const ArrayStatus status = container->array_status(oid(), shape, epoch);
        EXPECT_EQ(status.cells, container->array_size(oid(), shape, epoch));
        EXPECT_EQ(status.last_update, container->last_update(oid(), epoch));
    };
    expect_same(latest);
    const Epoch whole = container->create_snapshot("");
    after_commit = [&] { expect_same(latest); };
    container->array_set_size(oid(), shape, cells / 2);
    after_commit = nullptr;
    write_cells(*container, oid(), shape, 70, Bytes(content).first(1));
    for (const Epoch epoch : {latest, whole})
        expect_same(epoch);
    container->punch(oid());
    for (const Epoch epoch : {latest, whole})
        expect_same(epoch);
    EXPECT_EQ(container->array_status(oid(), shape, whole).cells, cells);
}

// ---- on every back end, at whatever moments come

class RemovedMeanwhile : public StoreTest {};
std::vector<std::string> unwatched()
{
    auto all = backends_here();
    std::erase_if(all, [](const std::string& name) { return name.starts_with("watched"); });
    return all;
}
INSTANTIATE_TEST_SUITE_P(Backends, RemovedMeanwhile, ::testing::ValuesIn(unwatched()), backend_name);

TEST_P(RemovedMeanwhile, ReadersSeeAllOrTooLittle)
{
    const std::vector<std::byte> content = pattern(cells, 1);
    for (const std::uint64_t object_class : {class_s1, class_sx}) {
        for (std::uint64_t round = 0; round < 3; ++round) {
            const ObjectId oid = array_object(10 + round, object_class);
            fill_with_pieces(*container, oid, content);
            std::atomic<bool> done = false;
            std::jthread destroyer([&] {
                container->punch(oid);
                done = true;
            });
            for (bool last = false; !last;) {
                last = done;
                ReadResult result;
                const auto bytes = read_cells(*container, oid, shape, 0, cells, latest, &result);
                EXPECT_TRUE(result.cells_short == cells || bytes == content) << result.cells_short;
                EXPECT_TRUE(!last || result.cells_short == cells);
            }
        }
    }
}

// ---- arrays under akeys

// An object of dkeys and akeys, whose array has more extents than one transaction removes.
class PunchedAkey : public Removed {
protected:
    ObjectId akeys() const { return {GetParam().object_class, 9}; }

    void make() const
    {
        for (std::uint64_t n = 0; n < pieces; n += 500) {
            std::vector<Range> ranges;
            for (std::uint64_t one = n; one < n + 500; ++one)
                ranges.push_back({one * piece, piece});
            const Bytes memory = Bytes(content).subspan(n * piece, 500 * piece);
            AkeyUpdate update;
            update.akey = as_bytes("array");
            update.type = AkeyType::array;
            update.record_size = 1;
            update.ranges = ranges;
            update.memory = {&memory, 1};
            container->akey_update(akeys(), as_bytes("dkey"), {&update, 1});
        }
    }
    // False: the akey is not there.
    bool is_whole(Container& in, Epoch epoch = latest) const
    {
        std::vector<std::byte> bytes(cells);
        const MutableBytes memory = bytes;
        const Range all{0, cells};
        AkeyFetch fetch;
        fetch.akey = as_bytes("array");
        fetch.type = AkeyType::array;
        fetch.ranges = {&all, 1};
        fetch.memory = {&memory, 1};
        in.akey_fetch(akeys(), as_bytes("dkey"), {&fetch, 1}, epoch);
        EXPECT_TRUE(fetch.record_size == 0 || bytes == content);
        return fetch.record_size != 0;
    }
};
INSTANTIATE_TEST_SUITE_P(Classes, PunchedAkey, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.backend + "_" + info.param.name; });

TEST_P(PunchedAkey, IsThereOrGone)
{
    make();
    ASSERT_TRUE(is_whole(*container));
    const Epoch before = container->create_snapshot("");
    int commits = 0;
    after_commit = [&] {
        ++commits;
        is_whole(*container);
        EXPECT_TRUE(is_whole(*container, before));
    };
    container->akey_punch(akeys(), as_bytes("dkey"), {});
    after_commit = nullptr;
    EXPECT_GT(commits, 1);
    EXPECT_FALSE(is_whole(*container));
    EXPECT_TRUE(is_whole(*container, before));
    make(); // in a chunk of its own
    EXPECT_TRUE(is_whole(*container));
}

TEST_P(PunchedAkey, OfAKilledProcessLeavesOnlyWhatARepairRemoves)
{
    if (GetParam().backend != "lmdb") GTEST_SKIP() << "its pools do not survive their process";
    container->punch(oid());
    CheckOptions repair;
    repair.repair = true;
    int left_over = 0;
    for (int commit = 1, status = -SIGKILL; status != 0 && !HasFailure(); ++commit) {
        SCOPED_TRACE("commit " + std::to_string(commit));
        make();
        status = run_in_child([&] {
            const auto mine = Pool::open(path, Access::read_write)->open_container("test");
            int commits = 0;
            after_commit = [&] {
                if (++commits == commit) raise(SIGKILL);
            };
            const Bytes akey = as_bytes("array");
            mine->akey_punch(akeys(), as_bytes("dkey"), {&akey, 1});
            return 0;
        });
        ASSERT_TRUE(status == 0 || status == -SIGKILL);
        const bool whole = is_whole(*container);
        const auto before = Pool::check(path, repair);
        EXPECT_TRUE(undamaged(before));
        const auto says = [](const CheckReport& report, const char* text) {
            return std::ranges::any_of(report.findings, [&](const CheckFinding& one) {
                return one.what.find(text) != std::string::npos;
            });
        };
        left_over += says(before, "whose akey was punched are left") ? 1 : 0;
        EXPECT_EQ(is_whole(*container), whole);
        const auto after = Pool::check(path, {});
        EXPECT_FALSE(says(after, "whose akey was punched are left"));
        EXPECT_EQ(after.records > 100, whole);
        container->punch(akeys());
        EXPECT_FALSE(container->holds(akeys()));
    }
    EXPECT_GT(left_over, 0);
}

} // namespace
} // namespace stepstore::testing

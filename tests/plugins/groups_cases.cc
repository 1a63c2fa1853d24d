// Which ranks form a group: all that open the same, parts of them, one alone; and nobody hangs.
#include "harness.h"

#include "stepstore/adios2.h"

namespace {

using namespace plugin_test;

// given: to Open; without one it is the ADIOS object's.
void write_some(adios2::IO& io, const std::string& name, int value, MPI_Comm comm,
                MPI_Comm given = MPI_COMM_NULL)
{
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    auto x =
        io.DefineVariable<int>("x", {static_cast<std::size_t>(ranks)}, {static_cast<std::size_t>(rank)}, {1});
    auto engine = open(io, name, adios2::Mode::Write, given);
    for (int step = 0; step < 2; ++step) {
        engine.BeginStep();
        const int mine = value + 10 * step + rank;
        engine.Put(x, &mine, adios2::Mode::Sync);
        engine.EndStep();
    }
    engine.Close();
}

void read_some(adios2::IO& io, const std::string& name, int value, int ranks, MPI_Comm given = MPI_COMM_NULL,
               int steps = 2)
{
    auto engine = open(io, name, adios2::Mode::Read, given);
    for (int step = 0; step < steps; ++step) {
        EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
        auto x = io.InquireVariable<int>("x");
        EXPECT(x.Shape() == adios2::Dims{static_cast<std::size_t>(ranks)});
        std::vector<int> all;
        engine.Get(x, all, adios2::Mode::Sync);
        for (int r = 0; r < ranks; ++r)
            EXPECT_EQ(all[static_cast<std::size_t>(r)], value + 10 * step + r);
        engine.EndStep();
    }
    EXPECT(steps < 2 || engine.BeginStep() == adios2::StepStatus::EndOfStream);
    engine.Close();
}

// Every rank a stream of its own: found out, or told.
CASE(own_streams)
{
    for (const char* choice : {"auto", "self"}) {
        const auto name = std::string(choice) + std::to_string(run.rank);
        auto adios = make_adios(MPI_COMM_SELF);
        auto out = make_io(adios, "out", name, {{"Communicator", choice}});
        write_some(out, name, 1000 * run.rank, MPI_COMM_SELF);
        auto in = make_io(adios, "in", name, {{"Communicator", choice}});
        read_some(in, name, 1000 * run.rank, 1);
    }
}

// All ranks write one stream, and each reads all of it: by default, and where the parameter says so.
CASE(one_stream_of_all)
{
    for (const char* choice : {"auto", "world"}) {
        auto adios = make_adios();
        auto out = make_io(adios, "out", choice, {{"Communicator", choice}});
        write_some(out, choice, 90, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        auto in = make_io(adios, "in", choice, {{"Communicator", choice}});
        read_some(in, choice, 90, run.ranks);
    }
}

// Half of the ranks write one stream, half another; then all read both.
CASE(two_groups)
{
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, run.rank % 2, run.rank, &half);
    int ranks = 0;
    MPI_Comm_size(half, &ranks);
    const auto name = run.rank % 2 == 0 ? "even" : "odd";
    {
        auto adios = make_adios(half);
        auto io = make_io(adios, "out", name);
        write_some(io, name, run.rank % 2 == 0 ? 500 : 700, half);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    auto adios = make_adios();
    auto even = make_io(adios, "even", "even");
    read_some(even, "even", 500, (run.ranks + 1) / 2);
    auto odd = make_io(adios, "odd", "odd");
    read_some(odd, "odd", 700, run.ranks / 2);
    MPI_Comm_free(&half);
}

// All ranks but the last write; they hand their communicator over. Then rank 0 alone reads.
CASE(handed_over)
{
    const int writers = run.ranks - 1;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, run.rank < writers ? 0 : MPI_UNDEFINED, run.rank, &part);
    if (run.rank < writers) {
        auto adios = make_adios(part);
        auto io = make_io(adios, "out", "part");
        EXPECT_EQ(stepstore_adios2_set_communicator(location_of("part").c_str(), &part), 0);
        write_some(io, "part", 300, part);
        MPI_Comm_free(&part);
    } else {
        EXPECT(stepstore_adios2_set_communicator(nullptr, &part) != 0);
        EXPECT(contains(stepstore_adios2_last_error(), "MPI_COMM_NULL"));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (run.rank == 0) {
        MPI_Comm self = MPI_COMM_SELF;
        auto adios = make_adios(MPI_COMM_SELF);
        auto io = make_io(adios, "in", "part");
        EXPECT_EQ(stepstore_adios2_set_communicator(nullptr, &self), 0);
        read_some(io, "part", 300, writers);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // Taken back, and taken once only: this one is the world's again.
    MPI_Comm self = MPI_COMM_SELF;
    EXPECT_EQ(stepstore_adios2_set_communicator(nullptr, &self), 0);
    EXPECT_EQ(stepstore_adios2_set_communicator(nullptr, nullptr), 0);
    auto adios = make_adios();
    auto io = make_io(adios, "all", "part");
    read_some(io, "part", 300, writers);
}

// Rank 0 opens on MPI_COMM_SELF and nobody else does. Where the plugin is not told so: an error that says
// what to set, and setting it works.
CASE(one_rank_alone)
{
    if (run.rank == 0 && run.knows_communicator()) {
        auto adios = make_adios(MPI_COMM_SELF);
        auto out = make_io(adios, "out", "alone", {{"GroupTimeoutSecs", "1"}});
        write_some(out, "alone", 40, MPI_COMM_SELF);
        auto in = make_io(adios, "in", "alone");
        read_some(in, "alone", 40, 1);
    } else if (run.rank == 0) {
        auto adios = make_adios(MPI_COMM_SELF);
        auto lost = make_io(adios, "lost", "alone", {{"GroupTimeoutSecs", "1"}});
        auto error = error_of([&] { open(lost, "alone", adios2::Mode::Write); });
        EXPECT(contains(error, "Communicator=self"));
        EXPECT(contains(error, "GroupTimeoutSecs"));
        EXPECT(contains(error, location_of("alone")));
        auto out = make_io(adios, "out", "alone", {{"Communicator", "self"}});
        write_some(out, "alone", 40, MPI_COMM_SELF);
        auto in = make_io(adios, "in", "alone", {{"Communicator", "self"}});
        read_some(in, "alone", 40, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

#ifdef ADIOS2_HAS_MPI
// The communicator that is given to Open, on an ADIOS object of all ranks. Open the same, read alone.
CASE(given_to_open)
{
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, run.rank % 2, run.rank, &half);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &ranks);
    const auto name = run.rank % 2 == 0 ? "even" : "odd";
    const int base = run.rank % 2 == 0 ? 500 : 700;
    auto adios = make_adios();
    {
        auto io = make_io(adios, "out", name);
        write_some(io, name, base, half, half);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    auto in = make_io(adios, "in", "even");
    // The last rank looks at the first step only: nobody waits for it.
    read_some(in, "even", 500, (run.ranks + 1) / 2, MPI_COMM_SELF, run.rank + 1 == run.ranks ? 1 : 2);
    MPI_Comm_free(&half);
}

// What the plugin cannot make right it says: others do not come, or write the same stream.
CASE(given_to_open_in_vain)
{
    auto adios = make_adios();
    auto same = make_io(adios, "same", "same");
    auto x = same.DefineVariable<int>("x");
    auto engine = same.Open(location_of("same"), adios2::Mode::Write, MPI_COMM_SELF);
    for (const auto& error : {error_of([&] { engine.BeginStep(); }), error_of([&] { engine.Put(x, 1); })})
        for (const std::string& part :
             {location_of("same"), std::to_string(run.ranks) + " ranks", std::string("engine type Stepstore"),
              std::string("Communicator=self")})
            EXPECT(contains(error, part));
    engine.Close();
    MPI_Barrier(MPI_COMM_WORLD);
    if (run.rank == 0) {
        auto lost = make_io(adios, "lost", "alone", {{"GroupTimeoutSecs", "1"}});
        const auto error =
            error_of([&] { lost.Open(location_of("alone"), adios2::Mode::Write, MPI_COMM_SELF); });
        for (const std::string& part :
             {location_of("alone"), std::string("GroupTimeoutSecs"), std::string("Communicator=self")})
            EXPECT(contains(error, part));
        lost.SetParameter("Communicator", "self");
        write_some(lost, "alone", 40, MPI_COMM_SELF, MPI_COMM_SELF);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}
#endif

} // namespace

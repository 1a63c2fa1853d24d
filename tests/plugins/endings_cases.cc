// Programs that end in the wrong order: engines left open at exit(), MPI finalised before Close.
#include "harness.h"

#include <memory>

namespace {

using namespace plugin_test;

// One whole step, and one that is not ended.
struct Halfway {
    adios2::ADIOS adios = make_adios();
    adios2::IO io = make_io(adios, "out", "halfway");
    adios2::Variable<int> x = io.DefineVariable<int>("x", {static_cast<std::size_t>(run.ranks)},
                                                     {static_cast<std::size_t>(run.rank)}, {1});
    adios2::Engine engine = open(io, "halfway", adios2::Mode::Write);

    Halfway()
    {
        engine.BeginStep();
        engine.Put(x, &run.rank, adios2::Mode::Sync);
        engine.EndStep();
        engine.BeginStep();
        engine.Put(x, &run.rank, adios2::Mode::Deferred);
    }
};

struct Reading {
    adios2::ADIOS adios = make_adios();
    adios2::IO io = make_io(adios, "in", "halfway");
    adios2::Engine engine = open(io, "halfway", adios2::Mode::Read);
    Reading() { EXPECT(engine.BeginStep() == adios2::StepStatus::OK); }
};

// Both are destroyed after main(), which finalises MPI.
CASE(left_open_at_exit)
{
    static const Halfway writer;
    MPI_Barrier(MPI_COMM_WORLD);
    static const Reading reader;
}

CASE(finalised_before_close)
{
    Halfway writer;
    MPI_Barrier(MPI_COMM_WORLD);
    Reading reader;
    std::vector<int> values;
    reader.engine.Get(reader.io.InquireVariable<int>("x"), values, adios2::Mode::Sync);
    EXPECT_EQ(values.back(), run.ranks - 1);
    MPI_Finalize();
    if (run.ranks > 1) {
        // These may need no other rank.
        error_of([&] { writer.engine.EndStep(); });
        error_of([&] { reader.engine.BeginStep(); });
        const auto error = error_of([&] { writer.engine.Close(); });
        if (!contains(error, "MPI_Finalize") &&
            !contains(error, "died")) // another rank, before this one closed
            plugin_test::fail(__FILE__, __LINE__, "Close says '" + error + "'");
        return;
    }
#ifndef ADIOS2_HAS_MPI // where ADIOS2 itself calls MPI
    writer.engine.EndStep();
    writer.engine.Close();
    reader.engine.Close();
#endif
}

} // namespace

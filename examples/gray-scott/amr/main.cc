// Gray-Scott with adaptive mesh refinement, written only with ADIOS2: adios2.xml says
// whether the steps go into BP5 files or into Stepstore's objects.
//
//   mpirun -n 4 gray-scott-amr adios_config=adios2-stepstore.xml L=128 levels=3
#include "output.h"
#include "report.h"
#include "settings.h"
#include "simulation.h"

#include <adios2.h>

#include <chrono>
#include <cstdio>
#include <mpi.h>
#include <optional>

namespace {

using namespace gray_scott::amr;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin)
{
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void run(const Settings& settings)
{
    std::optional<adios2::ADIOS> adios;
    std::optional<Output> output;
    std::string engine = "nothing";
    if (!settings.output.empty()) {
        adios.emplace(settings.adios_config, MPI_COMM_WORLD);
        auto io = adios->DeclareIO("SimulationOutput");
        output.emplace(settings, io);
        engine = io.EngineType();
    }
    Simulation simulation(settings, MPI_COMM_WORLD);
    Report report(settings, engine, MPI_COMM_WORLD);
    for (int step = 1; step <= settings.steps; ++step) {
        const auto begin = Clock::now();
        simulation.step();
        report.add_computing(seconds_since(begin));
        if (step % settings.plotgap != 0) continue;
        const auto boxes = simulation.boxes();
        const double seconds = output ? output->write(step, simulation, boxes) : 0;
        report.add_output(step, seconds, simulation, boxes);
    }
    if (output) output->close();
    report.end();
}

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        run(read_settings(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gray-scott-amr: rank %d: %s\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}

// Gray-Scott with adaptive mesh refinement, written with ADIOS2 and nothing but ADIOS2: adios2.xml says
// whether the steps go into BP5 files or into Stepstore's objects.
//
//   mpirun -n 4 gray-scott-amr adios_config=adios2-stepstore.xml L=128 levels=3
//
// A step has a global array of U and of V for each level of refinement. Its blocks are this rank's boxes: how
// many they are, how large, and where, differs from rank to rank and from step to step.
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

class Output {
public:
    Output(const Settings& settings, adios2::IO io) : settings_(settings), io_(io)
    {
        for (int level = 0; level < settings.levels; ++level) {
            const auto along = static_cast<std::size_t>(settings.L >> (settings.levels - 1 - level));
            const std::string folder = "level" + std::to_string(level) + "/";
            const adios2::Dims shape(3, along), zero(3, 0);
            u_.push_back(io_.DefineVariable<double>(folder + "U", shape, zero, zero));
            v_.push_back(io_.DefineVariable<double>(folder + "V", shape, zero, zero));
        }
        step_ = io_.DefineVariable<std::int32_t>("step");
        io_.DefineAttribute<std::string>("model", "Gray-Scott with adaptive mesh refinement");
        for (const auto& [name, value] : {std::pair{"F", settings.F},
                                          {"k", settings.k},
                                          {"Du", settings.Du},
                                          {"Dv", settings.Dv},
                                          {"dt", settings.dt},
                                          {"threshold", settings.threshold}})
            io_.DefineAttribute<double>(name, value);
        for (const auto& [name, value] :
             {std::pair{"L", settings.L}, {"levels", settings.levels}, {"block", settings.block}})
            io_.DefineAttribute<std::int32_t>(name, value);
        engine_ = io_.Open(settings.output, adios2::Mode::Write);
    }

    // The seconds from BeginStep until EndStep is done. The ranks begin together: waiting for one that
    // computes longer is no output.
    double write(int step, const Simulation& simulation, const std::vector<Box>& boxes)
    {
        copy(simulation, boxes);
        MPI_Barrier(MPI_COMM_WORLD);
        const auto begin = Clock::now();
        engine_.BeginStep();
        engine_.Put(step_, step);
        std::size_t at = 0;
        for (const Box& box : boxes) {
            const auto level = static_cast<std::size_t>(box.level);
            const adios2::Box<adios2::Dims> selection{in_cells(box.start), in_cells(box.count)};
            u_[level].SetSelection(selection);
            v_[level].SetSelection(selection);
            engine_.Put(u_[level], u_data_.data() + at);
            engine_.Put(v_[level], v_data_.data() + at);
            at += simulation.cells_of(box);
        }
        engine_.EndStep();
        return seconds_since(begin);
    }

    void close() { engine_.Close(); }

private:
    adios2::Dims in_cells(const std::array<int, 3>& blocks) const
    {
        adios2::Dims dims;
        for (const int one : blocks)
            dims.push_back(static_cast<std::size_t>(one * settings_.block));
        return dims;
    }

    void copy(const Simulation& simulation, const std::vector<Box>& boxes)
    {
        std::size_t cells = 0;
        for (const Box& box : boxes)
            cells += simulation.cells_of(box);
        u_data_.resize(cells);
        v_data_.resize(cells);
        std::size_t at = 0;
        for (const Box& box : boxes) {
            simulation.copy(box, u_data_.data() + at, v_data_.data() + at);
            at += simulation.cells_of(box);
        }
    }

    Settings settings_;
    adios2::IO io_;
    adios2::Engine engine_;
    std::vector<adios2::Variable<double>> u_, v_; // by level
    adios2::Variable<std::int32_t> step_;
    std::vector<double> u_data_, v_data_; // of all boxes, valid until EndStep
};

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

// A Gray-Scott simulation that writes its fields only with ADIOS2: adios2.xml says whether they
// go into BP5 files or into Stepstore's objects.
//
//   mpirun -n 4 gray-scott settings.txt adios_config=adios2-stepstore.xml L=128
//
// Built twice: gray-scott-mpi with an ADIOS2 that has MPI, and gray-scott with the serial ADIOS2 of the
// Python wheel. There Stepstore's plugin finds the ranks by itself.
#include "settings.h"
#include "simulation.h"

#include <adios2.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mpi.h>
#include <stdexcept>

namespace {

using namespace gray_scott;
using Clock = std::chrono::system_clock;

double seconds_since_epoch()
{
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// The times of an output on the slowest rank.
struct OutputTimes {
    double put = 0;       // BeginStep and the puts
    double end_step = 0;  // EndStep: afterwards a reader can have the step
    double published = 0; // when EndStep was done, seconds since 1970
};

class Output {
public:
    Output(adios2::IO io, const Settings& settings, const Simulation& simulation) : io_(io)
    {
        const auto edge = static_cast<std::size_t>(settings.L);
        const adios2::Dims shape(3, edge);
        const adios2::Dims start(simulation.start().begin(), simulation.start().end());
        const adios2::Dims count(simulation.count().begin(), simulation.count().end());
        u_ = io_.DefineVariable<double>("U", shape, start, count, adios2::ConstantDims);
        v_ = io_.DefineVariable<double>("V", shape, start, count, adios2::ConstantDims);
        step_ = io_.DefineVariable<std::int32_t>("step");
        io_.DefineAttribute<double>("F", settings.F);
        io_.DefineAttribute<double>("k", settings.k);
        io_.DefineAttribute<double>("Du", settings.Du);
        io_.DefineAttribute<double>("Dv", settings.Dv);
        io_.DefineAttribute<double>("dt", settings.dt);
        io_.DefineAttribute<double>("noise", settings.noise);
        io_.DefineAttribute<std::int32_t>("L", settings.L);
        io_.DefineAttribute<std::string>("model", "Gray-Scott");
        engine_ =
            io_.Open(settings.output, settings.restart == 1 ? adios2::Mode::Append : adios2::Mode::Write);
    }

    OutputTimes write(int step, const Simulation& simulation)
    {
        simulation.copy_u(u_data_);
        simulation.copy_v(v_data_);
        OutputTimes times;
        const double begin = seconds_since_epoch();
        engine_.BeginStep();
        engine_.Put(step_, step);
        engine_.Put(u_, u_data_.data());
        engine_.Put(v_, v_data_.data());
        const double put = seconds_since_epoch();
        engine_.EndStep();
        times.published = seconds_since_epoch();
        times.put = put - begin;
        times.end_step = times.published - put;
        return times;
    }

    void close() { engine_.Close(); }

private:
    adios2::IO io_;
    adios2::Engine engine_;
    adios2::Variable<double> u_, v_;
    adios2::Variable<std::int32_t> step_;
    std::vector<double> u_data_, v_data_;
};

// Gives the simulation the fields of the last output. Returns after how many time steps that was.
int restart(adios2::ADIOS& adios, adios2::IO output, const std::string& name, Simulation& simulation)
{
    auto io = adios.DeclareIO("Restart");
    io.SetEngine(output.EngineType());
    io.SetParameters(output.Parameters());
    io.SetParameter("Reading", "random"); // ADIOS2 does not tell a plugin the mode
    auto engine = io.Open(name, adios2::Mode::ReadRandomAccess);
    if (engine.Steps() == 0) throw std::runtime_error("there is no output in " + name);
    const adios2::Box<std::size_t> last(engine.Steps() - 1, 1);
    const adios2::Dims start(simulation.start().begin(), simulation.start().end());
    const adios2::Dims count(simulation.count().begin(), simulation.count().end());
    auto step = io.InquireVariable<std::int32_t>("step");
    std::int32_t done = 0;
    step.SetStepSelection(last);
    engine.Get(step, done, adios2::Mode::Sync);
    std::vector<double> fields[2];
    for (int i = 0; i < 2; ++i) {
        auto field = io.InquireVariable<double>(i == 0 ? "U" : "V");
        field.SetStepSelection(last);
        field.SetSelection({start, count});
        fields[i].resize(count[0] * count[1] * count[2]);
        engine.Get(field, fields[i].data(), adios2::Mode::Sync);
    }
    engine.Close();
    simulation.restart(static_cast<std::uint64_t>(done), fields[0], fields[1]);
    return done;
}

OutputTimes slowest(const OutputTimes& mine)
{
    const double from[3] = {mine.put, mine.end_step, mine.published};
    double to[3] = {};
    MPI_Reduce(from, to, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return {to[0], to[1], to[2]};
}

void write_timings(const std::string& path, int ranks, const std::string& engine,
                   const std::vector<OutputTimes>& outputs)
{
    std::ofstream file(path);
    file.precision(17);
    file << "{\"ranks\": " << ranks << ", \"engine\": \"" << engine << "\", \"outputs\": [";
    const char* comma = "";
    for (const auto& one : outputs) {
        file << comma << "\n  {\"put_seconds\": " << one.put << ", \"end_step_seconds\": " << one.end_step
             << ", \"published\": " << one.published << "}";
        comma = ",";
    }
    file << "\n]}\n";
    if (!file) throw std::runtime_error("cannot write " + path);
}

adios2::ADIOS make_adios(const Settings& settings)
{
#ifdef GRAY_SCOTT_ADIOS2_HAS_MPI
    return adios2::ADIOS(settings.adios_config, MPI_COMM_WORLD);
#else
    return adios2::ADIOS(settings.adios_config);
#endif
}

void require_common_output(adios2::IO io, int ranks)
{
#ifndef GRAY_SCOTT_ADIOS2_HAS_MPI
    // ADIOS2's own engines know of no other rank here: each would write a file of the same name over the
    // others'.
    if (ranks > 1 && io.EngineType() != "Plugin")
        throw std::runtime_error("this gray-scott has an ADIOS2 without MPI: with " + io.EngineType() +
                                 " on several ranks use gray-scott-mpi");
#else
    (void)io;
    (void)ranks;
#endif
}

void run(const Settings& settings, int rank, int ranks)
{
    auto adios = make_adios(settings);
    auto io = adios.DeclareIO("SimulationOutput");
    require_common_output(io, ranks);
    Simulation simulation(settings, MPI_COMM_WORLD);
    const int done = settings.restart == 1 ? restart(adios, io, settings.output, simulation) : 0;
    Output output(io, settings, simulation);
    std::vector<OutputTimes> outputs;
    double computing = 0;
    for (int step = done + 1; step <= settings.steps; ++step) {
        const double begin = seconds_since_epoch();
        simulation.step();
        computing += seconds_since_epoch() - begin;
        if (step % settings.plotgap != 0) continue;
        outputs.push_back(slowest(output.write(step, simulation)));
    }
    output.close();
    if (rank != 0) return;
    double put = 0;
    double end_step = 0;
    for (const auto& one : outputs) {
        put += one.put;
        end_step += one.end_step;
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, outputs.size()));
    std::printf(
        "gray-scott: %d ranks, %d^3 cells, %d steps, %zu outputs through %s: computing %.2f s, put %.2f ms "
        "and EndStep %.2f ms per "
        "output\n",
        ranks, settings.L, settings.steps, outputs.size(), io.EngineType().c_str(), computing,
        1e3 * put / count, 1e3 * end_step / count);
    if (!settings.timings.empty()) write_timings(settings.timings, ranks, io.EngineType(), outputs);
}

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        run(read_settings(argc, argv), rank, ranks);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gray-scott: rank %d: %s\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}

#include "harness.h"

#include "stepstore/adios2.h"

#include <cstring>
#include <filesystem>

namespace plugin_test {

Run run;

void fail(const char* file, int line, const std::string& what)
{
    std::fprintf(stderr, "%s:%d: rank %d (%s): not true: %s\n", file, line, run.rank, run.engine.c_str(),
                 what.c_str());
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

std::string error_of(const std::function<void()>& call)
{
    try {
        call();
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

bool contains(const std::string& text, const std::string& part)
{
    if (text.find(part) != std::string::npos) return true;
    std::fprintf(stderr, "rank %d: no \"%s\" in \"%s\"\n", run.rank, part.c_str(), text.c_str());
    return false;
}

adios2::ADIOS make_adios([[maybe_unused]] MPI_Comm comm)
{
#ifdef ADIOS2_HAS_MPI
    return adios2::ADIOS(comm);
#else
    return adios2::ADIOS();
#endif
}

std::string location_of(const std::string& name)
{
    return run.directory + "/" + name;
}

adios2::IO make_io(adios2::ADIOS& adios, const std::string& io_name, const std::string& name,
                   const adios2::Params& more, adios2::ArrayOrdering order)
{
    auto io = adios.DeclareIO(io_name, order);
    io.SetEngine(run.plugin() ? "Plugin" : run.engine);
    if (run.plugin())
        io.SetParameters({{"PluginName", "stepstore"},
                          {"PluginLibrary", "stepstore_adios2"},
                          {"Location", location_of(name)}});
    for (const auto& [key, value] : more)
        io.SetParameter(key, value);
    return io;
}

adios2::Engine open(adios2::IO& io, const std::string& name, adios2::Mode mode,
                    [[maybe_unused]] MPI_Comm comm)
{
    const auto what = location_of(name) + (run.engine == "BP5" ? ".bp" : "");
#ifdef ADIOS2_HAS_MPI
    if (comm != MPI_COMM_NULL) return io.Open(what, mode, comm);
#endif
    return io.Open(what, mode);
}

std::map<std::string, Case>& cases()
{
    static std::map<std::string, Case> all;
    return all;
}

} // namespace plugin_test

namespace {

// The same new directory on all ranks.
std::string make_directory()
{
    std::vector<char> name(4096);
    if (plugin_test::run.rank == 0) {
        auto pattern = (std::filesystem::temp_directory_path() / "stepstore-plugin-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) plugin_test::fail(__FILE__, __LINE__, "mkdtemp " + pattern);
        std::strncpy(name.data(), pattern.c_str(), name.size() - 1);
    }
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    return name.data();
}

} // namespace

// PROGRAM CASE [ENGINE]
int main(int argc, char** argv)
{
    using namespace plugin_test;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    const std::string name = argc > 1 ? argv[1] : "";
    if (argc > 2) run.engine = argv[2];
    if (run.engine == "Public") setenv("STEPSTORE_TEST_OTHER_ADIOS2", "1", 1);
    if (!cases().contains(name)) {
        std::fprintf(stderr, "no case '%s'\n", name.c_str());
        return 2;
    }
    if (run.engine == "Stepstore" && stepstore_adios2_register() != 0)
        fail(__FILE__, __LINE__, stepstore_adios2_last_error());
    run.directory = make_directory();
    try {
        cases().at(name)();
    } catch (const std::exception& error) {
        fail(__FILE__, __LINE__, error.what());
    }
    int finalized = 0; // by the case
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (run.rank == 0) std::filesystem::remove_all(run.directory);
    if (finalized == 0) MPI_Finalize();
    return 0;
}

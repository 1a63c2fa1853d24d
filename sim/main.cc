// stepstore-simulate FILE: runs the job that FILE describes (JSON: "machine" and "job") on a simulated
// cluster, and prints the times as JSON. --list: prints the points of the design space. `stepstore simulate`
// is the command for people.
#include "description_file.h"
#include "job.h"
#include "machine.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace {

namespace fs = std::filesystem;
namespace bench = stepstore::bench;
using stepstore::sim::job_of;
using stepstore::sim::machine_of;
using stepstore::sim::read_description;

// Where the simulated store keeps its values.
class Scratch {
public:
    Scratch()
    {
        const char* chosen = std::getenv("TMPDIR");
        const fs::path shared_memory = "/dev/shm";
        const fs::path parent = chosen                      ? fs::path(chosen)
                                : fs::exists(shared_memory) ? shared_memory
                                                            : "/tmp";
        std::string name = (parent / "stepstore-simulate-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("cannot make a directory in " + parent.string() +
                                     " for what the simulation stores: set TMPDIR");
        path_ = name;
    }
    ~Scratch()
    {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    std::string path() const { return path_.string(); }

private:
    fs::path path_;
};

} // namespace

int main(int count, char** arguments)
{
    if (count != 2) {
        std::cerr << "usage: stepstore-simulate FILE|--list (FILE: JSON with the fields machine and job)\n";
        return 2;
    }
    if (std::string_view(arguments[1]) == "--list") {
        std::cout << bench::space_as_json() << "\n";
        return 0;
    }
    try {
        const bench::Json description = read_description(arguments[1]);
        const auto machine = machine_of(description.at("machine"));
        const auto job = job_of(description.at("job"));
        const Scratch scratch;
        std::cout << stepstore::sim::simulate(machine, job, scratch.path()).dump() << "\n";
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
}

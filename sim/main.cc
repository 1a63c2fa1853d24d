// stepstore-simulate FILE: runs the job that FILE describes (JSON: "machine" and "job") on a simulated
// cluster, and prints the times as JSON. --list: prints the points of the design space. `stepstore simulate`
// is the command for people.
#include "description_file.h"
#include "fields_job.h"
#include "job.h"
#include "machine.h"
#include "supervised.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <iostream>

namespace {

namespace bench = stepstore::bench;
using stepstore::sim::job_of;
using stepstore::sim::machine_of;
using stepstore::sim::read_description;

int print(const std::function<bench::Json()>& simulated)
{
    try {
        std::cout << simulated().dump() << std::endl;
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
}

// What can be checked is checked before anything is made.
int run(const stepstore::sim::Machine& machine, const bench::Json& description)
{
    const auto start = [&](const auto& job) {
        return stepstore::sim::supervised([&](const std::string& directory) {
            return print([&] { return simulate(machine, job, directory); });
        });
    };
    if (description.is_object() && description.contains("fields")) {
        const auto job = stepstore::sim::fields_job_of(description);
        require_memory(job);
        return start(job);
    }
    const auto job = job_of(description, machine);
    require_memory(machine, job);
    return start(job);
}

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
        return run(machine_of(description.at("machine")), description.at("job"));
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
}

// stepstore-estimate FILE: what a job would cost on a cluster. FILE is as that of stepstore-simulate; what is
// printed has the same fields (estimate.h). --list: prints the points of the design space. `stepstore advise`
// is the command for people.
#include "description_file.h"
#include "estimate/estimate.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <iostream>

int main(int count, char** arguments)
{
    using namespace stepstore::sim;
    if (count != 2) {
        std::cerr << "usage: stepstore-estimate FILE|--list (FILE: JSON with the fields machine and job)\n";
        return 2;
    }
    if (std::string_view(arguments[1]) == "--list") {
        std::cout << stepstore::bench::space_as_json() << "\n";
        return 0;
    }
    try {
        const auto description = read_description(arguments[1]);
        const Machine machine = machine_of(description.at("machine"));
        std::cout << estimate(machine, job_of(description.at("job"), machine)).dump() << "\n";
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
}

#include "description_file.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>

namespace stepstore::sim {

bench::Json read_description(const char* file)
{
    std::ifstream in(file);
    if (!in) throw std::runtime_error(std::string("cannot read ") + file);
    bench::Json description = bench::Json::parse(in, nullptr, false);
    if (!description.is_object() || !description.contains("machine") || !description.contains("job"))
        throw std::runtime_error(std::string(file) + " is no JSON object with the fields machine and job");
    return description;
}

} // namespace stepstore::sim

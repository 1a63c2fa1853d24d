#include "layouts/points.h"

#include "stepstore/error.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace stepstore::bench {

namespace {

using Choices = std::vector<std::pair<std::string, std::vector<std::string>>>;

template <class Options>
Choices choices_of(const std::vector<std::string>& names)
{
    Choices choices;
    for (const std::string& name : names)
        choices.emplace_back(name, Options::choices(name));
    return choices;
}

Choices writer_choices()
{
    return choices_of<steps::WriterOptions>({"Layout", "Objects", "Steps"});
}

Choices reader_choices()
{
    Choices choices = choices_of<steps::ReaderOptions>({"Readers"});
    choices.push_back({"ReadAhead", {"auto", "0"}});
    return choices;
}

std::vector<std::string> combined(const Choices& choices)
{
    std::vector<std::string> all = {""};
    for (const auto& [name, values] : choices) {
        std::vector<std::string> longer;
        for (const std::string& before : all)
            for (const std::string& value : values)
                longer.push_back(before + (before.empty() ? "" : ",") + name + "=" + value);
        all = std::move(longer);
    }
    return all;
}

bool is_refused(const std::string& point)
{
    try {
        StreamOptions options;
        set_parameters(options, point);
        check_options(options.writer);
        return false;
    } catch (const Error&) {
        return true;
    }
}

[[noreturn]] void refuse_parameter(const std::string& name)
{
    std::string known;
    for (const auto& names : {steps::WriterOptions::names(), steps::ReaderOptions::names()})
        for (const std::string& one : names)
            known += (known.empty() ? "" : ", ") + one;
    throw std::runtime_error("a stream has no parameter '" + name + "': there are " + known);
}

} // namespace

void set_parameters(StreamOptions& options, const std::string& list)
{
    std::istringstream from(list);
    for (std::string one; std::getline(from, one, ',');) {
        const std::size_t equals = one.find('=');
        if (equals == std::string::npos) throw std::runtime_error("'" + one + "': give NAME=VALUE");
        const std::string name = one.substr(0, equals), value = one.substr(equals + 1);
        const bool writers = options.writer.set(name, value);
        const bool readers = options.reader.set(name, value);
        if (!writers && !readers) refuse_parameter(name);
    }
}

std::vector<std::string> writer_points()
{
    std::vector<std::string> points = combined(writer_choices());
    std::erase_if(points, is_refused);
    return points;
}

std::vector<std::string> reader_points()
{
    return combined(reader_choices());
}

std::string space_as_json()
{
    nlohmann::ordered_json choices;
    for (const Choices& some : {writer_choices(), reader_choices()})
        for (const auto& [name, values] : some)
            choices[name] = values;
    const nlohmann::ordered_json space = {
        {"writer", writer_points()}, {"reader", reader_points()}, {"choices", choices}};
    return space.dump();
}

} // namespace stepstore::bench

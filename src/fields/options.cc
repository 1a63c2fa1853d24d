#include "fields/options.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <charconv>
#include <functional>

namespace stepstore::fields {

namespace {

[[noreturn]] void bad_value(const std::string& name, const std::string& value, const std::string& allowed)
{
    throw Error(-DER_INVAL, "the setting " + name + " of fields is '" + value + "': give " + allowed);
}

std::uint64_t parse_size(const std::string& name, const std::string& value)
{
    std::uint64_t number = 0;
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    const unsigned shift = unit.empty()    ? 0
                           : unit == "KiB" ? 10
                           : unit == "MiB" ? 20
                           : unit == "GiB" ? 30
                                           : 64;
    if (error != std::errc() || shift == 64 || number > UINT64_MAX >> shift)
        bad_value(name, value, "a number of bytes, also with KiB, MiB or GiB after it");
    return number << shift;
}

bool parse_bool(const std::string& name, const std::string& value)
{
    if (value != "true" && value != "false") bad_value(name, value, "true or false");
    return value == "true";
}

using Setter = std::function<void(Options&, const std::string& name, const std::string& value)>;

const std::map<std::string, Setter>& setters()
{
    static const std::map<std::string, Setter> all = {
        {"packBelow",
         [](Options& o, auto& name, auto& value) { o.dataset.pack_below = parse_size(name, value); }},
        {"packSize",
         [](Options& o, auto& name, auto& value) { o.dataset.pack_size = parse_size(name, value); }},
        {"chunkSize",
         [](Options& o, auto& name, auto& value) {
             o.dataset.chunk_size = parse_size(name, value);
             if (o.dataset.chunk_size == 0) bad_value(name, value, "1 or more");
         }},
        {"dataClass", [](Options& o, auto&, auto& value) { o.dataset.data_class = value; }},
        {"indexClass", [](Options& o, auto&, auto& value) { o.dataset.index_class = value; }},
        {"verify", [](Options& o, auto& name, auto& value) { o.dataset.verify = parse_bool(name, value); }},
        {"asynchronous",
         [](Options& o, auto& name, auto& value) { o.writer.asynchronous = parse_bool(name, value); }},
        {"inFlight",
         [](Options& o, auto& name, auto& value) { o.writer.in_flight = parse_size(name, value); }},
    };
    return all;
}

} // namespace

Options parse_options(const std::map<std::string, std::string>& settings)
{
    Options options;
    for (const auto& [name, value] : settings) {
        const auto setter = setters().find(name);
        if (setter == setters().end()) {
            std::string names;
            for (const auto& one : setters())
                names += (names.empty() ? "" : ", ") + one.first;
            throw Error(-DER_INVAL, "fields have no setting '" + name + "': the settings are " + names);
        }
        setter->second(options, name, value);
    }
    return options;
}

} // namespace stepstore::fields

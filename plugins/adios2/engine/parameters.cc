#include "parameters.h"

#include "base/fork.h"
#include "base/text.h"
#include "base/warning.h"
#include "other_parameters.h"

#include "daos_errno.h"
#include "stepstore/error.h"

#include <algorithm>
#include <charconv>
#include <dlfcn.h>
#include <iterator>
#include <link.h>
#include <mutex>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace stepstore::adios {
namespace {

// A choice by its name.
template <class Choice>
Choice choose(const std::string& name, const std::string& value,
              std::initializer_list<std::pair<const char*, Choice>> choices)
{
    std::string valid;
    for (const auto& [text, choice] : choices) {
        if (same_name(text, value)) return choice;
        valid += (valid.empty() ? "" : ", ") + std::string(text);
    }
    throw Error(-DER_INVAL, "stepstore: parameter " + name + "=" + value + ": the valid values are " + valid);
}

bool on_off(const std::string& name, const std::string& value)
{
    return choose<bool>(name, value,
                        {{"on", true},
                         {"off", false},
                         {"true", true},
                         {"false", false},
                         {"yes", true},
                         {"no", false},
                         {"1", true},
                         {"0", false}});
}

double seconds(const std::string& name, const std::string& value)
{
    double result = 0;
    auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (failed != std::errc() || end != value.data() + value.size() || !(result >= 0) || result > 1e8)
        throw Error(-DER_INVAL, "stepstore: parameter " + name + "=" + value +
                                    ": give seconds from 0 to 1e8, such as 30 or 0.5");
    return result;
}

// A library of this name is in the process.
bool is_loaded(std::string_view name)
{
    struct Search {
        std::string_view name;
        bool found;
    } search{name, false};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            auto& of = *static_cast<Search*>(to);
            of.found |= info->dlpi_name != nullptr &&
                        std::string_view(info->dlpi_name).find(of.name) != std::string_view::npos;
            return 0;
        },
        &search);
    return search.found;
}

// The parameters of the adapter itself; everything else belongs to the engine of steps.
bool set_own(Parameters& parameters, const std::string& name, const std::string& value, bool& order_given)
{
    if (same_name(name, "PluginName") || same_name(name, "PluginLibrary") || same_name(name, "verbose"))
        return true; // ADIOS2's own
    if (same_name(name, "Location")) {
        parameters.location = value;
    } else if (same_name(name, "Communicator")) {
        parameters.group = choose<GroupChoice>(
            name, value,
            {{"auto", GroupChoice::automatic}, {"world", GroupChoice::world}, {"self", GroupChoice::self}});
    } else if (same_name(name, "GroupTimeoutSecs")) {
        parameters.group_timeout = seconds(name, value);
    } else if (same_name(name, "Reading")) {
        parameters.reading = choose<Reading>(
            name, value,
            {{"auto", Reading::automatic}, {"stream", Reading::stream}, {"random", Reading::random}});
    } else if (same_name(name, "StreamReader")) { // BP5's name for it; bpls -t sets it
        if (on_off(name, value)) parameters.reading = Reading::stream;
    } else if (same_name(name, "FlattenSteps")) {
        parameters.flatten_steps = on_off(name, value);
    } else if (same_name(name, "ReaderShortCircuitReads")) {
        parameters.short_circuit_reads = on_off(name, value);
    } else if (same_name(name, "ArrayOrder")) {
        order_given = !same_name(value, "auto");
        if (order_given)
            parameters.order = choose<steps::Order>(
                name, value,
                {{"row", steps::Order::row_major}, {"column", steps::Order::column_major}, {"auto", {}}});
    } else {
        return false;
    }
    return true;
}

// How many letters have to be changed, added or left out to get from one name to the other; without case.
std::size_t letters_apart(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t other = same_name(a.substr(i, 1), b.substr(j, 1)) ? 0 : 1;
            const std::size_t here = std::min({row[j] + 1, row[j + 1] + 1, diagonal + other});
            diagonal = std::exchange(row[j + 1], here);
        }
    }
    return row.back();
}

// A slip of the pen is not to be passed over.
void refuse_misspelt(const std::string& name)
{
    const auto names = parameter_names();
    const auto close = std::ranges::find_if(names, [&](const std::string& one) {
        return letters_apart(one, name) <= (one.size() < 6 ? 1u : 2u);
    });
    if (close == names.end()) return;
    std::string valid;
    for (const auto& known : names)
        valid += (valid.empty() ? "" : ", ") + known;
    throw Error(-DER_INVAL, "stepstore: there is no parameter " + name + ". Is " + *close +
                                " meant? The parameters are " + valid);
}

bool switched_off(std::string_view value)
{
    return value.empty() || same_name(value, "off") || same_name(value, "false") || same_name(value, "no") ||
           value == "0";
}

// What the engine of steps does not know either.
void pass_over(const std::string& name, const std::string& value, Parameters& parameters)
{
    const OtherParameter* of_another = other_parameter(name);
    if (of_another == nullptr) refuse_misspelt(name);
    if (of_another != nullptr && (of_another->instead.empty() || switched_off(value))) return;
    parameters.remarks.push_back(
        "the parameter " + name + " has no meaning for the engine Stepstore and is passed over" +
        (of_another == nullptr ? "" : ": " + std::string(of_another->instead)) + " (docs/parameters.md)");
}

} // namespace

std::vector<std::string> parameter_names()
{
    std::set<std::string> names = {"PluginName", "PluginLibrary", "verbose",
                                   "Location",   "Communicator",  "GroupTimeoutSecs",
                                   "Reading",    "StreamReader",  "ReaderShortCircuitReads",
                                   "ArrayOrder", "FlattenSteps"};
    for (const auto& name : steps::WriterOptions::names())
        names.insert(name);
    for (const auto& name : steps::ReaderOptions::names())
        names.insert(name);
    return {names.begin(), names.end()};
}

Parameters parse_parameters(const std::map<std::string, std::string>& given, const Opening& opening)
{
    Parameters parameters;
    bool order_given = false;
    parameters.location = opening.name;
    parameters.reading = opening.reading;
    parameters.order = opening.order.value_or(steps::Order::row_major);
    // The native engine waits for a stream that is read step by step, as BP5 does.
    if (opening.reading == Reading::stream) parameters.reader.open_timeout = 3600.0;
    for (const auto& [name, value] : given) {
        if (set_own(parameters, name, value, order_given)) continue;
        // One IO often serves for writing and reading: both sets are good in both modes.
        bool of_writer = parameters.writer.set(name, value);
        bool of_reader = parameters.reader.set(name, value);
        if (!of_writer && !of_reader) pass_over(name, value, parameters);
    }
    if (parameters.location.empty())
        throw Error(-DER_INVAL,
                    "stepstore: the parameter Location is missing: set it to where the stream lives, such as "
                    "Location=out/gs (ADIOS2 does not tell a plugin the name that was given to Open)");
    // Arrays may be in column-major order; ADIOS2 does not say which.
    if (!order_given && !opening.order && is_loaded("libadios2_fortran"))
        throw Error(-DER_INVAL,
                    "stepstore: this process has ADIOS2's Fortran interface, and ADIOS2 does not tell a "
                    "plugin in which order the "
                    "arrays are: set the parameter ArrayOrder=column for arrays of Fortran, ArrayOrder=row "
                    "for those of C and C++");
    parameters.writer.order = parameters.order;
    parameters.python = opening.plugin() && is_loaded("adios2_bindings");
    return parameters;
}

void say_remarks(const Parameters& parameters)
{
    static std::set<std::string> said; // guarded by ForkLock::handles
    std::vector<std::string> fresh;
    {
        const std::lock_guard lock(held_over_fork(ForkLock::handles));
        std::ranges::copy_if(parameters.remarks, std::back_inserter(fresh),
                             [](const std::string& remark) { return said.insert(remark).second; });
    }
    for (const std::string& remark : fresh)
        warn("'" + parameters.location + "': " + remark);
}

} // namespace stepstore::adios

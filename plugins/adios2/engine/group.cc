#include "group.h"

#include "base/warning.h"
#include "stream_adapter.h"

#include <mutex>

namespace stepstore::adios {
namespace {

std::string group_key(const Parameters& parameters, adios2::Mode mode)
{
    const char* how = mode == adios2::Mode::Write    ? "writing"
                      : mode == adios2::Mode::Append ? "appending"
                                                     : "reading";
    return "opening '" + parameters.location + "' for " + how;
}

// Processes that mpirun has started, and that do not run MPI: each would replace the stream of the others.
void say_that_it_writes_alone(const std::string& key)
{
    const int started = launched_without_mpi();
    if (started < 2) return;
    static std::once_flag said;
    std::call_once(said, [&] {
        warn(
            key + ": this process writes alone. It is one of " + std::to_string(started) +
            " that were started together, but MPI is not initialised in it. If they are to write one stream, "
            "initialise MPI before Open (in Python: from mpi4py import MPI). If each writes a stream of its "
            "own, set the parameter Communicator=self");
    });
}

} // namespace

Group find_group(const Parameters& parameters, adios2::Mode mode, TakeHandedOver take_handed_over,
                 const ToldGroup& told)
{
    if (auto handed_over = take_handed_over(parameters.location)) return {std::move(handed_over), true};
    const auto key = group_key(parameters, mode);
    const bool automatic = parameters.group == GroupChoice::automatic;
    if (automatic && told)
        if (auto ranks = told(key)) return {std::move(ranks)};
    if (automatic && StreamAdapter::writes(mode)) say_that_it_writes_alone(key);
    return {form_group(key, parameters.group, parameters.group_timeout)};
}

} // namespace stepstore::adios

// The engine parameters of the plugin: docs/parameters.md. Names and values without regard to case, as
// ADIOS2's own.
// Threads: parsing is pure; say_remarks() may be called by any. Errors: -DER_INVAL, which lists what is
// valid.
#pragma once

#include "comm/communicator.h"
#include "steps/stream/options.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::adios {

// How a program reads that opens with Mode::Read; ADIOS2 tells a plugin nothing about Mode::ReadRandomAccess.
enum class Reading : std::uint8_t {
    automatic, // steps with BeginStep; and before the first BeginStep at random, where one process reads
    stream,    // only steps with BeginStep
    random,    // only at random: no BeginStep
};

struct Parameters {
    std::string location;
    GroupChoice group = GroupChoice::automatic;
    double group_timeout = 60.0;
    Reading reading = Reading::automatic;
    bool python = false;              // the program uses ADIOS2's Python interface
    bool flatten_steps = false;       // all that is written is one step, as in BP5
    bool short_circuit_reads = false; // gets of arrays fetch nothing: for measuring metadata alone, as in BP5
    steps::Order order = steps::Order::row_major;
    steps::WriterOptions writer;
    steps::ReaderOptions reader;
    std::vector<std::string> remarks; // on parameters that are passed over
};

// What an engine is told besides: it serves where a parameter does not say it.
struct Opening {
    std::string name;                  // given to Open: the location; the plugin is not told
    std::optional<steps::Order> order; // empty: not known
    Reading reading = Reading::automatic;
    bool plugin() const { return name.empty(); }
};

// Throws stepstore::Error (-DER_INVAL) for a bad value, with the valid ones, a name that is close to one of
// ours, with all of them, or a missing Location. Other unknown names are passed over, as by ADIOS2's engines.
Parameters parse_parameters(const std::map<std::string, std::string>& given, const Opening& opening);

// Every name that is known, sorted.
std::vector<std::string> parameter_names();

// Warns of each remark, once in a process.
void say_remarks(const Parameters& parameters);

} // namespace stepstore::adios

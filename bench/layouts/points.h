// The design space: which choices of a stream there are, and what a user asks for.
// Threads: no state is shared. Errors: std::runtime_error and stepstore::Error, for a parameter that cannot
// be.
#pragma once

#include "steps/stream/options.h"

#include <string>
#include <vector>

namespace stepstore::bench {

struct StreamOptions {
    steps::WriterOptions writer;
    steps::ReaderOptions reader;
};

// Sets each NAME=VALUE of a list with commas. Throws std::runtime_error where neither writers nor readers
// have such a parameter, and stepstore::Error for a bad value.
void set_parameters(StreamOptions& options, const std::string& list);

// Every combination of what a writer can choose that a writer does not refuse, as such lists; and of what a
// reader can choose. The default comes first.
std::vector<std::string> writer_points();
std::vector<std::string> reader_points();
// {"writer": writer_points(), "reader": reader_points(), "choices": {"Layout": [...], ...}}
std::string space_as_json();

} // namespace stepstore::bench

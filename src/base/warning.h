// A warning to the person who runs the program, if no call fails: one line on stderr.
// Threads: any; lines stay whole. Errors: none; a warning that cannot be written is lost.
#pragma once

#include <string>

namespace stepstore {

// Writes "stepstore: warning: TEXT". STEPSTORE_WARNINGS=off keeps warnings back.
void warn(const std::string& text) noexcept;

} // namespace stepstore

#include "base/warning.h"

#include "stepstore/printable.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace stepstore {

void warn(const std::string& text) noexcept
try {
    const char* wanted = std::getenv("STEPSTORE_WARNINGS");
    if (wanted != nullptr && std::string_view(wanted) == "off") return;
    const std::string line = "stepstore: warning: " + printable(text) + "\n";
    // In one call: lines of several processes stay whole.
    (void)!::write(STDERR_FILENO, line.data(), line.size());
} catch (...) { // no memory for a warning
}

} // namespace stepstore

#include "client/failure.h"

#include "base/error_text.h"

namespace stepstore {
void fail(const Library& library, int code, const std::string& tried)
{
    // Not of d_errdesc(), which a loaded libdaos keeps in another library.
    const ErrorText text = text_of_error(code);
    std::string message = tried + ": " + text.name + "(" + std::to_string(code) + "): " + text.description;
    const char* more = library.last_message ? library.last_message() : "";
    if (*more) message += std::string("; ") + more;
    throw Error(code, message);
}

std::string quoted(std::string_view text)
{
    constexpr std::size_t shown = 256; // of a long key the rest is no help
    if (text.size() <= shown) return "'" + std::string(text) + "'";
    return "'" + std::string(text.substr(0, shown)) + "'... (" + std::to_string(text.size()) + " bytes)";
}

} // namespace stepstore

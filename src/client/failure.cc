#include "client/failure.h"

namespace stepstore {
namespace {

struct Text {
    const char* name;
    const char* description;
};

// From the headers' list, not from d_errdesc(), which a loaded libdaos keeps in another library.
Text text_of(int code)
{
    switch (-code) {
        // clang-format off
#define STEPSTORE_CASE(name, value, text) case value: return {#name, text};
        // clang-format on
        DAOS_COMMON_ERRORS(STEPSTORE_CASE)
        DAOS_STORAGE_ERRORS(STEPSTORE_CASE)
#undef STEPSTORE_CASE
    default: return {"DER_UNKNOWN", "an unknown error code"};
    }
}

} // namespace

void fail(const Library& library, int code, const std::string& tried)
{
    const Text text = text_of(code);
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

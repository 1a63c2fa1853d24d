// Looks at a name from a stored record before it becomes a path.
// Threads: any; pure.
#pragma once

#include <string_view>

namespace stepstore {

// A relative path of plain names: none is empty, "." or "..", and none has a zero byte.
inline bool is_plain_path(std::string_view path)
{
    if (path.find('\0') != std::string_view::npos) return false;
    for (;;) {
        const std::size_t end = path.find('/');
        const std::string_view name = path.substr(0, end);
        if (name.empty() || name == "." || name == "..") return false;
        if (end == std::string_view::npos) return true;
        path.remove_prefix(end + 1);
    }
}

} // namespace stepstore

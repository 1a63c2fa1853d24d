#include "store/rados/location.h"

#include <algorithm>

namespace stepstore::store::rados {

std::optional<Location> parse_location(const std::string& path)
{
    if (!path.starts_with(scheme)) return std::nullopt;
    const std::string rest = path.substr(sizeof scheme - 1);
    const auto slash = rest.find('/');
    Location found{rest.substr(0, slash), slash == std::string::npos ? "" : rest.substr(slash + 1)};
    const auto is_bad = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '/'; };
    if (found.pool.empty() || std::ranges::any_of(found.name_space, is_bad) ||
        std::ranges::any_of(found.pool, is_bad))
        return std::nullopt;
    return found;
}

} // namespace stepstore::store::rados

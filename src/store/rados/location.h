// The path of a pool on a Ceph cluster: rados://POOL[/NAMESPACE]. Without a namespace it is the default one,
// "". The part of the back end that every build has.
#pragma once

#include <optional>
#include <string>

namespace stepstore::store::rados {

inline constexpr char scheme[] = "rados://";

struct Location {
    std::string pool, name_space;
};

// Nothing: not of this form.
std::optional<Location> parse_location(const std::string& path);

} // namespace stepstore::store::rados

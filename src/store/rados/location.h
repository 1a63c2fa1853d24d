// The path of a pool on a Ceph cluster: rados://POOL[/NAMESPACE]. Without a namespace it is the default one,
// "". The part of the back end that every build has.
// Threads: any; pure. Errors: none; nullopt for what is no such path.
#pragma once

#include "location/location.h"
#include "stepstore/error.h"

#include <optional>
#include <string>

namespace stepstore::store::rados {

struct CephPlace {
    std::string pool, name_space;
};

// Nothing: not of this form, or a place in a pool.
inline std::optional<CephPlace> ceph_place(const std::string& path)
{
    try {
        const LocationParts parts = parse_location(path);
        if (&parts.form != &rados_form || !parts.rest.empty()) return std::nullopt;
        return CephPlace{parts.names[0], parts.names[1]};
    } catch (const Error&) {
        return std::nullopt;
    }
}

} // namespace stepstore::store::rados

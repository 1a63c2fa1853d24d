// The URIs of scheme "stepstore", by which FDB names what lies in a pool:
//   stepstore:POOL/CONTAINER                    a dataset
//   stepstore:POOL/CONTAINER/index.TEXT         the index of a collocation key, by the key's text
//   stepstore:POOL/CONTAINER/data.N             an array object with fields
//   stepstore:POOL/CONTAINER/data               all fields of the dataset
// FDB adds a field's offset (#) and length (?) to a URI with data.N. POOL is the pool's absolute path, or its
// location. What a path may not hold is percent-encoded in POOL and TEXT.
//
// Threads: any; pure. Errors: a UserError.
#pragma once

#include "fields/key.h"

#include "eckit/filesystem/URI.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace stepstore::fdb_plugin {

inline constexpr const char* type_name = "stepstore"; // of engine, catalogue, store and URI scheme

struct PoolUri {
    enum class Kind : std::uint8_t { dataset, index, object, data };

    std::string pool;
    std::string container;
    Kind kind = Kind::dataset;
    std::uint64_t object = 0; // of Kind::object
    std::string index = {};   // of Kind::index: the collocation key's text

    bool same_dataset(const PoolUri& other) const
    {
        return pool == other.pool && container == other.container;
    }
};

eckit::URI to_uri(const PoolUri& place);
// A UserError when the URI is not one of Stepstore.
PoolUri parse_uri(const eckit::URI& uri);

} // namespace stepstore::fdb_plugin

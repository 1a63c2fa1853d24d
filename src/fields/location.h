// Where a field's bytes lie.
// Threads: any; pure.
#pragma once

#include "stepstore/client.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace stepstore::fields {

// In an array object of a dataset's container. What it names never changes: the bytes are there, or the field
// was removed and its space reclaimed, which reading tells.
struct FieldLocation {
    std::uint64_t object = 0; // the lower id; the rest follows from the dataset's record
    std::uint64_t offset = 0; // bytes
    std::uint64_t length = 0;
    // XXH3 of the bytes. Where the pool verifies what it reads of arrays (Capabilities), there is none.
    std::optional<std::uint64_t> checksum = std::nullopt;

    // "OBJECT.OFFSET.LENGTH", in decimal.
    std::string text() const
    {
        return std::to_string(object) + '.' + std::to_string(offset) + '.' + std::to_string(length);
    }
    friend bool operator==(const FieldLocation&, const FieldLocation&) = default;
};

// A field in the store of the catalogue's own dataset, or bytes of any length that mean something to the
// caller, such as a file and an offset. The catalogue keeps these bytes and gives them back.
using Location = std::variant<FieldLocation, std::string>;

} // namespace stepstore::fields

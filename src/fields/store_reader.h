// Reading fields by their locations. There is no size query: the length is in the location.
// Threads: any; there is no state but the dataset. Errors: -DER_STALE, -DER_CSUM, -DER_INVAL.
#pragma once

#include "fields/dataset.h"
#include "fields/location.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace stepstore::fields {

class StoreReader {
public:
    explicit StoreReader(std::shared_ptr<Dataset> dataset) : dataset_(std::move(dataset)) {}

    // The bytes of a field: one read, no size query. memory: location.length bytes. -DER_STALE: the field was
    // removed and its space reclaimed, or the dataset was wiped: the message says which. -DER_CSUM: damaged.
    // If the location has a checksum, the bytes are compared with it. Those that do not match are read again
    // (base/second_look.h).
    void read(const FieldLocation& location, MutableBytes memory) const;
    std::vector<std::byte> read(const FieldLocation& location) const;
    // A part of a field: from `offset` within it. It is not verified, as the checksum is of all bytes: who
    // wants to be sure reads the whole field.
    void read(const FieldLocation& location, std::uint64_t offset, MutableBytes memory) const;
    // Several at once, in flight together; memory: one piece per location, of its length. Fields that lie
    // side by side in an object are read in one request.
    void read(std::span<const FieldLocation> locations, std::span<const MutableBytes> memory) const;

    // Whether the bytes are still there. One size query.
    bool exists(const FieldLocation& location) const;

private:
    void require(std::uint64_t object, std::uint64_t at, MutableBytes memory) const;
    void verify(const FieldLocation& location, MutableBytes memory) const;

    std::shared_ptr<Dataset> dataset_;
};

} // namespace stepstore::fields

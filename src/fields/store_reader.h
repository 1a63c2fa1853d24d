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
    // If the location has a checksum, the bytes are compared with it.
    void read(const FieldLocation& location, MutableBytes memory) const;
    std::vector<std::byte> read(const FieldLocation& location) const;
    // A part of a field: from `offset` within it. Its checksum can only be compared by who reads all parts:
    // require_sum().
    void read(const FieldLocation& location, std::uint64_t offset, MutableBytes memory) const;
    // Several at once, in flight together; memory: one piece per location, of its length. Fields that lie
    // side by side in an object are read in one request.
    void read(std::span<const FieldLocation> locations, std::span<const MutableBytes> memory) const;

    // sum: XXH3 of the whole field. -DER_CSUM: the location has another one.
    void require_sum(const FieldLocation& location, std::uint64_t sum) const;

    // Whether the bytes are still there. One size query.
    bool exists(const FieldLocation& location) const;

private:
    std::shared_ptr<Dataset> dataset_;
};

} // namespace stepstore::fields

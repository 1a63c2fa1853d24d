// The fields that a writer has flushed and that no sync has covered yet.
// Threads: one at a time. Errors: -DER_CSUM for a field that is lost, and those of the sync.
#pragma once

#include "fields/dataset.h"
#include "fields/location.h"

#include <memory>
#include <vector>

namespace stepstore::fields {

// Threads: one at a time.
class Unsynced {
public:
    explicit Unsynced(std::shared_ptr<Dataset> dataset) : dataset_(std::move(dataset)) {}

    void add(const FieldLocation& location);
    void clear() { fields_.clear(); }
    // All that this process flushed survives a power failure when it returns. What a sync that failed left
    // behind is written again by the next one, from the system's memory. The system may have dropped some of
    // it: so the fields are then read and compared with their checksums. -DER_CSUM: one of them is lost.
    // Every further call says so too.
    void sync();

private:
    void verify(const FieldLocation& range) const;

    std::shared_ptr<Dataset> dataset_;
    std::vector<FieldLocation> fields_; // those that lie together are one
    bool failed_ = false;               // a sync since the last one that succeeded
};

} // namespace stepstore::fields

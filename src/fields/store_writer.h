// The store: fields' bytes in array objects of a dataset's container. Works without the catalogue (a caller
// may index the locations elsewhere).
//
// Object numbers are taken from a range that the process allocates once per dataset. A field of at least
// DatasetOptions::pack_below bytes has an object of its own; smaller ones are collected and written together,
// at the latest by flush(). An object that a flushed location names is never written to again. Where the pool
// does not verify what it reads of arrays (pools in files), a location has the checksum of the field.
//
// A forked child begins anew: it has archived nothing yet, and packs its fields into objects of its own.
//
// Threads: several may archive and flush at once. Errors: session.h; archive() and flush() say what stays
// after one.
#pragma once

#include "base/own_state.h"
#include "fields/dataset.h"
#include "fields/location.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace stepstore::fields {

class StoreWriter {
public:
    // dataset: of a session that was opened for writing.
    explicit StoreWriter(std::shared_ptr<Dataset> dataset, const WriterOptions& options = {});
    ~StoreWriter(); // what was not flushed is lost: purge reclaims it
    StoreWriter(const StoreWriter&) = delete;
    StoreWriter& operator=(const StoreWriter&) = delete;

    // Takes a copy (or has written it when it returns). The location holds from flush() on, not before. A
    // field of 0 bytes has a location too. Throws what a write meets: -DER_NOSPACE, -DER_STALE (wiped); an
    // asynchronous write's error comes from a later archive() or flush().
    FieldLocation archive(Bytes data);
    // Returns when all that was archived is written and, with sync, on the medium. sync=false: for a caller
    // that flushes a CatalogueWriter of the same pool right after, which syncs everything. After an error
    // nothing archived since the last flush() may be indexed until another flush() has succeeded. What
    // archive() has taken is kept, and later calls try again to write it: so a full disk costs only the field
    // whose archive() threw. What a failed sync left is synced by a later one; -DER_CSUM: some of it is lost.
    // What was flushed before stays.
    void flush(bool sync = true);

    const std::shared_ptr<Dataset>& dataset() const;

private:
    struct State;
    PerProcess<OwnState::field_store, State> state_;
};

} // namespace stepstore::fields

// The catalogue: which fields there are, and where.
//
// archive() remembers; flush() publishes, for each collocation key touched, one page with all its new
// entries: visible in one instant, whole, or not at all. Pages have a total order per collocation key, the
// same for every reader: of two entries of one field the later page's counts. So a field that is archived
// again is replaced atomically, and of two processes that archive the same field at once one wins whole.
//
// A forked child begins anew: it has archived nothing yet. What its parent has not flushed is its parent's.
//
// Threads: several may use a writer or a reader at once. Errors: session.h; each call names its own.
#pragma once

#include "base/own_state.h"
#include "fields/dataset.h"
#include "fields/location.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::fields {

class CatalogueWriter {
public:
    // dataset: of a session that was opened for writing.
    explicit CatalogueWriter(std::shared_ptr<Dataset> dataset);
    ~CatalogueWriter(); // what was not flushed is not indexed
    CatalogueWriter(const CatalogueWriter&) = delete;
    CatalogueWriter& operator=(const CatalogueWriter&) = delete;

    // Keys and foreign locations may have any length; 64 KiB each are tested. timestamp: seconds since 1970;
    // 0: now. No request is made. The last of several entries of one field counts.
    void archive(const Key& collocation, const Key& element, Location location, std::uint64_t timestamp = 0);
    // Returns when all is published and (sync) on the medium. The locations' bytes must have been flushed
    // before. After an error what was not published or not synced yet stays, and another flush() tries again:
    // once a full disk has room, say. -DER_NO_PERM: archiving is switched off. -DER_STALE: wiped. -DER_CSUM:
    // a field is lost that a failed sync before did not write.
    void flush(bool sync = true);
    std::uint64_t pending() const; // entries not flushed

private:
    struct State;
    PerProcess<OwnState::field_index, State> state_;
};

struct Entry {
    Location location;
    std::uint64_t timestamp = 0; // seconds since 1970
};

struct IndexSummary {
    Key collocation;
    std::shared_ptr<const Axes> axes;
    std::uint64_t entries = 0;
    std::uint64_t newest = 0; // seconds since 1970
};

// Caches what it has read of the index, for all calls; every call sees what any
// process flushed before it began.
class CatalogueReader {
public:
    explicit CatalogueReader(std::shared_ptr<Dataset> dataset);
    ~CatalogueReader();
    CatalogueReader(const CatalogueReader&) = delete;
    CatalogueReader& operator=(const CatalogueReader&) = delete;

    // nullopt: there is no such field. One small request when the index is cached. -DER_NO_PERM: retrieving
    // is switched off (looked at when the reader is made). -DER_STALE: the dataset was wiped. refresh=false:
    // no request when the index is cached; sees what was flushed before the last call that looked under this
    // collocation key (axes(), say).
    std::optional<Entry> find(const Key& collocation, const Key& element, bool refresh = true);

    // Every collocation key that matches and has something, until `each` returns false. Each comes with its
    // axes, the number of its entries (also replaced ones) and the time of its newest.
    void indexes(const Request& request, const std::function<bool(const IndexSummary&)>& each);

    // The values of each keyword of the element keys under a collocation key; may still hold those of removed
    // fields until purge. The same object as long as nothing new was archived there. nullptr: nothing ever
    // was.
    std::shared_ptr<const Axes> axes(const Key& collocation);
    // The axes of the pages that have what the request asks for. Merged pages hold the fields of many
    // flushes; of them only the matching fields count. nullptr: nothing can match. request: of keywords of
    // the element keys.
    std::shared_ptr<const Axes> axes(const Key& collocation, const Request& request);
    // Whether those axes are there, at the cost of one matching field.
    bool may_have(const Key& collocation, const Request& request);

private:
    std::shared_ptr<const Axes> matching_axes(const Key& collocation, const Request& request, bool all);

    struct State;
    PerProcess<OwnState::field_finder, State> state_;
};

} // namespace stepstore::fields

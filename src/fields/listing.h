// Listing the fields of a dataset: page by page, so without a request per field and in memory that does not
// grow with the number of fields.
// Threads: one at a time for each Listing. Errors: -DER_NO_PERM, -DER_STALE, and those of the store.
#pragma once

#include "fields/catalogue.h"

#include <memory>

namespace stepstore::fields {

struct ListedField {
    std::shared_ptr<const Key> collocation;
    Key element;
    Entry entry;
    bool masked = false; // replaced or removed since; only when asked for
};

struct ListOptions {
    // also what was replaced or removed, newest first within a field, until purge reclaims it
    bool masked = false;
    bool removed = true;         // with masked: also what was removed
    bool even_if_locked = false; // for maintenance: also when listing is switched off
};

// For one thread. Collocation keys come in no promised order; under one, the fields come in the order of
// their element keys' text. Sees what was flushed before the collocation key's turn began. A purge meanwhile
// disturbs nothing.
class Listing {
public:
    // request: of keywords of collocation and element keys; index pages that cannot hold a match are not
    // read. -DER_NO_PERM: listing is switched off.
    Listing(std::shared_ptr<Dataset> dataset, Request request, const ListOptions& options = {});
    // Under one collocation key only.
    Listing(std::shared_ptr<Dataset> dataset, const Key& collocation, Request request,
            const ListOptions& options = {});
    ~Listing();
    Listing(Listing&&) noexcept;
    Listing& operator=(Listing&&) noexcept;
    // False: no more. -DER_STALE: the dataset was wiped meanwhile.
    bool next(ListedField& field);

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace stepstore::fields

// The names of a container's snapshots, so that none is given twice. Epochs of snapshots only grow. So who
// has read the records up to one need only read those after it. A name that is known is looked up again,
// since its snapshot may be gone.
//
// What is known belongs to an open container. Threads share it under ForkLock::containers.
//
// Errors: DER_EXIST for a name that is taken.
#pragma once

#include "base/not_copied.h"
#include "store/backend.h"
#include "store/types.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepstore::store {

struct KnownNames {
    Epoch up_to = 0; // the snapshots up to this one are known
    std::multimap<std::string, Epoch, std::less<>> epochs;
};

// Of one creation.
class NewName : NotCopied {
public:
    NewName(KnownNames& known, std::string_view name) : known_(known), name_(name) {}
    // In the transaction that records it. newest: of the container's snapshots. DER_EXIST: there is one of
    // the name.
    void require_free(ReadTransaction& meta, const std::string& path, std::uint64_t container, Epoch newest);
    void took(Epoch epoch); // the transaction has committed

private:
    KnownNames& known_;
    std::string_view name_;
    std::vector<std::pair<std::string, Epoch>> seen_; // by the last run of the body
    Epoch seen_from_ = 0, seen_to_ = 0;
};

} // namespace stepstore::store

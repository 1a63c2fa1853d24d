// Which targets of a pool hold an object, and which of them a dkey.
//
// The object class is in the object id, as libdaos encodes it: bits 56..63 of `hi` are the object type,
// 48..55 the redundancy, 32..47 the number of groups. Sn spreads dkeys over n targets, SX over all of them;
// RP_2Gn keeps two copies of each dkey, on two distinct targets, over n pairs. In an id more groups than fit
// the pool mean as many as fit. Every other class is refused: a class that is accepted holds what it
// promises.
//
// Threads: any; pure. Errors: DER_INVAL.
#pragma once

#include "base/dkey_group.h"
#include "store/types.h"

#include <array>
#include <cstdint>

namespace stepstore::store {

inline constexpr unsigned max_replicas = 2;

// The targets that hold one dkey, ascending. The first one decides: it is read first, and commits last.
struct ReplicaSet {
    unsigned count = 0;
    std::array<unsigned, max_replicas> targets{};
};

class Placement {
public:
    // one_copy: the medium keeps copies itself, so that a second one here would add nothing. DER_INVAL: a
    // class that is not known here, or one that needs more targets than the pool has.
    Placement(std::uint64_t container, const ObjectId& oid, unsigned targets, bool one_copy = false);

    unsigned groups() const { return groups_; }
    ReplicaSet group(unsigned index) const;
    // The group of a dkey, given its bytes.
    unsigned group_of(Bytes dkey) const { return dkey_group(dkey, groups_); }

private:
    unsigned targets_;
    unsigned groups_ = 1;
    unsigned replicas_ = 1;
    bool one_copy_ = false;
    unsigned base_ = 0; // the target of the first copy of group 0
};

} // namespace stepstore::store

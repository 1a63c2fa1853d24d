#include "store/placement.h"

#include "store/failure.h"

#include <algorithm>

namespace stepstore::store {

namespace {

// enum daos_obj_redun of libdaos.
constexpr unsigned redundancy_none = 1; // OR_RP_1
constexpr unsigned redundancy_two = 8;  // OR_RP_2

} // namespace

Placement::Placement(std::uint64_t container, const ObjectId& oid, unsigned targets, bool one_copy)
    : targets_(targets), one_copy_(one_copy)
{
    const auto redundancy = static_cast<unsigned>(oid.hi >> 48 & 0xff);
    const auto wanted = static_cast<unsigned>(oid.hi >> 32 & 0xffff);
    if (wanted == 0 || (redundancy != redundancy_none && redundancy != redundancy_two)) {
        fail(DER_INVAL, "object " + text(oid) + ": its object class (redundancy " +
                            std::to_string(redundancy) + ", " + std::to_string(wanted) +
                            " groups) is not one of S1, S2, S4, ... SX, RP_2G1, RP_2G2, ... RP_2GX: "
                            "generate the object id with one of these");
    }
    if (redundancy == redundancy_two) {
        replicas_ = 2;
        if (targets < replicas_) {
            fail(DER_INVAL, "object " + text(oid) +
                                ": class RP_2 keeps two copies on two targets, but the pool has " +
                                std::to_string(targets) + ": use S1, or a pool with more targets");
        }
    }
    groups_ = std::min(wanted, targets / replicas_);
    std::byte id[24];
    store_big(id, container);
    store_big(id + 8, oid.hi);
    store_big(id + 16, oid.lo);
    base_ = static_cast<unsigned>(checksum(id) % targets);
}

ReplicaSet Placement::group(unsigned index) const
{
    static_assert(max_replicas == 2);
    const unsigned first = (base_ + index * replicas_) % targets_;
    if (replicas_ == 1 || one_copy_) return {1, {first}};
    const unsigned second = (first + 1) % targets_;
    return {2, {std::min(first, second), std::max(first, second)}};
}

} // namespace stepstore::store

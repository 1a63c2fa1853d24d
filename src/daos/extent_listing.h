// Where the array of an akey has records: their listing into the caller's memory (daos_obj_list_recx), and
// the first and last of them.
// Threads: those of the store; the anchor is the caller's. Errors: DER_INVAL.
#pragma once

#include "daos/resources.h"

#include <optional>
#include <vector>

namespace stepstore::daos {

// The array of one akey, at an epoch.
struct StoredArray {
    const ObjectResource& object;
    Bytes dkey;
    Bytes akey;
    Moment epoch;

    // As Container::extent_list(): the size of a record.
    std::uint64_t list(const store::Range& within, FunctionRef<bool(const store::StoredExtent&)> each) const;
    std::optional<store::Range> first() const;
    std::optional<store::Range> last() const;
};

// DER_INVAL unless there is room for a listing, and the anchor is one of such a listing.
void require_extent_listing(const std::uint32_t* nr, const daos_recx_t* recxs, const daos_anchor_t* anchor);
void list_extents(const StoredArray& array, bool ascending, daos_size_t* size, std::uint32_t* nr,
                  daos_recx_t* recxs, daos_epoch_range_t* eprs, daos_anchor_t* anchor);

} // namespace stepstore::daos

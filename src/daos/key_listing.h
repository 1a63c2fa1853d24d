// The listing of keys into the caller's descriptors and memory (daos_kv_list, daos_obj_list_dkey,
// daos_obj_list_akey).
// Threads: those of the store; the anchor is the caller's. Errors: DER_INVAL, DER_KEY2BIG.
#pragma once

#include "base/function_ref.h"
#include "daos/object_key.h"

namespace stepstore::daos {

// DER_INVAL unless there is room for a listing, and the anchor is one of a listing.
void require_listing(const std::uint32_t* nr, const daos_key_desc_t* kds, const d_sg_list_t* sgl,
                     const daos_anchor_t* anchor);

// Keys as the store lists them: until `take` returns false, or all were given.
using KeyWalk = FunctionRef<void(store::ListPosition& position, FunctionRef<bool(Bytes key)> take)>;

// The next listing goes on from there.
void set_anchor(const store::ListPosition& position, daos_anchor_t& anchor);

// DER_KEY2BIG
void list_keys(const ObjectResource& object, Level level, bool is_turned, KeyWalk walk, std::uint32_t* nr,
               daos_key_desc_t* kds, d_sg_list_t* sgl, daos_anchor_t* anchor);

} // namespace stepstore::daos

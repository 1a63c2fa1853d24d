// User attributes of a pool or a container in meta: sealed records of a name and a value (docs/format.md).
//
// A call sets, reads or removes several in one transaction. Those of a container go with it: first its own
// record, so that nobody sets more, then its attributes.
//
// Threads: any. Errors: DER_NONEXIST of a container that is gone, DER_INVAL, DER_NO_PERM, DER_CSUM.
#pragma once

#include "store/pool_core.h"
#include "store/store.h"

#include <memory>
#include <string>
#include <vector>

namespace stepstore::store {

struct UserAttribute {
    std::string name;
    std::vector<std::byte> value;
};
bool decode_user_attribute(Bytes body, UserAttribute& attribute);
// The key of an attribute's record, and what all of an owner begin with. container: no_container for the
// pool.
KeyBuffer user_attributes_of(std::uint64_t container);
KeyBuffer user_attribute_key(std::uint64_t container, std::string_view name);

// Of a container of this pool; no_container: of the pool itself.
std::unique_ptr<UserAttributes> open_user_attributes(std::shared_ptr<Pool> pool, PoolCore& core,
                                                     std::uint64_t container);
} // namespace stepstore::store

// Access control inside the library. The calls of programs are in daos_security.h.
//
// The storage below decides on access, and nothing here does. So a list is what the rights below give, and no
// other one is taken (docs/design/libdaos.md).
//
// Threads: any. Errors: DER_NOTSUPPORTED, DER_INVAL, std::bad_alloc.
#pragma once

#include "daos/api.h"

#include <cstdlib>
#include <memory>
#include <string>

namespace stepstore::daos {

struct FreeMemory {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
using Acl = std::unique_ptr<daos_acl, FreeMemory>;

// Memory for the caller of the C API, all zero; null: there is none.
template <class Type>
Type* cleared(std::size_t bytes) noexcept
{
    return static_cast<Type*>(std::calloc(1, bytes));
}

std::string acl_text(const daos_acl& acl); // "A::OWNER@:rw, A:G:GROUP@:r"

enum class Owned { pool, container };

// Whom the storage below lets in, and who owns it.
struct Rights {
    std::string where;        // for messages
    std::string owner, group; // principals; empty: there is none
    Acl acl;
};
// Of a pool, or of the containers in it. `path`: the store's name of the pool.
Rights rights_of(const std::string& path, Owned what);

// Whether this property tells of access: list, owner or group, of a pool or a container.
bool is_of_access(std::uint32_t type) noexcept;
// Fills the entries that do, in memory for the caller to free.
void fill_access(daos_prop_t& properties, const Rights& rights);
// What a caller wants must be what there is. DER_NOTSUPPORTED; DER_INVAL: it is no list or no name.
void require_access(const daos_prop_t* properties, const Rights& rights);
void require_acl(daos_acl* wanted, const Rights& rights);
void require_owner(const char* wanted, const std::string& there, const Rights& rights);

} // namespace stepstore::daos

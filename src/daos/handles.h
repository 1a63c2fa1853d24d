// The handle table: 64-bit cookies to what is open in this process.
//
// A cookie is a slot and the slot's generation, which starts at a random number and grows at every close.
// This tells a live cookie from a stale one, one of another process, or an arbitrary number. What a call has
// looked up stays until the call lets go of it, also when another thread closes the handle meanwhile.
//
// Errors: -DER_NO_HDL, and -DER_BUSY of a pool with open containers.
#pragma once

#include "base/not_copied.h"
#include "daos/api.h"
#include "daos/failure.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace stepstore::daos {

enum class Kind : std::uint8_t {
    pool,
    container,
    key_value,
    array,
    object,
    object_table,
    transaction,
    event_queue,
    watch
};
const char* kind_name(Kind kind) noexcept;

class Resource : NotCopied {
public:
    explicit Resource(Kind kind) noexcept : kind_(kind) {}
    virtual ~Resource() = default;

    Kind kind() const noexcept { return kind_; }
    virtual std::string name() const = 0; // for messages
    // What this was opened from, or null.
    virtual Resource* opened_from() const noexcept { return nullptr; }

private:
    friend struct HandleTable;
    Kind kind_;
    std::uint32_t open_children_ = 0; // guarded by the table's mutex
};

using ResourcePtr = std::shared_ptr<Resource>;

daos_handle_t insert_handle(ResourcePtr resource);
// Null: no such handle.
ResourcePtr find_handle(daos_handle_t handle) noexcept;
// Takes the handle out of the table. -DER_NO_HDL unless it is of this kind. As in libdaos, closing a
// container closes the objects opened from it, and a pool with open containers gives -DER_BUSY.
ResourcePtr close_handle(daos_handle_t handle, Kind kind);
void erase_all_handles();
void for_each_handle(const std::function<void(const Resource&)>& each);

[[noreturn]] void throw_no_handle(daos_handle_t handle, Kind kind);

// -DER_NO_HDL unless the handle is of T's kind.
template <class T>
std::shared_ptr<T> resource(daos_handle_t handle)
{
    auto found = find_handle(handle);
    if (!found || found->kind() != T::handle_kind) throw_no_handle(handle, T::handle_kind);
    return std::static_pointer_cast<T>(std::move(found));
}

} // namespace stepstore::daos

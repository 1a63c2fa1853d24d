#include "daos/handles.h"

#include "base/fork.h"

#include <cstdio>
#include <mutex>
#include <unistd.h>
#include <utility>
#include <vector>

namespace stepstore::daos {
namespace {

std::uint32_t any_number()
{
    std::uint32_t number = 0;
    // std::random_device asks the processor what it can do, which takes long on a virtual one.
    (void)!getentropy(&number, sizeof number);
    return number;
}

} // namespace

// Guarded by ForkLock::handles. Never destroyed: threads may still close handles while the process ends.
struct HandleTable {
    struct Slot {
        std::uint32_t generation = 0;
        ResourcePtr resource;
    };

    std::vector<Slot> slots;
    std::vector<std::uint32_t> free;
    std::uint32_t first_generation = any_number() | 1U;

    // A cookie's lower half is the slot's number plus one, so that no cookie is 0. Null: the cookie names no
    // live slot.
    Slot* live(daos_handle_t handle)
    {
        const auto number = static_cast<std::uint32_t>(handle.cookie);
        const auto generation = static_cast<std::uint32_t>(handle.cookie >> 32);
        if (number == 0 || number > slots.size()) return nullptr;
        Slot& slot = slots[number - 1];
        return slot.resource && slot.generation == generation ? &slot : nullptr;
    }

    std::uint32_t free_slot()
    {
        if (free.empty()) {
            slots.push_back({first_generation, nullptr});
            // So that closing never needs memory.
            if (free.capacity() < slots.size()) free.reserve(slots.capacity());
            free.push_back(static_cast<std::uint32_t>(slots.size()));
        }
        const std::uint32_t number = free.back();
        free.pop_back();
        return number;
    }

    ResourcePtr release(Slot& slot)
    {
        ++slot.generation;
        free.push_back(static_cast<std::uint32_t>(&slot - slots.data()) + 1);
        if (Resource* parent = slot.resource->opened_from()) --parent->open_children_;
        return std::exchange(slot.resource, nullptr);
    }

    static void adopt(Resource* parent) { ++parent->open_children_; }
    static std::uint32_t children(const Resource& resource) { return resource.open_children_; }
};

namespace {

HandleTable& table()
{
    static HandleTable& instance = *new HandleTable;
    return instance;
}

} // namespace

daos_handle_t insert_handle(ResourcePtr resource)
{
    const std::lock_guard lock(held_over_fork(ForkLock::handles));
    const std::uint32_t number = table().free_slot();
    HandleTable::Slot& slot = table().slots[number - 1];
    if (Resource* parent = resource->opened_from()) HandleTable::adopt(parent);
    slot.resource = std::move(resource);
    return {std::uint64_t{slot.generation} << 32 | number};
}

ResourcePtr find_handle(daos_handle_t handle) noexcept
{
    const std::lock_guard lock(held_over_fork(ForkLock::handles));
    const auto* slot = table().live(handle);
    return slot ? slot->resource : nullptr;
}

ResourcePtr close_handle(daos_handle_t handle, Kind kind)
{
    std::vector<ResourcePtr> closed; // destroyed after the lock is released
    const std::lock_guard lock(held_over_fork(ForkLock::handles));
    auto* slot = table().live(handle);
    if (!slot || slot->resource->kind() != kind) throw_no_handle(handle, kind);
    if (const auto children = HandleTable::children(*slot->resource); children > 0) {
        if (kind != Kind::container)
            throw Error(-DER_BUSY, slot->resource->name() +
                                       " is in use: close what was opened from this handle first (" +
                                       std::to_string(children) + " still open)");
        closed.reserve(children);
        const Resource* parent = slot->resource.get();
        for (auto& other : table().slots)
            if (other.resource && other.resource->opened_from() == parent)
                closed.push_back(table().release(other));
    }
    return table().release(*slot);
}

void erase_all_handles()
{
    std::vector<ResourcePtr> closed; // destroyed after the lock is released
    const std::lock_guard lock(held_over_fork(ForkLock::handles));
    closed.reserve(table().slots.size());
    for (auto& slot : table().slots)
        if (slot.resource) closed.push_back(table().release(slot));
}

void for_each_handle(const std::function<void(const Resource&)>& each)
{
    const std::lock_guard lock(held_over_fork(ForkLock::handles));
    for (const auto& slot : table().slots)
        if (slot.resource) each(*slot.resource);
}

const char* kind_name(Kind kind) noexcept
{
    switch (kind) {
    case Kind::pool: return "pool";
    case Kind::container: return "container";
    case Kind::key_value: return "key-value object";
    case Kind::array: return "array";
    case Kind::object: return "object";
    case Kind::object_table: return "object table";
    case Kind::transaction: return "transaction";
    case Kind::event_queue: return "event queue";
    case Kind::watch: return "watch";
    }
    return "";
}

void throw_no_handle(daos_handle_t handle, Kind kind)
{
    char text[128];
    if (handle.cookie == 0)
        std::snprintf(text, sizeof text, "no %s handle was given (DAOS_HDL_INVAL)", kind_name(kind));
    else
        std::snprintf(text, sizeof text,
                      "0x%llx is not an open %s handle of this process: it was closed, or is of another kind",
                      static_cast<unsigned long long>(handle.cookie), kind_name(kind));
    throw Error(-DER_NO_HDL, text);
}

} // namespace stepstore::daos

// daos_prop_: lists of properties, in the caller's memory.
#include "daos/api.h"

#include <cstdlib>
#include <cstring>

namespace {

bool is_text(uint32_t type)
{
    return type == DAOS_PROP_PO_LABEL || type == DAOS_PROP_PO_OWNER || type == DAOS_PROP_PO_OWNER_GROUP ||
           type == DAOS_PROP_CO_LABEL || type == DAOS_PROP_CO_OWNER || type == DAOS_PROP_CO_OWNER_GROUP;
}

bool is_pointer(uint32_t type)
{
    return type == DAOS_PROP_PO_ACL || type == DAOS_PROP_PO_SVC_LIST || type == DAOS_PROP_CO_ACL ||
           type == DAOS_PROP_CO_ROOTS;
}

void free_value(daos_prop_entry& entry)
{
    if (entry.dpe_type == DAOS_PROP_PO_SVC_LIST)
        d_rank_list_free(static_cast<d_rank_list_t*>(entry.dpe_val_ptr));
    else if (is_text(entry.dpe_type) || is_pointer(entry.dpe_type))
        std::free(entry.dpe_val_ptr);
}

// Puts a copy of `size` bytes, with a zero after them, in the place of what the entry has; NULL: nothing.
int set_copy(daos_prop_entry* entry, bool (*has_the_kind)(uint32_t), const void* from, daos_size_t size)
{
    if (!entry || !has_the_kind(entry->dpe_type)) return -DER_INVAL;
    char* copy = nullptr;
    if (from) {
        copy = size == SIZE_MAX ? nullptr : static_cast<char*>(std::malloc(size + 1));
        if (!copy) return -DER_NOMEM;
        std::memcpy(copy, from, size);
        copy[size] = '\0';
    }
    std::free(entry->dpe_val_ptr);
    entry->dpe_val_ptr = copy;
    return 0;
}

} // namespace

extern "C" {

daos_prop_t* daos_prop_alloc(uint32_t entries_nr)
{
    if (entries_nr > DAOS_PROP_ENTRIES_MAX_NR) return nullptr;
    auto* list = static_cast<daos_prop_t*>(std::calloc(1, sizeof(daos_prop_t)));
    if (!list || entries_nr == 0) return list;
    list->dpp_entries = static_cast<daos_prop_entry*>(std::calloc(entries_nr, sizeof(daos_prop_entry)));
    if (!list->dpp_entries) {
        std::free(list);
        return nullptr;
    }
    list->dpp_nr = entries_nr;
    return list;
}

void daos_prop_free(daos_prop_t* prop)
{
    if (!prop) return;
    for (uint32_t i = 0; prop->dpp_entries && i < prop->dpp_nr; ++i)
        free_value(prop->dpp_entries[i]);
    std::free(prop->dpp_entries);
    std::free(prop);
}

daos_prop_entry* daos_prop_entry_get(daos_prop_t* prop, uint32_t type)
{
    if (!prop || !prop->dpp_entries) return nullptr;
    for (uint32_t i = 0; i < prop->dpp_nr; ++i)
        if (prop->dpp_entries[i].dpe_type == type) return &prop->dpp_entries[i];
    return nullptr;
}

int daos_prop_entry_set_str(daos_prop_entry* entry, const char* str, daos_size_t len)
{
    return set_copy(entry, is_text, len > 0 ? str : nullptr, str ? strnlen(str, len) : 0);
}

int daos_prop_set_str(daos_prop_t* prop, uint32_t type, const char* str, daos_size_t len)
{
    daos_prop_entry* entry = daos_prop_entry_get(prop, type);
    return entry ? daos_prop_entry_set_str(entry, str, len) : -DER_NONEXIST;
}

int daos_prop_entry_set_ptr(daos_prop_entry* entry, const void* ptr, daos_size_t size)
{
    return set_copy(entry, is_pointer, size > 0 ? ptr : nullptr, size);
}

int daos_prop_set_ptr(daos_prop_t* prop, uint32_t type, const void* ptr, daos_size_t size)
{
    daos_prop_entry* entry = daos_prop_entry_get(prop, type);
    return entry ? daos_prop_entry_set_ptr(entry, ptr, size) : -DER_NONEXIST;
}

} // extern "C"

// daos_prop_: lists of properties, in the caller's memory.
#include "daos/api.h"

#include <cstdlib>
#include <cstring>

namespace {

bool is_text(uint32_t type)
{
    switch (type) {
    case DAOS_PROP_PO_LABEL:
    case DAOS_PROP_PO_OWNER:
    case DAOS_PROP_PO_OWNER_GROUP:
    case DAOS_PROP_CO_LABEL:
    case DAOS_PROP_CO_OWNER:
    case DAOS_PROP_CO_OWNER_GROUP: return true;
    default: return false;
    }
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
        if (is_text(prop->dpp_entries[i].dpe_type)) std::free(prop->dpp_entries[i].dpe_str);
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
    if (!entry || !is_text(entry->dpe_type)) return -DER_INVAL;
    char* copy = nullptr;
    if (str && len > 0) {
        copy = strndup(str, len);
        if (!copy) return -DER_NOMEM;
    }
    std::free(entry->dpe_str);
    entry->dpe_str = copy;
    return 0;
}

int daos_prop_set_str(daos_prop_t* prop, uint32_t type, const char* str, daos_size_t len)
{
    daos_prop_entry* entry = daos_prop_entry_get(prop, type);
    return entry ? daos_prop_entry_set_str(entry, str, len) : -DER_NONEXIST;
}

} // extern "C"

// daos_acl_ and daos_ace_: access control lists in memory. A list is its caller's, and nothing of it is
// believed: an entry that does not fit into its list ends it.
#include "daos/acl.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

using namespace stepstore::daos;

namespace {

bool is_type(unsigned type)
{
    return type < NUM_DAOS_ACL_TYPES;
}

bool has_name(unsigned type)
{
    return type == DAOS_ACL_USER || type == DAOS_ACL_GROUP;
}

bool is_group(unsigned type)
{
    return type == DAOS_ACL_OWNER_GROUP || type == DAOS_ACL_GROUP;
}

std::size_t size_of(const daos_ace& ace)
{
    return sizeof ace + ace.dae_principal_len;
}

std::string_view principal_of(const daos_ace& ace)
{
    return {ace.dae_principal, strnlen(ace.dae_principal, ace.dae_principal_len)};
}

bool is_of(const daos_ace& ace, unsigned type, std::string_view principal)
{
    return ace.dae_principal_type == type && (!has_name(type) || principal_of(ace) == principal);
}

bool has_entries(const daos_acl* acl)
{
    return acl && acl->dal_len <= DAOS_ACL_MAX_ACE_LEN;
}

std::vector<daos_ace*> entries_of(daos_acl* acl)
{
    std::vector<daos_ace*> all;
    for (daos_ace* ace = daos_acl_get_next_ace(acl, nullptr); ace; ace = daos_acl_get_next_ace(acl, ace))
        all.push_back(ace);
    return all;
}

// Of these entries, sorted by their types. Null: no memory, or they are too long.
daos_acl* made_of(std::vector<daos_ace*> aces)
{
    std::ranges::stable_sort(aces, {}, &daos_ace::dae_principal_type);
    std::size_t length = 0;
    for (const daos_ace* ace : aces)
        length += size_of(*ace);
    if (length > DAOS_ACL_MAX_ACE_LEN) return nullptr;
    auto* acl = cleared<daos_acl>(sizeof(daos_acl) + length);
    if (!acl) return nullptr;
    acl->dal_ver = DAOS_ACL_VERSION;
    acl->dal_len = static_cast<std::uint32_t>(length);
    std::uint8_t* to = acl->dal_ace;
    for (const daos_ace* ace : aces) {
        std::memcpy(to, ace, size_of(*ace));
        to += size_of(*ace);
    }
    return acl;
}

bool is_alert(const daos_ace& ace)
{
    return (ace.dae_access_types & (DAOS_ACL_ACCESS_AUDIT | DAOS_ACL_ACCESS_ALARM)) != 0;
}

// What C++ may throw in here is a lack of memory.
template <class Body>
auto without_exceptions(decltype(std::declval<Body>()()) otherwise, Body body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return otherwise;
    }
}

} // namespace

extern "C" {

struct daos_acl* daos_acl_create(struct daos_ace* aces[], uint16_t num_aces)
{
    return without_exceptions(static_cast<daos_acl*>(nullptr), [&]() -> daos_acl* {
        if (num_aces > 0 && !aces) return nullptr;
        const std::span given(aces, num_aces);
        if (std::ranges::find(given, nullptr) != given.end()) return nullptr;
        return made_of({given.begin(), given.end()});
    });
}

struct daos_acl* daos_acl_dup(struct daos_acl* acl)
{
    if (!has_entries(acl)) return nullptr;
    auto* copy = cleared<daos_acl>(sizeof *acl + acl->dal_len);
    if (copy) std::memcpy(copy, acl, sizeof *acl + acl->dal_len);
    return copy;
}

void daos_acl_free(struct daos_acl* acl)
{
    std::free(acl);
}

ssize_t daos_acl_get_size(struct daos_acl* acl)
{
    return acl ? static_cast<ssize_t>(sizeof *acl + acl->dal_len) : -DER_INVAL;
}

struct daos_ace* daos_acl_get_next_ace(struct daos_acl* acl, struct daos_ace* current_ace)
{
    if (!has_entries(acl)) return nullptr;
    std::size_t at = 0;
    if (current_ace) {
        const auto* place = reinterpret_cast<const std::uint8_t*>(current_ace);
        const std::less<const std::uint8_t*> before;
        if (before(place, acl->dal_ace) || !before(place, acl->dal_ace + acl->dal_len)) return nullptr;
        at = static_cast<std::size_t>(place - acl->dal_ace);
        if (acl->dal_len - at < sizeof *current_ace) return nullptr;
        at += size_of(*current_ace);
    }
    if (at + sizeof(daos_ace) > acl->dal_len) return nullptr;
    auto* next = reinterpret_cast<daos_ace*>(acl->dal_ace + at);
    return at % alignof(daos_ace) == 0 && at + size_of(*next) <= acl->dal_len ? next : nullptr;
}

int daos_acl_get_ace_for_principal(struct daos_acl* acl, enum daos_acl_principal_type type,
                                   const char* principal, struct daos_ace** ace)
{
    const unsigned wanted = number_of(type);
    if (!acl || !ace || !is_type(wanted) || (has_name(wanted) && !principal)) return -DER_INVAL;
    for (daos_ace* each = daos_acl_get_next_ace(acl, nullptr); each;
         each = daos_acl_get_next_ace(acl, each)) {
        if (!is_of(*each, wanted, principal ? principal : "")) continue;
        *ace = each;
        return 0;
    }
    return -DER_NONEXIST;
}

int daos_acl_add_ace(struct daos_acl** acl, struct daos_ace* new_ace)
{
    if (!acl || !has_entries(*acl) || !new_ace || !is_type(new_ace->dae_principal_type) ||
        new_ace->dae_principal_len % alignof(daos_ace) != 0)
        return -DER_INVAL;
    return without_exceptions(-DER_NOMEM, [&] {
        auto entries = entries_of(*acl);
        const auto same = std::ranges::find_if(entries, [&](const daos_ace* each) {
            return is_of(*each, new_ace->dae_principal_type, principal_of(*new_ace));
        });
        if (same != entries.end())
            *same = new_ace;
        else
            entries.push_back(new_ace);
        daos_acl* made = made_of(std::move(entries));
        if (!made) return -DER_NOMEM;
        std::free(std::exchange(*acl, made));
        return 0;
    });
}

int daos_acl_remove_ace(struct daos_acl** acl, enum daos_acl_principal_type type, const char* principal_name)
{
    const unsigned wanted = number_of(type);
    if (!acl || !has_entries(*acl) || !is_type(wanted) ||
        (has_name(wanted) && (!principal_name || *principal_name == '\0')))
        return -DER_INVAL;
    return without_exceptions(-DER_NOMEM, [&] {
        auto entries = entries_of(*acl);
        const auto gone = std::erase_if(entries, [&](const daos_ace* each) {
            return is_of(*each, wanted, principal_name ? principal_name : "");
        });
        if (gone == 0) return -DER_NONEXIST;
        daos_acl* made = made_of(std::move(entries));
        if (!made) return -DER_NOMEM;
        std::free(std::exchange(*acl, made));
        return 0;
    });
}

int daos_acl_validate(struct daos_acl* acl)
{
    if (!has_entries(acl) || acl->dal_ver != DAOS_ACL_VERSION) return -DER_INVAL;
    return without_exceptions(-DER_NOMEM, [&] {
        std::size_t length = 0;
        unsigned last_type = 0;
        std::set<std::pair<unsigned, std::string_view>> seen;
        for (daos_ace* ace : entries_of(acl)) {
            if (!daos_ace_is_valid(ace) || ace->dae_principal_type < last_type ||
                !seen.emplace(ace->dae_principal_type, principal_of(*ace)).second)
                return -DER_INVAL;
            last_type = ace->dae_principal_type;
            length += size_of(*ace);
        }
        return length == acl->dal_len ? 0 : -DER_INVAL;
    });
}

struct daos_ace* daos_ace_create(enum daos_acl_principal_type type, const char* principal_name)
{
    const unsigned wanted = number_of(type);
    if (!is_type(wanted)) return nullptr;
    std::size_t name = 0, room = 0;
    if (has_name(wanted)) {
        name = principal_name ? strnlen(principal_name, DAOS_ACL_MAX_ACE_LEN) : 0;
        constexpr std::size_t unit = alignof(daos_ace);
        room = (name + 1 + unit - 1) / unit * unit;
        if (name == 0 || room > UINT16_MAX) return nullptr;
    }
    auto* ace = cleared<daos_ace>(sizeof(daos_ace) + room);
    if (!ace) return nullptr;
    ace->dae_principal_type = static_cast<std::uint8_t>(wanted);
    ace->dae_principal_len = static_cast<std::uint16_t>(room);
    if (is_group(wanted)) ace->dae_access_flags = DAOS_ACL_FLAG_GROUP;
    if (name > 0) std::memcpy(ace->dae_principal, principal_name, name);
    return ace;
}

void daos_ace_free(struct daos_ace* ace)
{
    std::free(ace);
}

ssize_t daos_ace_get_size(struct daos_ace* ace)
{
    return ace ? static_cast<ssize_t>(size_of(*ace)) : -DER_INVAL;
}

bool daos_ace_is_valid(struct daos_ace* ace)
{
    if (!ace || ace->dae_access_types == 0 || (ace->dae_access_types & ~DAOS_ACL_ACCESS_ALL) != 0)
        return false;
    if (!is_type(ace->dae_principal_type) ||
        is_group(ace->dae_principal_type) != ((ace->dae_access_flags & DAOS_ACL_FLAG_GROUP) != 0) ||
        has_name(ace->dae_principal_type) != (ace->dae_principal_len != 0))
        return false;
    if (ace->dae_principal_len != 0 && (ace->dae_principal_len % alignof(daos_ace) != 0 ||
                                        principal_of(*ace).size() == ace->dae_principal_len ||
                                        !daos_acl_principal_is_valid(ace->dae_principal)))
        return false;
    constexpr unsigned alert_flags = DAOS_ACL_FLAG_ACCESS_FAIL | DAOS_ACL_FLAG_ACCESS_SUCCESS;
    if (is_alert(*ace) != ((ace->dae_access_flags & alert_flags) != 0)) return false;
    const std::pair<unsigned, std::uint64_t> permissions[] = {
        {DAOS_ACL_ACCESS_ALLOW, ace->dae_allow_perms},
        {DAOS_ACL_ACCESS_AUDIT, ace->dae_audit_perms},
        {DAOS_ACL_ACCESS_ALARM, ace->dae_alarm_perms},
    };
    return std::ranges::all_of(permissions, [&](const auto& each) {
        return each.second == 0 || (ace->dae_access_types & each.first) != 0;
    });
}

const char* daos_ace_get_principal_str(struct daos_ace* ace)
{
    if (!ace) return nullptr;
    switch (ace->dae_principal_type) {
    case DAOS_ACL_OWNER: return DAOS_ACL_PRINCIPAL_OWNER;
    case DAOS_ACL_OWNER_GROUP: return DAOS_ACL_PRINCIPAL_OWNER_GRP;
    case DAOS_ACL_EVERYONE: return DAOS_ACL_PRINCIPAL_EVERYONE;
    default: return ace->dae_principal;
    }
}

} // extern "C"

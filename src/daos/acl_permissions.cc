// daos_cont_get_perms and daos_pool_get_perms: what an access control list allows a user.
#include "daos/acl.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

using namespace stepstore::daos;

namespace {

using Principal = std::unique_ptr<char, FreeMemory>;

// The properties that tell of access.
struct AccessTypes {
    std::uint32_t acl, owner, group;
};

std::optional<std::uint64_t> allowed(daos_acl* list, daos_acl_principal_type type, const char* name)
{
    daos_ace* entry = nullptr;
    if (daos_acl_get_ace_for_principal(list, type, name, &entry) != 0) return std::nullopt;
    return entry->dae_allow_perms;
}

// An owner that is not set is nobody.
bool is_principal(const char* principal, const char* owner)
{
    return owner && std::strncmp(principal, owner, DAOS_ACL_MAX_PRINCIPAL_LEN) == 0;
}

// All groups of the user together; nothing: the list names none of them.
std::optional<std::uint64_t> of_groups(daos_acl* list, const std::vector<Principal>& groups,
                                       const char* owner)
{
    std::optional<std::uint64_t> all;
    const auto add = [&](std::optional<std::uint64_t> more) {
        if (more) all = all.value_or(0) | *more;
    };
    for (const Principal& group : groups) {
        if (is_principal(group.get(), owner)) add(allowed(list, DAOS_ACL_OWNER_GROUP, nullptr));
        add(allowed(list, DAOS_ACL_GROUP, group.get()));
    }
    return all;
}

// The first entry that fits decides. least: of the owner, whatever the list says.
int look_up(daos_prop_t* properties, const AccessTypes& types, uid_t uid, const gid_t* gids,
            std::size_t count, std::uint64_t least, std::uint64_t* permissions)
{
    if (!properties || !permissions || (!gids && count > 0)) return -DER_INVAL;
    *permissions = 0;
    char* name = nullptr;
    if (const int failed = daos_acl_uid_to_principal(uid, &name); failed != 0) return failed;
    const Principal user(name);
    std::vector<Principal> groups;
    for (std::size_t i = 0; i < count; ++i) {
        if (const int failed = daos_acl_gid_to_principal(gids[i], &name); failed != 0) return failed;
        groups.emplace_back(name);
    }
    const daos_prop_entry* acl = daos_prop_entry_get(properties, types.acl);
    const daos_prop_entry* owner = daos_prop_entry_get(properties, types.owner);
    const daos_prop_entry* group = daos_prop_entry_get(properties, types.group);
    if (!acl || !owner || !group) return -DER_INVAL;
    auto* list = static_cast<daos_acl*>(acl->dpe_val_ptr);
    if (const int failed = daos_acl_validate(list); failed != 0) return failed;
    const auto text_of = [](const daos_prop_entry& entry) {
        return (entry.dpe_flags & DAOS_PROP_ENTRY_NOT_SET) != 0 ? nullptr : entry.dpe_str;
    };
    const bool owns = is_principal(user.get(), text_of(*owner));
    std::optional<std::uint64_t> found;
    if (owns) found = allowed(list, DAOS_ACL_OWNER, nullptr);
    if (!found) found = allowed(list, DAOS_ACL_USER, user.get());
    if (!found) found = of_groups(list, groups, text_of(*group));
    if (!found) found = allowed(list, DAOS_ACL_EVERYONE, nullptr);
    *permissions = found.value_or(0) | (owns ? least : 0);
    return 0;
}

int permissions_for(daos_prop_t* properties, const AccessTypes& types, uid_t uid, const gid_t* gids,
                    std::size_t count, std::uint64_t least, std::uint64_t* permissions) noexcept
{
    try {
        return look_up(properties, types, uid, gids, count, least, permissions);
    } catch (const std::bad_alloc&) {
        return -DER_NOMEM;
    }
}

} // namespace

extern "C" {

int daos_cont_get_perms(daos_prop_t* cont_prop, uid_t uid, gid_t* gids, size_t nr_gids, uint64_t* perms)
{
    return permissions_for(cont_prop, {DAOS_PROP_CO_ACL, DAOS_PROP_CO_OWNER, DAOS_PROP_CO_OWNER_GROUP}, uid,
                           gids, nr_gids, DAOS_ACL_PERM_GET_ACL | DAOS_ACL_PERM_SET_ACL, perms);
}

int daos_pool_get_perms(daos_prop_t* pool_prop, uid_t uid, gid_t* gids, size_t nr_gids, uint64_t* perms)
{
    return permissions_for(pool_prop, {DAOS_PROP_PO_ACL, DAOS_PROP_PO_OWNER, DAOS_PROP_PO_OWNER_GROUP}, uid,
                           gids, nr_gids, 0, perms);
}

} // extern "C"

// Access control lists and owners, as the storage below has them: from the mode and the owner of the pool's
// directory. Of a cluster the rights are those of its users' keys, which know no owner: every client that is
// let in may do everything.
#include "daos/acl.h"

#include "daos/failure.h"
#include "daos/properties.h"

#include <algorithm>
#include <new>
#include <span>
#include <sys/stat.h>

namespace stepstore::daos {

namespace {

constexpr unsigned everything = 07;

// bits: as of a class in a file's mode. One may read with r and x of a directory, and write with w too.
std::uint64_t permissions(unsigned bits, Owned what, bool owner)
{
    const bool reads = (bits & 05) == 05, writes = bits == everything;
    std::uint64_t all = 0;
    if (reads) all |= DAOS_ACL_PERM_READ | DAOS_ACL_PERM_GET_PROP;
    if (writes) all |= DAOS_ACL_PERM_WRITE | DAOS_ACL_PERM_DEL_CONT;
    if (what == Owned::pool) return writes ? all | DAOS_ACL_PERM_CREATE_CONT : all;
    if (reads) all |= DAOS_ACL_PERM_GET_ACL;
    if (writes) all |= DAOS_ACL_PERM_SET_PROP;
    // The owner may change the mode, whatever it is.
    return owner ? all | DAOS_ACL_PERM_GET_ACL | DAOS_ACL_PERM_SET_ACL : all;
}

Acl list_of(unsigned mode, Owned what)
{
    struct Part {
        daos_acl_principal_type type;
        unsigned shift;
    };
    daos_acl* list = nullptr;
    Acl acl(daos_acl_create(nullptr, 0));
    for (const Part& part : {Part{DAOS_ACL_OWNER, 6}, {DAOS_ACL_OWNER_GROUP, 3}, {DAOS_ACL_EVERYONE, 0}}) {
        std::unique_ptr<daos_ace, FreeMemory> ace(daos_ace_create(part.type, nullptr));
        if (!acl || !ace) throw std::bad_alloc();
        ace->dae_access_types = DAOS_ACL_ACCESS_ALLOW;
        ace->dae_allow_perms =
            permissions(mode >> part.shift & everything, what, part.type == DAOS_ACL_OWNER);
        if (part.type == DAOS_ACL_EVERYONE && ace->dae_allow_perms == 0) continue; // others have no entry
        list = acl.release();
        const int failed = daos_acl_add_ace(&list, ace.get());
        acl.reset(list);
        if (failed != 0) throw std::bad_alloc();
    }
    return acl;
}

// Of a user or group of this machine, or its number, which may be another machine's.
template <class Id>
std::string principal(int (*name_of)(Id, char**), Id id)
{
    char* name = nullptr;
    if (name_of(id, &name) != 0) return std::to_string(id) + "@";
    const std::unique_ptr<char, FreeMemory> held(name);
    return name;
}

bool is_list(std::uint32_t type) noexcept
{
    return type == DAOS_PROP_PO_ACL || type == DAOS_PROP_CO_ACL;
}

bool is_owner(std::uint32_t type) noexcept
{
    return type == DAOS_PROP_PO_OWNER || type == DAOS_PROP_CO_OWNER;
}

} // namespace

Rights rights_of(const std::string& path, Owned what)
{
    struct stat status {};
    Rights rights;
    if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
        rights.where = "the directory " + path;
        rights.owner = principal(daos_acl_uid_to_principal, status.st_uid);
        rights.group = principal(daos_acl_gid_to_principal, status.st_gid);
        rights.acl = list_of(status.st_mode, what);
    } else {
        rights.where = "pool " + path;
        rights.acl = list_of(0777, what);
    }
    return rights;
}

bool is_of_access(std::uint32_t type) noexcept
{
    return is_list(type) || is_owner(type) || type == DAOS_PROP_PO_OWNER_GROUP ||
           type == DAOS_PROP_CO_OWNER_GROUP;
}

void fill_access(daos_prop_t& properties, const Rights& rights)
{
    for (daos_prop_entry& entry : std::span(properties.dpp_entries, properties.dpp_nr)) {
        if (!is_of_access(entry.dpe_type)) continue;
        const std::string& name = is_owner(entry.dpe_type) ? rights.owner : rights.group;
        const bool told = is_list(entry.dpe_type) || !name.empty();
        entry.dpe_flags = told ? 0 : DAOS_PROP_ENTRY_NOT_SET;
        entry.dpe_val_ptr = nullptr;
        if (!told) continue;
        if (is_list(entry.dpe_type)) {
            entry.dpe_val_ptr = daos_acl_dup(rights.acl.get());
            if (!entry.dpe_val_ptr) throw std::bad_alloc();
        } else {
            entry.dpe_str = copy_text(name);
        }
    }
}

void require_access(const daos_prop_t* properties, const Rights& rights)
{
    if (!properties || !properties->dpp_entries) return;
    for (const daos_prop_entry& entry : std::span(properties->dpp_entries, properties->dpp_nr)) {
        if (!is_of_access(entry.dpe_type)) continue;
        if (is_list(entry.dpe_type))
            require_acl(static_cast<daos_acl*>(entry.dpe_val_ptr), rights);
        else
            require_owner(entry.dpe_str, is_owner(entry.dpe_type) ? rights.owner : rights.group, rights);
    }
}

void require_acl(daos_acl* wanted, const Rights& rights)
{
    if (daos_acl_validate(wanted) != 0)
        invalid("this is no access control list, or not a sound one: see daos_acl_validate()");
    const std::string there = acl_text(*rights.acl);
    if (acl_text(*wanted) == there && daos_acl_get_size(wanted) == daos_acl_get_size(rights.acl.get()))
        return;
    throw Error(-DER_NOTSUPPORTED,
                "the rights of " + rights.where + " decide on access, and they give the list " + there +
                    ". Another one would not be obeyed: change the rights (chmod, or the caps of the users "
                    "of a cluster), or leave out the list");
}

void require_owner(const char* wanted, const std::string& there, const Rights& rights)
{
    if (!daos_acl_principal_is_valid(wanted)) invalid("an owner's name has the form NAME@ or NAME@DOMAIN");
    if (wanted == there) return;
    throw Error(-DER_NOTSUPPORTED, rights.where + (there.empty() ? " has no owner" : " belongs to " + there) +
                                       ", and " + wanted +
                                       " would have no rights by being named here: use chown, or "
                                       "leave out the owner");
}

} // namespace stepstore::daos

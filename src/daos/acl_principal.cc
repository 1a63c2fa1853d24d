// Principals of access control lists: names such as "user@", and the users and groups of this machine.
#include "daos/acl.h"

#include <cerrno>
#include <cstring>
#include <grp.h>
#include <memory>
#include <pwd.h>
#include <string_view>

using namespace stepstore::daos;

namespace {

// Calls one of getpwuid_r and its family with as much memory as it wants, and `use` with what it found.
template <class Entry, class Look, class Use>
int looked_up(Look look, Use use)
{
    constexpr std::size_t most = std::size_t{1} << 26;
    for (std::size_t room = 1024; room <= most; room *= 2) {
        const std::unique_ptr<char, FreeMemory> memory(static_cast<char*>(std::malloc(room)));
        if (!memory) return -DER_NOMEM;
        Entry entry;
        Entry* found = nullptr;
        const int failed = look(&entry, memory.get(), room, &found);
        if (failed == ERANGE) continue;
        if (failed == ENOMEM) return -DER_NOMEM;
        // Some systems have a code for a name that they do not know.
        return found ? use(*found) : -DER_NONEXIST;
    }
    return -DER_NOMEM;
}

int give_principal(const char* local, char** name)
{
    char* copy = nullptr;
    if (d_asprintf(&copy, "%s@", local) < 0) return -DER_NOMEM;
    *name = copy;
    return 0;
}

// What is before the @. False: it is no principal.
bool local_name(const char* principal, char (&name)[DAOS_ACL_MAX_PRINCIPAL_BUF_LEN])
{
    if (!daos_acl_principal_is_valid(principal)) return false;
    const std::string_view all(principal);
    name[all.substr(0, all.find('@')).copy(name, sizeof name - 1)] = '\0';
    return true;
}

} // namespace

extern "C" {

bool daos_acl_principal_is_valid(const char* name)
{
    if (!name) return false;
    const std::string_view all(name, strnlen(name, DAOS_ACL_MAX_PRINCIPAL_BUF_LEN));
    if (all.size() > DAOS_ACL_MAX_PRINCIPAL_LEN) return false;
    const auto at = all.find('@');
    return at != 0 && at != std::string_view::npos && all.find('@', at + 1) == std::string_view::npos;
}

int daos_acl_uid_to_principal(uid_t uid, char** name)
{
    if (!name) return -DER_INVAL;
    return looked_up<passwd>([=](passwd* user, char* memory, std::size_t room,
                                 passwd** found) { return getpwuid_r(uid, user, memory, room, found); },
                             [=](const passwd& user) { return give_principal(user.pw_name, name); });
}

int daos_acl_gid_to_principal(gid_t gid, char** name)
{
    if (!name) return -DER_INVAL;
    return looked_up<group>([=](group* in, char* memory, std::size_t room,
                                group** found) { return getgrgid_r(gid, in, memory, room, found); },
                            [=](const group& in) { return give_principal(in.gr_name, name); });
}

int daos_acl_principal_to_uid(const char* principal, uid_t* uid)
{
    char local[DAOS_ACL_MAX_PRINCIPAL_BUF_LEN];
    if (!uid || !local_name(principal, local)) return -DER_INVAL;
    return looked_up<passwd>([&](passwd* user, char* memory, std::size_t room,
                                 passwd** found) { return getpwnam_r(local, user, memory, room, found); },
                             [=](const passwd& user) {
                                 *uid = user.pw_uid;
                                 return 0;
                             });
}

int daos_acl_principal_to_gid(const char* principal, gid_t* gid)
{
    char local[DAOS_ACL_MAX_PRINCIPAL_BUF_LEN];
    if (!gid || !local_name(principal, local)) return -DER_INVAL;
    return looked_up<group>([&](group* in, char* memory, std::size_t room,
                                group** found) { return getgrnam_r(local, in, memory, room, found); },
                            [=](const group& in) {
                                *gid = in.gr_gid;
                                return 0;
                            });
}

} // extern "C"

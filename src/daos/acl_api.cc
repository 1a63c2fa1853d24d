// daos_cont_get_acl and the calls that would change an access control list or an owner.
#include "daos/acl.h"

#include "daos/call.h"
#include "daos/properties.h"
#include "daos/resources.h"

#include <string>

using namespace stepstore::daos;
using stepstore::Error;

namespace {

constexpr std::uint32_t of_access[] = {DAOS_PROP_CO_ACL, DAOS_PROP_CO_OWNER, DAOS_PROP_CO_OWNER_GROUP};

Rights rights_below(const ContainerResource& container)
{
    return rights_of(container.pool().pool().path(), Owned::container);
}

Acl copy_of(daos_acl* acl)
{
    if (daos_acl_validate(acl) != 0)
        invalid("this is no access control list, or not a sound one: see daos_acl_validate()");
    Acl copy(daos_acl_dup(acl));
    if (!copy) throw std::bad_alloc();
    return copy;
}

// The list that would be there after `change`, which is that of now if the storage below has it so.
template <class Change>
void require_unchanged(const ContainerResource& container, Change change)
{
    const Rights rights = rights_below(container);
    daos_acl* list = copy_of(rights.acl.get()).release();
    const int failed = change(list);
    const Acl held(list);
    if (failed == -DER_NOMEM) throw std::bad_alloc();
    if (failed != 0)
        throw Error(failed, container.name() + " has no entry of this principal: its list is " +
                                acl_text(*rights.acl));
    require_acl(held.get(), rights);
}

int set_owner(const char* name, daos_handle_t coh, const char* user, const char* group, bool must_exist,
              daos_event_t* ev)
{
    return call(name, ev, [=] {
        auto container = resource<ContainerResource>(coh);
        container->require_writable("change the owner");
        if (!user && !group) invalid("neither an owner nor a group was given: give one of them");
        for (const char* each : {user, group})
            if (each && !daos_acl_principal_is_valid(each))
                invalid("an owner's name has the form NAME@ or NAME@DOMAIN");
        uid_t uid;
        gid_t gid;
        const auto require_known = [&](int failed, const char* what, const char* who) {
            if (failed == 0) return;
            throw Error(failed, std::string("this machine has no ") + what + " " + who);
        };
        if (must_exist && user) require_known(daos_acl_principal_to_uid(user, &uid), "user", user);
        if (must_exist && group) require_known(daos_acl_principal_to_gid(group, &gid), "group", group);
        const Rights rights = rights_below(*container);
        if (user) require_owner(user, rights.owner, rights);
        if (group) require_owner(group, rights.group, rights);
    });
}

} // namespace

extern "C" {

int daos_cont_get_acl(daos_handle_t coh, daos_prop_t** acl_prop, daos_event_t* ev)
{
    return call("daos_cont_get_acl", ev, [=] {
        require(acl_prop, "acl_prop");
        const auto container = resource<ContainerResource>(coh);
        struct FreeProperties {
            void operator()(daos_prop_t* list) const noexcept { daos_prop_free(list); }
        };
        std::unique_ptr<daos_prop_t, FreeProperties> list(daos_prop_alloc(std::size(of_access)));
        if (!list) throw std::bad_alloc();
        for (std::size_t i = 0; i < std::size(of_access); ++i)
            list->dpp_entries[i].dpe_type = of_access[i];
        fill_access(*list, rights_below(*container));
        *acl_prop = list.release();
    });
}

int daos_cont_overwrite_acl(daos_handle_t coh, struct daos_acl* acl, daos_event_t* ev)
{
    return call("daos_cont_overwrite_acl", ev, [=] {
        const auto container = resource<ContainerResource>(coh);
        container->require_writable("change access control");
        require_acl(acl, rights_below(*container));
    });
}

int daos_cont_update_acl(daos_handle_t coh, struct daos_acl* acl, daos_event_t* ev)
{
    return call("daos_cont_update_acl", ev, [=] {
        const auto container = resource<ContainerResource>(coh);
        container->require_writable("change access control");
        const Acl entries = copy_of(acl);
        require_unchanged(*container, [&](daos_acl*& list) {
            int failed = 0;
            for (daos_ace* ace = daos_acl_get_next_ace(entries.get(), nullptr); ace && failed == 0;
                 ace = daos_acl_get_next_ace(entries.get(), ace))
                failed = daos_acl_add_ace(&list, ace);
            return failed;
        });
    });
}

int daos_cont_delete_acl(daos_handle_t coh, enum daos_acl_principal_type type, d_string_t name,
                         daos_event_t* ev)
{
    return call("daos_cont_delete_acl", ev, [=, type = number_of(type)] {
        const auto container = resource<ContainerResource>(coh);
        container->require_writable("change access control");
        const bool named = type == DAOS_ACL_USER || type == DAOS_ACL_GROUP;
        if (type >= NUM_DAOS_ACL_TYPES || (named && !daos_acl_principal_is_valid(name)))
            invalid("an entry is named by its type and, of a user or a group, by a name such as NAME@");
        require_unchanged(*container, [&](daos_acl*& list) {
            return daos_acl_remove_ace(&list, static_cast<daos_acl_principal_type>(type), name);
        });
    });
}

int daos_cont_set_owner(daos_handle_t coh, d_string_t user, d_string_t group, daos_event_t* ev)
{
    return set_owner("daos_cont_set_owner", coh, user, group, true, ev);
}

int daos_cont_set_owner_no_check(daos_handle_t coh, d_string_t user, d_string_t group, daos_event_t* ev)
{
    return set_owner("daos_cont_set_owner_no_check", coh, user, group, false, ev);
}

} // extern "C"

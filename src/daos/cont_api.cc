// daos_cont_: containers and their snapshots.
#include "daos/api.h"

#include "base/text.h"
#include "daos/acl.h"
#include "daos/call.h"
#include "daos/global_handle.h"
#include "daos/properties.h"
#include "daos/resources.h"

#include <algorithm>
#include <cstring>
#include <span>

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::Bytes;
using stepstore::Error;
using stepstore::parse_uuid;
using stepstore::uuid_text;

namespace {

store::Access container_access(unsigned flags)
{
    const unsigned base = flags & DAOS_COO_IO_BASE_MASK;
    const unsigned refused = DAOS_COO_EX | DAOS_COO_EVICT | DAOS_COO_EVICT_ALL;
    if ((flags & ~static_cast<unsigned>(DAOS_COO_MASK)) != 0 || std::popcount(base) != 1)
        invalid("flags " + std::to_string(flags) + " of a container: give DAOS_COO_RO or DAOS_COO_RW");
    if ((flags & refused) != 0)
        throw Error(-DER_NOTSUPPORTED,
                    "opening a container exclusively or evicting others is not supported: use DAOS_COO_RW");
    return base == DAOS_COO_RO ? store::Access::read_only : store::Access::read_write;
}

std::string container_name(const char* cont)
{
    require(cont, "the container's name");
    if (!daos_label_is_valid(cont) && !parse_uuid(cont))
        invalid(std::string("'") + cont +
                "' names no container: give a label of 1 to 127 characters of A-Z a-z 0-9 . _ : - or a UUID");
    return cont;
}

std::string snapshot_name(const char* name)
{
    if (!name) return {};
    const std::size_t length = strnlen(name, DAOS_SNAPSHOT_MAX_LEN);
    if (length == DAOS_SNAPSHOT_MAX_LEN)
        invalid("a snapshot's name has at most " + std::to_string(DAOS_SNAPSHOT_MAX_LEN - 1) + " characters");
    return {name, length};
}

std::uint32_t open_handles(const store::Uuid& uuid)
{
    std::uint32_t count = 0;
    for_each_handle([&](const Resource& each) {
        if (each.kind() == Kind::container && static_cast<const ContainerResource&>(each).uuid() == uuid)
            ++count;
    });
    return count;
}

void fill_info(const store::ContainerInfo& container, daos_cont_info_t& info, std::uint32_t handles)
{
    info = {};
    std::memcpy(info.ci_uuid, container.uuid.data(), container.uuid.size());
    info.ci_lsnapshot = container.latest_snapshot;
    info.ci_nhandles = handles;
    info.ci_nsnapshots = static_cast<std::uint32_t>(container.snapshots);
    info.ci_md_mtime = std::max(container.created, container.latest_snapshot);
}

void create(PoolResource& pool, const Properties& properties, uuid_t* uuid)
{
    const auto info =
        pool.pool().create_container(store::random_uuid(), properties.label(), properties.encode());
    if (uuid) std::memcpy(*uuid, info.uuid.data(), info.uuid.size());
}

void require_same_access(const PoolResource& pool, const daos_prop_t* properties)
{
    if (!properties || !properties->dpp_entries || properties->dpp_nr > DAOS_PROP_ENTRIES_MAX_NR) return;
    const std::span entries(properties->dpp_entries, properties->dpp_nr);
    if (std::ranges::any_of(entries, is_of_access, &daos_prop_entry::dpe_type))
        require_access(properties, rights_of(pool.pool().path(), Owned::container));
}

// The container of a handle, which must allow updates.
std::shared_ptr<ContainerResource> writable(daos_handle_t coh, const char* what)
{
    auto found = resource<ContainerResource>(coh);
    found->require_writable(what);
    return found;
}

} // namespace

extern "C" {

int daos_cont_create(daos_handle_t poh, uuid_t* uuid, daos_prop_t* cont_prop, daos_event_t* ev)
{
    return call("daos_cont_create", ev, [=] {
        auto pool = resource<PoolResource>(poh);
        pool->require_writable("create a container");
        require_same_access(*pool, cont_prop);
        return [=, properties = Properties::from(cont_prop)] { create(*pool, properties, uuid); };
    });
}

int daos_cont_create_with_label(daos_handle_t poh, const char* label, daos_prop_t* cont_prop, uuid_t* uuid,
                                daos_event_t* ev)
{
    return call("daos_cont_create_with_label", ev, [=] {
        auto pool = resource<PoolResource>(poh);
        pool->require_writable("create a container");
        require_same_access(*pool, cont_prop);
        auto properties = Properties::from(cont_prop);
        properties.set_label(label);
        return [=] { create(*pool, properties, uuid); };
    });
}

int daos_cont_open(daos_handle_t poh, const char* cont, unsigned int flags, daos_handle_t* coh,
                   daos_cont_info_t* info, daos_event_t* ev)
{
    return call("daos_cont_open", ev, [=] {
        require(coh, "coh");
        return [=, pool = resource<PoolResource>(poh), name = container_name(cont),
                access = container_access(flags)] {
            auto opened = std::make_shared<ContainerResource>(pool, name, access);
            if (info) fill_info(opened->container().query(), *info, open_handles(opened->uuid()) + 1);
            *coh = insert_handle(std::move(opened));
        };
    });
}

int daos_cont_close(daos_handle_t coh, daos_event_t* ev)
{
    return call("daos_cont_close", ev, [=] { close_handle(coh, Kind::container); });
}

int daos_cont_destroy(daos_handle_t poh, const char* cont, int force, daos_event_t* ev)
{
    return call("daos_cont_destroy", ev, [=] {
        auto pool = resource<PoolResource>(poh);
        pool->require_writable("destroy a container");
        return [=, name = container_name(cont)] { pool->pool().destroy_container(name, force != 0); };
    });
}

int daos_cont_query(daos_handle_t coh, daos_cont_info_t* info, daos_prop_t* cont_prop, daos_event_t* ev)
{
    return call("daos_cont_query", ev, [=] {
        require_query(cont_prop, DAOS_PROP_CO_MIN, DAOS_PROP_CO_MAX, "container");
        return [=, resource = resource<ContainerResource>(coh)] {
            store::Container& container = resource->container();
            const auto described = container.query();
            if (info) fill_info(described, *info, open_handles(resource->uuid()));
            if (!cont_prop) return;
            auto properties = Properties::decode(container.properties());
            properties.restore_label(described.label);
            properties.set_default_root(resource->pool().targets());
            properties.fill(*cont_prop);
            fill_access(*cont_prop, rights_of(resource->pool().pool().path(), Owned::container));
        };
    });
}

int daos_cont_set_prop(daos_handle_t coh, daos_prop_t* prop, daos_event_t* ev)
{
    return call("daos_cont_set_prop", ev, [=] {
        auto container = writable(coh, "set properties");
        require(prop, "prop");
        require_same_access(container->pool(), prop);
        return [container = std::move(container), changes = Properties::changes(prop)] {
            container->container().set_properties(
                [&](Bytes record) {
                    auto properties = Properties::decode(record);
                    properties.change(changes);
                    return properties.encode();
                },
                changes.label());
        };
    });
}

int daos_cont_status_clear(daos_handle_t coh, daos_event_t* ev)
{
    // A container is always healthy: damage is found where it is, at each read.
    return call("daos_cont_status_clear", ev, [=] { writable(coh, "clear its status"); });
}

int daos_cont_local2global(daos_handle_t coh, d_iov_t* glob)
{
    return call("daos_cont_local2global",
                [&] { put_global(describe(*resource<ContainerResource>(coh)), glob); });
}

int daos_cont_global2local(daos_handle_t poh, d_iov_t glob, daos_handle_t* coh)
{
    return call("daos_cont_global2local", [&] {
        require(coh, "coh");
        auto pool = resource<PoolResource>(poh);
        const auto handle = get_global(glob, Kind::container);
        if (handle.pool != pool->uuid())
            invalid("the global handle is for a container in pool " + handle.path + ", not in " +
                    pool->name());
        *coh = insert_handle(
            std::make_shared<ContainerResource>(pool, uuid_text(handle.container.data()), handle.access));
    });
}

int daos_cont_alloc_oids(daos_handle_t coh, daos_size_t num_oids, uint64_t* oid, daos_event_t* ev)
{
    return call("daos_cont_alloc_oids", ev, [=] {
        require(oid, "oid");
        if (num_oids == 0) invalid("0 object ids were asked for: ask for 1 or more");
        // Also through a handle that was opened for reading: the ids are no content of the container.
        return [=, resource = resource<ContainerResource>(coh)] {
            *oid = resource->container().allocate_oids(num_oids);
        };
    });
}

int daos_cont_create_snap(daos_handle_t coh, daos_epoch_t* epoch, char* name, daos_event_t* ev)
{
    return daos_cont_create_snap_opt(coh, epoch, name, DAOS_SNAP_OPT_CR, ev);
}

int daos_cont_create_snap_opt(daos_handle_t coh, daos_epoch_t* epoch, char* name,
                              enum daos_snapshot_opts opts, daos_event_t* ev)
{
    return call("daos_cont_create_snap", ev, [=, opts = number_of(opts)] {
        require(epoch, "epoch");
        if ((opts & ~static_cast<unsigned>(DAOS_SNAP_OPT_CR | DAOS_SNAP_OPT_OIT)) != 0)
            invalid("snapshot options " + std::to_string(opts) +
                    ": give DAOS_SNAP_OPT_CR, or DAOS_SNAP_OPT_CR with DAOS_SNAP_OPT_OIT");
        if ((opts & DAOS_SNAP_OPT_CR) == 0)
            throw Error(
                -DER_NOSYS,
                "a table of objects is made only together with a snapshot: give DAOS_SNAP_OPT_CR too");
        // Every snapshot can tell its objects (object_table_api.cc), so DAOS_SNAP_OPT_OIT asks for nothing
        // more.
        return [=, resource = writable(coh, "create a snapshot"), name = snapshot_name(name)] {
            *epoch = resource->container().create_snapshot(name);
        };
    });
}

int daos_cont_list_snap(daos_handle_t coh, int* nr, daos_epoch_t* epochs, char** names, daos_anchor_t* anchor,
                        daos_event_t* ev)
{
    return call("daos_cont_list_snap", ev, [=] {
        require(nr, "nr");
        require(anchor, "anchor");
        const auto room = epochs && *nr > 0 ? static_cast<std::size_t>(*nr) : 0;
        return [=, resource = resource<ContainerResource>(coh)] {
            return [=, snapshots = resource->container().snapshots()] {
                for (std::size_t i = 0; i < std::min(room, snapshots.size()); ++i) {
                    epochs[i] = snapshots[i].epoch;
                    if (!names || !names[i]) continue;
                    names[i][snapshots[i].name.copy(names[i], DAOS_SNAPSHOT_MAX_LEN - 1)] = '\0';
                }
                *nr = static_cast<int>(snapshots.size());
                anchor->da_type = DAOS_ANCHOR_TYPE_EOF;
            };
        };
    });
}

int daos_cont_destroy_snap(daos_handle_t coh, daos_epoch_range_t epr, daos_event_t* ev)
{
    return call("daos_cont_destroy_snap", ev, [=] {
        if (epr.epr_lo != epr.epr_hi || epr.epr_lo == 0)
            invalid("one snapshot is destroyed at a time: give its epoch as both ends of the range");
        return [=, resource = writable(coh, "destroy a snapshot")] {
            resource->container().destroy_snapshot(epr.epr_lo);
        };
    });
}

int daos_cont_aggregate(daos_handle_t coh, daos_epoch_t epoch, daos_event_t* ev)
{
    return call("daos_cont_aggregate", ev, [=] {
        writable(coh, "aggregate");
        if (epoch == DAOS_EPOCH_MAX) invalid("DAOS_EPOCH_MAX is no epoch to aggregate to: give 0 for now");
        // An update drops the version that it replaces, unless a snapshot needs it. So none is left to drop.
    });
}

int daos_cont_rollback(daos_handle_t coh, daos_epoch_t, daos_event_t* ev)
{
    return call("daos_cont_rollback", ev, [=] {
        resource<ContainerResource>(coh);
        throw Error(-DER_NOSYS, "libdaos 2.6 does not go back to snapshots: read the snapshot "
                                "(daos_tx_open_snap) and write what you want to have again");
    });
}

int daos_cont_subscribe(daos_handle_t coh, daos_epoch_t*, daos_event_t* ev)
{
    return call("daos_cont_subscribe", ev, [=] {
        resource<ContainerResource>(coh);
        throw Error(-DER_NOSYS, "libdaos 2.6 does not wait for snapshots: ask for them from time to time "
                                "(daos_cont_list_snap)");
    });
}

// The calls' names before they took strings; libdaos exports both.
#undef daos_cont_create
#undef daos_cont_open
#undef daos_cont_destroy
#pragma GCC visibility push(default)
int daos_cont_create(daos_handle_t, uuid_t*, daos_prop_t*, daos_event_t*)
    __attribute__((weak, alias("daos_cont_create2")));
int daos_cont_open(daos_handle_t, const char*, unsigned int, daos_handle_t*, daos_cont_info_t*, daos_event_t*)
    __attribute__((weak, alias("daos_cont_open2")));
int daos_cont_destroy(daos_handle_t, const char*, int, daos_event_t*)
    __attribute__((weak, alias("daos_cont_destroy2")));
#pragma GCC visibility pop

} // extern "C"

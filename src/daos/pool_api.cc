// The calls daos_pool_*: connecting to pools, and what they hold.
#include "daos/api.h"

#include "daos/acl.h"
#include "daos/call.h"
#include "daos/global_handle.h"
#include "daos/location.h"
#include "daos/properties.h"
#include "daos/rank_list.h"
#include "daos/resources.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::Error;

namespace {

constexpr const char* default_system = "daos_server";

store::Access pool_access(unsigned flags)
{
    if (flags == DAOS_PC_EX)
        throw Error(-DER_NOTSUPPORTED,
                    "exclusive connections (DAOS_PC_EX) are not supported: use DAOS_PC_RW");
    if (flags != DAOS_PC_RO && flags != DAOS_PC_RW)
        invalid("flags " + std::to_string(flags) + " of a connection: give DAOS_PC_RO or DAOS_PC_RW");
    return flags == DAOS_PC_RO ? store::Access::read_only : store::Access::read_write;
}

// bits: of what is asked for, DPI_...
void fill_info(const store::PoolInfo& pool, std::uint64_t bits, daos_pool_info_t& info)
{
    info = {};
    std::memcpy(info.pi_uuid, pool.uuid.data(), pool.uuid.size());
    const auto targets = static_cast<std::uint32_t>(pool.targets.size());
    info.pi_ntargets = targets;
    info.pi_nnodes = 1;
    info.pi_map_ver = 1;
    info.pi_bits = bits;
    info.pi_rebuild_st.rs_state = DRS_NOT_STARTED;
    if ((bits & DPI_SPACE) == 0) return;
    auto& space = info.pi_space;
    space.ps_space.s_total[DAOS_MEDIA_SCM] = pool.space_total;
    space.ps_space.s_free[DAOS_MEDIA_SCM] = pool.space_free;
    for (auto* each : {space.ps_free_min, space.ps_free_max, space.ps_free_mean})
        each[DAOS_MEDIA_SCM] = targets ? pool.space_free / targets : 0;
    space.ps_ntargets = targets;
}

void fill_properties(const store::PoolInfo& pool, daos_prop_t& properties)
{
    if (properties.dpp_nr == 0) {
        constexpr std::uint32_t told[] = {DAOS_PROP_PO_LABEL, DAOS_PROP_PO_ACL, DAOS_PROP_PO_OWNER,
                                          DAOS_PROP_PO_OWNER_GROUP};
        properties.dpp_entries = cleared<daos_prop_entry>(std::size(told) * sizeof(daos_prop_entry));
        if (!properties.dpp_entries) throw std::bad_alloc();
        properties.dpp_nr = std::size(told);
        for (std::size_t i = 0; i < std::size(told); ++i)
            properties.dpp_entries[i].dpe_type = told[i];
    }
    for (daos_prop_entry& entry : std::span(properties.dpp_entries, properties.dpp_nr)) {
        entry.dpe_val = 0;
        entry.dpe_flags = DAOS_PROP_ENTRY_NOT_SET;
        if (entry.dpe_type != DAOS_PROP_PO_LABEL || pool.label.empty()) continue;
        entry.dpe_str = copy_text(pool.label);
        entry.dpe_flags = 0;
    }
    fill_access(properties, rights_of(pool.path, Owned::pool));
}

// The enabled engines when they are asked for, that is one; else those that are out of order, that is none.
d_rank_list_t* ranks_for(std::uint64_t bits)
{
    constexpr d_rank_t enabled[] = {0};
    return rank_list(std::span<const d_rank_t>(enabled, (bits & DPI_ENGINES_ENABLED) != 0 ? 1 : 0));
}

// There is one system, under the name that DAOS gives its own.
void require_system(const char* name)
{
    if (!name) return;
    if (strnlen(name, DAOS_SYS_NAME_MAX + 1) > DAOS_SYS_NAME_MAX)
        throw Error(-DER_OVERFLOW,
                    "a system's name has at most " + std::to_string(DAOS_SYS_NAME_MAX) + " characters");
    if (std::strcmp(name, default_system) != 0)
        invalid(std::string("there is no system '") + name + "' here: give NULL, or '" + default_system +
                "'");
}

} // namespace

extern "C" {

int daos_pool_connect(const char* pool, const char* sys, unsigned int flags, daos_handle_t* poh,
                      daos_pool_info_t* info, daos_event_t* ev)
{
    return call("daos_pool_connect", ev, [=] {
        require(pool, "the pool's name");
        require(poh, "poh");
        require_system(sys);
        const auto access = pool_access(flags);
        return [=, name = std::string(pool), bits = info ? info->pi_bits : 0] {
            auto resource = std::make_shared<PoolResource>(find_pool_of_daos(name.c_str()), access);
            if (info) fill_info(resource->pool().query(), bits, *info);
            *poh = insert_handle(std::move(resource));
        };
    });
}

int daos_pool_disconnect(daos_handle_t poh, daos_event_t* ev)
{
    return call("daos_pool_disconnect", ev, [=] { close_handle(poh, Kind::pool); });
}

int daos_pool_local2global(daos_handle_t poh, d_iov_t* glob)
{
    return call("daos_pool_local2global", [&] { put_global(describe(*resource<PoolResource>(poh)), glob); });
}

int daos_pool_global2local(d_iov_t glob, daos_handle_t* poh)
{
    return call("daos_pool_global2local", [&] {
        require(poh, "poh");
        const auto handle = get_global(glob, Kind::pool);
        auto resource = std::make_shared<PoolResource>(handle.path, handle.access);
        if (resource->uuid() != handle.pool)
            throw Error(-DER_NONEXIST, "the pool of the global handle does not exist any longer: " +
                                           handle.path + " is another pool");
        *poh = insert_handle(std::move(resource));
    });
}

int daos_pool_query(daos_handle_t poh, d_rank_list_t** ranks, daos_pool_info_t* info, daos_prop_t* pool_prop,
                    daos_event_t* ev)
{
    return call("daos_pool_query", ev, [=] {
        require_query(pool_prop, DAOS_PROP_PO_MIN, DAOS_PROP_PO_MAX, "pool");
        return [=, resource = resource<PoolResource>(poh), bits = info ? info->pi_bits : 0] {
            return [=, described = resource->pool().query()] {
                if (info) fill_info(described, bits, *info);
                if (pool_prop) fill_properties(described, *pool_prop);
                if (ranks) *ranks = ranks_for(bits);
            };
        };
    });
}

int daos_pool_query_target(daos_handle_t poh, uint32_t tgt, d_rank_t rank, daos_target_info_t* info,
                           daos_event_t* ev)
{
    return call("daos_pool_query_target", ev, [=] {
        require(info, "info");
        return [=, resource = resource<PoolResource>(poh)] {
            const auto described = resource->pool().query();
            if (rank != 0 || tgt >= described.targets.size())
                throw Error(-DER_NONEXIST, resource->name() + " has rank 0 with targets 0 to " +
                                               std::to_string(described.targets.size() - 1) +
                                               "; there is no target " + std::to_string(tgt) + " of rank " +
                                               std::to_string(rank));
            const auto& target = described.targets[tgt];
            *info = {};
            info->ta_type = DAOS_TP_UNKNOWN;
            info->ta_state = DAOS_TS_UP_IN;
            info->ta_space.s_free[DAOS_MEDIA_SCM] = described.space_free;
            info->ta_space.s_total[DAOS_MEDIA_SCM] =
                described.space_free + target.index_bytes + target.bulk_bytes;
        };
    });
}

int daos_pool_list_cont(daos_handle_t poh, daos_size_t* ncont, struct daos_pool_cont_info* cbuf,
                        daos_event_t* ev)
{
    return call("daos_pool_list_cont", ev, [=] {
        require(ncont, "ncont");
        return [=, resource = resource<PoolResource>(poh), room = *ncont] {
            return [=, containers = resource->pool().containers()] {
                *ncont = containers.size();
                if (!cbuf || room == 0) return;
                if (room < containers.size())
                    throw Error(-DER_TRUNC, resource->name() + " has " + std::to_string(containers.size()) +
                                                " containers, and there is room for " + std::to_string(room));
                for (std::size_t i = 0; i < containers.size(); ++i) {
                    cbuf[i] = {};
                    std::memcpy(cbuf[i].pci_uuid, containers[i].uuid.data(), containers[i].uuid.size());
                    containers[i].label.copy(cbuf[i].pci_label, DAOS_PROP_LABEL_MAX_LEN);
                }
            };
        };
    });
}

#undef daos_pool_connect
#pragma GCC visibility push(default)
// The call's name before it took a string; libdaos exports both.
int daos_pool_connect(const char*, const char*, unsigned int, daos_handle_t*, daos_pool_info_t*,
                      daos_event_t*) __attribute__((weak, alias("daos_pool_connect2")));
#pragma GCC visibility pop

} // extern "C"

// Looking after pools, for C++: each call is one of stepstore/admin.h, which a library of a DAOS system
// lacks.
#include "stepstore/administration.h"

#include "base/text.h"
#include "client/state.h"
#include "stepstore/admin.h"

#include <exception>
#include <utility>

namespace stepstore {
namespace {

// The library that looks after the pool at `location`; `tried` is for the message.
const Library& library_of(const std::string& location, const char* tried)
{
    if (!capabilities_of(location).own_store)
        throw Error(-DER_NOSYS, std::string(tried) + " pool " + location +
                                    ": a DAOS system has its own tools for this: use dmg or daos");
    c_text(location, "pool");
    return Library::ours();
}

// A C callback that hands a struct on to a function of C++, whose exceptions end the walk.
template <class Struct>
class Walk {
public:
    explicit Walk(std::function<void(const Struct&)> take) : take_(std::move(take)) {}
    static int callback(const Struct* one, void* arg) noexcept
    {
        auto& walk = *static_cast<Walk*>(arg);
        try {
            walk.take_(*one);
            return 0;
        } catch (...) {
            walk.thrown_ = std::current_exception();
            return -DER_CANCELED;
        }
    }
    // What came of the call that was given callback() and this.
    template <class Tried>
    void end(const Library& library, int code, Tried&& tried) const
    {
        if (thrown_) std::rethrow_exception(thrown_);
        check(library, code, std::forward<Tried>(tried));
    }

private:
    std::function<void(const Struct&)> take_;
    std::exception_ptr thrown_;
};

PoolInfo info_of(const stepstore_pool_info& pool)
{
    PoolInfo info;
    info.path = pool.path;
    if (pool.error) {
        info.error = pool.error;
        return info;
    }
    info.label = pool.label;
    info.uuid = uuid_text(pool.uuid);
    info.backend = pool.backend;
    info.format = pool.format;
    info.durability = pool.power ? Durability::power : Durability::process;
    info.containers = pool.containers;
    info.space_total = pool.space_total;
    info.space_free = pool.space_free;
    info.files = pool.files;
    for (std::uint32_t i = 0; i < pool.targets_nr; ++i) {
        const stepstore_target_info& target = pool.targets[i];
        info.targets.push_back({target.index_bytes, target.bulk_bytes, target.updates, target.fetches,
                                target.bytes_written, target.bytes_read});
    }
    return info;
}

ObjectInfo info_of(const stepstore_object_info& object, const Library& library)
{
    ObjectInfo info;
    info.id = {object.oid.hi, object.oid.lo};
    info.key_value = daos_is_kv(object.oid);
    info.array = daos_is_array(object.oid);
    char name[64] = "";
    if (library.oclass_id2name(daos_obj_id2class(object.oid), name) == 0) info.object_class = name;
    if (!object.sized) return info;
    if (!info.array) info.keys = object.keys;
    if (info.array && object.cell_size != 0) {
        info.size = object.size;
        info.attributes = ArrayAttributes{object.cell_size, object.chunk_size};
    }
    return info;
}

// The table of objects that a DAOS system made with the snapshot.
std::vector<ObjectInfo> objects_in_table(const Container::State& state)
{
    const Library& library = state.library();
    const auto tried = [&] { return "list the objects of " + state.name(); };
    daos_handle_t table{};
    check(library, library.oit_open(state.handle, state.epoch, &table, nullptr), tried);
    std::vector<ObjectInfo> objects;
    std::vector<daos_obj_id_t> ids(1024);
    daos_anchor_t anchor{};
    int code = 0;
    while (code == 0 && !daos_anchor_is_eof(&anchor)) {
        auto count = static_cast<std::uint32_t>(ids.size());
        code = library.oit_list(table, ids.data(), &count, &anchor, nullptr);
        for (std::uint32_t i = 0; code == 0 && i < count; ++i)
            objects.push_back(info_of(stepstore_object_info{ids[i], false, 0, 0, 0, 0}, library));
    }
    const int closed = library.oit_close(table, nullptr);
    check(library, code != 0 ? code : closed, tried);
    return objects;
}

// The table of a container's pool, if that is one of ours.
const Library& library_of(const Container::State& container, const char* tried)
{
    const Library& library = container.library();
    if (!library.cont_objects)
        throw Error(-DER_NOSYS, std::string(tried) + " " + container.name() +
                                    ": a DAOS system has its own tool for this: use daos cont list-objects");
    return library;
}

} // namespace

std::string_view name_of(Finding::Severity severity)
{
    switch (severity) {
    case Finding::Severity::info: return "info";
    case Finding::Severity::reclaimable: return "reclaimable";
    case Finding::Severity::damage: return "damage";
    }
    return "";
}

void ask_in_waits_of_calls(int (*asked)())
{
    stepstore_ask_in_waits(asked);
}

std::string pool_path(const std::string& location)
{
    const Library& library = library_of(location, "find");
    const auto tried = [&] { return "find the directory of pool " + location; };
    std::size_t size = 0;
    check(library, library.pool_path(location.c_str(), nullptr, &size), tried);
    std::string path(size, '\0');
    check(library, library.pool_path(location.c_str(), path.data(), &size), tried);
    path.resize(size - 1);
    return path;
}

PoolInfo describe_pool(const std::string& location)
{
    const Library& library = library_of(location, "describe");
    PoolInfo info;
    Walk<stepstore_pool_info> walk([&](const auto& pool) { info = info_of(pool); });
    walk.end(library, library.pool_describe(location.c_str(), &walk.callback, &walk),
             [&] { return "describe pool " + location; });
    return info;
}

std::vector<PoolInfo> list_pools(const std::optional<std::string>& directory)
{
    const Library& library = Library::ours();
    std::vector<PoolInfo> pools;
    Walk<stepstore_pool_info> walk([&](const auto& pool) { pools.push_back(info_of(pool)); });
    const char* root = directory ? c_text(*directory, "directory") : nullptr;
    walk.end(library, library.pool_list(root, &walk.callback, &walk),
             [&] { return "list the pools in " + directory.value_or("the root directory"); });
    return pools;
}

CheckSummary check_pool(const std::string& location, bool data, bool repair,
                        const std::function<void(const Finding&)>& each)
{
    const Library& library = library_of(location, "check");
    Walk<stepstore_finding> walk([&](const auto& one) {
        if (!each) return;
        const auto severity = one.severity == STEPSTORE_INFO          ? Finding::Severity::info
                              : one.severity == STEPSTORE_RECLAIMABLE ? Finding::Severity::reclaimable
                                                                      : Finding::Severity::damage;
        each({severity, one.where, one.what, one.advice});
    });
    stepstore_check_summary told{};
    walk.end(library, library.pool_check(location.c_str(), data, repair, &walk.callback, &walk, &told),
             [&] { return "check pool " + location; });
    return {told.containers,        told.objects,         told.records,  told.bytes,  told.extents,
            told.reclaimable_bytes, told.reclaimed_bytes, told.findings, told.damaged};
}

std::vector<CompactedTarget> compact_pool(const std::string& location)
{
    const Library& library = library_of(location, "compact");
    std::vector<CompactedTarget> targets;
    Walk<stepstore_compacted> walk([&](const auto& one) {
        targets.push_back({one.index_before, one.index_after, one.bulk_before, one.bulk_after,
                           one.files_before, one.files_after});
    });
    walk.end(library, library.pool_compact(location.c_str(), &walk.callback, &walk),
             [&] { return "compact pool " + location; });
    return targets;
}

ContainerInfo describe_container(const Container& container)
{
    const Container::State& state = *container.state_;
    daos_cont_info_t info{};
    check(state.library(), state.library().cont_query(state.handle, &info, nullptr, nullptr),
          [&] { return "query " + state.name(); });
    return {uuid_text(info.ci_uuid), info.ci_nsnapshots, info.ci_lsnapshot};
}

std::vector<ObjectInfo> list_objects(const Container& container, bool sizes)
{
    const Container::State& state = *container.state_;
    if (!state.library().is_ours() && state.is_snapshot() && !sizes) return objects_in_table(state);
    const Library& library = library_of(state, "list the objects of");
    std::vector<ObjectInfo> objects;
    Walk<stepstore_object_info> walk(
        [&](const auto& object) { objects.push_back(info_of(object, library)); });
    walk.end(library, library.cont_objects(state.handle, state.transaction, sizes, &walk.callback, &walk),
             [&] { return "list the objects of " + state.name(); });
    return objects;
}

ObjectInfo describe_object(const Container& container, const ObjectId& id)
{
    const Container::State& state = *container.state_;
    const Library& library = library_of(state, "describe an object of");
    ObjectInfo info;
    Walk<stepstore_object_info> walk([&](const auto& object) { info = info_of(object, library); });
    walk.end(library,
             library.cont_object(state.handle, state.transaction, to_daos(id), &walk.callback, &walk),
             [&] { return "describe " + object_name(id, state); });
    return info;
}

} // namespace stepstore

// Looking after pools, for Python: the structs of stepstore/administration.h as dictionaries.
#include "common.h"

#include "base/record.h"

#include "stepstore/administration.h"

namespace stepstore::python {

nb::dict to_dict(const Finding& finding)
{
    nb::dict found;
    found["severity"] = to_text(name_of(finding.severity));
    found["where"] = to_text(finding.where);
    found["what"] = to_text(finding.what);
    found["advice"] = to_text(finding.advice);
    return found;
}

namespace {

nb::dict to_dict(const TargetInfo& target)
{
    nb::dict info;
    info["index_bytes"] = target.index_bytes;
    info["bulk_bytes"] = target.bulk_bytes;
    info["updates"] = target.updates;
    info["fetches"] = target.fetches;
    info["bytes_written"] = target.bytes_written;
    info["bytes_read"] = target.bytes_read;
    return info;
}

nb::dict to_dict(const PoolInfo& pool)
{
    nb::dict info;
    info["path"] = to_text(pool.path);
    if (!pool.error.empty()) {
        info["error"] = to_text(pool.error);
        return info;
    }
    info["label"] = to_text(pool.label);
    info["uuid"] = to_text(pool.uuid);
    info["backend"] = to_text(pool.backend);
    info["format"] = pool.format;
    info["durability"] = pool.durability == Durability::power ? "power" : "process";
    info["containers"] = pool.containers;
    info["space_total"] = pool.space_total;
    info["space_free"] = pool.space_free;
    if (pool.files != 0) info["files"] = pool.files;
    nb::list targets;
    for (const TargetInfo& target : pool.targets)
        targets.append(to_dict(target));
    info["targets"] = targets;
    return info;
}

nb::dict to_dict(const ObjectInfo& object)
{
    nb::dict info;
    info["hi"] = object.id.hi;
    info["lo"] = object.id.lo;
    info["type"] = object.key_value ? "key_value" : object.array ? "array" : "object";
    info["class"] = to_text(object.object_class);
    if (object.keys) info[object.key_value ? "keys" : "dkeys"] = *object.keys;
    if (object.size) info["size"] = *object.size;
    if (object.attributes) {
        info["cell_size"] = object.attributes->cell_size;
        info["chunk_size"] = object.attributes->chunk_size;
    }
    return info;
}

Container open_to_look(const std::string& pool, const std::string& container,
                       std::optional<std::uint64_t> epoch = std::nullopt)
{
    Container opened = Pool::connect(pool, Access::read_only).open_container(container, Access::read_only);
    return epoch ? opened.at_snapshot(*epoch) : std::move(opened);
}

nb::list container_objects(const std::string& pool, const std::string& container,
                           std::optional<std::uint64_t> epoch, bool sizes)
{
    const auto objects = unlocked([&] { return list_objects(open_to_look(pool, container, epoch), sizes); });
    nb::list found;
    for (const ObjectInfo& object : objects)
        found.append(to_dict(object));
    return found;
}

nb::dict container_object(const std::string& pool, const std::string& container, const ObjectId& id,
                          std::optional<std::uint64_t> epoch)
{
    return to_dict(unlocked([&] { return describe_object(open_to_look(pool, container, epoch), id); }));
}

nb::dict container_query(const std::string& pool, const std::string& container)
{
    const ContainerInfo info = unlocked([&] { return describe_container(open_to_look(pool, container)); });
    nb::dict result;
    result["uuid"] = to_text(info.uuid);
    result["snapshots"] = info.snapshots;
    result["latest_snapshot"] = info.latest_snapshot;
    return result;
}

nb::list pool_list(const std::optional<std::string>& root)
{
    nb::list found;
    for (const PoolInfo& pool : unlocked([&] { return list_pools(root); }))
        found.append(to_dict(pool));
    return found;
}

// Hands each finding to Python while the check runs, so that it can show how far it is.
nb::dict pool_check(const std::string& pool, bool data, bool repair, const nb::object& each)
{
    const CheckSummary told = unlocked([&](Unlocked& away) {
        return check_pool(pool, data, repair, [&](const Finding& finding) {
            away.locked([&] {
                const nb::dict given = python::to_dict(finding);
                const auto call = [&] {
                    return PyObject_CallFunctionObjArgs(each.ptr(), given.ptr(), nullptr);
                };
                if (!nb::steal(stays_when_ended(call)).is_valid()) throw nb::python_error();
            });
        });
    });
    nb::dict summary;
    summary["containers"] = told.containers;
    summary["objects"] = told.objects;
    summary["records"] = told.records;
    summary["bytes"] = told.bytes;
    summary["extents"] = told.extents;
    summary["reclaimable_bytes"] = told.reclaimable_bytes;
    summary["reclaimed_bytes"] = told.reclaimed_bytes;
    summary["findings"] = told.findings;
    summary["damaged"] = told.damaged;
    return summary;
}

nb::list pool_compact(const std::string& pool)
{
    const auto targets = unlocked([&] { return compact_pool(pool); });
    nb::list result;
    for (std::size_t index = 0; index < targets.size(); ++index) {
        const CompactedTarget& target = targets[index];
        nb::dict one;
        if (index + 1 < targets.size())
            one["target"] = index;
        else
            one["target"] = "meta";
        one["index_before"] = target.index_before;
        one["index_after"] = target.index_after;
        one["bulk_before"] = target.bulk_before;
        one["bulk_after"] = target.bulk_after;
        if (target.files_before != 0) {
            one["files_before"] = target.files_before;
            one["files_after"] = target.files_after;
        }
        result.append(one);
    }
    return result;
}

nb::bytes process_record()
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    write_process(to, this_process());
    return nb::bytes(bytes.data(), bytes.size());
}

ProcessIdentity process_of(const nb::bytes& record)
{
    WireReader from({reinterpret_cast<const std::byte*>(record.c_str()), record.size()},
                    "the record of a process");
    return read_process(from);
}

} // namespace

void bind_admin(nb::module_& module)
{
    module.def("process_record", &process_record, "This process, in bytes that process_is_dead() knows.");
    module.def(
        "process_is_dead", [](const nb::bytes& record) { return life_of(process_of(record)) == Life::dead; },
        nb::arg("record"), "Only where this machine can tell.");
    module.def(
        "pool_path", [](const std::string& pool) { return to_text(pool_path(pool)); }, nb::arg("pool"));
    module.def("pool_list", &pool_list, nb::arg("root") = nb::none());
    module.def(
        "pool_describe",
        [](const std::string& pool) { return to_dict(unlocked([&] { return describe_pool(pool); })); },
        nb::arg("pool"));
    module.def("pool_compact", &pool_compact, nb::arg("pool"));
    module.def("pool_check", &pool_check, nb::arg("pool"), nb::arg("data"), nb::arg("repair"),
               nb::arg("each"));
    module.def("container_objects", &container_objects, nb::arg("pool"), nb::arg("container"),
               nb::arg("epoch") = nb::none(), nb::arg("sizes") = true);
    module.def("container_object", &container_object, nb::arg("pool"), nb::arg("container"), nb::arg("id"),
               nb::arg("epoch") = nb::none());
    module.def("container_query", &container_query, nb::arg("pool"), nb::arg("container"));
}

} // namespace stepstore::python

// stepstore_: what libdaos leaves to the administrator's tools.
#include "daos/api.h"

#include "base/text.h"
#include "daos/call.h"
#include "daos/location.h"
#include "daos/object_class.h"
#include "daos/resources.h"

#include <nlohmann/json.hpp>

#include <cstring>

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::Error;
using stepstore::uuid_text;
using Json = nlohmann::ordered_json;

namespace {

// Texts may hold any bytes (paths do): what is no UTF-8 is replaced, so that the output is always JSON.
int give(const Json& object, stepstore_json_cb each, void* arg)
{
    return each(object.dump(-1, ' ', false, Json::error_handler_t::replace).c_str(), arg);
}

void require_callback(stepstore_json_cb each)
{
    if (!each) invalid("the callback is NULL");
}

const char* text_of(store::Durability durability)
{
    return durability == store::Durability::power ? "power" : "process";
}

const char* text_of(store::CheckFinding::Severity severity)
{
    switch (severity) {
    case store::CheckFinding::Severity::info: return "info";
    case store::CheckFinding::Severity::reclaimable: return "reclaimable";
    case store::CheckFinding::Severity::damage: return "damage";
    }
    return "";
}

Json list_entry(const std::string& path)
{
    try {
        const auto info = store::Pool::open(path, store::Access::read_only)->query();
        return {{"path", info.path},
                {"label", info.label},
                {"uuid", uuid_text(info.uuid.data())},
                {"durability", text_of(info.durability)},
                {"containers", info.containers}};
    } catch (const Error& error) { // one pool that cannot be opened does not hide the others
        return {{"path", path}, {"error", error.what()}};
    }
}

Json describe_pool(const store::PoolInfo& info)
{
    Json targets = Json::array();
    for (const auto& target : info.targets)
        targets.push_back({{"index_bytes", target.index_bytes},
                           {"bulk_bytes", target.bulk_bytes},
                           {"updates", target.counters.updates},
                           {"fetches", target.counters.fetches},
                           {"bytes_written", target.counters.bytes_written},
                           {"bytes_read", target.counters.bytes_read}});
    return {{"path", info.path},
            {"label", info.label},
            {"uuid", uuid_text(info.uuid.data())},
            {"backend", info.backend},
            {"format", info.format_version},
            {"durability", text_of(info.durability)},
            {"containers", info.containers},
            {"space_total", info.space_total},
            {"space_free", info.space_free},
            {"targets", targets}};
}

Json describe_object(store::Container& container, const store::ObjectId& id, store::Epoch epoch, bool sizes)
{
    const daos_obj_id_t oid{.lo = id.lo, .hi = id.hi};
    Json object = {{"hi", id.hi}, {"lo", id.lo}};
    object["type"] = daos_is_kv(oid) ? "key_value" : daos_is_array(oid) ? "array" : "other";
    object["class"] = class_name(daos_obj_id2class(oid));
    if (!sizes) return object;
    if (daos_is_kv(oid)) {
        std::uint64_t keys = 0;
        store::ListPosition position;
        while (!position.done)
            container.kv_list(
                id, position, [&](stepstore::Bytes, std::uint64_t) { return ++keys > 0; }, epoch);
        object["keys"] = keys;
    } else if (const auto attributes =
                   daos_is_array(oid) ? container.array_attributes(id, epoch) : std::nullopt) {
        object["size"] = container.array_size(id, *attributes, epoch);
        object["cell_size"] = attributes->cell_size;
        object["chunk_size"] = attributes->chunk_size;
    }
    return object;
}

store::Epoch epoch_of(daos_handle_t th)
{
    return daos_handle_is_inval(th) ? store::latest : resource<TransactionResource>(th)->epoch();
}

} // namespace

// Pools are administered also before daos_init, so these do not use call().
template <class Body>
static int administer(const char* name, Body body) noexcept
try {
    return body();
} catch (...) {
    return report(current_failure(name));
}

extern "C" {

int stepstore_pool_create(const char* pool, const struct stepstore_pool_options* options)
{
    return administer("stepstore_pool_create", [&] {
        store::PoolOptions wanted;
        if (options) {
            if (options->backend) wanted.backend = options->backend;
            if (options->label) wanted.label = options->label;
            wanted.targets = options->targets;
            if (options->power > 1) invalid("power is 0 (durability=process) or 1 (durability=power)");
            if (options->power) wanted.durability = store::Durability::power;
            for (std::uint32_t i = 0; i < options->target_dirs_nr; ++i) {
                require(options->target_dirs, "target_dirs");
                require(options->target_dirs[i], "a directory of target_dirs");
                wanted.target_directories.emplace_back(options->target_dirs[i]);
            }
        }
        store::Pool::create(pool_path(pool), wanted);
        return 0;
    });
}

int stepstore_pool_destroy(const char* pool, int force)
{
    return administer("stepstore_pool_destroy", [&] {
        store::Pool::destroy(find_pool(pool), force != 0);
        return 0;
    });
}

int stepstore_pool_path(const char* pool, char* path, size_t* size)
{
    return administer("stepstore_pool_path", [&] {
        require(size, "size");
        const std::string found = pool_path(pool);
        const std::size_t room = std::exchange(*size, found.size() + 1);
        if (!path) return 0;
        if (room < *size)
            throw Error(-DER_TRUNC, "the path needs " + std::to_string(*size) + " bytes, and " +
                                        std::to_string(room) + " were given");
        std::memcpy(path, found.c_str(), *size);
        return 0;
    });
}

int stepstore_pool_list(const char* root, stepstore_json_cb each, void* arg)
{
    return administer("stepstore_pool_list", [&] {
        require_callback(each);
        for (const auto& path : store::Pool::list(root ? root : root_directory()))
            if (const int rc = give(list_entry(path), each, arg)) return rc;
        return 0;
    });
}

int stepstore_pool_describe(const char* pool, stepstore_json_cb each, void* arg)
{
    return administer("stepstore_pool_describe", [&] {
        require_callback(each);
        const auto opened = store::Pool::open(find_pool(pool), store::Access::read_only);
        return give(describe_pool(opened->query()), each, arg);
    });
}

int stepstore_pool_check(const char* pool, bool data, bool repair, stepstore_json_cb each, void* arg)
{
    return administer("stepstore_pool_check", [&] {
        require_callback(each);
        const auto report = store::Pool::check(find_pool(pool), {.data = data, .repair = repair});
        for (const auto& finding : report.findings) {
            const Json object = {{"severity", text_of(finding.severity)},
                                 {"where", finding.where},
                                 {"what", finding.what},
                                 {"advice", finding.advice}};
            if (const int rc = give(object, each, arg)) return rc;
        }
        const Json summary = {{"containers", report.containers},
                              {"objects", report.objects},
                              {"records", report.records},
                              {"bytes", report.bytes},
                              {"extents", report.extents},
                              {"reclaimable_bytes", report.reclaimable_bytes},
                              {"reclaimed_bytes", report.reclaimed_bytes},
                              {"findings", report.findings.size()},
                              {"damaged", report.damaged()}};
        return give({{"summary", summary}}, each, arg);
    });
}

int stepstore_pool_compact(const char* pool, stepstore_json_cb each, void* arg)
{
    return administer("stepstore_pool_compact", [&] {
        require_callback(each);
        const auto targets = store::Pool::open(find_pool(pool), store::Access::read_write)->compact();
        for (std::size_t index = 0; index < targets.size(); ++index) {
            const auto& target = targets[index];
            const Json name = index + 1 < targets.size() ? Json(index) : Json("meta");
            const Json object = {{"target", name},
                                 {"index_before", target.index_before},
                                 {"index_after", target.index_after},
                                 {"bulk_before", target.bulk_before},
                                 {"bulk_after", target.bulk_after}};
            if (const int rc = give(object, each, arg)) return rc;
        }
        return 0;
    });
}

int stepstore_cont_objects(daos_handle_t coh, daos_handle_t th, bool sizes, stepstore_json_cb each, void* arg)
{
    return call("stepstore_cont_objects", [&] {
        require_callback(each);
        const auto resource_ = resource<ContainerResource>(coh);
        const auto epoch = epoch_of(th);
        store::Container& container = resource_->container();
        for (const auto& id : container.objects(epoch))
            if (const int rc = give(describe_object(container, id, epoch, sizes), each, arg)) return rc;
        return 0;
    });
}

int stepstore_cont_object(daos_handle_t coh, daos_handle_t th, daos_obj_id_t oid, stepstore_json_cb each,
                          void* arg)
{
    return call("stepstore_cont_object", [&] {
        require_callback(each);
        const auto resource_ = resource<ContainerResource>(coh);
        const auto epoch = epoch_of(th);
        const store::ObjectId id{oid.hi, oid.lo};
        store::Container& container = resource_->container();
        if (!container.holds(id, epoch))
            throw Error(-DER_NONEXIST, "there is no object " + stepstore::object_id_text(id.hi, id.lo) +
                                           " in the container");
        return give(describe_object(container, id, epoch, true), each, arg);
    });
}

int stepstore_cont_snapshots(daos_handle_t coh, stepstore_json_cb each, void* arg)
{
    return call("stepstore_cont_snapshots", [&] {
        require_callback(each);
        for (const auto& snapshot : resource<ContainerResource>(coh)->container().snapshots())
            if (const int rc = give({{"epoch", snapshot.epoch}, {"name", snapshot.name}}, each, arg))
                return rc;
        return 0;
    });
}

int stepstore_pool_sync(daos_handle_t poh)
{
    return call("stepstore_pool_sync", [&] { resource<PoolResource>(poh)->pool().sync(); });
}

int stepstore_pool_sync_own(daos_handle_t poh)
{
    return call("stepstore_pool_sync_own", [&] { resource<PoolResource>(poh)->pool().sync(true); });
}

} // extern "C"

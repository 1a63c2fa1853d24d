// stepstore_: what libdaos leaves to the administrator's tools.
#include "daos/api.h"

#include "base/file_calls.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "daos/call.h"
#include "daos/location.h"
#include "daos/resources.h"
#include "location/location.h"

#include <atomic>
#include <cstring>
#include <filesystem>

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::Error;

namespace {

using stepstore::FileCall;
static_assert(int{FileCall::look} == STEPSTORE_FILE_LOOK && int{FileCall::open} == STEPSTORE_FILE_OPEN &&
              int{FileCall::make} == STEPSTORE_FILE_MAKE && int{FileCall::remove} == STEPSTORE_FILE_REMOVE &&
              int{FileCall::list} == STEPSTORE_FILE_LIST && int{FileCall::size} == STEPSTORE_FILE_SIZE &&
              int{FileCall::read} == STEPSTORE_FILE_READ && int{FileCall::write} == STEPSTORE_FILE_WRITE &&
              int{FileCall::forget} == STEPSTORE_FILE_FORGET && int{FileCall::sync} == STEPSTORE_FILE_SYNC &&
              int{FileCall::sync_names} == STEPSTORE_FILE_SYNC_NAMES);

std::atomic<stepstore_file_call_cb> watching_file_calls = nullptr;

void tell_file_call(const FileCall& call)
{
    const stepstore_file_call told{call.kind, call.fd, call.path, call.from, call.at, call.bytes};
    const stepstore_file_call_cb each = watching_file_calls;
    if (each != nullptr) each(&told); // nullptr: since just now
}

template <class Callback>
void require_callback(Callback each)
{
    if (!each) invalid("the callback is NULL");
}

// Of what `info` has; `targets` holds what the result points to.
stepstore_pool_info describe_pool(const store::PoolInfo& info, std::vector<stepstore_target_info>& targets)
{
    for (const auto& target : info.targets)
        targets.push_back({target.index_bytes, target.bulk_bytes, target.counters.updates,
                           target.counters.fetches, target.counters.bytes_written,
                           target.counters.bytes_read});
    stepstore_pool_info pool{};
    pool.path = info.path.c_str();
    pool.label = info.label.c_str();
    std::memcpy(pool.uuid, info.uuid.data(), sizeof pool.uuid);
    pool.backend = info.backend.c_str();
    pool.format = info.format_version;
    pool.power = info.durability == store::Durability::power ? 1 : 0;
    pool.containers = info.containers;
    pool.space_total = info.space_total;
    pool.space_free = info.space_free;
    pool.targets = targets.data();
    pool.targets_nr = static_cast<std::uint32_t>(targets.size());
    pool.files = info.files;
    return pool;
}

// measured: with what takes a walk over all files of a pool in files.
int give_pool(const std::string& path, bool measured, stepstore_pool_cb each, void* arg)
{
    const auto opened = store::Pool::open(path, store::Access::read_only);
    auto info = opened->query();
    if (measured) opened->measure(info);
    std::vector<stepstore_target_info> targets;
    const stepstore_pool_info pool = describe_pool(info, targets);
    return each(&pool, arg);
}

stepstore_severity severity_of(store::CheckFinding::Severity severity)
{
    switch (severity) {
    case store::CheckFinding::Severity::info: return STEPSTORE_INFO;
    case store::CheckFinding::Severity::reclaimable: return STEPSTORE_RECLAIMABLE;
    case store::CheckFinding::Severity::damage: break;
    }
    return STEPSTORE_DAMAGE;
}

int give_object(store::Container& container, const store::ObjectId& id, store::Epoch epoch, bool sizes,
                stepstore_object_cb each, void* arg)
{
    stepstore_object_info object{};
    object.oid = {.lo = id.lo, .hi = id.hi};
    object.sized = sizes;
    const auto count = [&](stepstore::Bytes) { return ++object.keys > 0; };
    store::ListPosition position;
    if (sizes && daos_is_kv(object.oid)) {
        while (!position.done)
            container.kv_list(id, position, count, epoch);
    } else if (sizes && !daos_is_array(object.oid)) {
        while (!position.done)
            container.dkey_list(id, position, count, epoch);
    } else if (sizes) {
        if (const auto attributes = container.array_attributes(id, epoch)) {
            object.size = container.array_size(id, *attributes, epoch);
            object.cell_size = attributes->cell_size;
            object.chunk_size = attributes->chunk_size;
        }
    }
    return each(&object, arg);
}

store::Epoch epoch_of(daos_handle_t th)
{
    if (daos_handle_is_inval(th)) return store::latest;
    const auto transaction = resource<TransactionResource>(th);
    if (!transaction->is_snapshot()) invalid("objects are listed at a snapshot, or with DAOS_TX_NONE");
    return transaction->epoch();
}

// What stepstore_ask_in_waits() was given.
std::atomic<int (*)()> asked_of_host{nullptr};

bool host_asks_to_stop()
{
    const auto asked = asked_of_host.load();
    return asked != nullptr && asked() != 0;
}

} // namespace

extern "C" void stepstore_ask_in_waits(int (*asked)(void))
{
    asked_of_host.store(asked);
    stepstore::ask_in_waits(asked != nullptr ? &host_asks_to_stop : nullptr);
}

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

int stepstore_pool_destroy(const char* pool)
{
    return administer("stepstore_pool_destroy", [&] {
        store::Pool::destroy(find_pool(pool));
        return 0;
    });
}

int stepstore_pool_path(const char* pool, char* path, size_t* size)
{
    return administer("stepstore_pool_path", [&] {
        require(size, "size");
        std::string found = pool_path(pool);
        if (stepstore::capabilities_of(found).directory) found = stepstore::parse_location(found).path;
        const std::size_t room = std::exchange(*size, found.size() + 1);
        if (!path) return 0;
        if (room < *size)
            throw Error(-DER_TRUNC, "the path needs " + std::to_string(*size) + " bytes, and " +
                                        std::to_string(room) + " were given: give more memory");
        std::memcpy(path, found.c_str(), *size);
        return 0;
    });
}

int stepstore_pool_list(const char* root, stepstore_pool_cb each, void* arg)
{
    return administer("stepstore_pool_list", [&] {
        require_callback(each);
        const std::string below = root ? root : root_directory();
        std::error_code ignored;
        if (!root && !std::filesystem::exists(below, ignored)) return 0; // the first pool makes it
        for (const auto& path : store::Pool::list(below)) {
            std::string why; // one pool that cannot be opened does not hide the others
            try {
                if (const int rc = give_pool(path, false, each, arg)) return rc;
                continue;
            } catch (const Error& error) {
                why = error.what();
            }
            stepstore_pool_info broken{};
            broken.path = path.c_str();
            broken.error = why.c_str();
            if (const int rc = each(&broken, arg)) return rc;
        }
        return 0;
    });
}

int stepstore_pool_describe(const char* pool, stepstore_pool_cb each, void* arg)
{
    return administer("stepstore_pool_describe", [&] {
        require_callback(each);
        return give_pool(find_pool(pool), true, each, arg);
    });
}

int stepstore_pool_check(const char* pool, bool data, bool repair, stepstore_finding_cb each, void* arg,
                         struct stepstore_check_summary* summary)
{
    return administer("stepstore_pool_check", [&] {
        const auto report = store::Pool::check(find_pool(pool), {.data = data, .repair = repair});
        if (summary)
            *summary = {report.containers,      report.objects,         report.records,
                        report.bytes,           report.extents,         report.reclaimable_bytes,
                        report.reclaimed_bytes, report.findings.size(), report.damaged()};
        for (const auto& one : report.findings) {
            const stepstore_finding finding = {severity_of(one.severity), one.where.c_str(), one.what.c_str(),
                                               one.advice.c_str()};
            if (const int rc = each ? each(&finding, arg) : 0) return rc;
        }
        return 0;
    });
}

int stepstore_pool_compact(const char* pool, stepstore_compacted_cb each, void* arg)
{
    return administer("stepstore_pool_compact", [&] {
        require_callback(each);
        const auto targets = store::Pool::open(find_pool(pool), store::Access::read_write)->compact();
        for (std::size_t index = 0; index < targets.size(); ++index) {
            const auto& target = targets[index];
            const bool meta = index + 1 == targets.size();
            const stepstore_compacted compacted = {meta ? UINT32_MAX : static_cast<std::uint32_t>(index),
                                                   target.index_before,
                                                   target.index_after,
                                                   target.bulk_before,
                                                   target.bulk_after,
                                                   target.files_before,
                                                   target.files_after};
            if (const int rc = each(&compacted, arg)) return rc;
        }
        return 0;
    });
}

int stepstore_cont_objects(daos_handle_t coh, daos_handle_t th, bool sizes, stepstore_object_cb each,
                           void* arg)
{
    return call("stepstore_cont_objects", [&] {
        require_callback(each);
        const auto resource_ = resource<ContainerResource>(coh);
        const auto epoch = epoch_of(th);
        store::Container& container = resource_->container();
        for (const auto& id : container.objects(epoch))
            if (const int rc = give_object(container, id, epoch, sizes, each, arg)) return rc;
        return 0;
    });
}

int stepstore_cont_object(daos_handle_t coh, daos_handle_t th, daos_obj_id_t oid, stepstore_object_cb each,
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
                                           " in the container: stepstore_cont_objects() lists its objects");
        return give_object(container, id, epoch, true, each, arg);
    });
}

int stepstore_cont_destroy_snaps(daos_handle_t coh, const daos_epoch_t* epochs, uint32_t count)
{
    return call("stepstore_cont_destroy_snaps", [&] {
        if (!epochs && count > 0) invalid("epochs is NULL");
        const auto container = resource<ContainerResource>(coh);
        container->require_writable("destroy snapshots");
        container->container().destroy_snapshots({epochs, count});
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

void stepstore_watch_file_calls(stepstore_file_call_cb each)
{
    watching_file_calls = each;
    stepstore::watch_file_calls(each != nullptr ? &tell_file_call : nullptr);
}

} // extern "C"

// Opening and sharing: one Storage per path and process.
//
// The registry maps a canonical path to the pool that this process has open. A fork copies it, and the back
// end sees to it that the child works on a storage of its own.
#include "store/versioned.h"

#include "base/call_threads.h"
#include "base/fork.h"
#include "base/interrupt.h"
#include "store/failure.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

namespace stepstore::store {

namespace {

using Registry = std::map<std::string, std::weak_ptr<PoolCore>>;

// Of this process; guarded by ForkLock::pools.
Registry& registry()
{
    static Registry* pools = new Registry; // outlives static destructors: pools may be closed by them
    return *pools;
}

// Runs `body` with the lock of the registry. It may wait for a cluster or for other processes.
void with_pools(FunctionRef<void()> body)
{
    ask_during([&] {
        const std::lock_guard lock(held_over_fork(ForkLock::pools));
        const NotAsked not_asked;
        body();
    });
}

// The back end whose form the path has; nullptr: it is a path of a file system.
const Backend* backend_named_by(const std::string& path)
{
    const auto found = std::ranges::find_if(
        backends(), [&](const Backend& one) { return one.names != nullptr && one.names(path); });
    return found == backends().end() ? nullptr : &*found;
}

const Backend* find_backend(const std::string& path, Found wanted)
{
    const auto found =
        std::ranges::find_if(backends(), [&](const Backend& one) { return one.look(path) == wanted; });
    return found == backends().end() ? nullptr : &*found;
}

const Backend& backend_named(const std::string& name)
{
    std::string names;
    for (const Backend& backend : backends()) {
        if (backend.name == name) return backend;
        names += (names.empty() ? "" : ", ") + backend.name;
    }
    fail(DER_INVAL, "there is no back end '" + name + "': this build has " + names + ", files");
}

} // namespace

const Backend& backend_of(const std::string& path, const char* advice)
{
    // Its open() tells better than a look why a pool cannot be used.
    if (const Backend* backend = backend_named_by(path)) return *backend;
    if (const Backend* backend = find_backend(path, Found::pool)) return *backend;
    std::error_code error;
    const bool searchable = std::filesystem::exists(path + "/.", error);
    if (!searchable && error == std::errc::permission_denied) {
        fail(DER_NO_PERM,
             "pool " + path + ": this process may not read the directory: ask its owner for permission");
    }
    fail(DER_NONEXIST, "there is no pool at " + path + advice);
}

std::string canonical_pool_path(const std::string& path)
{
    if (path.empty()) fail(DER_INVAL, "the path of a pool is empty: give a directory");
    if (backend_named_by(path) != nullptr) {
        std::string text = path;
        while (text.ends_with('/') && backend_named_by(text.substr(0, text.size() - 1)) != nullptr)
            text.pop_back();
        return text;
    }
    if (char resolved[PATH_MAX]; realpath(path.c_str(), resolved) != nullptr) return resolved;
    std::error_code error; // what is not there yet may be made
    auto result = std::filesystem::weakly_canonical(path, error);
    if (error) {
        fail(error == std::errc::permission_denied ? DER_NO_PERM : DER_BADPATH,
             "pool " + path + ": cannot resolve the path: " + error.message());
    }
    std::string text = std::filesystem::absolute(result).string();
    while (text.size() > 1 && text.back() == '/')
        text.pop_back();
    return text;
}

PoolCore::PoolCore(std::string path, const Backend& backend, std::unique_ptr<Storage> storage,
                   PoolHeader header)
    : path_(std::move(path)), backend_(backend), header_(std::move(header)), storage_(std::move(storage)),
      verified_(std::make_unique<std::atomic<bool>[]>(storage_->targets()))
{
}

Target& PoolCore::target(unsigned index, bool to_write)
{
    Target& target = storage_->target(index);
    if (!verified_[index].load(std::memory_order_relaxed)) [[unlikely]] {
        if (to_write) target.open_to_write();
        target.read([&](ReadTransaction& transaction) {
            verify_target_header(transaction, path_, header_.uuid, index);
        });
        verified_[index].store(true, std::memory_order_relaxed);
    }
    return target;
}

void PoolCore::trust_targets()
{
    for (unsigned index = 0; index < storage_->targets(); ++index)
        verified_[index].store(true, std::memory_order_relaxed);
}

std::shared_ptr<PoolCore> PoolCore::acquire(const std::string& path, Access access)
{
    std::shared_ptr<PoolCore> core;
    with_pools([&] {
        core = registry()[path].lock();
        if (!core || !core->storage().is_current()) {
            registry().erase(path);
            const Backend& backend = backend_of(path, ": create it first (stepstore pool create)");
            auto storage = backend.open(path);
            PoolHeader header =
                look_at(storage->meta(), [&](ReadTransaction& meta) { return read_pool_header(meta, path); });
            core = std::make_shared<PoolCore>(path, backend, std::move(storage), std::move(header));
            registry()[path] = core;
        }
    });
    if (access == Access::read_only) return core;
    core->storage().claim();
    if (!core->tidied_) {
        finish_destructions(*core);
        core->tidied_ = true;
    }
    return core;
}

std::shared_ptr<Pool> VersionedPool::create(const std::string& path, const PoolOptions& options)
{
    const Backend* by_path = backend_named_by(path);
    const Backend& backend = by_path != nullptr ? *by_path : backend_named(options.backend);
    const unsigned targets = options.targets != 0 ? options.targets
                             : backend.default_targets != 0
                                 ? backend.default_targets
                                 : std::clamp(std::thread::hardware_concurrency(), 4U, 16U);
    if (targets > 256)
        fail(DER_INVAL, "pool " + path + ": " + std::to_string(targets) + " targets: 1 to 256 are possible");
    if (!options.label.empty()) require_label("pool " + path + ": the label", options.label);
    std::shared_ptr<PoolCore> core;
    with_pools([&] {
        if (const Backend* other = by_path == nullptr ? find_backend(path, Found::pool) : nullptr) {
            fail(DER_EXIST, "there is a pool at " + path + " already (" + other->name +
                                "): open it, or choose another path");
        }
        PoolHeader header;
        const auto fill = [&](Storage& made) { header = format_pool(made, options.label); };
        auto storage = backend.create(path, {targets, options.durability, options.target_directories, fill});
        core = std::make_shared<PoolCore>(path, backend, std::move(storage), std::move(header));
        registry()[path] = core;
    });
    return std::make_shared<VersionedPool>(std::move(core), Access::read_write);
}

void VersionedPool::destroy(const std::string& path)
{
    with_pools([&] {
        const Backend* left =
            backend_named_by(path) != nullptr ? nullptr : find_backend(path, Found::unfinished);
        const Backend& backend = left != nullptr ? *left : backend_of(path, " to destroy");
        if (auto core = registry()[path].lock(); core && core.use_count() > 1) {
            fail(DER_BUSY, "pool " + path + " is open in this process: close its handles first");
        }
        registry().erase(path);
        backend.destroy(path);
    });
}

void PoolCore::write_all(
    FunctionRef<void(WriteTransaction& meta, std::span<WriteTransaction* const> targets)> body)
{
    std::vector<unsigned> all{meta_target};
    for (unsigned index = 0; index < storage_->targets(); ++index) {
        target(index, true);
        all.push_back(index);
    }
    write_nested(
        *storage_, all,
        [&](std::span<WriteTransaction* const> open) { body(*open.front(), open.subspan(1)); },
        [](std::size_t) {});
}

void PoolCore::container_opened(std::uint64_t id)
{
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    open_containers_.insert(id);
}

void PoolCore::container_closed(std::uint64_t id) noexcept
{
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    open_containers_.erase(open_containers_.find(id));
}

bool PoolCore::container_open(std::uint64_t id)
{
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    return open_containers_.contains(id);
}

void erase_in_meta(PoolCore& core, const KeyBuffer& prefix)
{
    constexpr std::size_t erased_at_once = 100; // records per transaction
    Target& meta = core.storage().meta();
    // Found first, then erased: an update seeks in scopes only.
    for (;;) {
        const auto keys = look_at(meta, [&](ReadTransaction& transaction) {
            std::vector<std::vector<std::byte>> some;
            Entries entries(transaction, prefix.view(), prefix.view());
            for (Entry entry; some.size() < erased_at_once && entries.next(entry);)
                some.emplace_back(entry.key.begin(), entry.key.end());
            return some;
        });
        if (keys.empty()) return;
        meta.write([&](WriteTransaction& transaction) {
            for (const auto& key : keys)
                if (!put_back(transaction, key)) transaction.erase(key);
        });
    }
}

} // namespace stepstore::store

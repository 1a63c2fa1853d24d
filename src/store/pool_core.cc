// Opening and sharing: one back end per path and process.
//
// The registry maps a canonical path to the pool that this process has open. A fork copies it, and the back end sees to
// it that the child works on a connection of its own. The registry's lock is held across fork(), so no child is born
// in the middle of a change; it is registered for that behind the locks of the back ends, which nest in it.
#include "store/pool_core.h"

#include "store/failure.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <pthread.h>
#include <thread>

namespace stepstore::store {

namespace {

struct Registry {
    std::mutex guard; // guards pools
    std::map<std::string, std::weak_ptr<PoolCore>> pools;

    static Registry& instance()
    {
        static Registry* registry = new Registry; // outlives static destructors: pools may be closed by them
        return *registry;
    }
    // Once a back end has registered its own handlers: the last registered is the first to run before a fork.
    static void hold_across_fork()
    {
        [[maybe_unused]] static const int once = pthread_atfork(
            [] { instance().guard.lock(); }, [] { instance().guard.unlock(); }, [] { instance().guard.unlock(); });
    }
};

const BackendFactory* factory_of(const std::string& path)
{
    for (const BackendFactory& factory : backends()) {
        if (factory.present(path)) return &factory;
    }
    return nullptr;
}

const BackendFactory& factory_named(const std::string& name)
{
    std::string names;
    for (const BackendFactory& factory : backends()) {
        if (factory.name == name) return factory;
        names += (names.empty() ? "" : ", ") + factory.name;
    }
    fail(DER_INVAL, "there is no back end '" + name + "': this build has " + names);
}

std::unique_ptr<Backend> open_backend(const BackendFactory& factory, const std::string& path, Access access)
{
    // Readers share the environment with writers of the process, so it is opened for both wherever that is allowed.
    try {
        return factory.open(path, Access::read_write);
    } catch (const Error& error) {
        if (access == Access::read_write || error.code() != -DER_NO_PERM) throw;
    }
    return factory.open(path, Access::read_only);
}

PoolHeader header_of(Backend& backend, const std::string& path)
{
    PoolHeader header;
    backend.meta().read([&](ReadTransaction& meta) { header = read_pool_header(meta, path); });
    return header;
}

} // namespace

const BackendFactory& backend_of(const std::string& path, const char* advice)
{
    if (const BackendFactory* factory = factory_of(path)) return *factory;
    std::error_code error;
    const bool searchable = std::filesystem::exists(path + "/.", error);
    if (!searchable && error == std::errc::permission_denied) {
        fail(DER_NO_PERM, "pool " + path + ": this process may not look into the directory: ask its owner for it");
    }
    fail(DER_NONEXIST, "there is no pool at " + path + advice);
}

std::string canonical_pool_path(const std::string& path)
{
    if (path.empty()) fail(DER_INVAL, "the path of a pool is empty: give a directory");
    if (char resolved[PATH_MAX]; realpath(path.c_str(), resolved) != nullptr) return resolved;
    std::error_code error; // what is not there yet may be made
    auto result = std::filesystem::weakly_canonical(path, error);
    if (error) {
        fail(error == std::errc::permission_denied ? DER_NO_PERM : DER_BADPATH,
             "pool " + path + ": the path cannot be resolved: " + error.message());
    }
    std::string text = std::filesystem::absolute(result).string();
    while (text.size() > 1 && text.back() == '/')
        text.pop_back();
    return text;
}

PoolCore::PoolCore(std::string path, const BackendFactory& factory, std::unique_ptr<Backend> backend, PoolHeader header)
    : path_(std::move(path)), backend_name_(factory.name), header_(std::move(header)), backend_(std::move(backend)),
      verified_(std::make_unique<std::atomic<bool>[]>(backend_->targets()))
{
}

Target& PoolCore::target(unsigned index)
{
    Target& target = backend_->target(index);
    if (!verified_[index].load(std::memory_order_relaxed)) [[unlikely]] {
        target.read([&](ReadTransaction& transaction) {
            verify_target_header(transaction, path_, header_.uuid, index);
        });
        verified_[index].store(true, std::memory_order_relaxed);
    }
    return target;
}

std::shared_ptr<PoolCore> PoolCore::acquire(const std::string& given, Access access)
{
    const std::string path = canonical_pool_path(given);
    std::shared_ptr<PoolCore> core;
    {
        auto& registry = Registry::instance();
        std::lock_guard lock(registry.guard);
        core = registry.pools[path].lock();
        if (!core) {
            registry.pools.erase(path);
            const BackendFactory& factory = backend_of(path, ": create it first (stepstore pool create)");
            auto backend = open_backend(factory, path, access);
            PoolHeader header = header_of(*backend, path);
            core = std::make_shared<PoolCore>(path, factory, std::move(backend), std::move(header));
            registry.pools[path] = core;
            Registry::hold_across_fork();
        }
    }
    if (access == Access::read_write && core->backend().read_only()) {
        fail(DER_NO_PERM, "pool " + path + " may not be written by this user");
    }
    if (access == Access::read_write) core->backend().claim();
    if (access == Access::read_write && !core->tidied_) {
        finish_destructions(*core);
        core->tidied_ = true;
    }
    return core;
}

std::shared_ptr<PoolCore> PoolCore::create(const std::string& given, const PoolOptions& options)
{
    const std::string path = canonical_pool_path(given);
    const unsigned targets =
        options.targets != 0 ? options.targets : std::clamp(std::thread::hardware_concurrency(), 4U, 16U);
    if (targets > 256) {
        fail(DER_INVAL, "pool " + path + ": " + std::to_string(targets) + " targets: 1 to 256 are possible");
    }
    if (!options.label.empty()) require_label("pool " + path + ": the label", options.label);
    const BackendFactory& factory = factory_named(options.backend);
    auto& registry = Registry::instance();
    std::lock_guard lock(registry.guard);
    if (const BackendFactory* other = factory_of(path)) {
        fail(DER_EXIST, "there is a pool at " + path + " already (" + other->name + "): open it, or take another path");
    }
    PoolHeader header;
    const auto fill = [&](Backend& made) {
        made.claim();
        header = format_pool(made, options.label);
    };
    auto backend = factory.create(path, {targets, options.durability, options.target_directories, fill});
    auto core = std::make_shared<PoolCore>(path, factory, std::move(backend), std::move(header));
    registry.pools[path] = core;
    Registry::hold_across_fork();
    return core;
}

void PoolCore::destroy(const std::string& given, bool force)
{
    const std::string path = canonical_pool_path(given);
    auto& registry = Registry::instance();
    std::lock_guard lock(registry.guard);
    const auto left = std::ranges::find_if(backends(), [&](const auto& one) { return one.leavings(path); });
    const BackendFactory& factory = left != backends().end() ? *left : backend_of(path, " to destroy");
    if (auto core = registry.pools[path].lock(); core && core.use_count() > 1) {
        fail(DER_BUSY, "pool " + path + " is open in this process" +
                           (force ? ": close its handles first, also to destroy it by force" : ": close it first"));
    }
    registry.pools.erase(path);
    factory.destroy(path);
}

void PoolCore::write_all(FunctionRef<void(WriteTransaction& meta, std::span<WriteTransaction* const> targets)> body)
{
    Backend& store = backend();
    std::vector<unsigned> all{meta_target};
    for (unsigned index = 0; index < store.targets(); ++index) {
        target(index);
        all.push_back(index);
    }
    write_nested(
        store, all, [&](std::span<WriteTransaction* const> open) { body(*open.front(), open.subspan(1)); },
        [](std::size_t) {});
}

void PoolCore::container_opened(std::uint64_t id)
{
    std::lock_guard lock(guard_);
    ++open_containers_[id];
}

void PoolCore::container_closed(std::uint64_t id) noexcept
{
    std::lock_guard lock(guard_);
    if (const auto found = open_containers_.find(id); found != open_containers_.end() && --found->second == 0) {
        open_containers_.erase(found);
    }
}

bool PoolCore::container_open(std::uint64_t id)
{
    std::lock_guard lock(guard_);
    return open_containers_.contains(id);
}

void PoolImpl::require_write(const char* what) const
{
    if (access == Access::read_write) return;
    fail(DER_NO_PERM, "pool " + core->path() + " was opened read-only: " + what + " needs it open for writing");
}

} // namespace stepstore::store

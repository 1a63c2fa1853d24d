// A pool as a program has it open: what it holds, syncing, compaction.
#include "store/versioned.h"

#include "base/files.h"
#include "base/system_error.h"
#include "store/failure.h"
#include "store/pool_core.h"
#include "store/user_attributes.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

namespace stepstore::store {

VersionedPool::VersionedPool(std::shared_ptr<PoolCore> core, Access access)
    : Pool(core->path(), access), core_(std::move(core))
{
}

std::shared_ptr<VersionedPool> VersionedPool::open(const std::string& path, Access access)
{
    return std::make_shared<VersionedPool>(PoolCore::acquire(path, access), access);
}

PoolInfo VersionedPool::query()
{
    Storage& storage = core_->storage();
    const PoolHeader& header = core_->header();
    PoolInfo info;
    info.uuid = header.uuid;
    info.label = header.label;
    info.path = core_->path();
    info.backend = core_->backend().name;
    info.format_version = header.version;
    info.durability = storage.durability();
    for (unsigned index = 0; index < storage.targets(); ++index) {
        Target& target = core_->target(index);
        const auto usage = target.usage();
        info.targets.push_back({usage.index, usage.bulk, target.counters()});
    }
    const auto space = storage.space();
    info.space_total = space.total;
    info.space_free = space.free;
    info.containers = containers().size();
    return info;
}

// A number of a container is never used twice, and 0 never.
std::unique_ptr<UserAttributes> VersionedPool::user_attributes()
{
    return open_user_attributes(shared_from_this(), *core_, no_container);
}

namespace {

// Several at once: each waits for the medium, which takes them together.
void sync_together(const std::vector<Target*>& targets, bool own)
{
    constexpr std::size_t most_threads = 8;
    std::atomic<std::size_t> next = 0;
    std::mutex guard; // guards failure
    std::exception_ptr failure;
    const auto work = [&] {
        for (std::size_t at = next++; at < targets.size(); at = next++) {
            try {
                targets[at]->sync(own);
            } catch (...) {
                const std::lock_guard lock(guard);
                if (!failure) failure = std::current_exception();
            }
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            while (others.size() + 1 < std::min(targets.size(), most_threads))
                others.emplace_back(work);
        } catch (const std::system_error&) { // no more threads: those that are there do it
        }
        work();
    }
    if (failure) std::rethrow_exception(failure);
}

// What the pool's users keep as files beside its objects.
void sync_files(const std::string& path)
{
    const auto pool = RootedPath::directory(path);
    if (!pool && errno == ENOENT) return; // a pool of another back end may have none
    if (!pool) fail_errno("pool " + path, "cannot open the directory");
    if (!exists(pool / "files")) return;
    sync_tree(pool / "files");
    sync_directory(pool);
}

} // namespace

void VersionedPool::sync(bool own)
{
    // Files first: objects may refer to them.
    if (!own && access() == Access::read_write) sync_files(path());
    Storage& storage = core_->storage();
    std::vector<Target*> targets;
    for (unsigned index = 0; index < storage.targets(); ++index)
        if (storage.target(index).begin_sync(own)) targets.push_back(&storage.target(index));
    // Targets first: what meta refers to is then there.
    sync_together(targets, own);
    if (storage.meta().begin_sync(own)) storage.meta().sync(own);
}

std::vector<Compaction> VersionedPool::compact()
{
    require_write("compact");
    Storage& storage = core_->storage();
    std::vector<Target*> targets;
    for (unsigned index = 0; index < storage.targets(); ++index)
        targets.push_back(&core_->target(index));
    targets.push_back(&storage.meta());
    std::vector<Target::Usage> before; // all of them: dead processes left things anywhere
    for (Target* target : targets)
        before.push_back(target->usage());
    for (Target* target : targets)
        target->compact();
    std::vector<Compaction> all;
    for (std::size_t at = 0; at < targets.size(); ++at) {
        const auto after = targets[at]->usage();
        all.push_back({before[at].index, after.index, before[at].bulk, after.bulk});
    }
    return all;
}

} // namespace stepstore::store

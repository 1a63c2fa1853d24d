// A pool as a program has it open: what it holds, syncing, compaction.
#include "store/store.h"

#include "base/files.h"
#include "base/system_error.h"
#include "store/failure.h"
#include "store/pool_core.h"

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

Pool::Pool(std::shared_ptr<PoolCore> core, Access access) : core_(std::move(core)), access_(access)
{
}
Pool::~Pool() = default;

void Pool::require_write(const char* what) const
{
    if (access_ == Access::read_write) return;
    fail(DER_NO_PERM, "pool " + path() + " was opened read-only: " + what + " needs it open for writing");
}

std::shared_ptr<Pool> Pool::open(const std::string& path, Access access)
{
    return std::make_shared<Pool>(PoolCore::acquire(path, access), access);
}

std::vector<std::string> Pool::list(const std::string& root)
{
    constexpr int deepest = 4; // levels of plain directories that may lie above a pool
    std::vector<std::string> found;
    std::error_code error;
    if (!std::filesystem::is_directory(root, error))
        fail(DER_NONEXIST, "there is no directory " + root + " with pools: make it, or set STEPSTORE_ROOT");
    const std::function<void(const std::filesystem::path&, int)> look = [&](const std::filesystem::path& at,
                                                                            int depth) {
        const bool pool = std::ranges::any_of(
            backends(), [&](const Backend& one) { return one.look(at.string()) == Found::pool; });
        if (pool) {
            found.push_back(at.string());
            return;
        }
        if (depth == deepest) return;
        std::error_code unreadable; // a directory that we may not read holds no pool that we could open
        for (std::filesystem::directory_iterator entry(at, unreadable), end; !unreadable && entry != end;
             entry.increment(unreadable)) {
            if (entry->is_directory(unreadable) && !entry->is_symlink(unreadable))
                look(entry->path(), depth + 1);
        }
    };
    look(root, 0);
    std::ranges::sort(found);
    return found;
}

PoolInfo Pool::query()
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

const Uuid& Pool::uuid() const
{
    return core_->header().uuid;
}

unsigned Pool::targets() const
{
    return core_->storage().targets();
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

void Pool::sync(bool own)
{
    // Files first: objects may refer to them.
    if (!own && access_ == Access::read_write) sync_files(path());
    Storage& storage = core_->storage();
    std::vector<Target*> targets;
    for (unsigned index = 0; index < storage.targets(); ++index)
        if (storage.target(index).begin_sync(own)) targets.push_back(&storage.target(index));
    // Targets first: what meta refers to is then there.
    sync_together(targets, own);
    if (storage.meta().begin_sync(own)) storage.meta().sync(own);
}

std::vector<Compaction> Pool::compact()
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

const std::string& Pool::path() const
{
    return core_->path();
}

} // namespace stepstore::store

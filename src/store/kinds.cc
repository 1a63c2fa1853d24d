// The two kinds of pools, and which of them lies at a path.
#include "store/builtin.h"
#include "store/failure.h"
#include "store/versioned.h"

#include <algorithm>
#include <filesystem>
#include <functional>

namespace stepstore::store {

namespace {

// A path that says shared: before it is one of a pool in files, and of no other.
constexpr std::string_view shared_scheme = "shared:";

struct Named {
    std::string path; // canonical
    bool shared;      // it says so
};
Named named(const std::string& given)
{
    const bool shared = given.starts_with(shared_scheme);
    return {canonical_pool_path(shared ? given.substr(shared_scheme.size()) : given), shared};
}

bool is_in_files(const Named& pool)
{
    if (pool.shared && files::look(pool.path) == Found::nothing) {
        const bool other = std::ranges::any_of(
            backends(), [&](const Backend& one) { return one.look(pool.path) == Found::pool; });
        if (other) {
            fail(DER_INVAL, "the pool at " + pool.path +
                                " belongs to one machine, and is no pool in files: leave out shared:");
        }
        return true;
    }
    return files::look(pool.path) == Found::pool;
}

} // namespace

void Pool::require_write(const char* what) const
{
    if (access_ == Access::read_write) return;
    fail(DER_NO_PERM, "pool " + path() + " was opened read-only: " + what + " needs it open for writing");
}

std::shared_ptr<Pool> Pool::create(const std::string& given, const PoolOptions& options)
{
    const Named pool = named(given);
    const bool in_files = pool.shared || options.backend == files::name;
    if (is_in_files(pool) && !in_files) {
        fail(DER_EXIST,
             "there is a pool at " + pool.path + " already (files): open it, or choose another path");
    }
    if (!in_files) return VersionedPool::create(pool.path, options);
    if (!options.label.empty()) require_label("pool " + pool.path + ": the label", options.label);
    return files::create(pool.path, options);
}

std::shared_ptr<Pool> Pool::open(const std::string& given, Access access)
{
    const Named pool = named(given);
    if (is_in_files(pool)) return files::open(pool.path, access);
    return VersionedPool::open(pool.path, access);
}

void Pool::destroy(const std::string& given)
{
    const Named pool = named(given);
    if (is_in_files(pool)) return files::destroy(pool.path);
    VersionedPool::destroy(pool.path);
}

CheckReport Pool::check(const std::string& given, const CheckOptions& options)
{
    const Named pool = named(given);
    if (is_in_files(pool)) return files::check(pool.path, options);
    return VersionedPool::check(pool.path, options);
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
        if (pool || files::look(at.string()) == Found::pool) {
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

void Container::destroy_snapshot(Epoch epoch)
{
    if (destroy_snapshots({&epoch, 1}) == 1) return;
    fail(DER_NONEXIST,
         "this container has no snapshot at epoch " + std::to_string(epoch) + ": list its snapshots");
}

} // namespace stepstore::store

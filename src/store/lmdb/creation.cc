#include "store/lmdb/creation.h"

#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;
constexpr auto making_patience = 20s;    // that one maker waits for another
constexpr auto destroying_patience = 1s; // for a process that is just about to end, or was just forked

std::string parent_of(const std::string& path)
{
    return std::filesystem::path(path).parent_path();
}

std::string content_of(const RootedPath& place)
{
    const Descriptor fd = open_file(place, O_RDONLY);
    return fd ? read_text(fd.get()).value_or("") : "";
}

void write_text(const RootedPath& place, const std::string& text, const std::string& where)
{
    const Descriptor fd = open_file(place, O_WRONLY | O_CREAT | O_EXCL);
    if (!fd) fail_errno(where, "cannot make " + place + owner_of(place.parent()));
    if (const int error = write_all(fd.get(), {as_bytes(text)}, 0); error != 0)
        fail(error, where, "cannot write " + place);
}

bool pools_own_name(const std::string& name)
{
    return name == format_name || name == unfinished_name || name == lock_name || name == shared_name ||
           name == writers_name || name == meta_name || name == files_name || is_target_name(name) ||
           MachineClaim::is_name(name);
}

Found look_at(const RootedPath& pool)
{
    if (exists(pool / format_name)) return Found::pool;
    if (exists(pool / unfinished_name)) return Found::unfinished;
    if (exists(pool / meta_name / "data.mdb") && exists(pool / target_name(0))) return Found::pool;
    return content_of(pool / lock_name) == lock_text ? Found::unfinished : Found::nothing;
}

// ---- targets in other directories

std::string owner_text(const RootedPath& pool, const std::string& directory)
{
    char resolved[PATH_MAX];
    const std::string path = realpath(static_cast<const std::string&>(pool).c_str(), resolved) != nullptr
                                 ? std::string(resolved)
                                 : static_cast<const std::string&>(pool);
    return "stepstore targets\nin " + directory + "\nof " + path + "\n";
}

// A new name in each of these, which no other pool has.
std::vector<std::string> directories_for_targets(const std::string& pool,
                                                 const std::vector<std::string>& wanted)
{
    std::random_device device;
    char number[17];
    std::snprintf(number, sizeof number, "%08x%08x", device(), device());
    std::vector<std::string> all;
    for (const std::string& path : wanted) {
        char resolved[PATH_MAX];
        if (realpath(path.c_str(), resolved) == nullptr)
            fail_errno("pool " + pool, "cannot use this directory for targets: " + path);
        const std::string directory =
            std::string(resolved) + "/" + std::filesystem::path(pool).filename().string() + "-" + number;
        if (directory.find('\n') != std::string::npos)
            throw Error(-DER_INVAL,
                        "pool " + pool + ": the path of a directory for targets has a line break");
        all.push_back(directory);
    }
    return all;
}

// Throws where the directory says that it is not this pool's: a header may name anything. Nothing when it is
// not there.
RootedPath own_directory(const RootedPath& pool, const std::string& path)
{
    RootedPath directory = RootedPath::directory(path);
    if (!directory && errno == ENOENT) return directory;
    if (!directory) fail_errno("pool " + pool, "cannot open " + path + ", in which it has targets");
    const std::string owner = content_of(directory / owner_name);
    if (owner == owner_text(pool, path)) return directory;
    if (owner.empty() &&
        std::ranges::all_of(names_in(directory), [](const auto& name) { return name == owner_name; }))
        return directory; // its maker died before it had said so
    throw Error(-DER_NO_PERM, "pool " + pool + ": its format file names " + path +
                                  " as a directory of its targets, but " + directory + "/" + owner_name +
                                  " does not name the pool. Nothing was removed. If the pool was moved, "
                                  "correct its path there");
}

// All of them. Throws as above.
std::vector<RootedPath> own_directories(const RootedPath& pool, const std::optional<Format>& format)
{
    std::vector<RootedPath> all;
    if (!format) return all;
    for (const std::string& path : format->directories)
        if (RootedPath directory = own_directory(pool, path)) all.push_back(directory);
    return all;
}

// ---- removing

void remove_or_fail(const RootedPath& pool, const RootedPath& place, int error)
{
    if (error == 0 || error == ENOENT || error == ENOTEMPTY || error == EEXIST) return;
    fail(error, "pool " + pool, "cannot remove " + place + owner_of(place.parent()));
}

void remove_one(const RootedPath& pool, const RootedPath& place)
{
    remove_or_fail(pool, place, remove(place));
}

void remove_target(const RootedPath& pool, const RootedPath& target)
{
    const Descriptor directory = open_file(target, O_RDONLY | O_DIRECTORY);
    if (!directory) return remove_one(pool, target); // a link to somewhere, or nothing
    remove_one(pool, target / "data.mdb");
    remove_one(pool, target / "lock.mdb");
    for (const char* name : {kept_name, kept_new_name, kept_void_name})
        remove_one(pool, target / name);
    for (const std::string& file : names_in(target))
        if (file.size() == 20 && file.ends_with(".ext")) remove_one(pool, target / file);
    remove_one(pool, target);
}

// Removes the pool's files that exist, and leaves all others. The pool's files are those that its format file
// names. If that cannot be read they are the files with names of a pool. The format file has its unfinished
// name, and goes last.
void remove_content(const RootedPath& pool)
{
    const std::optional<Format> format = read_any_format(pool);
    const std::vector<RootedPath> directories = own_directories(pool, format);
    const auto is_its_target = [&](const std::string& name) {
        return is_target_name(name) &&
               (!format || std::stoul(name.substr(7)) < format->targets); // target-NNN
    };
    const auto remove_targets = [&](const RootedPath& directory) {
        for (const std::string& name : names_in(directory))
            if (is_its_target(name)) remove_target(pool, directory / name);
    };
    remove_targets(pool);
    for (const RootedPath& directory : directories) {
        remove_targets(directory);
        remove_one(pool, directory / owner_name);
        // Stays where there is something else in it.
        rmdir(static_cast<const std::string&>(directory).c_str());
    }
    remove_target(pool, pool / meta_name);
    remove_one(pool, pool / shared_name);
    remove_one(pool, pool / writers_name);
    for (const std::string& name : names_in(pool))
        if (MachineClaim::is_name(name)) remove_one(pool, pool / name);
    remove_or_fail(pool, pool / files_name, remove_tree(pool / files_name));
    remove_one(pool, pool / unfinished_name);
}

// Throws where a pool must not be made. Touches nothing. locked: no other process is making one there.
void require_free(const RootedPath& pool, bool locked)
{
    const Found found = look_at(pool);
    if (found == Found::pool)
        throw Error(-DER_EXIST, "pool " + pool + " exists already: open it, or choose another path");
    const auto names = names_in(pool);
    const auto foreign = std::ranges::find_if_not(names, pools_own_name);
    const bool lock_alone =
        names.size() == 1 && names.front() == lock_name && content_of(pool / lock_name).empty();
    if (names.empty() || lock_alone || (foreign == names.end() && found == Found::unfinished)) return;
    // Another process may have begun to make a pool since the first look. Its lock file comes first.
    if (!locked && foreign == names.end() && std::ranges::find(names, lock_name) != names.end()) return;
    throw Error(-DER_EXIST, "the directory " + pool + " is neither empty nor a pool (it holds \"" +
                                (foreign != names.end() ? *foreign : names.front()) +
                                "\"): choose another path; nothing in it was changed");
}

} // namespace

// ---- making

Creation::Creation(const std::string& path, const NewPool& options) : path_(path), options_(options)
{
    try {
        lock();
        build();
    } catch (...) {
        take_back();
        throw;
    }
}

Creation::~Creation()
{
    take_back();
}

void Creation::make_directories()
{
    std::string part;
    for (const auto& name : std::filesystem::path(path_)) {
        part = part.empty() ? name.string() : (std::filesystem::path(part) / name).string();
        struct stat status {};
        if (lstat(part.c_str(), &status) == 0) continue;
        if (mkdir(part.c_str(), 0777) == 0)
            made_.push_back(part);
        else if (errno != EEXIST)
            fail(errno, "pool " + path_, "cannot make the directory " + part + owner_of(parent_of(part)));
    }
}

// Step 1: the exclusive lock of a directory in which there is no pool.
void Creation::lock()
{
    const auto deadline = std::chrono::steady_clock::now() + making_patience;
    for (;; std::this_thread::sleep_for(2ms)) {
        if (std::chrono::steady_clock::now() > deadline)
            throw Error(-DER_BUSY, "pool " + path_ +
                                       " is being made by another process, which does not finish: end that "
                                       "process, or try again later");
        make_directories();
        pool_ = RootedPath::directory(path_);
        if (!pool_ && errno == ENOENT) continue; // it was just destroyed
        if (!pool_) fail_errno("pool " + path_, "cannot make a pool there");
        require_free(pool_, false);
        lock_ = open_lock_file(pool_ / lock_name);
        if (!lock_ && errno == ENOENT) continue;
        if (!lock_) fail_errno("pool " + path_, "cannot make its lock file" + owner_of(path_));
        if (!try_lock(lock_.get(), Lock::exclusive, path_) || unlinked(lock_.get(), path_)) continue;
        require_free(pool_, true);
        return;
    }
}

void Creation::build()
{
    MachineClaim(pool_).require_no_other();
    ours_ = true;
    if (const int error = write_all(lock_.get(), {as_bytes(lock_text)}, 0); error != 0)
        fail(error, "pool " + path_, "cannot write its lock file");
    remove_content(pool_);
    const Format format{options_.targets, options_.durability,
                        directories_for_targets(path_, options_.target_directories)};
    write_unfinished(pool_, format);
    const auto make = [&](const RootedPath& directory) {
        if (const int error = make_directory(directory); error != 0)
            fail(error, "pool " + path_,
                 "cannot make the directory " + directory + owner_of(directory.parent()));
    };
    for (const std::string& path : format.directories) {
        make(RootedPath::directory(parent_of(path)) / std::filesystem::path(path).filename().string());
        write_text(RootedPath::directory(path) / owner_name, owner_text(pool_, path), "pool " + path_);
    }
    SharedState::create(pool_ / shared_name, format.targets);
    state_ = std::make_shared<PoolState>(pool_, format, Permissions{pool_, true, true}, std::move(lock_));
    for (unsigned index = 0; index <= format.targets; ++index) {
        const TargetFiles files = state_->files_of(index, "pool " + path_);
        make(files.directory);
        LmdbMap::create(files);
    }
    if (format.durability != Durability::power) return;
    for (const std::string& path : format.directories) {
        sync_directory(path);
        sync_directory(parent_of(path));
    }
    sync_directory(parent_of(path_));
    for (const std::string& path : made_)
        sync_directory(parent_of(path));
}

void Creation::publish()
{
    lmdb::publish(pool_);
    ours_ = false;
    // Only while there is no pool the text says something, and it takes a block.
    if (const Descriptor lock = open_file(pool_ / lock_name, O_WRONLY)) (void)!ftruncate(lock.get(), 0);
    made_.clear();
    state_->share_lock();
    PoolState::adopt(state_);
}

void Creation::take_back() noexcept
{
    try {
        if (std::exchange(ours_, false) && !exists(pool_ / format_name)) {
            remove_content(pool_);
            remove(pool_ / lock_name);
        }
    } catch (const Error&) { // the first failure is the one to tell
    }
    for (auto made = made_.rbegin(); made != made_.rend(); ++made)
        rmdir(made->c_str()); // stays where there is something in it
    made_.clear();
    PoolState::close(std::move(state_));
}

// ---- destroying

void destroy(const std::string& path)
{
    const RootedPath pool = RootedPath::directory(path);
    if (!pool && errno != ENOENT && errno != ENOTDIR)
        fail_errno("pool " + path, "cannot open the directory" + owner_of(path));
    if (!pool || look_at(pool) == Found::nothing)
        throw Error(-DER_NONEXIST, "there is no pool in " + path + " to destroy");
    if (!can_write(pool)) fail_errno("pool " + path, "cannot destroy it" + owner_of(path));
    MachineClaim(pool).require_no_other();
    const RootedPath name = pool / lock_name;
    Descriptor lock;
    const auto deadline = std::chrono::steady_clock::now() + destroying_patience;
    for (;;) {
        bool alone = false;
        if (PoolState::forget(pool, alone)) { // open in this process: its own lock became the exclusive one
            if (alone) break;
        } else {
            lock = open_lock_file(name);
            if (!lock) fail_errno("pool " + path, "cannot open its lock file" + owner_of(path));
            if (try_lock(lock.get(), Lock::exclusive, name)) break;
        }
        if (std::chrono::steady_clock::now() > deadline)
            throw Error(-DER_BUSY, "pool " + path + " is open in another process: end that process first");
        std::this_thread::sleep_for(5ms);
    }
    if ((lock && unlinked(lock.get(), name)) || look_at(pool) == Found::nothing)
        throw Error(-DER_NONEXIST, "pool " + path + " was just destroyed by another process");
    own_directories(pool, read_any_format(pool)); // before anything is removed
    if (exists(pool / format_name))
        unpublish(pool);
    else if (!exists(pool / unfinished_name)) // a damaged one
        write_text(pool / unfinished_name, "", "pool " + path);
    remove_content(pool);
    remove(name);
    rmdir(path.c_str()); // stays where there is something else in it
}

Found look(const std::string& path) noexcept
{
    try {
        const RootedPath pool = RootedPath::directory(path);
        return pool ? look_at(pool) : Found::nothing;
    } catch (...) {
        return Found::nothing;
    }
}

} // namespace stepstore::store::lmdb

// The embedded default: a pool is a directory (format.h), a target an LMDB
// environment (environment.h) with extent files beside it (extents.h).
//
// Making a pool, so that of any number of callers exactly one succeeds and a
// dead one is in nobody's way:
// 1. Make the directory and in it the lock file; take its exclusive lock.
// Others wait here, or find the format file.
// 2. With the lock held: is there a format file? Then somebody was faster:
// DER_EXIST. Anything that a dead maker left is
//    removed: only files of names that a pool has, and only where the lock file
//    says that they are a pool's.
// 3. Make the indices and the clock; put the format file in place by rename.
// From here on there is a pool, whole.
// 4. Turn the lock into a shared one: the pool is open.
// Who opens takes the shared lock and looks at the format file again under it.
// Who destroys takes the exclusive lock, removes the format file first and the
// lock file last; who meanwhile got hold of the lock file sees that it has no
// name any more and begins again.
#include "store/builtin.h"
#include "store/lmdb/errors.h"
#include "store/lmdb/files.h"
#include "store/lmdb/fork.h"
#include "store/lmdb/format.h"
#include "store/lmdb/pool_state.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;
constexpr auto making_patience = 20s;       // that one maker waits for another
constexpr auto destroying_patience = 1s;    // for a process that is just about to end, or was just forked

// ---- the seam

class LmdbBackend;

class LmdbTarget final : public Target {
public:
    LmdbTarget(LmdbBackend& pool, unsigned index) : pool_(pool), index_(index) {}
    void read(FunctionRef<void(ReadTransaction&)> body) override;
    void write(FunctionRef<void(WriteTransaction&)> body) override;
    ExtentRef append(const std::vector<Bytes>& pieces) override;
    void read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into) override;
    void release(const ExtentRef& extent) override;
    std::vector<ExtentFile> extent_files() override;
    std::uint64_t allocated(const ExtentRef& range) override;
    bool begin_sync(bool own) override;
    void sync(bool own) override;
    Usage usage() override;
    std::vector<std::string> check() override;
    void count(const Counters& added) override;
    Counters counters() override;

private:
    LmdbBackend& pool_;
    const unsigned index_;
};

class LmdbBackend final : public Backend {
public:
    LmdbBackend(std::string path, std::shared_ptr<PoolState> state, Access access)
        : path_(std::move(path)), access_(access), state_(std::move(state)), generation_(state_->generation())
    {
        targets_.reserve(state_->format().targets + 1);
        for (unsigned index = 0; index <= state_->format().targets; ++index)
            targets_.emplace_back(*this, index);
    }
    ~LmdbBackend() override { PoolState::close(std::move(state_)); }
    LmdbBackend(const LmdbBackend&) = delete;
    LmdbBackend& operator=(const LmdbBackend&) = delete;

    const std::string& path() const override { return path_; }
    bool read_only() const override { return access_ == Access::read_only; }
    unsigned targets() const override { return static_cast<unsigned>(targets_.size() - 1); }
    Target& target(unsigned index) override { return targets_.at(index); }
    Target& meta() override { return targets_.back(); }
    Epoch next_epoch() override { return writable_state("give epochs").shared().next_epoch(); }
    Space space() override
    {
        struct statvfs status {};
        if (statvfs(state().path().c_str(), &status) != 0) fail_errno("pool " + path_, "cannot ask for its space");
        return {std::uint64_t{status.f_blocks} * status.f_frsize, std::uint64_t{status.f_bavail} * status.f_frsize};
    }

    // The shared state; opened anew in a forked child.
    PoolState& state()
    {
        if (generation_.load(std::memory_order_acquire) == process_generation()) [[likely]]
            return *state_;
        return reopened();
    }
    PoolState& writable_state(const char* what)
    {
        if (access_ == Access::read_write) [[likely]]
            return state();
        throw Error(-DER_NO_PERM, "pool " + path_ + " was opened read-only: it cannot " + what);
    }

private:
    PoolState& reopened()
    {
        std::lock_guard lock(reopening_);
        if (generation_.load() != process_generation()) {
            state_ = PoolState::reopen(std::move(state_), access_);
            generation_.store(process_generation(), std::memory_order_release);
        }
        return *state_;
    }

    const std::string path_;
    const Access access_;
    std::mutex reopening_; // guards state_ in a child, where nobody had it before
    std::shared_ptr<PoolState> state_;
    std::atomic<std::uint64_t> generation_;
    std::vector<LmdbTarget> targets_; // the pool's metadata last
};

void LmdbTarget::read(FunctionRef<void(ReadTransaction&)> body)
{
    pool_.state().environment(index_).read(body);
}

void LmdbTarget::write(FunctionRef<void(WriteTransaction&)> body)
{
    pool_.writable_state("be written").environment(index_, true).write(body);
}

ExtentRef LmdbTarget::append(const std::vector<Bytes>& pieces)
{
    return pool_.writable_state("be written").extents(index_).append(pieces);
}

void LmdbTarget::read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into)
{
    pool_.state().extents(index_).read(extent, skip, into);
}

void LmdbTarget::release(const ExtentRef& extent)
{
    pool_.writable_state("give back space").extents(index_).release(extent);
}

std::vector<Target::ExtentFile> LmdbTarget::extent_files()
{
    return pool_.state().extents(index_).files();
}

std::uint64_t LmdbTarget::allocated(const ExtentRef& range)
{
    return pool_.state().extents(index_).allocated(range);
}

bool LmdbTarget::begin_sync(bool own)
{
    if (pool_.read_only()) return false; // who writes nothing has nothing to sync
    PoolState& state = pool_.state();
    if (state.format().durability == Durability::power) return false; // every commit did it
    const Environment* index = state.environment_if_open(index_);
    if (own && (index == nullptr || !index->own_unsynced())) return false;
    state.extents(index_).begin_sync();
    return true;
}

void LmdbTarget::sync(bool own)
{
    if (pool_.read_only()) return; // who writes nothing has nothing to sync
    PoolState& state = pool_.state();
    if (own && state.environment_if_open(index_) == nullptr) return;
    state.environment(index_).sync(own, [&] { state.extents(index_).sync(own); }); // before the index that refers to them
}

Target::Usage LmdbTarget::usage()
{
    PoolState& state = pool_.state();
    return {state.environment(index_).bytes(), state.extents(index_).allocated()};
}

std::vector<std::string> LmdbTarget::check()
{
    try {
        return pool_.state().environment(index_).check();
    } catch (const Error& error) { // what keeps a target from being opened is a
                                   // finding too
        return {error.what()};
    }
}

void LmdbTarget::count(const Counters& added)
{
    pool_.state().shared().count(index_, added);
}

Counters LmdbTarget::counters()
{
    return pool_.state().shared().counters(index_);
}

// ---- making and destroying

std::string absolute(const std::string& path)
{
    std::error_code error;
    const auto full = std::filesystem::absolute(path, error);
    if (error || path.empty()) fail(path.empty() ? ENOENT : error.value(), "pool \"" + path + "\"", "not a path");
    auto text = full.lexically_normal().string();
    if (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text;
}

void make_directory(const std::string& path, const std::string& pool)
{
    if (mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return;
    const int error = errno;
    fail(error, "pool " + pool,
         "cannot make the directory " + path + owner_of(std::filesystem::path(path).parent_path()));
}

void make_directories(const std::string& path)
{
    std::string part;
    for (const auto& name : std::filesystem::path(path)) {
        part = part.empty() ? name.string() : (std::filesystem::path(part) / name).string();
        if (!exists(part)) make_directory(part, path);
    }
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail_errno("pool " + path, "cannot look at the directory");
    if (!S_ISDIR(status.st_mode)) fail(ENOTDIR, "pool " + path, "cannot make a pool there");
}

bool pools_own_name(const std::string& name)
{
    return name == format_name || name == std::string(format_name) + ".new" || name == lock_name ||
           name == shared_name || name == meta_name || name == files_name || is_target_name(name);
}

// Removes the pool's files below `path`, whatever is there of them, and leaves
// all others. The format file goes first, the lock file and the directory are
// the caller's.
void remove_content(const std::string& path)
{
    const auto remove = [&](const std::string& name, int flags) {
        if (unlinkat(AT_FDCWD, name.c_str(), flags) == 0 || errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST)
            return;
        fail_errno("pool " + path, "cannot remove " + name + owner_of(path));
    };
    remove(path + "/" + format_name, 0);
    remove(path + "/" + format_name + ".new", 0);
    for (const std::string& name : names_in(path)) {
        if (name != meta_name && !is_target_name(name)) continue;
        const std::string target = path + "/" + name;
        const std::string extents = target + "/" + extents_name;
        remove(target + "/data.mdb", 0);
        remove(target + "/lock.mdb", 0);
        if (exists(extents)) {
            for (const std::string& file : names_in(extents)) {
                if (file.size() == 20 && file.ends_with(".ext")) remove(extents + "/" + file, 0);
            }
            remove(extents, AT_REMOVEDIR);
        }
        remove(target, AT_REMOVEDIR);
    }
    remove(path + "/" + shared_name, 0);
    std::error_code error;
    std::filesystem::remove_all(path + "/" + files_name, error);
    if (error) throw Error(-DER_IO, "pool " + path + ": cannot remove " + files_name + ": " + error.message());
}

// Throws where a pool must not be made. Touches nothing.
void require_free(const std::string& path)
{
    const auto names = names_in(path);
    if (std::ranges::find(names, format_name) != names.end())
        throw Error(-DER_EXIST, "pool " + path + " exists already: open it, or take another path");
    if (names.empty()) return;
    const auto foreign = std::ranges::find_if_not(names, pools_own_name);
    bool ours = false;
    if (const Descriptor fd = open_file(path + "/" + lock_name, O_RDONLY)) {
        std::string text(lock_text.size() + 1, '\0');
        const auto length = read_all(fd.get(), std::as_writable_bytes(std::span(text)), 0);
        text.resize(static_cast<std::size_t>(std::max<std::int64_t>(length, 0)));
        ours = text == lock_text || (text.empty() && names.size() == 1);
    }
    if (foreign == names.end() && ours) return;
    throw Error(-DER_EXIST, "the directory " + path + " is not empty and no pool (it holds \"" +
                                (foreign != names.end() ? *foreign : names.front()) +
                                "\"): take another path; nothing in it was touched");
}

// Step 1: the exclusive lock of a directory in which there is no pool.
Descriptor lock_for_making(const std::string& path)
{
    const std::string name = path + "/" + lock_name;
    const auto deadline = std::chrono::steady_clock::now() + making_patience;
    for (;;) {
        make_directories(path);
        require_free(path);
        Descriptor fd = open_file(name, O_RDWR | O_CREAT);
        if (!fd && errno == ENOENT) continue; // the directory was just destroyed
        if (!fd) fail_errno("pool " + path, "cannot make its lock file" + owner_of(path));
        if (try_lock(fd.get(), Lock::exclusive, name)) {
            if (unlinked(fd.get(), name)) continue;
            require_free(path);
            return fd;
        }
        if (std::chrono::steady_clock::now() > deadline)
            throw Error(-DER_BUSY, "pool " + path + " is being made by another process that does not come to an end");
        std::this_thread::sleep_for(2ms);
    }
}

void build(const std::string& path, const Descriptor& lock, const Format& format)
{
    if (const int error = write_all(lock.get(), {as_bytes(lock_text)}, 0); error != 0)
        fail(error, "pool " + path, "cannot write its lock file");
    remove_content(path);
    for (unsigned index = 0; index <= format.targets; ++index) {
        const std::string directory = path + "/" + (index == format.targets ? meta_name : target_name(index));
        make_directory(directory, path);
        make_directory(directory + "/" + extents_name, path);
        Environment::create(directory, "pool " + path);
    }
    SharedState::create(path + "/" + shared_name, format.targets);
    write_format(path, format);
}

std::unique_ptr<Backend> create(const std::string& path, const BackendOptions& options)
{
    if (options.targets == 0 || options.targets > max_targets) {
        throw Error(-DER_INVAL, "pool " + path + ": " + std::to_string(options.targets) + " targets: 1 to " +
                                    std::to_string(max_targets) + " are possible");
    }
    const std::string full = absolute(path);
    const Descriptor lock = lock_for_making(full);
    try {
        build(full, lock, {options.targets, options.durability});
    } catch (...) {
        if (!exists(full + "/" + format_name)) {
            try {
                remove_content(full);
                unlink((full + "/" + lock_name).c_str());
            } catch (const Error&) { // the first failure is the one to tell
            }
        }
        throw;
    }
    try_lock(lock.get(), Lock::shared, full);
    return std::make_unique<LmdbBackend>(path, PoolState::open(full, Access::read_write), Access::read_write);
}

// A pool without its format file is damaged, or another process is just making it.
void wait_for_maker(const std::string& path)
{
    const std::string format = path + "/" + format_name;
    const std::string name = path + "/" + lock_name;
    const auto deadline = std::chrono::steady_clock::now() + making_patience;
    while (!exists(format) && std::chrono::steady_clock::now() < deadline) {
        const Descriptor lock = open_file(name, O_RDWR);
        if (!lock || try_lock(lock.get(), Lock::shared, name)) return; // nobody is at work
        std::this_thread::sleep_for(2ms);
    }
}

std::unique_ptr<Backend> open(const std::string& path, Access access)
{
    wait_for_maker(absolute(path));
    return std::make_unique<LmdbBackend>(path, PoolState::open(absolute(path), access), access);
}

bool present(const std::string& path)
{
    return exists(path + "/" + format_name) ||
           (exists(path + "/" + meta_name + "/data.mdb") && exists(path + "/" + target_name(0)));
}

void destroy(const std::string& path)
{
    const std::string full = absolute(path);
    if (!present(full)) throw Error(-DER_NONEXIST, "there is no pool in " + full + " to destroy");
    if (faccessat(AT_FDCWD, full.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        fail_errno("pool " + full, "cannot destroy it" + owner_of(full));
    const std::string name = full + "/" + lock_name;
    Descriptor lock;
    const auto deadline = std::chrono::steady_clock::now() + destroying_patience;
    for (;;) {
        bool alone = false;
        if (PoolState::forget(full, alone)) { // open in this process: its own lock became the exclusive one
            if (alone) break;
        } else {
            lock = open_file(name, O_RDWR | O_CREAT);
            if (!lock) fail_errno("pool " + full, "cannot open its lock file" + owner_of(full));
            if (try_lock(lock.get(), Lock::exclusive, name)) break;
        }
        if (std::chrono::steady_clock::now() > deadline)
            throw Error(-DER_BUSY, "pool " + full + " is open in another process: end that first");
        std::this_thread::sleep_for(5ms);
    }
    if (lock && unlinked(lock.get(), name))
        throw Error(-DER_NONEXIST, "pool " + full + " was just destroyed by another process");
    remove_content(full);
    unlink(name.c_str());
    rmdir(full.c_str()); // stays where there is something else in it
}

} // namespace

BackendFactory factory()
{
    return {"lmdb", create, open, destroy, [](const std::string& path) { return present(path); }};
}

} // namespace stepstore::store::lmdb

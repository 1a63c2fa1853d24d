// The embedded default: a pool is a directory (format.h), made and destroyed by making.h; a target an LMDB
// environment (environment.h) with extent files beside it (extents.h).
#include "store/builtin.h"
#include "store/failure.h"
#include "store/lmdb/errors.h"
#include "store/lmdb/fork.h"
#include "store/lmdb/making.h"

#include <daos_errno.h>

#include <cerrno>
#include <filesystem>
#include <sys/statvfs.h>

namespace stepstore::store::lmdb {

namespace {

// ---- the seam

class LmdbBackend;

class LmdbTarget final : public Target {
public:
    LmdbTarget(LmdbBackend& pool, unsigned index) : pool_(pool), index_(index) {}
    void read(FunctionRef<void(ReadTransaction&)> body) override;
    void write(FunctionRef<void(WriteTransaction&)> body) override;
    ExtentRef append(const std::vector<Bytes>& pieces, Reclaim reclaim) override;
    void entering(const ExtentRef& extent) override;
    void read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into) override;
    void release(const ExtentRef& extent) override;
    std::vector<ExtentFile> extent_files() override;
    std::uint64_t allocated(const ExtentRef& range) override;
    bool begin_sync(bool own) override;
    void sync(bool own) override;
    Usage usage() override;
    void compact() override;
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
        : path_(std::move(path)), access_(access), state_(std::move(state)), durability_(state_->format().durability),
          generation_(state_->generation())
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
    Durability durability() const override { return durability_; }
    Target& target(unsigned index) override { return targets_.at(index); }
    Target& meta() override { return targets_.back(); }
    void claim() override { writable_state("be written"); }
    Epoch next_epoch() override { return writable_state("give epochs").shared().next_epoch(); }
    Space space() override
    {
        struct statvfs status {};
        if (fstatvfs(state().place().root(), &status) != 0) fail_errno("pool " + path_, "cannot ask for its space");
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
        if (access_ == Access::read_write) [[likely]] {
            PoolState& pool = state();
            if (pool.only_looks()) [[unlikely]]
                pool.claim();
            return pool;
        }
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
    const Durability durability_;
    std::atomic<std::uint64_t> generation_;
    std::vector<LmdbTarget> targets_; // the pool's metadata last
};

void LmdbTarget::read(FunctionRef<void(ReadTransaction&)> body)
{
    pool_.state().environment(index_).read(body);
}

void LmdbTarget::write(FunctionRef<void(WriteTransaction&)> body)
{
    PoolState& state = pool_.writable_state("be written");
    Environment& index = state.environment(index_, true);
    state.require_there(index_); // with its index open
    index.write(body);
    state.require_there(index_);
}

ExtentRef LmdbTarget::append(const std::vector<Bytes>& pieces, Reclaim reclaim)
{
    return pool_.writable_state("be written").extents(index_).append(pieces, reclaim);
}

void LmdbTarget::entering(const ExtentRef& extent)
{
    pool_.state().extents(index_).entering(extent);
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

void LmdbTarget::compact()
{
    PoolState& state = pool_.writable_state("give back space");
    state.rooms().reclaim();
    state.environment(index_, true).compact();
}

std::vector<std::string> LmdbTarget::check()
{
    try {
        return pool_.state().environment(index_).check();
    } catch (const Error& error) { // damage that keeps a target from being opened is a finding too
        if (!says_damage(error)) throw;
        return {error.what()};
    }
}

void LmdbTarget::count(const Counters& added)
{
    PoolState& state = pool_.state();
    if (!state.only_looks()) state.shared().count(index_, added);
}

Counters LmdbTarget::counters()
{
    return pool_.state().shared().counters(index_);
}

// ---- pools

std::string absolute(const std::string& path)
{
    std::error_code error;
    const auto full = std::filesystem::absolute(path, error);
    if (error || path.empty()) fail(path.empty() ? ENOENT : error.value(), "pool \"" + path + "\"", "not a path");
    auto text = full.lexically_normal().string();
    if (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text;
}

std::unique_ptr<Backend> create(const std::string& path, const BackendOptions& options)
{
    if (options.targets == 0 || options.targets > max_targets) {
        throw Error(-DER_INVAL, "pool " + path + ": " + std::to_string(options.targets) + " targets: 1 to " +
                                    std::to_string(max_targets) + " are possible");
    }
    Making making(absolute(path), options);
    auto pool = std::make_unique<LmdbBackend>(path, making.state(), Access::read_write);
    if (options.fill) options.fill(*pool);
    making.publish();
    return pool;
}

std::unique_ptr<Backend> open(const std::string& path, Access access)
{
    const std::string full = absolute(path);
    if (const Place pool = Place::directory(full)) MachineClaim(pool).require_no_other();
    return std::make_unique<LmdbBackend>(path, PoolState::open(full, access), access);
}

} // namespace

BackendFactory factory()
{
    return {"lmdb", create, open, [](const std::string& path) { destroy(absolute(path)); },
            [](const std::string& path) { return look(path) == Found::pool; },
            [](const std::string& path) { return look(path) == Found::leavings; }};
}

} // namespace stepstore::store::lmdb

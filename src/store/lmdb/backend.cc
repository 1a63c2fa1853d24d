// The embedded default: a pool is a directory (format.h), made and destroyed by creation.h; a target an LMDB
// environment with extent files beside it (target.h).
#include "base/fork.h"
#include "base/interrupt.h"
#include "base/not_copied.h"
#include "store/builtin.h"
#include "store/failure.h"
#include "store/lmdb/creation.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <cerrno>
#include <filesystem>
#include <sys/statvfs.h>

namespace stepstore::store::lmdb {

namespace {

class LmdbStorage final : public Storage, NotCopied {
public:
    LmdbStorage(std::string path, std::shared_ptr<PoolState> state)
        : Storage(
              {std::move(path), state->format().targets, state->format().durability, path_form.capabilities}),
          state_(std::move(state)), generation_(state_->generation())
    {
    }
    ~LmdbStorage() override { PoolState::close(std::move(state_)); }

    Target& target(unsigned index) override { return state().target(index); }
    Target& meta() override { return state().meta(); }
    bool is_current() override { return true; }
    void claim() override
    {
        state().claim();
        claimed_ = true;
    }
    Epoch next_epoch() override { return state().shared().next_epoch(); }
    Space space() override
    {
        struct statvfs status {};
        if (fstatvfs(state().place().root(), &status) != 0)
            fail_errno("pool " + path(), "cannot get the free space of its file system");
        return {std::uint64_t{status.f_blocks} * status.f_frsize,
                std::uint64_t{status.f_bavail} * status.f_frsize};
    }

private:
    // The shared state; opened anew in a forked child.
    PoolState& state()
    {
        if (generation_.load(std::memory_order_acquire) == process_generation()) [[likely]]
            return *state_;
        return reopened();
    }
    PoolState& reopened()
    {
        std::lock_guard lock(held_over_fork(ForkLock::reopening));
        const NotAsked not_asked;
        if (generation_.load() != process_generation()) {
            auto anew = PoolState::open(state_->path());
            // As another user this process may have less rights than its parent. Reading is left to it.
            if (claimed_ && anew->permissions().data) anew->claim();
            PoolState::close(std::exchange(state_, std::move(anew)));
            generation_.store(process_generation(), std::memory_order_release);
        }
        return *state_;
    }

    std::shared_ptr<PoolState> state_; // changes in a child, where nobody had it before
    std::atomic<std::uint64_t> generation_;
    std::atomic<bool> claimed_{false};
};

std::string absolute(const std::string& path)
{
    std::error_code error;
    const auto full = std::filesystem::absolute(path, error);
    if (error || path.empty())
        fail(path.empty() ? ENOENT : error.value(), "pool \"" + path + "\"", "cannot resolve the path");
    auto text = full.lexically_normal().string();
    if (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text;
}

std::unique_ptr<Storage> create(const std::string& path, const NewPool& options)
{
    if (options.targets == 0 || options.targets > max_targets) {
        throw Error(-DER_INVAL, "pool " + path + ": " + std::to_string(options.targets) +
                                    " targets: give 1 to " + std::to_string(max_targets));
    }
    Creation creation(absolute(path), options);
    auto pool = std::make_unique<LmdbStorage>(path, creation.state());
    pool->claim();
    if (options.fill) options.fill(*pool);
    creation.publish();
    return pool;
}

std::unique_ptr<Storage> open(const std::string& path)
{
    const std::string full = absolute(path);
    if (const RootedPath pool = RootedPath::directory(full)) MachineClaim(pool).require_no_other();
    return std::make_unique<LmdbStorage>(path, PoolState::open(full));
}

} // namespace

Backend backend()
{
    return {"lmdb", create, open, [](const std::string& path) { destroy(absolute(path)); }, look};
}

} // namespace stepstore::store::lmdb

// One target of an open pool: an LMDB environment and the extents beside it. It knows its pool only by
// TargetParts.
//
// Any thread may call it. Its environment is opened by the first call that needs it, for what the permissions
// allow. A forked child leaves the target to its parent (base/fork.h). Errors: -DER_NO_PERM; -DER_STALE: the
// target was removed, or another machine has the pool; those of its index and its extents.
#pragma once

#include "base/clock.h"
#include "base/not_copied.h"
#include "store/backend.h"
#include "store/lmdb/extents/extents.h"
#include "store/lmdb/index/environment.h"
#include "store/lmdb/index/page_layout.h"
#include "store/lmdb/sharing/machine.h"
#include "store/lmdb/sharing/shared_state.h"
#include "store/lmdb/sharing/target_files.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace stepstore::store::lmdb {

// What the directory's permissions leave to this process.
struct Permissions {
    RootedPath pool;
    bool data = false; // the indices and extents can be written
    bool lock = false; // LMDB's lock files can be written
    int error = 0;     // why not

    void require_writable() const // DER_NO_PERM
    {
        if (!data) [[unlikely]]
            refuse_to_write();
    }
    [[noreturn]] void refuse_to_write() const;
};

// What a target is made from. The references are to what its pool has, which lives longer.
struct TargetParts {
    TargetFiles files;
    const Permissions& permissions;
    MachineClaim& machine;
    SharedState& shared; // the clock, and the counters
};

class LmdbTarget final : public Target, NotCopied {
public:
    explicit LmdbTarget(TargetParts parts);
    ~LmdbTarget() override;

    void read(FunctionRef<void(ReadTransaction&)> body) override { index().read(body); }
    void open_to_write() override;
    void write(FunctionRef<void(WriteTransaction&)> body) override;
    ExtentRef append(std::span<Payload> payloads) override;
    void entering(const ExtentRef& appended) override { extents_.entering(appended); }
    void leaving(const ExtentRef& dropped) override { extents_.leaving(dropped); }
    void read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into) override
    {
        extents_.read(extent, skip, into);
    }
    std::size_t fills_pages(std::size_t size) const override { return lmdb::fills_pages(size); }
    void release(const ExtentRef& extent) override;
    std::vector<ExtentFile> extent_files() override { return extents_.files(); }
    std::uint64_t allocated(const ExtentRef& range) override { return extents_.allocated(range); }
    bool begin_sync(bool own) override;
    void sync(bool own) override;
    Usage usage() override { return {index().bytes(), extents_.allocated()}; }
    void compact() override;
    std::vector<std::string> check() override;
    void count(const Counters& added) override;
    Counters counters() override;
    NetworkTarget* network() override { return nullptr; }

    // Opened by the first who needs it.
    Environment& index(bool for_writing = false)
    {
        Environment* there = environment_.load(std::memory_order_acquire);
        return there != nullptr ? *there : opened(for_writing);
    }
    ExtentStore& extents() { return extents_; }
    void machine_claimed(); // opens again what was opened before, now also for writing

private:
    Environment& opened(bool for_writing);
    // Before an update, and before it is acknowledged. Looks, every few milliseconds, whether the index still
    // has a name and this machine the pool. DER_STALE.
    void require_there()
    {
        const std::uint64_t now = nanoseconds(CLOCK_MONOTONIC_COARSE);
        if (looked_.load(std::memory_order_relaxed) == now) [[likely]]
            return;
        looked_.store(now, std::memory_order_relaxed);
        look();
    }
    void look();

    const TargetParts parts_;
    const TargetFiles& files_{parts_.files};
    std::mutex opening_;                             // guards only_looked_, before_claim_
    std::atomic<Environment*> environment_{nullptr}; // owned
    bool only_looked_ = false;                       // so was it opened
    std::unique_ptr<Environment> before_claim_;      // other threads may be in it
    std::atomic<std::uint64_t> looked_{0};           // when the index was last seen
    ExtentStore extents_;
};

} // namespace stepstore::store::lmdb

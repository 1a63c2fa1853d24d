// A storage over an open pool's, for one transaction: the store's own operations run on it unchanged. What
// they read is what was committed; what they write is kept, and nothing reaches the pool but extents, to
// which nothing refers yet.
//
// Threads: of one call at a time. Errors: DER_TX_RESTART, DER_OVERFLOW, and those of the pool's storage.
#pragma once

#include "store/object.h"
#include "store/pool_core.h"
#include "store/transaction/recorded.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace stepstore::store {

// Those that the bodies of a transaction took.
struct TakenEpochs {
    Epoch first = 0; // by the run of a body; 0: none
    Epoch last = 0;
};

class OverlayTarget final : public Target, NotCopied {
public:
    OverlayTarget(PoolCore& pool, unsigned index, bool may_write, TakenEpochs& epochs)
        : pool_(pool), index_(index), may_write_(may_write), epochs_(epochs),
          where_("pool " + pool.path() + ", target " + std::to_string(index))
    {
    }

    // ---- of the transaction
    void begin(Transaction::Part part);
    void end(bool keep);    // of an operation
    void forget();          // all of it, and gives back what was appended
    void forget_in_child(); // leaves everything to the parent
    bool settle() { return is_looked_at() && verify_if_changed(); } // restart; true: look at the others again
    bool is_looked_at() const { return !looks_.empty(); }
    bool is_changed() const { return !changes_.all().empty(); }
    std::uint64_t bytes() const { return changes_.bytes(); }
    const Changes& changes() const { return changes_; }
    const std::vector<ExtentRef>& dropped() const { return dropped_; }
    void verify(ReadTransaction& now) const { looks_.verify(now, where_); }
    void require_appended();                // restart
    void put(WriteTransaction& target);     // the changes
    void enter(bool leaves);                // at the end of a body that put them
    void hand_over();                       // a note on the target names what was put (pending.h)
    void committed(bool releases_replaced); // gives back what the changes no longer refer to

    // ---- of the store's operations
    void read(FunctionRef<void(ReadTransaction&)> body) override;
    void open_to_write() override {} // the real one is written when the transaction commits
    void write(FunctionRef<void(WriteTransaction&)> body) override;
    ExtentRef append(std::span<Payload> payloads) override;
    void entering(const ExtentRef& appended) override { run_entered_.push_back(appended); }
    void leaving(const ExtentRef&) override {}
    void read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into) override
    {
        real().read_extent(extent, skip, into);
    }
    std::size_t fills_pages(std::size_t size) const override
    {
        return pool_.target(index_).fills_pages(size);
    }
    void release(const ExtentRef& extent) override { run_dropped_.push_back(extent); }
    std::vector<ExtentFile> extent_files() override { return real().extent_files(); }
    std::uint64_t allocated(const ExtentRef& range) override { return real().allocated(range); }
    void sync(bool) override {}
    bool begin_sync(bool) override { return false; }
    Usage usage() override { return real().usage(); }
    void compact() override {}
    std::vector<std::string> check() override { return {}; }
    void count(const Counters& added) override { real().count(added); }
    Counters counters() override { return real().counters(); }
    NetworkTarget* network() override { return nullptr; }

private:
    Target& real() const { return pool_.target(index_); }
    bool verify_if_changed();
    void run(FunctionRef<void(Recorded&)> body);
    const ExtentRef* own(const ExtentRef& extent) const;
    bool is_entered(const ExtentRef& appended) const;

    PoolCore& pool_;
    const unsigned index_;
    const bool may_write_; // the pool
    TakenEpochs& epochs_;
    const std::string where_;
    Transaction::Part part_ = Transaction::Part::read;
    Looks looks_;
    Changes changes_, beside_; // beside_: of a condition
    std::size_t marked_ = 0;   // where the operation began
    std::vector<ExtentRef> appended_;
    bool handed_over_ = false;
    std::vector<ExtentRef> entered_, dropped_;         // by operations that ended
    std::vector<ExtentRef> run_entered_, run_dropped_; // by the one that runs
};

class OverlayStorage final : public Storage {
public:
    OverlayStorage(std::shared_ptr<PoolCore> pool, bool may_write);
    Target& target(unsigned index) override { return targets_[index]; }
    Target& meta() override { return pool_->storage().meta(); }
    bool is_current() override { return pool_->storage().is_current(); }
    void claim() override {}
    Epoch next_epoch() override
    {
        epochs_.last = pool_->storage().next_epoch();
        if (epochs_.first == 0) epochs_.first = epochs_.last;
        return epochs_.last;
    }
    Space space() override { return pool_->storage().space(); }

    std::deque<OverlayTarget>& targets_here() { return targets_; }
    PoolCore& pool() const { return *pool_; }
    Epoch last_epoch() const { return epochs_.last; }

private:
    const std::shared_ptr<PoolCore> pool_;
    TakenEpochs epochs_;
    std::deque<OverlayTarget> targets_;
};

} // namespace stepstore::store

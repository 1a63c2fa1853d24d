// Transactions: several operations on objects of one container that take effect together, or not at all.
//
// 1. An operation runs at once, on an overlay (overlay.h). It sees what was committed, each look-up is
//    recorded with what it found (looks.h), and what an update puts and erases is kept. Large values are
//    appended to extents, to which nothing refers.
// 2. All that the transaction has read was so at one moment. The look-ups on the target that is read are
//    repeated in the same transaction of the back end, unless the target has not changed. After that the
//    other targets are visited until no one has changed since its look-ups were last right. At that moment
//    all of them were. If one finds something else, the transaction has to begin again (DER_TX_RESTART).
// 3. A commit opens a write transaction on each target that it has looked at or changes, in ascending order.
//    Within them it repeats all look-ups, and then puts the changes. So it takes effect at a moment at which
//    all it has seen was so. Those of one container are as if they were carried out one after the other.
//    If it changes several targets, the commit of one of them decides for all (pending.h).
// 4. A transaction that changes nothing has its moment by (2), and its commit does nothing.
//
// The updates of a transaction have seen the container's mark on each target too. So a snapshot that was made
// since they took their epochs makes the transaction begin again: what is in the snapshot was committed then.
//
// Threads: as store.h. Errors: DER_TX_RESTART, DER_OVERFLOW, DER_NOTSUPPORTED, those of the operations.
#pragma once

#include "store/transaction/overlay.h"
#include "store/versioned.h"

namespace stepstore::store {

class VersionedTransaction final : public Transaction, NotCopied {
public:
    VersionedTransaction(VersionedPool& pool, std::uint64_t container, const std::string& name);
    ~VersionedTransaction() override;

    void run(Part part, FunctionRef<void(Container&)> body) override;
    Epoch commit() override;
    void restart() override;

private:
    static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20; // that are put in the index

    std::deque<OverlayTarget>& targets() const { return overlay_->targets_here(); }
    void settle();
    void end(bool keep);
    void require_size() const;
    void require_possible(std::span<const unsigned> touched) const;
    void put(std::span<const unsigned> changed, std::span<const unsigned> touched);
    bool take_back(std::span<const unsigned> others) noexcept;

    const std::string name_; // "pool PATH, container LABEL"
    const std::uint32_t id_; // of the container
    const std::uint64_t generation_;
    OverlayStorage* overlay_; // of pool_
    std::shared_ptr<VersionedPool> pool_;
    std::unique_ptr<VersionedContainer> container_;
};

} // namespace stepstore::store

// The life of a transaction: its operations, its moment, its commit.
#include "store/transaction/transaction.h"

#include "base/fork.h"
#include "store/failure.h"
#include "store/transaction/pending.h"

namespace stepstore::store {

namespace {

std::uint64_t random_number()
{
    return std::bit_cast<std::array<std::uint64_t, 2>>(random_uuid())[0];
}

// A pool for the transaction alone: the store's code over the overlay.
std::shared_ptr<VersionedPool> pool_over(VersionedPool& pool, std::unique_ptr<OverlayStorage> overlay)
{
    PoolCore& core = pool.core();
    auto own = std::make_shared<PoolCore>(core.path(), core.backend(), std::move(overlay), core.header());
    own->trust_targets(); // as the pool's own verifies those below
    return std::make_shared<VersionedPool>(std::move(own), pool.access());
}

} // namespace

VersionedTransaction::VersionedTransaction(VersionedPool& pool, std::uint64_t container,
                                           const std::string& name)
    : name_("pool " + pool.path() + ", " + name), id_(static_cast<std::uint32_t>(container)),
      generation_(process_generation())
{
    auto overlay = std::make_unique<OverlayStorage>(pool.shared_core(), pool.access() == Access::read_write);
    overlay_ = overlay.get();
    pool_ = pool_over(pool, std::move(overlay));
    container_ = std::make_unique<VersionedContainer>(pool_, container, name);
}

VersionedTransaction::~VersionedTransaction()
{
    const bool inherited = generation_ != process_generation();
    for (OverlayTarget& target : targets())
        inherited ? target.forget_in_child() : target.forget();
}

void VersionedTransaction::run(Part part, FunctionRef<void(Container&)> body)
{
    for (OverlayTarget& target : targets())
        target.begin(part);
    try {
        body(*container_);
        if (part == Part::update) require_size();
    } catch (const Error&) {
        end(false);
        if (part != Part::update) settle(); // else what it concluded may be from two moments
        throw;
    } catch (...) {
        end(false);
        throw;
    }
    end(true);
    if (part != Part::update) settle();
}

void VersionedTransaction::end(bool keep)
{
    for (OverlayTarget& target : targets())
        target.end(keep);
}

void VersionedTransaction::require_size() const
{
    std::uint64_t bytes = 0;
    for (const OverlayTarget& target : targets())
        bytes += target.bytes();
    if (bytes > most_bytes) {
        fail(DER_OVERFLOW, name_ + ": a transaction changes at most 256 MiB of records, large values not "
                                   "counted: commit what there is, and use several transactions");
    }
}

// Until all that was seen on several targets was so at one moment.
void VersionedTransaction::settle()
{
    constexpr int most_rounds = 1000;
    const auto looked_at = std::ranges::count_if(targets(), &OverlayTarget::is_looked_at);
    if (looked_at < 2) return;
    for (int round = 0; round < most_rounds; ++round) {
        bool changed = false;
        for (OverlayTarget& target : targets())
            changed = target.settle() || changed;
        if (!changed) return;
    }
    store::restart(name_);
}

Epoch VersionedTransaction::commit()
{
    std::vector<unsigned> changed, touched;
    for (unsigned index = 0; index < targets().size(); ++index) {
        const OverlayTarget& target = targets()[index];
        if (target.is_changed()) changed.push_back(index);
        if (target.is_changed() || target.is_looked_at()) touched.push_back(index);
    }
    Epoch epoch = 0;
    if (!changed.empty()) {
        require_possible(touched);
        put(changed, touched);
        epoch = overlay_->last_epoch();
    }
    for (unsigned index = 0; index < targets().size(); ++index)
        targets()[index].committed(!changed.empty() && index == changed.front());
    return epoch;
}

void VersionedTransaction::require_possible(std::span<const unsigned> touched) const
{
    if (touched.size() == 1 || !overlay_->pool().storage().has_barriers()) return;
    fail(DER_NOTSUPPORTED, name_ + ": the transaction reads or writes on " + std::to_string(touched.size()) +
                               " targets, and Ceph changes one object at once: keep all of it under one "
                               "dkey, in one object of class S1, or in a pool of one target");
}

void VersionedTransaction::put(std::span<const unsigned> changed, std::span<const unsigned> touched)
{
    PoolCore& core = overlay_->pool();
    const bool far = core.storage().has_barriers();
    const unsigned leader = changed.front();
    const auto others = changed.subspan(1);
    PendingNote note;
    bool noted = false; // one of the others has committed
    const auto body = [&](std::span<WriteTransaction* const> open) {
        for (std::size_t at = 0; at < touched.size(); ++at) {
            targets()[touched[at]].require_appended();
            targets()[touched[at]].verify(*open[at]);
        }
        if (far) core.storage().next_epoch(); // which tells the target that it has none that is greater
        note = {leader, others.empty() ? 0 : core.storage().next_epoch(), random_number(), 0};
        for (std::size_t at = 0; at < touched.size(); ++at) {
            OverlayTarget& target = targets()[touched[at]];
            if (!target.is_changed()) continue;
            const bool leads = touched[at] == leader;
            if (leads)
                target.put(*open[at]);
            else
                put_pending(*open[at], id_, target.changes(), note);
            if (leads && !others.empty()) put_decision(*open[at], id_, note, others);
            target.enter(leads);
        }
    };
    try {
        write_nested(core.storage(), touched, body, [&](std::size_t at) {
            if (std::ranges::find(others, touched[at]) == others.end()) return;
            targets()[touched[at]].hand_over();
            noted = true;
        });
    } catch (...) {
        // Where the leader may have committed all the same, its records may refer to what was appended.
        if (noted && !take_back(others)) targets()[leader].hand_over();
        throw;
    }
    if (others.empty()) return;
    try {
        finish(core, id_, note, others);
    } catch (...) { // the transaction is done, and the next writer finishes it
    }
}

// After some of them have committed. Whether it is sure that nothing was done.
bool VersionedTransaction::take_back(std::span<const unsigned> others) noexcept
try {
    PoolCore& core = overlay_->pool();
    bool met_note = false, decided = false;
    for (const unsigned index : others) {
        try {
            core.target(index).read(
                [&](ReadTransaction& transaction) { require_no_note(transaction, core.path(), index, id_); });
        } catch (const MetPending& met) {
            met_note = true;
            decided = store::settle(core, met) || decided;
        }
    }
    return met_note && !decided; // without a note somebody else has settled it
} catch (...) {                  // the next writer does
    return false;
}

void VersionedTransaction::restart()
{
    for (OverlayTarget& target : targets())
        target.forget();
}

std::unique_ptr<Transaction> VersionedContainer::begin_transaction()
{
    return std::make_unique<VersionedTransaction>(*pool_, id_, opened_->name);
}

} // namespace stepstore::store

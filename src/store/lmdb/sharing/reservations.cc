#include "store/lmdb/sharing/reservations.h"

#include "base/checksum.h"
#include "stepstore/error.h"
#include "store/lmdb/sharing/format.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <thread>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;
constexpr int most_tries = 100;

using Word = std::atomic<std::uint64_t>;
static_assert(max_targets < extent_unit, "a target fits below a length that is a multiple of the alignment");

template <std::size_t n>
std::uint64_t sum_of(const std::array<std::uint64_t, n>& words)
{
    return checksum(std::as_bytes(std::span(words)));
}

std::uint64_t stamp_of(unsigned slot, std::uint64_t version)
{
    return sum_of(std::array<std::uint64_t, 2>{slot, version});
}

// The condition of an entry: 0, or twice the version that is being made, plus this where the reservation
// leaves it.
constexpr std::uint64_t leaves = 1;

} // namespace

struct Reservations::Entry {
    Word length; // and the target in the bits below the alignment; 0: nothing is noted here
    Word file;
    Word offset;
    Word when; // the condition
    Word sum;  // of the four

    unsigned target() const { return static_cast<unsigned>(length.load() % extent_unit); }
    ExtentRef reservation() const { return {file.load(), offset.load(), length.load() - target()}; }
    bool whole() const
    {
        return sum.load() == sum_of(std::array{length.load(), file.load(), offset.load(), when.load()});
    }
    void clear() { length.store(0, std::memory_order_release); }
    void set(unsigned target, const ExtentRef& reservation, std::uint64_t condition)
    {
        clear();
        file.store(reservation.file, std::memory_order_release);
        offset.store(reservation.offset, std::memory_order_release);
        when.store(condition, std::memory_order_release);
        sum.store(
            sum_of(std::array{reservation.length | target, reservation.file, reservation.offset, condition}),
            std::memory_order_release);
        length.store(reservation.length | target, std::memory_order_release);
    }
};

struct Reservations::Slot {
    static constexpr unsigned size = (WritersFile::slot_size - 64) / sizeof(Entry);
    alignas(64) Word mark; // WritersFile::mark(), the slot's first word
    alignas(64) Entry entries[size];
};

Reservations::Slot* Reservations::slot_at(unsigned number)
{
    static_assert(sizeof(Slot) <= WritersFile::slot_size);
    return reinterpret_cast<Slot*>(file_.slot(number));
}

// ---- slots

void Reservations::begin()
{
    std::call_once(begun_, [this] {
        if (file_.line(0) == nullptr) return;
        reclaim();
        for (unsigned number = 0; number < WritersFile::slots; ++number) {
            if (!file_.try_slot(number)) continue;
            if (!file_.room_for_slot(number) || !take_over(number)) {
                file_.leave_slot(number);
                continue;
            }
            const std::lock_guard lock(guard_);
            number_ = number;
            mine_ = slot_at(number);
            mine_->mark.store(file_.mark());
            free_.resize(Slot::size);
            std::iota(free_.rbegin(), free_.rend(), 0U); // the first entries are used first: fewer pages
            return;
        }
    });
}

// The slots with entries of dead processes, each with its lock held. insist(slot): it matters, so that a
// process that just looks at the slot is waited for.
template <class Insist, class Visit>
void Reservations::for_each_dead(Insist insist, Visit visit)
{
    if (file_.line(0) == nullptr) return;
    const std::lock_guard alone(reclaiming_);
    for (unsigned number = 0; number < WritersFile::slots; ++number) {
        if (number == number_.load()) continue;      // its lock is ours and would be given to us again
        if (file_.first_word(number) == 0) continue; // never used, or given back whole
        bool locked = file_.try_slot(number);
        for (int tries = 0; !locked && tries < most_tries && insist(number); ++tries) {
            std::this_thread::sleep_for(100us);
            locked = file_.try_slot(number);
        }
        if (!locked) continue; // its process lives
        visit(number);
        file_.leave_slot(number);
    }
}

void Reservations::reclaim()
{
    due_ = false;
    for_each_dead([](unsigned) { return false; }, [this](unsigned number) { take_over(number); });
}

// Conditions first, and quickly: the next writer of the target waits for that (settle_dead()).
bool Reservations::take_over(unsigned number)
{
    Slot& slot = *slot_at(number);
    const bool valid = slot.mark.load() != 0 && slot.mark.load() == file_.mark();
    bool empty = true;
    const auto for_each_entry = [&](auto visit) {
        for (Entry& entry : slot.entries) {
            if (entry.length.load() == 0) continue;
            try {
                visit(entry, valid && entry.whole() && entry.target() < versions_.size());
            } catch (const Error&) { // another time, or by a check
                empty = false;
            }
        }
    };
    for_each_entry([&](Entry& entry, bool named) {
        if (named && entry.when.load() != 0) settle(entry, number, newest_(entry.target()));
    });
    for_each_entry([&](Entry& entry, bool named) {
        if (named && entry.when.load() != 0) return; // it could not be settled
        if (named) give_back_(entry.target(), entry.reservation());
        entry.clear();
    });
    if (empty && slot.mark.load() != 0) slot.mark.store(0);
    return empty;
}

// ---- conditions

// newest: looked up before the stamp is, for a writer sets its stamp before it commits.
Reservations::Fate Reservations::fate_of(unsigned target, std::uint64_t version, unsigned slot,
                                         std::uint64_t newest)
{
    if (newest < version) return Fate::not_committed;
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool ours = file_.line(target)->stamp.load() == stamp_of(slot, version);
    return newest == version && ours ? Fate::committed : Fate::unknown;
}

// Does the reservation belong to no record then?
bool Reservations::free_after(Fate fate, std::uint64_t when)
{
    return fate == ((when & leaves) != 0 ? Fate::committed : Fate::not_committed);
}

// Of a dead process. The entry is unconditional afterwards, or cleared.
void Reservations::settle(Entry& entry, unsigned slot, std::uint64_t newest)
{
    const std::uint64_t when = entry.when.load();
    if (free_after(fate_of(entry.target(), when >> 1, slot, newest), when))
        entry.set(entry.target(), entry.reservation(), 0);
    else
        entry.clear();
}

// With LMDB's lock on writers held, and before this process leaves its stamp.
void Reservations::settle_dead(unsigned target, std::uint64_t newest)
{
    const std::uint64_t mark = file_.mark();
    const auto asks = [&](const Entry& entry) {
        return entry.length.load() != 0 && entry.target() == target && entry.when.load() >> 1 >= newest;
    };
    const auto insist = [&](unsigned number) { return std::ranges::any_of(slot_at(number)->entries, asks); };
    for_each_dead(insist, [&](unsigned number) {
        Slot& slot = *slot_at(number);
        if (slot.mark.load() != mark) return;
        for (Entry& entry : slot.entries)
            if (asks(entry) && entry.when.load() != 0 && entry.whole()) settle(entry, number, newest);
    });
    due_ = true;
}

template <class FateOf>
void Reservations::settle_pending(unsigned target, FateOf fate_of)
{
    if (pending_size_.load(std::memory_order_relaxed) == 0) return;
    const std::lock_guard lock(guard_);
    std::erase_if(pending_, [&](const Pending& one) {
        if (one.target != target) return false;
        const std::optional<Fate> fate = fate_of(one.when >> 1);
        if (!fate) return false;
        if (free_after(*fate, one.when))
            write_down(target, one.reservation, 0);
        else
            erase(one.reservation);
        return true;
    });
    pending_size_ = pending_.size();
}

// ---- entries of this process

// With guard_ held.
void Reservations::write_down(unsigned target, const ExtentRef& reservation, std::uint64_t when)
{
    if (mine_ == nullptr) return;
    auto found = entries_.find({reservation.file, reservation.offset});
    if (found == entries_.end()) {
        if (free_.empty()) return;
        found = entries_.emplace(Key{reservation.file, reservation.offset}, free_.back()).first;
        free_.pop_back();
    }
    mine_->entries[found->second].set(target, reservation, when);
}

// With guard_ held.
void Reservations::erase(const ExtentRef& reservation)
{
    const auto found = entries_.find({reservation.file, reservation.offset});
    if (found == entries_.end()) return;
    mine_->entries[found->second].clear();
    free_.push_back(found->second);
    entries_.erase(found);
}

void Reservations::drop_condition(const ExtentRef& reservation)
{
    std::erase_if(pending_, [&](const Pending& one) {
        return one.reservation.file == reservation.file && one.reservation.offset == reservation.offset;
    });
    pending_size_ = pending_.size();
}

// With guard_ held, and no condition there yet.
void Reservations::note_until(unsigned target, const ExtentRef& reservation, std::uint64_t when)
{
    pending_.push_back({target, when, reservation});
    pending_size_ = pending_.size();
    write_down(target, reservation, when);
}

void Reservations::note(unsigned target, const ExtentRef& reservation)
{
    const std::lock_guard lock(guard_);
    const auto found = entries_.find({reservation.file, reservation.offset});
    if (found != entries_.end() && mine_->entries[found->second].when.load() == 0) return;
    drop_condition(reservation);
    write_down(target, reservation, 0);
}

void Reservations::forget(const ExtentRef& reservation)
{
    const std::lock_guard lock(guard_);
    drop_condition(reservation);
    erase(reservation);
}

void Reservations::entering(unsigned target, const ExtentRef& reservation)
{
    const std::uint64_t version = versions_[target].load();
    if (version == 0) return forget(reservation); // no transaction of this process: its end is not known here
    const std::lock_guard lock(guard_);
    if (!entries_.contains({reservation.file, reservation.offset})) return;
    drop_condition(reservation);
    note_until(target, reservation, version << 1);
}

void Reservations::leaving(unsigned target, const ExtentRef& reservation)
{
    const std::uint64_t version = versions_[target].load();
    const std::lock_guard lock(guard_);
    if (version == 0 || mine_ == nullptr || free_.empty() ||
        entries_.contains({reservation.file, reservation.offset}))
        return;
    note_until(target, reservation, version << 1 | leaves);
}

// ---- commits

Reservations::Commit::Commit(Reservations& reservations, unsigned target, std::uint64_t version,
                             bool inherited)
    : reservations_(reservations), target_(target), version_(version)
{
    const std::uint64_t newest = version - 1;
    if (inherited) reservations.settle_dead(target, newest);
    const unsigned slot = reservations.number_.load();
    // Those of an attempt that failed, and of one that another thread has not yet called done for.
    reservations.settle_pending(target, [&](std::uint64_t of) -> std::optional<Fate> {
        return reservations.fate_of(target, of, slot, newest);
    });
    reservations.file_.line(target)->stamp.store(stamp_of(slot, version), std::memory_order_release);
    reservations.versions_[target].store(version);
}

Reservations::Commit::~Commit()
{
    std::uint64_t mine = version_;
    reservations_.versions_[target_].compare_exchange_strong(mine, 0);
}

void Reservations::Commit::done()
{
    reservations_.settle_pending(target_, [&](std::uint64_t of) {
        return of == version_ ? std::optional(Fate::committed) : std::nullopt;
    });
}

} // namespace stepstore::store::lmdb

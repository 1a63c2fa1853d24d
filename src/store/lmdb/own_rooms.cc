#include "store/lmdb/own_rooms.h"

#include "base/checksum.h"
#include "stepstore/error.h"
#include "store/lmdb/format.h"

#include <array>
#include <numeric>
#include <span>

namespace stepstore::store::lmdb {

namespace {

using Word = std::atomic<std::uint64_t>;
static_assert(max_targets < extent_unit, "a target fits below a length that is a multiple of the alignment");

std::uint64_t sum_of(std::uint64_t length, std::uint64_t file, std::uint64_t offset)
{
    const std::array<std::uint64_t, 3> words{length, file, offset};
    return checksum(std::as_bytes(std::span(words)));
}

} // namespace

struct OwnRooms::Entry {
    Word length; // and the target in the bits below the alignment; 0: nothing is noted here
    Word file;
    Word offset;
    Word sum; // of the three
};

struct OwnRooms::Slot {
    static constexpr unsigned size = (WritersFile::slot_size - 64) / sizeof(Entry);
    alignas(64) Word mark; // WritersFile::mark(), the slot's first word
    alignas(64) Entry entries[size];
};

OwnRooms::Slot* OwnRooms::slot_at(unsigned number)
{
    static_assert(sizeof(Slot) <= WritersFile::slot_size);
    return reinterpret_cast<Slot*>(file_.slot(number));
}

void OwnRooms::begin()
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

void OwnRooms::reclaim()
{
    if (file_.line(0) == nullptr) return;
    const std::lock_guard alone(reclaiming_);
    for (unsigned number = 0; number < WritersFile::slots; ++number) {
        {
            const std::lock_guard lock(guard_);
            if (mine_ != nullptr && number == number_)
                continue; // its lock is ours and would be given to us again
        }
        if (file_.first_word(number) == 0) continue; // never used, or given back whole
        if (!file_.try_slot(number)) continue;       // its process lives
        take_over(number);
        file_.leave_slot(number);
    }
}

bool OwnRooms::take_over(unsigned number)
{
    Slot& slot = *slot_at(number);
    const bool valid = slot.mark.load() != 0 && slot.mark.load() == file_.mark();
    bool empty = true;
    for (Entry& entry : slot.entries) {
        const std::uint64_t word = entry.length.load();
        if (word == 0) continue;
        const std::uint64_t target = word % extent_unit;
        const bool whole = entry.sum.load() == sum_of(word, entry.file.load(), entry.offset.load());
        try {
            if (valid && whole)
                give_back_(static_cast<unsigned>(target), {entry.file, entry.offset, word - target});
            entry.length.store(0);
        } catch (const Error&) { // another time, or by a check
            empty = false;
        }
    }
    if (empty && slot.mark.load() != 0) slot.mark.store(0);
    return empty;
}

void OwnRooms::note(unsigned target, const ExtentRef& room)
{
    const std::lock_guard lock(guard_);
    if (mine_ == nullptr || free_.empty()) return;
    const auto [found, fresh] = entries_.try_emplace({room.file, room.offset}, free_.back());
    if (!fresh) return;
    free_.pop_back();
    Entry& entry = mine_->entries[found->second];
    entry.file.store(room.file, std::memory_order_relaxed);
    entry.offset.store(room.offset, std::memory_order_relaxed);
    entry.sum.store(sum_of(room.length | target, room.file, room.offset), std::memory_order_relaxed);
    entry.length.store(room.length | target, std::memory_order_release);
}

void OwnRooms::forget(const ExtentRef& room)
{
    const std::lock_guard lock(guard_);
    const auto found = entries_.find({room.file, room.offset});
    if (found == entries_.end()) return;
    mine_->entries[found->second].length.store(0, std::memory_order_release);
    free_.push_back(found->second);
    entries_.erase(found);
}

} // namespace stepstore::store::lmdb

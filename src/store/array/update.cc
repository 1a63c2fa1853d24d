// ArrayUpdate: cuts and retires the extents that an update meets, and puts new ones (array.h says how).
#include "store/array/array.h"
#include "store/removal.h"

#include <algorithm>

namespace stepstore::store {

namespace {

std::string extent_text(std::uint64_t chunk, std::uint64_t begin, std::uint64_t end)
{
    return "chunk " + std::to_string(chunk) + ", bytes " + std::to_string(begin) + " to " +
           std::to_string(end);
}

} // namespace

// A record that is being cut, copied out of the transaction.
struct ArrayUpdate::Cut {
    std::uint64_t chunk;
    std::uint64_t start; // of the record, in the chunk
    Epoch birth;
    std::uint64_t length;
    std::vector<std::byte> payload; // inline
    BulkSource bulk;                // else
    bool is_bulk;
    // The rooms of the parts that records still refer to, in the order of the file.
    std::vector<ExtentRef> kept;
};

ArrayUpdate::ArrayUpdate(const ObjectAccess& object, unsigned target, WriteTransaction& transaction,
                         Epoch epoch, std::vector<ExtentRef>& released, Epoch born_by)
    : object_(object), target_(target), transaction_(transaction), epoch_(epoch), born_by_(born_by),
      state_(object.state(transaction, target)), released_(released)
{
}

bool ArrayUpdate::clear(ArrayPosition from, ArrayPosition to, std::size_t budget, bool put_follows)
{
    const KeyBuffer prefix = object_.prefix(Space::live, Kind::array);
    KeyBuffer at = prefix;
    at.add(from.chunk).add(from.offset + 1);
    Entry entry;
    const bool sound = transaction_.capabilities().verifies_keys;
    const KeyBuffer chunk = KeyBuffer(prefix).add(from.chunk);
    const Bytes within = from.chunk == to.chunk ? chunk.view() : prefix.view();
    for (bool first = true;; first = false) {
        ParsedKey parsed;
        Record record;
        const bool there =
            sound ? transaction_.seek_in(within, at.view(), entry) : transaction_.seek(at.view(), entry);
        const bool inside = there && starts_with(entry.key, prefix.view());
        const char* reason = nullptr;
        if (inside) {
            reason = parse_entry(entry, parsed, record);
        } else if (there) {
            reason = damage_of(entry);
        }
        // The first record may hide one before it whose key was damaged, unless it begins where the range
        // does.
        const bool begins_here = inside && reason == nullptr && parsed.chunk == from.chunk &&
                                 parsed.end - record.length == from.offset;
        const bool suspect =
            reason != nullptr || (first && !sound && !begins_here && damaged_before(there, at.view()));
        if (suspect && put_back(transaction_, at.view())) continue;
        if (!inside) return true;
        if (parsed.chunk > to.chunk || (parsed.chunk == to.chunk && to.offset == 0)) return true;
        if (reason == nullptr && record.length > parsed.end) reason = "the extent begins before its chunk";
        if (reason != nullptr) {
            object_.damaged(target_,
                            "extent ending at chunk " + std::to_string(parsed.chunk) + ", byte " +
                                std::to_string(parsed.end),
                            reason);
        }
        const std::uint64_t a = parsed.chunk == from.chunk ? from.offset : 0;
        const std::uint64_t b = parsed.chunk == to.chunk ? to.offset : UINT64_MAX;
        const std::uint64_t start = parsed.end - record.length;
        if (record.type == RecordType::marker ? parsed.end > b : start >= b) return true;
        const auto go_on_behind = [&] {
            at = prefix;
            at.add(parsed.chunk).add(parsed.end + 1);
        };
        if (record.birth > born_by_) {
            if (parsed.end >= b) return true;
            go_on_behind();
            continue;
        }
        if (budget-- == 0) {
            stopped_ = {parsed.chunk, record.type == RecordType::marker ? start - 1 : std::max(a, start)};
            return false;
        }
        removed_ = true;
        KeyBuffer key;
        key.add(entry.key);
        if (start >= a && parsed.end <= b) {
            retire(transaction_, object_.container, state_, key.view(), entry.value, &record, epoch_,
                   released_);
            if (!put_follows || parsed.chunk != to.chunk || parsed.end != b) transaction_.erase(key.view());
        } else {
            retire_cut(parsed.chunk, parsed.end, key.view(), record, a, b);
        }
        if (parsed.end >= b) return true;
        go_on_behind();
    }
}

void ArrayUpdate::note_removals()
{
    if (removed_) note_removal(object_, transaction_, state_, epoch_, released_);
}

// `there`: the position is at the first record after `at`; else there is none.
bool ArrayUpdate::damaged_before(bool there, Bytes at)
{
    Entry before;
    return (there ? transaction_.previous(before) : transaction_.seek_last(at, before)) &&
           damage_of(before) != nullptr;
}

void ArrayUpdate::retire_cut(std::uint64_t chunk, std::uint64_t end, Bytes key, const Record& record,
                             std::uint64_t a, std::uint64_t b)
{
    Cut cut{chunk, end - record.length, record.birth, record.length, {}, {}, record.type == RecordType::bulk,
            {}};
    if (cut.is_bulk) {
        cut.bulk = BulkSource(record);
    } else {
        if (!payload_intact(record)) {
            object_.damaged(target_, extent_text(chunk, cut.start, end),
                            "the checksum of the extent does not match");
        }
        cut.payload.assign(record.payload.begin(), record.payload.end());
    }
    transaction_.erase(key);
    const std::uint64_t left = std::max(a, cut.start) - cut.start;
    const std::uint64_t right = std::min(b, end) - cut.start;
    put_part(cut, 0, left, false);
    if (needed(transaction_, object_.container, state_, cut.birth, epoch_)) put_part(cut, left, right, true);
    put_part(cut, right, cut.length, false);
    if (!cut.is_bulk) return;
    const ExtentRef room = reservation_of(cut.bulk.extent);
    std::uint64_t at = room.offset;
    const auto release_until = [&](std::uint64_t border) {
        if (border > at) released_.push_back({room.file, at, border - at});
    };
    for (const ExtentRef& kept : cut.kept) {
        release_until(kept.offset);
        at = kept.offset + kept.length;
    }
    release_until(room.offset + room.length);
}

// Offsets are in the record's payload; parts come in its order.
void ArrayUpdate::put_part(Cut& cut, std::uint64_t from, std::uint64_t to, bool to_history)
{
    if (from >= to) return;
    if (!cut.is_bulk) return put_inline(cut, from, to, to_history);
    const unsigned shift = cut.bulk.block_shift;
    const std::uint64_t block = std::uint64_t{1} << shift;
    std::uint64_t first = (from + block - 1) & ~(block - 1);
    // No two rooms share a unit of the file: where the part before ends in the one in which this would begin,
    // a block is copied.
    if (!cut.kept.empty() && cut.bulk.extent.offset + first < cut.kept.back().offset + cut.kept.back().length)
        first += block;
    const std::uint64_t last = to == cut.length ? to : to & ~(block - 1);
    if (first >= last) return put_inline(cut, from, to, to_history);
    put_inline(cut, from, first, to_history);
    NewRecord record;
    record.type = RecordType::bulk;
    record.block_shift = shift;
    record.birth = cut.birth;
    record.length = last - first;
    record.extent = {cut.bulk.extent.file, cut.bulk.extent.offset + first, last - first};
    record.sums = Bytes(cut.bulk.sums).subspan(8 * (first >> shift), 8 * block_count(last - first, shift));
    const KeyBuffer key = part_key(cut, last, to_history);
    record.encode(key.view(), transaction_.reserve(key.view(), record.stored_size()));
    cut.kept.push_back(reservation_of(record.extent));
    put_inline(cut, last, to, to_history);
}

// Of the part that ends at `to`.
KeyBuffer ArrayUpdate::part_key(const Cut& cut, std::uint64_t to, bool to_history)
{
    const KeyBuffer key = extent_key(object_, Space::live, cut.chunk, cut.start + to);
    if (!to_history) return key;
    KeyBuffer old = history_key(key.view(), epoch_);
    put_back(transaction_, old.view());
    return old;
}

void ArrayUpdate::put_inline(Cut& cut, std::uint64_t from, std::uint64_t to, bool to_history)
{
    if (from >= to) return;
    std::vector<std::byte> read;
    Bytes bytes;
    if (cut.is_bulk) {
        read.resize(to - from);
        const MutableBytes into = read;
        if (!cut.bulk.read(object_.target(target_), from, to, Scattered({&into, 1}), 0)) {
            object_.damaged(target_, extent_text(cut.chunk, cut.start + from, cut.start + to),
                            "the checksum of the extent, a part of which has to be kept, does not match");
        }
        bytes = read;
    } else {
        bytes = Bytes(cut.payload).subspan(from, to - from);
    }
    NewRecord record;
    record.birth = cut.birth;
    record.length = to - from;
    record.pieces = {&bytes, 1};
    record.payload_sum = checksum_of(record.pieces);
    const KeyBuffer key = part_key(cut, to, to_history);
    record.encode(key.view(), transaction_.reserve(key.view(), record.stored_size()));
}

void ArrayUpdate::put(std::uint64_t chunk, std::uint64_t end, NewRecord& record)
{
    record.birth = epoch_;
    const KeyBuffer key = extent_key(object_, Space::live, chunk, end);
    record.encode(key.view(), transaction_.reserve(key.view(), record.stored_size()));
}

} // namespace stepstore::store

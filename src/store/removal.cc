#include "store/removal.h"
#include "store/versioned.h"

#include <algorithm>

namespace stepstore::store {

namespace {

constexpr std::size_t taken_at_once = 1000; // records per transaction
constexpr ArrayPosition behind_all{UINT64_MAX, UINT64_MAX};

// A note: the epoch and, where it is not the whole object, chunk and byte from which on it goes.
constexpr std::size_t whole_size = 8;
constexpr std::size_t part_size = 24;

std::vector<std::byte> encoded(const Removal& removal)
{
    std::vector<std::byte> note(removal.whole ? whole_size : part_size);
    store_little(note.data(), removal.epoch);
    if (removal.whole) return note;
    store_little(note.data() + 8, removal.from.chunk);
    store_little(note.data() + 16, removal.from.offset);
    return note;
}

bool on_one_target(const ObjectAccess& object)
{
    return object.placement.groups() == 1 && object.placement.group(0).count == 1;
}

std::optional<Removal> going_on(const ObjectAccess& object, unsigned target, ReadTransaction& transaction)
{
    return latest_removal(object, target, transaction).going_on;
}

// ---- the note of a removal that several targets take part in

// Step 1; the removal gets its epoch. Gives another one that has to be finished first, and notes nothing
// then.
std::optional<Removal> begin(const ObjectAccess& object, Removal& removal)
{
    std::optional<Removal> other;
    const ReplicaSet set = object.placement.group(0);
    object.note_no_removal(false);
    object.update(set, {}, [&](auto transactions, auto released) {
        removal.epoch = object.core.storage().next_epoch();
        other.reset(); // all of the object: that includes what another one meant
        if (!removal.whole) other = going_on(object, set.targets[0], *transactions[0]);
        if (other) return;
        for (unsigned copy = 0; copy < set.count; ++copy) {
            WriteTransaction& transaction = *transactions[copy];
            const ContainerState state = object.state(transaction, set.targets[copy]);
            note_removal(object, transaction, state, removal.epoch, released[copy], Note::set, &removal);
        }
    });
    return other;
}

// Step 3. The note of a later removal stays.
void end(const ObjectAccess& object, const Removal& removal)
{
    const ReplicaSet set = object.placement.group(0);
    object.update(set, {}, [&](auto transactions, auto released) {
        const Epoch epoch = object.core.storage().next_epoch();
        for (unsigned copy = 0; copy < set.count; ++copy) {
            WriteTransaction& transaction = *transactions[copy];
            const auto noted = going_on(object, set.targets[copy], transaction);
            if (!noted || noted->epoch != removal.epoch) continue;
            const ContainerState state = object.state(transaction, set.targets[copy]);
            note_removal(object, transaction, state, epoch, released[copy], Note::dropped);
        }
    });
}

// By which epoch everything was born that it takes. 0: each target's first batch tells it. Where processes
// have clocks of their own, what was stored before may have a greater epoch than the note.
Epoch born_by(const ObjectAccess& object, const Removal& removal)
{
    return object.core.storage().has_barriers() ? 0 : removal.epoch;
}

// ---- batches

// The record of the object's latest removal; its last one.
bool is_latest_removal(const Entry& entry)
{
    return entry.key.size() == kind_prefix_size &&
           entry.key.back() == std::byte{static_cast<std::uint8_t>(Kind::removal)};
}

enum class Batch : std::uint8_t { any, all_or_nothing };
// Retires up to `taken_at_once` records of those born by then, from `from` on. True when there are no more.
bool punch_batch(const ObjectAccess& object, unsigned target, WriteTransaction& transaction, Epoch epoch,
                 Epoch born_by, std::vector<std::byte>& from, std::vector<ExtentRef>& released,
                 Batch batch = Batch::any)
{
    const ContainerState state = object.state(transaction, target);
    const KeyBuffer prefix = object_prefix(Space::live, object.container, object.oid);
    KeyBuffer behind = prefix;
    behind.make_successor();
    for (const KeyBuffer& border : {prefix, behind}) // else they would come back later
        put_back(transaction, border.view());
    std::vector<std::vector<std::byte>> keys;
    Entry entry;
    bool more = transaction.seek_in(prefix.view(), from, entry);
    for (; more && keys.size() < taken_at_once;
         more = transaction.next(entry) && starts_with(entry.key, prefix.view())) {
        if (!is_latest_removal(entry)) keys.emplace_back(entry.key.begin(), entry.key.end()); // that stays
    }
    if (more && batch == Batch::all_or_nothing) return false;
    if (more) from.assign(entry.key.begin(), entry.key.end());
    bool removed = false;
    for (const auto& key : keys) {
        Bytes value;
        Record record;
        if (!transaction.get(key, value)) continue;
        const bool damaged = parse_record(key, value, record) != nullptr;
        if (damaged && put_back(transaction, key)) { // it may be another object's: begin again
            from.assign(prefix.view().begin(), prefix.view().end());
            return false;
        }
        if (!damaged && record.birth > born_by) continue; // written after the punch began
        // A damaged record goes too: this is how one gets rid of it. Its extent, if any, is found by check.
        retire(transaction, object.container, state, key, value, damaged ? nullptr : &record, epoch,
               released);
        transaction.erase(key);
        removed = true;
    }
    if (removed) note_removal(object, transaction, state, epoch, released);
    return !more;
}

// Takes [from, to) of the array out of the live view of one group's targets, in batches. born_by: what was
// born later stays; 0: than the first batch. removal: on one target, to be noted by the first batch if that
// is not all of it; its epoch is 0 if it was. Gives another one that has to be finished first.
std::optional<Removal> clear_group(const ObjectAccess& object, const ReplicaSet& set, ArrayPosition from,
                                   ArrayPosition to, Epoch born_by = 0, Removal* removal = nullptr)
{
    std::optional<Removal> other;
    bool done = false;
    for (bool first = true; !done && !other; first = false) {
        ArrayPosition next = from;
        Epoch epoch = 0;
        object.update(set, {}, [&](auto transactions, auto released) {
            epoch = object.core.storage().next_epoch();
            done = true;
            other.reset();
            if (removal != nullptr) {
                if (first) removal->epoch = 0;
                other = going_on(object, set.targets[0], *transactions[0]);
                if (other && other->epoch == removal->epoch) other.reset();
                if (other) return;
            }
            for (unsigned copy = 0; copy < set.count; ++copy) {
                WriteTransaction& transaction = *transactions[copy];
                ArrayUpdate update(object, set.targets[copy], transaction, epoch, released[copy],
                                   born_by != 0 ? born_by : epoch);
                const ArrayPosition end = done ? to : next; // the second copy no farther than the first
                if (!update.clear(from, end, taken_at_once) && copy == 0) {
                    done = false;
                    next = update.stopped_at();
                }
                update.note_removals();
                if (removal == nullptr || !first || done) continue;
                removal->epoch = epoch;
                note_removal(object, transaction, object.state(transaction, set.targets[copy]), epoch,
                             released[copy], Note::set, removal);
            }
        });
        if (born_by == 0) born_by = epoch;
        from = next;
    }
    for (unsigned copy = 0; copy < set.count; ++copy)
        object.target(set.targets[copy]).count({1, 0, 0, 0});
    return other;
}

void clear_groups(const ObjectAccess& object, ArrayPosition from, ArrayPosition to, Epoch born_by = 0)
{
    object.target(0).at_once(object.placement.groups(), [&](std::size_t group) {
        clear_group(object, object.placement.group(static_cast<unsigned>(group)), from, to, born_by);
    });
}

// All of the object on one target that was born by `epoch`; 0: by the first batch. alone: there is no other
// target, so the batches make the note, and take it away.
void punch_target(const ObjectAccess& object, unsigned index, Epoch epoch, bool alone)
{
    Target& target = object.target(index);
    const KeyBuffer prefix = object_prefix(Space::live, object.container, object.oid);
    const bool given = epoch != 0;
    write_in_batches(
        object.core, index, prefix, [&](WriteTransaction& transaction, auto& from, auto& released) {
            // One for all batches: what is written after the first one stays.
            const bool first = equal(from, prefix.view());
            if (first && !given) epoch = object.core.storage().next_epoch();
            const bool done = punch_batch(object, index, transaction, epoch, epoch, from, released);
            if (!alone) return done;
            const Removal removal{.epoch = epoch, .whole = true, .from = {}};
            const ContainerState state = object.state(transaction, index);
            if (!done && first)
                note_removal(object, transaction, state, epoch, released, Note::set, &removal);
            else if (done && going_on(object, index, transaction))
                note_removal(object, transaction, state, object.core.storage().next_epoch(), released,
                             Note::dropped);
            return done;
        });
    target.count({1, 0, 0, 0});
}

void punch_groups(const ObjectAccess& object, Epoch epoch, bool alone)
{
    for (unsigned group = 0; group < object.placement.groups(); ++group) {
        const ReplicaSet set = object.placement.group(group);
        for (unsigned copy = 0; copy < set.count; ++copy)
            punch_target(object, set.targets[copy], epoch, alone);
    }
}

// What an object has on its targets. Readers could take a part of an array for all of it.
struct Held {
    std::vector<unsigned> groups; // with records, except of the latest removal; not looked for on a network
    bool extents = false;
    bool unfinished_removal = false;

    bool goes_in_steps() const { return extents || unfinished_removal; }
};

Held held_by(const ObjectAccess& object)
{
    const KeyBuffer all = object_prefix(Space::live, object.container, object.oid);
    const KeyBuffer extents = object.prefix(Space::live, Kind::array);
    const bool local = object.target(0).network() == nullptr;
    Held held;
    for (unsigned group = 0; group < object.placement.groups(); ++group) {
        if (!local && held.goes_in_steps()) break;
        struct Here {
            bool any, extents, unfinished_removal;
        };
        const auto look = [&](unsigned index, ReadTransaction& transaction) {
            Here here{};
            here.unfinished_removal = group == 0 && going_on(object, index, transaction);
            Entry entry;
            here.extents = transaction.seek_in(extents.view(), extents.view(), entry);
            if (!local) return here;
            object.require_epoch(transaction, index, latest); // there may be a note of a transaction
            Entries entries(transaction, all.view(), all.view());
            here.any = here.extents || (entries.next(entry) && !is_latest_removal(entry)) ||
                       entries.damage_beside() != nullptr;
            return here;
        };
        const Here here = look_at_copies(object, group, look);
        if (here.any) held.groups.push_back(group);
        held.extents = held.extents || here.extents;
        held.unfinished_removal = held.unfinished_removal || here.unfinished_removal;
    }
    return held;
}

// An object whose records all lie in one group of one target: a small file. They go in one transaction, so no
// reader sees a part, and there is no note. False: they are too many for that. born_by: from before the look
// at the other targets. What was written since stays on all of them.
bool punch_one_target(const ObjectAccess& object, unsigned index, Epoch born_by)
{
    Target& target = object.target(index);
    bool done = false;
    write_in_batches(object.core, index, object_prefix(Space::live, object.container, object.oid),
                     [&](WriteTransaction& transaction, auto& from, auto& released) {
                         done = punch_batch(object, index, transaction, object.core.storage().next_epoch(),
                                            born_by, from, released, Batch::all_or_nothing);
                         return true;
                     });
    if (done) target.count({1, 0, 0, 0});
    return done;
}

// ---- sizes

ArrayPosition position_of(const ArrayShape& shape, std::uint64_t byte)
{
    return {byte / shape.chunk, byte % shape.chunk};
}

// As the end of something. At a chunk's end it belongs to that chunk.
ArrayPosition end_position(const ArrayShape& shape, std::uint64_t byte)
{
    const ArrayPosition end = position_of(shape, byte);
    return end.offset == 0 && end.chunk != 0 ? ArrayPosition{end.chunk - 1, shape.chunk} : end;
}

// The end of an array: a record of its own unless an extent ends there.
void put_end(const ObjectAccess& object, ArrayPosition end)
{
    if (end.chunk == 0 && end.offset == 0) return;
    const ReplicaSet set = object.placement.group(group_of_chunk(object, end.chunk));
    object.update(set, {}, [&](auto transactions, auto released) {
        const Epoch epoch = object.core.storage().next_epoch();
        for (unsigned copy = 0; copy < set.count; ++copy) {
            ArrayUpdate update(object, set.targets[copy], *transactions[copy], epoch, released[copy]);
            Bytes value;
            const KeyBuffer key = extent_key(object, Space::live, end.chunk, end.offset);
            put_back(*transactions[copy], key.view());
            if (transactions[copy]->get(key.view(), value)) continue;
            // An extent over the end was cut there by clear_group; a writer that came after it may have
            // written farther.
            NewRecord marker;
            marker.type = RecordType::marker;
            Entry entry;
            const KeyBuffer array = object.prefix(Space::live, Kind::array);
            if (transactions[copy]->seek_in(array.view(), key.view(), entry)) continue;
            update.put(end.chunk, end.offset, marker);
        }
    });
}

} // namespace

LatestRemoval latest_removal(const ObjectAccess& object, unsigned target, ReadTransaction& transaction,
                             Epoch epoch)
{
    constexpr char what[] = "the record of its latest removal";
    LatestRemoval found;
    Record record;
    if (!object.find_single(target, transaction, Kind::removal, epoch, record, what)) return found;
    found.birth = record.birth;
    if (const char* reason = parse_note(record, found.going_on)) object.damaged(target, what, reason);
    return found;
}

const char* parse_note(const Record& record, std::optional<Removal>& note)
{
    note.reset();
    if (record.type != RecordType::inlined) return nullptr;
    const Bytes bytes = record.payload;
    if (!payload_intact(record) || (bytes.size() != whole_size && bytes.size() != part_size))
        return "the checksum of its note does not match";
    note = {load_little<std::uint64_t>(bytes.data()), bytes.size() == whole_size, {}};
    if (!note->whole)
        note->from = {load_little<std::uint64_t>(bytes.data() + 8),
                      load_little<std::uint64_t>(bytes.data() + 16)};
    constexpr auto most = static_cast<std::uint64_t>(INT64_MAX);
    if (note->from.chunk > most || note->from.offset > most) return "its note names an impossible place";
    return nullptr;
}

void note_removal(const ObjectAccess& object, WriteTransaction& transaction, const ContainerState& state,
                  Epoch epoch, std::vector<ExtentRef>& released, Note note, const Removal* removal)
{
    const KeyBuffer key = object.prefix(Space::live, Kind::removal);
    std::vector<std::byte> content;
    if (note == Note::set) content = encoded(*removal);
    Bytes value;
    const bool there = transaction.get(key.view(), value) ||
                       (put_back(transaction, key.view()) && transaction.get(key.view(), value));
    if (Record old; there) {
        const bool damaged = parse_record(key.view(), value, old) != nullptr;
        if (!damaged && old.birth >= epoch) { // of somebody between the batches of a long removal
            if (note == Note::kept) return;
            epoch = old.birth;
        }
        if (!damaged && note == Note::kept && payload_intact(old))
            content.assign(old.payload.begin(), old.payload.end());
        retire(transaction, object.container, state, key.view(), value, damaged ? nullptr : &old, epoch,
               released);
    }
    const Bytes piece(content);
    NewRecord record;
    record.birth = epoch;
    record.type = content.empty() ? RecordType::marker : RecordType::inlined;
    record.length = content.size();
    record.pieces = {&piece, 1};
    record.payload_sum = checksum_of(record.pieces);
    record.encode(key.view(), transaction.reserve(key.view(), record.stored_size()));
}

void clear_chunk(const ObjectAccess& object, const ReplicaSet& set, std::uint64_t chunk)
{
    clear_group(object, set, {chunk, 0}, {chunk, UINT64_MAX});
}

void finish_removal(const ObjectAccess& object, const Removal& removal)
{
    if (removal.whole) {
        punch_groups(object, removal.epoch, false);
    } else {
        clear_groups(object, removal.from, behind_all, removal.epoch);
        put_end(object, removal.from);
    }
    end(object, removal);
}

namespace {

std::optional<Removal> left_by_others(const ObjectAccess& object)
{
    return look_at_copies(object, 0, [&](unsigned index, ReadTransaction& transaction) {
        object.expect_with_state(transaction, object.prefix(Space::live, Kind::removal).view());
        object.require_epoch(transaction, index, latest);
        return going_on(object, index, transaction);
    });
}

} // namespace

void LeftRemoval::look(ReadTransaction& transaction, unsigned target)
{
    object_.expect_with_state(transaction, object_.prefix(Space::live, Kind::removal).view());
    looked_ = true;
    left_ = going_on(object_, target, transaction);
}

void LeftRemoval::finish() noexcept
try {
    const bool look_is_a_request = object_.target(0).most_at_once() > 1;
    if (!looked_ && !look_is_a_request && !object_.found_no_removal()) left_ = left_by_others(object_);
    if (left_) finish_removal(object_, *left_);
    object_.note_no_removal(true);
} catch (...) { // the next write, or a check
}

bool VersionedContainer::finish_removal(const ObjectId& oid)
{
    pool_->require_write("finish the removal of an object");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const auto left = left_by_others(object);
    if (left) store::finish_removal(object, *left);
    return left.has_value();
}

void VersionedContainer::clear_left_over(const ObjectId& oid, std::uint64_t chunk)
{
    pool_->require_write("remove what the punch of an akey left");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    for (unsigned group = 0; group < object.placement.groups(); ++group)
        clear_chunk(object, object.placement.group(group), chunk);
}

void VersionedContainer::punch(const ObjectId& oid)
{
    pool_->require_write("punch");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    if (on_one_target(object)) return punch_groups(object, 0, true);
    Removal removal{.epoch = 0, .whole = true, .from = {}};
    const bool local = object.target(0).network() == nullptr;
    const Epoch before = local ? object.core.storage().next_epoch() : 0;
    const Held held = held_by(object);
    if (local && !held.unfinished_removal) {
        if (held.groups.empty()) return;
        const ReplicaSet set = object.placement.group(held.groups.front());
        if (held.groups.size() == 1 && set.count == 1 && punch_one_target(object, set.targets[0], before))
            return;
    }
    const bool noted = held.goes_in_steps();
    if (noted) begin(object, removal);
    punch_groups(object, born_by(object, removal), false);
    if (noted) end(object, removal);
}

void VersionedContainer::array_punch(const ObjectId& oid, const ArrayAttributes& attributes,
                                     std::span<const Range> ranges)
{
    pool_->require_write("array_punch");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const ArrayShape shape(object, attributes);
    LeftRemoval(object).finish();
    for (const Range& range : ranges) {
        const ByteRange bounds(object, shape, range);
        if (bounds.begin == bounds.end) continue;
        const ArrayPosition from = position_of(shape, bounds.begin);
        const ArrayPosition to = end_position(shape, bounds.end);
        if (from.chunk == to.chunk) {
            clear_group(object, object.placement.group(group_of_chunk(object, from.chunk)), from, to);
            continue;
        }
        clear_groups(object, from, to);
    }
}

void VersionedContainer::array_set_size(const ObjectId& oid, const ArrayAttributes& attributes,
                                        std::uint64_t cells)
{
    pool_->require_write("array_set_size");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const ArrayShape shape(object, attributes);
    const ByteRange bounds(object, shape, {0, cells});
    Removal removal{.epoch = 0, .whole = false, .from = end_position(shape, bounds.end)};
    for (std::optional<Removal> other;;) {
        if (on_one_target(object)) {
            other = clear_group(object, object.placement.group(0), removal.from, behind_all, 0, &removal);
        } else {
            const ArrayEnd end = end_of_array(object, shape, latest);
            other = end.removal;
            removal.epoch = 0;
            if (!other && end.bytes > bounds.end) other = begin(object, removal);
            if (!other) clear_groups(object, removal.from, behind_all, born_by(object, removal));
        }
        if (!other) break;
        store::finish_removal(object, *other);
    }
    put_end(object, removal.from);
    if (removal.epoch != 0) end(object, removal);
}

} // namespace stepstore::store

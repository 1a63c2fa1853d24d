// Array reads, and the end of an array.
#include "store/array/array.h"
#include "store/array/group_read.h"
#include "store/removal.h"
#include "store/versioned.h"

#include <algorithm>
#include <mutex>

namespace stepstore::store {

namespace {

constexpr std::size_t few_records = 16; // records: an array with no more here is known by one look

// The body is going to look at all records of the object on this target.
void expect_records(const ObjectAccess& object, ReadTransaction& transaction, Epoch epoch)
{
    for (const Space space : {Space::live, Space::history}) {
        const KeyBuffer prefix = object_prefix(space, object.container, object.oid);
        if (space == Space::live || epoch != latest)
            transaction.expect_from(prefix.view(), prefix.view(), few_records);
    }
}

// The body is going to look for the end of the array on this target.
void expect_end(const ObjectAccess& object, ReadTransaction& transaction, Epoch epoch)
{
    for (const Space space : {Space::live, Space::history}) {
        const KeyBuffer prefix = object.prefix(space, Kind::array);
        if (space == Space::live || epoch != latest)
            transaction.expect_from(prefix.view(), prefix.view(), few_records);
    }
}

void expect_latest_removal(const ObjectAccess& object, ReadTransaction& transaction, Epoch epoch)
{
    const KeyBuffer key = object.prefix(Space::live, Kind::removal);
    const Bytes one = key.view();
    transaction.expect({&one, 1});
    if (epoch == latest) return;
    const KeyBuffer versions = object.prefix(Space::history, Kind::removal);
    const KeyBuffer from = KeyBuffer(versions).add(epoch + 1);
    transaction.expect_from(versions.view(), from.view(), 1);
}

// Where what a removal takes begins, in bytes of the whole array.
std::uint64_t start_of(const std::optional<Removal>& removal, const ArrayShape& shape)
{
    return removal ? removal->from.chunk * shape.chunk + removal->from.offset : 0;
}

// Whether an extent's last byte stays when the removal is done.
bool is_left(const std::optional<Removal>& removal, const ParsedKey& parsed, const Record& record)
{
    return !removal || removal->left_of(parsed.chunk, record.birth) >= parsed.end;
}

// The end of the array at `epoch` on one target, in bytes of the whole array; 0: nothing there. removal: when
// it is done.
std::uint64_t end_on_target(const ObjectAccess& object, unsigned target, ReadTransaction& transaction,
                            const ArrayShape& shape, Epoch epoch, const std::optional<Removal>& removal)
{
    object.require_epoch(transaction, target, epoch);
    std::uint64_t end = start_of(removal, shape);
    for (const Space space : {Space::live, Space::history}) {
        if (space == Space::history && epoch == latest) break;
        const KeyBuffer prefix = object.prefix(space, Kind::array);
        KeyBuffer behind = prefix;
        behind.make_successor();
        Entry entry;
        // The last extent may be one whose key was damaged, and which lies after the array's records.
        bool more = false;
        if (transaction.capabilities().verifies_keys) {
            more = transaction.seek_last_in(prefix.view(), behind.view(), entry);
        } else {
            more = transaction.seek(behind.view(), entry);
            if (const char* reason = more ? damage_of(entry) : nullptr)
                object.damaged_beside(target, "an extent behind the last one", reason);
            more = more ? transaction.previous(entry) : transaction.seek_last(behind.view(), entry);
        }
        // From the end of the array back to the first record that is visible: at `latest`, that is the first
        // one.
        bool found = false;
        for (; !found && more && starts_with(entry.key, prefix.view()); more = transaction.previous(entry)) {
            ParsedKey parsed;
            Record record;
            const char* reason = parse_entry(entry, parsed, record);
            if (reason != nullptr) object.damaged(target, "the last extent", reason);
            found = visible_at(parsed, record, epoch) && is_left(removal, parsed, record);
            if (found) end = std::max(end, parsed.chunk * shape.chunk + parsed.end);
        }
        if (found || !more) continue;
        if (const char* reason = damage_of(entry)) object.damaged_beside(target, "an extent", reason);
    }
    return end;
}

// What `look` finds of all groups, where a removal that takes several transactions shows as done. `look` is
// called with a target and such a removal. expect: tells a transaction what it is going to read. Ends are
// compared: the greatest counts.
template <class Expect, class Look>
ArrayEnd look_at_groups(const ObjectAccess& object, Epoch epoch, Expect expect, Look look)
{
    const unsigned groups = object.placement.groups();
    const bool fixed = epoch != latest; // what a snapshot has does not change, so all is looked at together
    std::vector<ArrayEnd> ends(groups);
    for (LatestRemoval known;;) {
        LatestRemoval now;
        const auto look_at = [&](unsigned group) {
            ends[group] = look_at_copies(object, group, [&](unsigned index, ReadTransaction& transaction) {
                object.expect_epoch(transaction, epoch);
                if (group == 0) expect_latest_removal(object, transaction, epoch);
                expect(transaction);
                if (group == 0) now = latest_removal(object, index, transaction, epoch);
                // One group: the same moment shows both.
                return look(index, transaction, groups == 1 ? now.going_on : known.going_on);
            });
        };
        const unsigned first = fixed ? 0 : 1; // the first group's record is looked at last (removal.h)
        object.target(0).at_once(groups - first,
                                 [&](std::size_t i) { look_at(static_cast<unsigned>(i) + first); });
        if (!fixed) look_at(0);
        const bool same = groups == 1 || (fixed ? now.going_on.has_value() == known.going_on.has_value()
                                                : now.birth == known.birth);
        if (same) {
            ArrayEnd all{0, 0, groups == 1 ? now.going_on : known.going_on};
            for (const ArrayEnd& one : ends) {
                all.bytes = std::max(all.bytes, one.bytes);
                all.last_update = std::max(all.last_update, one.last_update);
            }
            return all;
        }
        known = now;
    }
}

} // namespace

ArrayEnd end_of_array(const ObjectAccess& object, const ArrayShape& shape, Epoch epoch)
{
    const auto expect = [&](ReadTransaction& transaction) { expect_end(object, transaction, epoch); };
    return look_at_groups(
        object, epoch, expect, [&](unsigned index, ReadTransaction& transaction, const auto& removal) {
            object.target(index).count({0, 1, 0, 0});
            return ArrayEnd{end_on_target(object, index, transaction, shape, epoch, removal), 0, {}};
        });
}

ArrayStatus VersionedContainer::array_status(const ObjectId& oid, const ArrayAttributes& attributes,
                                             Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const ArrayShape shape(object, attributes);
    const auto look = [&](unsigned index, ReadTransaction& transaction,
                          const std::optional<Removal>& removal) {
        object.require_epoch(transaction, index, epoch);
        ArrayEnd here{start_of(removal, shape), 0, {}};
        for_each_visible(object, index, transaction, epoch,
                         [&](const ParsedKey& parsed, const Record& record) {
                             here.last_update = std::max(here.last_update, record.birth);
                             if (parsed.kind == Kind::array && is_left(removal, parsed, record))
                                 here.bytes = std::max(here.bytes, parsed.chunk * shape.chunk + parsed.end);
                             return true;
                         });
        object.target(index).count({0, 1, 0, 0});
        return here;
    };
    const auto expect = [&](ReadTransaction& transaction) { expect_records(object, transaction, epoch); };
    const ArrayEnd found = look_at_groups(object, epoch, expect, look);
    return {found.bytes / shape.cell, found.last_update};
}

ReadResult VersionedContainer::array_read(const ObjectId& oid, const ArrayAttributes& attributes,
                                          std::span<const Range> ranges, std::span<const MutableBytes> memory,
                                          Epoch epoch, Verify verify, Ends ends)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const ArrayShape shape(object, attributes);
    const Request<MutableBytes> request(object, shape, ranges, memory);
    const auto read = [&](const Removal* removal) {
        ReadResult result;
        std::mutex guard; // of it
        request.for_each_group(object, [&](unsigned group, std::span<const ReadPiece> pieces) {
            from_copies(object.placement.group(group), [&](unsigned index) {
                GroupRead of_group(object, pieces, index, epoch, verify, removal);
                of_group.run(pool_->access() == Access::read_write);
                const std::lock_guard lock(guard);
                result.bytes += of_group.bytes;
                return 0;
            });
        });
        return result;
    };
    ReadResult result = read(nullptr);
    if (ends == Ends::untold || result.bytes == request.bytes) return result;
    const ArrayEnd array = end_of_array(object, shape, epoch); // later than at the bytes: see removal.h
    if (array.removal) result = read(&*array.removal);
    const std::uint64_t size = array.bytes / shape.cell;
    for (const Range& range : ranges) {
        const std::uint64_t end = range.index + range.length;
        if (end > size) result.cells_short += end - std::max(size, range.index);
    }
    return result;
}

std::uint64_t VersionedContainer::array_size(const ObjectId& oid, const ArrayAttributes& attributes,
                                             Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const ArrayShape shape(object, attributes);
    return end_of_array(object, shape, epoch).bytes / shape.cell;
}

} // namespace stepstore::store

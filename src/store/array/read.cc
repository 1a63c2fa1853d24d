// Array reads. At `latest` one seek finds the first extent of a range, and the walk ends after the range. At
// a snapshot the walk takes the live extents born by then, and the history that was alive then. History is in
// the order of ends too. But its extents, being of different times, may overlap, so its walk ends only with
// the chunk.
#include "store/array/array.h"
#include "store/removal.h"
#include "store/versioned.h"

#include <algorithm>
#include <mutex>

namespace stepstore::store {

namespace {

using ReadPiece = Piece<MutableBytes>;

class GroupRead {
public:
    // removal: as if it were done. nullptr: what is there.
    GroupRead(const ObjectAccess& object, std::span<const ReadPiece> pieces, unsigned target, Epoch epoch,
              Verify verify, const Removal* removal)
        // At a snapshot find() fills all memory with zeros first.
        : object_(object), pieces_(pieces), target_(target), epoch_(epoch),
          verify_(epoch == latest ? verify : Verify::yes), removal_(removal)
    {
    }

    void run(bool may_write)
    {
        read_with_bulk(
            object_.target(target_), may_write, verify_,
            [&](ReadTransaction& transaction, std::vector<BulkRead>& reads) { find(transaction, reads); },
            [&](std::size_t index, Unread why) { object_.unread(target_, named_[index], why); });
        object_.target(target_).count({0, 1, 0, bytes});
    }

    std::uint64_t bytes = 0; // that were stored

private:
    void find(ReadTransaction& transaction, std::vector<BulkRead>& reads)
    {
        bytes = 0;
        named_.clear();
        expect(transaction);
        object_.require_epoch(transaction, target_, epoch_);
        for (const ReadPiece& piece : pieces_) {
            const std::uint64_t before = bytes;
            const auto short_of = [&] { return bytes - before != piece.length(); };
            const KeyBuffer first = extent_key(object_, Space::live, piece.chunk, piece.begin + 1);
            if (epoch_ == latest) {
                Entries live(transaction, first.view(), first.view().first(kind_prefix_size));
                walk_latest(live, piece, reads);
                if (short_of()) require_hole(live, piece);
                continue;
            }
            const std::size_t in_chunk = kind_prefix_size + sizeof piece.chunk;
            const KeyBuffer first_version = extent_key(object_, Space::history, piece.chunk, piece.begin + 1);
            Entries live(transaction, first.view(), first.view().first(in_chunk));
            Entries history(transaction, first_version.view(), first_version.view().first(in_chunk));
            Scattered(piece.memory).zero(0, piece.length());
            walk_at_epoch(live, piece, Space::live, reads);
            walk_at_epoch(history, piece, Space::history, reads);
            if (!short_of()) continue;
            require_hole(live, piece);
            require_hole(history, piece);
        }
    }

    // The first records that it is going to look at.
    void expect(ReadTransaction& transaction)
    {
        object_.expect_epoch(transaction, epoch_);
        if (!transaction.capabilities().network) return;
        for (const ReadPiece& piece : pieces_.first(std::min<std::size_t>(pieces_.size(), 64))) {
            const KeyBuffer first = extent_key(object_, Space::live, piece.chunk, piece.begin + 1);
            if (epoch_ == latest) {
                transaction.expect_from(first.view().first(kind_prefix_size), first.view(), 1);
                continue;
            }
            constexpr std::size_t walked = 8;
            const std::size_t in_chunk = kind_prefix_size + sizeof piece.chunk;
            const KeyBuffer version = extent_key(object_, Space::history, piece.chunk, piece.begin + 1);
            transaction.expect_from(first.view().first(in_chunk), first.view(), walked);
            transaction.expect_from(version.view().first(in_chunk), version.view(), walked);
        }
    }

    void walk_latest(Entries& entries, const ReadPiece& piece, std::vector<BulkRead>& reads)
    {
        const Scattered memory(piece.memory);
        std::uint64_t filled = piece.begin;
        for (Entry entry; entries.next(entry);) {
            ParsedKey parsed;
            Record record;
            parse(entry, parsed, record);
            if (parsed.chunk != piece.chunk) break;
            const std::uint64_t start = parsed.end - record.length;
            if (start >= piece.end) break;
            const std::uint64_t end = std::min(end_of(parsed, record), piece.end);
            if (record.type == RecordType::marker || end <= std::max(start, piece.begin)) continue;
            if (start > filled) memory.zero(filled - piece.begin, start - filled);
            take(piece, parsed, record, end, reads);
            filled = end;
            if (filled == piece.end) return;
        }
        memory.zero(filled - piece.begin, piece.end - filled);
    }

    void walk_at_epoch(Entries& entries, const ReadPiece& piece, Space space, std::vector<BulkRead>& reads)
    {
        for (Entry entry; entries.next(entry);) {
            ParsedKey parsed;
            Record record;
            parse(entry, parsed, record);
            if (record.birth > epoch_ || (space == Space::history && parsed.death <= epoch_)) continue;
            const std::uint64_t start = parsed.end - record.length;
            if (start >= piece.end) {
                if (space == Space::live) break;
                continue;
            }
            const std::uint64_t end = std::min(end_of(parsed, record), piece.end);
            if (record.type == RecordType::marker || end <= std::max(start, piece.begin)) continue;
            take(piece, parsed, record, end, reads);
        }
    }

    void parse(const Entry& entry, ParsedKey& parsed, Record& record)
    {
        const char* reason = parse_key(entry.key, parsed) ? parse_record(entry.key, entry.value, record)
                                                          : "the record's key is malformed";
        if (reason == nullptr && record.length > parsed.end) reason = "the extent begins before its chunk";
        if (reason == nullptr) return;
        object_.damaged(target_,
                        "the extent that ends at chunk " + std::to_string(parsed.chunk) + ", byte " +
                            std::to_string(parsed.end),
                        reason);
    }

    // Where the part of the record that a read may have ends.
    std::uint64_t end_of(const ParsedKey& parsed, const Record& record) const
    {
        const std::uint64_t left =
            removal_ == nullptr ? UINT64_MAX : removal_->left_of(parsed.chunk, record.birth);
        return std::min(parsed.end, left);
    }

    // Copies what the record has of the piece up to `to`, or asks for it to be read.
    void take(const ReadPiece& piece, const ParsedKey& parsed, const Record& record, std::uint64_t to,
              std::vector<BulkRead>& reads)
    {
        const std::uint64_t start = parsed.end - record.length;
        const std::uint64_t from = std::max(start, piece.begin);
        bytes += to - from;
        const Scattered memory(piece.memory);
        if (record.type == RecordType::bulk) {
            reads.push_back({BulkSource(record), from - start, to - start, memory, from - piece.begin});
            named_.push_back(extent_text(parsed, start));
            return;
        }
        if (!payload_intact(record))
            object_.damaged(target_, extent_text(parsed, start), "the checksum of the extent does not match");
        memory.copy_in(from - piece.begin, record.payload.subspan(from - start, to - from));
    }

    // A hole may be an extent whose key was damaged, and which lies before or after those that were walked.
    void require_hole(const Entries& walked, const ReadPiece& piece)
    {
        if (const char* reason = walked.damage_beside()) {
            object_.damaged_beside(target_,
                                   "an extent in chunk " + std::to_string(piece.chunk) + ", bytes " +
                                       std::to_string(piece.begin) + " to " + std::to_string(piece.end),
                                   reason);
        }
    }

    static std::string extent_text(const ParsedKey& parsed, std::uint64_t start)
    {
        return "chunk " + std::to_string(parsed.chunk) + ", extent of bytes " + std::to_string(start) +
               " to " + std::to_string(parsed.end);
    }

    const ObjectAccess& object_;
    std::span<const ReadPiece> pieces_;
    unsigned target_;
    Epoch epoch_;
    Verify verify_;
    const Removal* removal_;
    std::vector<std::string> named_; // the extents to be read, for messages
};

// The body is going to look for the end of the array on this target.
void expect_end(const ObjectAccess& object, ReadTransaction& transaction, Epoch epoch)
{
    constexpr std::size_t few = 16; // records: an array with no more here is known by one look
    object.expect_epoch(transaction, epoch);
    for (const Space space : {Space::live, Space::history}) {
        const KeyBuffer prefix = object.prefix(space, Kind::array);
        if (space == Space::live || epoch != latest)
            transaction.expect_from(prefix.view(), prefix.view(), few);
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

// The end of the array at `epoch` on one target, in bytes of the whole array; 0: nothing there. removal: when
// it is done.
std::uint64_t end_on_target(const ObjectAccess& object, unsigned target, ReadTransaction& transaction,
                            const ArrayShape& shape, Epoch epoch, const std::optional<Removal>& removal)
{
    object.require_epoch(transaction, target, epoch);
    std::uint64_t end = removal ? removal->from.chunk * shape.chunk + removal->from.offset : 0;
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
            const char* reason = parse_key(entry.key, parsed) ? parse_record(entry.key, entry.value, record)
                                                              : "the record's key is malformed";
            if (reason != nullptr) object.damaged(target, "the last extent", reason);
            found = record.birth <= epoch && (space == Space::live || epoch < parsed.death) &&
                    (!removal || removal->left_of(parsed.chunk, record.birth) >= parsed.end);
            if (found) end = std::max(end, parsed.chunk * shape.chunk + parsed.end);
        }
        if (found || !more) continue;
        if (const char* reason = damage_of(entry)) object.damaged_beside(target, "an extent", reason);
    }
    return end;
}

} // namespace

ArrayEnd end_of_array(const ObjectAccess& object, const ArrayShape& shape, Epoch epoch)
{
    const unsigned groups = object.placement.groups();
    const auto end_here = [&](unsigned index, ReadTransaction& transaction,
                              const std::optional<Removal>& removal) {
        object.target(index).count({0, 1, 0, 0});
        return end_on_target(object, index, transaction, shape, epoch, removal);
    };
    if (groups == 1) { // one moment shows both
        return look_at_copies(object, 0, [&](unsigned index, ReadTransaction& transaction) {
            expect_latest_removal(object, transaction, epoch);
            expect_end(object, transaction, epoch);
            ArrayEnd end;
            end.removal = latest_removal(object, index, transaction, epoch).going_on;
            end.bytes = end_here(index, transaction, end.removal);
            return end;
        });
    }
    const auto look_at_removal = [&] {
        return look_at_copies(object, 0, [&](unsigned index, ReadTransaction& transaction) {
            object.expect_epoch(transaction, epoch);
            expect_latest_removal(object, transaction, epoch);
            object.require_epoch(transaction, index, epoch);
            return latest_removal(object, index, transaction, epoch);
        });
    };
    const bool fixed =
        epoch != latest; // what a snapshot has does not change, so it is looked at with the rest
    std::vector<std::uint64_t> ends(groups);
    for (LatestRemoval known;;) {
        LatestRemoval now;
        object.target(0).at_once(groups + (fixed ? 1 : 0), [&](std::size_t group) {
            if (group == groups) {
                now = look_at_removal();
                return;
            }
            const auto look = [&](unsigned index, ReadTransaction& transaction) {
                expect_end(object, transaction, epoch);
                return end_here(index, transaction, known.going_on);
            };
            ends[group] = look_at_copies(object, static_cast<unsigned>(group), look);
        });
        if (!fixed) now = look_at_removal();
        const bool same =
            fixed ? now.going_on.has_value() == known.going_on.has_value() : now.birth == known.birth;
        if (same) return {*std::ranges::max_element(ends), known.going_on};
        known = now;
    }
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

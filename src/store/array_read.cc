// Array reads. At `latest` one seek finds the first extent of a range, and the walk ends behind the range. At
// a snapshot the walk takes the live extents born by then, and the history that was alive then. History is in
// the order of ends too. But its extents, being of different times, may overlap, so its walk ends only with
// the chunk.
#include "store/array.h"

#include <algorithm>
#include <mutex>

namespace stepstore::store {

namespace {

using ReadPiece = Piece<MutableBytes>;

class GroupRead {
public:
    GroupRead(const ObjectAccess& object, std::span<const ReadPiece> pieces, unsigned target, Epoch epoch,
              Verify verify)
        // At a snapshot find() fills all memory with zeros first.
        : object_(object), pieces_(pieces), target_(target), epoch_(epoch),
          verify_(epoch == latest ? verify : Verify::yes)
    {
    }

    void run(bool may_write)
    {
        read_with_bulk(
            object_.target(target_), may_write, verify_,
            [&](ReadTransaction& transaction, std::vector<BulkRead>& reads) { find(transaction, reads); },
            [&](std::size_t index) {
                object_.damaged(target_, named_[index], "the checksum of the bulk extent does not match");
            });
        object_.target(target_).count({0, 1, 0, bytes});
    }

    std::uint64_t bytes = 0;    // that were stored
    ArrayPosition farthest_end; // of a record that was seen

private:
    void find(ReadTransaction& transaction, std::vector<BulkRead>& reads)
    {
        bytes = 0;
        farthest_end = {};
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
        if (!transaction.keys_are_sound()) return; // no back end behind a network
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
            saw(parsed);
            if (parsed.chunk != piece.chunk) break;
            const std::uint64_t start = parsed.end - record.length;
            if (start >= piece.end) break;
            if (record.type == RecordType::marker) continue;
            if (start > filled) memory.zero(filled - piece.begin, start - filled);
            take(piece, parsed, record, reads);
            filled = std::min(parsed.end, piece.end);
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
            saw(parsed);
            const std::uint64_t start = parsed.end - record.length;
            if (start >= piece.end) {
                if (space == Space::live) break;
                continue;
            }
            if (record.type != RecordType::marker) take(piece, parsed, record, reads);
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

    void saw(const ParsedKey& parsed)
    {
        if (parsed.chunk > farthest_end.chunk)
            farthest_end = {parsed.chunk, parsed.end};
        else if (parsed.chunk == farthest_end.chunk)
            farthest_end.offset = std::max(farthest_end.offset, parsed.end);
    }

    // Copies what the record has of the piece, or asks for it to be read.
    void take(const ReadPiece& piece, const ParsedKey& parsed, const Record& record,
              std::vector<BulkRead>& reads)
    {
        const std::uint64_t start = parsed.end - record.length;
        const std::uint64_t from = std::max(start, piece.begin);
        const std::uint64_t to = std::min(parsed.end, piece.end);
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

    // A hole may be an extent whose key was damaged, and which lies before or behind those that were walked.
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
    std::vector<std::string> named_; // the extents to be read, for messages
};

std::uint64_t size_in_bytes(const ObjectAccess& object, const ArrayShape& shape, Epoch epoch)
{
    std::vector<std::uint64_t> ends(object.placement.groups());
    object.target(0).at_once(ends.size(), [&](std::size_t group) {
        ends[group] = from_copies(object.placement.group(static_cast<unsigned>(group)), [&](unsigned index) {
            const auto here = look_at(object.target(index), [&](ReadTransaction& transaction) {
                return end_on_target(object, index, transaction, shape, epoch);
            });
            object.target(index).count({0, 1, 0, 0});
            return here;
        });
    });
    return *std::ranges::max_element(ends);
}

} // namespace

ReadResult Container::array_read(const ObjectId& oid, const ArrayAttributes& attributes,
                                 std::span<const Range> ranges, std::span<const MutableBytes> memory,
                                 Epoch epoch, Verify verify, Ends ends)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const ArrayShape shape(object, attributes);
    const Request<MutableBytes> request(object, shape, ranges, memory);
    ReadResult result;
    std::uint64_t known_end = 0;
    std::mutex guard; // of both
    request.for_each_group(object, [&](unsigned group, std::span<const ReadPiece> pieces) {
        from_copies(object.placement.group(group), [&](unsigned index) {
            GroupRead read(object, pieces, index, epoch, verify);
            read.run(pool_->access() == Access::read_write);
            const std::lock_guard lock(guard);
            result.bytes += read.bytes;
            known_end = std::max(known_end, read.farthest_end.chunk * shape.chunk + read.farthest_end.offset);
            return 0;
        });
    });
    if (ends == Ends::untold) return result;
    if (known_end >= request.highest && request.bytes != 0) return result; // no range reaches beyond the end
    const std::uint64_t size = std::max(known_end, size_in_bytes(object, shape, epoch)) / shape.cell;
    for (const Range& range : ranges) {
        const std::uint64_t end = range.index + range.length;
        if (end > size) result.cells_short += end - std::max(size, range.index);
    }
    return result;
}

std::uint64_t Container::array_size(const ObjectId& oid, const ArrayAttributes& attributes, Epoch epoch)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const ArrayShape shape(object, attributes);
    return size_in_bytes(object, shape, epoch) / shape.cell;
}

} // namespace stepstore::store

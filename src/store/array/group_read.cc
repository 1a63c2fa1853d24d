#include "store/array/group_read.h"

#include <algorithm>

namespace stepstore::store {

namespace {

std::string extent_text(const ParsedKey& parsed, std::uint64_t start)
{
    return "chunk " + std::to_string(parsed.chunk) + ", extent of bytes " + std::to_string(start) + " to " +
           std::to_string(parsed.end);
}

} // namespace

std::vector<FoundExtent> joined(std::vector<FoundExtent> found, bool births)
{
    std::ranges::sort(found, {}, &FoundExtent::begin);
    std::vector<FoundExtent> all;
    for (const FoundExtent& one : found) {
        if (!all.empty() && all.back().end == one.begin && (!births || all.back().birth == one.birth))
            all.back().end = one.end;
        else
            all.push_back(one);
    }
    return all;
}

void GroupRead::run(bool may_write)
{
    read_with_bulk(
        object_.target(target_), may_write, verify_,
        [&](ReadTransaction& transaction, std::vector<BulkRead>& reads) {
            expect(transaction);
            object_.require_epoch(transaction, target_, epoch_);
            find(transaction, reads);
        },
        [&](std::size_t index, Unread why) { object_.unread(target_, named_[index], why); }, &object_.core);
    object_.target(target_).count({0, 1, 0, bytes});
}

void GroupRead::find(ReadTransaction& transaction, std::vector<BulkRead>& reads,
                     std::vector<FoundExtent>* found, std::size_t most_found)
{
    bytes = 0;
    named_.clear();
    found_ = found;
    most_found_ = most_found;
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
        if (!piece.memory.empty()) Scattered(piece.memory).zero(0, piece.length());
        walk_at_epoch(live, piece, Space::live, reads);
        walk_at_epoch(history, piece, Space::history, reads);
        if (!short_of()) continue;
        require_hole(live, piece);
        require_hole(history, piece);
    }
}

// The first records that it is going to look at.
void GroupRead::expect(ReadTransaction& transaction)
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

void GroupRead::walk_latest(Entries& entries, const ReadPiece& piece, std::vector<BulkRead>& reads)
{
    const auto zero = [&](std::uint64_t from, std::uint64_t to) {
        if (!piece.memory.empty()) Scattered(piece.memory).zero(from - piece.begin, to - from);
    };
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
        if (start > filled) zero(filled, start);
        take(piece, parsed, record, end, reads);
        filled = end;
        if (filled == piece.end || (found_ != nullptr && found_->size() >= most_found_)) return;
    }
    zero(filled, piece.end);
}

void GroupRead::walk_at_epoch(Entries& entries, const ReadPiece& piece, Space space,
                              std::vector<BulkRead>& reads)
{
    for (Entry entry; entries.next(entry);) {
        ParsedKey parsed;
        Record record;
        parse(entry, parsed, record);
        if (!visible_at(parsed, record, epoch_)) continue;
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

void GroupRead::parse(const Entry& entry, ParsedKey& parsed, Record& record)
{
    const char* reason = parse_entry(entry, parsed, record);
    if (reason == nullptr && record.length > parsed.end) reason = "the extent begins before its chunk";
    if (reason == nullptr) return;
    object_.damaged(target_,
                    "the extent that ends at chunk " + std::to_string(parsed.chunk) + ", byte " +
                        std::to_string(parsed.end),
                    reason);
}

// Where the part of the record that a read may have ends.
std::uint64_t GroupRead::end_of(const ParsedKey& parsed, const Record& record) const
{
    const std::uint64_t left =
        removal_ == nullptr ? UINT64_MAX : removal_->left_of(parsed.chunk, record.birth);
    return std::min(parsed.end, left);
}

// Copies what the record has of the piece up to `to`, or asks for it to be read.
void GroupRead::take(const ReadPiece& piece, const ParsedKey& parsed, const Record& record, std::uint64_t to,
                     std::vector<BulkRead>& reads)
{
    const std::uint64_t start = parsed.end - record.length;
    const std::uint64_t from = std::max(start, piece.begin);
    bytes += to - from;
    if (found_ != nullptr) found_->push_back({from, to, record.birth});
    if (piece.memory.empty()) return; // only to be found
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
void GroupRead::require_hole(const Entries& walked, const ReadPiece& piece)
{
    if (const char* reason = walked.damage_beside()) {
        object_.damaged_beside(target_,
                               "an extent in chunk " + std::to_string(piece.chunk) + ", bytes " +
                                   std::to_string(piece.begin) + " to " + std::to_string(piece.end),
                               reason);
    }
}

} // namespace stepstore::store

#include "store/record.h"

#include "base/checksum.h"
#include "base/wire.h"

#include <algorithm>

namespace stepstore::store {

namespace {

constexpr std::size_t header_size = 20;
constexpr std::size_t inline_size = 8;  // of what lies between the long key and an inline payload
constexpr std::size_t extent_size = 32; // between it and the checksums of the blocks

// `covered`: from byte 8 up to an inline payload, of which the length is covered too.
std::uint64_t header_sum(Bytes key, Bytes covered, std::uint64_t inline_length)
{
    return checksum(covered, checksum(key) + inline_length);
}

std::size_t long_key_size(const std::byte* value)
{
    return load_little<std::uint32_t>(value + 16) >> 8;
}

// Bytes from the long key on, up to an inline payload.
std::size_t body_size(RecordType type, std::size_t long_key, std::size_t sums)
{
    switch (type) {
    case RecordType::inlined: return long_key + inline_size;
    case RecordType::bulk: return long_key + extent_size + sums;
    case RecordType::marker:
    case RecordType::lost: break;
    }
    return long_key;
}

// What lies after the long key. nullptr, or what is wrong with it.
const char* parse_body(Bytes body, Record& record)
{
    switch (record.type) {
    case RecordType::inlined:
        if (body.size() < inline_size) return "the record is shorter than its type says";
        record.payload_sum = load_little<std::uint64_t>(body.data());
        record.payload = body.subspan(inline_size);
        record.length = record.payload.size();
        return nullptr;
    case RecordType::bulk: {
        if (body.size() < extent_size) return "the record is shorter than its type says";
        record.length = load_little<std::uint64_t>(body.data());
        record.extent = {load_little<std::uint64_t>(body.data() + 8),
                         load_little<std::uint64_t>(body.data() + 16), record.length};
        const auto shift = load_little<std::uint64_t>(body.data() + 24);
        if (shift < least_block_shift || shift > 48) return "the record's block size is out of bounds";
        if (record.length > static_cast<std::uint64_t>(INT64_MAX))
            return "the record's length is out of bounds";
        record.block_shift = static_cast<unsigned>(shift);
        record.sums = body.subspan(extent_size);
        if (record.sums.size() % 8 != 0 ||
            block_count(record.length, record.block_shift) != record.sums.size() / 8)
            return "the record's number of block checksums differs from what its header says";
        return nullptr;
    }
    case RecordType::marker: return body.empty() ? nullptr : "an end marker has a payload";
    case RecordType::lost: return nullptr;
    }
    return "the record's type is not known";
}

} // namespace

const char* parse_record(Bytes key, Bytes value, Record& record)
{
    if (value.size() < header_size) return "the record is shorter than its header";
    record.birth = load_little<std::uint64_t>(value.data() + 8);
    record.type = static_cast<RecordType>(value[16]);
    record.length = 0;
    record.payload_sum = 0;
    const Bytes body = value.subspan(header_size);
    const std::size_t long_key = long_key_size(value.data());
    if (long_key > body.size()) return "the record is shorter than its header says";
    record.long_key = body.first(long_key);
    if (const char* reason = parse_body(body.subspan(long_key), record)) return reason;
    const std::size_t covered = record.type == RecordType::lost
                                    ? value.size()
                                    : header_size + body_size(record.type, long_key, record.sums.size());
    if (load_little<std::uint64_t>(value.data()) !=
        header_sum(key, value.subspan(8, covered - 8), value.size() - covered)) {
        return "the checksum of the record's key and header does not match";
    }
    return record.type == RecordType::lost ? was_damaged : nullptr;
}

bool payload_intact(const Record& record)
{
    return record.type != RecordType::inlined || checksum(record.payload) == record.payload_sum;
}

std::size_t NewRecord::stored_size() const
{
    return header_size + body_size(type, long_key.size(), sums.size()) +
           (type == RecordType::inlined ? length : 0);
}

void NewRecord::encode(Bytes key, MutableBytes to) const
{
    std::byte* at = to.data();
    store_little(at + 8, birth);
    store_little(at + 16,
                 static_cast<std::uint32_t>(long_key.size() << 8) | static_cast<std::uint32_t>(type));
    at += header_size;
    const auto copy = [&at](Bytes bytes) {
        if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
        at += bytes.size();
    };
    const auto number = [&at](std::uint64_t value) {
        store_little(at, value);
        at += 8;
    };
    copy(long_key);
    if (type == RecordType::inlined) number(payload_sum);
    if (type == RecordType::bulk) {
        number(length);
        number(extent.file);
        number(extent.offset);
        number(block_shift);
        copy(sums);
    }
    const Bytes covered(to.data() + 8, at);
    store_little(to.data(), header_sum(key, covered, to.size() - 8 - covered.size()));
    if (type == RecordType::inlined)
        for (const Bytes& piece : pieces)
            copy(piece);
}

std::vector<std::byte> lost_record(Bytes key, Bytes damaged)
{
    std::vector<std::byte> value(header_size + damaged.size());
    store_little(value.data() + 16, static_cast<std::uint32_t>(RecordType::lost));
    if (!damaged.empty()) std::memcpy(value.data() + header_size, damaged.data(), damaged.size());
    store_little(value.data(), header_sum(key, Bytes(value).subspan(8), 0));
    return value;
}

void rekey(Bytes new_key, MutableBytes value)
{
    const auto type = static_cast<RecordType>(value[16]);
    const std::size_t covered = type == RecordType::inlined
                                    ? header_size + body_size(type, long_key_size(value.data()), 0)
                                    : value.size();
    store_little(value.data(),
                 header_sum(new_key, Bytes(value).subspan(8, covered - 8), value.size() - covered));
}

unsigned block_shift_for(std::uint64_t length)
{
    unsigned shift = least_block_shift;
    while (shift < 16 && block_count(length, shift) > 64)
        ++shift;
    while (block_count(length, shift) > 16384)
        ++shift;
    return shift;
}

std::uint64_t checksum_of(std::span<const Bytes> pieces)
{
    if (pieces.size() == 1) return checksum(pieces.front());
    if (pieces.empty()) return checksum({});
    ChecksumStream stream;
    for (const Bytes& piece : pieces)
        stream.update(piece);
    return stream.digest();
}

void append_block_sums(std::span<const Bytes> pieces, unsigned shift, std::vector<std::byte>& sums)
{
    const std::uint64_t block = std::uint64_t{1} << shift;
    WireWriter to(sums);
    std::vector<Bytes> partial; // of a block that spans pieces
    std::uint64_t filled = 0;
    for (Bytes piece : pieces) {
        while (!piece.empty()) {
            const auto take = std::min<std::uint64_t>(block - filled, piece.size());
            partial.push_back(piece.first(take));
            piece = piece.subspan(take);
            filled += take;
            if (filled == block) {
                to.fixed(checksum_of(partial));
                partial.clear();
                filled = 0;
            }
        }
    }
    if (filled != 0) to.fixed(checksum_of(partial));
}

} // namespace stepstore::store

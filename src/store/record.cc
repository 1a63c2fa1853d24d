#include "store/record.h"

#include "base/checksum.h"
#include "store/keys.h"

#include <algorithm>

namespace stepstore::store {

namespace {

constexpr std::size_t header_size = 40;
constexpr std::size_t extent_size = 16;

// `rest`: what lies between the fixed header and an inline payload.
std::uint64_t header_sum(Bytes key, const std::byte* value, Bytes rest)
{
    std::byte all[ReadTransaction::max_key + header_size + 8];
    std::memcpy(all, key.data(), key.size());
    std::memcpy(all + key.size(), value + 8, header_size - 8);
    store_little(all + key.size() + header_size - 8, rest.empty() ? std::uint64_t{0} : checksum(rest));
    return checksum({all, key.size() + header_size});
}

std::size_t rest_size(RecordType type, std::size_t long_key, std::size_t sums)
{
    return long_key + (type == RecordType::bulk ? extent_size + sums : 0);
}

} // namespace

const char* parse_record(Bytes key, Bytes value, Record& record)
{
    if (value.size() < header_size) return "the record is shorter than its header";
    const std::byte* at = value.data();
    record.type = static_cast<RecordType>(at[8]);
    record.block_shift = static_cast<unsigned>(at[9]);
    const std::size_t long_key = load_little<std::uint32_t>(at + 12);
    record.length = load_little<std::uint64_t>(at + 16);
    record.birth = load_little<std::uint64_t>(at + 24);
    record.payload_sum = load_little<std::uint64_t>(at + 32);
    const Bytes body = value.subspan(header_size);
    if (long_key > body.size()) return "the record is shorter than its header says";
    record.long_key = body.first(long_key);
    const Bytes after_key = body.subspan(long_key);
    Bytes rest = record.long_key;
    switch (record.type) {
    case RecordType::inlined:
        if (record.length != after_key.size()) return "the record's length differs from what its header says";
        record.payload = after_key;
        break;
    case RecordType::bulk: {
        if (record.block_shift < 16 || record.block_shift > 48) return "the record's block size is out of bounds";
        const auto blocks = block_count(record.length, record.block_shift);
        if (after_key.size() < extent_size || blocks != (after_key.size() - extent_size) / 8 ||
            after_key.size() % 8 != 0) {
            return "the record's number of block checksums differs from what its header says";
        }
        record.extent = {load_little<std::uint64_t>(after_key.data()), load_little<std::uint64_t>(after_key.data() + 8),
                         record.length};
        record.sums = after_key.subspan(extent_size);
        rest = body;
        break;
    }
    case RecordType::marker:
        if (record.length != 0 || !after_key.empty()) return "an end marker has a payload";
        break;
    default: return "the record's type is not known";
    }
    if (load_little<std::uint64_t>(at) != header_sum(key, at, rest)) {
        return "the checksum of the record's key and header does not match";
    }
    return nullptr;
}

bool payload_intact(const Record& record)
{
    return record.type != RecordType::inlined || checksum(record.payload) == record.payload_sum;
}

std::size_t NewRecord::stored_size() const
{
    return header_size + rest_size(type, long_key.size(), sums.size()) + (type == RecordType::inlined ? length : 0);
}

void NewRecord::encode(Bytes key, MutableBytes to) const
{
    std::byte header[header_size] = {};
    header[8] = static_cast<std::byte>(type);
    header[9] = static_cast<std::byte>(block_shift);
    store_little(header + 12, static_cast<std::uint32_t>(long_key.size()));
    store_little(header + 16, length);
    store_little(header + 24, birth);
    store_little(header + 32, type == RecordType::inlined ? payload_sum : 0);
    std::byte* at = to.data() + header_size;
    const auto copy = [&at](Bytes bytes) {
        if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
        at += bytes.size();
    };
    copy(long_key);
    if (type == RecordType::bulk) {
        store_little(at, extent.file);
        store_little(at + 8, extent.offset);
        at += extent_size;
        copy(sums);
    }
    const Bytes rest(to.data() + header_size, at);
    store_little(header, header_sum(key, header, rest));
    std::memcpy(to.data(), header, header_size);
    if (type == RecordType::inlined) {
        for (const Bytes& piece : pieces)
            copy(piece);
    }
}

void rekey(Bytes new_key, MutableBytes value)
{
    const auto type = static_cast<RecordType>(value[8]);
    const std::size_t long_key = load_little<std::uint32_t>(value.data() + 12);
    const Bytes body = value.subspan(header_size);
    const Bytes rest = type == RecordType::bulk ? body : body.first(long_key);
    store_little(value.data(), header_sum(new_key, value.data(), rest));
}

unsigned block_shift_for(std::uint64_t length)
{
    unsigned shift = 16;
    while (length >> shift > 16384)
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
    const auto add = [&sums](std::uint64_t sum) {
        sums.resize(sums.size() + 8);
        store_little(sums.data() + sums.size() - 8, sum);
    };
    std::vector<Bytes> partial; // of a block that spans pieces
    std::uint64_t filled = 0;
    for (Bytes piece : pieces) {
        while (!piece.empty()) {
            const auto take = std::min<std::uint64_t>(block - filled, piece.size());
            partial.push_back(piece.first(take));
            piece = piece.subspan(take);
            filled += take;
            if (filled == block) {
                add(checksum_of(partial));
                partial.clear();
                filled = 0;
            }
        }
    }
    if (filled != 0) add(checksum_of(partial));
}

} // namespace stepstore::store

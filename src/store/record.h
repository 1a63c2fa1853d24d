// The value of a record (docs/format.md): a header, the whole key where it is a long one, and the payload or
// where it lies.
//
//   0   8  checksum of bytes 8 and on, up to an inline payload; its seed is the checksum of the record's key
//          plus the length of an inline payload
//   8   8  the epoch of the update that wrote it
//   16  1  type: 1 inline, 2 bulk, 3 end marker, 4 lost
//   17  3  length of the long key, 0 where the record's key says it all
//   20     long key, then
//          - inline: checksum of the payload (8), the payload
//          - bulk: length of the payload (8), file (8), offset (8), log2 of the block size (8), and a
//            checksum (8) of each block of the payload
//          - lost: the damaged record as it was. It was replaced when a snapshot may have needed it.
//
// Little-endian. A flipped bit anywhere in key or value, and a record in a place that is not its own, fail a
// checksum. A listing or a partial read of a bulk extent verifies what it uses and need not touch the rest.
//
// Threads: any; pure. Errors: none of its own; parse_record() says what is wrong.
#pragma once

#include "store/backend.h"
#include "store/keys.h"
#include "store/types.h"

#include <cstdint>
#include <span>
#include <vector>

namespace stepstore::store {

// Payloads of at least this size go to extent files, straight from the caller's memory
// (docs/design/store.md).
inline constexpr std::uint64_t bulk_threshold = 64 << 10;

enum class RecordType : std::uint8_t { inlined = 1, bulk = 2, marker = 3, lost = 4 };

// A record read from a target: views into the transaction.
struct Record {
    RecordType type{};
    unsigned block_shift = 0;
    std::uint64_t length = 0;
    Epoch birth = 0;
    std::uint64_t payload_sum = 0;
    Bytes long_key;
    Bytes payload;    // inline
    ExtentRef extent; // bulk
    Bytes sums;       // bulk, 8 bytes each
};

// Verifies the header and takes the value apart. nullptr, or what is wrong with it.
const char* parse_record(Bytes key, Bytes value, Record& record);
// The same of an entry, with its key.
inline const char* parse_entry(const Entry& entry, ParsedKey& parsed, Record& record)
{
    return parse_key(entry.key, parsed) ? parse_record(entry.key, entry.value, record)
                                        : "the record's key is malformed";
}
// Whether a record, live or in history, is a part of the object at the epoch.
inline bool visible_at(const ParsedKey& parsed, const Record& record, Epoch epoch)
{
    return record.birth <= epoch && (parsed.space == Space::live || epoch < parsed.death);
}
// What it says of a lost record, which is intact and lies in its place.
inline constexpr char was_damaged[] = "it was damaged before it was replaced";
// Inline payloads only.
bool payload_intact(const Record& record);

// A record to be written. What the spans refer to must live until encode().
struct NewRecord {
    RecordType type = RecordType::inlined;
    unsigned block_shift = 0;
    Epoch birth = 0;
    std::uint64_t length = 0;
    std::uint64_t payload_sum = 0; // inline
    Bytes long_key;
    std::span<const Bytes> pieces; // inline: the payload
    ExtentRef extent;              // bulk
    Bytes sums;                    // bulk

    std::size_t stored_size() const;
    // Fills `to`, of stored_size() bytes.
    void encode(Bytes key, MutableBytes to) const;
};

// The value of a lost record under this key, from that of the damaged one.
std::vector<std::byte> lost_record(Bytes key, Bytes damaged);

// Gives the value of a record the checksum it needs under another key (when it moves to history).
void rekey(Bytes new_key, MutableBytes value);

// ---- blocks of a bulk payload. A block is verified whole, so it is the least that is read. Small payloads
// have small blocks, at most 64 of them. From 64 KiB on blocks keep their size, so that their checksums cost
// nothing, up to 16,384 in a record.
inline constexpr unsigned least_block_shift = 12; // not less than the alignment of extents
unsigned block_shift_for(std::uint64_t length);
inline std::uint64_t block_count(std::uint64_t length, unsigned shift)
{
    return (length >> shift) + ((length & ((std::uint64_t{1} << shift) - 1)) != 0 ? 1 : 0);
}
std::uint64_t checksum_of(std::span<const Bytes> pieces);
// The block checksums, as they are stored, of a payload that consists of `pieces`.
void append_block_sums(std::span<const Bytes> pieces, unsigned shift, std::vector<std::byte>& sums);

} // namespace stepstore::store

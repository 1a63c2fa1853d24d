#include "steps/metadata/blob.h"

#include "base/checksum.h"
#include "steps/compression.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::size_t checksum_at = 104;

// The header's fields in their order: one list for storing and loading.
template <class Header, class Each>
void each_field(Header& h, Each&& each)
{
    each(0, h.magic);
    each(6, h.flags);
    each(8, h.generation);
    each(16, h.step);
    each(24, h.rank);
    each(28, h.batches);
    each(32, h.definitions_step);
    each(40, h.plan_step);
    each(48, h.data_base);
    each(56, h.data_length);
    each(64, h.definitions_bytes);
    each(68, h.plan_bytes);
    each(72, h.override_bytes);
    each(76, h.fixed_bytes);
    each(80, h.tail_bytes);
    each(84, h.entries);
    each(88, h.length);
    each(96, h.payload_checksum);
}

// What the header alone says. whole: the header is, and the blob's length fits.
BlobState inspect_header(Bytes at, BlobHeader& header)
{
    if (at.size() < blob_header_size) return BlobState::absent;
    const Bytes head = at.first(blob_header_size);
    if (std::all_of(head.begin(), head.end(), [](std::byte b) { return b == std::byte{0}; }))
        return BlobState::absent;
    if (load_little<std::uint64_t>(head.data() + checksum_at) != checksum(head.first(checksum_at)))
        return BlobState::header_damaged;
    each_field(header, [&](std::size_t offset, auto& value) {
        value = load_little<std::remove_reference_t<decltype(value)>>(head.data() + offset);
    });
    if (header.magic != blob_magic && header.magic != overflow_magic) return BlobState::header_damaged;
    const auto version = load_little<std::uint16_t>(head.data() + 4);
    if (version > blob_version)
        throw Error(-DER_DF_INCOMPT, "the blob of " + step_rank(header.step, header.rank) +
                                         " has format version " + std::to_string(version) +
                                         "; this library reads up to version " +
                                         std::to_string(blob_version) + ": use a newer Stepstore");
    if (header.magic == overflow_magic) return BlobState::whole;
    if (header.length < blob_header_size) return BlobState::header_damaged;
    return at.size() < header.length ? BlobState::incomplete : BlobState::whole;
}

} // namespace

std::string step_rank(std::uint64_t step, std::uint32_t rank)
{
    return "step " + std::to_string(step) + ", rank " + std::to_string(rank);
}

std::string copy_key(std::uint64_t step, std::uint32_t rank, BlobPart part)
{
    return "Step" + std::to_string(step) + "-Rank" + std::to_string(rank) +
           (part == BlobPart::definitions ? "-Definitions" : "-Plan");
}

void store_header(const BlobHeader& header, MutableBytes at)
{
    each_field(header, [&](std::size_t offset, auto value) { store_little(at.data() + offset, value); });
    const bool plain = (header.flags & (blob_compressed | blob_placed | blob_singles)) == 0;
    const int version = (header.flags & blob_structures) != 0 ? 4
                        : (header.flags & blob_inline) != 0   ? 3
                        : plain                               ? 1
                                                              : 2;
    store_little(at.data() + 4, static_cast<std::uint16_t>(version));
    store_little(at.data() + checksum_at, checksum(Bytes(at.data(), checksum_at)));
}

void seal_blob(BlobHeader& header, MutableBytes blob)
{
    header.length = blob.size();
    header.payload_checksum = checksum(Bytes(blob).subspan(blob_header_size));
    store_header(header, blob);
}

BlobState inspect_blob(Bytes at, BlobHeader& header)
{
    const BlobState state = inspect_header(at, header);
    if (state != BlobState::whole || header.magic == overflow_magic) return state;
    const Bytes payload = at.subspan(blob_header_size, header.length - blob_header_size);
    return checksum(payload) == header.payload_checksum ? BlobState::whole : BlobState::payload_damaged;
}

BlobHeader header_of(Bytes blob)
{
    BlobHeader header;
    if (inspect_header(blob, header) != BlobState::whole)
        throw Error(-DER_CSUM, "the memory of a metadata blob was changed after it had been read");
    return header;
}

BlobHeader open_blob(Bytes blob, std::uint64_t generation, std::uint64_t step, std::uint32_t rank)
{
    BlobHeader header;
    const BlobState state = inspect_blob(blob, header);
    require_blob(state, header, generation, step, rank);
    return header;
}

void require_blob(BlobState state, const BlobHeader& header, std::uint64_t generation, std::uint64_t step,
                  std::uint32_t rank)
{
    if (state == BlobState::whole && header.magic == blob_magic && header.step == step &&
        header.rank == rank && header.generation == generation)
        return;
    const std::string name = "the metadata blob of " + step_rank(step, rank);
    if (state != BlobState::whole || header.magic != blob_magic)
        throw Error(-DER_CSUM,
                    name + " is damaged (" +
                        (state == BlobState::absent           ? "its place holds nothing"
                         : state == BlobState::incomplete     ? "it ends too early"
                         : state == BlobState::header_damaged ? "its header's checksum does not match"
                                                              : "its checksum does not match") +
                        "): this step cannot be read; other steps can");
    throw Error(-DER_DF_INVAL, name + " says that it is that of " + step_rank(header.step, header.rank) +
                                   " of generation " + std::to_string(header.generation) +
                                   ", not of generation " + std::to_string(generation) +
                                   ": it was written to a wrong place");
}

BlobSections sections_of(const BlobHeader& header, Bytes blob, std::vector<std::byte>& unpacked)
{
    const std::uint64_t sum = std::uint64_t{header.definitions_bytes} + header.plan_bytes +
                              header.override_bytes + header.fixed_bytes + header.tail_bytes;
    const bool compressed = (header.flags & blob_compressed) != 0;
    if (header.length > blob.size() || header.length < blob_header_size ||
        (compressed ? sum / most_shrinking > header.length : sum != header.length - blob_header_size))
        throw Error(-DER_DF_INVAL, "the sections of the metadata blob of " +
                                       step_rank(header.step, header.rank) +
                                       " do not add up to its length: the blob is damaged");
    Bytes payload = blob.subspan(blob_header_size, header.length - blob_header_size);
    if (compressed) {
        unpacked.resize(sum);
        decompress(Codec::zstd, payload, unpacked,
                   "the metadata blob of " + step_rank(header.step, header.rank));
        payload = unpacked;
    }
    BlobSections sections;
    std::size_t at = 0;
    const auto take = [&](std::uint32_t length) {
        const Bytes part = payload.subspan(at, length);
        at += length;
        return part;
    };
    sections.definitions = take(header.definitions_bytes);
    sections.plan = take(header.plan_bytes);
    sections.overrides = take(header.override_bytes);
    sections.fixed = take(header.fixed_bytes);
    sections.tail = take(header.tail_bytes);
    return sections;
}

} // namespace stepstore::steps

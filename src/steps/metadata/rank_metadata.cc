#include "steps/metadata/rank_metadata.h"

#include "base/checksum.h"
#include "steps/compression.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::size_t checksum_at = 104;
constexpr std::size_t sum_length = 4; // bytes of the length of the checksums of data

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

// What the header alone says. whole: the header is, and the metadata's length fits.
MetadataState inspect_header(Bytes at, MetadataHeader& header)
{
    if (at.size() < metadata_header_size) return MetadataState::absent;
    const Bytes head = at.first(metadata_header_size);
    if (std::all_of(head.begin(), head.end(), [](std::byte b) { return b == std::byte{0}; }))
        return MetadataState::absent;
    if (load_little<std::uint64_t>(head.data() + checksum_at) != checksum(head.first(checksum_at)))
        return MetadataState::header_damaged;
    each_field(header, [&](std::size_t offset, auto& value) {
        value = load_little<std::remove_reference_t<decltype(value)>>(head.data() + offset);
    });
    if (header.magic != metadata_magic && header.magic != overflow_magic)
        return MetadataState::header_damaged;
    const auto version = load_little<std::uint16_t>(head.data() + 4);
    if (version > metadata_version)
        throw Error(-DER_DF_INCOMPT, "the metadata of " + step_rank(header.step, header.rank) +
                                         " has format version " + std::to_string(version) +
                                         "; this library reads up to version " +
                                         std::to_string(metadata_version) + ": use a newer Stepstore");
    if (header.magic == overflow_magic) return MetadataState::whole;
    if (header.length < metadata_header_size) return MetadataState::header_damaged;
    return at.size() < header.length ? MetadataState::incomplete : MetadataState::whole;
}

} // namespace

std::string step_rank(std::uint64_t step, std::uint32_t rank)
{
    return "step " + std::to_string(step) + ", rank " + std::to_string(rank);
}

std::string copy_key(std::uint64_t step, std::uint32_t rank, MetadataPart part)
{
    return "Step" + std::to_string(step) + "-Rank" + std::to_string(rank) +
           (part == MetadataPart::definitions ? "-Definitions" : "-Plan");
}

std::string copy_key(const MetadataHeader& copy)
{
    return copy_key(copy.step, copy.rank,
                    copy.plan_bytes > 0 ? MetadataPart::plan : MetadataPart::definitions);
}

void store_header(const MetadataHeader& header, MutableBytes at)
{
    each_field(header, [&](std::size_t offset, auto value) { store_little(at.data() + offset, value); });
    const bool plain = (header.flags & (metadata_compressed | metadata_placed | metadata_singles)) == 0;
    const int version = (header.flags & metadata_bundle) != 0       ? 6
                        : (header.flags & metadata_sums) != 0       ? 5
                        : (header.flags & metadata_structures) != 0 ? 4
                        : (header.flags & metadata_inline) != 0     ? 3
                        : plain                                     ? 1
                                                                    : 2;
    store_little(at.data() + 4, static_cast<std::uint16_t>(version));
    store_little(at.data() + checksum_at, checksum(Bytes(at.data(), checksum_at)));
}

void seal_metadata(MetadataHeader& header, MutableBytes metadata)
{
    header.length = metadata.size();
    header.payload_checksum = checksum(Bytes(metadata).subspan(metadata_header_size));
    store_header(header, metadata);
}

MetadataState inspect_metadata(Bytes at, MetadataHeader& header)
{
    const MetadataState state = inspect_header(at, header);
    if (state != MetadataState::whole || header.magic == overflow_magic) return state;
    const Bytes payload = at.subspan(metadata_header_size, header.length - metadata_header_size);
    return checksum(payload) == header.payload_checksum ? MetadataState::whole
                                                        : MetadataState::payload_damaged;
}

MetadataHeader header_of(Bytes metadata)
{
    MetadataHeader header;
    if (inspect_header(metadata, header) != MetadataState::whole)
        throw Error(-DER_CSUM, "the memory of a rank's metadata was changed after it had been read");
    return header;
}

MetadataHeader open_metadata(Bytes metadata, std::uint64_t generation, std::uint64_t step, std::uint32_t rank)
{
    MetadataHeader header;
    const MetadataState state = inspect_metadata(metadata, header);
    require_metadata(state, header, generation, step, rank);
    return header;
}

void require_metadata(MetadataState state, const MetadataHeader& header, std::uint64_t generation,
                      std::uint64_t step, std::uint32_t rank)
{
    require_metadata(state, header, generation, step, rank, step_rank(step, rank));
}

void require_metadata(MetadataState state, const MetadataHeader& header, std::uint64_t generation,
                      std::uint64_t step, std::uint32_t rank, const std::string& named)
{
    if (state == MetadataState::whole && header.magic == metadata_magic && header.step == step &&
        header.rank == rank && header.generation == generation)
        return;
    const std::string name = "the metadata of " + named;
    if (state != MetadataState::whole || header.magic != metadata_magic)
        throw Error(-DER_CSUM,
                    name + " is damaged (" +
                        (state == MetadataState::absent           ? "its place holds nothing"
                         : state == MetadataState::incomplete     ? "it ends too early"
                         : state == MetadataState::header_damaged ? "its header's checksum does not match"
                                                                  : "its checksum does not match") +
                        "): this step cannot be read; other steps can");
    throw Error(-DER_DF_INVAL, name + " says that it is that of " + step_rank(header.step, header.rank) +
                                   " of generation " + std::to_string(header.generation) +
                                   ", not of generation " + std::to_string(generation) +
                                   ": it was written to a wrong place");
}

MetadataSections sections_of(const MetadataHeader& header, Bytes metadata, std::vector<std::byte>& unpacked)
{
    const std::uint64_t sum = std::uint64_t{header.definitions_bytes} + header.plan_bytes +
                              header.override_bytes + header.fixed_bytes + header.tail_bytes;
    const bool compressed = (header.flags & metadata_compressed) != 0;
    if (header.length > metadata.size() || header.length < metadata_header_size ||
        (compressed ? sum / most_shrinking > header.length : sum != header.length - metadata_header_size))
        throw Error(-DER_DF_INVAL, "the sections of the metadata of " + step_rank(header.step, header.rank) +
                                       " do not add up to its length: the metadata is damaged");
    Bytes payload = metadata.subspan(metadata_header_size, header.length - metadata_header_size);
    if (compressed) {
        unpacked.resize(sum);
        decompress(Codec::zstd, payload, unpacked, "the metadata of " + step_rank(header.step, header.rank));
        payload = unpacked;
    }
    MetadataSections sections;
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
    if ((header.flags & metadata_sums) == 0) return sections;
    const std::size_t whole = sections.tail.size();
    const std::uint64_t length =
        whole < sum_length ? UINT64_MAX
                           : load_little<std::uint32_t>(sections.tail.data() + (whole - sum_length));
    if (length > whole - std::min(whole, sum_length))
        throw Error(-DER_DF_INVAL, "the checksums in the metadata of " + step_rank(header.step, header.rank) +
                                       " are longer than their section: the metadata is damaged");
    sections.sums = sections.tail.subspan(whole - sum_length - length, length);
    sections.tail = sections.tail.first(whole - sum_length - length);
    return sections;
}

} // namespace stepstore::steps

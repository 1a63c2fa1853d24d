// The metadata of a rank: what it says about one step. A header of 112 bytes that describes and checks
// itself, then five sections. The bytes are specified in docs/format-stream.md.
// Threads: any; pure. Errors: -DER_CSUM, -DER_DF_INVAL, -DER_DF_INCOMPT, which name step and rank.
#pragma once

#include "base/bytes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::steps {

inline constexpr std::uint32_t metadata_magic = 0x4c425353; // "SSBL"
// "SSOV": stands in a slot for metadata that lies elsewhere
inline constexpr std::uint32_t overflow_magic = 0x564f5353;
// the newest that is read; written is the least that has the flags
inline constexpr std::uint16_t metadata_version = 6;
inline constexpr std::size_t metadata_header_size = 112;
inline constexpr std::uint64_t no_step = UINT64_MAX;

struct MetadataHeader {
    std::uint32_t magic = metadata_magic;
    std::uint16_t flags = 0; // the metadata_... below
    std::uint64_t generation = 0;
    std::uint64_t step = 0;
    std::uint32_t rank = 0;
    std::uint32_t batches = 0;                // definition batches of this rank up to this step
    std::uint64_t definitions_step = no_step; // whose metadata holds the last of them
    std::uint64_t plan_step = no_step;        // whose metadata holds the plan; no_step: the rank put nothing
    std::uint64_t data_base = 0;              // where this step's data begins in the rank's data array
    std::uint64_t data_length = 0;
    std::uint32_t definitions_bytes = 0;
    std::uint32_t plan_bytes = 0;
    std::uint32_t override_bytes = 0;
    std::uint32_t fixed_bytes = 0;
    std::uint32_t tail_bytes = 0;
    std::uint32_t entries = 0;
    std::uint64_t length = 0; // of all of it
    std::uint64_t payload_checksum = 0;
};
inline constexpr std::uint16_t metadata_statistics = 1;
inline constexpr std::uint16_t metadata_compressed =
    2;                                               // version 2: what follows the header is one zstd frame
inline constexpr std::uint16_t metadata_placed = 4;  // version 2: some blocks are placed (plan.h)
inline constexpr std::uint16_t metadata_singles = 8; // version 2: some blocks are single elements (plan.h)
// version 3: all single elements lie in the metadata alone (plan.h)
inline constexpr std::uint16_t metadata_inline = 16;
inline constexpr std::uint16_t metadata_structures = 32; // version 4: its definitions may hold structs
// version 5: the tail ends with checksums of the data, and their length (32 bits)
inline constexpr std::uint16_t metadata_sums = 64;
inline constexpr std::uint16_t metadata_bundle = 128; // version 6: that of several ranks (aggregation.h)

// Fills in the checksums; metadata: header and payload, of header.length bytes.
void seal_metadata(MetadataHeader& header, MutableBytes metadata);
// The same without a payload: only the header's own checksum.
void store_header(const MetadataHeader& header, MutableBytes at);

enum class MetadataState : std::uint8_t { absent, header_damaged, payload_damaged, incomplete, whole };

// Looks at what lies in the place of a rank's metadata. absent: fewer bytes than a header, or zeros.
// incomplete: header good, but `at` is shorter than the header's length. Throws -DER_DF_INCOMPT for a newer
// version.
MetadataState inspect_metadata(Bytes at, MetadataHeader& header);

// The header of intact metadata, or an Error that names step and rank.
MetadataHeader open_metadata(Bytes metadata, std::uint64_t generation, std::uint64_t step,
                             std::uint32_t rank);
// The same of metadata that was looked at already: what inspect_metadata has said of it.
void require_metadata(MetadataState state, const MetadataHeader& header, std::uint64_t generation,
                      std::uint64_t step, std::uint32_t rank);
// named: for messages, in the place of step and rank.
void require_metadata(MetadataState state, const MetadataHeader& header, std::uint64_t generation,
                      std::uint64_t step, std::uint32_t rank, const std::string& named);
// The header of metadata that was opened before, and did not change since: its payload is not checked again.
MetadataHeader header_of(Bytes metadata);

// "step 3, rank 1"
std::string step_rank(std::uint64_t step, std::uint32_t rank);

// What later steps may need of metadata.
enum class MetadataPart : std::uint8_t { definitions, plan };
// The key in the stream's side object of the copy of such a part: "Step<N>-Rank<R>-Definitions",
// "Step<N>-Rank<R>-Plan".
std::string copy_key(std::uint64_t step, std::uint32_t rank, MetadataPart part);
std::string copy_key(const MetadataHeader& copy); // of a copy with that header

struct MetadataSections {
    Bytes definitions, plan, overrides, fixed, tail;
    Bytes sums; // data_sums.h; empty: there are none
};
// unpacked: holds the sections of compressed metadata, as long as they are used. Throws -DER_DF_INVAL when
// the sections do not add up to the metadata, -DER_NOSYS when it is compressed and this build cannot undo
// that.
MetadataSections sections_of(const MetadataHeader& header, Bytes metadata, std::vector<std::byte>& unpacked);

} // namespace stepstore::steps

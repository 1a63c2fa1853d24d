// The metadata of neighbouring ranks that are stored together: a row of ranks, as layouts/aggregation.h has
// them. A header like that of one rank's metadata, with the row's number in the place of the rank; the
// lengths; and the metadata as they are. The bytes are specified in docs/format-stream.md.
// Threads: any; pure. Errors: -DER_DF_INVAL.
#pragma once

#include "steps/metadata/rank_metadata.h"

#include <functional>
#include <span>
#include <string>

namespace stepstore::steps {

// The bytes of a bundle beside the metadata in it.
std::uint64_t bundle_overhead(std::uint64_t ranks);

// metadata: of the row's ranks, in their order; empty: a rank has none.
std::vector<std::byte> bundle_of(std::uint64_t generation, std::uint64_t step, std::uint32_t row,
                                 std::span<const Bytes> metadata);

// bundle: whole, as inspect_metadata() says. named: step and ranks, called for a message. -DER_DF_INVAL: it
// has not the metadata of so many ranks.
std::vector<Bytes> metadata_in(Bytes bundle, const MetadataHeader& header, std::uint32_t ranks,
                               const std::function<std::string()>& named);

} // namespace stepstore::steps

// Metadata of neighbouring ranks that the first of them stores for all, as the writer's option
// ranks_per_aggregator says: fewer requests, and fewer objects, for more waiting.
//
// 1. The ranks of a row hand their metadata over to its first rank, the aggregator (hand_over.h).
// 2. It makes a bundle of them (metadata/bundle.h). The layout stores bundles as if each was the metadata of
//    a rank (record_of_rows). So what it promises of metadata holds for bundles.
// 3. Copies (LayoutWriter::store_copy) are handed over with the metadata, and stored before it, bundled too.
//
// Threads: one at a time for each rank. Errors: those of the layout; -DER_CSUM and -DER_DF_INVAL for bundles
// that are damaged.
#pragma once

#include "steps/layouts/layout.h"

namespace stepstore::steps {

// What a writer gets who does not say, in a pool in files that is written from several machines: rows of
// about 16 ranks where there are 1,024 or more, else 1. A row is part of a machine, or some machines
// (docs/design/steps.md).
std::uint32_t usual_ranks_per_aggregator(std::uint32_t ranks, std::uint32_t of_a_machine);

// As the layout is to see a segment whose rows of ranks are one rank each. Its slots have room for a bundle.
StreamRecord record_of_rows(const StreamRecord& record);

// Of a segment with record.ranks_per_aggregator > 1.
std::unique_ptr<LayoutWriter> aggregating_writer(const LayoutContext& context, Communicator& communicator);
std::unique_ptr<LayoutReader> aggregating_reader(const LayoutContext& context);

} // namespace stepstore::steps

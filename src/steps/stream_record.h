// The record of a stream: everything that a reader has to know before it reads a step, and its bytes
// (docs/format-stream.md).
// Threads: any; pure. Errors: -DER_CSUM, -DER_DF_INVAL, -DER_DF_INCOMPT, -DER_OVERFLOW.
#pragma once

#include "base/bytes.h"
#include "steps/types.h"
#include "stepstore/client.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

inline constexpr std::uint32_t stream_format = 2; // the greatest that is read; see DataStore::format
inline constexpr std::uint64_t most_chunk_size = std::uint64_t{1} << 40; // bytes
inline constexpr std::uint64_t no_generation = UINT64_MAX;

// How the group of a chunk follows from its number: base/dkey_group.h.
enum class GroupHash : std::uint8_t { stepstore, daos };

// The steps that one opening for writing brought, in objects of their own. A stream has one segment, and one
// more for every time that it was appended to.
struct Segment {
    // the first of its object numbers, so fresh for every segment of the container
    std::uint64_t generation = 0;
    std::uint64_t first_step = 0;
    std::uint64_t end_step = 0; // the first step that is not in it
    std::uint32_t ranks = 0;
    ObjectId side;
    ObjectId metadata;
    ObjectId data;
    std::string directory;
};

// Its own fields speak of the last segment, the one that is being written; `earlier` are the others. What
// reads or writes one segment is given a record of that segment alone (segment_record).
struct StreamRecord {
    std::uint64_t generation = 0; // of the last segment: fresh for every opening for writing
    // The generation that the stream began with: stays while it is appended to.
    std::uint64_t origin = no_generation;
    std::uint64_t first_step = 0; // of the last segment
    std::uint32_t format = 1;     // that it takes to read the stream: DataStore::format
    std::uint8_t layout = 0;      // its number: layouts/layout.h
    Objects objects = Objects::single;
    StepMode step_mode = StepMode::extend;
    Order order = Order::row_major;
    std::uint32_t ranks = 0;
    std::uint64_t chunk_size = 0;
    std::string object_class;
    std::uint64_t data_chunk_size = 0;
    std::string data_object_class;
    // Of targets that hold the chunks of the metadata array, where the layout chooses chunks by them; else 0.
    std::uint32_t groups = 0;
    // per_machine: so many ranks in a row have a metadata object together. Else 0.
    std::uint32_t ranks_per_object = 0;
    // So many ranks in a row hand their metadata over to the first (layouts/aggregation.h). 0: none does.
    std::uint32_t ranks_per_aggregator = 0;
    GroupHash group_hash = GroupHash::stepstore;
    ObjectId side;         // key-value: what the layout keeps there, agreements, copies, the profile
    ObjectId metadata;     // what the layout keeps there; the first of several: metadata_of
    ObjectId data;         // array of rank 0; rank r's lo is r more
    std::string directory; // where data lies in files: below the pool's directory
    bool closed = false;
    std::uint64_t steps = 0; // when closed
    std::string writer_host; // who wrote it: of rank 0
    std::uint64_t writer_process = 0;
    std::uint64_t created = 0;    // seconds since 1970
    std::vector<Segment> earlier; // by their steps, without gaps
    std::vector<Segment> dropped; // no part of the stream any more, but their objects may still be there

    bool in_place() const { return step_mode == StepMode::snapshot; }
    // Whether a metadata object has the bytes of one step at a time, which begin at byte 0.
    bool begins_at_0() const { return in_place() || objects == Objects::per_step; }
    // How many ranks in a row share each metadata object.
    std::uint32_t ranks_together() const;
    ObjectId data_of(std::uint32_t rank) const { return {data.hi, data.lo + rank}; }
    // Where a rank's metadata of a step lies. -DER_OVERFLOW: no object is left for the step.
    ObjectId metadata_of(std::uint64_t step, std::uint32_t rank) const;
};

// How many numbers a segment takes for metadata objects of its own, after those of the data: Objects.
std::uint64_t metadata_numbers(Objects objects, std::uint32_t ranks);
// Where a segment's steps lie: the last one's, or an earlier one's as a record that is closed after its last
// step.
Segment last_segment(const StreamRecord& record, std::uint64_t end_step);
// All that may have objects, the dropped ones too.
std::vector<Segment> segments_of(const StreamRecord& record);
StreamRecord segment_record(const StreamRecord& record, const Segment& segment);
// Of the segment that has the step; of the last one for steps that are not there yet.
StreamRecord segment_record_of(const StreamRecord& record, std::uint64_t step);

std::vector<std::byte> encode_record(const StreamRecord& record);
// -DER_DF_INVAL, naming `where`: no stream has its files there. They lie in files/CONTAINER/NUMBER, below the
// pool's directory.
void require_segment_directory(std::string_view directory, const std::string& where);
// where: for messages. -DER_CSUM, -DER_DF_INVAL: damaged; -DER_DF_INCOMPT: newer.
StreamRecord decode_record(Bytes bytes, const std::string& where);

} // namespace stepstore::steps

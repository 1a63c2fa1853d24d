// The catalogue of a container: one key-value object that maps a stream's name to its record: everything a
// reader has to know.
#pragma once

#include "steps/options.h"
#include "stepstore/client.h"

#include <optional>
#include <string>
#include <vector>

namespace stepstore::steps {

inline constexpr std::uint32_t stream_format = 2; // the greatest that is read; see format_of
inline constexpr std::uint64_t no_generation = UINT64_MAX;

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
    Layout layout = Layout::array_aligned;
    Objects objects = Objects::single;
    StepMode steps_mode = StepMode::extend;
    Order order = Order::row_major;
    std::uint32_t ranks = 0;
    std::uint64_t chunk_size = 0;
    std::string object_class;
    std::uint64_t data_chunk_size = 0;
    std::string data_object_class;
    ObjectId side;         // key-value: blobs (kv), sizes (array), overflow (array-aligned), profile
    ObjectId metadata;     // array: blobs (array, array-aligned)
    ObjectId data;         // array of rank 0; rank r's lo is r more
    std::string directory; // posix: below the pool's directory
    bool closed = false;
    std::uint64_t steps = 0; // when closed
    std::string writer_host; // who wrote it: of rank 0
    std::uint64_t writer_process = 0;
    std::uint64_t created = 0;    // seconds since 1970
    std::vector<Segment> earlier; // by their steps, without gaps
    std::vector<Segment> dropped; // no part of the stream any more, but their objects may still be there

    ObjectId data_of(std::uint32_t rank) const { return {data.hi, data.lo + rank}; }
};

// Where a segment's steps lie: the last one's, or an earlier one's as a record that is closed after its last
// step.
Segment last_segment(const StreamRecord& record, std::uint64_t end_step);
std::vector<Segment>
segments_of(const StreamRecord& record); // all that may have objects, the dropped ones too
StreamRecord segment_record(const StreamRecord& record, const Segment& segment);
// Of the segment that has the step; of the last one for steps that are not there yet.
StreamRecord segment_record_of(const StreamRecord& record, std::uint64_t step);

std::uint32_t
format_of(const StreamRecord& record); // 2: layout posix, whose data files have checksums; else 1
std::vector<std::byte> encode_record(const StreamRecord& record);
// where: for messages. -DER_CSUM, -DER_DF_INVAL: damaged; -DER_DF_INCOMPT: newer.
StreamRecord decode_record(Bytes bytes, const std::string& where);

class Catalogue {
public:
    Catalogue(const Container& container, std::string where, Access access);
    std::optional<std::vector<std::byte>> bytes(const std::string& stream) const;
    std::optional<StreamRecord> find(const std::string& stream) const;
    void put(const std::string& stream, const StreamRecord& record);
    bool remove(const std::string& stream);
    std::vector<std::string> streams() const; // sorted

private:
    KeyValue key_value_;
    std::string where_;
};

ObjectId catalogue_id(const Container& container);
// The key-value object of a stream with that number: all of a stream's ids have the same lower half of hi.
ObjectId stream_object_id(const Container& container, std::uint64_t number);
// A new record's object ids: allocates numbers.
void assign_objects(Container& container, StreamRecord& record);
// Everything that the record's last segment has stored; what is not there any more is no error.
void destroy_segment_objects(const Container& container, const std::string& pool, const StreamRecord& record);
// That of all segments, the dropped ones included.
void destroy_stream_objects(const Container& container, const std::string& pool, const StreamRecord& record);
// "the steps from 5 on of the stream ... were cut off by ...": -DER_STALE.
Error cut_error(const std::string& where, const StreamRecord& now, std::uint64_t steps);
// "the stream ... was replaced by another writer (...)": -DER_STALE.
Error replaced_error(const std::string& where, const std::optional<StreamRecord>& now);

} // namespace stepstore::steps

// The list of a container's streams: one key-value object that maps a stream's name to its record, which says
// everything that a reader has to know.
// Threads: they may share a StreamList. Errors: -DER_CSUM, -DER_DF_INVAL and -DER_DF_INCOMPT of a record, and
// those of the store.
#pragma once

#include "steps/stream_record.h"
#include "stepstore/client.h"

#include <optional>
#include <string>
#include <vector>

namespace stepstore::steps {

class StreamList {
public:
    StreamList(const Container& container, std::string where, Access access);
    std::optional<std::vector<std::byte>> bytes(const std::string& stream) const;
    std::optional<StreamRecord> find(const std::string& stream) const;
    // Puts the record, or removes it, if what is there are these bytes (nullopt: nothing). False: another
    // process has changed it since.
    bool put_if(const std::string& stream, const std::optional<std::vector<std::byte>>& there,
                const StreamRecord& record);
    bool remove_if(const std::string& stream, const std::vector<std::byte>& there);
    void put(const std::string& stream, const StreamRecord& record); // over a damaged one
    StreamRecord decode(Bytes bytes, const std::string& stream) const;
    std::vector<std::string> streams() const; // sorted
    // To those who wait for something new in the stream, and to wait for it: KeyValue::announce, watch.
    void announce(const std::string& stream) const { key_value_.announce(stream); }
    std::optional<KeyWatch> watch(const std::string& stream) const { return key_value_.watch(stream); }

private:
    KeyValue key_value_;
    std::string where_;
};

ObjectId stream_list_id(const Container& container);
// The key-value object of a stream with that number: all of a stream's ids have the same lower half of hi.
ObjectId stream_object_id(const Container& container, std::uint64_t number);
// A new record's object ids: allocates numbers.
void assign_objects(Container& container, StreamRecord& record);
// The ids of its last segment's objects, whose numbers begin at `first`, and their directory.
void place_objects(const Container& container, StreamRecord& record, std::uint64_t first);
// Everything that the record's last segment has stored; what is not there any more is no error.
void destroy_segment_objects(Container& container, const std::string& pool, const StreamRecord& record);
// That of all segments, the dropped ones included.
void destroy_stream_objects(Container& container, const std::string& pool, const StreamRecord& record);
// "the steps from 5 on of the stream ... were cut off by ...": -DER_STALE.
Error cut_error(const std::string& where, const StreamRecord& now, std::uint64_t steps);
// "the stream ... was replaced by another writer (...)": -DER_STALE.
Error replaced_error(const std::string& where, const std::optional<StreamRecord>& now);

} // namespace stepstore::steps

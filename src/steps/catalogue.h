// The catalogue of a container: one key-value object that maps a stream's name to its record: everything a reader has
// to know.
#pragma once

#include "steps/options.h"
#include "stepstore/client.h"

#include <optional>
#include <string>
#include <vector>

namespace stepstore::steps {

inline constexpr std::uint32_t stream_format = 1;

struct StreamRecord {
    std::uint64_t generation = 0; // the first of its object numbers, so fresh for every stream of the container
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
    std::uint64_t created = 0; // seconds since 1970

    ObjectId data_of(std::uint32_t rank) const { return {data.hi, data.lo + rank}; }
};

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
// Everything a record's stream has stored; what is not there any more is no error.
void destroy_stream_objects(const Container& container, const std::string& pool, const StreamRecord& record);
// "the stream ... was replaced by another writer (...)": -DER_STALE.
Error replaced_error(const std::string& where, const std::optional<StreamRecord>& now);

} // namespace stepstore::steps

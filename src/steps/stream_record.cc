#include "steps/stream_record.h"

#include "base/plain_path.h"
#include "base/record.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::uint32_t record_magic = 0x54535353; // "SSST"

constexpr std::uint32_t most_groups = 1 << 24;

enum Tag : std::uint16_t {
    tag_generation = 1 | must_know,
    tag_layout = 2 | must_know,
    tag_objects = 3 | must_know,
    tag_step_mode = 4 | must_know,
    tag_order = 5 | must_know,
    tag_ranks = 6 | must_know,
    tag_chunk_size = 7 | must_know,
    tag_object_class = 8,
    tag_data_chunk_size = 9 | must_know,
    tag_data_object_class = 10,
    tag_side = 11 | must_know,
    tag_metadata = 12 | must_know,
    tag_data = 13 | must_know,
    tag_directory = 14 | must_know,
    tag_closed = 15 | must_know,
    tag_steps = 16 | must_know,
    tag_writer_host = 17,
    tag_writer_process = 18,
    tag_created = 19,
    tag_origin = 20 | must_know,
    tag_first_step = 21 | must_know,
    tag_earlier = 22 | must_know,
    tag_dropped = 23, // of no interest to readers
    tag_groups = 24 | must_know,
    tag_group_hash = 25 | must_know,
    tag_ranks_per_object = 26 | must_know,
    tag_ranks_per_aggregator = 27 | must_know,
};

// One list of the fields for both directions: visit(tag, member).
template <class Record, class Visit>
void each_field(Record& r, Visit&& visit)
{
    visit(tag_generation, r.generation);
    visit(tag_layout, r.layout);
    visit(tag_objects, r.objects);
    visit(tag_step_mode, r.step_mode);
    visit(tag_order, r.order);
    visit(tag_ranks, r.ranks);
    visit(tag_chunk_size, r.chunk_size);
    visit(tag_object_class, r.object_class);
    visit(tag_data_chunk_size, r.data_chunk_size);
    visit(tag_data_object_class, r.data_object_class);
    visit(tag_side, r.side);
    visit(tag_metadata, r.metadata);
    visit(tag_data, r.data);
    visit(tag_directory, r.directory);
    visit(tag_closed, r.closed);
    visit(tag_steps, r.steps);
    visit(tag_writer_host, r.writer_host);
    visit(tag_writer_process, r.writer_process);
    visit(tag_created, r.created);
    visit(tag_origin, r.origin);
    visit(tag_first_step, r.first_step);
    visit(tag_earlier, r.earlier);
    visit(tag_dropped, r.dropped);
    visit(tag_groups, r.groups);
    visit(tag_group_hash, r.group_hash);
    visit(tag_ranks_per_object, r.ranks_per_object);
    visit(tag_ranks_per_aggregator, r.ranks_per_aggregator);
}

// A stream that was never appended to does without the fields of segments, so that older libraries read it.
bool is_written(Tag tag, const StreamRecord& r)
{
    switch (tag) {
    case tag_origin: return r.origin != r.generation;
    case tag_first_step: return r.first_step != 0;
    case tag_earlier: return !r.earlier.empty();
    case tag_dropped: return !r.dropped.empty();
    case tag_groups: return r.groups != 0;
    case tag_group_hash: return r.group_hash != GroupHash::stepstore;
    case tag_ranks_per_object: return r.ranks_per_object != 0;
    case tag_ranks_per_aggregator: return r.ranks_per_aggregator != 0;
    default: return true;
    }
}

void write_id(WireWriter& to, const ObjectId& id)
{
    to.fixed(id.hi);
    to.fixed(id.lo);
}

ObjectId read_id(WireReader& from)
{
    const auto hi = from.fixed<std::uint64_t>();
    return {hi, from.fixed<std::uint64_t>()};
}

std::vector<std::byte> encode_segments(const std::vector<Segment>& segments)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.varint(segments.size());
    for (const Segment& one : segments) {
        to.fixed(one.generation);
        to.fixed(one.first_step);
        to.fixed(one.end_step);
        to.fixed(one.ranks);
        write_id(to, one.side);
        write_id(to, one.metadata);
        write_id(to, one.data);
        to.text(one.directory);
    }
    return bytes;
}

std::vector<Segment> decode_segments(WireReader& from)
{
    constexpr std::size_t least = 28 + 48 + 1;
    std::vector<Segment> segments(from.counted(least));
    for (Segment& one : segments) {
        one.generation = from.fixed<std::uint64_t>();
        one.first_step = from.fixed<std::uint64_t>();
        one.end_step = from.fixed<std::uint64_t>();
        one.ranks = from.fixed<std::uint32_t>();
        one.side = read_id(from);
        one.metadata = read_id(from);
        one.data = read_id(from);
        one.directory = from.text();
    }
    return segments;
}

template <class T>
std::vector<std::byte> encoded(const T& value)
{
    if constexpr (std::is_same_v<T, ObjectId>) {
        std::vector<std::byte> bytes;
        WireWriter to(bytes);
        write_id(to, value);
        return bytes;
    } else {
        return encode_segments(value);
    }
}

void decode(Bytes bytes, ObjectId& id, std::string_view what)
{
    WireReader from(bytes, what);
    id = read_id(from);
}

void decode(Bytes bytes, std::vector<Segment>& segments, std::string_view what)
{
    WireReader from(bytes, what);
    segments = decode_segments(from);
}

template <class T>
concept PlainField = NumberField<T> || std::is_same_v<T, std::string>;

void validate(const StreamRecord& record, const std::string& where)
{
    const bool known = record.objects >= Objects::single && record.objects <= Objects::per_machine &&
                       (record.step_mode == StepMode::extend || record.step_mode == StepMode::snapshot) &&
                       (record.order == Order::row_major || record.order == Order::column_major) &&
                       record.groups <= most_groups && record.group_hash <= GroupHash::daos;
    if (!known)
        throw Error(-DER_DF_INCOMPT,
                    "the stream " + where +
                        " is laid out in a way that this library does not know: use a newer Stepstore");
    const auto possible = [](std::uint64_t chunk) { return chunk > 0 && chunk <= most_chunk_size; };
    if (record.ranks == 0 || !possible(record.chunk_size) || !possible(record.data_chunk_size))
        throw Error(-DER_DF_INVAL, "the record of the stream " + where +
                                       " says 0 ranks, or a chunk size of 0 or above 1 TiB: it is damaged");
    if ((record.objects == Objects::per_machine) != (record.ranks_per_object > 0))
        throw Error(-DER_DF_INVAL,
                    "the record of the stream " + where + " says that " +
                        std::to_string(record.ranks_per_object) +
                        " ranks have a metadata object together, and has objects of the kind " +
                        std::to_string(static_cast<int>(record.objects)) + ": it is damaged");
    // A slot has room for the metadata of all that an aggregator stores for.
    if (record.ranks_per_aggregator > most_chunk_size / record.chunk_size ||
        (record.ranks_per_aggregator > 0 && record.in_place()))
        throw Error(-DER_DF_INVAL, "the record of the stream " + where + " says that a rank stores for " +
                                       std::to_string(record.ranks_per_aggregator) +
                                       ", which cannot be: it is damaged");
    for (const Segment& one : segments_of(record))
        if (!one.directory.empty())
            require_segment_directory(one.directory, "the record of the stream " + where);
    std::uint64_t next = 0;
    bool row = true;
    for (const Segment& one : record.earlier) {
        row = row && one.first_step == next && one.end_step > next && one.ranks > 0;
        next = one.end_step;
    }
    if (!row || record.first_step != next)
        throw Error(-DER_DF_INVAL, "the segments in the record of the stream " + where +
                                       " do not follow one another without gaps: it is damaged");
}

} // namespace

void require_segment_directory(std::string_view directory, const std::string& where)
{
    if (is_plain_path(directory) && directory.starts_with("files/") &&
        std::ranges::count(directory, '/') == 2)
        return;
    throw Error(-DER_DF_INVAL, where + " names the directory '" + std::string(directory) +
                                   "', and files of streams lie in files/CONTAINER/NUMBER: it is damaged, or "
                                   "somebody wants others to go there");
}

std::vector<std::byte> encode_record(const StreamRecord& record)
{
    std::vector<std::byte> bytes(frame_size_of<std::uint32_t>);
    WireWriter to(bytes);
    each_field(record, [&]<class T>(Tag tag, const T& value) {
        if (!is_written(tag, record)) return;
        if constexpr (PlainField<T>)
            write_field(to, tag, value);
        else
            write_field(to, tag, encoded(value));
    });
    seal_frame(bytes, record_magic, record.format);
    return bytes;
}

StreamRecord decode_record(Bytes bytes, const std::string& where)
{
    const std::string what = "the record of the stream " + where;
    const auto unsealed = unseal_frame(bytes, record_magic, stream_format, what);
    StreamRecord record;
    record.format = unsealed.least;
    read_fields(unsealed.body, what, [&](std::uint16_t tag, Bytes value) {
        bool known = false;
        each_field(record, [&]<class T>(Tag ours, T& member) {
            if (ours != tag) return;
            if constexpr (PlainField<T>)
                read_field(value, member, what);
            else
                decode(value, member, what);
            known = true;
        });
        return known;
    });
    if (record.origin == no_generation) record.origin = record.generation;
    validate(record, where);
    return record;
}

std::uint32_t StreamRecord::ranks_together() const
{
    if (objects == Objects::per_writer) return 1;
    return objects == Objects::per_machine ? std::min(ranks_per_object, ranks) : ranks;
}

ObjectId StreamRecord::metadata_of(std::uint64_t step, std::uint32_t rank) const
{
    if (objects == Objects::single) return metadata;
    if (objects != Objects::per_step) return {metadata.hi, metadata.lo + rank / ranks_together()};
    const std::uint64_t number = step - first_step;
    if (number >= metadata_numbers(objects, ranks))
        throw Error(-DER_OVERFLOW, "step " + std::to_string(step) +
                                       " has no object: with Objects=per-step one opening for writing brings "
                                       "at most 2^32 steps; append the next ones");
    return {metadata.hi, metadata.lo + number};
}

std::uint64_t metadata_numbers(Objects objects, std::uint32_t ranks)
{
    if (objects == Objects::single) return 0;
    return objects == Objects::per_step ? std::uint64_t{1} << 32 : ranks;
}

Segment last_segment(const StreamRecord& record, std::uint64_t end_step)
{
    return {record.generation, record.first_step, end_step,    record.ranks,
            record.side,       record.metadata,   record.data, record.directory};
}

std::vector<Segment> segments_of(const StreamRecord& record)
{
    std::vector<Segment> all = record.earlier;
    all.insert(all.end(), record.dropped.begin(), record.dropped.end());
    all.push_back(last_segment(record, record.steps));
    return all;
}

StreamRecord segment_record(const StreamRecord& record, const Segment& segment)
{
    StreamRecord part = record;
    part.earlier.clear();
    part.dropped.clear();
    part.generation = segment.generation;
    part.first_step = segment.first_step;
    part.ranks = segment.ranks;
    part.side = segment.side;
    part.metadata = segment.metadata;
    part.data = segment.data;
    part.directory = segment.directory;
    part.closed = true;
    part.steps = segment.end_step;
    return part;
}

StreamRecord segment_record_of(const StreamRecord& record, std::uint64_t step)
{
    for (const Segment& one : record.earlier)
        if (step < one.end_step) return segment_record(record, one);
    StreamRecord last = record;
    last.earlier.clear();
    last.dropped.clear();
    return last;
}

} // namespace stepstore::steps

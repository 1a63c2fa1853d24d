#include "steps/stream/catalogue.h"

#include "base/checksum.h"
#include "base/wire.h"
#include "steps/layouts/layout.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::uint32_t record_magic = 0x54535353; // "SSST"
constexpr std::size_t prologue_size = 20;          // magic, format, reader, checksum
// the user's half of the ids' upper part: ours, apart from other users'
constexpr std::uint32_t catalogue_hi = 0x53530001;
constexpr std::uint32_t stream_hi = 0x53530002;

// A record is a list of fields, tag and length first. A reader skips unknown fields, except those that it
// must know.
constexpr std::uint16_t must_know = 0x8000;
enum Tag : std::uint16_t {
    tag_generation = 1 | must_know,
    tag_layout = 2 | must_know,
    tag_objects = 3 | must_know,
    tag_steps_mode = 4 | must_know,
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
};

// One list of the fields for both directions: visit(tag, member).
template <class Record, class Visit>
void each_field(Record& r, Visit&& visit)
{
    visit(tag_generation, r.generation);
    visit(tag_layout, r.layout);
    visit(tag_objects, r.objects);
    visit(tag_steps_mode, r.steps_mode);
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
}

// A stream that was never appended to does without the fields of segments, so that older libraries read it.
bool is_written(Tag tag, const StreamRecord& r)
{
    switch (tag) {
    case tag_origin: return r.origin != r.generation;
    case tag_first_step: return r.first_step != 0;
    case tag_earlier: return !r.earlier.empty();
    case tag_dropped: return !r.dropped.empty();
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
void write_field(WireWriter& to, Tag tag, const T& value)
{
    to.fixed(static_cast<std::uint16_t>(tag));
    if constexpr (std::is_same_v<T, std::string>) {
        to.text(value);
    } else if constexpr (std::is_same_v<T, ObjectId>) {
        to.varint(16);
        write_id(to, value);
    } else if constexpr (std::is_same_v<T, std::vector<Segment>>) {
        const std::vector<std::byte> bytes = encode_segments(value);
        to.varint(bytes.size());
        to.bytes(bytes);
    } else {
        to.varint(8);
        to.fixed(static_cast<std::uint64_t>(value));
    }
}

template <class T>
void read_field(Bytes bytes, T& value, std::string_view what)
{
    WireReader from(bytes, what);
    if constexpr (std::is_same_v<T, std::string>) {
        value = as_text(bytes);
    } else if constexpr (std::is_same_v<T, ObjectId>) {
        value = read_id(from);
    } else if constexpr (std::is_same_v<T, std::vector<Segment>>) {
        value = decode_segments(from);
    } else {
        value = static_cast<T>(from.fixed<std::uint64_t>());
    }
}

void validate(const StreamRecord& record, const std::string& where)
{
    const bool known = record.layout >= Layout::posix && record.layout <= Layout::array_aligned &&
                       record.objects == Objects::single && record.steps_mode == StepMode::extend &&
                       (record.order == Order::row_major || record.order == Order::column_major);
    if (!known)
        throw Error(-DER_DF_INCOMPT,
                    "the stream " + where +
                        " is laid out in a way that this library does not know: use a newer Stepstore");
    if (record.ranks == 0 || record.chunk_size == 0 || record.data_chunk_size == 0)
        throw Error(-DER_DF_INVAL, "the record of the stream " + where +
                                       " says 0 ranks or a chunk size of 0: it is damaged");
    std::uint64_t next = 0;
    bool row = true;
    for (const Segment& one : record.earlier) {
        row = row && one.first_step == next && one.end_step > next && one.ranks > 0;
        next = one.end_step;
    }
    if (!row || record.first_step != next)
        throw Error(-DER_DF_INVAL, "the segments in the record of the stream " + where +
                                       " are no row of steps without gaps: it is damaged");
}

} // namespace

std::uint32_t format_of(const StreamRecord& record)
{
    return record.layout == Layout::posix ? 2 : 1;
}

std::vector<std::byte> encode_record(const StreamRecord& record)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(record_magic);
    to.fixed(format_of(record));
    to.fixed(format_of(record)); // the oldest reader that understands it
    to.fixed(std::uint64_t{0});
    each_field(record, [&](Tag tag, const auto& value) {
        if (is_written(tag, record)) write_field(to, tag, value);
    });
    store_little(bytes.data() + 12, checksum(Bytes(bytes).subspan(prologue_size)));
    return bytes;
}

StreamRecord decode_record(Bytes bytes, const std::string& where)
{
    const std::string what = "the record of the stream " + where;
    WireReader from(bytes, what);
    if (from.fixed<std::uint32_t>() != record_magic) from.fail("does not begin as a stream's record does");
    const auto format = from.fixed<std::uint32_t>();
    const auto least = from.fixed<std::uint32_t>();
    if (least > stream_format)
        throw Error(-DER_DF_INCOMPT, "the stream " + where + " has format version " + std::to_string(format) +
                                         "; this library reads up to version " +
                                         std::to_string(stream_format) + ": use a newer Stepstore");
    const auto sum = from.fixed<std::uint64_t>();
    if (sum != checksum(bytes.subspan(prologue_size)))
        throw Error(
            -DER_CSUM,
            what +
                " is damaged: its checksum does not match; the steps may be whole: `stepstore pool check` looks");
    StreamRecord record;
    while (!from.at_end()) {
        const auto tag = from.fixed<std::uint16_t>();
        const Bytes value = from.bytes(from.varint());
        bool known = false;
        each_field(record, [&](Tag ours, auto& member) {
            if (ours != tag) return;
            read_field(value, member, what);
            known = true;
        });
        if (!known && (tag & must_know) != 0)
            throw Error(-DER_DF_INCOMPT, "the stream " + where + " uses a feature (field " +
                                             std::to_string(tag & ~must_know) +
                                             ") that this library does not know: use a newer Stepstore");
    }
    if (record.origin == no_generation) record.origin = record.generation;
    validate(record, where);
    return record;
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

ObjectId catalogue_id(const Container& container)
{
    return container.object_id(0, catalogue_hi, ObjectType::key_value);
}

ObjectId stream_object_id(const Container& container, std::uint64_t number)
{
    return container.object_id(number, stream_hi, ObjectType::key_value);
}

Catalogue::Catalogue(const Container& container, std::string where, Access access)
    : key_value_(container.key_value(catalogue_id(container), access)), where_(std::move(where))
{
}

std::optional<std::vector<std::byte>> Catalogue::bytes(const std::string& stream) const
{
    return key_value_.get(stream);
}

std::optional<StreamRecord> Catalogue::find(const std::string& stream) const
{
    const auto value = key_value_.get(stream);
    if (!value) return std::nullopt;
    return decode_record(*value, where_ + "/" + stream);
}

void Catalogue::put(const std::string& stream, const StreamRecord& record)
{
    key_value_.put(stream, encode_record(record));
}

bool Catalogue::remove(const std::string& stream)
{
    if (!key_value_.get(stream)) return false;
    key_value_.remove(stream);
    return true;
}

std::vector<std::string> Catalogue::streams() const
{
    std::vector<std::string> names = key_value_.list();
    std::ranges::sort(names);
    return names;
}

void assign_objects(Container& container, StreamRecord& record)
{
    const std::uint64_t first = container.allocate_oids(std::uint64_t{2} + record.ranks);
    record.generation = first;
    if (record.origin == no_generation) record.origin = first;
    record.side = container.object_id(first, stream_hi, ObjectType::key_value, record.object_class);
    record.metadata = container.object_id(first + 1, stream_hi, ObjectType::array_bytes, record.object_class);
    record.data =
        container.object_id(first + 2, stream_hi, ObjectType::array_bytes, record.data_object_class);
    if (record.layout == Layout::posix)
        record.directory = posix_directory(container.label(), record.generation);
}

void destroy_stream_objects(const Container& container, const std::string& pool, const StreamRecord& record)
{
    for (const Segment& one : segments_of(record))
        destroy_segment_objects(container, pool, segment_record(record, one));
}

// Whatever the layout: a dropped segment may be of a stream with another one.
void destroy_segment_objects(const Container& container, const std::string& pool, const StreamRecord& record)
{
    if (!record.directory.empty()) remove_posix_files(pool, record);
    container.key_value(record.side).destroy();
    container.open_array(record.metadata, {1, record.chunk_size}).destroy();
    for (std::uint32_t rank = 0; rank < record.ranks; ++rank)
        container.open_array(record.data_of(rank), {1, record.data_chunk_size}).destroy();
}

Error cut_error(const std::string& where, const StreamRecord& now, std::uint64_t steps)
{
    return {-DER_STALE, "the steps from " + std::to_string(steps) + " on of the stream " + where +
                            " were cut off by a writer that appends after the steps before (process " +
                            std::to_string(now.writer_process) + " on " + now.writer_host +
                            "): open it again to see what is there now"};
}

Error replaced_error(const std::string& where, const std::optional<StreamRecord>& now)
{
    const std::string by = now ? "was replaced by another writer (process " +
                                     std::to_string(now->writer_process) + " on " + now->writer_host + ")"
                               : std::string("was removed");
    return {-DER_STALE,
            "the stream " + where + " " + by + " meanwhile: open it again to see what is there now"};
}

} // namespace stepstore::steps

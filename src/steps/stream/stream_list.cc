#include "steps/stream/stream_list.h"

#include "steps/layouts/data_files.h"
#include "steps/layouts/layout.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

// The user's half of the upper part of our ids, apart from other users'.
constexpr std::uint32_t stream_list_hi = 0x53530001;
constexpr std::uint32_t stream_hi = 0x53530002;

} // namespace

ObjectId stream_list_id(const Container& container)
{
    return container.object_id(0, stream_list_hi, ObjectType::key_value);
}

ObjectId stream_object_id(const Container& container, std::uint64_t number)
{
    return container.object_id(number, stream_hi, ObjectType::key_value);
}

StreamList::StreamList(const Container& container, std::string where, Access access)
    : key_value_(container.key_value(stream_list_id(container), access)), where_(std::move(where))
{
}

std::optional<std::vector<std::byte>> StreamList::bytes(const std::string& stream) const
{
    return key_value_.get(stream);
}

std::optional<StreamRecord> StreamList::find(const std::string& stream) const
{
    const auto value = bytes(stream);
    if (!value) return std::nullopt;
    return decode(*value, stream);
}

StreamRecord StreamList::decode(Bytes bytes, const std::string& stream) const
{
    StreamRecord record = decode_record(bytes, where_ + "/" + stream);
    if (find_layout(record.layout) == nullptr)
        throw Error(-DER_DF_INCOMPT, "the stream " + where_ + "/" + stream +
                                         " has a layout that this library does not know (number " +
                                         std::to_string(record.layout) + "): use a newer Stepstore");
    return record;
}

bool StreamList::put_if(const std::string& stream, const std::optional<std::vector<std::byte>>& there,
                        const StreamRecord& record)
{
    return key_value_.put_if(stream, there ? std::optional<Bytes>(*there) : std::nullopt,
                             encode_record(record));
}

void StreamList::put(const std::string& stream, const StreamRecord& record)
{
    key_value_.put(stream, encode_record(record));
}

bool StreamList::remove_if(const std::string& stream, const std::vector<std::byte>& there)
{
    return key_value_.remove_if(stream, there);
}

std::vector<std::string> StreamList::streams() const
{
    std::vector<std::string> names = key_value_.list();
    std::ranges::sort(names);
    return names;
}

void assign_objects(Container& container, StreamRecord& record)
{
    const std::uint64_t first =
        container.allocate_oids(2 + record.ranks + metadata_numbers(record.objects, record.ranks));
    record.generation = first;
    if (record.origin == no_generation) record.origin = first;
    place_objects(container, record, first);
    record.format = std::max(record.format, layout_of(record).data->format);
}

void place_objects(const Container& container, StreamRecord& record, std::uint64_t first)
{
    const Layout& layout = layout_of(record);
    record.side = container.object_id(first, stream_hi, ObjectType::key_value, record.object_class);
    const bool single = record.objects == Objects::single;
    record.metadata =
        container.object_id(single ? first + 1 : first + 2 + record.ranks, stream_hi,
                            single ? ObjectType::array_bytes : layout.metadata_type, record.object_class);
    record.data =
        container.object_id(first + 2, stream_hi, ObjectType::array_bytes, record.data_object_class);
    const auto directory = layout.data->directory;
    record.directory = directory ? directory(container.label(), first) : "";
}

void destroy_stream_objects(Container& container, const std::string& pool, const StreamRecord& record)
{
    for (const Segment& one : segments_of(record))
        destroy_segment_objects(container, pool, segment_record(record, one));
}

// Whatever the layout: a dropped segment may be of a stream with another one.
void destroy_segment_objects(Container& container, const std::string& pool, const StreamRecord& record)
{
    if (!record.directory.empty()) remove_data_files(pool, record);
    destroy_metadata(container, record);
    for (std::uint32_t rank = 0; rank < record.ranks; ++rank)
        container.open_array(record.data_of(rank), {1, record.data_chunk_size}).destroy();
    container.key_value(record.side).destroy(); // the last: it says which others there are
}

Error cut_error(const std::string& where, const StreamRecord& now, std::uint64_t steps)
{
    return {-DER_STALE, "the steps from " + std::to_string(steps) + " on of the stream " + where +
                            " were cut off by a writer that appends to earlier steps (process " +
                            std::to_string(now.writer_process) + " on " + now.writer_host +
                            "): open the stream again to see its steps"};
}

Error replaced_error(const std::string& where, const std::optional<StreamRecord>& now)
{
    const std::string by = now ? "was replaced by another writer (process " +
                                     std::to_string(now->writer_process) + " on " + now->writer_host + ")"
                               : std::string("was removed");
    return {-DER_STALE, "the stream " + where + " " + by + " while it was open: open it again"};
}

} // namespace stepstore::steps

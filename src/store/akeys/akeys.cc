#include "store/akeys/akeys.h"

namespace stepstore::store {

std::array<std::byte, description_size> encoded(const ArrayDescription& description)
{
    std::array<std::byte, description_size> bytes;
    store_little(bytes.data(), description.record_size);
    store_little(bytes.data() + 8, description.chunk);
    return bytes;
}

const char* parse_description(const Record& record, ArrayDescription& description)
{
    if (record.type != RecordType::inlined || record.length != description_size || !payload_intact(record))
        return "the checksum of the array's description does not match";
    description = {load_little<std::uint64_t>(record.payload.data()),
                   load_little<std::uint64_t>(record.payload.data() + 8)};
    if (description.record_size == 0 || description.record_size > farthest ||
        description.chunk > static_cast<std::uint64_t>(INT64_MAX))
        return "the array's description names an impossible place";
    return nullptr;
}

ArrayShape shape_of_records(const ObjectAccess& object, std::uint64_t record_size,
                            std::span<const Range> ranges)
{
    if (record_size > farthest)
        fail(DER_OVERFLOW, object.name() + ": a record of " + std::to_string(record_size) +
                               " bytes: at most 2^63 are possible");
    const ArrayShape shape(object, {record_size, farthest / record_size});
    for (const Range& range : ranges) {
        if (ByteRange(object, shape, range).end <= shape.chunk) continue;
        fail(DER_OVERFLOW, object.name() + ": records " + std::to_string(range.index) + " + " +
                               std::to_string(range.length) + " reach beyond 2^63 bytes");
    }
    return shape;
}

} // namespace stepstore::store

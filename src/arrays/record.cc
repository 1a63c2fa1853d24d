#include "arrays/record.h"

#include "base/record.h"

#include <daos_errno.h>

#include <algorithm>
#include <bit>

namespace stepstore::arrays {

namespace {

using Version = std::uint16_t;
constexpr Version format_version = 1;
constexpr std::uint32_t header_magic = 0x48415353;    // "SSAH"
constexpr std::uint32_t table_magic = 0x54415353;     // "SSAT"
constexpr std::uint32_t mark_magic = 0x57415353;      // "SSAW"
constexpr std::uint32_t attribute_magic = 0x41415353; // "SSAA"

enum Tag : std::uint16_t {
    name_tag = 1,
    version_tag,
    generation_tag,
    removed_tag = 4 | must_know,
    type_tag = 5,
    length_tag,
    order_tag,
    shape_tag,
    grows_along_tag,
    object_class_tag,
    chunk_size_tag,
    checksum_tag,
    objects_tag,
    tables_tag,
    next_table_tag,
    dropped_objects_tag,
    dropped_class_tag,
    dropped_tables_tag,
    byte_order_tag = 19 | must_know, // of the data, only where it is not little-endian
};

std::vector<std::byte> framed()
{
    return std::vector<std::byte>(frame_size_of<Version>);
}

std::vector<std::byte> numbers(std::span<const std::uint64_t> all)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    for (const std::uint64_t one : all)
        to.varint(one);
    return bytes;
}
std::vector<std::uint64_t> read_numbers(Bytes bytes, const std::string& what)
{
    std::vector<std::uint64_t> all;
    for (WireReader from(bytes, what); !from.at_end();)
        all.push_back(from.varint());
    return all;
}

void write_ranges(WireWriter& to, std::span<const ObjectRange> ranges)
{
    for (const ObjectRange& one : ranges) {
        to.varint(one.first);
        to.varint(one.count);
    }
}
std::vector<std::byte> encode(std::span<const ObjectRange> ranges)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    write_ranges(to, ranges);
    return bytes;
}
std::vector<ObjectRange> read_ranges(Bytes bytes, const std::string& what)
{
    constexpr std::uint64_t most_objects = std::uint64_t{1} << 32; // as many as a write can have ranks
    std::vector<ObjectRange> ranges;
    for (WireReader from(bytes, what); !from.at_end();) {
        const std::uint64_t first = from.varint();
        const std::uint64_t count = from.varint();
        if (count > most_objects || first > UINT64_MAX - count) from.fail("names impossible objects");
        ranges.push_back({first, count});
    }
    return ranges;
}

std::vector<std::byte> encode(std::span<const TableRef> tables)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    for (const TableRef& one : tables) {
        to.varint(one.number);
        to.varint(one.level);
        to.varint(one.blocks);
        to.varint(one.in_place.size());
        to.bytes(one.in_place);
    }
    return bytes;
}
std::vector<TableRef> read_tables(Bytes bytes, const std::string& what)
{
    constexpr std::uint64_t most_level = 64; // each has several times the blocks of the one below
    std::vector<TableRef> tables;
    std::uint64_t blocks = 0;
    for (WireReader from(bytes, what); !from.at_end();) {
        TableRef one;
        one.number = from.varint();
        const std::uint64_t level = from.varint();
        one.blocks = from.varint();
        if (level > most_level || __builtin_add_overflow(blocks, one.blocks, &blocks))
            from.fail("names an impossible table of blocks");
        one.level = static_cast<std::uint32_t>(level);
        const Bytes in_place = from.bytes(from.varint());
        one.in_place.assign(in_place.begin(), in_place.end());
        tables.push_back(std::move(one));
    }
    return tables;
}

void require_sound(const Header& header, std::size_t dimensions, const std::string& what)
{
    const auto refuse = [&](const std::string& why) {
        throw Error(-DER_DF_INVAL, what + " " + why +
                                       ": its record is damaged; `stepstore pool check` says what can be "
                                       "saved");
    };
    if (header.removed) return;
    if (header.order != Order::row_major && header.order != Order::column_major)
        refuse("has an order of dimensions that there is not");
    if (!is_known(header.type)) refuse("has an element type that there is not");
    if (dimensions < 1 || dimensions > max_dimensions) refuse("has no valid number of dimensions");
    if (header.grows_along && *header.grows_along >= dimensions)
        refuse("grows along no dimension of its own");
    if (header.layout.chunk_size == 0 || header.layout.chunk_size > most_chunk_size)
        refuse("has an impossible chunk size");
    std::uint64_t bytes = size_of(header.type);
    for (std::size_t d = 0; d < dimensions; ++d)
        if (__builtin_mul_overflow(bytes, header.shape[d], &bytes) ||
            bytes > static_cast<std::uint64_t>(INT64_MAX))
            refuse("has an impossible shape");
}

} // namespace

void add_objects(std::vector<ObjectRange>& ranges, ObjectRange fresh)
{
    if (!ranges.empty() && ranges.back().first + ranges.back().count == fresh.first)
        ranges.back().count += fresh.count;
    else
        ranges.push_back(fresh);
}

std::uint64_t blocks_in(const Header& header)
{
    std::uint64_t blocks = 0;
    for (const TableRef& one : header.tables)
        blocks += one.blocks;
    return blocks;
}

std::vector<std::byte> encode(const Header& header)
{
    std::vector<std::byte> bytes = framed();
    WireWriter to(bytes);
    write_field(to, name_tag, header.name);
    write_field(to, version_tag, header.version);
    write_field(to, generation_tag, header.generation);
    if (header.removed) write_field(to, removed_tag, 1U);
    write_field(to, type_tag, header.type.kind);
    if (header.type.length != 1) write_field(to, length_tag, header.type.length);
    write_field(to, order_tag, header.order);
    write_field(to, shape_tag, Bytes(numbers(std::span(header.shape).first(header.dimensions))));
    if (header.grows_along) write_field(to, grows_along_tag, *header.grows_along);
    write_field(to, object_class_tag, header.layout.object_class);
    write_field(to, chunk_size_tag, header.layout.chunk_size);
    if (header.layout.checksum) write_field(to, checksum_tag, 1U);
    write_field(to, objects_tag, Bytes(encode(header.objects)));
    write_field(to, tables_tag, Bytes(encode(std::span(header.tables))));
    write_field(to, next_table_tag, header.next_table);
    if (!header.dropped_objects.empty()) {
        write_field(to, dropped_objects_tag, Bytes(encode(header.dropped_objects)));
        write_field(to, dropped_class_tag, header.dropped_class);
    }
    if (!header.dropped_tables.empty())
        write_field(to, dropped_tables_tag, Bytes(numbers(header.dropped_tables)));
    if constexpr (std::endian::native != std::endian::little) write_field(to, byte_order_tag, 1U);
    seal_frame(bytes, header_magic, format_version);
    return bytes;
}

Header decode_header(Bytes bytes, const std::string& what)
{
    const Bytes body = unseal_frame(bytes, header_magic, format_version, what).body;
    Header header;
    std::size_t dimensions = 0;
    bool little_endian = true;
    read_fields(body, what, [&](std::uint16_t tag, Bytes value) {
        switch (tag) {
        case name_tag: read_field(value, header.name, what); return true;
        case version_tag: read_field(value, header.version, what); return true;
        case generation_tag: read_field(value, header.generation, what); return true;
        case removed_tag: header.removed = true; return true;
        case type_tag: read_field(value, header.type.kind, what); return true;
        case length_tag: read_field(value, header.type.length, what); return true;
        case order_tag: read_field(value, header.order, what); return true;
        case shape_tag: {
            const auto shape = read_numbers(value, what);
            dimensions = shape.size();
            std::copy_n(shape.begin(), std::min(shape.size(), header.shape.size()), header.shape.begin());
            return true;
        }
        case grows_along_tag: read_field(value, header.grows_along.emplace(), what); return true;
        case object_class_tag: read_field(value, header.layout.object_class, what); return true;
        case chunk_size_tag: read_field(value, header.layout.chunk_size, what); return true;
        case checksum_tag: header.layout.checksum = true; return true;
        case objects_tag: header.objects = read_ranges(value, what); return true;
        case tables_tag: header.tables = read_tables(value, what); return true;
        case next_table_tag: read_field(value, header.next_table, what); return true;
        case dropped_objects_tag: header.dropped_objects = read_ranges(value, what); return true;
        case dropped_class_tag: read_field(value, header.dropped_class, what); return true;
        case dropped_tables_tag: header.dropped_tables = read_numbers(value, what); return true;
        case byte_order_tag: little_endian = false; return true;
        default: return false;
        }
    });
    require_sound(header, dimensions, what);
    header.dimensions = static_cast<unsigned>(dimensions);
    if (little_endian != (std::endian::native == std::endian::little))
        throw Error(-DER_DF_INCOMPT, what + " was written on a machine of the other byte order: read it "
                                            "on one like that");
    return header;
}

std::vector<std::byte> encode_table(std::span<const StoredBlock> blocks, unsigned dimensions)
{
    std::vector<std::byte> bytes = framed();
    WireWriter to(bytes);
    to.varint(blocks.size());
    for (const StoredBlock& one : blocks) {
        to.varint(one.object);
        to.varint(one.offset);
        for (unsigned d = 0; d < dimensions; ++d) {
            to.varint(one.box.start[d]);
            to.varint(one.box.count[d]);
        }
    }
    seal_frame(bytes, table_magic, format_version);
    return bytes;
}

namespace {

// Which objects a header names, for many questions.
class Named {
public:
    explicit Named(std::vector<ObjectRange> ranges) : ranges_(std::move(ranges))
    {
        std::ranges::sort(ranges_, {}, &ObjectRange::first);
    }
    bool has(std::uint64_t object) const
    {
        const auto behind = std::ranges::upper_bound(ranges_, object, {}, &ObjectRange::first);
        return behind != ranges_.begin() && object - std::prev(behind)->first < std::prev(behind)->count;
    }

private:
    std::vector<ObjectRange> ranges_; // do not overlap, by their begins
};

} // namespace

void decode_table(Bytes bytes, const Header& of, const std::string& what, std::vector<StoredBlock>& into)
{
    WireReader from(unseal_frame(bytes, table_magic, format_version, what).body, what);
    const std::uint64_t blocks = from.counted(2 + 2 * of.dimensions);
    const std::uint64_t element = size_of(of.type);
    const Named objects(of.objects);
    into.reserve(into.size() + blocks);
    for (std::uint64_t i = 0; i < blocks; ++i) {
        StoredBlock one;
        one.object = from.varint();
        one.offset = from.varint();
        for (unsigned d = 0; d < of.dimensions; ++d) {
            one.box.start[d] = from.varint();
            one.box.count[d] = from.varint();
        }
        if (!contains(of.shape, one.box, of.dimensions)) from.fail("has a block outside of the array");
        if (one.offset >
            static_cast<std::uint64_t>(INT64_MAX) - volume(one.box.count, of.dimensions) * element)
            from.fail("has a block beyond the end of the largest possible object");
        if (!objects.has(one.object)) from.fail("has a block in an object that is not the array's");
        into.push_back(one);
    }
    if (!from.at_end()) from.fail("has bytes left over");
}

std::vector<std::byte> encode(const WritingMark& mark)
{
    std::vector<std::byte> bytes = framed();
    WireWriter to(bytes);
    write_process(to, mark.writer);
    to.varint(mark.since);
    to.text(mark.object_class);
    write_ranges(to, mark.objects);
    seal_frame(bytes, mark_magic, format_version);
    return bytes;
}

WritingMark decode_mark(Bytes bytes, const std::string& what)
{
    WireReader from(unseal_frame(bytes, mark_magic, format_version, what).body, what);
    WritingMark mark;
    mark.writer = read_process(from);
    mark.since = from.varint();
    mark.object_class = from.text();
    mark.objects = read_ranges(from.bytes(from.left()), what);
    return mark;
}

std::optional<WritingMark> WritingForm::decode(Bytes bytes, const std::string& what)
{
    try {
        return decode_mark(bytes, what);
    } catch (const Error& error) {
        if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL) throw;
        return std::nullopt;
    }
}

std::vector<std::byte> encode(const Attribute& attribute)
{
    std::vector<std::byte> bytes = framed();
    WireWriter to(bytes);
    to.fixed(static_cast<std::uint8_t>(attribute.type.kind));
    to.varint(attribute.type.length);
    to.varint(attribute.count);
    to.bytes(attribute.values);
    seal_frame(bytes, attribute_magic, format_version);
    return bytes;
}

Attribute decode_attribute(Bytes bytes, const std::string& what)
{
    WireReader from(unseal_frame(bytes, attribute_magic, format_version, what).body, what);
    Attribute attribute;
    attribute.type.kind = static_cast<Kind>(from.fixed<std::uint8_t>());
    attribute.type.length = static_cast<std::uint32_t>(from.varint());
    attribute.count = from.varint();
    const Bytes values = from.bytes(from.left());
    attribute.values.assign(values.begin(), values.end());
    std::uint64_t size = 0;
    if (!is_known(attribute.type) ||
        __builtin_mul_overflow(attribute.count, size_of(attribute.type), &size) || size != values.size())
        from.fail("is not of the size that it says");
    return attribute;
}

} // namespace stepstore::arrays

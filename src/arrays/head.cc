#include "arrays/head.h"

#include "base/bytes.h"

#include <daos_errno.h>
#include <uuid/uuid.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace stepstore::arrays {

namespace {

// The user's half of the upper part of our ids, apart from that of streams and fields.
constexpr std::uint32_t name_list_hi = 0x53530201;
constexpr std::uint32_t data_hi = 0x53530202;
// The space of our names: `uuidgen --md5 --namespace` with it gives the same ids.
constexpr uuid_t name_space = {0x8a, 0x2f, 0x3c, 0x61, 0x5d, 0x0e, 0x4b, 0x7a,
                               0x9c, 0x41, 0x73, 0x74, 0x65, 0x70, 0x73, 0x74};

constexpr std::string_view header_key = "header";
constexpr std::string_view table_prefix = "table/";
constexpr std::string_view writing_prefix = "writing/";
constexpr std::string_view attribute_prefix = "attribute/";

std::string numbered(std::string_view prefix, std::uint64_t number)
{
    return std::string(prefix) + std::to_string(number);
}

std::uint64_t seconds_since_1970()
{
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
}

// Seconds; of a writer on another machine.
constexpr std::uint64_t longest_writing = std::uint64_t{7} * 24 * 3600;

bool is_over(const WritingMark& mark)
{
    switch (life_of(mark.writer)) {
    case Life::alive: return false;
    case Life::dead: return true;
    case Life::elsewhere: break;
    }
    const std::uint64_t now = seconds_since_1970();
    return now > mark.since && now - mark.since > longest_writing;
}

} // namespace

ObjectId head_id(const Container& container, const std::string& name)
{
    uuid_t digest;
    uuid_generate_md5(digest, name_space, name.data(), name.size());
    std::byte bytes[sizeof digest];
    std::memcpy(bytes, digest, sizeof digest);
    // As the tutorial has it: the lower half first. The upper 32 bits are libdaos's own.
    return container.object_id(load_little<std::uint64_t>(bytes),
                               static_cast<std::uint32_t>(load_little<std::uint64_t>(bytes + 8)),
                               ObjectType::key_value);
}

KeyValue open_name_list(const Container& container, Access access)
{
    return container.key_value(container.object_id(0, name_list_hi, ObjectType::key_value), access);
}

ObjectId data_id(const Container& container, std::uint64_t number, const std::string& object_class)
{
    return container.object_id(number, data_hi, ObjectType::array_bytes, object_class);
}

namespace {

// What the header does not name.
void destroy_unnamed(const Container& container, const std::optional<Header>& header,
                     std::span<const ObjectRange> objects, const std::string& object_class)
{
    const auto is_named = [&](const ObjectRange& range) {
        return header && std::ranges::any_of(header->objects, [&](const ObjectRange& one) {
                   return range.first >= one.first && range.first < one.first + one.count;
               });
    };
    for (const ObjectRange& range : objects)
        if (!is_named(range)) destroy_objects(container, {&range, 1}, object_class);
}

} // namespace

void destroy_objects(const Container& container, std::span<const ObjectRange> objects,
                     const std::string& object_class)
{
    for (const ObjectRange& range : objects)
        for (std::uint64_t i = 0; i < range.count; ++i)
            container.open_array(data_id(container, range.first + i, object_class), ArrayAttributes{})
                .destroy();
}

Head::Head(const Container& container, std::string name, std::string where, Access access)
    : object_(container.key_value(head_id(container, name), access)), name_(std::move(name)),
      where_(std::move(where))
{
}

Header Head::decode(Bytes bytes) const
{
    Header header = decode_header(bytes, where_);
    if (header.name != name_)
        throw Error(-DER_MISMATCH, where_ + " cannot be used: the array '" + header.name +
                                       "' has the same object id, since both names have the same MD5; use "
                                       "another name");
    return header;
}

std::optional<Header> Head::header() const
{
    const auto bytes = header_bytes();
    if (!bytes) return std::nullopt;
    Header header = decode(*bytes);
    if (header.removed) return std::nullopt;
    return header;
}

bool Head::exists() const
{
    const auto bytes = header_bytes();
    if (!bytes) return false;
    const std::optional<Header> there = if_sound(*bytes);
    return !there || !there->removed;
}

// A damaged header is replaced; a newer version's is not ours to touch.
std::optional<Header> Head::if_sound(Bytes bytes) const
{
    try {
        return decode(bytes);
    } catch (const Error& error) {
        if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL) throw;
        return std::nullopt;
    }
}

std::optional<Header> Head::any_header() const
{
    return look().header;
}

Head::Seen Head::look() const
{
    Seen seen{header_bytes(), {}};
    if (seen.bytes) seen.header = if_sound(*seen.bytes);
    return seen;
}

std::optional<std::vector<std::vector<std::byte>>> Head::tables(const Header& header) const
{
    std::vector<std::vector<std::byte>> tables;
    for (const TableRef& one : header.tables) {
        if (!one.in_place.empty()) {
            tables.push_back(one.in_place);
            continue;
        }
        auto bytes = object_.get_nonempty(numbered(table_prefix, one.number));
        if (!bytes) return std::nullopt;
        tables.push_back(std::move(*bytes));
    }
    return tables;
}

std::vector<StoredBlock> Head::decode_tables(const Header& header,
                                             std::span<const std::vector<std::byte>> tables) const
{
    std::vector<StoredBlock> blocks;
    for (const std::vector<std::byte>& one : tables)
        decode_table(one, header, "a table of blocks of " + where_, blocks);
    return blocks;
}

Unpublished<WritingForm> Head::unpublished()
{
    return {object_, writing_prefix, "a mark of " + where_};
}

std::uint64_t Head::put_table(std::uint64_t number, Bytes table)
{
    while (!object_.put_if(numbered(table_prefix, number), std::nullopt, table))
        ++number;
    return number;
}

std::vector<std::string> Head::keys_with(std::string_view prefix) const
{
    std::vector<std::string> keys;
    object_.list([&](std::string_view key) {
        if (key.starts_with(prefix)) keys.emplace_back(key.substr(prefix.size()));
        return true;
    });
    std::ranges::sort(keys);
    return keys;
}

void Head::collect(const Container& container)
{
    std::optional<Header> header = any_header();
    if (header) {
        destroy_dropped(container, *header);
        collect_tables(*header);
    }
    unpublished().take_back(
        is_over, [&] { return any_header(); },
        [&](const WritingMark& mark, const std::optional<Header>& named) {
            destroy_unnamed(container, named, mark.objects, mark.object_class);
        });
}

void Head::settle(const Container& container, const Header& header, const ObjectRange& objects,
                  const std::string& object_class)
{
    destroy_unnamed(container, header, {&objects, 1}, object_class);
    unpublished().remove(objects.first);
}

// What was put for a header that was never published: a later one has other numbers.
void Head::collect_tables(const Header& header)
{
    for (const std::string& text : keys_with(table_prefix)) {
        const std::uint64_t number = std::strtoull(text.c_str(), nullptr, 10);
        const auto is_this = [&](const TableRef& one) { return one.number == number; };
        if (number < header.next_table && std::ranges::none_of(header.tables, is_this))
            object_.remove(numbered(table_prefix, number));
    }
}

Header Head::publish(const std::function<Header(const std::optional<Header>&)>& make)
{
    while (true) {
        const Seen there = look();
        Header fresh = make(there.header);
        fresh.version = (there.header ? there.header->version : 0) + 1;
        const auto expected = there.bytes ? std::optional<Bytes>(*there.bytes) : std::nullopt;
        if (object_.put_if(header_key, expected, encode(fresh))) return fresh;
        const std::uint64_t first_own = there.header ? there.header->next_table : 0;
        for (const TableRef& one : fresh.tables)
            if (one.in_place.empty()) fresh.dropped_tables.push_back(one.number);
        for (const std::uint64_t number : fresh.dropped_tables)
            if (number >= first_own) object_.remove(numbered(table_prefix, number));
    }
}

void Head::destroy_dropped(const Container& container, const Header& header)
{
    destroy_objects(container, header.dropped_objects, header.dropped_class);
    for (const std::uint64_t number : header.dropped_tables)
        object_.remove(numbered(table_prefix, number));
}

Head::Attributes Head::stored_attributes() const
{
    Attributes stored;
    for (const std::string& attribute : attributes())
        if (auto bytes = object_.get(std::string(attribute_prefix) + attribute))
            stored.emplace_back(attribute, std::move(*bytes));
    return stored;
}

void Head::remove_attributes(const Attributes& stored)
{
    for (const auto& [attribute, bytes] : stored)
        object_.remove_if(std::string(attribute_prefix) + attribute, bytes);
}

void Head::set_attribute(const std::string& attribute, const Attribute& value)
{
    object_.put(std::string(attribute_prefix) + attribute, encode(value));
}

std::optional<Attribute> Head::attribute(const std::string& attribute) const
{
    const auto bytes = object_.get_nonempty(std::string(attribute_prefix) + attribute);
    if (!bytes) return std::nullopt;
    return decode_attribute(*bytes, "the attribute '" + attribute + "' of " + where_);
}

bool Head::remove_attribute(const std::string& attribute)
{
    return object_.remove(std::string(attribute_prefix) + attribute, Condition::must_exist);
}

std::vector<std::string> Head::attributes() const
{
    return keys_with(attribute_prefix);
}

} // namespace stepstore::arrays

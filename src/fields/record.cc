#include "fields/record.h"

#include "base/checksum.h"

namespace stepstore::fields {

namespace {

constexpr std::size_t sum_at = 8;

// Of the dataset's record. A reader skips unknown fields, except those that it must know.
constexpr std::uint16_t must_know = 0x8000;
enum Tag : std::uint16_t {
    tag_key = 1 | must_know,
    tag_index = 2 | must_know,
    tag_pack_below = 3,
    tag_pack_size = 4,
    tag_data_class = 5 | must_know,
    tag_index_class = 6 | must_know,
    tag_chunk_size = 7 | must_know,
    tag_schema = 8 | must_know,
    tag_created = 9,
    tag_host = 10,
    tag_process = 11,
    tag_user = 12,
    tag_verify = 13,
};

// One list of the fields for both directions: visit(tag, member).
template <class Record, class Visit>
void each_field(Record& r, Visit&& visit)
{
    visit(tag_index, r.options.index);
    visit(tag_pack_below, r.options.pack_below);
    visit(tag_pack_size, r.options.pack_size);
    visit(tag_data_class, r.options.data_class);
    visit(tag_index_class, r.options.index_class);
    visit(tag_chunk_size, r.options.chunk_size);
    visit(tag_schema, r.schema);
    visit(tag_created, r.created);
    visit(tag_host, r.host);
    visit(tag_process, r.process);
    visit(tag_user, r.user);
    visit(tag_verify, r.options.verify);
}

template <class T>
void write_field(WireWriter& to, Tag tag, const T& value)
{
    to.fixed(static_cast<std::uint16_t>(tag));
    if constexpr (std::is_same_v<T, std::string>) {
        to.text(value);
    } else {
        to.varint(8);
        to.fixed(static_cast<std::uint64_t>(value));
    }
}

template <class T>
void read_field(Bytes bytes, T& value, std::string_view what)
{
    if constexpr (std::is_same_v<T, std::string>)
        value = as_text(bytes);
    else
        value = static_cast<T>(WireReader(bytes, what).fixed<std::uint64_t>());
}

} // namespace

std::vector<std::byte> framed()
{
    return std::vector<std::byte>(frame_size);
}

void seal(std::vector<std::byte>& bytes, Magic magic)
{
    store_little(bytes.data(), static_cast<std::uint32_t>(magic));
    store_little(bytes.data() + 4, static_cast<std::uint16_t>(fields_format));
    store_little(bytes.data() + 6,
                 static_cast<std::uint16_t>(fields_format)); // the oldest reader that understands it
    store_little(bytes.data() + sum_at, checksum(Bytes(bytes).subspan(frame_size)));
}

Bytes unseal(Bytes bytes, Magic magic, const std::string& what)
{
    WireReader from(bytes, what);
    if (from.fixed<std::uint32_t>() != static_cast<std::uint32_t>(magic))
        from.fail("does not begin as it should");
    const auto format = from.fixed<std::uint16_t>();
    const auto least = from.fixed<std::uint16_t>();
    if (least > fields_format)
        throw Error(-DER_DF_INCOMPT, what + " has format version " + std::to_string(format) +
                                         "; this library reads up to version " +
                                         std::to_string(fields_format) + ": use a newer Stepstore");
    const auto sum = from.fixed<std::uint64_t>();
    const Bytes body = bytes.subspan(frame_size);
    if (sum != checksum(body))
        throw Error(
            -DER_CSUM,
            what + " is damaged: its checksum does not match; `stepstore pool check` says what can be saved");
    return body;
}

std::vector<std::byte> encode_root(const std::string& container)
{
    std::vector<std::byte> bytes = framed();
    WireWriter(bytes).text(container);
    seal(bytes, Magic::root);
    return bytes;
}

std::string decode_root(Bytes bytes, const std::string& what)
{
    return std::string(WireReader(unseal(bytes, Magic::root, what), what).text());
}

std::vector<std::byte> encode_dataset(const DatasetRecord& record)
{
    std::vector<std::byte> bytes = framed();
    WireWriter to(bytes);
    write_field(to, tag_key, record.key.text());
    each_field(record, [&](Tag tag, const auto& value) { write_field(to, tag, value); });
    seal(bytes, Magic::dataset);
    return bytes;
}

DatasetRecord decode_dataset(Bytes bytes, const std::string& what)
{
    WireReader from(unseal(bytes, Magic::dataset, what), what);
    DatasetRecord record;
    while (!from.at_end()) {
        const auto tag = from.fixed<std::uint16_t>();
        const Bytes value = from.bytes(from.varint());
        bool known = tag == tag_key;
        if (known) record.key = Key::parse(as_text(value));
        each_field(record, [&](Tag ours, auto& member) {
            if (ours != tag) return;
            read_field(value, member, what);
            known = true;
        });
        if (!known && (tag & must_know) != 0)
            throw Error(-DER_DF_INCOMPT, what + " uses a feature (field " + std::to_string(tag & ~must_know) +
                                             ") that this library does not know: use a newer Stepstore");
    }
    const bool good = (record.options.index == Index::shared || record.options.index == Index::process) &&
                      record.options.chunk_size > 0;
    if (!good) throw Error(-DER_DF_INCOMPT, what + " is laid out in a way that this library does not know");
    return record;
}

std::vector<std::byte> encode_collocation(std::uint64_t index_object)
{
    std::vector<std::byte> bytes = framed();
    WireWriter(bytes).fixed(index_object);
    seal(bytes, Magic::collocation);
    return bytes;
}

std::uint64_t decode_collocation(Bytes bytes, const std::string& what)
{
    return WireReader(unseal(bytes, Magic::collocation, what), what).fixed<std::uint64_t>();
}

std::vector<std::byte> encode_writer(const WriterRecord& record)
{
    std::vector<std::byte> bytes = framed();
    WireWriter to(bytes);
    to.fixed(record.first);
    to.fixed(record.count);
    to.fixed(record.process.process);
    to.fixed(record.process.started);
    to.text(record.process.host);
    to.text(record.process.machine);
    seal(bytes, Magic::writer);
    return bytes;
}

WriterRecord decode_writer(Bytes bytes, const std::string& what)
{
    WireReader from(unseal(bytes, Magic::writer, what), what);
    WriterRecord record;
    record.first = from.fixed<std::uint64_t>();
    record.count = from.fixed<std::uint64_t>();
    record.process.process = from.fixed<std::uint64_t>();
    record.process.started = from.fixed<std::uint64_t>();
    record.process.host = from.text();
    record.process.machine = from.text();
    return record;
}

} // namespace stepstore::fields

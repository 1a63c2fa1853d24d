#include "fields/record.h"

namespace stepstore::fields {

namespace {

// Of the dataset's record.
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

// A dataset may say where its pages lie. The row is the only place that this library reads.
void require_one_index(Bytes value, const std::string& what)
{
    std::uint64_t kind = 0;
    read_field(value, kind, what);
    if (kind != 1)
        throw Error(-DER_DF_INCOMPT, what + " has the setting index=process, which this library does not "
                                            "read: copy its fields with the Stepstore that made it");
}

} // namespace

std::vector<std::byte> framed()
{
    return std::vector<std::byte>(frame_size);
}

void seal(std::vector<std::byte>& bytes, Magic magic)
{
    seal_frame(bytes, static_cast<std::uint32_t>(magic), static_cast<std::uint16_t>(fields_format));
}

Bytes unseal(Bytes bytes, Magic magic, const std::string& what)
{
    return unseal_frame(bytes, static_cast<std::uint32_t>(magic), static_cast<std::uint16_t>(fields_format),
                        what)
        .body;
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
    DatasetRecord record;
    read_fields(unseal(bytes, Magic::dataset, what), what, [&](std::uint16_t tag, Bytes value) {
        bool known = tag == tag_key || tag == tag_index;
        if (tag == tag_key) record.key = Key::parse(as_text(value));
        if (tag == tag_index) require_one_index(value, what);
        each_field(record, [&](Tag ours, auto& member) {
            if (ours != tag) return;
            read_field(value, member, what);
            known = true;
        });
        return known;
    });
    if (record.options.chunk_size == 0)
        throw Error(-DER_DF_INCOMPT, what + " has a form that this library does not know: use a newer "
                                            "Stepstore");
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
    write_process(to, record.process);
    seal(bytes, Magic::writer);
    return bytes;
}

WriterRecord decode_writer(Bytes bytes, const std::string& what)
{
    WireReader from(unseal(bytes, Magic::writer, what), what);
    WriterRecord record;
    record.first = from.fixed<std::uint64_t>();
    record.count = from.fixed<std::uint64_t>();
    record.process = read_process(from);
    return record;
}

} // namespace stepstore::fields

// The records and names of a pool in files.
#include "fuzz.h"

#include "base/record.h"
#include "store/failure.h"
#include "store/files/container.h"
#include "store/files/keys.h"
#include "store/files/objects.h"
#include "store/files/packed.h"
#include "store/files/place.h"

namespace stepstore::store::files {
namespace {

std::vector<std::byte> sealed(std::uint32_t magic, Bytes body)
{
    std::vector<std::byte> record(frame_size_of<std::uint32_t>);
    record.insert(record.end(), body.begin(), body.end());
    seal_frame(record, magic, format_version);
    return record;
}

} // namespace

FUZZ(files, header)
{
    fuzz::touch(decode_header(fuzz::Copy(sealed(0x48465353, input.rest())), "pool").label);
}

FUZZ(files, owner)
{
    const Bytes rest = input.rest();
    decode_owner(fuzz::Copy(rest));
    if (const auto owner = decode_owner(fuzz::Copy(sealed(0x4f465353, rest)))) fuzz::touch(owner->host);
}

FUZZ(files, about)
{
    const About about = decode_about(fuzz::Copy(sealed(0x43465353, input.rest())), "container");
    fuzz::touch(about.label);
    fuzz::touch(about.properties);
}

FUZZ(files, value)
{
    const Bytes rest = input.rest();
    decode_value(fuzz::Copy(rest));
    const auto stored = decode_value(fuzz::Copy(sealed(0x56465353, rest)));
    if (!stored) return;
    fuzz::touch(stored->key);
    fuzz::touch(stored->value);
    fuzz::require(stored->key.size() + stored->value.size() + 4 == rest.size(), "the sizes");
}

FUZZ(files, packed)
{
    const Bytes rest = input.rest();
    const PackedHead head = decode_packed_head(fuzz::Copy(sealed(0x50465353, rest)), "a packed file");
    fuzz::require(std::ranges::equal(encode_packed_head(head), sealed(0x50465353, rest)), "the head");
}

FUZZ(files, packed_index)
{
    const auto bucket = static_cast<unsigned>(input.number(1));
    const auto keys = decode_packed_index(fuzz::Copy(sealed(0x49465353, input.rest())), bucket, "an index");
    std::string before;
    for (const PackedKey& key : keys) {
        fuzz::require(before < key.name && bucket_number(key.name) == bucket, "the order of the names");
        fuzz::require(key.value.offset + key.value.length >= key.value.offset, "the place of the value");
        before = key.name;
    }
    const auto again = decode_packed_index(encode_packed_index(keys), bucket, "an index");
    fuzz::require(again.size() == keys.size(), "the keys");
}

FUZZ(files, entry)
{
    const fuzz::Copy copy(input.rest());
    const std::string_view text = as_text(copy);
    decode_entry(text);
    const auto entry = decode_entry(encode_entry({std::string(text), std::nullopt, false}));
    if (!entry) return;
    fuzz::require(entry->data.find("..") == std::string::npos && entry->data.front() != '/',
                  "the place of data");
    fuzz::require(entry->attributes || entry->packed || entry->data == text, "the entry");
}

FUZZ(files, name)
{
    const fuzz::Copy copy(input.rest());
    const std::string_view text = as_text(copy);
    std::string_view name;
    std::uint64_t number = 0;
    if (parse_version(text, name, number))
        fuzz::require(std::string(name) + "@" + std::to_string(number) == text, "the version");
    if (const auto oid = object_of_name(text)) fuzz::require(store::text(*oid) == text, "the object");
    if (const auto key = key_of_name(text)) fuzz::require(name_of_key(*key) == text, "the key");
    const std::string own = name_of_key(copy);
    fuzz::require(own.find('/') == std::string::npos && own.size() <= 160, "the name");
    const auto back = key_of_name(own);
    if (back) fuzz::require(std::ranges::equal(*back, Bytes(copy)), "the key of a name");
}

} // namespace stepstore::store::files

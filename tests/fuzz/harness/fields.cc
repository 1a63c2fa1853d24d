#include "fuzz.h"

#include "fields/page.h"
#include "fields/record.h"
#include "fields/row_record.h"

namespace stepstore::fields {
namespace {

fuzz::Copy sealed(Magic magic, Bytes body)
{
    std::vector<std::byte> record = framed();
    record.insert(record.end(), body.begin(), body.end());
    seal(record, magic);
    return fuzz::Copy(record);
}

} // namespace

FUZZ(fields, key)
{
    const Bytes text = input.rest();
    const Key key = Key::parse(as_text(text));
    fuzz::require(Key::parse(key.text()).text() == key.text(),
                  "a key that is another one when it is read again");
}

FUZZ(fields, root)
{
    fuzz::touch(decode_root(sealed(Magic::root, input.rest()), "root"));
}

FUZZ(fields, dataset)
{
    const DatasetRecord record = decode_dataset(sealed(Magic::dataset, input.rest()), "dataset");
    fuzz::require(record.options.chunk_size > 0, "a chunk size of 0");
    fuzz::touch(record.key.text());
    fuzz::touch(record.schema);
}

FUZZ(fields, collocation)
{
    decode_collocation(sealed(Magic::collocation, input.rest()), "collocation");
}

FUZZ(fields, writer)
{
    fuzz::touch(decode_writer(sealed(Magic::writer, input.rest()), "writer").process.host);
}

FUZZ(fields, row)
{
    const RowRecord record = decode_row(sealed(Magic::row, input.rest()), "row");
    may_match(record, Request(), Key());
    for (const std::string& first : record.firsts)
        fuzz::touch(first);
    fuzz::touch(record.inside);
}

FUZZ(fields, part)
{
    const Bytes wanted = input.bytes(4);
    const fuzz::Copy copy = sealed(Magic::part, input.rest());
    const Bytes bytes = copy;
    const auto part =
        std::make_shared<const Part>(std::vector<std::byte>(bytes.begin(), bytes.end()), "part");
    part->find(as_text(wanted));
    for (Part::Cursor cursor(part); cursor.next();) {
        fuzz::touch(cursor.text());
        const PageEntry entry = cursor.entry();
        if (const auto* uri = std::get_if<std::string>(&entry.location)) fuzz::touch(*uri);
        part->find(cursor.text());
    }
}

} // namespace stepstore::fields

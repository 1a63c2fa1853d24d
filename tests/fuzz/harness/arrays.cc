#include "fuzz.h"

#include "arrays/record.h"
#include "base/record.h"

namespace stepstore::arrays {
namespace {

constexpr std::size_t frame = frame_size_of<std::uint16_t>;

std::vector<std::byte> sealed(std::uint32_t magic, Bytes body)
{
    std::vector<std::byte> record(frame);
    record.insert(record.end(), body.begin(), body.end());
    seal_frame(record, magic, std::uint16_t{1});
    return record;
}

Header shaped(fuzz::Input& input)
{
    Header header;
    header.dimensions = 1 + static_cast<unsigned>(input.below(max_dimensions));
    for (unsigned d = 0; d < header.dimensions; ++d)
        header.shape[d] = input.number(1 + input.below(3));
    header.type = {Kind::real64, 1};
    header.objects = {{input.number(1), input.number(1)}, {300, 4}};
    // As a decoded one.
    return decode_header(encode(header), "header");
}

} // namespace

FUZZ(arrays, header)
{
    const Header header = decode_header(fuzz::Copy(sealed(0x48415353, input.rest())), "header");
    if (header.removed) return;
    fuzz::require(volume(header.shape, header.dimensions) <= INT64_MAX / size_of(header.type), "the shape");
    fuzz::require(!header.grows_along || *header.grows_along < header.dimensions,
                  "the dimension it grows along");
    blocks_in(header);
    if (header.tables.empty()) return;
    std::vector<StoredBlock> blocks;
    decode_table(header.tables.front().in_place, header, "table", blocks);
}

FUZZ(arrays, table)
{
    const Header header = shaped(input);
    std::vector<StoredBlock> blocks;
    decode_table(fuzz::Copy(sealed(0x54415353, input.rest())), header, "table", blocks);
    for (const StoredBlock& one : blocks)
        fuzz::require(contains(header.shape, one.box, header.dimensions), "a block outside of the array");
}

FUZZ(arrays, mark)
{
    const WritingMark mark = decode_mark(fuzz::Copy(sealed(0x57415353, input.rest())), "mark");
    for (const ObjectRange& one : mark.objects)
        fuzz::require(one.first + one.count >= one.first, "the numbers of objects");
}

FUZZ(arrays, attribute)
{
    const Attribute attribute = decode_attribute(fuzz::Copy(sealed(0x41415353, input.rest())), "attribute");
    fuzz::require(attribute.count * size_of(attribute.type) == attribute.values.size(),
                  "an attribute's size");
}

} // namespace stepstore::arrays

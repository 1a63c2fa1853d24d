#include "fuzz.h"

#include "base/record.h"
#include "steps/layouts/adaptive_rows.h"
#include "steps/stream_record.h"

namespace stepstore::steps {
namespace {

StreamRecord small_record(fuzz::Input& input)
{
    StreamRecord record;
    record.objects = static_cast<Objects>(static_cast<unsigned>(Objects::single) + input.below(3));
    record.ranks = 1 + static_cast<std::uint32_t>(input.below(5));
    record.chunk_size = 4096;
    record.groups = static_cast<std::uint32_t>(input.below(4));
    return record;
}

} // namespace

FUZZ(steps, stream_record)
{
    std::vector<std::byte> bytes(frame_size_of<std::uint32_t>);
    const Bytes rest = input.rest();
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    seal_frame(bytes, 0x54535353, std::uint32_t{2});
    const StreamRecord record = decode_record(fuzz::Copy(bytes), "stream");
    fuzz::require(record.ranks > 0 && record.chunk_size > 0, "a record of nothing");
    for (const Segment& one : segments_of(record))
        fuzz::require(one.directory.find("..") == std::string::npos || one.directory.starts_with("files/"),
                      "a directory");
    segment_record_of(record, 5);
    decode_record(encode_record(record), "stream");
}

FUZZ(steps, row)
{
    const StreamRecord record = small_record(input);
    std::vector<std::byte> bytes(12);
    store_little(bytes.data(), std::uint32_t{0x4c535353});
    const Bytes rest = input.rest();
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    append_checksum(bytes);
    const Row row = decode_row(fuzz::Copy(bytes), 0, record);
    fuzz::require(row.sizes().size() == record.ranks, "the sizes of the slots");
    row.places(0);
    for (std::uint32_t rank = 0; rank < record.ranks; ++rank)
        row.of(rank).at(3);
    row.ends();
}

} // namespace stepstore::steps

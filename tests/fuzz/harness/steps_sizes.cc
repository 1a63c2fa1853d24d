// The sizes of a step's metadata, of the layout array.
#include "fuzz.h"

#include "steps/layouts/array.cc"

namespace stepstore::steps {

FUZZ(steps, sizes)
{
    StreamRecord record;
    record.objects = input.below(2) == 0 ? Objects::single : Objects::per_writer;
    record.ranks = 1 + static_cast<std::uint32_t>(input.below(5));
    std::vector<std::byte> bytes(12);
    store_little(bytes.data(), sizes_magic);
    const Bytes rest = input.rest();
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    append_checksum(bytes);
    const Sizes sizes = decode_sizes(fuzz::Copy(bytes), 0, record);
    fuzz::require(sizes.places.size() == record.ranks && sizes.offsets.size() == record.ranks + 1,
                  "the ranks");
    for (std::uint32_t rank = 0; rank < record.ranks; ++rank)
        fuzz::require(sizes.offsets[rank] <= sizes.offsets[rank + 1] &&
                          sizes.places[rank] + (sizes.offsets[rank + 1] - sizes.offsets[rank]) <= INT64_MAX,
                      "the place of a rank's metadata");
}

} // namespace stepstore::steps

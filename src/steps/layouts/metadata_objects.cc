#include "steps/layouts/metadata_objects.h"

#include "base/wire.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

std::string reach_key(std::uint32_t rank)
{
    return "Objects-Rank" + std::to_string(rank);
}

std::uint64_t decode_reach(Bytes bytes)
{
    const std::string_view what = "the number of a rank's metadata objects";
    WireReader from(bytes, what);
    const auto reach = from.fixed<std::uint64_t>();
    if (!from.at_end()) from.fail("has bytes left over");
    return reach;
}

// Their ids lie after those of the data where there are several.
bool has_several(const StreamRecord& segment)
{
    return segment.metadata.lo > segment.data.lo;
}

void destroy_one(const Container& container, const StreamRecord& segment, const ObjectId& id)
{
    constexpr int type_shift = 56; // of the upper id: docs/format.md
    if (id.hi >> type_shift == segment.side.hi >> type_shift)
        container.key_value(id).destroy();
    else
        container.open_array(id, {1, segment.chunk_size}).destroy();
}

} // namespace

std::uint64_t count_metadata_objects(const Container& container, const StreamRecord& segment)
{
    if (!has_several(segment)) return 1;
    std::uint64_t count = segment.ranks; // per-writer; harmless where there are none: the numbers are ours
    const KeyValue side = container.key_value(segment.side, Access::read_only);
    for (std::uint32_t rank = 0; rank < segment.ranks; ++rank) {
        try {
            if (const auto reach = side.get(reach_key(rank))) count = std::max(count, decode_reach(*reach));
        } catch (const Error& error) { // the other ranks' keys say about the same
            if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL) throw;
        }
    }
    return std::min(count, metadata_numbers(Objects::per_step, segment.ranks));
}

void destroy_metadata_objects(const Container& container, const StreamRecord& segment, std::uint64_t from)
{
    const std::uint64_t count = count_metadata_objects(container, segment);
    for (std::uint64_t number = from; number < count; ++number)
        destroy_one(container, segment, {segment.metadata.hi, segment.metadata.lo + number});
}

ObjectsReach::ObjectsReach(const LayoutContext& context, std::uint32_t rank)
    : record_(context.record), key_(reach_key(rank))
{
    if (record_.objects == Objects::per_step) side_ = context.container.key_value(record_.side);
}

std::uint64_t ObjectsReach::cover(std::uint64_t step)
{
    constexpr std::uint64_t least_ahead = 16;
    if (!side_) return 0;
    const std::uint64_t number = step - record_.first_step;
    if (number < reach_) return 0;
    reach_ = number + 1 + std::max(least_ahead, number / 4);
    std::vector<std::byte> value;
    WireWriter(value).fixed(reach_);
    side_->put(key_, value);
    return 1;
}

MetadataArrays::MetadataArrays(const LayoutContext& context)
    : arrays_(context, Access::read_only), record_(context.record), queue_(context.pool.event_queue())
{
}

std::uint64_t MetadataArrays::there(std::uint64_t step, std::uint32_t rank, std::uint64_t at,
                                    std::uint64_t bytes)
{
    if (bytes <= much) return bytes;
    arrays_.make_room();
    const std::uint64_t size = arrays_.of(step, rank).size();
    return std::min(bytes, size - std::min(at, size));
}

std::uint64_t MetadataArrays::read(std::span<const MetadataPiece> pieces)
{
    struct Request {
        Array* array;
        std::vector<Range> ranges;
        std::vector<MutableBytes> memory;
    };
    arrays_.make_room();
    std::map<ObjectId, Request> requests;
    for (const MetadataPiece& piece : pieces) {
        Request& request = requests[record_.metadata_of(piece.step, piece.rank)];
        request.array = &arrays_.of(piece.step, piece.rank);
        request.ranges.push_back({piece.at, piece.memory.size()});
        request.memory.push_back(piece.memory);
    }
    if (requests.size() < 2) {
        for (auto& [id, request] : requests)
            request.array->read(request.ranges, request.memory);
        return requests.size();
    }
    std::vector<Pending> pending;
    for (auto& [id, request] : requests)
        pending.push_back(request.array->read(queue_, request.ranges, request.memory));
    for (Pending& one : pending)
        one.wait();
    return requests.size();
}

} // namespace stepstore::steps

#include "steps/metadata/bundle.h"

#include "base/wire.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::size_t length_size = 8; // of each rank's metadata

std::vector<Bytes> taken_apart(Bytes bundle, const MetadataHeader& header, std::uint32_t ranks,
                               std::string_view what)
{
    WireReader from(bundle.first(std::min<std::uint64_t>(header.length, bundle.size())), what);
    from.bytes(metadata_header_size);
    if ((header.flags & metadata_bundle) == 0 || header.entries != ranks)
        from.fail("has not the metadata of " + std::to_string(ranks) + " ranks");
    WireReader lengths(from.bytes(std::uint64_t{ranks} * length_size), what);
    std::vector<Bytes> found;
    found.reserve(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        found.push_back(from.bytes(lengths.fixed<std::uint64_t>()));
    if (!from.at_end()) from.fail("is longer than the metadata in it");
    return found;
}

} // namespace

std::uint64_t bundle_overhead(std::uint64_t ranks)
{
    return metadata_header_size + ranks * length_size;
}

std::vector<std::byte> bundle_of(std::uint64_t generation, std::uint64_t step, std::uint32_t row,
                                 std::span<const Bytes> metadata)
{
    std::uint64_t size = bundle_overhead(metadata.size());
    for (const Bytes one : metadata)
        size += one.size();
    std::vector<std::byte> bundle(size);
    std::byte* length = bundle.data() + metadata_header_size;
    std::byte* at = bundle.data() + bundle_overhead(metadata.size());
    for (const Bytes one : metadata) {
        store_little<std::uint64_t>(length, one.size());
        length += length_size;
        at = std::ranges::copy(one, at).out;
    }
    MetadataHeader header;
    header.flags = metadata_bundle;
    header.generation = generation;
    header.step = step;
    header.rank = row;
    header.entries = static_cast<std::uint32_t>(metadata.size());
    seal_metadata(header, bundle);
    return bundle;
}

std::vector<Bytes> metadata_in(Bytes bundle, const MetadataHeader& header, std::uint32_t ranks,
                               const std::function<std::string()>& named)
{
    try {
        return taken_apart(bundle, header, ranks, "a bundle");
    } catch (const Error&) { // again, with the name, which is not made for each row of each step
        return taken_apart(bundle, header, ranks, "the metadata of " + named());
    }
}

} // namespace stepstore::steps

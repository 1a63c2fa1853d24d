// What a rank's metadata of a step holds: sections, definitions, plans, blocks.
#include "fuzz.h"

#include "steps/metadata/bundle.h"
#include "steps/metadata/decoder.h"

namespace stepstore::steps {
namespace {

std::vector<LocalType> types_of(fuzz::Input& input)
{
    std::vector<LocalType> types(input.below(6));
    for (LocalType& one : types) {
        one.type = static_cast<Type>(1 + input.below(18));
        one.kind = static_cast<ShapeKind>(1 + input.below(5));
        one.size = one.type == Type::string      ? 0
                   : one.type == Type::structure ? static_cast<std::uint32_t>(input.number(4))
                                                 : static_cast<std::uint32_t>(size_of(one.type));
    }
    std::erase_if(types, [](const LocalType& one) {
        return name_of(one.type).empty() || (one.type == Type::string && !is_value(one.kind)) ||
               (one.type == Type::structure && (one.size == 0 || one.size > 1U << 30));
    });
    return types;
}

// A rank's metadata, with the sizes of its sections from the input, and the checksums right.
std::vector<std::byte> metadata_of(fuzz::Input& input, std::uint64_t step, std::uint32_t rank)
{
    MetadataHeader header;
    header.generation = 7;
    header.step = step;
    header.rank = rank;
    header.flags = static_cast<std::uint16_t>(input.number(1));
    header.batches = static_cast<std::uint32_t>(input.below(4));
    header.definitions_step = input.below(3);
    header.plan_step = input.below(4) == 0 ? no_step : input.below(3);
    header.data_base = input.number(2);
    header.data_length = input.number(2);
    header.entries = static_cast<std::uint32_t>(input.below(8));
    header.definitions_bytes = static_cast<std::uint32_t>(input.number(1));
    header.plan_bytes = static_cast<std::uint32_t>(input.number(1));
    header.override_bytes = static_cast<std::uint32_t>(input.below(32));
    header.fixed_bytes = static_cast<std::uint32_t>(input.number(1));
    header.tail_bytes = static_cast<std::uint32_t>(input.below(32));
    const std::size_t all = std::size_t{header.definitions_bytes} + header.plan_bytes +
                            header.override_bytes + header.fixed_bytes + header.tail_bytes;
    std::vector<std::byte> metadata(metadata_header_size);
    const Bytes payload = input.bytes(all);
    metadata.insert(metadata.end(), payload.begin(), payload.end());
    if ((header.flags & metadata_compressed) == 0) metadata.resize(metadata_header_size + all);
    seal_metadata(header, metadata);
    return metadata;
}

void look_at(const InstalledStep& step)
{
    for (const RankStep& rank : step.ranks) {
        try {
            if (const auto sums = rank.sums()) {
                const DataSpan part = sums->cover({rank.header.data_base, 1});
                fuzz::require(part.length <= most_piece && part.begin <= rank.header.data_base &&
                                  part.end() > rank.header.data_base,
                              "the piece around a byte");
            }
        } catch (const Error&) {
        }
        if (rank.plan == nullptr) continue;
        for (std::uint32_t entry = 0; entry < rank.plan->entries.size(); ++entry) {
            try {
                const LocalType& local = rank.local(entry);
                if (is_value(local.kind)) {
                    fuzz::touch(rank.value(entry));
                    continue;
                }
                rank.geometry(entry);
                rank.raw_bytes(entry);
                rank.minmax(entry);
                const Placement place = rank.place(entry);
                fuzz::require(rank.is_inline(entry) ||
                                  place.at + place.length <= rank.header.data_base + rank.header.data_length,
                              "the place of a block");
            } catch (const Error&) {
            }
        }
    }
}

} // namespace

FUZZ(steps, data_sums)
{
    const std::uint64_t begin = input.number(), length = input.number(), from = input.number();
    const DataSpan data{begin, length};
    const fuzz::Copy copy(input.rest());
    const DataSums sums = DataSums::decode(copy, data, "a rank's metadata");
    if (data.length == 0) return;
    const DataSpan wanted{data.begin + from % data.length, 1};
    const DataSpan part = sums.cover(wanted);
    fuzz::require(part.begin >= data.begin && part.end() <= data.end(), "a piece lies in the data");
    fuzz::require(part.begin <= wanted.begin && part.end() >= wanted.end(), "a piece has its byte");
    const std::vector<std::byte> bytes(std::min<std::uint64_t>(part.length, 1 << 16));
    sums.mismatch(part.begin, bytes);
}

// The lengths are the input's, and the checksums right.
FUZZ(steps, bundle)
{
    const auto ranks = static_cast<std::uint32_t>(input.below(5));
    std::vector<std::vector<std::byte>> all;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const Bytes of_rank = input.bytes(input.below(64));
        all.emplace_back(of_rank.begin(), of_rank.end());
    }
    const std::vector<Bytes> views(all.begin(), all.end());
    std::vector<std::byte> bundle = bundle_of(7, 1, 2, views);
    MetadataHeader header;
    fuzz::require(inspect_metadata(bundle, header) == MetadataState::whole, "a bundle is whole");
    const std::vector<Bytes> found = metadata_in(bundle, header, ranks, [] { return std::string("a row"); });
    fuzz::require(std::ranges::equal(found, views, [](Bytes a, Bytes b) { return std::ranges::equal(a, b); }),
                  "a bundle holds what was put into it");
    header.entries = static_cast<std::uint32_t>(input.below(6));
    const Bytes other = input.rest();
    std::ranges::copy(other.first(std::min(other.size(), bundle.size() - metadata_header_size)),
                      bundle.begin() + metadata_header_size);
    seal_metadata(header, bundle);
    const fuzz::Copy copy(bundle);
    for (const Bytes metadata :
         metadata_in(copy, header, header.entries, [] { return std::string("a row"); }))
        fuzz::touch(metadata);
}

FUZZ(steps, metadata)
{
    const fuzz::Copy copy(input.rest());
    MetadataHeader header;
    if (inspect_metadata(copy, header) != MetadataState::whole) return;
    std::vector<std::byte> unpacked;
    sections_of(header, copy, unpacked);
}

FUZZ(steps, sections)
{
    const fuzz::Copy copy(metadata_of(input, 0, 0));
    const MetadataHeader header = open_metadata(copy, 7, 0, 0);
    std::vector<std::byte> unpacked;
    const MetadataSections sections = sections_of(header, copy, unpacked);
    for (const Bytes one :
         {sections.definitions, sections.plan, sections.overrides, sections.fixed, sections.tail})
        fuzz::touch(one);
}

FUZZ(steps, definitions)
{
    const fuzz::Copy copy(input.rest());
    const DefinitionSection section = parse_definitions(copy, "definitions");
    Dictionary dictionary;
    each_definition(
        section, "definitions",
        [&](std::uint32_t, Variable&& variable) {
            dictionary.add(0, 0, variable);
            fuzz::touch(described(variable));
            fuzz::require(local_type(variable).size <= 1U << 30, "the size of an element");
        },
        [&](std::uint64_t since, Attribute&& attribute) { dictionary.add(since, 0, std::move(attribute)); });
    for (const std::string& name : dictionary.attribute_names(3))
        dictionary.attribute(name, 3);
}

FUZZ(steps, plan)
{
    const std::vector<LocalType> types = types_of(input);
    const fuzz::Copy overrides(input.bytes(input.below(32)));
    const Plan plan = decode_plan(fuzz::Copy(input.rest()), types, "plan");
    for (const PlanEntry& entry : plan.entries) {
        const BlockGeometry geometry = geometry_of(entry, plan.dims.data());
        for (const std::uint64_t extent : geometry.count)
            static_cast<void>(extent);
        fuzz::require(entry.fixed_at <= plan.fixed_bytes, "the place of a value");
    }
    const Overrides changed = decode_overrides(overrides, plan, types, "overrides");
    for (const PlanEntry& entry : changed.entries)
        fuzz::require((entry.flags & entry_is_value) != 0 ||
                          entry.dims_at + entry.dims_size() <= changed.dims.size(),
                      "the place of a geometry");
}

FUZZ(steps, decoder)
{
    const auto ranks = static_cast<std::uint32_t>(1 + input.below(2));
    std::vector<std::vector<std::vector<std::byte>>> steps;
    for (std::uint64_t step = 0; step < 3; ++step) {
        steps.emplace_back();
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
            steps.back().push_back(metadata_of(input, step, rank));
    }
    Decoder decoder(7, ranks);
    for (std::uint64_t step = 0; step < 3; ++step) {
        StepMetadata found;
        found.step = step;
        for (const auto& metadata : steps[step])
            found.by_rank.emplace_back(metadata);
        try {
            const auto installed =
                decoder.install(std::move(found), [&](std::uint64_t of, std::uint32_t rank, MetadataPart) {
                    return steps.at(of).at(rank);
                });
            look_at(*installed);
        } catch (const Error&) {
            decoder.forget();
        }
    }
}

FUZZ(steps, decompress)
{
    const auto codec = static_cast<Codec>(input.number(1));
    std::vector<std::byte> raw(input.number(2));
    decompress(codec, fuzz::Copy(input.rest()), raw, "block");
}

} // namespace stepstore::steps

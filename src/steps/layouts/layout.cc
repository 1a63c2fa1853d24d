#include "steps/layouts/layout.h"

#include "base/second_look.h"
#include "steps/layouts/aggregation.h"
#include "steps/layouts/metadata_objects.h"
#include "steps/layouts/reference/step_snapshots.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace stepstore::steps {

namespace {

// The step that a key speaks of: "Step<N>", and what may follow.
std::optional<std::uint64_t> step_of_key(std::string_view key)
{
    constexpr std::string_view prefix = "Step";
    if (!key.starts_with(prefix)) return std::nullopt;
    const char* const end = key.data() + key.size();
    std::uint64_t step = 0;
    const auto [rest, error] = std::from_chars(key.data() + prefix.size(), end, step);
    if (error != std::errc{} || (rest != end && *rest != '-')) return std::nullopt;
    return step;
}

// The end of a row that begins at `first` and has no gaps, by doubling, then halving.
template <class Has>
std::uint64_t end_of_row(std::uint64_t first, Has&& has)
{
    std::uint64_t reach = 1;
    while (has(first + reach - 1)) {
        first += reach;
        reach *= 2;
    }
    while (reach > 1) {
        reach /= 2;
        if (has(first + reach - 1)) first += reach;
    }
    return first;
}

} // namespace

std::string_view name_of(MetadataPlaces places)
{
    switch (places) {
    case MetadataPlaces::files: return "files";
    case MetadataPlaces::values: return "values";
    case MetadataPlaces::dense: return "dense";
    case MetadataPlaces::slots: return "slots";
    case MetadataPlaces::rows: return "rows";
    case MetadataPlaces::other: break;
    }
    return "other";
}

std::unique_ptr<LayoutReader> open_layout(const LayoutContext& context)
{
    if (context.record.in_place()) return snapshot_reader(context);
    if (context.record.ranks_per_aggregator > 1) return aggregating_reader(context);
    return layout_of(context.record).reader(context);
}

std::unique_ptr<LayoutWriter> open_layout_to_write(const LayoutContext& context, Communicator& communicator)
{
    if (context.record.ranks_per_aggregator > 1) return aggregating_writer(context, communicator);
    return layout_of(context.record)
        .writer(context, communicator, static_cast<std::uint32_t>(communicator.rank()));
}

std::uint64_t LayoutReader::count_published(std::uint64_t first)
{
    return end_of_row(first, [&](std::uint64_t step) { return published(step); }) - first;
}

std::uint64_t LayoutReader::first_kept(std::uint64_t step)
{
    return end_of_row(step, [&](std::uint64_t one) { return gone(one); });
}

std::optional<std::vector<std::byte>> LayoutReader::find_metadata(std::uint64_t step, std::uint32_t rank)
{
    auto metadata = raw_metadata(step, rank);
    MetadataHeader header;
    right_at_second_look(
        [&] { return !metadata || inspect_metadata(*metadata, header) == MetadataState::whole; },
        [&] { metadata = raw_metadata(step, rank); });
    return metadata;
}

std::vector<std::byte> LayoutReader::fetch_metadata(std::uint64_t step, std::uint32_t rank)
{
    auto metadata = find_metadata(step, rank);
    if (!metadata) throw Error(-DER_NONEXIST, "the metadata of " + step_rank(step, rank) + " was not found");
    return std::move(*metadata);
}

void LayoutReader::fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepMetadata>& into)
{
    try {
        for (std::uint64_t step = first; step - first < count; ++step) {
            StepMetadata fetched;
            if (!fetch(step, fetched)) return;
            into.push_back(std::move(fetched));
        }
    } catch (const Error&) { // the step's own turn tells it
    }
}

bool LayoutReader::published(std::uint64_t step)
{
    StepMetadata fetched;
    try {
        return fetch(step, fetched);
    } catch (const Error& error) {
        if (error.code() == -DER_CSUM || error.code() == -DER_DF_INVAL) return true;
        throw;
    }
}

void trim_keys(KeyValue& keys, std::uint64_t end)
{
    std::vector<std::string> behind;
    keys.list([&](std::string_view key) {
        const auto step = step_of_key(key);
        if (step && *step >= end) behind.emplace_back(key);
        return true;
    });
    for (const std::string& key : behind)
        keys.remove(key);
}

void shorten(Array array, std::uint64_t bytes)
{
    if (array.size() > bytes) array.set_size(bytes);
}

namespace {

void trim_metadata(const Layout& layout, const LayoutContext& context, std::uint64_t end)
{
    if (context.record.ranks_per_aggregator < 2) return layout.trim(context, end);
    const StreamRecord rows = record_of_rows(context.record);
    layout.trim({context.pool, context.container, rows}, end);
}

} // namespace

void trim_steps(Container& container, const LayoutContext& context, std::uint64_t end)
{
    destroy_step_snapshots(container, context.record, end);
    if (context.record.objects == Objects::per_step)
        destroy_metadata_objects(context.container, context.record, end - context.record.first_step);
    else if (const Layout& layout = layout_of(context.record); layout.trim && !context.record.in_place())
        trim_metadata(layout, context, end);
    KeyValue side = context.container.key_value(context.record.side);
    trim_keys(side, end);
}

void destroy_metadata(Container& container, const StreamRecord& segment)
{
    destroy_step_snapshots(container, segment, segment.first_step);
    destroy_metadata_objects(container, segment, 0);
}

namespace {

std::optional<std::vector<std::byte>> find_copy(LayoutReader& layout, const KeyValue& side,
                                                const StreamRecord& record, std::uint64_t step,
                                                std::uint32_t rank, MetadataPart part)
{
    for (std::vector<std::byte>& copy : layout.copies(rank)) {
        MetadataHeader header;
        if (inspect_metadata(copy, header) != MetadataState::whole || header.magic != metadata_magic)
            continue;
        const auto bytes = part == MetadataPart::plan ? header.plan_bytes : header.definitions_bytes;
        if (header.generation == record.generation && header.step == step && header.rank == rank && bytes > 0)
            return std::move(copy);
    }
    return side.get(copy_key(step, rank, part));
}

} // namespace

std::vector<std::byte> fetch_known(LayoutReader& layout, const KeyValue& side, const StreamRecord& record,
                                   std::uint64_t step, std::uint32_t rank, MetadataPart part)
{
    try {
        std::vector<std::byte> metadata = layout.fetch_metadata(step, rank);
        open_metadata(metadata, record.generation, step, rank);
        return metadata;
    } catch (const Error& error) {
        if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL && error.code() != -DER_NONEXIST &&
            error.code() != -DER_EP_OLD)
            throw;
        std::optional<std::vector<std::byte>> copy;
        const auto find = [&] { copy = find_copy(layout, side, record, step, rank, part); };
        find();
        if (!right_at_second_look([&] { return copy.has_value(); }, find)) throw;
        return std::move(*copy);
    }
}

MetadataHeader overflow_header(const StreamRecord& record, std::uint64_t step, std::uint32_t rank,
                               std::uint64_t length)
{
    MetadataHeader header;
    header.magic = overflow_magic;
    header.generation = record.generation;
    header.step = step;
    header.rank = rank;
    header.length = length;
    return header;
}

std::vector<std::byte> overflowed_metadata(const KeyValue& side, const StreamRecord& record,
                                           std::uint64_t step, std::uint32_t rank)
{
    auto metadata = side.get(metadata_key(record, step, rank));
    if (metadata) return std::move(*metadata);
    throw Error(-DER_CSUM,
                "the metadata of " + step_rank(step, rank) +
                    " is larger than its slot, and missing from the object that holds such metadata: "
                    "this step cannot be read, others can");
}

std::size_t room_for(std::size_t size)
{
    return (size + size / 8 + 256 + 63) / 64 * 64;
}

std::string metadata_key(const StreamRecord& record, std::uint64_t step, std::uint32_t rank)
{
    const std::string of_rank = "Rank" + std::to_string(rank);
    return step_key(record, step, "-" + of_rank, of_rank);
}

std::string step_key(const StreamRecord& record, std::uint64_t step, std::string_view end,
                     std::string_view in_place)
{
    return record.in_place() ? std::string(in_place) : "Step" + std::to_string(step) + std::string(end);
}

namespace {

constexpr std::uint32_t first_in_sight = 1024; // ranks: whose slots take 16 MiB by a reader's first guess

} // namespace

MetadataCollector::MetadataCollector(const LayoutContext& context)
    : MetadataCollector(
          context.record.ranks, context.expected_size,
          std::vector<std::size_t>(std::min(context.record.ranks, first_in_sight), context.expected_size))
{
}

MetadataCollector::MetadataCollector(std::uint32_t ranks, std::size_t expected_size,
                                     std::vector<std::size_t> expected)
    : ranks_(ranks), expected_size_(expected_size), expected_(std::move(expected)),
      slots_(expected_.size() + 1), sizes_(expected_.size()), large_(expected_.size())
{
}

MetadataCollector::~MetadataCollector()
{
    if (spares_ != nullptr) spares_->give(std::move(buffer_));
}

std::vector<MetadataCollector> MetadataCollector::others(std::uint64_t first, std::uint64_t count) const
{
    std::vector<MetadataCollector> made;
    for (std::uint64_t i = 0; i < count; ++i) {
        made.push_back(MetadataCollector(ranks_, expected_size_, expected_));
        made.back().spares_ = spares_;
        made.back().begin(first + i);
    }
    return made;
}

void MetadataCollector::begin(std::uint64_t step)
{
    if (step_ == step) return;
    step_ = step;
    missing_ = 0;
    std::ranges::fill(sizes_, 0);
    for (auto& metadata : large_)
        metadata.clear();
    slots_.assign(1, 0);
    if (buffer_.empty()) buffer_ = spares_->take();
    place_slots();
}

// Of those that are in sight and have none yet.
void MetadataCollector::place_slots()
{
    std::size_t at = slots_.back();
    for (std::size_t rank = slots_.size() - 1; rank < expected_.size(); ++rank) {
        at += expected_[rank];
        slots_.push_back(at);
    }
    if (buffer_.size() < at) buffer_.resize(at);
}

bool MetadataCollector::look_further()
{
    if (in_sight() == ranks_) return false;
    const std::size_t now = std::min<std::uint64_t>(ranks_, 2 * std::uint64_t{in_sight()});
    expected_.resize(now, expected_size_);
    sizes_.resize(now);
    large_.resize(now);
    place_slots();
    return true;
}

MutableBytes MetadataCollector::slot(std::uint32_t rank)
{
    return MutableBytes(buffer_).subspan(slots_[rank], slots_[rank + 1] - slots_[rank]);
}

void MetadataCollector::set(std::uint32_t rank, std::size_t size)
{
    sizes_[rank] = size;
    expected_[rank] = room_for(size);
    while (missing_ < in_sight() && sizes_[missing_] != 0)
        ++missing_;
}

void MetadataCollector::set(std::uint32_t rank, std::vector<std::byte> metadata)
{
    large_[rank] = std::move(metadata);
    set(rank, large_[rank].size());
}

void MetadataCollector::finish(StepMetadata& into)
{
    into.step = step_;
    into.opened = true;
    into.spares = spares_;
    into.bytes = std::move(buffer_);
    buffer_ = {};
    into.by_rank.resize(sizes_.size());
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
        if (large_[rank].empty())
            into.by_rank[rank] = Bytes(into.bytes).subspan(slots_[rank], sizes_[rank]);
        else
            into.set(rank, std::exchange(large_[rank], {}));
    }
    step_ = no_begin;
}

} // namespace stepstore::steps

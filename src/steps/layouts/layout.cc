#include "steps/layouts/layout.h"

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

std::string_view name_of(BlobPlaces blobs)
{
    switch (blobs) {
    case BlobPlaces::files: return "files";
    case BlobPlaces::values: return "values";
    case BlobPlaces::dense: return "dense";
    case BlobPlaces::slots: return "slots";
    case BlobPlaces::rows: return "rows";
    case BlobPlaces::other: break;
    }
    return "other";
}

std::unique_ptr<LayoutReader> open_layout(const LayoutContext& context)
{
    if (context.record.in_place()) return snapshot_reader(context);
    return layout_of(context.record).reader(context);
}

std::uint64_t LayoutReader::count_published(std::uint64_t first)
{
    return end_of_row(first, [&](std::uint64_t step) { return published(step); }) - first;
}

std::uint64_t LayoutReader::first_kept(std::uint64_t step)
{
    return end_of_row(step, [&](std::uint64_t one) { return gone(one); });
}

std::vector<std::byte> LayoutReader::fetch_blob(std::uint64_t step, std::uint32_t rank)
{
    auto blob = raw_blob(step, rank);
    if (!blob) throw Error(-DER_NONEXIST, "the metadata blob of " + step_rank(step, rank) + " was not found");
    return std::move(*blob);
}

void LayoutReader::fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepBlobs>& into)
{
    try {
        for (std::uint64_t step = first; step - first < count; ++step) {
            StepBlobs blobs;
            if (!fetch(step, blobs)) return;
            into.push_back(std::move(blobs));
        }
    } catch (const Error&) { // the step's own turn tells it
    }
}

bool LayoutReader::published(std::uint64_t step)
{
    StepBlobs blobs;
    try {
        return fetch(step, blobs);
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

void trim_steps(Container& container, const LayoutContext& context, std::uint64_t end)
{
    destroy_step_snapshots(container, context.record, end);
    if (context.record.objects == Objects::per_step)
        destroy_metadata_objects(context.container, context.record, end - context.record.first_step);
    else if (const Layout& layout = layout_of(context.record); layout.trim && !context.record.in_place())
        layout.trim(context, end);
    KeyValue side = context.container.key_value(context.record.side);
    trim_keys(side, end);
}

void destroy_metadata(Container& container, const StreamRecord& segment)
{
    destroy_step_snapshots(container, segment, segment.first_step);
    destroy_metadata_objects(container, segment, 0);
}

std::vector<std::byte> fetch_known(LayoutReader& layout, const KeyValue& side, const StreamRecord& record,
                                   std::uint64_t step, std::uint32_t rank, BlobPart part)
{
    try {
        std::vector<std::byte> blob = layout.fetch_blob(step, rank);
        open_blob(blob, record.generation, step, rank);
        return blob;
    } catch (const Error& error) {
        if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL && error.code() != -DER_NONEXIST &&
            error.code() != -DER_EP_OLD)
            throw;
        auto copy = side.get(copy_key(step, rank, part));
        if (!copy) throw;
        return std::move(*copy);
    }
}

BlobHeader overflow_header(const StreamRecord& record, std::uint64_t step, std::uint32_t rank,
                           std::uint64_t length)
{
    BlobHeader header;
    header.magic = overflow_magic;
    header.generation = record.generation;
    header.step = step;
    header.rank = rank;
    header.length = length;
    return header;
}

std::vector<std::byte> overflowed_blob(const KeyValue& side, const StreamRecord& record, std::uint64_t step,
                                       std::uint32_t rank)
{
    auto blob = side.get(blob_key(record, step, rank));
    if (blob) return std::move(*blob);
    throw Error(-DER_CSUM, "the metadata blob of " + step_rank(step, rank) +
                               " is larger than its slot, and missing from the object that holds such blobs: "
                               "this step cannot be read, others can");
}

std::size_t room_for(std::size_t size)
{
    return (size + size / 8 + 256 + 63) / 64 * 64;
}

std::string blob_key(const StreamRecord& record, std::uint64_t step, std::uint32_t rank)
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

BlobCollector::BlobCollector(const LayoutContext& context)
    : BlobCollector(
          context.record.ranks, context.expected_blob,
          std::vector<std::size_t>(std::min(context.record.ranks, first_in_sight), context.expected_blob))
{
}

BlobCollector::BlobCollector(std::uint32_t ranks, std::size_t expected_blob,
                             std::vector<std::size_t> expected)
    : ranks_(ranks), expected_blob_(expected_blob), expected_(std::move(expected)),
      slots_(expected_.size() + 1), sizes_(expected_.size()), large_(expected_.size())
{
}

BlobCollector::~BlobCollector()
{
    if (spares_ != nullptr) spares_->give(std::move(buffer_));
}

std::vector<BlobCollector> BlobCollector::others(std::uint64_t first, std::uint64_t count) const
{
    std::vector<BlobCollector> made;
    for (std::uint64_t i = 0; i < count; ++i) {
        made.push_back(BlobCollector(ranks_, expected_blob_, expected_));
        made.back().spares_ = spares_;
        made.back().begin(first + i);
    }
    return made;
}

void BlobCollector::begin(std::uint64_t step)
{
    if (step_ == step) return;
    step_ = step;
    missing_ = 0;
    std::ranges::fill(sizes_, 0);
    for (auto& blob : large_)
        blob.clear();
    slots_.assign(1, 0);
    if (buffer_.empty()) buffer_ = spares_->take();
    place_slots();
}

// Of those that are in sight and have none yet.
void BlobCollector::place_slots()
{
    std::size_t at = slots_.back();
    for (std::size_t rank = slots_.size() - 1; rank < expected_.size(); ++rank) {
        at += expected_[rank];
        slots_.push_back(at);
    }
    if (buffer_.size() < at) buffer_.resize(at);
}

bool BlobCollector::look_further()
{
    if (in_sight() == ranks_) return false;
    const std::size_t now = std::min<std::uint64_t>(ranks_, 2 * std::uint64_t{in_sight()});
    expected_.resize(now, expected_blob_);
    sizes_.resize(now);
    large_.resize(now);
    place_slots();
    return true;
}

MutableBytes BlobCollector::slot(std::uint32_t rank)
{
    return MutableBytes(buffer_).subspan(slots_[rank], slots_[rank + 1] - slots_[rank]);
}

void BlobCollector::set(std::uint32_t rank, std::size_t size)
{
    sizes_[rank] = size;
    expected_[rank] = room_for(size);
    while (missing_ < in_sight() && sizes_[missing_] != 0)
        ++missing_;
}

void BlobCollector::set(std::uint32_t rank, std::vector<std::byte> blob)
{
    large_[rank] = std::move(blob);
    set(rank, large_[rank].size());
}

void BlobCollector::finish(StepBlobs& into)
{
    into.step = step_;
    into.opened = true;
    into.spares = spares_;
    into.bytes = std::move(buffer_);
    buffer_ = {};
    into.blobs.resize(sizes_.size());
    for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
        if (large_[rank].empty())
            into.blobs[rank] = Bytes(into.bytes).subspan(slots_[rank], sizes_[rank]);
        else
            into.set(rank, std::exchange(large_[rank], {}));
    }
    step_ = no_begin;
}

} // namespace stepstore::steps

#include "steps/write/data_puts.h"

#include "base/checksum.h"
#include "steps/statistics.h"

#include <algorithm>
#include <utility>

namespace stepstore::steps {

namespace {

constexpr std::size_t most_staged = 16 << 20; // bytes that wait in copies
constexpr std::size_t kept_staging = 64 << 20;
// A block from this size on is a range of its own, so the store keeps it as extents of its own. They begin in
// their cache lines as the block's memory does, and are read back whole (docs/design/lmdb-backend.md).
constexpr std::uint64_t alone_from = 256 << 10;

// Of the numbers that a type's elements consist of; those of a struct differ.
std::size_t number_size(Type type)
{
    if (type == Type::structure) return 1;
    return type == Type::complex64 || type == Type::complex128 ? size_of(type) / 2 : size_of(type);
}

} // namespace

void DataPuts::clear()
{
    waiting_.clear();
    elements_.clear();
    staging_.clear();
    if (staging_.capacity() > kept_staging) staging_.shrink_to_fit();
    spans_.clear();
}

void DataPuts::defer(const Block& block)
{
    waiting_.push_back({block, Source::program, 0});
}

std::span<std::byte> DataPuts::span_element(std::uint32_t entry, std::size_t size)
{
    std::vector<std::byte>& memory = spans_.emplace_back(size);
    elements_.push_back({memory.data(), entry, true});
    return memory;
}

void DataPuts::perform_elements(bool spans, Encoder& encoder)
{
    for (const Element& one : elements_)
        if (spans || !one.span) encoder.set_element(one.entry, one.memory);
    std::erase_if(elements_, [&](const Element& one) { return spans || !one.span; });
}

void DataPuts::measure(const Block& block, Encoder& encoder)
{
    std::byte* slot = encoder.minmax_slot(block.entry);
    if (slot != nullptr) store_minmax(block.type, block.memory, block.bytes / size_of(block.type), slot);
}

std::size_t DataPuts::stage(Bytes bytes)
{
    const std::size_t at = staging_.size();
    staging_.insert(staging_.end(), bytes.begin(), bytes.end());
    return at;
}

bool DataPuts::gathered(const Waiting& one) const
{
    return one.source != Source::staged && one.block.bytes < gather_below_;
}

// As it is stored; nullopt: as it is.
std::optional<Bytes> DataPuts::packed(const Block& block, const Encoder& encoder)
{
    const Bytes raw(block.memory, block.bytes);
    if (block.through == nullptr)
        return compressor_.compress(raw, number_size(block.type), block.compression);
    const BlockGeometry geometry = encoder.geometry(block.entry);
    return block.through->apply(raw, block.type, geometry.start, geometry.count);
}

// Compresses what shall be compressed and gets shorter by it, and finds places for blocks that have none yet.
void DataPuts::settle(Waiting& one, Encoder& encoder, Profile& profile)
{
    Block& block = one.block;
    if (!block.to_place) return;
    const Stopwatch watch(profile.data, "stepstore.data");
    if (const auto stored = packed(block, encoder)) {
        const Codec codec =
            block.through != nullptr ? block.through->codec() : codec_of(block.compression.method);
        one.staged_at = stage(*stored);
        one.source = Source::staged;
        block.bytes = stored->size();
        block.at = encoder.place(block.entry, block.bytes, codec, checksum(*stored));
    } else {
        block.at = encoder.place(block.entry, block.bytes, Codec::none, 0);
    }
    block.to_place = false;
}

void DataPuts::put_now(const Block& block, Encoder& encoder, DataWriter& data, Profile& profile)
{
    {
        const Stopwatch watch(profile.statistics, "stepstore.statistics");
        measure(block, encoder);
    }
    Waiting now{block, Source::program, 0};
    settle(now, encoder, profile);
    if (now.source == Source::program) {
        if (!gathered(now)) return write({&now, 1}, data, profile);
        now.staged_at = stage({block.memory, block.bytes});
        now.source = Source::staged;
    }
    waiting_.push_back(now);
    if (staging_.size() < most_staged) return;
    const auto staged = std::stable_partition(
        waiting_.begin(), waiting_.end(), [](const Waiting& one) { return one.source != Source::staged; });
    write({staged, waiting_.end()}, data, profile);
    waiting_.erase(staged, waiting_.end());
    staging_.clear();
}

std::span<std::byte> DataPuts::span(Block block)
{
    std::vector<std::byte>& memory = spans_.emplace_back(block.bytes);
    block.memory = memory.data();
    waiting_.push_back({block, Source::span, 0});
    return memory;
}

// What is staged already goes first, so that the staging memory is free again whenever it is full.
void DataPuts::perform(bool spans, Encoder& encoder, DataWriter& data, Profile& profile)
{
    perform_elements(spans, encoder);
    if (!waiting_.empty()) perform_waiting(spans, encoder, data, profile);
    if (spans) spans_.clear();
}

void DataPuts::perform_waiting(bool spans, Encoder& encoder, DataWriter& data, Profile& profile)
{
    const auto order = [](const Waiting& one) {
        return one.source == Source::staged ? 0 : one.source == Source::program ? 1 : 2;
    };
    if (!std::ranges::is_sorted(waiting_, {}, order)) std::ranges::stable_sort(waiting_, {}, order);
    const auto first_span = std::ranges::find(waiting_, Source::span, &Waiting::source);
    const auto due = static_cast<std::size_t>((spans ? waiting_.end() : first_span) - waiting_.begin());
    {
        const Stopwatch watch(profile.statistics, "stepstore.statistics");
        for (std::size_t i = 0; i < due; ++i)
            if (waiting_[i].source != Source::staged)
                measure(waiting_[i].block, encoder); // staged: when it was put
    }
    std::size_t written = 0;
    const auto write_up_to = [&](std::size_t end) {
        write(std::span(waiting_).subspan(written, end - written), data, profile);
        written = end;
        staging_.clear();
    };
    try {
        for (std::size_t i = 0; i < due; ++i) {
            Waiting& one = waiting_[i];
            settle(one, encoder, profile);
            if (gathered(one)) {
                one.staged_at = stage({one.block.memory, one.block.bytes});
                one.source = Source::staged;
            }
            if (staging_.size() >= most_staged) write_up_to(i + 1);
        }
        write_up_to(due);
    } catch (...) { // what is left can be tried again
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(written));
        throw;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(due));
}

void DataPuts::write(std::span<const Waiting> due, DataWriter& data, Profile& profile)
{
    if (due.empty()) return;
    const Stopwatch watch(profile.data, "stepstore.data");
    ranges_.clear();
    memory_.clear();
    std::uint64_t bytes = 0;
    bool growing = false; // the last range may take more
    for (const Waiting& one : due) {
        if (one.block.bytes == 0) continue;
        const std::byte* memory =
            one.source == Source::staged ? staging_.data() + one.staged_at : one.block.memory;
        const bool joins = std::exchange(growing, one.block.bytes < alone_from) && growing;
        if (joins && ranges_.back().index + ranges_.back().length == one.block.at)
            ranges_.back().length += one.block.bytes;
        else
            ranges_.push_back({one.block.at, one.block.bytes});
        if (!memory_.empty() && memory_.back().data() + memory_.back().size() == memory)
            memory_.back() = {memory_.back().data(), memory_.back().size() + one.block.bytes};
        else
            memory_.emplace_back(memory, one.block.bytes);
        bytes += one.block.bytes;
    }
    if (ranges_.empty()) return;
    data.write(ranges_, memory_);
    profile.data_bytes += bytes;
    ++profile.data_requests;
}

} // namespace stepstore::steps

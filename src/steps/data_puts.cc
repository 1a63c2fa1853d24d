#include "steps/data_puts.h"

#include "steps/statistics.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::size_t most_staged = 16 << 20; // bytes that wait in copies
constexpr std::size_t kept_staging = 64 << 20;

} // namespace

void DataPuts::clear()
{
    waiting_.clear();
    staging_.clear();
    if (staging_.capacity() > kept_staging) staging_.shrink_to_fit();
    spans_.clear();
}

void DataPuts::defer(const Block& block)
{
    waiting_.push_back({block, Source::program, 0});
}

void DataPuts::measure(const Block& block, Encoder& encoder)
{
    std::byte* slot = encoder.minmax_slot(block.entry);
    if (slot == nullptr) return;
    store_minmax(block.type, block.memory, block.bytes / size_of(block.type), slot);
}

std::size_t DataPuts::stage(const Block& block)
{
    const std::size_t at = staging_.size();
    staging_.insert(staging_.end(), block.memory, block.memory + block.bytes);
    return at;
}

void DataPuts::put_now(const Block& block, Encoder& encoder, DataWriter& data, Profile& profile)
{
    {
        const Stopwatch watch(profile.statistics);
        measure(block, encoder);
    }
    if (block.bytes >= gather_below_) {
        const Waiting now{block, Source::program, 0};
        return write({&now, 1}, data, profile);
    }
    waiting_.push_back({block, Source::staged, stage(block)});
    if (staging_.size() < most_staged) return;
    const auto staged = std::stable_partition(waiting_.begin(), waiting_.end(),
                                              [](const Waiting& one) { return one.source != Source::staged; });
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

void DataPuts::perform(bool spans, Encoder& encoder, DataWriter& data, Profile& profile)
{
    std::vector<Waiting> later;
    if (!spans) {
        const auto first_span = std::stable_partition(waiting_.begin(), waiting_.end(),
                                                      [](const Waiting& one) { return one.source != Source::span; });
        later.assign(first_span, waiting_.end());
        waiting_.erase(first_span, waiting_.end());
    }
    {
        const Stopwatch watch(profile.statistics);
        for (const Waiting& one : waiting_)
            if (one.source != Source::staged) measure(one.block, encoder); // staged: when it was put
    }
    for (Waiting& one : waiting_) {
        if (one.source == Source::staged) continue;
        if (one.block.bytes >= gather_below_) continue;
        one.staged_at = stage(one.block);
        one.source = Source::staged;
    }
    write(waiting_, data, profile);
    waiting_ = std::move(later);
    staging_.clear();
}

void DataPuts::write(std::span<const Waiting> due, DataWriter& data, Profile& profile)
{
    if (due.empty()) return;
    const Stopwatch watch(profile.data);
    ranges_.clear();
    memory_.clear();
    std::uint64_t bytes = 0;
    for (const Waiting& one : due) {
        const std::byte* memory = one.source == Source::staged ? staging_.data() + one.staged_at : one.block.memory;
        if (!ranges_.empty() && ranges_.back().index + ranges_.back().length == one.block.at)
            ranges_.back().length += one.block.bytes;
        else
            ranges_.push_back({one.block.at, one.block.bytes});
        if (!memory_.empty() && memory_.back().data() + memory_.back().size() == memory)
            memory_.back() = {memory_.back().data(), memory_.back().size() + one.block.bytes};
        else
            memory_.emplace_back(memory, one.block.bytes);
        bytes += one.block.bytes;
    }
    data.write(ranges_, memory_);
    profile.data_bytes += bytes;
    ++profile.data_requests;
}

} // namespace stepstore::steps

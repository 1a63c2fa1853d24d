#include "steps/write/data_puts.h"

#include "base/checksum.h"
#include "steps/statistics.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stepstore::steps {

namespace {

constexpr std::size_t most_copied = 16 << 20; // bytes that wait in copies
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
    staged_.clear(keeps_memory_);
    sums_.clear();
}

std::span<std::byte> DataPuts::span_element(std::uint32_t entry, std::size_t size)
{
    const std::span<std::byte> memory = staged_.spans.zeros(size);
    elements_.push_back({memory.data(), entry});
    return memory;
}

std::span<std::byte> DataPuts::span(Block block, bool measured)
{
    const std::span<std::byte> memory = staged_.spans.zeros(block.bytes);
    block.memory = memory.data();
    waiting_.push_back({block, Source::span, measured});
    return memory;
}

// Before they are settled: a compressed block does not show its numbers.
void DataPuts::measure(std::span<Waiting> blocks, Encoder& encoder, Profile& profile)
{
    const Stopwatch watch(profile.statistics, "stepstore.statistics");
    for (Waiting& one : blocks) {
        if (std::exchange(one.measured, true)) continue;
        const Block& block = one.block;
        std::byte* slot = encoder.minmax_slot(block.entry);
        if (slot == nullptr) continue;
        if (block.through != nullptr && !block.through->looks())
            store_no_minmax(block.type, slot);
        else
            store_minmax(block.type, block.memory, block.bytes / size_of(block.type), slot);
    }
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
        one.source = Source::copied;
        block.memory = staged_.copies.copy(*stored);
        block.bytes = stored->size();
        block.at = encoder.place(block.entry, block.bytes, codec, checksum(*stored));
    } else {
        block.at = encoder.place(block.entry, block.bytes, Codec::none, 0);
    }
    block.to_place = false;
}

void DataPuts::take_copy(Waiting& one)
{
    one.block.memory = staged_.copies.copy({one.block.memory, one.block.bytes});
    one.source = Source::copied;
}

// Then they are written, and their memory is used again.
bool DataPuts::copies_are_full() const
{
    return !keeps_memory_ && staged_.copies.used() >= most_copied;
}

void DataPuts::add_copied(const Waiting& one, Encoder& encoder, DataWriter& data, Profile& profile)
{
    waiting_.push_back(one);
    if (copies_are_full()) write_copies(encoder, data, profile);
}

void DataPuts::copy_waiting(Waiting now, Encoder& encoder, DataWriter& data, Profile& profile)
{
    if (now.block.to_place) {
        measure({&now, 1}, encoder, profile);
        settle(now, encoder, profile);
    }
    if (now.source == Source::program) take_copy(now);
    add_copied(now, encoder, data, profile);
}

void DataPuts::copy(const Block& block, Encoder& encoder, DataWriter& data, Profile& profile)
{
    copy_waiting({block, Source::program}, encoder, data, profile);
}

void DataPuts::put_now(const Block& block, Encoder& encoder, DataWriter& data, Profile& profile)
{
    Waiting now{block, Source::program};
    measure({&now, 1}, encoder, profile);
    settle(now, encoder, profile);
    if (now.source == Source::program) return write({&now, 1}, data, profile);
    add_copied(now, encoder, data, profile);
}

void DataPuts::put_from(Block block, bool measured, Fetch fetch, Encoder& encoder, DataWriter& data,
                        Profile& profile)
{
    if (!block.to_place && !keeps_memory_ && block.bytes >= 2 * pieces_.most())
        return put_pieces(block, measured, fetch, encoder, data, profile);
    std::unique_ptr<std::byte[]> raw; // of a block that is stored in another form
    if (block.to_place) raw = std::make_unique_for_overwrite<std::byte[]>(block.bytes);
    const MutableBytes memory = raw ? MutableBytes(raw.get(), block.bytes) : staged_.copies.room(block.bytes);
    {
        const Stopwatch watch(profile.data, "stepstore.data");
        fetch(memory, 0);
    }
    block.memory = memory.data();
    if (raw) return copy_waiting({block, Source::program, measured}, encoder, data, profile);
    add_copied({block, Source::copied, measured}, encoder, data, profile);
}

// While the other thread writes it has all of this object but the pieces to itself.
void DataPuts::put_pieces(const Block& block, bool measured, Fetch fetch, Encoder& encoder, DataWriter& data,
                          Profile& profile)
{
    std::byte* const slot = measured ? nullptr : encoder.minmax_slot(block.entry);
    const std::uint64_t element = slot != nullptr ? size_of(block.type) : 1;
    std::optional<MinMax> extremes;
    const auto fetch_and_measure = [&](MutableBytes to, std::uint64_t at) {
        fetch(to, at);
        if (slot == nullptr) return;
        const Stopwatch watch(profile.statistics, "stepstore.statistics");
        store_minmax(block.type, to.data(), to.size() / element, slot);
        MinMax of_piece;
        std::memcpy(of_piece.min.bytes.data(), slot, element);
        std::memcpy(of_piece.max.bytes.data(), slot + element, element);
        if (extremes)
            merge_minmax(block.type, *extremes, of_piece);
        else
            extremes = of_piece;
    };
    Costs written; // by the other thread
    const double measuring = profile.statistics;
    {
        const Stopwatch watch(profile.data, "stepstore.data");
        pieces_.write({block.at, block.bytes}, chunk_, element, fetch_and_measure,
                      [&](const Range& where, Bytes piece) {
                          Waiting one{block, Source::copied, true};
                          one.block.at = where.index;
                          one.block.bytes = where.length;
                          one.block.memory = piece.data();
                          write({&one, 1}, data, written);
                      });
    }
    profile.data -= profile.statistics - measuring;
    profile.data_bytes += written.data_bytes;
    profile.data_requests += written.data_requests;
    if (!extremes) return;
    std::memcpy(slot, extremes->min.bytes.data(), element);
    std::memcpy(slot + element, extremes->max.bytes.data(), element);
}

void DataPuts::write_copies(Encoder& encoder, DataWriter& data, Profile& profile)
{
    const auto copies = std::ranges::stable_partition(
        waiting_, [](const Waiting& one) { return one.source != Source::copied; });
    measure(copies, encoder, profile);
    write(copies, data, profile);
    waiting_.erase(copies.begin(), copies.end());
    staged_.copies.clear();
}

void DataPuts::perform(bool spans, Encoder& encoder, DataWriter& data, Profile& profile)
{
    if (spans) {
        for (const Element& one : elements_)
            encoder.set_element(one.entry, one.memory);
        elements_.clear();
    }
    if (!waiting_.empty()) perform_waiting(spans, encoder, data, profile);
    if (spans && !keeps_memory_) staged_.spans.clear();
}

// What is copied already goes first, so that the memory of copies is free again whenever it is full.
void DataPuts::perform_waiting(bool spans, Encoder& encoder, DataWriter& data, Profile& profile)
{
    if (!std::ranges::is_sorted(waiting_, {}, &Waiting::source))
        std::ranges::stable_sort(waiting_, {}, &Waiting::source);
    const auto first_span = std::ranges::find(waiting_, Source::span, &Waiting::source);
    const auto due = std::span(waiting_.begin(), spans ? waiting_.end() : first_span);
    const auto first_other =
        std::ranges::find_if(due, [](const Waiting& one) { return one.source != Source::copied; });
    measure(due, encoder, profile);
    std::size_t written = 0;
    const auto write_up_to = [&](std::size_t end) {
        write(due.subspan(written, end - written), data, profile);
        written = end;
        if (!keeps_memory_) staged_.copies.clear();
    };
    const auto forget_written = [&] {
        waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(written));
    };
    try {
        for (auto i = static_cast<std::size_t>(first_other - due.begin()); i < due.size(); ++i) {
            settle(due[i], encoder, profile);
            if (keeps_memory_ && due[i].source == Source::program) take_copy(due[i]);
            if (copies_are_full()) write_up_to(i + 1);
        }
        write_up_to(due.size());
    } catch (...) { // what is left can be tried again
        forget_written();
        throw;
    }
    forget_written();
}

void DataPuts::write(std::span<const Waiting> due, DataWriter& data, Costs& costs)
{
    if (due.empty()) return;
    const Stopwatch watch(costs.data, "stepstore.data");
    ranges_.clear();
    memory_.clear();
    std::uint64_t bytes = 0;
    bool growing = false; // the last range may take more
    for (const Waiting& one : due) {
        if (one.block.bytes == 0) continue;
        const std::byte* memory = one.block.memory;
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
    fresh_.clear();
    if (keeps_sums_) {
        MemoryPieces memory(memory_);
        for (const Range& range : ranges_)
            fresh_.add({range.index, range.length}, memory);
    }
    data.write(ranges_, memory_);
    sums_.add(fresh_); // only now: what was not written is written again
    costs.data_bytes += bytes;
    ++costs.data_requests;
}

} // namespace stepstore::steps

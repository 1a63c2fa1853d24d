#include "steps/data_reads.h"

#include "base/checksum.h"

#include <utility>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t read_over = 4 << 10;

} // namespace

void DataReads::add(std::uint32_t rank, std::uint64_t data_at, BoxView block, BoxView box, std::byte* memory,
                    std::size_t element_size)
{
    current_ = nullptr;
    bool fresh = true;
    each_shared_run(block, box, order_, [&](std::uint64_t in_block, std::uint64_t in_box, std::uint64_t length) {
        if (current_ == nullptr) current_ = &segments_[rank];
        add_run(data_at + in_block * element_size, memory + in_box * element_size, length * element_size, fresh);
        fresh = false;
    });
}

// fresh: the first run of a block; segments do not reach over blocks.
void DataReads::add_run(std::uint64_t source, std::byte* target, std::uint64_t length, bool fresh)
{
    if (!fresh) {
        Segment& last = current_->back();
        const std::uint64_t end = last.begin + last.length;
        if (last.direct != nullptr && source == end && target == last.direct + last.length) {
            last.length += length;
            return;
        }
        if (source - end <= read_over) {
            if (last.direct != nullptr) { // from now on staged
                last.first_copy = copies_.size();
                last.copies = 1;
                copies_.push_back({0, last.direct, last.length});
                last.direct = nullptr;
            }
            copies_.push_back({source - last.begin, target, length});
            ++last.copies;
            last.length = source + length - last.begin;
            return;
        }
    }
    current_->push_back({source, length, target, 0, 0});
}

void DataReads::add(const Compressed& stored, BoxView block, BoxView box, std::byte* memory, std::size_t element_size,
                    FunctionRef<std::string()> what)
{
    Packed* packed = nullptr;
    each_shared_run(block, box, order_, [&](std::uint64_t in_block, std::uint64_t in_box, std::uint64_t length) {
        if (packed == nullptr) {
            const auto [at, fresh] = compressed_.try_emplace({stored.rank, stored.at});
            packed = &at->second;
            if (fresh) {
                packed->stored = stored;
                packed->what = what();
            }
        }
        packed->copies.push_back({in_block * element_size, memory + in_box * element_size, length * element_size});
    });
}

void DataReads::unpack(const Packed& block, Bytes stored, std::vector<std::byte>& raw)
{
    if (checksum(stored) != block.stored.checksum)
        throw Error(-DER_CSUM, block.what + " is damaged: the checksum of its " + std::to_string(stored.size()) +
                                   " stored bytes does not match; other blocks can be read");
    const Copy& first = block.copies.front();
    if (block.copies.size() == 1 && first.length == block.stored.raw_bytes)
        return decompress(block.stored.codec, stored, {first.to, first.length}, block.what);
    raw.resize(block.stored.raw_bytes);
    decompress(block.stored.codec, stored, raw, block.what);
    for (const Copy& copy : block.copies)
        std::memcpy(copy.to, raw.data() + copy.from, copy.length);
}

void DataReads::run(DataReader& reader)
{
    const auto segments = std::move(segments_);
    const auto copies = std::move(copies_);
    const auto compressed = std::move(compressed_);
    clear();
    std::uint64_t staged = 0;
    for (const auto& [rank, list] : segments)
        for (const Segment& segment : list)
            if (segment.direct == nullptr) staged += segment.length;
    for (const auto& [place, block] : compressed)
        staged += block.stored.stored_bytes;
    const auto staging = std::make_unique_for_overwrite<std::byte[]>(staged);
    std::byte* free = staging.get();
    const auto stage = [&](std::uint64_t length) { return std::exchange(free, free + length); };

    std::map<std::uint32_t, DataRequest> by_rank;
    bytes_ = 0;
    const auto ask = [&](std::uint32_t rank, std::uint64_t begin, std::uint64_t length, std::byte* memory) {
        DataRequest& request = by_rank[rank];
        request.ranges.push_back({begin, length});
        request.memory.emplace_back(memory, length);
        bytes_ += length;
    };
    std::vector<std::pair<const Segment*, const std::byte*>> to_copy;
    for (const auto& [rank, list] : segments)
        for (const Segment& segment : list) {
            std::byte* memory = segment.direct;
            if (memory == nullptr) {
                memory = stage(segment.length);
                to_copy.emplace_back(&segment, memory);
            }
            ask(rank, segment.begin, segment.length, memory);
        }
    std::vector<std::pair<const Packed*, const std::byte*>> to_unpack;
    for (const auto& [place, block] : compressed) {
        std::byte* memory = stage(block.stored.stored_bytes);
        to_unpack.emplace_back(&block, memory);
        ask(place.first, block.stored.at, block.stored.stored_bytes, memory);
    }

    std::vector<DataRequest> requests;
    for (auto& [rank, request] : by_rank) {
        request.rank = rank;
        requests.push_back(std::move(request));
    }
    requests_ = requests.size();
    if (!requests.empty()) reader.read(requests);
    for (const auto& [segment, memory] : to_copy)
        for (std::size_t i = 0; i < segment->copies; ++i) {
            const Copy& copy = copies[segment->first_copy + i];
            std::memcpy(copy.to, memory + copy.from, copy.length);
        }
    std::vector<std::byte> raw;
    for (const auto& [block, memory] : to_unpack)
        unpack(*block, {memory, block->stored.stored_bytes}, raw);
}

void DataReads::clear()
{
    segments_.clear();
    copies_.clear();
    compressed_.clear();
}

} // namespace stepstore::steps

#include "steps/data_reads.h"

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

void DataReads::run(DataReader& reader)
{
    const auto segments = std::move(segments_);
    const auto copies = std::move(copies_);
    clear();
    std::uint64_t staged = 0;
    for (const auto& [rank, list] : segments)
        for (const Segment& segment : list)
            if (segment.direct == nullptr) staged += segment.length;
    const auto staging = std::make_unique_for_overwrite<std::byte[]>(staged);
    std::vector<DataRequest> requests;
    std::vector<std::pair<const Segment*, std::byte*>> to_copy;
    std::byte* at = staging.get();
    bytes_ = 0;
    for (const auto& [rank, list] : segments) {
        DataRequest& request = requests.emplace_back();
        request.rank = rank;
        for (const Segment& segment : list) {
            std::byte* memory = segment.direct;
            if (memory == nullptr) {
                memory = at;
                at += segment.length;
                to_copy.emplace_back(&segment, memory);
            }
            request.ranges.push_back({segment.begin, segment.length});
            request.memory.emplace_back(memory, segment.length);
            bytes_ += segment.length;
        }
    }
    requests_ = requests.size();
    if (!requests.empty()) reader.read(requests);
    for (const auto& [segment, memory] : to_copy)
        for (std::size_t i = 0; i < segment->copies; ++i) {
            const Copy& copy = copies[segment->first_copy + i];
            std::memcpy(copy.to, memory + copy.from, copy.length);
        }
}

void DataReads::clear()
{
    segments_.clear();
    copies_.clear();
}

} // namespace stepstore::steps

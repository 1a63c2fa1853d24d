#include "steps/read/data_reads.h"

#include "base/checksum.h"
#include "base/second_look.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t read_over = 4 << 10;
constexpr std::size_t most_ranges = 16384; // a DAOS system refuses calls of more short ones

} // namespace

void DataReads::add(const DataPlace& place, std::uint64_t data_at, BoxView block, BoxView box,
                    std::byte* memory, std::size_t element_size, std::shared_ptr<const DataSums> sums)
{
    current_ = nullptr;
    bool fresh = true;
    const DataSums* const by = sums.get();
    if (by != nullptr && (sums_.empty() || sums_.back() != sums)) sums_.push_back(std::move(sums));
    each_shared_run(block, box, order_,
                    [&](std::uint64_t in_block, std::uint64_t in_box, std::uint64_t length) {
                        if (current_ == nullptr) current_ = &segments_[place];
                        add_run(data_at + in_block * element_size, memory + in_box * element_size,
                                length * element_size, fresh, by);
                        fresh = false;
                    });
}

// fresh: the first run of a block; segments do not reach over blocks.
void DataReads::add_run(std::uint64_t source, std::byte* target, std::uint64_t length, bool fresh,
                        const DataSums* sums)
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
    current_->push_back({source, length, target, 0, 0, sums});
}

// What has to be read for it.
DataSpan DataReads::Segment::covered() const
{
    return sums != nullptr ? sums->cover({begin, length}) : DataSpan{begin, length};
}

void DataReads::add(const Compressed& stored, BoxView block, BoxView box, std::byte* memory,
                    std::size_t element_size, FunctionRef<std::string()> what)
{
    Packed* packed = nullptr;
    each_shared_run(block, box, order_,
                    [&](std::uint64_t in_block, std::uint64_t in_box, std::uint64_t length) {
                        if (packed == nullptr) {
                            const auto [at, fresh] = compressed_.try_emplace({stored.place, stored.at});
                            packed = &at->second;
                            if (fresh) {
                                packed->stored = stored;
                                packed->what = what();
                            }
                        }
                        packed->copies.push_back(
                            {in_block * element_size, memory + in_box * element_size, length * element_size});
                    });
}

void DataReads::unpack_whole(const Packed& block, Bytes stored, MutableBytes raw) const
{
    const Compressed& how = block.stored;
    if (undo_ && is_operator(how.codec)) return undo_(how.variable, how.codec, stored, raw, block.what);
    decompress(how.codec, stored, raw, block.what);
}

void DataReads::unpack(const Packed& block, Bytes stored, std::vector<std::byte>& raw) const
{
    const Copy& first = block.copies.front();
    if (block.copies.size() == 1 && first.length == block.stored.raw_bytes)
        return unpack_whole(block, stored, {first.to, first.length});
    raw.resize(block.stored.raw_bytes);
    unpack_whole(block, stored, raw);
    for (const Copy& copy : block.copies)
        std::memcpy(copy.to, raw.data() + copy.from, copy.length);
}

// Joins segments that overlap, as those of two gets of one block do: DAOS refuses overlapping ranges in one
// call, and nothing needs to be read twice. The bytes go straight to the first get that wants all of them, if
// there is one.
void DataReads::join(const DataPlace& place, std::vector<Segment>& segments, std::vector<Fetch>& into)
{
    if (!std::ranges::is_sorted(segments, {}, &Segment::begin))
        std::ranges::sort(segments, {}, &Segment::begin);
    for (std::size_t first = 0; first < segments.size();) {
        const DataSums* const sums = segments[first].sums;
        DataSpan whole = segments[first].covered();
        std::size_t next = first + 1;
        for (; next < segments.size() && segments[next].sums == sums; ++next) {
            const DataSpan more = segments[next].covered();
            if (more.begin >= whole.end()) break;
            whole.length = std::max(whole.length, more.end() - whole.begin);
        }
        Fetch fetch{place,   whole.begin, whole.length, nullptr, {segments.data() + first, next - first},
                    nullptr, sums};
        const auto direct = std::ranges::find_if(fetch.wanted, [&](const Segment& one) {
            return one.direct != nullptr && one.length == fetch.length;
        });
        if (direct != fetch.wanted.end()) fetch.memory = direct->direct;
        into.push_back(fetch);
        first = next;
    }
}

std::vector<DataRequest> DataReads::requests_for(std::span<const Fetch> fetches)
{
    std::vector<DataRequest> requests;
    const auto fits_into = [](const DataRequest& request, const Fetch& fetch) {
        const Range& last = request.ranges.back();
        return request.place == fetch.place && request.ranges.size() < most_ranges &&
               fetch.begin - last.index >= last.length; // blocks overlap only where the metadata is damaged
    };
    for (const Fetch& fetch : fetches) {
        if (requests.empty() || !fits_into(requests.back(), fetch)) requests.push_back({fetch.place, {}, {}});
        requests.back().ranges.push_back({fetch.begin, fetch.length});
        requests.back().memory.emplace_back(fetch.memory, fetch.length);
    }
    return requests;
}

// The second look is into other memory: a program may have given its own to two gets.
void DataReads::verify(const Fetch& fetch, Read read)
{
    if (fetch.sums == nullptr && fetch.packed == nullptr) return;
    MutableBytes found(fetch.memory, fetch.length);
    std::unique_ptr<std::byte[]> again;
    std::uint64_t wrong_from = fetch.begin;
    const auto is_right = [&] {
        if (fetch.packed != nullptr) return checksum(found) == fetch.packed->stored.checksum;
        const auto at = fetch.sums->mismatch(fetch.begin, found);
        wrong_from = at.value_or(wrong_from);
        return !at;
    };
    const bool right = right_at_second_look(is_right, [&] {
        again = std::make_unique_for_overwrite<std::byte[]>(fetch.length);
        found = {again.get(), fetch.length};
        DataRequest request{fetch.place, {{fetch.begin, fetch.length}}, {found}};
        read({&request, 1});
    });
    if (!right && fetch.packed != nullptr)
        throw Error(-DER_CSUM, fetch.packed->what + " is damaged: the checksum of its " +
                                   std::to_string(fetch.length) +
                                   " stored bytes does not match; other blocks can be read");
    if (!right)
        throw Error(-DER_CSUM, "bytes of the data of writer rank " + std::to_string(fetch.place.rank) +
                                   " from " + std::to_string(wrong_from) +
                                   " on are damaged: their checksum does not match; `stepstore pool check` "
                                   "says what can be saved");
    if (again) std::ranges::copy(found, fetch.memory);
}

void DataReads::deliver(const Fetch& fetch, std::span<const Copy> copies)
{
    for (const Segment& segment : fetch.wanted) {
        const std::byte* from = fetch.memory + (segment.begin - fetch.begin);
        if (segment.direct == fetch.memory) continue;
        if (segment.direct != nullptr) std::memmove(segment.direct, from, segment.length);
        for (const Copy& copy : copies.subspan(segment.first_copy, segment.copies))
            std::memmove(copy.to, from + copy.from, copy.length); // a program may give memory twice
    }
}

void DataReads::run(FunctionRef<void(std::span<DataRequest>)> read)
{
    auto segments = std::move(segments_);
    const auto sums = std::move(sums_); // as long as segments point at them
    const auto copies = std::move(copies_);
    const auto compressed = std::move(compressed_);
    clear();
    std::vector<Fetch> fetches;
    for (auto& [place, list] : segments)
        join(place, list, fetches);
    for (const auto& [place, block] : compressed)
        fetches.push_back(
            {place.first, place.second, block.stored.stored_bytes, nullptr, {}, &block, nullptr});
    if (!compressed.empty())
        std::ranges::sort(fetches, {}, [](const Fetch& f) { return std::pair(f.place, f.begin); });
    std::uint64_t staged = 0;
    bytes_ = 0;
    for (const Fetch& fetch : fetches) {
        bytes_ += fetch.length;
        if (fetch.memory == nullptr) staged += fetch.length;
    }
    const auto staging = std::make_unique_for_overwrite<std::byte[]>(staged);
    std::byte* free = staging.get();
    for (Fetch& fetch : fetches)
        if (fetch.memory == nullptr) fetch.memory = std::exchange(free, free + fetch.length);
    std::vector<DataRequest> requests = requests_for(fetches);
    requests_ = requests.size();
    if (!requests.empty()) read(requests);
    std::vector<std::byte> raw;
    verified_ = std::ranges::all_of(
        fetches, [](const Fetch& fetch) { return fetch.sums != nullptr || fetch.packed != nullptr; });
    for (const Fetch& fetch : fetches)
        if (fetch.packed == nullptr) verify(fetch, read);
    for (const Fetch& fetch : fetches) {
        deliver(fetch, copies);
        if (fetch.packed == nullptr) continue;
        verify(fetch, read); // here, as its bytes are in the processor's cache then
        unpack(*fetch.packed, {fetch.memory, fetch.length}, raw);
    }
}

void DataReads::forget(MutableBytes memory) noexcept
{
    const auto goes_there = [&](const std::byte* to) {
        return !std::less<>()(to, memory.data()) && std::less<>()(to, memory.data() + memory.size());
    };
    const auto forget_copies = [&](std::span<Copy> copies) {
        for (Copy& copy : copies)
            if (goes_there(copy.to)) copy.length = 0;
    };
    forget_copies(copies_);
    for (auto& [place, segments] : segments_)
        std::erase_if(segments, [&](const Segment& one) { return goes_there(one.direct); });
    for (auto& [at, packed] : compressed_)
        forget_copies(packed.copies);
    std::erase_if(segments_, [](const auto& one) { return one.second.empty(); });
    std::erase_if(compressed_, [](const auto& one) { return one.second.copies.empty(); });
}

void DataReads::clear()
{
    segments_.clear();
    copies_.clear();
    compressed_.clear();
    sums_.clear();
}

} // namespace stepstore::steps

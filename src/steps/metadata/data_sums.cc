#include "steps/metadata/data_sums.h"

#include "base/checksum.h"
#include "base/wire.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>
#include <bit>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t most_pieces = 512;

std::uint64_t pieces_of(std::uint64_t length)
{
    const std::uint64_t size = piece_size_of(length);
    return length / size + (length % size != 0 ? 1 : 0);
}

} // namespace

std::uint64_t piece_size_of(std::uint64_t length)
{
    if (length > most_piece * most_pieces) return most_piece;
    return std::max(least_piece, std::bit_ceil((length + most_pieces - 1) / most_pieces));
}

void DataSums::clear()
{
    ranges_.clear();
    sums_.clear();
}

void DataSums::add(const DataSpan& range, MemoryPieces& memory)
{
    ranges_.push_back({range, sums_.size()});
    const std::uint64_t size = piece_size_of(range.length);
    for (std::uint64_t done = 0; done < range.length; done += size)
        sums_.push_back(memory.take_checksum(std::min(size, range.length - done)));
}

void DataSums::add(const DataSums& others)
{
    for (const Summed& one : others.ranges_)
        ranges_.push_back({one.at, sums_.size() + one.first});
    sums_.insert(sums_.end(), others.sums_.begin(), others.sums_.end());
}

void DataSums::encode(std::uint64_t data_base, std::vector<std::byte>& to)
{
    std::ranges::sort(ranges_, {}, [](const Summed& one) { return one.at.begin; });
    WireWriter wire(to);
    wire.varint(ranges_.size());
    std::uint64_t end = data_base;
    for (const Summed& one : ranges_) {
        wire.varint(one.at.begin - end);
        wire.varint(one.at.length);
        end = one.at.end();
    }
    for (const Summed& one : ranges_)
        for (std::uint64_t i = 0; i < pieces_of(one.at.length); ++i)
            wire.fixed(sums_[one.first + i]);
}

DataSums DataSums::decode(Bytes bytes, const DataSpan& data, const std::string& what)
{
    WireReader from(bytes, what);
    if (data.length > UINT64_MAX - data.begin) from.fail("has data beyond 2^64 bytes");
    DataSums sums;
    sums.ranges_.resize(from.counted(2));
    std::uint64_t at = 0; // from the step's data on
    std::uint64_t count = 0;
    for (Summed& one : sums.ranges_) {
        const std::uint64_t gap = from.varint();
        const std::uint64_t length = from.varint();
        if (gap > data.length - at || length > data.length - at - gap || length == 0)
            from.fail("has checksums of data that the step does not have");
        one = {{data.begin + at + gap, length}, count};
        at += gap + length;
        count += pieces_of(length);
    }
    if (from.left() % sizeof(std::uint64_t) != 0 || count != from.left() / sizeof(std::uint64_t))
        from.fail("has another number of checksums than its data have pieces");
    sums.sums_.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i)
        sums.sums_.push_back(from.fixed<std::uint64_t>());
    return sums;
}

const DataSums::Summed* DataSums::range_at(std::uint64_t at) const
{
    const auto after =
        std::ranges::upper_bound(ranges_, at, {}, [](const Summed& one) { return one.at.begin; });
    if (after == ranges_.begin()) return nullptr;
    const Summed& one = *std::prev(after);
    return at < one.at.end() ? &one : nullptr;
}

DataSpan DataSums::cover(const DataSpan& wanted) const
{
    std::uint64_t begin = wanted.begin;
    std::uint64_t end = wanted.end();
    if (const Summed* first = range_at(begin))
        begin -= (begin - first->at.begin) % piece_size_of(first->at.length);
    if (const Summed* last = range_at(end - 1)) {
        const std::uint64_t size = piece_size_of(last->at.length);
        end = std::min(last->at.end(), last->at.begin + (end - 1 - last->at.begin) / size * size + size);
    }
    return {begin, end - begin};
}

std::optional<std::uint64_t> DataSums::mismatch(std::uint64_t begin, Bytes bytes) const
{
    const std::uint64_t end = begin + bytes.size();
    auto one = std::ranges::upper_bound(ranges_, begin, {}, [](const Summed& of) { return of.at.begin; });
    if (one != ranges_.begin()) --one;
    for (; one != ranges_.end() && one->at.begin < end; ++one) {
        const std::uint64_t size = piece_size_of(one->at.length);
        const std::uint64_t before = begin > one->at.begin ? begin - one->at.begin : 0;
        for (std::uint64_t piece = (before + size - 1) / size; piece < pieces_of(one->at.length); ++piece) {
            const std::uint64_t from = one->at.begin + piece * size;
            const std::uint64_t length = std::min(size, one->at.end() - from);
            if (from + length > end) break;
            if (checksum(bytes.subspan(from - begin, length)) != sums_[one->first + piece]) return from;
        }
    }
    return std::nullopt;
}

} // namespace stepstore::steps

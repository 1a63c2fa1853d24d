#include "blobs/sums.h"

#include "base/memory_pieces.h"
#include "base/second_look.h"

#include <daos_errno.h>

#include <algorithm>
#include <array>

namespace stepstore::blobs {

namespace {

constexpr std::size_t sum_size = sizeof(std::uint64_t);

std::uint64_t pieces_in(std::uint64_t bytes)
{
    return bytes / summed_piece + (bytes % summed_piece != 0 ? 1 : 0);
}

void append(std::vector<std::byte>& list, std::uint64_t sum)
{
    list.resize(list.size() + sum_size);
    store_little(list.data() + list.size() - sum_size, sum);
}

} // namespace

std::uint64_t sums_at(std::uint64_t bytes)
{
    constexpr std::uint64_t unit = 64;
    return (bytes + unit - 1) / unit * unit;
}

void Sums::add(Bytes bytes)
{
    while (!bytes.empty()) {
        const Bytes part = bytes.first(std::min<std::uint64_t>(bytes.size(), summed_piece - in_piece_));
        bytes = bytes.subspan(part.size());
        if (part.size() == summed_piece) {
            append(whole_, checksum(part));
            continue;
        }
        if (!piece_) piece_.emplace();
        piece_->update(part);
        in_piece_ += part.size();
        if (in_piece_ < summed_piece) continue;
        append(whole_, piece_->digest());
        piece_.reset();
        in_piece_ = 0;
    }
}

std::vector<std::byte> Sums::list() const
{
    std::vector<std::byte> list = whole_;
    if (piece_) append(list, piece_->digest());
    return list;
}

bool read_verified(const Array& array, const Entry& entry, const Part& part, MutableBytes into,
                   FunctionRef<std::string()> what)
{
    const std::uint64_t first = part.first / summed_piece * summed_piece;
    const std::uint64_t end = std::min(entry.bytes, pieces_in(part.end) * summed_piece);
    std::vector<std::byte> before(part.first - first), after(end - part.end);
    std::vector<std::byte> list(pieces_in(entry.bytes) * sum_size);
    const std::array ranges = {Range{first, end - first}, Range{sums_at(entry.bytes), list.size()}};
    const std::array memory = {MutableBytes(before), into, MutableBytes(after), MutableBytes(list)};
    const auto is_right = [&] {
        if (checksum(list) != entry.sum) return false;
        const std::array<Bytes, 3> found = {before, into, after};
        MemoryPieces pieces(found);
        for (std::uint64_t at = first; at < end; at += summed_piece)
            if (pieces.take_checksum(std::min(summed_piece, end - at)) !=
                load_little<std::uint64_t>(list.data() + at / summed_piece * sum_size))
                return false;
        return true;
    };
    bool whole = true;
    const auto read = [&] { whole = whole && array.read(ranges, memory).cells_short == 0; };
    read();
    if (right_at_second_look([&] { return !whole || is_right(); }, read)) return whole;
    throw Error(-DER_CSUM, what() + " is damaged: the checksum of its bytes from " + std::to_string(first) +
                               " to " + std::to_string(end) + " does not match; check the pool");
}

} // namespace stepstore::blobs

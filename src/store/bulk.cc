#include "store/bulk.h"

#include "base/checksum.h"
#include "base/found_twice.h"
#include "store/failure.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace stepstore::store {

namespace {

// The blocks of a large payload are large, and a record may say that those of any payload are. No more memory
// than this is taken for a block.
constexpr std::uint64_t largest_buffer = 1 << 20;

// False: the extent is shorter than that, or its file is gone.
bool read_extent(Target& target, const ExtentRef& extent, std::uint64_t skip, MutableBytes into)
{
    try {
        target.read_extent(extent, skip, into);
        return true;
    } catch (const Error& error) {
        if (error.code() != -DER_CSUM && error.code() != -DER_NONEXIST) throw;
        return false;
    }
}

void read(Target& target, PoolCore* pool, FunctionRef<void(ReadTransaction&)> body)
{
    pool != nullptr ? read_past(*pool, target, body) : target.read(body);
}

// False: the extents' bytes may not be what they were when they were found.
bool read_as_it_is(Target& target, PoolCore* pool,
                   FunctionRef<void(ReadTransaction&, std::vector<BulkRead>&)> find)
{
    std::vector<BulkRead> reads;
    std::uint64_t version = 0;
    read(target, pool, [&](ReadTransaction& transaction) {
        version = transaction.version();
        reads.clear();
        find(transaction, reads);
    });
    for (const BulkRead& one : reads) {
        const MutableBytes room = one.into.contiguous(one.offset, one.to - one.from);
        const bool there = room.empty() ? one.source.read(target, one.from, one.to, one.into, one.offset)
                                        : read_extent(target, one.source.extent, one.from, room);
        if (!there) return false;
    }
    if (reads.empty()) return true;
    // Where a run finds something else, it may have put other bytes over those that were read. Then the one
    // after it may be right and they are not.
    unsigned runs = 0, same = 0;
    read(target, pool, [&](ReadTransaction& transaction) {
        ++runs;
        std::vector<BulkRead> again;
        const bool unchanged = version != 0 && transaction.version() == version;
        if (!unchanged) find(transaction, again);
        const auto is_same = [](const BulkRead& a, const BulkRead& b) { return a.source.is_same(b.source); };
        if (unchanged || std::ranges::equal(reads, again, is_same)) ++same;
    });
    return same == runs;
}

} // namespace

void Scattered::copy_in(std::uint64_t offset, Bytes bytes) const
{
    for (const MutableBytes& piece : pieces_) {
        if (bytes.empty()) return;
        if (offset >= piece.size()) {
            offset -= piece.size();
            continue;
        }
        const auto take = std::min<std::uint64_t>(bytes.size(), piece.size() - offset);
        std::memcpy(piece.data() + offset, bytes.data(), take);
        bytes = bytes.subspan(take);
        offset = 0;
    }
}

void Scattered::zero(std::uint64_t offset, std::uint64_t length) const
{
    for (const MutableBytes& piece : pieces_) {
        if (length == 0) return;
        if (offset >= piece.size()) {
            offset -= piece.size();
            continue;
        }
        const auto take = std::min<std::uint64_t>(length, piece.size() - offset);
        std::memset(piece.data() + offset, 0, take);
        length -= take;
        offset = 0;
    }
}

std::vector<MutableBytes> first_of(std::span<const MutableBytes> memory, std::uint64_t size)
{
    std::vector<MutableBytes> first;
    for (const MutableBytes& piece : memory) {
        if (size == 0) break;
        first.push_back(piece.first(std::min<std::uint64_t>(piece.size(), size)));
        size -= first.back().size();
    }
    return first;
}

MutableBytes Scattered::contiguous(std::uint64_t offset, std::uint64_t length) const
{
    for (const MutableBytes& piece : pieces_) {
        if (offset < piece.size())
            return length <= piece.size() - offset ? piece.subspan(offset, length) : MutableBytes{};
        offset -= piece.size();
    }
    return {};
}

namespace {

// The block [begin, end), of which [at, to) is wanted as far as it has that.
bool read_by_parts(Target& target, const BulkSource& source, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t at, std::uint64_t to, const Scattered& into, std::uint64_t offset)
{
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(largest_buffer);
    ChecksumStream sum;
    for (std::uint64_t part = begin; part < end;) {
        const MutableBytes room(buffer.get(), std::min(largest_buffer, end - part));
        if (!read_extent(target, source.extent, part, room)) return false;
        sum.update(room);
        const std::uint64_t first = std::max(part, at), last = std::min(part + room.size(), to);
        if (first < last)
            into.copy_in(offset + (first - at), Bytes(room).subspan(first - part, last - first));
        part += room.size();
    }
    return sum.digest() == load_little<std::uint64_t>(source.sums.data() + 8 * (begin >> source.block_shift));
}

} // namespace

bool BulkSource::read(Target& target, std::uint64_t from, std::uint64_t to, const Scattered& into,
                      std::uint64_t offset) const
{
    const std::uint64_t block = std::uint64_t{1} << block_shift;
    const std::uint64_t run = std::max(block, target.read_at_once());
    const std::uint64_t most =
        std::clamp<std::uint64_t>(block, 64 << 10, largest_buffer); // read at once there
    std::unique_ptr<std::byte[]> buffer; // not zeroed, which would cost as much as the read
    for (std::uint64_t at = from; at < to;) {
        const std::uint64_t begin = at & ~(block - 1);
        // Whole blocks that lie together in the caller's memory are read in place; others through a buffer.
        std::uint64_t end = std::min(extent.length, begin + block);
        MutableBytes room;
        if (begin == at) {
            std::uint64_t far = std::min({extent.length, begin + run, to});
            if (far != extent.length) far &= ~(block - 1);
            if (far > begin) room = into.contiguous(offset + (begin - from), far - begin);
            if (!room.empty())
                end = far;
            else if (end <= to)
                room = into.contiguous(offset + (begin - from), end - begin);
        }
        const bool in_place = !room.empty();
        if (!in_place && block > most) {
            if (!read_by_parts(target, *this, begin, end, at, to, into, offset + (at - from))) return false;
            at = std::min(end, to);
            continue;
        }
        if (!in_place) {
            // With the blocks after it, as long as they have no place of their own in the caller's memory
            // either.
            while (end < to && end - begin < most &&
                   into.contiguous(offset + (end - from), std::min(block, to - end)).empty())
                end = std::min(extent.length, end + block);
            if (!buffer) buffer = std::make_unique_for_overwrite<std::byte[]>(std::min(most, extent.length));
            room = {buffer.get(), end - begin};
        }
        if (!read_extent(target, extent, begin, room)) return false;
        for (std::uint64_t one = begin; one < end; one += block) {
            const Bytes bytes = room.subspan(one - begin, std::min(block, end - one));
            const std::byte* sum = sums.data() + 8 * (one >> block_shift);
            if (checksum(bytes) != load_little<std::uint64_t>(sum)) return false;
        }
        if (!in_place) {
            const std::uint64_t until = std::min(end, to);
            into.copy_in(offset + (at - from), Bytes(room).subspan(at - begin, until - at));
        }
        at = std::min(end, to);
    }
    return true;
}

void read_with_bulk(Target& target, bool may_write, Verify verify,
                    FunctionRef<void(ReadTransaction&, std::vector<BulkRead>&)> find,
                    FunctionRef<void(std::size_t, Unread)> failed, PoolCore* pool)
{
    if (verify == Verify::no && read_as_it_is(target, pool, find)) return;
    constexpr int patience = 16; // rounds before the reader takes the writer's turn
    std::vector<BulkRead> reads;
    const auto first_bad = [&] {
        std::atomic<std::size_t> bad{reads.size()};
        target.at_once(reads.size(), [&](std::size_t at) {
            const BulkRead& one = reads[at];
            if (at > bad || one.source.read(target, one.from, one.to, one.into, one.offset)) return;
            for (std::size_t now = bad; at < now && !bad.compare_exchange_weak(now, at);) {
            }
        });
        return bad.load();
    };
    std::size_t bad = 0;
    FoundTwice<BulkSource::Version> found_twice;
    for (int round = 1; round <= most_replaced; ++round) {
        const auto look = [&](ReadTransaction& transaction) {
            reads.clear();
            find(transaction, reads);
        };
        if (may_write && round % patience == 0) {
            const auto alone = [&] {
                target.write([&](WriteTransaction& transaction) {
                    look(transaction);
                    bad = first_bad();
                });
            };
            pool != nullptr ? past_pending(*pool, alone) : alone();
        } else {
            read(target, pool, look);
            bad = first_bad();
        }
        if (bad == reads.size()) return;
        if (found_twice(reads[bad].source.version())) failed(bad, Unread::damaged);
    }
    failed(bad, Unread::overtaken);
}

} // namespace stepstore::store

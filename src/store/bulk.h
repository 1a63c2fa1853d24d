// Reading bulk extents, and the way a read gets a consistent view of index and extents together.
//
// A reader finds a reference in one transaction and reads the extent after it. Meanwhile a writer may have
// replaced the record and released the extent. Then its bytes read as zeros, or as those of another record.
// The block checksums show this, and the reader begins again with a new transaction. When it finds the same
// record (of the same epoch), the bytes were that record's all the time, and are damaged (found_twice.h). A
// reader that is overtaken often takes the writer's turn for one read, if it may update. Where one writer
// keeps others off, that read succeeds. After 256 such rounds in a row it gets -DER_AGAIN.
//
// A reader that need not verify looks the records up again after it has read. An extent is released only
// after the transaction that removed its record. So if the record still exists, the bytes were its own. If
// not, the reader begins again and verifies. An extent whose memory lies in several pieces is always
// verified, as it goes through a buffer.
//
// Threads: of one call, so of one thread.
#pragma once

#include "base/function_ref.h"
#include "store/backend.h"
#include "store/record.h"
#include "store/transaction/pending.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace stepstore::store {

// A range of memory that consists of several pieces.
class Scattered {
public:
    explicit Scattered(std::span<const MutableBytes> pieces) : pieces_(pieces) {}
    void copy_in(std::uint64_t offset, Bytes bytes) const;
    void zero(std::uint64_t offset, std::uint64_t length) const;
    // The memory of [offset, offset + length) where that lies in one piece, else empty.
    MutableBytes contiguous(std::uint64_t offset, std::uint64_t length) const;

private:
    std::span<const MutableBytes> pieces_;
};

// Bytes that pieces of memory have together.
template <class Memory>
std::uint64_t room_in(std::span<const Memory> memory)
{
    std::uint64_t room = 0;
    for (const Memory& piece : memory)
        room += piece.size();
    return room;
}

// The first `size` bytes of the memory.
std::vector<MutableBytes> first_of(std::span<const MutableBytes> memory, std::uint64_t size);

// How much of a caller's room a body has filled. Its last run may find less there than one before it did.
class Filled {
public:
    // A run of the body put so many bytes there.
    void set(std::uint64_t length)
    {
        now_ = length;
        most_ = std::max(most_, length);
    }
    // After the last run: what is left of earlier ones becomes zero. Other bytes after the value stay.
    void clear_rest(const Scattered& room) const
    {
        if (most_ > now_) room.zero(now_, most_ - now_);
    }

private:
    std::uint64_t now_ = 0, most_ = 0;
};

// A bulk payload, copied out of the transaction that found it.
struct BulkSource {
    ExtentRef extent;
    Epoch birth = 0; // of the record
    unsigned block_shift = 16;
    std::vector<std::byte> sums;

    BulkSource() = default;
    explicit BulkSource(const Record& record)
        : extent(record.extent), birth(record.birth), block_shift(record.block_shift),
          sums(record.sums.begin(), record.sums.end())
    {
    }
    // The same bytes in the same place, nothing else having lain there in between.
    bool is_same(const BulkSource& other) const { return version() == other.version(); }
    using Version = std::pair<Epoch, ExtentRef>;
    Version version() const { return {birth, extent}; }
    // Reads [from, to) of the payload into `into` at `offset`, verifying every block it touches. False:
    // damaged or gone.
    bool read(Target& target, std::uint64_t from, std::uint64_t to, const Scattered& into,
              std::uint64_t offset) const;
};

// One read of an extent that a transaction asked for.
struct BulkRead {
    BulkSource source;
    std::uint64_t from = 0, to = 0; // of the payload
    Scattered into;
    std::uint64_t offset = 0; // in `into`
};

enum class Unread : std::uint8_t {
    damaged,
    overtaken // replaced again and again while it was read
};

// Runs `find` in a transaction on the target; it adds the extents to be read. Then reads them. When one
// cannot be read, `failed` is called with its index and the reason, and throws. Without verifying, `find`
// must leave memory alone that a read is asked for: it may run again after that.
// pool: whose transactions may be met on the target.
void read_with_bulk(Target& target, bool may_write, Verify verify,
                    FunctionRef<void(ReadTransaction&, std::vector<BulkRead>&)> find,
                    FunctionRef<void(std::size_t, Unread)> failed, PoolCore* pool = nullptr);

} // namespace stepstore::store

// Array objects, inside: bytes of a chunk, the extents that hold them, and how an update makes room.
//
// An extent of the live view is one record, under (chunk, end of the extent in the chunk), both in bytes.
// Live extents of a chunk never overlap, so the order of their ends is the order of their starts too. The
// first extent with an end beyond `a` is the first that can hold byte a. One seek finds it among any number.
//
// An update of [a, b) first cuts the live extents that reach over a or b, then retires what lies in between.
// A cut treats an extent's bulk blocks in this way. Whole blocks stay where they are and belong to one part
// each. The block that is cut becomes two small inline records. So every byte of an extent file belongs to at
// most one record, and so does every unit of it (backend.h) that can be given back.
//
// Threads: of one call, so of one thread. Errors: DER_INVAL, DER_OVERFLOW; DER_CSUM for damage.
#pragma once

#include "base/not_copied.h"
#include "store/bulk.h"
#include "store/object.h"
#include "store/store.h"

#include <span>
#include <vector>

namespace stepstore::store {

// Where every array ends, in bytes.
inline constexpr std::uint64_t farthest = std::uint64_t{1} << 63;

// An array's shape in bytes, checked. DER_INVAL, DER_OVERFLOW.
struct ArrayShape {
    ArrayShape(const ObjectAccess& object, const ArrayAttributes& attributes);
    std::uint64_t cell;  // bytes of a cell
    std::uint64_t chunk; // bytes of a chunk
};

// A place in an array: a byte of a chunk.
struct ArrayPosition {
    std::uint64_t chunk = 0;
    std::uint64_t offset = 0;
};

// A part of a range that lies in one chunk, [begin, end) in bytes of the chunk, with the memory it goes from
// or to.
template <class Memory>
struct Piece {
    std::uint64_t chunk = 0, begin = 0, end = 0;
    unsigned group = 0; // of targets
    std::span<const Memory> memory;
    std::uint64_t length() const { return end - begin; }
};

// A request taken apart. One piece of memory for one place in one chunk takes no allocation.
template <class Memory>
class Request : NotCopied {
public:
    Request(const ObjectAccess& object, const ArrayShape& shape, std::span<const Range> ranges,
            std::span<const Memory> memory);

    // The pieces of each group of targets that has some, as Target::at_once() does it.
    void for_each_group(const ObjectAccess& object,
                        FunctionRef<void(unsigned group, std::span<const Piece<Memory>>)> each) const;

    std::span<const Piece<Memory>> pieces() const { return pieces_; }

    std::uint64_t bytes = 0;
    std::uint64_t highest = 0; // the greatest end of a range, in bytes

private:
    void take_apart(const ObjectAccess& object, const ArrayShape& shape, std::span<const Range> ranges,
                    std::span<const Memory> memory);

    Piece<Memory> only_;                    // where there is one piece, of one memory
    std::vector<Piece<Memory>> several_;    // else
    std::vector<Memory> slices_;            // what the memory of several_ refers to
    std::span<const Piece<Memory>> pieces_; // either of them, in the order of their groups
};

unsigned group_of_chunk(const ObjectAccess& object, std::uint64_t chunk);

// Byte bounds of a range. DER_OVERFLOW beyond 2^63 bytes.
struct ByteRange {
    ByteRange(const ObjectAccess& object, const ArrayShape& shape, const Range& range);
    std::uint64_t begin, end;
};

KeyBuffer extent_key(const ObjectAccess& object, Space space, std::uint64_t chunk, std::uint64_t end);

// The update of one target, within its write transaction.
class ArrayUpdate {
public:
    // born_by: what was born later stays, also where it is to be cleared.
    ArrayUpdate(const ObjectAccess& object, unsigned target, WriteTransaction& transaction, Epoch epoch,
                std::vector<ExtentRef>& released, Epoch born_by = latest);

    // Takes everything in [from, to) out of the live view, at most `budget` records. False: there is more.
    bool clear(ArrayPosition from, ArrayPosition to, std::size_t budget = SIZE_MAX)
    {
        return clear(from, to, budget, false);
    }
    // The same where put() follows: a record that ends at `to` is left for it to replace.
    void make_room(ArrayPosition from, ArrayPosition to) { clear(from, to, SIZE_MAX, true); }
    // To be called after clear() where nothing is put in the place of what it took out.
    void note_removals();
    // Where clear() stopped for its budget.
    ArrayPosition stopped_at() const { return stopped_; }
    // Puts a record at [end - record.length, end) of the chunk, where room was made or all was cleared.
    void put(std::uint64_t chunk, std::uint64_t end, NewRecord& record);

private:
    struct Cut;
    bool clear(ArrayPosition from, ArrayPosition to, std::size_t budget, bool put_follows);
    void retire_cut(std::uint64_t chunk, std::uint64_t end, Bytes key, const Record& record, std::uint64_t a,
                    std::uint64_t b);
    bool damaged_before(bool there, Bytes at);
    KeyBuffer part_key(const Cut& cut, std::uint64_t to, bool to_history);
    void put_part(Cut& cut, std::uint64_t from, std::uint64_t to, bool to_history);
    void put_inline(Cut& cut, std::uint64_t from, std::uint64_t to, bool to_history);

    const ObjectAccess& object_;
    unsigned target_;
    WriteTransaction& transaction_;
    Epoch epoch_;
    Epoch born_by_;
    ContainerState state_;
    std::vector<ExtentRef>& released_;
    ArrayPosition stopped_;
    bool removed_ = false;
};

} // namespace stepstore::store

// Pieces of arrays that are going to be written, made ready outside the transaction.
// Threads: of one call. Errors: none of its own.
#pragma once

#include "base/not_copied.h"
#include "store/array/array.h"

#include <list>
#include <span>
#include <vector>

namespace stepstore::store {

class PreparedPieces : NotCopied {
public:
    // Large ones go among `bulk`, which is then appended on each target that takes them.
    PreparedPieces(const Target& target, std::vector<Payload>& bulk) : target_(target), bulk_(bulk) {}

    // The piece's memory stays as it is until the write is done.
    void add(Piece<Bytes> piece);
    // Within a transaction: makes room for all of them, and puts them.
    void put(ArrayUpdate& update, const Appended& appended) const;
    // The same into another chunk than the pieces name.
    void put_into(std::uint64_t chunk, ArrayUpdate& update, const Appended& appended) const;
    std::uint64_t bytes() const { return bytes_; }

private:
    struct Prepared {
        Piece<Bytes> piece;
        std::uint64_t payload_sum = 0;          // inline
        std::size_t sums_at = 0, sums_size = 0; // bulk
        unsigned block_shift = 0;
        std::size_t payload = 0; // bulk: among those that are appended
    };
    void prepare(const Piece<Bytes>& piece);
    std::uint64_t filling_pages(std::uint64_t length) const;
    Piece<Bytes> cut_off(Piece<Bytes>& piece, std::uint64_t length);
    void put_one(const Prepared& one, std::uint64_t chunk, ArrayUpdate& update,
                 const Appended& appended) const;

    const Target& target_;
    std::vector<Payload>& bulk_;
    std::vector<Prepared> prepared_;
    std::list<std::vector<Bytes>> slices_; // what the memory of pieces that were cut refers to
    std::vector<std::byte> sums_;
    std::uint64_t bytes_ = 0;
};

} // namespace stepstore::store

#include "store/array/prepared.h"

namespace stepstore::store {

void PreparedPieces::add(Piece<Bytes> piece)
{
    bytes_ += piece.length();
    if (const std::uint64_t first = filling_pages(piece.length()); first != piece.length())
        prepare(cut_off(piece, first));
    prepare(piece);
}

void PreparedPieces::prepare(const Piece<Bytes>& piece)
{
    Prepared one{piece};
    if (piece.length() >= bulk_threshold) {
        one.block_shift = block_shift_for(piece.length());
        one.sums_at = sums_.size();
        append_block_sums(piece.memory, one.block_shift, sums_);
        one.sums_size = sums_.size() - one.sums_at;
        one.payload = bulk_.size();
        bulk_.push_back({piece.memory});
    } else {
        one.payload_sum = checksum_of(piece.memory);
    }
    prepared_.push_back(one);
}

std::uint64_t PreparedPieces::filling_pages(std::uint64_t length) const
{
    if (length >= bulk_threshold) return length;
    NewRecord record;
    record.length = length;
    const std::size_t size = record.stored_size();
    return length - (size - target_.fills_pages(size));
}

// Returns the first bytes of a piece, and leaves the rest of it.
Piece<Bytes> PreparedPieces::cut_off(Piece<Bytes>& piece, std::uint64_t length)
{
    std::vector<Bytes>& before = slices_.emplace_back();
    std::vector<Bytes>& after = slices_.emplace_back();
    std::uint64_t left = length;
    for (const Bytes& slice : piece.memory) {
        const std::size_t taken = std::min<std::uint64_t>(slice.size(), left);
        if (taken != 0) before.push_back(slice.first(taken));
        if (taken != slice.size()) after.push_back(slice.subspan(taken));
        left -= taken;
    }
    Piece<Bytes> first = piece;
    first.end = piece.begin = piece.begin + length;
    first.memory = before;
    piece.memory = after;
    return first;
}

void PreparedPieces::put(ArrayUpdate& update, const Appended& appended) const
{
    for (const Prepared& one : prepared_)
        put_one(one, one.piece.chunk, update, appended);
}

void PreparedPieces::put_into(std::uint64_t chunk, ArrayUpdate& update, const Appended& appended) const
{
    for (const Prepared& one : prepared_)
        put_one(one, chunk, update, appended);
}

void PreparedPieces::put_one(const Prepared& one, std::uint64_t chunk, ArrayUpdate& update,
                             const Appended& appended) const
{
    const Piece<Bytes>& piece = one.piece;
    update.make_room({chunk, piece.begin}, {chunk, piece.end});
    NewRecord record;
    record.length = piece.length();
    if (one.sums_size != 0) {
        record.type = RecordType::bulk;
        record.block_shift = one.block_shift;
        record.extent = appended.extent(one.payload);
        record.sums = Bytes(sums_).subspan(one.sums_at, one.sums_size);
    } else {
        record.payload_sum = one.payload_sum;
        record.pieces = piece.memory;
    }
    update.put(chunk, piece.end, record);
}

} // namespace stepstore::store

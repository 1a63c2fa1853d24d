// Array writes: the request is taken apart by chunks, and the chunks by the targets they lie on. Each
// target's part is one append of its large pieces, straight from the caller's memory, and one transaction.
// So a reader sees each target's part whole or not at all. As on DAOS, parts on several targets are not
// published at one instant together.
#include "store/array/array.h"
#include "store/removal.h"
#include "store/versioned.h"

#include <list>

namespace stepstore::store {

namespace {

// A piece made ready outside the transaction.
struct Prepared {
    Piece<Bytes> piece;
    std::uint64_t payload_sum = 0;          // inline
    std::size_t sums_at = 0, sums_size = 0; // bulk
    unsigned block_shift = 0;
    std::size_t payload = 0; // bulk: among those that are appended
};

class GroupWrite {
public:
    GroupWrite(const ObjectAccess& object, std::span<const Piece<Bytes>> pieces, const ReplicaSet& set)
        : object_(object), set_(set)
    {
        prepared_.reserve(pieces.size());
        const Target& target = object.target(set.targets[0]);
        for (Piece<Bytes> piece : pieces) {
            bytes_ += piece.length();
            if (const std::uint64_t first = filling_pages(target, piece.length()); first != piece.length())
                prepare(cut_off(piece, first));
            prepare(piece);
        }
        if (bulk_.empty()) return;
        for (unsigned copy = 0; copy < set.count; ++copy)
            appended_[copy].append(object.target(set.targets[copy]), bulk_);
    }

    // left: where the set is the object's first group.
    void commit(LeftRemoval* left)
    {
        object_.update(set_, appended_, [&](auto transactions, auto released) {
            const Epoch epoch = object_.core.storage().next_epoch();
            if (left != nullptr) left->look(*transactions[0], set_.targets[0]);
            for (unsigned copy = 0; copy < set_.count; ++copy) {
                ArrayUpdate update(object_, set_.targets[copy], *transactions[copy], epoch, released[copy]);
                for (const Prepared& one : prepared_)
                    put(update, one, appended_[copy]);
            }
        });
        for (unsigned copy = 0; copy < set_.count; ++copy)
            object_.target(set_.targets[copy]).count({1, 0, bytes_, 0});
    }

private:
    void prepare(const Piece<Bytes>& piece)
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

    static std::uint64_t filling_pages(const Target& target, std::uint64_t length)
    {
        if (length >= bulk_threshold) return length;
        NewRecord record;
        record.length = length;
        const std::size_t size = record.stored_size();
        return length - (size - target.fills_pages(size));
    }

    // Returns the first bytes of a piece, and leaves the rest of it.
    Piece<Bytes> cut_off(Piece<Bytes>& piece, std::uint64_t length)
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

    void put(ArrayUpdate& update, const Prepared& one, const Appended& appended)
    {
        const Piece<Bytes>& piece = one.piece;
        update.make_room({piece.chunk, piece.begin}, {piece.chunk, piece.end});
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
        update.put(piece.chunk, piece.end, record);
    }

    const ObjectAccess& object_;
    ReplicaSet set_;
    std::vector<Prepared> prepared_;
    std::vector<Payload> bulk_;
    std::list<std::vector<Bytes>> slices_; // what the memory of pieces that were cut refers to
    std::vector<std::byte> sums_;
    std::array<Appended, max_replicas> appended_;
    std::uint64_t bytes_ = 0;
};

} // namespace

void VersionedContainer::array_write(const ObjectId& oid, const ArrayAttributes& attributes,
                                     std::span<const Range> ranges, std::span<const Bytes> memory)
{
    pool_->require_write("array_write");
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    const ArrayShape shape(object, attributes);
    const Request<Bytes> request(object, shape, ranges, memory);
    LeftRemoval left(object);
    request.for_each_group(object, [&](unsigned group, std::span<const Piece<Bytes>> pieces) {
        GroupWrite(object, pieces, object.placement.group(group)).commit(group == 0 ? &left : nullptr);
    });
    if (request.bytes != 0) return left.finish();
    // nothing to write: the container must still be there
    const unsigned first = object.placement.group(0).targets[0];
    object.target(first).read([&](ReadTransaction& transaction) { object.state(transaction, first); });
}

} // namespace stepstore::store

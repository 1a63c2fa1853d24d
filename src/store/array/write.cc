// Array writes: the request is taken apart by chunks, and the chunks by the targets they lie on. Each
// target's part is one append of its large pieces, straight from the caller's memory, and one transaction.
// So a reader sees each target's part whole or not at all. As on DAOS, parts on several targets are not
// published at one instant together.
#include "store/array/array.h"
#include "store/array/prepared.h"
#include "store/removal.h"
#include "store/versioned.h"

namespace stepstore::store {

namespace {

class GroupWrite {
public:
    GroupWrite(const ObjectAccess& object, std::span<const Piece<Bytes>> pieces, const ReplicaSet& set)
        : object_(object), set_(set), prepared_(object.target_to_write(set.targets[0]), bulk_)
    {
        for (const Piece<Bytes>& piece : pieces)
            prepared_.add(piece);
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
                prepared_.put(update, appended_[copy]);
            }
        });
        for (unsigned copy = 0; copy < set_.count; ++copy)
            object_.target(set_.targets[copy]).count({1, 0, prepared_.bytes(), 0});
    }

private:
    const ObjectAccess& object_;
    ReplicaSet set_;
    std::vector<Payload> bulk_;
    PreparedPieces prepared_;
    std::array<Appended, max_replicas> appended_;
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
    read_past(object.core, object.target(first),
              [&](ReadTransaction& transaction) { object.state(transaction, first); });
}

} // namespace stepstore::store

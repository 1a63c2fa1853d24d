// Fetches of akeys: all of a fetch is found at one moment of the dkey's target.
#include "store/akeys/akeys.h"
#include "store/akeys/flat.h"
#include "store/array/group_read.h"
#include "store/versioned.h"

namespace stepstore::store {

namespace {

// One akey of a fetch.
struct Asked : NotCopied {
    Asked(const ObjectAccess& object, Bytes dkey, AkeyFetch& fetch)
        : fetch(fetch), at(object, dkey, fetch.akey, fetch.type)
    {
    }
    AkeyFetch& fetch;
    AkeyPlace at;
    Filled filled{}; // of the memory
    // Of an array, made in each run: what the reads refer to.
    std::vector<MutableBytes> memory{};
    std::vector<ReadPiece> pieces{};
    std::optional<Request<MutableBytes>> request{};
};

class AkeyRead {
public:
    AkeyRead(const ObjectAccess& object, Bytes dkey, std::span<AkeyFetch> fetches, Epoch epoch)
        : object_(object), dkey_(dkey), epoch_(epoch)
    {
        for (AkeyFetch& fetch : fetches)
            asked_.add(object, dkey, fetch);
    }

    void run(unsigned target, bool may_write, bool dkey_must_exist)
    {
        target_ = target;
        read_with_bulk(
            object_.target(target_), may_write, Verify::yes,
            [&](ReadTransaction& transaction, std::vector<BulkRead>& reads) {
                expect(transaction);
                object_.require_epoch(transaction, target_, epoch_);
                find(transaction, reads, dkey_must_exist);
            },
            [&](std::size_t which, Unread why) {
                object_.unread(target_, of_reads_[which]->at.place.named(), why);
            },
            &object_.core);
        std::uint64_t bytes = 0;
        asked_.for_each([&](const Asked& one) {
            one.filled.clear_rest(Scattered(one.fetch.memory));
            bytes += one.fetch.bytes;
        });
        object_.target(target_).count({0, 1, 0, bytes});
    }

private:
    void expect(ReadTransaction& transaction)
    {
        object_.expect_epoch(transaction, epoch_);
        if (transaction.network() == nullptr) return;
        asked_.for_each([&](const Asked& one) {
            const Bytes live = one.at.place.live.view();
            transaction.expect({&live, 1});
            if (epoch_ == latest) return;
            const OldVersions old(object_, one.at.place, epoch_);
            transaction.expect_from(old.all.view(), old.first.view(), 1);
        });
    }

    void find(ReadTransaction& transaction, std::vector<BulkRead>& reads, bool dkey_must_exist)
    {
        of_reads_.clear();
        bool any = false;
        asked_.for_each([&](Asked& one) {
            AkeyFetch& fetch = one.fetch;
            fetch.bytes = 0;
            one.filled.set(0);
            if (fetch.stored != nullptr) fetch.stored->clear();
            Record record;
            const bool there = find_at(object_, one.at.place, target_, transaction, epoch_, record);
            any = any || there;
            if (!there) {
                if (fetch.must_exist) refuse(one.at.place.named());
                fetch.record_size = 0;
            } else if (fetch.type == AkeyType::single) {
                take_value(one, record, reads);
            } else {
                take_records(one, record, transaction, reads);
            }
            of_reads_.resize(reads.size(), &one);
        });
        if (any || !dkey_must_exist) return;
        const DkeyBeginning beginning(dkey_);
        const unsigned group = object_.placement.group_of(dkey_);
        if (!has_key(object_, target_, transaction, epoch_, of_dkey(beginning, group)))
            refuse("dkey " + quoted(dkey_));
    }

    [[noreturn]] void refuse(const std::string& what) const
    {
        fail(DER_NONEXIST, object_.name() + ", " + what + ": it does not exist, and the fetch requires it");
    }

    void require_room(const Asked& one, std::uint64_t size) const
    {
        const std::uint64_t room = room_in(one.fetch.memory);
        if (size > room)
            fail(DER_REC2BIG, object_.name() + ", " + one.at.place.named() + " has " + std::to_string(size) +
                                  " bytes, and there is room for " + std::to_string(room));
    }

    void take_value(Asked& one, const Record& record, std::vector<BulkRead>& reads)
    {
        one.fetch.record_size = record.length;
        if (one.fetch.memory.empty()) return;
        require_room(one, record.length);
        one.fetch.bytes = record.length;
        one.filled.set(record.length);
        if (record.type == RecordType::bulk) {
            reads.push_back({BulkSource(record), 0, record.length, Scattered(one.fetch.memory), 0});
            return;
        }
        if (!payload_intact(record))
            object_.damaged(target_, one.at.place.named(), "the checksum of the value does not match");
        Scattered(one.fetch.memory).copy_in(0, record.payload);
    }

    void take_records(Asked& one, const Record& record, ReadTransaction& transaction,
                      std::vector<BulkRead>& reads)
    {
        AkeyFetch& fetch = one.fetch;
        ArrayDescription array;
        if (const char* reason = parse_description(record, array))
            object_.damaged(target_, one.at.place.named(), reason);
        fetch.record_size = array.record_size;
        const bool has_memory = !fetch.memory.empty();
        if (!has_memory && fetch.stored == nullptr) return;
        const ArrayShape shape = shape_of_records(object_, array.record_size, fetch.ranges);
        one.pieces.clear();
        if (has_memory) {
            std::uint64_t size = 0;
            for (const Range& range : fetch.ranges) {
                const ByteRange bounds(object_, shape, range);
                if (__builtin_add_overflow(size, bounds.end - bounds.begin, &size)) size = UINT64_MAX;
            }
            require_room(one, size);
            one.memory = first_of(fetch.memory, size);
            one.filled.set(size);
            one.request.emplace(object_, shape, fetch.ranges, one.memory);
            const auto pieces = one.request->pieces();
            one.pieces.assign(pieces.begin(), pieces.end());
        } else {
            for (const Range& range : fetch.ranges) {
                const ByteRange bounds(object_, shape, range);
                if (bounds.begin != bounds.end) one.pieces.push_back({0, bounds.begin, bounds.end, 0, {}});
            }
        }
        for (ReadPiece& piece : one.pieces)
            piece.chunk = array.chunk;
        GroupRead read(object_, one.pieces, target_, epoch_, Verify::yes, nullptr);
        std::vector<FoundExtent> found;
        read.find(transaction, reads, fetch.stored != nullptr ? &found : nullptr);
        fetch.bytes = read.bytes;
        for (const FoundExtent& extent : joined(std::move(found), false))
            fetch.stored->push_back(
                {extent.begin / array.record_size, (extent.end - extent.begin) / array.record_size});
    }

    const ObjectAccess& object_;
    const Bytes dkey_;
    unsigned target_ = 0;
    const Epoch epoch_;
    Few<Asked> asked_;
    std::vector<const Asked*> of_reads_;
};

} // namespace

void VersionedContainer::akey_fetch(const ObjectId& oid, Bytes dkey, std::span<AkeyFetch> fetches,
                                    Epoch epoch, bool dkey_must_exist)
{
    const ObjectAccess object(pool_->core(), id_, oid, *opened_);
    require_key(object, dkey);
    for (const AkeyFetch& fetch : fetches)
        require_key(object, fetch.akey);
    if (!has_akeys(oid)) return flat_fetch(*this, oid, dkey, fetches, epoch, dkey_must_exist);
    const bool may_write = pool_->access() == Access::read_write;
    AkeyRead read(object, dkey, fetches, epoch);
    from_copies(object.placement.group(object.placement.group_of(dkey)),
                [&](unsigned target) { read.run(target, may_write, dkey_must_exist); });
}

} // namespace stepstore::store

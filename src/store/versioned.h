// Pools whose objects have versions: epochs and snapshots, over any back end of backend.h.
// Threads: as store.h. Errors: those of store.h.
#pragma once

#include "store/object.h"
#include "store/pool_core.h"
#include "store/store.h"

#include <memory>
#include <string>
#include <vector>

namespace stepstore::store {

class VersionedPool final : public Pool, public std::enable_shared_from_this<VersionedPool> {
public:
    static std::shared_ptr<Pool> create(const std::string& path, const PoolOptions& options);
    static std::shared_ptr<VersionedPool> open(const std::string& path, Access access);
    static void destroy(const std::string& path);
    static CheckReport check(const std::string& path, const CheckOptions& options);

    VersionedPool(std::shared_ptr<PoolCore> core, Access access);
    PoolCore& core() const { return *core_; }
    const std::shared_ptr<PoolCore>& shared_core() const { return core_; }

    PoolInfo query() override;
    const Uuid& uuid() const override { return core_->header().uuid; }
    unsigned targets() const override { return core_->storage().targets(); }
    std::vector<ContainerInfo> containers() override;
    ContainerInfo create_container(const Uuid& uuid, std::string_view label, Bytes properties) override;
    std::shared_ptr<Container> open_container(std::string_view label_or_uuid) override;
    void destroy_container(std::string_view label_or_uuid, bool force) override;
    std::unique_ptr<UserAttributes> user_attributes() override;
    std::vector<Compaction> compact() override;
    void sync(bool own) override;

private:
    const std::shared_ptr<PoolCore> core_;
};

class VersionedContainer final : public Container {
public:
    VersionedContainer(std::shared_ptr<VersionedPool> pool, std::uint64_t id, std::string name);
    ~VersionedContainer() override;

    std::unique_ptr<Transaction> begin_transaction() override;
    ContainerInfo query() override;
    std::vector<std::byte> properties() override;
    void set_properties(FunctionRef<std::vector<std::byte>(Bytes record)> change,
                        std::string_view label) override;
    std::shared_ptr<Pool> pool() override { return pool_; }
    std::unique_ptr<UserAttributes> user_attributes() override;
    Epoch create_snapshot(std::string_view name) override;
    std::vector<SnapshotInfo> snapshots() override;
    std::size_t destroy_snapshots(std::span<const Epoch> epochs) override;
    bool has_snapshot(Epoch epoch) override;
    std::uint64_t allocate_oids(std::uint64_t count) override;

    void kv_put(const ObjectId& oid, Bytes key, Bytes value, const Precondition& condition,
                Replaced* replaced) override;
    std::optional<std::uint64_t> kv_get(const ObjectId& oid, Bytes key, MutableBytes into,
                                        Epoch epoch) override;
    void kv_get_many(const ObjectId& oid, std::span<KeyRead> reads, Epoch epoch) override;
    bool kv_remove(const ObjectId& oid, Bytes key, const Precondition& condition,
                   Replaced* replaced) override;
    void kv_list(const ObjectId& oid, ListPosition& position, FunctionRef<bool(Bytes key)> each, Epoch epoch,
                 const KeyFilter& filter) override;
    void kv_announce(const ObjectId& oid, Bytes key) override;
    std::unique_ptr<Waiter> kv_watch(const ObjectId& oid, Bytes key) override;

    void array_create(const ObjectId& oid, const ArrayAttributes& attributes) override;
    std::optional<ArrayAttributes> array_attributes(const ObjectId& oid, Epoch epoch) override;
    void array_write(const ObjectId& oid, const ArrayAttributes& attributes, std::span<const Range> ranges,
                     std::span<const Bytes> memory) override;
    ReadResult array_read(const ObjectId& oid, const ArrayAttributes& attributes,
                          std::span<const Range> ranges, std::span<const MutableBytes> memory, Epoch epoch,
                          Verify verify, Ends ends) override;
    std::uint64_t array_size(const ObjectId& oid, const ArrayAttributes& attributes, Epoch epoch) override;
    ArrayStatus array_status(const ObjectId& oid, const ArrayAttributes& attributes, Epoch epoch) override;
    void array_set_size(const ObjectId& oid, const ArrayAttributes& attributes, std::uint64_t cells) override;
    void array_punch(const ObjectId& oid, const ArrayAttributes& attributes,
                     std::span<const Range> ranges) override;
    Epoch last_update(const ObjectId& oid, Epoch epoch) override;

    void akey_update(const ObjectId& oid, Bytes dkey, std::span<const AkeyUpdate> updates,
                     Condition of_dkey) override;
    void akey_fetch(const ObjectId& oid, Bytes dkey, std::span<AkeyFetch> fetches, Epoch epoch,
                    bool dkey_must_exist) override;
    void akey_punch(const ObjectId& oid, Bytes dkey, std::span<const Bytes> akeys, bool must_exist) override;
    void dkey_list(const ObjectId& oid, ListPosition& position, FunctionRef<bool(Bytes dkey)> each,
                   Epoch epoch) override;
    void akey_list(const ObjectId& oid, Bytes dkey, ListPosition& position,
                   FunctionRef<bool(Bytes akey, AkeyType type)> each, Epoch epoch) override;
    ListPosition dkey_position(const ObjectId& oid, Bytes dkey) override;
    ListPosition akey_position(const ObjectId& oid, Bytes dkey, Bytes akey, Epoch epoch) override;
    std::uint64_t extent_list(const ObjectId& oid, Bytes dkey, Bytes akey, const Range& within,
                              FunctionRef<bool(const StoredExtent&)> each, Epoch epoch) override;

    void punch(const ObjectId& oid) override;
    std::vector<ObjectId> objects(Epoch epoch) override;
    bool holds(const ObjectId& oid, Epoch epoch) override;
    void mark_object(Epoch snapshot, const ObjectId& oid, Bytes marker) override;
    std::vector<ObjectMarker> object_markers(Epoch snapshot, const ObjectId& first,
                                             const ObjectId& last) override;
    void clear_object_markers(Epoch snapshot) override;

    // Of an object, or of an array's end, that a process began and did not finish. False: there is none.
    bool finish_removal(const ObjectId& oid);
    // Removes what a punch of an akey has left in this chunk, which no akey describes.
    void clear_left_over(const ObjectId& oid, std::uint64_t chunk);

private:
    std::shared_ptr<VersionedPool> pool_;
    std::uint64_t id_;
    std::unique_ptr<OpenContainer> opened_;
};

} // namespace stepstore::store

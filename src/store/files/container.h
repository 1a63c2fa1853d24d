// A container of a pool in files.
// Threads and fork: as store.h. Errors: those of store.h.
#pragma once

#include "store/files/objects.h"
#include "store/store.h"

#include <memory>
#include <string>
#include <vector>

namespace stepstore::store::files {

// Ranges of an array that one call reads, with at most so many bytes between two of them. Another call to a
// server of a parallel file system costs as much as to transfer 64 KiB more, one to a file system of this
// machine as much as to copy 4 KiB.
inline constexpr std::uint64_t joined_gap = 64 << 10, joined_gap_here = 4 << 10;
inline constexpr std::uint64_t most_joined = 32 << 20;

// The file about of a container.
struct About {
    Uuid uuid{};
    std::string label;
    Epoch created = 0;
    std::vector<std::byte> properties;
};
std::vector<std::byte> encode_about(const About& about);
About decode_about(Bytes bytes, const std::string& what); // DER_CSUM, DER_DF_INVAL, DER_DF_INCOMPT

// DER_NOTSUPPORTED: several must be set whole or not at all.
[[noreturn]] void refuse_user_attributes(const std::string& path);

class FilesContainer final : public Container {
public:
    FilesContainer(std::shared_ptr<Pool> pool, std::shared_ptr<Place> place, const About& about);
    ~FilesContainer() override;

    std::unique_ptr<Transaction> begin_transaction() override;
    ContainerInfo query() override;
    std::vector<std::byte> properties() override;
    void set_properties(FunctionRef<std::vector<std::byte>(Bytes record)> change,
                        std::string_view label) override;
    std::shared_ptr<Pool> pool() override { return pool_; }
    std::unique_ptr<UserAttributes> user_attributes() override { refuse_user_attributes(place_->path()); }
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

private:
    std::string named(const ObjectId& oid) const; // for messages
    Keys keys_of(const ObjectId& oid, const ObjectEntry& entry) const;
    void require_latest(Epoch epoch) const;
    [[noreturn]] void refuse_akeys(const ObjectId& oid) const; // DER_NOTSUPPORTED
    bool update(const ObjectId& oid, Bytes key, std::optional<Bytes> value, const Precondition& condition,
                Replaced* replaced);
    // The file of an array that is still its own. nullptr: there is none.
    std::shared_ptr<const OpenArray> array(const ObjectId& oid, bool for_update);

    const std::shared_ptr<Pool> pool_; // stays open
    const std::shared_ptr<Place> place_;
    const About about_;
    Objects objects_;
};

} // namespace stepstore::store::files

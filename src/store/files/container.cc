#include "store/files/container.h"

#include "base/clock.h"
#include "base/record.h"
#include "base/system_error.h"
#include "store/failure.h"
#include "store/keys.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stepstore::store::files {

namespace {

constexpr std::uint32_t about_magic = 0x43465353; // "SSFC"
constexpr std::uint64_t most_value = std::uint64_t{1} << 40;
constexpr std::uint64_t oids_at_once = std::uint64_t{1} << 48; // so that no call takes what all others need

[[noreturn]] void refuse_versions(const std::string& path, const std::string& what)
{
    fail(DER_NOTSUPPORTED, "pool " + path +
                               " keeps its objects in files, which have the newest version alone: " + what +
                               " needs a pool of another kind (on one machine, Ceph or DAOS)");
}

} // namespace

void refuse_user_attributes(const std::string& path)
{
    fail(DER_NOTSUPPORTED, "pool " + path +
                               " keeps its objects in files, one by one. User attributes, of which one call "
                               "sets several, need a pool of another kind (on one machine, Ceph or DAOS)");
}

std::vector<std::byte> encode_about(const About& about)
{
    std::vector<std::byte> record(frame_size_of<std::uint32_t>);
    WireWriter to(record);
    to.bytes(std::as_bytes(std::span(about.uuid)));
    to.fixed(about.created);
    to.text(about.label);
    to.varint(about.properties.size());
    to.bytes(about.properties);
    seal_frame(record, about_magic, format_version);
    return record;
}

About decode_about(Bytes bytes, const std::string& what)
{
    WireReader from(unseal_frame(bytes, about_magic, format_version, what).body, what);
    About about;
    const Bytes uuid = from.bytes(about.uuid.size());
    std::memcpy(about.uuid.data(), uuid.data(), uuid.size());
    about.created = from.fixed<std::uint64_t>();
    about.label = from.text();
    const Bytes properties = from.bytes(from.varint());
    about.properties.assign(properties.begin(), properties.end());
    return about;
}

FilesContainer::FilesContainer(std::shared_ptr<Pool> pool, std::shared_ptr<Place> place, const About& about)
    : pool_(std::move(pool)), place_(std::move(place)), about_(about), objects_(place_, about.uuid)
{
    place_->opened(about_.uuid);
}

FilesContainer::~FilesContainer()
{
    place_->closed(about_.uuid);
}

std::string FilesContainer::named(const ObjectId& oid) const
{
    return "object " + text(oid) + " in container " +
           (about_.label.empty() ? text(about_.uuid) : about_.label);
}

ContainerInfo FilesContainer::query()
{
    objects_.require_there();
    return {about_.uuid, about_.label, about_.created, 0, 0};
}

std::vector<std::byte> FilesContainer::properties()
{
    return about_.properties;
}

void FilesContainer::set_properties(FunctionRef<std::vector<std::byte>(Bytes)> change, std::string_view label)
{
    pool_->require_write("changing the properties of a container");
    objects_.require_there();
    if (change(about_.properties) == about_.properties && (label.empty() || label == about_.label)) return;
    fail(DER_NOTSUPPORTED, "pool " + place_->path() +
                               " keeps its containers in files: one has the label and the properties that it "
                               "was made with. Make a new container, or a pool of another kind");
}

Epoch FilesContainer::create_snapshot(std::string_view)
{
    pool_->require_write("creating a snapshot");
    objects_.require_there();
    refuse_versions(place_->path(), "a snapshot");
}

std::vector<SnapshotInfo> FilesContainer::snapshots()
{
    objects_.require_there();
    return {};
}

std::size_t FilesContainer::destroy_snapshots(std::span<const Epoch>)
{
    return 0;
}

bool FilesContainer::has_snapshot(Epoch)
{
    return false;
}

void FilesContainer::require_latest(Epoch epoch) const
{
    if (epoch == latest) return;
    fail(DER_NONEXIST, "pool " + place_->path() + ": this container has no snapshot at epoch " +
                           std::to_string(epoch) + ": pools in files have none");
}

std::uint64_t FilesContainer::allocate_oids(std::uint64_t count)
{
    pool_->require_write("allocating object ids");
    const std::string pool = "pool " + place_->path() + ": ";
    if (count == 0) fail(DER_INVAL, pool + "0 object ids were asked for: ask for 1 or more");
    if (count > oids_at_once) {
        fail(DER_OVERFLOW,
             pool + std::to_string(count) + " object ids were asked for at once: ask for at most 2^48");
    }
    const Keys numbers(*place_, place_->container(about_.uuid) / "numbers", "the numbers of objects");
    const Bytes key = as_bytes("oids");
    for (;;) {
        objects_.require_there();
        std::byte next[8] = {};
        const Keys::Got got = numbers.get(key, next);
        if (got.there && got.size != sizeof next)
            fail_damaged(pool + "the file of the number of objects has another size than it is written with");
        const auto first = got.there ? load_little<std::uint64_t>(next) : 0;
        if (count > UINT64_MAX - first) {
            fail(DER_OVERFLOW, pool + std::to_string(count) +
                                   " object ids were asked for, and fewer are left: ask for fewer, or make a "
                                   "new container");
        }
        std::byte after[8];
        store_little(after, first + count);
        try {
            const Precondition same = got.there ? Precondition::equals(next) : Condition::must_not_exist;
            const auto done = numbers.update({key, Bytes(after), same, nullptr, [] { return true; }}, true);
            if (done == Keys::Done::yes) return first;
        } catch (const Error& error) {
            // In doubt, numbers that nobody got are left out.
            if (error.code() != -DER_MISMATCH && error.code() != -DER_EXIST && error.code() != -DER_TIMEDOUT)
                throw;
        }
    }
}

// ---- key-value objects

Keys FilesContainer::keys_of(const ObjectId& oid, const ObjectEntry& entry) const
{
    return {*place_, objects_.data(entry), named(oid), entry.packed};
}

namespace {

void require_key(const std::string& where, Bytes key, const Replaced* replaced)
{
    if (key.empty()) fail(DER_INVAL, where + ": the key is empty: keys have 1 byte to 1 MiB");
    if (key.size() > max_key_length) {
        fail(DER_KEY2BIG,
             where + ": the key has " + std::to_string(key.size()) + " bytes: at most 1 MiB is possible");
    }
    if (replaced != nullptr && replaced->into.size() > max_replaced)
        fail(DER_INVAL, where + ": there is room for more than 4,096 bytes of the old value");
}

} // namespace

bool FilesContainer::update(const ObjectId& oid, Bytes key, std::optional<Bytes> value,
                            const Precondition& condition, Replaced* replaced)
{
    require_key("pool " + place_->path() + ", " + named(oid), key, replaced);
    const bool inserts =
        value && condition.what != Condition::must_equal && condition.what != Condition::must_exist;
    for (;;) {
        auto entry = objects_.known(oid);
        if (!entry && inserts) entry = objects_.make(oid, std::nullopt);
        const ObjectEntry nowhere{place_->host() + "/none", std::nullopt, false};
        const auto still_here = [&] {
            const auto now = objects_.find(oid);
            return now && entry && *now == *entry;
        };
        const Keys keys = keys_of(oid, entry ? *entry : nowhere);
        switch (keys.update({key, value, condition, replaced, still_here}, entry && inserts)) {
        case Keys::Done::yes: return true;
        case Keys::Done::absent: return objects_.require_there(), false;
        case Keys::Done::moved: break;
        }
        objects_.require_there();
        // No bucket. The object may be there, and the key not. Or the object was removed.
        const auto now = objects_.find(oid);
        objects_.forget(oid);
        const bool same = (!now && !entry) || (now && entry && *now == *entry);
        if (!same || inserts) continue;
        if (replaced != nullptr) replaced->size.reset();
        const std::string where = "pool " + place_->path() + ", " + named(oid) + ", key " + quoted(key);
        if (condition.what == Condition::must_exist) fail(DER_NONEXIST, where + ": it is not there");
        if (condition.what == Condition::must_equal)
            fail(DER_MISMATCH, where + ": it has another value, or is not there");
        return false;
    }
}

void FilesContainer::kv_put(const ObjectId& oid, Bytes key, Bytes value, const Precondition& condition,
                            Replaced* replaced)
{
    pool_->require_write("kv_put");
    if (value.size() > most_value) {
        fail(DER_REC2BIG, "pool " + place_->path() + ", " + named(oid) + ": a value of " +
                              std::to_string(value.size()) +
                              " bytes: at most 1 TiB is possible; use an array object");
    }
    update(oid, key, value, condition, replaced);
}

bool FilesContainer::kv_remove(const ObjectId& oid, Bytes key, const Precondition& condition,
                               Replaced* replaced)
{
    pool_->require_write("kv_remove");
    return update(oid, key, std::nullopt, condition, replaced);
}

std::optional<std::uint64_t> FilesContainer::kv_get(const ObjectId& oid, Bytes key, MutableBytes into,
                                                    Epoch epoch)
{
    require_latest(epoch);
    require_key("pool " + place_->path() + ", " + named(oid), key, nullptr);
    for (;;) {
        const auto entry = objects_.known(oid);
        if (!entry) return objects_.require_there(), std::nullopt;
        const Keys keys = keys_of(oid, *entry);
        const Keys::Got got = keys.get(key, into);
        if (got.there) return got.size;
        const auto now = objects_.find(oid);
        if (now && *now == *entry) {
            if (got.lost) keys.require_packed();
            return std::nullopt;
        }
        objects_.forget(oid);
    }
}

void FilesContainer::kv_get_many(const ObjectId& oid, std::span<KeyRead> reads, Epoch epoch)
{
    for (KeyRead& one : reads)
        one.size = kv_get(oid, one.key, one.into, epoch);
}

void FilesContainer::kv_list(const ObjectId& oid, ListPosition& position, FunctionRef<bool(Bytes)> each,
                             Epoch epoch, const KeyFilter& filter)
{
    require_latest(epoch);
    if (position.done) return;
    for (;;) {
        const auto entry = objects_.find(oid);
        if (!entry) {
            objects_.require_there();
            if (position.length > position.key.size()) fail(DER_INVAL, named(oid) + ": a damaged position");
            position.done = true;
            return;
        }
        const auto still_here = [&] { return objects_.find(oid) == entry; };
        if (keys_of(oid, *entry).list(position, each, filter, still_here)) return;
    }
}

void FilesContainer::kv_announce(const ObjectId&, Bytes)
{
}

std::unique_ptr<Waiter> FilesContainer::kv_watch(const ObjectId&, Bytes)
{
    return nullptr;
}

// ---- any object

// ---- objects of dkeys and akeys: an update of several akeys is whole or nothing, and files are not

void FilesContainer::refuse_akeys(const ObjectId& oid) const
{
    fail(DER_NOTSUPPORTED, "pool " + place_->path() + ", " + named(oid) +
                               ": a pool in files has key-value objects and arrays, read and written by "
                               "their own calls. Objects of dkeys and akeys need a pool in LMDB or on Ceph");
}

void FilesContainer::mark_object(Epoch, const ObjectId&, Bytes)
{
    refuse_versions(place_->path(), "the table of a snapshot");
}

std::vector<ObjectMarker> FilesContainer::object_markers(Epoch, const ObjectId&, const ObjectId&)
{
    refuse_versions(place_->path(), "the table of a snapshot");
}

void FilesContainer::clear_object_markers(Epoch)
{
    refuse_versions(place_->path(), "the table of a snapshot");
}

std::unique_ptr<Transaction> FilesContainer::begin_transaction()
{
    fail(DER_NOTSUPPORTED, "pool " + place_->path() +
                               ": a pool in files stores each update by itself and has no transactions. They "
                               "need a pool in LMDB or on Ceph; with DAOS_TX_NONE each call is atomic here");
}

void FilesContainer::akey_update(const ObjectId& oid, Bytes, std::span<const AkeyUpdate>, Condition)
{
    refuse_akeys(oid);
}

void FilesContainer::akey_fetch(const ObjectId& oid, Bytes, std::span<AkeyFetch>, Epoch, bool)
{
    refuse_akeys(oid);
}

void FilesContainer::akey_punch(const ObjectId& oid, Bytes, std::span<const Bytes>, bool)
{
    refuse_akeys(oid);
}

void FilesContainer::dkey_list(const ObjectId& oid, ListPosition&, FunctionRef<bool(Bytes)>, Epoch)
{
    refuse_akeys(oid);
}

void FilesContainer::akey_list(const ObjectId& oid, Bytes, ListPosition&, FunctionRef<bool(Bytes, AkeyType)>,
                               Epoch)
{
    refuse_akeys(oid);
}

ListPosition FilesContainer::dkey_position(const ObjectId& oid, Bytes)
{
    refuse_akeys(oid);
}

ListPosition FilesContainer::akey_position(const ObjectId& oid, Bytes, Bytes, Epoch)
{
    refuse_akeys(oid);
}

std::uint64_t FilesContainer::extent_list(const ObjectId& oid, Bytes, Bytes, const Range&,
                                          FunctionRef<bool(const StoredExtent&)>, Epoch)
{
    refuse_akeys(oid);
}

void FilesContainer::punch(const ObjectId& oid)
{
    pool_->require_write("punch");
    objects_.remove(oid);
}

bool FilesContainer::holds(const ObjectId& oid, Epoch epoch)
{
    require_latest(epoch);
    for (;;) {
        const auto entry = objects_.find(oid);
        if (!entry) return objects_.require_there(), false;
        if (entry->attributes) return true;
        const Descriptor fd = open_file(objects_.data(*entry), O_RDONLY);
        struct stat status {};
        const auto still_here = [&] { return objects_.find(oid) == entry; };
        if (!fd || fstat(fd.get(), &status) != 0) {
            if (still_here()) return false;
            continue;
        }
        if (!S_ISDIR(status.st_mode)) return status.st_size > 0;
        if (const auto any = keys_of(oid, *entry).any(still_here)) return *any;
    }
}

std::vector<ObjectId> FilesContainer::objects(Epoch epoch)
{
    require_latest(epoch);
    std::vector<ObjectId> all = objects_.all();
    std::erase_if(all, [&](const ObjectId& oid) { return !holds(oid, latest); });
    return all;
}

} // namespace stepstore::store::files

#include "store/object_markers.h"

#include "store/failure.h"
#include "store/versioned.h"

#include <algorithm>

namespace stepstore::store {

namespace {

void require_snapshot(ReadTransaction& meta, const std::string& path, std::uint64_t container, Epoch epoch)
{
    read_container(meta, path, container);
    Bytes body;
    SnapshotRecord record;
    const KeyBuffer key = meta_key(MetaSpace::snapshot, container).add(epoch);
    if (get_sealed(meta, key.view(), body, "pool " + path + ", metadata") && decode_snapshot(body, record) &&
        record.state == SnapshotState::there)
        return;
    fail(DER_EP_OLD, "pool " + path + ": the snapshot at epoch " + std::to_string(epoch) +
                         " was destroyed: close the table of its objects");
}

} // namespace

KeyBuffer object_markers_of(std::uint64_t container, Epoch snapshot)
{
    return meta_key(MetaSpace::marker, container).add(snapshot);
}

KeyBuffer object_marker_key(std::uint64_t container, Epoch snapshot, const ObjectId& oid)
{
    return object_markers_of(container, snapshot).add(oid.hi).add(oid.lo);
}

void VersionedContainer::mark_object(Epoch snapshot, const ObjectId& oid, Bytes marker)
{
    pool_->require_write("marking an object");
    PoolCore& core = pool_->core();
    if (marker.size() > longest_object_marker)
        fail(DER_INVAL, "pool " + core.path() + ": a marker has at most " +
                            std::to_string(longest_object_marker) + " bytes, and " +
                            std::to_string(marker.size()) + " were given");
    const KeyBuffer key = object_marker_key(id_, snapshot, oid);
    core.storage().meta().write([&](WriteTransaction& meta) {
        require_snapshot(meta, core.path(), id_, snapshot);
        if (marker.empty())
            erase_sealed(meta, key.view());
        else
            put_sealed(meta, key.view(), marker);
    });
}

std::vector<ObjectMarker> VersionedContainer::object_markers(Epoch snapshot, const ObjectId& first,
                                                             const ObjectId& last)
{
    PoolCore& core = pool_->core();
    return look_at(core.storage().meta(), [&](ReadTransaction& meta) {
        require_snapshot(meta, core.path(), id_, snapshot);
        std::vector<ObjectMarker> all;
        const KeyBuffer prefix = object_markers_of(id_, snapshot);
        const KeyBuffer from = object_marker_key(id_, snapshot, first);
        Entries entries(meta, from.view(), prefix.view());
        for (Entry entry; entries.next(entry);) {
            Bytes body;
            if (entry.key.size() != object_marker_key_size || !unseal(entry.key, entry.value, body))
                fail_damaged("pool " + core.path() + ", metadata: the marker of an object is damaged");
            ObjectMarker marker;
            marker.oid.hi = load_big<std::uint64_t>(entry.key.data() + prefix.size());
            marker.oid.lo = load_big<std::uint64_t>(entry.key.data() + prefix.size() + 8);
            if (marker.oid > last) return all;
            marker.marker.assign(body.begin(), body.end());
            all.push_back(std::move(marker));
        }
        require_all_listed(entries, core.path(), "markers of objects");
        return all;
    });
}

void VersionedContainer::clear_object_markers(Epoch snapshot)
{
    pool_->require_write("clearing markers of objects");
    PoolCore& core = pool_->core();
    look_at(core.storage().meta(), [&](ReadTransaction& meta) {
        require_snapshot(meta, core.path(), id_, snapshot);
        return true;
    });
    erase_in_meta(core, object_markers_of(id_, snapshot));
}

} // namespace stepstore::store

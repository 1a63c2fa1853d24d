// The check of the pool's own records, in the target meta().
#include "store/check/check.h"

#include "store/failure.h"
#include "store/object_markers.h"
#include "store/user_attributes.h"

#include <algorithm>

namespace stepstore::store {

void Check::check_meta()
{
    for (const std::string& damage : storage_.meta().check()) {
        find(Severity::damage, pool_ + ", metadata", damage,
             "containers that the metadata still names stay readable; copy them to a new pool");
    }
    try {
        storage_.meta().read([&](ReadTransaction& meta) {
            uuid_ = read_pool_header(meta, storage_.path()).uuid;
            header_good_ = true;
        });
    } catch (const Error& error) {
        if (!says_damage(error)) throw;
        find(Severity::damage, pool_ + ", metadata", error.what(),
             "the pool cannot be opened until its header is put back from a copy; its records are still "
             "checked");
    }
    read_meta(meta_, true);
}

void Check::read_meta(MetaView& view, bool report)
{
    std::map<std::string, std::uint32_t> names; // keys of the uuid and label indices
    view = {};
    const CheckReport before = report_;
    storage_.meta().read([&](ReadTransaction& meta) {
        view = {};
        names.clear();
        report_ = before;
        Entry entry;
        const std::byte lowest{};
        for (bool more = meta.seek({&lowest, 1}, entry); more; more = meta.next(entry))
            meta_entry(view, entry, names, report);
    });
    if (report) check_labels(view, names);
}

void Check::meta_entry(MetaView& view, const Entry& entry, std::map<std::string, std::uint32_t>& names,
                       bool report)
{
    Bytes body;
    const bool intact = unseal(entry.key, entry.value, body);
    const auto space = static_cast<MetaSpace>(entry.key[0]);
    const bool by_container = space == MetaSpace::container || space == MetaSpace::destroying ||
                              space == MetaSpace::oids || space == MetaSpace::snapshot ||
                              space == MetaSpace::attribute || space == MetaSpace::marker;
    const std::size_t size = space == MetaSpace::snapshot    ? 13
                             : space == MetaSpace::marker    ? object_marker_key_size
                             : space == MetaSpace::attribute ? std::max<std::size_t>(entry.key.size(), 6)
                             : by_container                  ? 5
                                                             : entry.key.size();
    const bool known = space >= MetaSpace::header && space <= MetaSpace::last;
    if (!intact || !known || entry.key.size() != size) {
        if (report) {
            find(Severity::damage, pool_ + ", metadata, record " + quoted(entry.key),
                 known && entry.key.size() == size ? "its checksum does not match"
                                                   : "no record of a pool has such a key",
                 space == MetaSpace::container
                     ? "the records of this container are still on the targets; put the pool's metadata back "
                       "from a copy"
                     : "put the pool's metadata back from a copy");
        }
        return;
    }
    if (report) ++report_.records;
    const std::uint32_t id = by_container ? load_big<std::uint32_t>(entry.key.data() + 1) : 0;
    switch (space) {
    case MetaSpace::container:
        if (!decode_container(body, view.containers[id]) && report) {
            find(Severity::damage, pool_ + ", metadata, record " + quoted(entry.key), "it is incomplete",
                 "put the pool's metadata back from a copy");
        }
        break;
    case MetaSpace::attribute: {
        UserAttribute attribute;
        const bool good = decode_user_attribute(body, attribute) &&
                          equal(user_attribute_key(id, attribute.name).view(), entry.key);
        if (!good && report) {
            find(Severity::damage, pool_ + ", metadata, record " + quoted(entry.key),
                 "it is no user attribute of this name", "set the attribute again");
        }
        if (id != no_container) view.with_attributes.insert(id);
        break;
    }
    case MetaSpace::marker: view.marked.emplace(id, load_big<std::uint64_t>(entry.key.data() + 5)); break;
    case MetaSpace::destroying: view.destroying.insert(id); break;
    case MetaSpace::snapshot: {
        SnapshotRecord record;
        decode_snapshot(body, record);
        if (record.state == SnapshotState::gone) break;
        (record.state == SnapshotState::removing ? view.removing : view.snapshots)
            .emplace(id, load_big<std::uint64_t>(entry.key.data() + 5));
        break;
    }
    case MetaSpace::uuid:
    case MetaSpace::label:
        names[std::string(as_text(entry.key))] = static_cast<std::uint32_t>(BodyReader(body).number());
        break;
    case MetaSpace::next:
    case MetaSpace::header:
    case MetaSpace::oids: break;
    }
}

void Check::check_labels(const MetaView& view, const std::map<std::string, std::uint32_t>& names)
{
    for (const auto& [name, id] : names) {
        const auto found = view.containers.find(id);
        const Bytes value = as_bytes(name).subspan(1);
        const bool by_uuid = static_cast<MetaSpace>(name[0]) == MetaSpace::uuid;
        const std::string shown = (by_uuid ? "uuid " : "label ") + quoted(value);
        const bool matches = found != view.containers.end() &&
                             (by_uuid ? equal(value, std::as_bytes(std::span(found->second.uuid)))
                                      : as_text(value) == found->second.label);
        if (matches) continue;
        find(Severity::damage, pool_ + ", metadata, " + shown, "it names a container that does not exist",
             "the container's own record is damaged or lost: put the pool's metadata back from a copy");
    }
    for (const auto& [id, record] : view.containers) {
        KeyBuffer by_uuid = meta_key(MetaSpace::uuid).add(std::as_bytes(std::span(record.uuid)));
        KeyBuffer by_label = meta_key(MetaSpace::label).add(as_bytes(record.label));
        if (!names.contains(std::string(as_text(by_uuid.view()))) ||
            (!record.label.empty() && !names.contains(std::string(as_text(by_label.view()))))) {
            find(Severity::damage, pool_ + ", container " + text(record.uuid),
                 "it cannot be found by its uuid or label: the index lacks it",
                 "open it by the name that still works and copy it, or put the pool's metadata back from a "
                 "copy");
        }
    }
    for (const std::uint32_t id : view.destroying) {
        find(Severity::reclaimable, pool_ + ", container number " + std::to_string(id),
             "it was destroyed, and the deletion of its records was interrupted or is not finished",
             "the next open for writing, or a check with repair, finishes it");
    }
    for (const auto& [id, epoch] : view.snapshots) {
        if (view.containers.contains(id) || view.destroying.contains(id)) continue;
        find(Severity::damage, pool_ + ", metadata",
             "a snapshot at epoch " + std::to_string(epoch) + " belongs to container number " +
                 std::to_string(id) + ", which does not exist",
             "the container's own record is damaged or lost: put the pool's metadata back from a copy");
    }
    for (const auto& one : view.marked) {
        if (view.snapshots.contains(one) || view.removing.contains(one) ||
            view.destroying.contains(one.first))
            continue;
        find(Severity::damage, pool_ + ", metadata",
             "markers of objects belong to a snapshot at epoch " + std::to_string(one.second) +
                 " of container number " + std::to_string(one.first) + ", which does not exist",
             "the snapshot's own record is damaged or lost: put the pool's metadata back from a copy");
    }
    for (const std::uint32_t id : view.with_attributes) {
        if (view.containers.contains(id) || view.destroying.contains(id)) continue;
        find(Severity::damage, pool_ + ", metadata",
             "user attributes belong to container number " + std::to_string(id) + ", which does not exist",
             "the container's own record is damaged or lost: put the pool's metadata back from a copy");
    }
    for (const auto& [id, epoch] : view.removing) {
        find(Severity::reclaimable, pool_ + ", " + container_name(id),
             "the removal of the snapshot at epoch " + std::to_string(epoch) +
                 " was interrupted or is not finished",
             "the next open for writing, or a check with repair, finishes it");
    }
}

} // namespace stepstore::store

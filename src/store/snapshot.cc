// Snapshots and the aggregation of what they no longer need.
//
// Creating: a write transaction on meta and on every target, so no writer is in flight anywhere. Then the
// epoch is taken, noted on every target, and committed, meta last (the truth). A crash in between leaves the
// epoch on some targets. They keep more history than needed until the next creation, which removes what is
// newer than meta's newest.
//
// Creating where nothing keeps others off (Storage::has_barriers): 1. An epoch is chosen that lies ahead. 2.
// Each target notes it, all at once, unless it is too late there; then 1 again. 3. meta, if it has no newer
// one; else 1 again. So a mark on a target that is older than meta's newest, and not in meta, is of nobody,
// and goes when a snapshot is removed. For that meta's newest must never get older: its record stays when it
// is removed, until there is a newer one.
//
// A name is given once: the transaction on meta looks whether it is free (snapshot_names.h).
//
// Removing: 1. meta: marked (the truth: it is no snapshot any more). 2. each target: the epoch goes, then the
// history that no remaining snapshot needs, in batches. 3. meta: the record goes. A crash after 1 leaves 2
// and 3 to the next open for writing or repair.
#include "store/failure.h"
#include "store/object.h"
#include "store/object_markers.h"
#include "store/pool_core.h"
#include "store/snapshot_names.h"
#include "store/versioned.h"

#include <set>

namespace stepstore::store {

namespace {

constexpr std::size_t history_at_once = 1000; // history records looked at per transaction
constexpr std::size_t longest_name = 255;

KeyBuffer meta_snapshot(std::uint64_t container, Epoch epoch)
{
    return meta_key(MetaSpace::snapshot, container).add(epoch);
}

void put_snapshot(WriteTransaction& meta, std::uint64_t container, Epoch epoch, const SnapshotRecord& record)
{
    BodyWriter body;
    body.number(static_cast<std::uint64_t>(record.state)).bytes(as_bytes(record.name));
    put_sealed(meta, meta_snapshot(container, epoch).view(), body.view());
}

Epoch newest_epoch(WriteTransaction& transaction, const KeyBuffer& prefix)
{
    KeyBuffer end = prefix;
    Entry entry;
    end.make_successor();
    put_back(transaction, end.view());
    if (!transaction.seek_last_in(prefix.view(), end.view(), entry)) return 0;
    if (entry.key.size() != prefix.size() + 8)
        fail_damaged("the key of a container's newest snapshot is damaged");
    return load_big<std::uint64_t>(entry.key.data() + prefix.size());
}

// Removes the epochs that an interrupted creation left on this target.
void drop_strays(WriteTransaction& target, std::uint32_t container, Epoch newest)
{
    const KeyBuffer prefix = container_prefix(Space::snapshot, container);
    for (Epoch stray = newest_epoch(target, prefix); stray > newest; stray = newest_epoch(target, prefix))
        target.erase(snapshot_key(container, stray).view());
}

// Those that meta has a record of.
std::set<Epoch> epochs_in_meta(Target& meta, std::uint64_t container)
{
    return look_at(meta, [&](ReadTransaction& transaction) {
        std::set<Epoch> all;
        const KeyBuffer prefix = meta_key(MetaSpace::snapshot, container);
        Entries entries(transaction, prefix.view(), prefix.view());
        for (Entry entry; entries.next(entry);)
            if (entry.key.size() == prefix.size() + 8)
                all.insert(load_big<std::uint64_t>(entry.key.data() + prefix.size()));
        return all;
    });
}

// The same where others may be creating snapshots. One that is older than the newest in meta and is not there
// will never be: its creator is refused, since meta has changed.
void drop_old_strays(WriteTransaction& target, std::uint32_t container, const std::set<Epoch>& known)
{
    const KeyBuffer prefix = container_prefix(Space::snapshot, container);
    std::vector<Epoch> strays;
    Entry entry;
    for (bool more = target.seek_in(prefix.view(), prefix.view(), entry); more; more = target.next(entry)) {
        if (!starts_with(entry.key, prefix.view())) break;
        if (entry.key.size() != prefix.size() + sizeof(Epoch)) continue; // check reports it
        const auto epoch = load_big<std::uint64_t>(entry.key.data() + prefix.size());
        if (!known.empty() && epoch < *known.rbegin() && !known.contains(epoch)) strays.push_back(epoch);
    }
    for (const Epoch stray : strays)
        target.erase(snapshot_key(container, stray).view());
}

void note_snapshot(WriteTransaction& target, std::uint32_t container, Epoch epoch)
{
    put_sealed(target, snapshot_key(container, epoch).view(), {});
    put_state(target, container, {epoch});
}

// Drops history that nothing needs, from `from` on, one batch. False when there is no more.
bool aggregate(WriteTransaction& target, std::uint32_t container, std::vector<std::byte>& from,
               std::vector<ExtentRef>& released)
{
    const KeyBuffer prefix = container_prefix(Space::history, container);
    const ContainerState state{newest_epoch(target, container_prefix(Space::snapshot, container))};
    std::vector<std::vector<std::byte>> candidates;
    Entry entry;
    bool more = target.seek_in(prefix.view(), from, entry);
    for (std::size_t count = 0; more && count < history_at_once; ++count) {
        candidates.emplace_back(entry.key.begin(), entry.key.end());
        more = target.next(entry) && starts_with(entry.key, prefix.view());
    }
    if (more) from.assign(entry.key.begin(), entry.key.end());
    for (const auto& key : candidates) {
        Bytes value;
        Record record;
        ParsedKey parsed;
        if (!target.get(key, value) || !parse_key(key, parsed)) continue;
        // The extent of a damaged one, if it had one, is found by check.
        const bool damaged = parse_record(key, value, record) != nullptr;
        if (damaged && put_back(target, key)) { // it may be another container's: begin again
            from.assign(prefix.view().begin(), prefix.view().end());
            return true;
        }
        if (needed(target, container, state, damaged ? unknown_birth : record.birth, parsed.death)) continue;
        if (!damaged && record.type == RecordType::bulk) released.push_back(record.extent);
        target.erase(key);
    }
    return more;
}

// False: there is none at the epoch.
bool mark_removed(WriteTransaction& meta, const std::string& path, std::uint64_t container, Epoch epoch)
{
    Bytes body;
    SnapshotRecord record;
    const KeyBuffer key = meta_snapshot(container, epoch);
    put_back(meta, key.view());
    if (!get_sealed(meta, key.view(), body, "pool " + path + ", metadata") ||
        !decode_snapshot(body, record) || record.state != SnapshotState::there)
        return false;
    record.state = SnapshotState::removing;
    put_snapshot(meta, container, epoch, record);
    return true;
}

// Its removal is done.
void forget_snapshot(WriteTransaction& meta, std::uint64_t container, Epoch epoch)
{
    if (newest_epoch(meta, meta_key(MetaSpace::snapshot, container)) == epoch)
        put_snapshot(meta, container, epoch, {SnapshotState::gone, ""});
    else
        meta.erase(meta_snapshot(container, epoch).view());
}

// The newest from now on. The one before goes if it is `gone`.
void record_snapshot(WriteTransaction& meta, const std::string& path, std::uint64_t container, Epoch before,
                     Epoch epoch, std::string_view name)
{
    Bytes body;
    SnapshotRecord record;
    const KeyBuffer key = meta_snapshot(container, before);
    if (before != 0 && get_sealed(meta, key.view(), body, "pool " + path + ", metadata") &&
        decode_snapshot(body, record) && record.state == SnapshotState::gone)
        meta.erase(key.view());
    put_snapshot(meta, container, epoch, {SnapshotState::there, std::string(name)});
}

// False: it is too late for this epoch on some target, which has later updates or snapshots.
bool note_everywhere(PoolCore& core, std::uint32_t container, Epoch epoch)
{
    const std::size_t targets = core.storage().targets();
    std::vector<std::uint8_t> noted(targets);
    core.storage().meta().at_once(targets, [&](std::size_t index) {
        core.target(static_cast<unsigned>(index)).write([&](WriteTransaction& target) {
            Bytes there;
            if (!target.get(container_key(container).view(), there))
                fail(DER_NONEXIST,
                     "pool " + core.path() + ": this container was destroyed; close the handle");
            noted[index] = target.take_barrier(epoch) ? 1 : 0;
            if (noted[index] != 0) note_snapshot(target, container, epoch);
        });
    });
    return std::ranges::all_of(noted, [](std::uint8_t one) { return one != 0; });
}

} // namespace

bool decode_snapshot(Bytes body, SnapshotRecord& record)
{
    BodyReader reader(body);
    const std::uint64_t state = reader.number();
    record.state = static_cast<SnapshotState>(state);
    record.name = as_text(reader.bytes());
    return reader.complete() && state <= static_cast<std::uint64_t>(SnapshotState::gone);
}

Epoch VersionedContainer::create_snapshot(std::string_view name)
{
    pool_->require_write("creating a snapshot");
    PoolCore& core = pool_->core();
    if (name.size() > longest_name) {
        fail(DER_INVAL, "pool " + core.path() + ": the name of a snapshot has at most 255 bytes, not " +
                            std::to_string(name.size()));
    }
    const auto id = static_cast<std::uint32_t>(id_);
    Epoch epoch = 0, newest = 0;
    NewName unique(opened_->snapshot_names, name);
    if (!core.storage().has_barriers()) {
        const auto make = [&](WriteTransaction& meta, std::span<WriteTransaction* const> targets) {
            for (unsigned index = 0; index < targets.size(); ++index)
                require_no_note(*targets[index], core.path(), index, id);
            read_container(meta, core.path(), id_);
            newest = newest_epoch(meta, meta_key(MetaSpace::snapshot, id_));
            unique.require_free(meta, core.path(), id_, newest);
            epoch = core.storage().next_epoch();
            for (WriteTransaction* target : targets) {
                drop_strays(*target, id, newest);
                note_snapshot(*target, id, epoch);
            }
            record_snapshot(meta, core.path(), id_, newest, epoch, name);
        };
        past_pending(core, [&] { core.write_all(make); });
        unique.took(epoch);
        return epoch;
    }
    for (unsigned refused = 0;; ++refused) {
        epoch = core.storage().meta().network()->barrier_epoch(newest, refused);
        if (!note_everywhere(core, id, epoch)) continue;
        try {
            core.storage().meta().write([&](WriteTransaction& meta) {
                read_container(meta, core.path(), id_);
                newest = newest_epoch(meta, meta_key(MetaSpace::snapshot, id_));
                unique.require_free(meta, core.path(), id_, newest);
                if (newest < epoch) record_snapshot(meta, core.path(), id_, newest, epoch, name);
            });
        } catch (const Error& error) {
            if (error.code() == -DER_EXIST) finish_snapshot_removal(core, id, {&epoch, 1}); // its marks
            throw;
        }
        if (newest >= epoch) continue;
        unique.took(epoch);
        return epoch;
    }
}

std::vector<SnapshotInfo> list_snapshots(ReadTransaction& meta, const std::string& path,
                                         std::uint64_t container)
{
    std::vector<SnapshotInfo> all;
    const KeyBuffer prefix = meta_key(MetaSpace::snapshot, container);
    Entries entries(meta, prefix.view(), prefix.view());
    for (Entry entry; entries.next(entry);) {
        Bytes body;
        SnapshotRecord record;
        if (entry.key.size() != 13 || !unseal(entry.key, entry.value, body) || !decode_snapshot(body, record))
            fail_damaged("pool " + path + ", metadata: a snapshot's record is damaged");
        if (record.state == SnapshotState::there)
            all.push_back({load_big<std::uint64_t>(entry.key.data() + 5), std::move(record.name)});
    }
    require_all_listed(entries, path, "snapshots");
    return all;
}

void require_all_listed(const Entries& walked, const std::string& path, const char* what)
{
    if (const char* reason = walked.damage_beside()) {
        fail_damaged("pool " + path + ", metadata: a record beside those of the " + what +
                     ", which may be one of them, is damaged (" + reason + ")");
    }
}

std::vector<SnapshotInfo> VersionedContainer::snapshots()
{
    const std::string& path = pool_->core().path();
    return look_at(pool_->core().storage().meta(), [&](ReadTransaction& meta) {
        read_container(meta, path, id_);
        return list_snapshots(meta, path, id_);
    });
}

bool VersionedContainer::has_snapshot(Epoch epoch)
{
    const std::string& path = pool_->core().path();
    return look_at(pool_->core().storage().meta(), [&](ReadTransaction& meta) {
        read_container(meta, path, id_);
        Bytes body;
        SnapshotRecord record;
        return get_sealed(meta, meta_snapshot(id_, epoch).view(), body, "pool " + path + ", metadata") &&
               decode_snapshot(body, record) && record.state == SnapshotState::there;
    });
}

std::size_t VersionedContainer::destroy_snapshots(std::span<const Epoch> epochs)
{
    pool_->require_write("destroying a snapshot");
    PoolCore& core = pool_->core();
    std::vector<Epoch> removed;
    core.storage().meta().write([&](WriteTransaction& meta) {
        removed.clear();
        read_container(meta, core.path(), id_);
        for (const Epoch epoch : epochs)
            if (mark_removed(meta, core.path(), id_, epoch)) removed.push_back(epoch);
    });
    if (!removed.empty()) finish_snapshot_removal(core, static_cast<std::uint32_t>(id_), removed);
    return removed.size();
}

void finish_snapshot_removal(PoolCore& core, std::uint32_t container, std::span<const Epoch> epochs)
{
    Storage& storage = core.storage();
    const std::set<Epoch> known = epochs_in_meta(storage.meta(), container);
    storage.meta().at_once(storage.targets(), [&](std::size_t index) {
        Target& target = core.target(static_cast<unsigned>(index));
        const auto forget = [&](WriteTransaction& transaction) {
            require_no_note(transaction, core.path(), static_cast<unsigned>(index), container);
            for (const Epoch epoch : epochs)
                erase_sealed(transaction, snapshot_key(container, epoch).view());
            if (storage.has_barriers()) drop_old_strays(transaction, container, known);
            Bytes value;
            // Not of a container that was destroyed.
            if (!transaction.get(container_key(container).view(), value)) return;
            put_state(transaction, container,
                      {newest_epoch(transaction, container_prefix(Space::snapshot, container))});
        };
        past_pending(core, [&] { target.write(forget); });
        write_in_batches(core, static_cast<unsigned>(index), container_prefix(Space::history, container),
                         [&](WriteTransaction& transaction, auto& from, auto& released) {
                             require_no_note(transaction, core.path(), static_cast<unsigned>(index),
                                             container);
                             return !aggregate(transaction, container, from, released);
                         });
    });
    for (const Epoch epoch : epochs)
        erase_in_meta(core, object_markers_of(container, epoch));
    storage.meta().write([&](WriteTransaction& meta) {
        for (const Epoch epoch : epochs)
            forget_snapshot(meta, container, epoch);
    });
}

} // namespace stepstore::store

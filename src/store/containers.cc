// Containers: made, found and destroyed.
//
// Creating: 1. meta: the next number is read. 2. each target: marked with it. 3. meta: the number is taken,
// and the names (the truth), if it is the next one still; else 1 again. A crash in between leaves marks under
// a number that no container has. The next container gets it, or a repair takes the marks away
// (abandon_container).
//
// Two makers may mark one number, and one of them gets it. The other's marks do no harm while the number's
// container is there. They must not come when it was destroyed. So each target keeps the greatest number that
// was marked on it, and takes no new mark of a number up to it.
//
// Destroying: 1. meta: names gone, container marked (the truth). 2. each target: the container's mark goes,
// so no process writes to it any more, and its records in batches. 3. meta: the mark goes. A crash after 1
// leaves 2 and 3 to the next open for writing, destruction or repair.
#include "base/text.h"
#include "store/failure.h"
#include "store/object.h"
#include "store/pool_core.h"
#include "store/user_attributes.h"
#include "store/versioned.h"

#include <algorithm>
#include <map>

namespace stepstore::store {

namespace {

constexpr std::size_t longest_label = 127;
constexpr std::size_t deleted_at_once = 1000; // records per transaction

KeyBuffer by_uuid(const Uuid& uuid)
{
    return meta_key(MetaSpace::uuid).add(std::as_bytes(std::span(uuid)));
}

KeyBuffer by_label(std::string_view label)
{
    return meta_key(MetaSpace::label).add(as_bytes(label));
}

std::uint64_t number_at(ReadTransaction& meta, const KeyBuffer& key, const std::string& path)
{
    Bytes body;
    if (!get_sealed(meta, key.view(), body, "pool " + path + ", metadata")) return 0;
    return BodyReader(body).number();
}

void require_free_label(ReadTransaction& meta, const std::string& path, std::string_view label)
{
    if (!label.empty() && number_at(meta, by_label(label), path) != 0)
        fail(DER_EXIST, "pool " + path + ": there is a container '" + std::string(label) +
                            "' already: open it, or choose another label");
}

void put_number(WriteTransaction& meta, const KeyBuffer& key, std::uint64_t value)
{
    put_sealed(meta, key.view(), BodyWriter().number(value).view());
}

// The greatest number of a container that was marked on this target.
std::uint64_t last_marked(ReadTransaction& target, const std::string& where)
{
    Bytes body;
    const bool there = get_sealed(target, last_marked_key().view(), body, where) && body.size() == 8;
    return there ? load_little<std::uint64_t>(body.data()) : 0;
}

bool is_marked(ReadTransaction& target, std::uint64_t id)
{
    Bytes there;
    return target.get(container_key(static_cast<std::uint32_t>(id)).view(), there);
}

void note_marked(WriteTransaction& target, std::uint32_t id, const std::string& where)
{
    if (last_marked(target, where) < id) put_state(target, no_container, {id});
}

// Gives 0, or a greater number up to which none can be marked any more on some target. A mark that is there
// is that of another maker, dead or at work: the metadata decides who has the number.
std::uint64_t mark_everywhere(PoolCore& core, std::uint32_t id)
{
    const std::string where = "pool " + core.path();
    std::vector<std::uint64_t> passed(core.storage().targets());
    core.storage().meta().at_once(passed.size(), [&](std::size_t index) {
        core.target(static_cast<unsigned>(index)).write([&](WriteTransaction& target) {
            const KeyBuffer mark = container_key(id);
            const KeyBuffer last = last_marked_key();
            const Bytes keys[] = {mark.view(), last.view()};
            target.expect(keys);
            passed[index] = 0;
            if (is_marked(target, id)) return;
            if (const std::uint64_t number = last_marked(target, where); number >= id) {
                passed[index] = number;
                return;
            }
            put_state(target, no_container, {id});
            put_state(target, id, {});
        });
    });
    return std::ranges::max(passed);
}

void put_container(WriteTransaction& meta, std::uint64_t id, const ContainerRecord& record)
{
    BodyWriter body;
    body.bytes(std::as_bytes(std::span(record.uuid)))
        .bytes(as_bytes(record.label))
        .number(record.created)
        .bytes(record.properties);
    put_sealed(meta, meta_key(MetaSpace::container, id).view(), body.view());
}

// query() of a container and containers() of a pool share it.
ContainerInfo describe(ReadTransaction& meta, const std::string& path, std::uint64_t id)
{
    const ContainerRecord record = read_container(meta, path, id);
    ContainerInfo info{record.uuid, record.label, record.created, 0, 0};
    for (const SnapshotInfo& snapshot : list_snapshots(meta, path, id)) {
        ++info.snapshots;
        info.latest_snapshot = snapshot.epoch;
    }
    return info;
}

// Deletes up to `deleted_at_once` records that begin with `prefix`. True when none are left.
bool erase_batch(WriteTransaction& transaction, Bytes prefix, std::vector<ExtentRef>& released)
{
    Entry entry;
    bool more = transaction.seek_in(prefix, prefix, entry);
    for (std::size_t count = 0; more && count < deleted_at_once; ++count) {
        Record record;
        if (damage_of(entry) != nullptr) { // it may be another container's: begin again
            if (put_back(transaction, entry.key)) return false;
        } else if (static_cast<Space>(prefix[0]) != Space::snapshot &&
                   parse_record(entry.key, entry.value, record) == nullptr &&
                   record.type == RecordType::bulk) {
            released.push_back(record.extent);
        }
        std::byte key[512];
        if (entry.key.size() > sizeof key)
            fail_damaged("a key that is too long for any record: " + quoted(entry.key));
        std::memcpy(key, entry.key.data(), entry.key.size());
        transaction.erase({key, entry.key.size()});
        more = transaction.next(entry) && starts_with(entry.key, prefix);
    }
    return !more;
}

} // namespace

namespace {

// nullptr: it can be a label.
const char* why_no_label(std::string_view label)
{
    if (label.size() > longest_label) return " is longer than 127 characters";
    for (const char c : label) {
        const bool good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                          c == '.' || c == '_' || c == ':' || c == '-';
        if (!good) return " has a character other than A-Z a-z 0-9 . _ : -";
    }
    if (label == "." || label == "..") return " names a directory: choose another one";
    if (parse_uuid(label)) return " has the form of a uuid: choose another one";
    return nullptr;
}

} // namespace

void require_label(const std::string& what, std::string_view label)
{
    if (const char* why = why_no_label(label)) fail(DER_INVAL, what + " " + quoted(as_bytes(label)) + why);
}

bool decode_container(Bytes body, ContainerRecord& record)
{
    BodyReader reader(body);
    const Bytes uuid = reader.bytes();
    record.label = as_text(reader.bytes());
    record.created = reader.number();
    const Bytes properties = reader.bytes();
    record.properties.assign(properties.begin(), properties.end());
    if (!record.label.empty() && why_no_label(record.label) != nullptr)
        return false; // it becomes part of paths
    if (!reader.complete() || uuid.size() != record.uuid.size()) return false;
    std::memcpy(record.uuid.data(), uuid.data(), uuid.size());
    return true;
}

ContainerRecord read_container(ReadTransaction& meta, const std::string& path, std::uint64_t id)
{
    Bytes body;
    if (!get_sealed(meta, meta_key(MetaSpace::container, id).view(), body, "pool " + path + ", metadata"))
        fail(DER_NONEXIST, "pool " + path + ": this container was destroyed; close the handle");
    ContainerRecord record;
    if (!decode_container(body, record))
        fail_damaged("pool " + path + ": a container's record is incomplete");
    return record;
}

std::uint64_t find_container(ReadTransaction& meta, const std::string& path, std::string_view name)
{
    if (name.empty() || name.size() > longest_label) return 0;
    const auto uuid = parse_uuid(name);
    return number_at(meta, uuid ? by_uuid(*uuid) : by_label(name), path);
}

ContainerInfo VersionedPool::create_container(const Uuid& uuid, std::string_view label, Bytes properties)
{
    require_write("creating a container");
    PoolCore& core = *core_;
    require_label("pool " + core.path() + ": the container label", label);
    const std::string pool = "pool " + core.path();
    // The number that it would get now.
    const auto next_number = [&](ReadTransaction& meta) {
        require_free_label(meta, core.path(), label);
        if (number_at(meta, by_uuid(uuid), core.path()) != 0)
            fail(DER_EXIST,
                 pool + ": there is a container " + text(uuid) + " already: open it, or choose another uuid");
        return std::max<std::uint64_t>(1, number_at(meta, meta_key(MetaSpace::next), core.path()));
    };
    ContainerInfo info{uuid, std::string(label), 0, 0, 0};
    for (std::uint64_t id = 0, passed = 0; info.created == 0;) {
        id = std::max(passed + 1, look_at(core.storage().meta(), next_number));
        if (id > UINT32_MAX) fail(DER_NOSPACE, pool + " has had 4,294,967,295 containers: make a new pool");
        passed = mark_everywhere(core, static_cast<std::uint32_t>(id));
        if (passed != 0) continue;
        core.storage().meta().write([&](WriteTransaction& meta) {
            info.created = 0;
            if (next_number(meta) > id) return; // another one has it
            info.created = core.storage().next_epoch();
            put_number(meta, meta_key(MetaSpace::next), id + 1);
            put_number(meta, by_uuid(uuid), id);
            if (!label.empty()) put_number(meta, by_label(label), id);
            put_container(meta, id,
                          {uuid, std::string(label), info.created, {properties.begin(), properties.end()}});
        });
    }
    return info;
}

// Read at the open, not when there is something to tell: a thread that reads a target does not read meta as
// well.
static std::string name_for_messages(ReadTransaction& meta, const std::string& path, std::uint64_t id)
{
    try {
        const ContainerRecord record = read_container(meta, path, id);
        return "container " + (record.label.empty() ? text(record.uuid) : record.label);
    } catch (const Error&) { // the number where the name cannot be read
        return "container " + std::to_string(id);
    }
}

std::shared_ptr<Container> VersionedPool::open_container(std::string_view name)
{
    std::uint64_t id = 0;
    const std::string& path = core_->path();
    std::string shown;
    core_->storage().meta().read([&](ReadTransaction& meta) {
        id = find_container(meta, path, name);
        if (id != 0) shown = name_for_messages(meta, path, id);
    });
    if (id == 0) {
        fail(DER_NONEXIST, "pool " + path + " has no container " + quoted(as_bytes(name)) +
                               ": create it, or list the pool's containers");
    }
    return std::make_shared<VersionedContainer>(shared_from_this(), id, std::move(shown));
}

std::vector<ContainerInfo> VersionedPool::containers()
{
    return look_at(core_->storage().meta(), [&](ReadTransaction& meta) {
        const KeyBuffer prefix = meta_key(MetaSpace::container);
        std::vector<ContainerInfo> all;
        std::vector<std::uint64_t> ids;
        Entries entries(meta, prefix.view(), prefix.view());
        for (Entry entry; entries.next(entry);) {
            if (entry.key.size() != 5) {
                fail_damaged("pool " + core_->path() +
                             ", metadata: the key of a container's record is damaged");
            }
            ids.push_back(load_big<std::uint32_t>(entry.key.data() + 1));
        }
        require_all_listed(entries, core_->path(), "containers");
        for (const std::uint64_t id : ids)
            all.push_back(describe(meta, core_->path(), id));
        return all;
    });
}

void VersionedPool::destroy_container(std::string_view name, bool force)
{
    require_write("destroying a container");
    PoolCore& core = *core_;
    std::uint64_t id = 0;
    core.storage().meta().write([&](WriteTransaction& meta) {
        id = find_container(meta, core.path(), name);
        if (id == 0) {
            fail(DER_NONEXIST,
                 "pool " + core.path() + " has no container " + quoted(as_bytes(name)) + " to destroy");
        }
        if (!force && core.container_open(id)) {
            fail(DER_BUSY, "pool " + core.path() + ": container " + quoted(as_bytes(name)) +
                               " is open in this process: close it first, or destroy it by force");
        }
        const ContainerRecord record = read_container(meta, core.path(), id);
        erase_sealed(meta, meta_key(MetaSpace::container, id).view());
        erase_sealed(meta, meta_key(MetaSpace::oids, id).view());
        erase_sealed(meta, by_uuid(record.uuid).view());
        if (!record.label.empty()) erase_sealed(meta, by_label(record.label).view());
        put_number(meta, meta_key(MetaSpace::destroying, id), id);
    });
    erase_container_records(core, static_cast<std::uint32_t>(id));
    finish_destructions(core);
}

void erase_container_records(PoolCore& core, std::uint32_t id)
{
    Storage& storage = core.storage();
    settle_all(core, id);
    storage.meta().at_once(storage.targets(), [&](std::size_t index) {
        write_in_batches(
            core, static_cast<unsigned>(index), {},
            [&](WriteTransaction& transaction, auto&, auto& released) {
                erase_sealed(transaction, container_key(id).view());
                note_marked(transaction, id, "pool " + core.path());
                return erase_batch(transaction, container_prefix(Space::snapshot, id).view(), released) &&
                       (storage.has_barriers() || // which makes none
                        (erase_batch(transaction, container_prefix(Space::undo, id).view(), released) &&
                         erase_batch(transaction, container_prefix(Space::decision, id).view(), released))) &&
                       erase_batch(transaction, container_prefix(Space::live, id).view(), released) &&
                       erase_batch(transaction, container_prefix(Space::history, id).view(), released);
            });
    });
    erase_in_meta(core, user_attributes_of(id));
    erase_in_meta(core, meta_key(MetaSpace::marker, id));
    storage.meta().write([&](WriteTransaction& meta) {
        const KeyBuffer prefix = meta_key(MetaSpace::snapshot, id);
        Entry entry;
        while (meta.seek_in(prefix.view(), prefix.view(), entry)) {
            const std::vector<std::byte> key(entry.key.begin(), entry.key.end());
            if (!put_back(meta, key)) meta.erase(key);
        }
        erase_sealed(meta, meta_key(MetaSpace::destroying, id).view());
    });
}

bool abandon_container(PoolCore& core, std::uint32_t id)
{
    bool known = false;
    core.storage().meta().write([&](WriteTransaction& meta) {
        Bytes there;
        known = meta.get(meta_key(MetaSpace::container, id).view(), there) ||
                meta.get(meta_key(MetaSpace::destroying, id).view(), there);
        if (known) return;
        // Who may be at work with this number is refused, since the next one changes.
        if (number_at(meta, meta_key(MetaSpace::next), core.path()) <= id)
            put_number(meta, meta_key(MetaSpace::next), std::uint64_t{id} + 1);
        put_number(meta, meta_key(MetaSpace::destroying, id), id);
    });
    if (!known) erase_container_records(core, id);
    return !known;
}

void finish_destructions(PoolCore& core)
{
    std::vector<std::uint32_t> marked;
    std::map<std::uint32_t, std::vector<Epoch>> snapshots; // by container
    core.storage().meta().read([&](ReadTransaction& meta) {
        const KeyBuffer containers = meta_key(MetaSpace::destroying);
        Entry entry;
        Bytes body;
        for (bool more = meta.seek(containers.view(), entry);
             more && starts_with(entry.key, containers.view()); more = meta.next(entry)) {
            // Of a damaged mark nobody knows which container it means: check reports it.
            if (entry.key.size() == 5 && unseal(entry.key, entry.value, body))
                marked.push_back(load_big<std::uint32_t>(entry.key.data() + 1));
        }
        const KeyBuffer prefix = meta_key(MetaSpace::snapshot);
        for (bool more = meta.seek(prefix.view(), entry); more && starts_with(entry.key, prefix.view());
             more = meta.next(entry)) {
            SnapshotRecord record;
            if (entry.key.size() == 13 && unseal(entry.key, entry.value, body) &&
                decode_snapshot(body, record) && record.state == SnapshotState::removing) {
                snapshots[load_big<std::uint32_t>(entry.key.data() + 1)].push_back(
                    load_big<std::uint64_t>(entry.key.data() + 5));
            }
        }
    });
    // Damage that keeps one from being finished keeps nobody from opening the pool: check reports what is
    // left.
    const auto attempt = [](const auto& finish) {
        try {
            finish();
        } catch (const Error& error) {
            if (!is_damage(error)) throw;
        }
    };
    for (const std::uint32_t id : marked)
        attempt([&] { erase_container_records(core, id); });
    for (const auto& [id, epochs] : snapshots) {
        if (std::ranges::find(marked, id) != marked.end()) continue;
        attempt([&, id = id, &epochs = epochs] { finish_snapshot_removal(core, id, epochs); });
    }
}

VersionedContainer::VersionedContainer(std::shared_ptr<VersionedPool> pool, std::uint64_t id,
                                       std::string name)
    : pool_(std::move(pool)), id_(id),
      opened_(std::make_unique<OpenContainer>(pool_->core().storage().targets(), std::move(name)))
{
    pool_->core().container_opened(id_);
}

VersionedContainer::~VersionedContainer()
{
    pool_->core().container_closed(id_);
}

ContainerInfo VersionedContainer::query()
{
    return look_at(pool_->core().storage().meta(),
                   [&](ReadTransaction& meta) { return describe(meta, pool_->core().path(), id_); });
}

std::vector<std::byte> VersionedContainer::properties()
{
    return look_at(pool_->core().storage().meta(), [&](ReadTransaction& meta) {
        return read_container(meta, pool_->core().path(), id_).properties;
    });
}

void VersionedContainer::set_properties(FunctionRef<std::vector<std::byte>(Bytes)> change,
                                        std::string_view label)
{
    pool_->require_write("changing the properties of a container");
    const std::string& path = pool_->core().path();
    require_label("pool " + path + ": the container label", label);
    pool_->core().storage().meta().write([&](WriteTransaction& meta) {
        ContainerRecord record = read_container(meta, path, id_);
        record.properties = change(record.properties);
        if (!label.empty() && label != record.label) {
            require_free_label(meta, path, label);
            if (!record.label.empty()) erase_sealed(meta, by_label(record.label).view());
            put_number(meta, by_label(label), id_);
            record.label = label;
        }
        put_container(meta, id_, record);
    });
}

std::unique_ptr<UserAttributes> VersionedContainer::user_attributes()
{
    return open_user_attributes(pool_, pool_->core(), id_);
}

std::uint64_t VersionedContainer::allocate_oids(std::uint64_t count)
{
    pool_->require_write("allocating object ids");
    const std::string& path = pool_->core().path();
    constexpr std::uint64_t most = std::uint64_t{1} << 48; // so that no call takes what all others need
    if (count == 0) fail(DER_INVAL, "pool " + path + ": 0 object ids were asked for: ask for 1 or more");
    if (count > most) {
        fail(DER_OVERFLOW, "pool " + path + ": " + std::to_string(count) +
                               " object ids were asked for at once: ask for at most 2^48");
    }
    std::uint64_t first = 0;
    pool_->core().storage().meta().write([&](WriteTransaction& meta) {
        read_container(meta, path, id_);
        const KeyBuffer key = meta_key(MetaSpace::oids, id_);
        first = number_at(meta, key, path);
        if (count > UINT64_MAX - first) {
            fail(DER_OVERFLOW, "pool " + path + ": " + std::to_string(count) +
                                   " object ids were asked for, and fewer are left: ask for fewer, or make a "
                                   "new container");
        }
        put_number(meta, key, first + count);
    });
    return first;
}

} // namespace stepstore::store

#include "store/object.h"

#include "base/of_thread.h"
#include "store/transaction/pending.h"

namespace stepstore::store {

void put_state(WriteTransaction& target, std::uint32_t container, const ContainerState& state)
{
    std::byte body[8];
    store_little(body, state.newest_snapshot);
    put_sealed(target, container_key(container).view(), body);
}

ObjectAccess::ObjectAccess(PoolCore& core, std::uint64_t container, const ObjectId& oid,
                           OpenContainer& opened)
    : core(core), path(core.path()), container(static_cast<std::uint32_t>(container)), oid(oid),
      placement(container, oid, core.storage().targets(), core.storage().capabilities().keeps_copies),
      opened_(opened)
{
}

ContainerState ObjectAccess::state(ReadTransaction& transaction, unsigned target) const
{
    const KeyBuffer key = container_key(container);
    Bytes value;
    Bytes body;
    const bool there = transaction.get(key.view(), value);
    const bool sound = there && unseal(key.view(), value, body);
    if (sound && body.size() == 8) [[likely]]
        return {load_little<std::uint64_t>(body.data())};
    Epoch newest = 0;
    std::optional<PendingNote> note;
    if (sound && decode_mark(body, newest, note) && note)
        throw MetPending(where(target), target, container, *note);
    if (there || damage_at_miss(transaction, key.view()) != nullptr) {
        fail_damaged(where(target) + ": the container's record on this target" +
                     (there ? "" : ", or one beside it,") + " is damaged");
    }
    fail(DER_NONEXIST, "pool " + path + ": this container was destroyed; close the handle");
}

void ObjectAccess::require_epoch(ReadTransaction& transaction, unsigned target, Epoch epoch) const
{
    if (const std::uint64_t version = transaction.version(); !opened_.holds(target, version)) {
        state(transaction, target);
        opened_.note(target, version);
    }
    if (epoch == latest) return;
    Bytes body;
    if (!get_sealed(transaction, snapshot_key(container, epoch).view(), body, where(target))) {
        fail(DER_NONEXIST, "pool " + path + ": this container has no snapshot at epoch " +
                               std::to_string(epoch) + ": list its snapshots");
    }
}

bool ObjectAccess::find_single(unsigned target, ReadTransaction& transaction, Kind kind, Epoch epoch,
                               Record& record, const char* what) const
{
    KeyBuffer key = prefix(Space::live, kind);
    Bytes value;
    bool there = transaction.get(key.view(), value);
    const char* reason =
        there ? parse_record(key.view(), value, record) : damage_at_miss(transaction, key.view());
    if (reason == nullptr && epoch != latest && (!there || record.birth > epoch)) {
        const KeyBuffer versions = prefix(Space::history, kind);
        key = versions;
        key.add(epoch + 1);
        Entry entry;
        there = transaction.seek_in(versions.view(), key.view(), entry);
        if (there) reason = parse_record(entry.key, entry.value, record);
        there = there && (reason != nullptr || record.birth <= epoch);
        if (!there) reason = damage_at_miss(transaction, key.view());
    }
    if (reason != nullptr) damaged(target, what, reason);
    return there;
}

void ObjectAccess::update(const ReplicaSet& set, std::span<Appended> appended, UpdateBody body) const
{
    std::array<std::vector<ExtentRef>, max_replicas> released; // by the run of `body` that is going on
    std::array<std::vector<ExtentRef>, max_replicas> dropped;  // by those that committed
    const auto run = [&](std::span<WriteTransaction* const> transactions) {
        for (auto& of_copy : released)
            of_copy.clear();
        for (Appended& one : appended)
            one.renew();
        body(transactions, released);
        for (const Appended& one : appended)
            one.entering();
        for (unsigned copy = 0; copy < set.count; ++copy)
            leave_all(target(set.targets[copy]), released[copy]);
    };
    const auto committed = [&](std::size_t copy) {
        dropped[copy].insert(dropped[copy].end(), released[copy].begin(), released[copy].end());
        if (!appended.empty()) appended[copy].keep();
    };
    const auto give_back = [&] {
        for (unsigned copy = 0; copy < set.count; ++copy)
            release_all(target(set.targets[copy]), dropped[copy]);
    };
    for (unsigned copy = 0; copy < set.count; ++copy)
        target_to_write(set.targets[copy]); // must be the right one before it is written
    try {
        past_pending(core, [&] {
            write_nested(core.storage(), std::span(set.targets).first(set.count), run, committed);
        });
    } catch (...) {
        give_back();
        throw;
    }
    give_back();
}

std::string ObjectAccess::where(unsigned target) const
{
    return "pool " + path + ", target " + std::to_string(target) + ", " + opened_.name + ", object " +
           text(oid);
}

void ObjectAccess::damaged(unsigned target, const std::string& what, const char* reason) const
{
    fail(DER_CSUM, where(target) + ", " + what + ": " + reason +
                       ". The stored bytes are damaged: write this again or remove it. A check of the pool "
                       "says what can be saved");
}

void ObjectAccess::unread(unsigned target, const std::string& what, Unread why) const
{
    if (why == Unread::damaged)
        damaged(target, what, "the checksum of its bulk extent does not match, or its bytes are missing");
    fail(DER_AGAIN, where(target) + ", " + what +
                        ": others replaced it again and again while it was read. Read it again, or at a "
                        "snapshot");
}

bool needed(ReadTransaction& transaction, std::uint32_t container, const ContainerState& state, Epoch birth,
            Epoch death)
{
    if (state.newest_snapshot < birth) return false;
    if (state.newest_snapshot < death) return true;
    const KeyBuffer first = snapshot_key(container, birth);
    Entry entry;
    const KeyBuffer snapshots = container_prefix(Space::snapshot, container);
    const bool there = transaction.seek_in(snapshots.view(), first.view(), entry) &&
                       entry.key.size() == first.size() &&
                       load_big<std::uint64_t>(entry.key.data() + 5) < death;
    // Where a damaged one may have been such a snapshot, what it would need is kept.
    return there || damage_at_miss(transaction, first.view()) != nullptr;
}

KeyBuffer history_key(Bytes live_key, Epoch death)
{
    KeyBuffer key(Space::history);
    key.add(live_key.subspan(1, kind_prefix_size - 1));
    const Bytes place = live_key.subspan(kind_prefix_size);
    if (static_cast<Kind>(live_key[object_prefix_size]) == Kind::keyvalue)
        key.add_escaped(place);
    else
        key.add(place);
    return key.add(death);
}

void retire(WriteTransaction& transaction, std::uint32_t container, const ContainerState& state,
            Bytes live_key, Bytes value, const Record* record, Epoch death, std::vector<ExtentRef>& released)
{
    const bool damaged = record == nullptr;
    if (!needed(transaction, container, state, damaged ? unknown_birth : record->birth, death)) {
        if (!damaged && record->type == RecordType::bulk) released.push_back(record->extent);
        return;
    }
    const KeyBuffer key = history_key(live_key, death);
    if (damaged) return transaction.put(key.view(), lost_record(key.view(), value));
    auto* kept = of_thread<std::vector<std::byte>, struct Copy>();
    std::vector<std::byte> own; // at exit
    auto& copy = kept != nullptr ? *kept : own;
    copy.assign(value.begin(), value.end());
    put_back(transaction, key.view());
    rekey(key.view(), copy);
    transaction.put(key.view(), copy);
}

Appended::~Appended()
{
    if (target_ == nullptr || kept_) return;
    try {
        target_->release(all_);
    } catch (const Error&) { // nothing refers to it: check finds it and gives it back
    }
}

void leave_all(Target& target, const std::vector<ExtentRef>& extents)
{
    for (const ExtentRef& extent : extents)
        target.leaving(extent);
}

void release_all(Target& target, const std::vector<ExtentRef>& extents)
{
    for (const ExtentRef& extent : extents) {
        try {
            target.release(extent);
        } catch (const Error&) { // the update is done; check finds what could not be given back
        }
    }
}

void write_in_batches(PoolCore& core, unsigned index, const KeyBuffer& first, BatchBody batch)
{
    Target& target = core.target(index);
    std::vector<std::byte> from(first.view().begin(), first.view().end());
    for (bool done = false; !done;) {
        std::vector<ExtentRef> released;
        std::vector<std::byte> next;
        past_pending(core, [&] {
            target.write([&](WriteTransaction& transaction) {
                released.clear();
                next = from;
                done = batch(transaction, next, released);
                leave_all(target, released);
            });
        });
        from = next;
        release_all(target, released);
    }
}

} // namespace stepstore::store

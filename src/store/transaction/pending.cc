// Notes of transactions on several targets: how they are put, read past, and settled (pending.h).
#include "store/transaction/pending.h"

#include "store/failure.h"
#include "store/object.h"
#include "store/transaction/recorded.h"

#include <set>

namespace stepstore::store {

namespace {

KeyBuffer undo_key(std::uint32_t container, std::uint32_t number)
{
    return container_prefix(Space::undo, container).add(number);
}

KeyBuffer decision_key(std::uint32_t container, const PendingNote& note)
{
    return container_prefix(Space::decision, container).add(note.epoch).add(note.random);
}

// The mark as it is without a note, and the note. False: there is no mark.
bool read_mark(ReadTransaction& transaction, const std::string& path, unsigned target,
               std::uint32_t container, ContainerState& state, std::optional<PendingNote>& note)
{
    const KeyBuffer key = container_key(container);
    Bytes value, body;
    note.reset();
    if (!transaction.get(key.view(), value)) return false;
    if (!unseal(key.view(), value, body) || !decode_mark(body, state.newest_snapshot, note)) {
        fail_damaged("pool " + path + ", target " + std::to_string(target) +
                     ": the container's record on this target is damaged");
    }
    return true;
}

struct Copy {
    OwnedBytes key;
    std::optional<OwnedBytes> value;
};
std::vector<Copy> copies_on(ReadTransaction& transaction, const std::string& path, unsigned target,
                            std::uint32_t container, const PendingNote& note)
{
    std::vector<Copy> all;
    const KeyBuffer prefix = container_prefix(Space::undo, container);
    Entry entry;
    for (bool more = transaction.seek_in(prefix.view(), prefix.view(), entry);
         more && starts_with(entry.key, prefix.view()); more = transaction.next(entry)) {
        Bytes body;
        UndoRecord one;
        if (!unseal(entry.key, entry.value, body) || !decode_undo(body, one)) break;
        all.push_back({owned(one.key), one.value ? std::optional(owned(*one.value)) : std::nullopt});
    }
    if (all.size() != note.copies) {
        fail_damaged("pool " + path + ", target " + std::to_string(target) +
                     ": a transaction was not finished, and a record of what it replaced is damaged");
    }
    return all;
}

Target& leader_of(PoolCore& core, const PendingNote& note)
{
    if (note.leader >= core.storage().targets())
        fail_damaged("pool " + core.path() + ": the note of a transaction names a target that there is not");
    return core.target(static_cast<unsigned>(note.leader));
}

// The other targets. nullopt: it is not decided.
std::optional<std::vector<unsigned>> decision_on(ReadTransaction& leader, PoolCore& core,
                                                 std::uint32_t container, const PendingNote& note)
{
    Bytes body;
    const std::string where = "pool " + core.path() + ", target " + std::to_string(note.leader);
    if (!get_sealed(leader, decision_key(container, note).view(), body, where)) return std::nullopt;
    std::vector<unsigned> others;
    for (; body.size() >= 8; body = body.subspan(8)) {
        const auto other = load_little<std::uint64_t>(body.data());
        if (other >= core.storage().targets())
            fail_damaged(where + ": the decision of a transaction is damaged");
        others.push_back(static_cast<unsigned>(other));
    }
    return others;
}

void add_extent(Bytes key, Bytes value, std::vector<ExtentRef>& extents)
{
    Record record;
    if (parse_record(key, value, record) == nullptr && record.type == RecordType::bulk)
        extents.push_back(reservation_of(record.extent));
}

// What `gone` takes, and `kept` does not.
std::vector<ExtentRef> without(const std::vector<ExtentRef>& gone, std::vector<ExtentRef> kept)
{
    const auto place = [](const ExtentRef& one) { return std::pair(one.file, one.offset); };
    std::ranges::sort(kept, {}, place);
    std::vector<ExtentRef> left;
    for (const ExtentRef& one : gone) {
        std::uint64_t at = one.offset;
        const std::uint64_t end = one.offset + one.length;
        for (const ExtentRef& keep : kept) {
            if (keep.file != one.file || keep.offset + keep.length <= at || keep.offset >= end) continue;
            if (keep.offset > at) left.push_back({one.file, at, keep.offset - at});
            at = keep.offset + keep.length;
        }
        if (at < end) left.push_back({one.file, at, end - at});
    }
    return left;
}

// Ends what the note on one target tells of.
void drop_note(PoolCore& core, unsigned index, std::uint32_t container, const PendingNote& note, bool decided)
{
    Target& target = core.target(index);
    std::vector<ExtentRef> released;
    target.write([&](WriteTransaction& transaction) {
        released.clear();
        ContainerState state;
        std::optional<PendingNote> there;
        if (!read_mark(transaction, core.path(), index, container, state, there)) return;
        if (!there || !there->is_of(note)) return; // others were faster
        std::vector<ExtentRef> before, after;
        for (const Copy& copy : copies_on(transaction, core.path(), index, container, *there)) {
            Bytes now;
            if (transaction.get(copy.key, now)) add_extent(copy.key, now, after);
            if (copy.value) add_extent(copy.key, *copy.value, before);
            if (decided) continue;
            if (copy.value)
                transaction.put(copy.key, *copy.value);
            else
                transaction.erase(copy.key);
        }
        for (std::uint32_t number = 0; number < there->copies; ++number)
            transaction.erase(undo_key(container, number).view());
        put_state(transaction, container, state);
        released = decided ? without(before, after) : without(after, before);
        leave_all(target, released);
    });
    release_all(target, released);
}

} // namespace

MetPending::MetPending(const std::string& where, unsigned target, std::uint32_t container,
                       const PendingNote& note)
    : Error(-DER_TX_BUSY, where + ": a transaction is being committed, or its process was killed: try again"),
      target(target), container(container), note(note)
{
}

bool decode_mark(Bytes body, Epoch& newest_snapshot, std::optional<PendingNote>& note)
{
    note.reset();
    if (body.size() != 8 && body.size() != 40) return false;
    const auto number = [&](std::size_t at) { return load_little<std::uint64_t>(body.data() + 8 * at); };
    newest_snapshot = number(0);
    if (body.size() == 40) note = PendingNote{number(1), number(2), number(3), number(4)};
    return true;
}

void require_no_note(ReadTransaction& transaction, const std::string& path, unsigned target,
                     std::uint32_t container)
{
    ContainerState state;
    std::optional<PendingNote> note;
    if (read_mark(transaction, path, target, container, state, note) && note)
        throw MetPending("pool " + path, target, container, *note);
}

bool decode_undo(Bytes body, UndoRecord& record)
{
    BodyReader reader(body);
    record.key = reader.bytes();
    const std::uint64_t there = reader.number();
    const Bytes value = reader.bytes();
    record.value.reset();
    if (there == 1) record.value = value;
    return reader.complete() && there <= 1 && !record.key.empty() &&
           record.key.size() <= ReadTransaction::max_key;
}

void read_under(PoolCore& core, const MetPending& met, FunctionRef<void(ReadTransaction&)> body)
{
    constexpr int most_met = 1000; // in a row
    PendingNote note = met.note;
    for (int round = 0;; ++round) {
        bool decided = false;
        leader_of(core, note).read([&](ReadTransaction& leader) {
            decided = decision_on(leader, core, met.container, note).has_value();
        });
        try {
            // Not decided then, so the state before was right at that moment, at which the note was there.
            return core.target(met.target).read([&](ReadTransaction& now) {
                Changes before;
                ContainerState state;
                std::optional<PendingNote> there;
                if (read_mark(now, core.path(), met.target, met.container, state, there) && there &&
                    there->is_of(note)) {
                    std::byte mark[8];
                    store_little(mark, state.newest_snapshot);
                    Looks::All looks;
                    Recorded shown(now, before, looks);
                    put_sealed(shown, container_key(met.container).view(), mark);
                    for (const Copy& copy : copies_on(now, core.path(), met.target, met.container, *there)) {
                        if (decided) break;
                        if (copy.value)
                            shown.put(copy.key, *copy.value);
                        else
                            before.erase(copy.key);
                    }
                }
                Looks::All looks;
                Recorded shown(now, before, looks);
                body(shown);
            });
        } catch (const MetPending& other) { // the next one
            if (round == most_met || other.target != met.target || other.container != met.container) throw;
            note = other.note;
        }
    }
}

bool settle(PoolCore& core, const MetPending& met)
{
    Target& leader = leader_of(core, met.note);
    leader.write([](WriteTransaction&) {}); // the owner's turn is over
    std::optional<std::vector<unsigned>> others;
    leader.read([&](ReadTransaction& transaction) {
        others = decision_on(transaction, core, met.container, met.note);
    });
    if (others)
        finish(core, met.container, met.note, *others);
    else
        drop_note(core, met.target, met.container, met.note, false);
    return others.has_value();
}

void settle_all(PoolCore& core, std::uint32_t container)
{
    if (core.storage().has_barriers()) return; // there are none
    for (unsigned index = 0; index < core.storage().targets(); ++index) {
        try {
            past_pending(core, [&] {
                core.target(index).read([&](ReadTransaction& transaction) {
                    require_no_note(transaction, core.path(), index, container);
                });
            });
        } catch (const Error& error) { // check reports it
            if (!is_damage(error)) throw;
        }
    }
}

void settle_all(PoolCore& core)
{
    std::set<std::uint32_t> containers;
    core.storage().meta().read([&](ReadTransaction& meta) {
        const KeyBuffer prefix = meta_key(MetaSpace::container);
        Entry entry;
        for (bool more = meta.seek_in(prefix.view(), prefix.view(), entry);
             more && starts_with(entry.key, prefix.view()); more = meta.next(entry))
            if (entry.key.size() == 5) containers.insert(load_big<std::uint32_t>(entry.key.data() + 1));
    });
    for (const std::uint32_t container : containers)
        settle_all(core, container);
}

void put_pending(WriteTransaction& target, std::uint32_t container, const Changes& changes, PendingNote note)
{
    std::uint32_t number = 0;
    for (const auto& [key, value] : changes.all()) {
        Bytes old;
        const bool there = target.get(key, old);
        BodyWriter copy;
        copy.bytes(key).number(there ? 1 : 0).bytes(there ? old : Bytes());
        put_sealed(target, undo_key(container, number++).view(), copy.view());
        if (value)
            target.put(key, *value);
        else
            target.erase(key);
    }
    const KeyBuffer mark = container_key(container);
    Bytes value, body;
    if (!target.get(mark.view(), value) || !unseal(mark.view(), value, body) || body.size() != 8)
        fail_damaged("a container's record on a target is damaged"); // it was looked at before
    BodyWriter noted;
    noted.number(load_little<std::uint64_t>(body.data()));
    noted.number(note.leader).number(note.epoch).number(note.random).number(number);
    put_sealed(target, mark.view(), noted.view());
}

void put_decision(WriteTransaction& leader, std::uint32_t container, const PendingNote& note,
                  std::span<const unsigned> others)
{
    BodyWriter body;
    for (const unsigned other : others)
        body.number(other);
    put_sealed(leader, decision_key(container, note).view(), body.view());
}

void finish(PoolCore& core, std::uint32_t container, const PendingNote& note,
            std::span<const unsigned> others)
{
    for (const unsigned other : others)
        drop_note(core, other, container, note, true);
    leader_of(core, note).write([&](WriteTransaction& transaction) {
        erase_sealed(transaction, decision_key(container, note).view());
    });
}

} // namespace stepstore::store

// The check of a target's records: each is intact, lies in its place, and belongs to what meta knows.
#include "store/akeys/akeys.h"
#include "store/check/check.h"

#include "store/failure.h"
#include "store/removal.h"

#include <algorithm>

namespace stepstore::store {

namespace {

// What two copies of a record have in common.
struct CopySeen {
    bool there = false, intact = false;
    Epoch birth = 0;
    std::uint64_t length = 0, sum = 0;
    std::vector<std::byte> sums;

    CopySeen() = default;
    explicit CopySeen(const Record& record)
        : there(true), intact(true), birth(record.birth), length(record.length), sum(record.payload_sum),
          sums(record.sums.begin(), record.sums.end())
    {
    }
    bool operator==(const CopySeen&) const = default;
};

CopySeen look_at_copy(ReadTransaction& transaction, Bytes key)
{
    CopySeen seen;
    Bytes value;
    Record record;
    if (!transaction.get(key, value)) return seen;
    if (parse_record(key, value, record) == nullptr) return CopySeen(record);
    seen.there = true;
    return seen;
}

} // namespace

// What one walk over a target's index collects.
struct Check::TargetWalk {
    std::map<std::uint32_t, Epoch> states; // containers that exist on this target, with their newest snapshot
    std::set<std::pair<std::uint32_t, Epoch>> snapshots;
    std::set<std::uint32_t> containers_of_records;
    std::vector<ExtentRef> references;
    std::vector<ExtentRef>
        replaced; // what records refer to that a transaction has replaced, and may put back
    std::set<std::pair<std::uint32_t, Epoch>> pending; // containers with a note, by its epoch
    std::uint64_t unneeded = 0;                        // history that no snapshot needs
    // Records of which another target has a copy. They are compared after the walk. Threads that read two
    // targets at once, each in an order of its own, could wait for each other in a circle while maps grow.
    struct Copied {
        std::vector<std::byte> key;
        CopySeen mine;
    };
    std::map<unsigned, std::vector<Copied>> copied; // by the other target
    struct Damaged {
        std::vector<std::byte> key;
        const char* reason;
    };
    std::vector<Damaged> damaged;
    std::map<std::pair<std::uint32_t, ObjectId>, Epoch> removals; // that go on, by the epoch of their note
    // Chunks of arrays under akeys: those that the object at hand describes, and those that none does.
    struct Chunk {
        std::uint32_t container;
        ObjectId oid;
        std::uint64_t number;
        std::pair<std::uint32_t, ObjectId> object() const { return {container, oid}; }
        auto operator<=>(const Chunk&) const = default;
    };
    std::set<Chunk> described, left_over;
    bool all_described = true;
    // The live extent before, to see whether the next one begins after it.
    std::vector<std::byte> chunk_prefix;
    std::uint64_t end = 0;
};

void Check::check_target(unsigned index)
{
    Target& target = storage_.target(index);
    bool sound = true;
    for (const std::string& damage : target.check()) {
        sound = false;
        find(Severity::damage, target_name(index), damage,
             "damaged records are listed below, the others can be read; put the target back from a copy");
    }
    if (header_good_) {
        try {
            target.read([&](ReadTransaction& transaction) {
                verify_target_header(transaction, storage_.path(), uuid_, index);
            });
        } catch (const Error& error) {
            if (!says_damage(error)) throw;
            find(Severity::damage, target_name(index), error.what(),
                 "the pool cannot be opened until this is repaired: put the target back from a copy");
        }
    }
    // A process that was killed as it committed may have an update that readers do not see before the next
    // writer comes (reading.h). What it refers to must not be given back.
    if (options_.repair) target.write([](WriteTransaction&) {});
    // The files first: what a file that nobody appends to holds now was referred to before now, if ever.
    const std::vector<Target::ExtentFile> files = target.extent_files();
    TargetWalk walked;
    const CheckReport before = report_;
    target.read([&](ReadTransaction& transaction) {
        walked = {};
        report_ = before;
        walk(index, transaction, walked);
    });
    check_damaged(index, walked);
    check_removals(index, walked);
    if (sound) check_left_over(index, walked);
    for (const auto& [other, records] : walked.copied) {
        std::vector<Bytes> suspects;
        storage_.target(other).read([&](ReadTransaction& transaction) {
            suspects.clear();
            for (const auto& [key, mine] : records)
                if (!(look_at_copy(transaction, key) == mine)) suspects.emplace_back(key);
        });
        for (const Bytes key : suspects) {
            ParsedKey parsed;
            const bool going =
                parse_key(key, parsed) && half_removed_.contains({parsed.container, parsed.oid});
            if (!going) check_copy(index, other, key); // else one copy is removed before the other
        }
    }
    check_pending(index, walked);
    check_snapshots(index, walked);
    check_strangers(index, walked);
    if (walked.unneeded != 0) {
        find(Severity::reclaimable, target_name(index),
             std::to_string(walked.unneeded) +
                 " replaced versions are kept that no snapshot needs: the making or the removal of a "
                 "snapshot was interrupted",
             "the removal of any snapshot of their container drops them");
    }
    check_extents(index, files, walked.references, walked.replaced);
}

void Check::walk(unsigned index, ReadTransaction& transaction, TargetWalk& walk)
{
    Entry entry;
    const std::byte lowest{};
    KeyBuffer at;
    for (bool more = transaction.seek({&lowest, 1}, entry); more;) {
        at.truncate(0);
        const bool fits = entry.key.size() < KeyBuffer::capacity;
        at.add(entry.key.first(std::min(entry.key.size(), KeyBuffer::capacity - 1)));
        if (const ExtentRef kept = transaction.value_extent(); kept.length != 0)
            walk.references.push_back(kept);
        walk_record(index, transaction, walk, entry);
        // Looking at other records moved the position: go on after this one.
        if (fits)
            at.add(std::uint8_t{0});
        else if (!at.make_successor())
            return;
        more = transaction.seek(at.view(), entry);
    }
}

void Check::walk_record(unsigned index, ReadTransaction& transaction, TargetWalk& walk, const Entry& entry)
{
    const auto space = static_cast<Space>(entry.key[0]);
    Bytes body;
    switch (space) {
    case Space::header:
        if (entry.key.size() != 1) {
            walk.damaged.push_back(
                {{entry.key.begin(), entry.key.end()}, "no record of a pool has such a key"});
        }
        return; // else verified before
    case Space::container:
    case Space::snapshot:
        if (!unseal(entry.key, entry.value, body) ||
            entry.key.size() != (space == Space::container ? 5U : 13U)) {
            find(Severity::damage, target_name(index) + ", record " + quoted(entry.key),
                 "its checksum does not match",
                 "the container cannot be used on this target: put the target back from a copy");
            return;
        }
        if (equal(entry.key, last_marked_key().view())) return;
        if (space == Space::container) {
            const auto container = load_big<std::uint32_t>(entry.key.data() + 1);
            std::optional<PendingNote> note;
            decode_mark(body, walk.states[container], note);
            if (note) walk.pending.emplace(container, note->epoch);
        } else {
            walk.snapshots.emplace(load_big<std::uint32_t>(entry.key.data() + 1),
                                   load_big<std::uint64_t>(entry.key.data() + 5));
        }
        return;
    case Space::undo:
    case Space::decision:
        if (!unseal(entry.key, entry.value, body)) {
            find(Severity::damage, target_name(index) + ", record " + quoted(entry.key),
                 "its checksum does not match",
                 "it belongs to a transaction that is not finished, which cannot be taken back here: "
                 "put the target back from a copy");
        } else if (space == Space::undo) {
            UndoRecord undo;
            Record record;
            if (decode_undo(body, undo) && undo.value &&
                parse_record(undo.key, *undo.value, record) == nullptr && record.type == RecordType::bulk)
                walk.replaced.push_back(record.extent);
        }
        return;
    case Space::live:
    case Space::history: break;
    default:
        find(Severity::damage, target_name(index) + ", record " + quoted(entry.key),
             "no record of a pool has such a key",
             "the key was damaged, or another program wrote here; put the target back from a copy");
        return;
    }
    ParsedKey parsed;
    Record record;
    const char* reason = parse_entry(entry, parsed, record);
    if (reason == nullptr && record.type == RecordType::inlined && options_.data && !payload_intact(record))
        reason = "the checksum of the value does not match";
    if (reason == nullptr && parsed.kind == Kind::array && record.length > parsed.end)
        reason = "the extent begins before its chunk";
    std::optional<Removal> removal;
    if (reason == nullptr && parsed.kind == Kind::removal) reason = parse_note(record, removal);
    if (reason != nullptr) {
        walk.damaged.push_back({{entry.key.begin(), entry.key.end()}, reason});
        return;
    }
    if (removal && space == Space::live) walk.removals[{parsed.container, parsed.oid}] = removal->epoch;
    ++report_.records;
    report_.bytes += record.length;
    if (parsed.kind != Kind::removal) objects_.emplace(parsed.container, parsed.oid);
    walk.containers_of_records.insert(parsed.container);
    if (record.type == RecordType::bulk) {
        ++report_.extents;
        walk.references.push_back(record.extent);
    }
    if (space == Space::history) {
        const auto state = walk.states.find(parsed.container);
        const Epoch newest = state == walk.states.end() ? 0 : state->second;
        if (!needed(transaction, parsed.container, {newest}, record.birth, parsed.death)) ++walk.unneeded;
        return;
    }
    check_place(index, walk, parsed, record, entry);
    check_overlap(index, walk, parsed, record);
}

// Repair puts back what lies under a key of which one byte was changed.
void Check::check_damaged(unsigned index, const TargetWalk& walk)
{
    for (const auto& [key, reason] : walk.damaged) {
        bool repaired = false;
        if (options_.repair) {
            storage_.target(index).write(
                [&, &key = key](WriteTransaction& transaction) { repaired = put_back(transaction, key); });
        }
        if (repaired) {
            find(Severity::info, record_name(index, key),
                 "one byte of its key was damaged; the repair restored it", "");
        } else {
            find(Severity::damage, record_name(index, key), reason,
                 "a check with repair restores it if only one byte of its key changed. Otherwise this record "
                 "is lost: write it again, or remove it. All other records stay readable");
        }
    }
}

void Check::check_removals(unsigned index, const TargetWalk& walk)
{
    for (const auto& [object, epoch] : walk.removals) {
        if (!meta_.containers.contains(object.first)) continue; // found elsewhere
        const KeyBuffer key = kind_prefix(Space::live, object.first, object.second, Kind::removal);
        const bool goes_on = confirmed([&, epoch = epoch] {
            return look_at(storage_.target(index), [&](ReadTransaction& transaction) {
                Bytes value;
                Record record;
                std::optional<Removal> now;
                return transaction.get(key.view(), value) &&
                       parse_record(key.view(), value, record) == nullptr &&
                       parse_note(record, now) == nullptr && now && now->epoch == epoch;
            });
        });
        if (!goes_on || !half_removed_.insert(object).second) continue;
        find(Severity::reclaimable, record_name(index, key.view()),
             "the object is being removed, or an array is being made shorter: the process that does it is at "
             "work, or it was killed",
             "readers see it as done. If it was killed, a check with repair finishes it, or the next process "
             "that writes to the object or makes it anew");
    }
}

// With repair all that were there at its begin are settled.
void Check::check_pending(unsigned index, const TargetWalk& walk)
{
    for (const auto& [container, epoch] : walk.pending) {
        const bool still = confirmed([&, container = container, epoch = epoch] {
            return look_at(storage_.target(index), [&](ReadTransaction& transaction) {
                Bytes value, body;
                Epoch newest = 0;
                std::optional<PendingNote> note;
                const KeyBuffer key = container_key(container);
                return transaction.get(key.view(), value) && unseal(key.view(), value, body) &&
                       decode_mark(body, newest, note) && note && note->epoch == epoch;
            });
        });
        if (!still) continue;
        find(Severity::reclaimable, target_name(index) + ", " + container_name(container),
             "a transaction was not finished: its process is at work, or it was killed",
             "readers see all of it or nothing; the next process that writes to the container on this target "
             "finishes it or takes it back, and so does a check with repair");
    }
}

// Is the record on a target where its key belongs? Remembers what must be compared with another copy.
void Check::check_place(unsigned index, TargetWalk& walk, const ParsedKey& parsed, const Record& record,
                        const Entry& entry)
{
    unsigned other = index;
    try {
        const Placement placement(parsed.container, parsed.oid, storage_.targets(),
                                  storage_.capabilities().keeps_copies);
        std::byte chunk[8];
        store_big(chunk, parsed.chunk);
        std::vector<std::byte> of_akey;
        Bytes dkey = parsed.kind == Kind::array ? Bytes(chunk)
                     : record.long_key.empty()  ? parsed.place
                                                : record.long_key;
        const bool akeys = has_akeys(parsed.oid);
        if (akeys && parsed.kind == Kind::keyvalue) {
            if (!dkey_of(dkey, of_akey)) fail(DER_CSUM, "its key is not one of a dkey and an akey");
            dkey = of_akey;
        }
        ReplicaSet set;
        bool here = false;
        const auto look = [&](unsigned group) {
            set = placement.group(group);
            const auto last = set.targets.begin() + set.count;
            here = std::find(set.targets.begin(), last, index) != last;
            return here;
        };
        if (parsed.kind == Kind::removal || (parsed.kind == Kind::array && akeys)) { // on any of the object
            for (unsigned group = 0; group < placement.groups() && !look(group); ++group) {
            }
        } else {
            look(parsed.kind == Kind::attributes ? 0 : placement.group_of(dkey));
        }
        for (unsigned copy = 0; copy < set.count; ++copy)
            if (set.targets[copy] != index) other = set.targets[copy];
        if (!here) {
            find(Severity::damage, record_name(index, entry.key),
                 "the record is on a target where it does not belong",
                 "it cannot be found there: the targets' files were mixed up; put them back in their places");
            return;
        }
        if (akeys) check_akey(walk, parsed, record);
        // Each target notes its own removals.
        if (set.count == 1 || parsed.kind == Kind::removal) return;
    } catch (const Error& error) {
        find(Severity::damage, record_name(index, entry.key), error.what(),
             "no object class holds such an object: the record is damaged, or another program wrote it");
        return;
    }
    walk.copied[other].push_back({{entry.key.begin(), entry.key.end()}, CopySeen(record)});
}

bool Check::holds(unsigned index, const KeyBuffer& key)
{
    return look_at(storage_.target(index), [&](ReadTransaction& transaction) {
        Bytes value;
        return transaction.get(key.view(), value);
    });
}

void Check::check_copy(unsigned index, unsigned other, Bytes key)
{
    CopySeen its;
    const auto look = [&](ReadTransaction& transaction) { return look_at_copy(transaction, key); };
    const bool differ = confirmed([&] {
        CopySeen mine;
        its = look_at(storage_.target(other), look);
        mine = look_at(storage_.target(index), look);
        return mine.there && mine.intact && (its.intact || !its.there) && !(mine == its);
    });
    // A damaged copy is reported where it lies, and two that differ once.
    if (!differ || (its.there && index > other)) return;
    find(Severity::info, record_name(index, key),
         "the copy on target " + std::to_string(other) + (its.there ? " is another version" : " is missing") +
             ": an update was interrupted between the two copies",
         "the update was never acknowledged; the copy on the lower target counts. Write the key again to "
         "align both");
}

// Extents of an array under an akey lie after the records of the object's akeys, one of which describes it.
void Check::check_akey(TargetWalk& walk, const ParsedKey& parsed, const Record& record)
{
    const TargetWalk::Chunk of_object{parsed.container, parsed.oid, 0};
    if (parsed.kind == Kind::array) {
        const TargetWalk::Chunk chunk{parsed.container, parsed.oid, parsed.chunk};
        if (!walk.described.contains(chunk)) walk.left_over.insert(chunk);
        return;
    }
    const Bytes whole = record.long_key.empty() ? parsed.place : record.long_key;
    SplitKey key;
    ArrayDescription array;
    if (!split(whole, key) || key.type != AkeyType::array) return;
    if (parse_description(record, array) != nullptr) {
        walk.all_described = false; // it may be what describes an array
        return;
    }
    if (!walk.described.empty() && walk.described.begin()->object() != of_object.object())
        walk.described.clear();
    walk.described.insert({parsed.container, parsed.oid, array.chunk});
}

// What a punch of an akey left whose process was killed.
void Check::check_left_over(unsigned index, const TargetWalk& walk)
{
    if (!walk.all_described || !walk.damaged.empty()) return; // what describes an array may be damaged
    for (const TargetWalk::Chunk& chunk : walk.left_over) {
        if (!meta_.containers.contains(chunk.container)) continue; // found elsewhere
        const KeyBuffer extents =
            kind_prefix(Space::live, chunk.container, chunk.oid, Kind::array).add(chunk.number);
        const bool there = confirmed([&] {
            return look_at(storage_.target(index), [&](ReadTransaction& transaction) {
                Entry entry;
                return transaction.seek_in(extents.view(), extents.view(), entry);
            });
        });
        if (!there) continue;
        find(Severity::reclaimable, record_name(index, KeyBuffer(extents).add(std::uint64_t{0}).view()),
             "extents of an array whose akey was punched are left: the process that removes them is at work, "
             "or it was killed",
             "no reader meets them; a check with repair removes them");
        left_over_.insert({chunk.container, chunk.oid, chunk.number});
    }
}

// Live extents of a chunk are in the order of their ends; none may begin before the end of the one before.
void Check::check_overlap(unsigned index, TargetWalk& walk, const ParsedKey& parsed, const Record& record)
{
    if (parsed.kind != Kind::array) return;
    const KeyBuffer prefix =
        kind_prefix(Space::live, parsed.container, parsed.oid, Kind::array).add(parsed.chunk);
    const bool same_chunk = equal(prefix.view(), walk.chunk_prefix);
    if (same_chunk && parsed.end - record.length < walk.end) {
        const KeyBuffer key = KeyBuffer(prefix).add(parsed.end);
        find(Severity::damage, record_name(index, key.view()),
             "the extent begins at byte " + std::to_string(parsed.end - record.length) +
                 ", before the end of the one before it (" + std::to_string(walk.end) + ")",
             "the content of their common range is uncertain: write that range again");
    }
    walk.chunk_prefix.assign(prefix.view().begin(), prefix.view().end());
    walk.end = parsed.end;
}

void Check::check_snapshots(unsigned index, const TargetWalk& walk)
{
    std::set<std::pair<std::uint32_t, Epoch>> differing;
    std::ranges::set_symmetric_difference(walk.snapshots, meta_.snapshots,
                                          std::inserter(differing, differing.end()));
    for (const auto& [id, epoch] : differing) {
        bool in_meta = false;
        bool here = false;
        const bool differ = confirmed([&, id = id, epoch = epoch] {
            MetaView now;
            read_meta(now, false);
            // Reported there.
            if (now.removing.contains({id, epoch}) || now.destroying.contains(id)) return false;
            in_meta = now.snapshots.contains({id, epoch});
            here = holds(index, snapshot_key(id, epoch));
            return in_meta != here;
        });
        if (!differ) continue;
        const std::string where =
            target_name(index) + ", " + container_name(id) + ", snapshot at epoch " + std::to_string(epoch);
        if (in_meta) {
            find(Severity::damage, where,
                 "the target does not know this snapshot: versions that it needs may be lost",
                 "only data that was not overwritten since the snapshot reads right; make a new snapshot");
        } else {
            find(Severity::reclaimable, where,
                 "the target keeps versions for a snapshot that was never finished",
                 "a newer snapshot of this container drops them, at the latest when it is removed; "
                 "a repair does so");
            unfinished_.insert(id);
        }
    }
}

// Containers that have records here, or a mark, and are not in meta.
void Check::check_strangers(unsigned index, const TargetWalk& walk)
{
    const auto still_here = [&](std::uint32_t id) {
        return look_at(storage_.target(index), [&](ReadTransaction& transaction) {
            return std::ranges::any_of(std::array{Space::live, Space::history}, [&](Space space) {
                const KeyBuffer prefix = container_prefix(space, id);
                Entry entry;
                return transaction.seek(prefix.view(), entry) && starts_with(entry.key, prefix.view());
            });
        });
    };
    for (const std::uint32_t id : walk.containers_of_records) {
        if (meta_.containers.contains(id) || meta_.destroying.contains(id)) continue;
        if (!confirmed([&] { return !container_known(id) && still_here(id); })) continue;
        find(Severity::damage, target_name(index) + ", container number " + std::to_string(id),
             "it has records, but the metadata does not know it",
             "the container's own record is damaged or lost: put the pool's metadata back from a copy");
    }
    for (const auto& [id, newest] : walk.states) {
        if (meta_.containers.contains(id) || meta_.destroying.contains(id) ||
            walk.containers_of_records.contains(id)) {
            continue;
        }
        if (container_known(id)) continue;
        find(Severity::info, target_name(index) + ", container number " + std::to_string(id),
             "the making of a container was interrupted",
             "nothing is lost; a check with repair removes the mark");
        never_made_.insert(id);
    }
    for (const auto& [id, record] : meta_.containers) {
        if (walk.states.contains(id)) continue;
        const bool missing = confirmed([&, id = id] {
            MetaView now;
            read_meta(now, false);
            return now.containers.contains(id) && !holds(index, container_key(id));
        });
        if (!missing) continue;
        find(Severity::damage, target_name(index) + ", " + container_name(id),
             "the target does not know this container: its record there is lost",
             "the container cannot be used on this target: put the target back from a copy");
    }
}

} // namespace stepstore::store

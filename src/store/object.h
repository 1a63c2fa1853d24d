// What the operations on key-value and array objects share: one object of one container, its targets, and the
// container's state on a target. Also how a replaced record moves into history or out of the store.
//
// Versions. A live record is what `latest` sees: born at the epoch in its header, not dead yet. An update
// that replaces it at epoch e asks whether a snapshot s with birth <= s < e exists. If so the record moves to
// history, with e in its key as the epoch of its death. If not it is gone, and its extent is released after
// the commit. So the store at a snapshot s is: live records with birth <= s, and history with birth <= s <
// death. Nothing else is ever needed, and no key has two records for the same s. History does not slow down
// `latest`.
//
// Threads: an OpenContainer may be shared; an ObjectAccess and an Appended are of one call. Errors:
// DER_NONEXIST for what was destroyed, DER_CSUM for damage, DER_AGAIN for what is replaced all the time.
#pragma once

#include "base/clock.h"
#include "base/not_copied.h"
#include "store/bulk.h"
#include "store/failure.h"
#include "store/keys.h"
#include "store/placement.h"
#include "store/pool_core.h"
#include "store/record.h"
#include "store/snapshot_names.h"
#include "store/transaction/pending.h"
#include "store/verify_miss.h"

#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace stepstore::store {

// On each target, for each container: it exists, and the epoch of its newest snapshot (0: none).
struct ContainerState {
    Epoch newest_snapshot = 0;
};
void put_state(WriteTransaction& target, std::uint32_t container, const ContainerState& state);

// What an open container knows of itself: its name for messages, and for each target the version at which it
// was last found to exist. A read of the same version need not look again. This saves a second search in the
// index, since most reads meet a target that nobody wrote to since the last read.
class OpenContainer {
public:
    OpenContainer(unsigned targets, std::string name) : name(std::move(name)), by_target_(targets) {}
    const std::string name; // "container LABEL"
    KnownNames snapshot_names;
    bool holds(unsigned target, std::uint64_t version) const
    {
        return version != 0 && by_target_[target].load(std::memory_order_relaxed) == version;
    }
    void note(unsigned target, std::uint64_t version)
    {
        by_target_[target].store(version, std::memory_order_relaxed);
    }
    // Whether an unfinished removal of the object was looked for within about a second, and not found.
    bool found_no_removal(const ObjectId& oid) const
    {
        const std::uint64_t now = looked_now(oid);
        return looked_for_removal_[now >> 56].load(std::memory_order_relaxed) == now;
    }
    void note_no_removal(const ObjectId& oid, bool none)
    {
        const std::uint64_t now = looked_now(oid);
        looked_for_removal_[now >> 56].store(none ? now : 0, std::memory_order_relaxed);
    }

private:
    // The object and the time in one word.
    static std::uint64_t looked_now(const ObjectId& oid)
    {
        constexpr std::uint64_t seconds = (std::uint64_t{1} << 24) - 1;
        const std::uint64_t sum = (oid.lo * 0x9e3779b97f4a7c15ULL ^ oid.hi) * 0xbf58476d1ce4e5b9ULL;
        return (sum & ~seconds) | ((nanoseconds(CLOCK_MONOTONIC_COARSE) >> 30) & seconds);
    }

    std::vector<std::atomic<std::uint64_t>> by_target_;
    std::array<std::atomic<std::uint64_t>, 256> looked_for_removal_{};
};

// Payloads as one target has them: appended, and given back unless a committed transaction refers to them.
class Appended : NotCopied {
public:
    ~Appended();
    // The memory of the payloads stays as it is until the update is done.
    void append(Target& target, std::vector<Payload> payloads)
    {
        payloads_ = std::move(payloads);
        all_ = target.append(payloads_);
        target_ = &target;
    }
    // At the begin of each run of a body that refers to it. What a run before has committed may have been
    // replaced by others, and released. So this run refers to a new extent.
    void renew()
    {
        if (target_ == nullptr) return;
        while (kept_ || !target_->holds(all_)) {
            kept_ = false;
            all_ = target_->append(payloads_);
        }
    }
    const ExtentRef& extent(std::size_t payload = 0) const { return payloads_[payload].extent; }
    void entering() const // before each commit of a transaction that refers to it
    {
        if (target_ != nullptr) target_->entering(all_);
    }
    void keep() { kept_ = true; } // a commit refers to it

private:
    Target* target_ = nullptr;
    std::vector<Payload> payloads_;
    ExtentRef all_; // one that spans them
    bool kept_ = false;
};

// At the end of a body: its transaction drops the last references to these.
void leave_all(Target& target, const std::vector<ExtentRef>& extents);
// Gives extents back that committed transactions no longer refer to.
void release_all(Target& target, const std::vector<ExtentRef>& extents);
// Runs `batch` in one transaction after the other until it returns true. It goes on from the key `from`,
// which it moves, and adds to `released` what its transaction drops the last reference to.
using BatchBody =
    FunctionRef<bool(WriteTransaction&, std::vector<std::byte>& from, std::vector<ExtentRef>& released)>;
void write_in_batches(PoolCore& core, unsigned index, const KeyBuffer& first, BatchBody batch);

class ObjectAccess {
public:
    ObjectAccess(PoolCore& core, std::uint64_t container, const ObjectId& oid, OpenContainer& opened);

    Target& target(unsigned index) const { return core.target(index); }
    Target& target_to_write(unsigned index) const { return core.target(index, true); }
    KeyBuffer prefix(Space space, Kind kind) const { return kind_prefix(space, container, oid, kind); }

    // The body is going to look at the container's state and at this record.
    void expect_with_state(ReadTransaction& transaction, Bytes key) const
    {
        const KeyBuffer state = container_key(container);
        const Bytes keys[] = {state.view(), key};
        transaction.expect(keys);
    }
    // The body is going to look at the state, at an array's attributes and at the latest removal.
    void expect_attributes(ReadTransaction& transaction) const
    {
        const KeyBuffer state = container_key(container);
        const KeyBuffer attributes = prefix(Space::live, Kind::attributes);
        const KeyBuffer removal = prefix(Space::live, Kind::removal);
        const Bytes keys[] = {state.view(), attributes.view(), removal.view()};
        transaction.expect(keys);
    }
    // The body is going to call require_epoch().
    void expect_epoch(ReadTransaction& transaction, Epoch epoch) const
    {
        if (epoch != latest) return expect_with_state(transaction, snapshot_key(container, epoch).view());
        const KeyBuffer state = container_key(container);
        const Bytes key = state.view();
        transaction.expect({&key, 1});
    }
    // The version at the epoch of the one record that the object has of this kind on a target (attributes,
    // removal). False: there is none. what: names it in messages.
    bool find_single(unsigned target, ReadTransaction& transaction, Kind kind, Epoch epoch, Record& record,
                     const char* what) const;
    // DER_NONEXIST when the container was destroyed.
    ContainerState state(ReadTransaction& transaction, unsigned target) const;
    // For reads. DER_NONEXIST when the container was destroyed, or `epoch` is neither `latest` nor a
    // snapshot.
    void require_epoch(ReadTransaction& transaction, unsigned target, Epoch epoch) const;
    // Runs `body` with a write transaction on each target of the set; the first one commits last. What `body`
    // adds to released[copy] is given back after that copy's commit, and appended[copy] is kept from then on.
    using UpdateBody =
        FunctionRef<void(std::span<WriteTransaction* const>, std::span<std::vector<ExtentRef>>)>;
    void update(const ReplicaSet& set, std::span<Appended> appended, UpdateBody body) const;

    // removal.h.
    bool found_no_removal() const { return opened_.found_no_removal(oid); }
    void note_no_removal(bool none) const { opened_.note_no_removal(oid, none); }

    std::string name() const { return "pool " + path + ", object " + text(oid); }
    std::string where(unsigned target) const; // pool, target, container, object
    [[noreturn]] void damaged(unsigned target, const std::string& what, const char* reason) const; // DER_CSUM
    // A bulk extent of `what` cannot be read. DER_CSUM; DER_AGAIN: others replace it all the time.
    [[noreturn]] void unread(unsigned target, const std::string& what, Unread why) const;
    // `what` is not there, but a damaged record beside its place (verify_miss.h) may be it.
    [[noreturn]] void damaged_beside(unsigned target, const std::string& what, const char* reason) const
    {
        damaged(target, "beside the place of " + what + ", which was not found", reason);
    }

    PoolCore& core;
    const std::string& path;
    const std::uint32_t container;
    const ObjectId oid;
    const Placement placement;

private:
    OpenContainer& opened_;
};

// Does a snapshot s with birth <= s < death exist?
bool needed(ReadTransaction& transaction, std::uint32_t container, const ContainerState& state, Epoch birth,
            Epoch death);
// The key in history of the record that has this live key.
KeyBuffer history_key(Bytes live_key, Epoch death);
// Takes a record out of the view `latest`: into history when it is needed, else its extent into `released`.
// The caller then erases or overwrites the live key. `record` and `value` are views and not valid afterwards.
// record: nullptr for a damaged one. Where a snapshot may need it, it goes to history as a lost one. So a
// read at that snapshot reports it as damaged and not as absent.
void retire(WriteTransaction& transaction, std::uint32_t container, const ContainerState& state,
            Bytes live_key, Bytes value, const Record* record, Epoch death, std::vector<ExtentRef>& released);

// Calls `each` with the records of one object on one target that are visible at the epoch, until it returns
// false.
void for_each_visible(const ObjectAccess& object, unsigned target, ReadTransaction& transaction, Epoch epoch,
                      FunctionRef<bool(const ParsedKey&, const Record&)> each);

inline constexpr Epoch unknown_birth = 1; // of a damaged record: whatever snapshot there is may need it

inline bool is_damage(const Error& error)
{
    return error.code() == -DER_CSUM;
}

// Reads from the first copy that is not damaged. `read` is called with a target.
template <class Read>
auto from_copies(const ReplicaSet& set, Read read)
{
    for (unsigned copy = 0; copy + 1 < set.count; ++copy) {
        try {
            return read(set.targets[copy]);
        } catch (const Error& error) {
            if (!is_damage(error)) throw;
        }
    }
    return read(set.targets[set.count - 1]);
}

// What `look` finds in one moment of the first copy of a group that is not damaged.
template <class Look>
auto look_at_copies(const ObjectAccess& object, unsigned group, Look look)
{
    return from_copies(object.placement.group(group), [&](unsigned index) {
        std::invoke_result_t<Look, unsigned, ReadTransaction&> found{};
        read_past(object.core, object.target(index),
                  [&](ReadTransaction& transaction) { found = look(index, transaction); });
        return found;
    });
}

} // namespace stepstore::store

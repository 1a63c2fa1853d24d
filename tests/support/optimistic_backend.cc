// A back end that runs bodies as one behind a network would: without a lock, on what can be read now. What a
// body reads is recorded as conditions, what it puts is kept aside. Then both go to the target as one update,
// which is carried out where every condition still holds, and else refused; then the body runs again.
// docs/design/store.md says how that becomes one operation of librados.
//
// 1. A condition is a look-up with its result. It is a key and its value, the first entry from a key on, the
//    last one before it, or that there is none. All of them are looked up again within the update.
// 2. An update with an epoch is refused where one with a greater epoch was carried out before. Epochs must
//    ascend on a target: else a snapshot could miss what came between its epoch and its mark. So the epoch
//    of a snapshot is a barrier on each target: what has an earlier one is refused from then on.
// 3. After some refusals in a row the body runs as the only writer, so that nobody starves.
//
// It lies over the back end `memory`. To show that bodies are repeatable, the first run of many counts for
// nothing. It sees the target as it was before its latest update, like a run that another process overtakes.
// Where STEPSTORE_BODIES_ARE_TESTS is defined, it sees what is: there the bodies say what they expect.
#include "base/clock.h"
#include "stepstore/error.h"
#include "store/builtin.h"
#include "support/forwarding.h"

#include <daos_errno.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::testing {
namespace {

using namespace stepstore::store;

constexpr int patience = 4; // refusals in a row
using Owned = std::vector<std::byte>;

Owned owned(Bytes bytes)
{
    return {bytes.begin(), bytes.end()};
}

struct Less {
    using is_transparent = void;
    bool operator()(Bytes a, Bytes b) const { return std::ranges::lexicographical_compare(a, b); }
};

using Changes = std::map<Owned, std::optional<Owned>, Less>; // nothing: erased

enum class Look : std::uint8_t { exactly, from, before };

struct Condition {
    Look look;
    Owned key;
    std::optional<std::pair<Owned, Owned>> found;
};

// What a body asks for, as it can be sent.
struct Update {
    std::vector<Condition> conditions;
    Changes changes;
    Epoch first_epoch = 0, last_epoch = 0; // that it took
};

bool look_up(ReadTransaction& transaction, Look look, Bytes key, Entry& entry)
{
    switch (look) {
    case Look::exactly: entry.key = key; return transaction.get(key, entry.value);
    case Look::from: return transaction.seek(key, entry);
    case Look::before: return transaction.seek_last(key, entry);
    }
    return false;
}

class Recorded;
thread_local std::vector<Recorded*> running; // bodies of this thread, outer ones first

class Recorded final : public WriteTransaction, public NetworkTransaction {
public:
    // changed: what it sees in another way than it is.
    Recorded(ReadTransaction& now, const std::atomic<Epoch>& last_epoch, Changes changed = {})
        : now_(now), last_epoch_(last_epoch)
    {
        update_.changes = std::move(changed);
        running.push_back(this);
    }
    ~Recorded() override { running.pop_back(); }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;

    Update& update() { return update_; }
    void took(Epoch epoch)
    {
        if (update_.first_epoch == 0) update_.first_epoch = epoch;
        update_.last_epoch = epoch;
    }

    bool take_barrier(Epoch epoch) override
    {
        if (last_epoch_ >= epoch) return false;
        took(epoch);
        return true;
    }
    Epoch seen() override { return last_epoch_; }
    void expect(std::span<const Bytes>) override {}
    void expect_from(Bytes, Bytes, std::size_t) override {}
    bool seek_in(Bytes prefix, Bytes key, Entry& entry) override
    {
        return seek(key, entry) && begins_with(entry.key, prefix);
    }
    bool seek_last_in(Bytes prefix, Bytes key, Entry& entry) override
    {
        return seek_last(key, entry) && begins_with(entry.key, prefix);
    }
    const Capabilities& capabilities() const override { return now_.capabilities(); }
    std::uint64_t version() const override { return 0; }
    ExtentRef value_extent() const override { return {}; }
    NetworkTransaction* network() override { return this; }
    bool get(Bytes key, Bytes& value) override
    {
        if (const auto mine = update_.changes.find(key); mine != update_.changes.end()) {
            if (mine->second) value = *mine->second;
            return mine->second.has_value();
        }
        Entry entry;
        if (!recorded(Look::exactly, key, entry)) return false;
        value = entry.value;
        return true;
    }
    bool seek(Bytes key, Entry& entry) override { return give(first_from(owned(key)), entry); }
    bool seek_last(Bytes key, Entry& entry) override { return give(last_before(owned(key)), entry); }
    bool next(Entry& entry) override
    {
        if (position_.empty()) return false;
        Owned behind = position_;
        behind.push_back({});
        return give(first_from(std::move(behind)), entry);
    }
    bool previous(Entry& entry) override { return !position_.empty() && give(last_before(position_), entry); }

    void put(Bytes key, Bytes value) override
    {
        const Owned copy = owned(value); // it may lie in what is replaced
        std::ranges::copy(copy, reserve(key, copy.size()).begin());
    }
    MutableBytes reserve(Bytes key, std::size_t length) override
    {
        if (key.empty() || key.size() > max_key) throw Error(-DER_INVAL, "a key that is not possible");
        return update_.changes[owned(key)].emplace(length);
    }
    bool erase(Bytes key) override
    {
        Bytes value;
        if (!get(key, value)) return false;
        update_.changes[owned(key)].reset();
        return true;
    }

private:
    using Found = std::optional<Entry>;

    bool recorded(Look look, Bytes key, Entry& entry)
    {
        const bool there = look_up(now_, look, key, entry);
        auto& one = update_.conditions.emplace_back(Condition{look, owned(key), {}});
        if (there) one.found.emplace(owned(entry.key), owned(entry.value));
        return there;
    }
    Found first_from(Owned key)
    {
        auto mine = update_.changes.lower_bound(key);
        for (Entry entry; recorded(Look::from, key, entry); key = owned(entry.key), key.push_back({})) {
            while (mine != update_.changes.end() && Less()(mine->first, entry.key)) {
                if (mine->second) return Entry{mine->first, *mine->second};
                ++mine;
            }
            const auto changed = update_.changes.find(entry.key);
            if (changed == update_.changes.end()) return entry;
            if (changed->second) return Entry{changed->first, *changed->second};
        }
        while (mine != update_.changes.end() && !mine->second)
            ++mine;
        return mine == update_.changes.end() ? Found() : Entry{mine->first, *mine->second};
    }
    Found last_before(Owned key)
    {
        auto mine = std::make_reverse_iterator(update_.changes.lower_bound(key));
        for (Entry entry; recorded(Look::before, key, entry); key = owned(entry.key)) {
            while (mine != update_.changes.rend() && Less()(entry.key, mine->first)) {
                if (mine->second) return Entry{mine->first, *mine->second};
                ++mine;
            }
            const auto changed = update_.changes.find(entry.key);
            if (changed == update_.changes.end()) return entry;
            if (changed->second) return Entry{changed->first, *changed->second};
        }
        while (mine != update_.changes.rend() && !mine->second)
            ++mine;
        return mine == update_.changes.rend() ? Found() : Entry{mine->first, *mine->second};
    }
    bool give(const Found& found, Entry& entry)
    {
        if (!found) return false;
        position_ = owned(found->key);
        entry = *found;
        return true;
    }

    ReadTransaction& now_;
    const std::atomic<Epoch>& last_epoch_; // of the target
    Update update_;
    Owned position_;
};

// Of a target, for all who opened it. Memory's targets are the same for each of them.
struct Shared {
    std::atomic<Epoch> last_epoch{0}; // that was committed
    std::mutex guard;
    Changes before; // what the latest update changed, as it was

    Changes earlier()
    {
        const std::lock_guard lock(guard);
        return before;
    }
};

class OptimisticTarget final : public ForwardingTarget, public NetworkTarget {
public:
    explicit OptimisticTarget(Target& real) : ForwardingTarget(real), shared_(shared_of(real)) {}

    void read(FunctionRef<void(ReadTransaction&)> body) override
    {
        // Not always: a body with another one inside begins again when that one does.
        if (reads_++ % 3 == 0) overtaken([&](Recorded& earlier) { body(earlier); });
        real_.read(body);
    }
    void write(FunctionRef<void(WriteTransaction&)> body) override
    {
        // Of those inside of another one only some: each makes the others begin again.
        if (running.empty() || ++inner_ % 5 == 0) overtaken([&](Recorded& earlier) { body(earlier); });
        for (int refused = 0; refused < patience;) {
            Update update;
            try {
                real_.read([&](ReadTransaction& now) {
                    Recorded transaction(now, shared_.last_epoch);
                    const auto take = [&] { update = std::move(transaction.update()); };
                    try {
                        body(transaction);
                    } catch (...) {
                        take();
                        throw;
                    }
                    take();
                });
            } catch (const Error& error) { // of an extent that was released meanwhile, if anything changed
                if (error.code() != -DER_CSUM || still_holds(update)) throw;
                continue;
            }
            if (carry_out(update)) return;
            ++refused;
        }
        real_.write([&](WriteTransaction& alone) {
            Recorded transaction(alone, shared_.last_epoch);
            body(transaction);
            apply(alone, transaction.update());
        });
    }
    NetworkTarget* network() override { return this; }
    bool holds(const ExtentRef&) override { return true; }
    std::uint64_t read_at_once() override { return real_.read_at_once(); }
    void at_once(std::size_t count, FunctionRef<void(std::size_t)> work) override
    {
        real_.at_once(count, work);
    }
    unsigned most_at_once() override { return real_.most_at_once(); }
    void announce(Bytes) override {}
    std::unique_ptr<Waiter> watch(Bytes) override { return nullptr; }
    // Ahead of what this target has. Another one that is further refuses it.
    Epoch barrier_epoch(Epoch least, unsigned) override
    {
        return std::max({nanoseconds(CLOCK_REALTIME), least + 1, shared_.last_epoch + 1});
    }

private:
    static Shared& shared_of(Target& real)
    {
        static std::mutex guard;
        static std::map<Target*, Shared> all;
        const std::lock_guard lock(guard);
        return all[&real];
    }
    // A run of a body that counts for nothing, whatever it throws: it sees what is no more.
    void overtaken(FunctionRef<void(Recorded&)> body)
    {
        real_.read([&](ReadTransaction& now) {
#ifdef STEPSTORE_BODIES_ARE_TESTS
            Recorded earlier(now, shared_.last_epoch);
#else
            Recorded earlier(now, shared_.last_epoch, shared_.earlier());
#endif
            try {
                body(earlier);
            } catch (const Error&) {
            }
        });
    }
    static bool holds(ReadTransaction& target, const Condition& one)
    {
        Entry entry;
        return look_up(target, one.look, one.key, entry) == one.found.has_value() &&
               (!one.found || (std::ranges::equal(entry.key, one.found->first) &&
                               std::ranges::equal(entry.value, one.found->second)));
    }
    bool still_holds(const Update& update)
    {
        bool all = true;
        real_.read([&](ReadTransaction& target) {
            all = std::ranges::all_of(update.conditions,
                                      [&](const Condition& one) { return holds(target, one); });
        });
        return all;
    }
    // What a server would do with an update, in one step. False: refused.
    bool carry_out(const Update& update)
    {
        bool carried_out = true;
        real_.write([&](WriteTransaction& target) {
            carried_out = (update.first_epoch == 0 || update.first_epoch > shared_.last_epoch) &&
                          std::ranges::all_of(update.conditions,
                                              [&](const Condition& one) { return holds(target, one); });
            if (carried_out) apply(target, update);
        });
        return carried_out;
    }
    void apply(WriteTransaction& target, const Update& update)
    {
        Changes before;
        for (const auto& [key, value] : update.changes) {
            Bytes old;
            before[key] = target.get(key, old) ? std::optional(owned(old)) : std::nullopt;
            if (value)
                target.put(key, *value);
            else
                target.erase(key);
        }
        shared_.last_epoch = std::max(shared_.last_epoch.load(), update.last_epoch);
        const std::lock_guard lock(shared_.guard);
        if (!before.empty()) shared_.before = std::move(before);
    }

    Shared& shared_;
    std::atomic<unsigned> inner_ = 0, reads_ = 0;
};

// Pools of `memory`, beside those that others make there.
std::string path_below(const std::string& path)
{
    return "optimistic:" + path;
}

class OptimisticStorage final : public ForwardingStorage<OptimisticTarget> {
public:
    using ForwardingStorage::ForwardingStorage;
    Epoch next_epoch() override
    {
        const Epoch epoch = ForwardingStorage::next_epoch();
        for (Recorded* body : running)
            body->took(epoch);
        return epoch;
    }
};

const Backend& below()
{
    static const Backend memory = memory::backend();
    return memory;
}

[[maybe_unused]] const bool registered =
    (register_backend({
         "optimistic",
         [](const std::string& path, const NewPool& options) -> std::unique_ptr<Storage> {
             return std::make_unique<OptimisticStorage>(path, below().create(path_below(path), options));
         },
         [](const std::string& path) -> std::unique_ptr<Storage> {
             return std::make_unique<OptimisticStorage>(path, below().open(path_below(path)));
         },
         [](const std::string& path) { below().destroy(path_below(path)); },
         [](const std::string& path) { return below().look(path_below(path)); },
     }),
     true);

} // namespace
} // namespace stepstore::testing

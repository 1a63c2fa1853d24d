// Running bodies, optimistically.
//
// An update:
// 1. The body runs on what is known of the target (transaction.h). What it looks up becomes a condition.
// 2. One operation with the conditions and the changes goes to the object of the index. Where a condition
//    does
//    not hold, nothing is changed (refused).
// 3. Refused: one read brings all that the body has asked for up to date, at one moment. The body runs again.
// 4. After some refusals the process takes the lock: for a moment all others are refused. A process that dies
//    with it delays the others by three seconds.
//
// A body that throws, or changes nothing, has no operation that would verify what it saw. Where that is not
// of one moment, or was guessed, it is read anew, and the body runs again. So does one that read an extent
// and found damage: the extent may have been released meanwhile. Damage counts once two runs saw the same
// (found_twice.h).
//
// Epochs. Each stored value begins with the epoch of its update. A body whose epoch is not greater than all
// that it saw runs again with a greater one. So the order of epochs is that of updates which see each other,
// whatever the clocks of the clients say.
#include "store/rados/target.h"

#include "base/clock.h"
#include "base/process.h"
#include "stepstore/error.h"
#include "store/keys.h"
#include "store/rados/errors.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>

namespace stepstore::store::rados {

namespace {

constexpr int patience = 6; // refusals before the lock is taken
// Larger values of the index are spilled, by the first limit that leaves an update at most so much inline.
constexpr std::uint64_t inline_limits[] = {256 << 10, 4 << 10, 256};
constexpr std::uint64_t operation_limit = 32 << 20; // of inline values together, if a limit gives that
// Updates raise a target's limit in steps of so many ns, so that few of them have to.
constexpr unsigned limit_step_bits = 24;   // 17 ms
constexpr std::size_t whole_compared = 96; // bytes of a value; of a larger one the stamp says all

struct Running {
    RadosTarget* target;
    Transaction* transaction;
};
thread_local std::vector<Running> running; // bodies of this thread, outer ones first
// Transactions of this thread that a body has left by throwing, by the number of their target. When nested
// bodies begin again, they go on from what they knew: else each would find out anew why it was refused.
thread_local std::map<std::uint64_t, std::unique_ptr<Transaction>> left;

struct Enter {
    Enter(RadosTarget* target, Transaction* transaction) { running.push_back({target, transaction}); }
    ~Enter() { running.pop_back(); }
    Enter(const Enter&) = delete;
    Enter& operator=(const Enter&) = delete;
};

std::atomic<std::uint64_t> next_serial{1};

std::string random_tag()
{
    std::random_device device;
    return big(device(), 4);
}

void wait_a_little(int refused)
{
    thread_local std::minstd_rand random(std::random_device{}());
    const auto most = 50U << std::min(refused, 8);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % most));
}

bool is_refusal(int code)
{
    return code == -ECANCELED || code == -ERANGE || code == -EOVERFLOW;
}

// By how many bytes an update makes the index larger.
std::int64_t growth(const Transaction& transaction)
{
    std::int64_t grown = 0;
    for (const auto& [key, value] : transaction.changes_) {
        const auto old = transaction.cells_.find(key);
        if (old != transaction.cells_.end() && old->second.raw)
            grown -= static_cast<std::int64_t>(key.size() + old->second.raw->size());
        if (value) grown += static_cast<std::int64_t>(key.size() + value->size());
    }
    return grown;
}

// A full cluster refuses what makes an object larger or a new one, but looks at its data only, not at its
// omap. So an update that makes the index larger sets the size of the object's empty data, which grows with
// the time, in steps of 17 ms. After 18 minutes it begins again, and one update is let through.
std::uint64_t size_now()
{
    return (nanoseconds(CLOCK_REALTIME) >> 24 & 0xffff) + 1;
}

using Assertions = std::map<std::string, std::pair<Buffer, int>>;

// That the value under `key` is this one. A large one is known by its stamp.
struct Conditions {
    Assertions equal, above, below;

    void holds(const std::string& key, const Raw& raw)
    {
        if (!raw || raw->size() <= whole_compared) {
            equal[key] = {to_buffer(raw ? *raw : ""), LIBRADOS_CMPXATTR_OP_EQ};
            return;
        }
        const std::string stamp = raw->substr(0, stamp_size);
        above[key] = {to_buffer(stamp), LIBRADOS_CMPXATTR_OP_GT};
        below[key] = {to_buffer(behind(stamp)), LIBRADOS_CMPXATTR_OP_LT};
    }
    void add_to(librados::ObjectWriteOperation& operation) const
    {
        for (const Assertions* one : {&equal, &above, &below})
            if (!one->empty()) operation.omap_cmp(*one, nullptr);
    }
};

} // namespace

RadosTarget::RadosTarget(Io& io, Io& data, std::string objects, unsigned number, std::string object,
                         std::string where, Client& client)
    : objects_(std::move(objects)), number_(number), io_(io), data_(data),
      index_(io, std::move(object), std::move(where)), client_(client), serial_(next_serial++),
      lanes_(client, index_), tag_(random_tag())
{
}

void RadosTarget::took(Epoch epoch)
{
    for (const Running& one : running)
        if (one.transaction->writes_) one.transaction->took(epoch);
}

Transaction* RadosTarget::transaction_here()
{
    const auto found = std::ranges::find_if(
        running, [&](const Running& one) { return one.target == this && one.transaction->writes_; });
    return found == running.end() ? nullptr : found->transaction;
}

void RadosTarget::note_read()
{
    for (const Running& one : running)
        if (one.target == this) one.transaction->reads_an_extent();
}

// False: it has to run again.
bool RadosTarget::run(Transaction& transaction, FunctionRef<void(WriteTransaction&)> body)
{
    transaction.begin();
    const Enter enter(this, &transaction);
    if (running.size() > 1)
        for (const Running& one : running)
            one.transaction->be_careful();
    try {
        body(transaction);
        return true;
    } catch (const Again& again) {
        if (again.which != &transaction) throw;
    } catch (const Error& error) {
        if (transaction.certain() && (error.code() != -DER_CSUM || transaction.damage_counts())) throw;
    } catch (...) {
        if (transaction.certain()) throw;
    }
    return false;
}

void RadosTarget::read(FunctionRef<void(ReadTransaction&)> body)
{
    Transaction transaction(index_, remembered_, *this, false);
    while (!run(transaction, [&](WriteTransaction& open) { body(open); }))
        transaction.refresh();
}

void RadosTarget::at_once(std::size_t count, FunctionRef<void(std::size_t)> work)
{
    if (running.empty()) return rados::at_once(count, work);
    Target::at_once(count, work); // the transactions that are open are this thread's
}

void RadosTarget::write(FunctionRef<void(WriteTransaction&)> body)
{
    std::unique_ptr<Transaction> transaction;
    if (const auto found = left.find(serial_); found != left.end()) {
        transaction = std::move(found->second);
        left.erase(found);
        transaction->refresh();
    } else {
        transaction = std::make_unique<Transaction>(index_, remembered_, *this, true);
    }
    try {
        write(*transaction, body);
        if (running.empty()) left.clear();
    } catch (...) {
        left[serial_] = std::move(transaction);
        throw;
    }
}

void RadosTarget::write(Transaction& transaction, FunctionRef<void(WriteTransaction&)> body)
{
    const bool nested = !running.empty();
    std::string lock;
    for (int refused = 0;;) {
        if (!run(transaction, body)) {
            transaction.refresh();
            continue;
        }
        const bool sends =
            !transaction.changes_.empty() || !transaction.entering_.empty() || !transaction.leaving_.empty();
        if (!sends && lock.empty()) {
            if (transaction.certain()) return;
            transaction.refresh();
            continue;
        }
        if (transaction.first_epoch_ != 0 && transaction.first_epoch_ <= transaction.seen_) {
            Clock::saw(transaction.seen_);
            continue;
        }
        if (send(transaction, lock) == Sent::done) return;
        ++refused;
        if (refused > 1) wait_a_little(refused);
        if (refused > 1 && !transaction.entering_.empty()) let_go_of_lost(transaction);
        if (refused >= patience && lock.empty() && !nested) {
            const std::string token = tag_ + big(stamps_.fetch_add(1), 4);
            if (take_lock(token)) lock = token;
        }
        transaction.refresh();
        if (!transaction.lock_.empty() && transaction.lock_ != lock) wait_for_lock(transaction, lock);
        transaction.remember_all();
        if (transaction.limit_)
            remembered_.limit = std::max(remembered_.limit.load(), from_ordered(*transaction.limit_));
    }
}

bool RadosTarget::take_lock(const std::string& token)
{
    librados::ObjectWriteOperation operation;
    operation.assert_exists();
    operation.omap_cmp({{lock_key, {to_buffer(""), LIBRADOS_CMPXATTR_OP_EQ}}}, nullptr);
    operation.omap_set({{lock_key, to_buffer(token)}});
    return io_.write(index_.object, operation).code == 0;
}

// Until the process that has the lock lets go. A dead one never does: after three seconds any process may
// take it away.
void RadosTarget::wait_for_lock(Transaction& transaction, const std::string& mine)
{
    using std::chrono::steady_clock;
    std::string whose = transaction.lock_;
    for (auto since = steady_clock::now(); !transaction.lock_.empty() && transaction.lock_ != mine;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        transaction.refresh();
        if (transaction.lock_ != whose) {
            whose = transaction.lock_;
            since = steady_clock::now();
        }
        if (steady_clock::now() - since < std::chrono::seconds(3)) continue;
        librados::ObjectWriteOperation operation;
        operation.assert_exists();
        operation.omap_cmp({{lock_key, {to_buffer(whose), LIBRADOS_CMPXATTR_OP_EQ}}}, nullptr);
        operation.omap_rm_keys({lock_key});
        io_.write(index_.object, operation);
    }
}

void RadosTarget::add_conditions(const Transaction& transaction, const std::string& lock,
                                 librados::ObjectWriteOperation& operation)
{
    Conditions conditions;
    conditions.equal[lock_key] = {to_buffer(lock), LIBRADOS_CMPXATTR_OP_EQ};
    if (transaction.pinned_ && transaction.version_ != 0) {
        operation.assert_version(transaction.version_);
    } else {
        for (const auto& [key, cell] : transaction.cells_)
            if (cell.got) conditions.holds(stored_key(key), cell.raw);
        for (const std::string& scope : transaction.scopes_used_)
            conditions.holds(guard_key(scope), transaction.scopes_.at(scope).guard);
    }
    conditions.add_to(operation);
}

void RadosTarget::add_epoch(Transaction& transaction, Epoch epoch, librados::ObjectWriteOperation& operation,
                            std::map<std::string, Buffer>& set)
{
    Epoch below = 0; // what the target's limit must be less than
    if (transaction.barrier_ != 0) {
        below = transaction.barrier_;
    } else if (epoch > remembered_.limit.load()) {
        const Epoch limit = ((epoch >> limit_step_bits) + 1) << limit_step_bits;
        below = limit + 1;
        set[limit_key] = to_buffer(ordered(limit));
        transaction.raised_limit_ = limit;
    } else {
        return;
    }
    operation.omap_cmp({{limit_key, {to_buffer(ordered(below)), LIBRADOS_CMPXATTR_OP_LT}}}, nullptr);
}

// Each scope in which something changes gets a new guard, and one that gets empty none.
void RadosTarget::add_scopes(Transaction& transaction, const std::string& stamp,
                             std::map<std::string, Buffer>& set, std::set<std::string>& removed,
                             std::map<std::string, Raw>& guards)
{
    const Raw guard = std::make_shared<const std::string>(stamp);
    std::set<std::string> scopes;
    for (const auto& [key, value] : transaction.changes_)
        if (const std::size_t size = scope_size(as_bytes(key)); size != 0) scopes.insert(key.substr(0, size));
    for (const std::string& scope : scopes) {
        const std::string end = behind(scope);
        const auto view = transaction.scopes_.find(scope);
        const Cover* cover = transaction.pinned_                        ? &transaction.cover_
                             : transaction.scopes_used_.contains(scope) ? &view->second.cover
                                                                        : nullptr;
        const std::string* known = cover == nullptr ? nullptr : cover->end_at(scope);
        bool empty = known != nullptr && *known >= end;
        for (auto at = transaction.cells_.lower_bound(scope);
             empty && at != transaction.cells_.end() && at->first < end; ++at)
            empty = !at->second.raw || transaction.changes_.contains(at->first);
        for (auto at = transaction.changes_.lower_bound(scope);
             empty && at != transaction.changes_.end() && at->first < end; ++at)
            empty = !at->second;
        guards[scope] = empty ? nullptr : guard;
        if (empty)
            removed.insert(guard_key(scope));
        else
            set[guard_key(scope)] = to_buffer(stamp);
    }
}

// The values are spilled by one append: so an update takes one lane, however many values it has.
void RadosTarget::spill(Transaction& transaction)
{
    std::uint64_t limit = 0;
    for (const std::uint64_t candidate : inline_limits) {
        limit = candidate;
        std::uint64_t all = 0;
        for (const auto& [key, value] : transaction.changes_)
            if (value && value->size() <= limit) all += value->size();
        if (all <= operation_limit) break;
    }
    std::vector<std::pair<std::string*, Bytes>> spilled;
    for (auto& [key, value] : transaction.changes_)
        if (value && value->size() > limit && (*value)[stamp_size] != spilled_value)
            spilled.emplace_back(&*value, as_bytes(*value).subspan(header_size));
    if (!spilled.empty()) {
        std::vector<Payload> payloads;
        payloads.reserve(spilled.size());
        for (const auto& [value, bytes] : spilled)
            payloads.push_back({{&bytes, 1}});
        transaction.entering_.push_back(append(payloads));
        for (std::size_t at = 0; at < spilled.size(); ++at) {
            std::string& value = *spilled[at].first;
            value = value.substr(0, header_size) + encode(payloads[at].extent);
            value[stamp_size] = spilled_value;
        }
    }
    std::vector<ExtentRef> replaced;
    for (const auto& [key, value] : transaction.changes_) {
        const auto old = transaction.cells_.find(key);
        if (old == transaction.cells_.end()) continue;
        if (const ExtentRef extent = spilled_extent(old->second.raw); extent.length != 0)
            replaced.push_back(reservation_of(extent));
    }
    // What lies together goes together: else each of them would cost a look at its piece, and a note there.
    std::ranges::sort(replaced, {}, [](const ExtentRef& one) { return std::pair(one.file, one.offset); });
    std::vector<ExtentRef> runs;
    for (const ExtentRef& one : replaced) {
        if (!runs.empty() && runs.back().file == one.file &&
            runs.back().offset + runs.back().length == one.offset)
            runs.back().length += one.length;
        else
            runs.push_back(one);
    }
    transaction.leaving_.insert(transaction.leaving_.end(), runs.begin(), runs.end());
    transaction.freed_.insert(transaction.freed_.end(), runs.begin(), runs.end());
}

RadosTarget::Sent RadosTarget::send(Transaction& transaction, const std::string& lock)
{
    // What commits first must not do so by what the outer ones only suppose.
    for (const Running& outer : running)
        if (outer.transaction->writes_ && outer.transaction->has_guessed()) throw Again{outer.transaction};
    const std::size_t appended_by_body = transaction.entering_.size();
    const auto give_back = [&] {
        {
            const std::lock_guard lock(guard_);
            notes_done_.merge(transaction.notes_);
        }
        for (std::size_t at = appended_by_body; at < transaction.entering_.size(); ++at)
            release(transaction.entering_[at]);
    };
    try {
        spill(transaction);
    } catch (...) {
        give_back();
        throw;
    }
    const Epoch epoch =
        transaction.last_epoch_ != 0 ? transaction.last_epoch_ : Clock::next(transaction.seen_ + 1);
    const std::string stamp = ordered(epoch) + ordered(from_big(tag_) << 32 | stamps_.fetch_add(1));
    librados::ObjectWriteOperation operation;
    operation.assert_exists();
    add_conditions(transaction, lock, operation);
    std::map<std::string, Buffer> set;
    std::set<std::string> removed;
    std::map<std::string, Raw> guards;
    add_epoch(transaction, epoch, operation, set);
    add_extents(transaction, operation, set, removed);
    add_scopes(transaction, stamp, set, removed, guards);
    for (auto& [key, value] : transaction.changes_) {
        if (!value) {
            removed.insert(stored_key(key));
            continue;
        }
        value->replace(0, stamp_size, stamp);
        set[stored_key(key)] = to_buffer(*value);
    }
    if (!lock.empty()) removed.insert(lock_key);
    const std::int64_t grown = growth(transaction);
    if (grown > 0) operation.truncate(size_now());
    add_counters(set, false);
    if (!removed.empty()) operation.omap_rm_keys(removed);
    if (!set.empty()) operation.omap_set(set);
    const int code = io_.write(index_.object, operation).code;
    if (code == 0) {
        index_bytes_ += grown;
        carried_out(transaction, guards);
        return Sent::done;
    }
    if (is_refusal(code)) {
        give_back();
        return Sent::refused;
    }
    if (is_in_doubt(code)) { // it may have been carried out, or will be
        for (const ExtentRef& one : transaction.entering_)
            if (Lane* lane = lanes_.taken_for(one.file)) lane->in_doubt = true;
    }
    give_back();
    index_.failed(code, "cannot update the index");
}

void RadosTarget::carried_out(Transaction& transaction, const std::map<std::string, Raw>& guards)
{
    if (transaction.raised_limit_ != 0)
        remembered_.limit = std::max(remembered_.limit.load(), transaction.raised_limit_);
    transaction.notes_.clear();
    if (transaction.note_) {
        const std::lock_guard lock(guard_);
        ++notes_open_;
    }
    for (const ExtentRef& one : transaction.entering_)
        if (Lane* lane = lanes_.taken_for(one.file)) lanes_.settle(*lane, true);
    for (auto& [key, value] : transaction.changes_) {
        Raw raw;
        if (value) raw = std::make_shared<const std::string>(std::move(*value));
        if (scope_size(as_bytes(key)) == 0) remembered_.remember(key, raw);
        transaction.cells_[key].raw = raw;
    }
    for (const auto& [key, cell] : transaction.cells_)
        if (cell.got && scope_size(as_bytes(key)) == 0) remembered_.remember(key, cell.raw);
    for (const auto& [scope, guard] : guards) {
        const std::string end = behind(scope);
        const auto view = transaction.scopes_.find(scope);
        const std::string* known = transaction.pinned_ || !transaction.scopes_used_.contains(scope)
                                       ? nullptr
                                       : view->second.cover.end_at(scope);
        if (known == nullptr || *known < end) {
            remembered_.forget_scope(scope);
            continue;
        }
        Remembered::Scope now{guard, {}};
        for (auto at = transaction.cells_.lower_bound(scope);
             at != transaction.cells_.end() && at->first < end; ++at)
            if (at->second.raw) now.entries.emplace(at->first, at->second.raw);
        remembered_.remember_scope(scope, std::move(now));
    }
    for (const ExtentRef& extent : transaction.freed_)
        release(extent);
}

} // namespace stepstore::store::rados

// The targets on which the operations of a transaction run.
#include "store/transaction/overlay.h"

#include "store/failure.h"
#include "store/transaction/pending.h"

namespace stepstore::store {

namespace {

struct TooEarly {}; // an epoch that a body took

} // namespace

void OverlayTarget::begin(Transaction::Part part)
{
    part_ = part;
    marked_ = changes_.mark();
}

void OverlayTarget::end(bool keep)
{
    if (keep && part_ == Transaction::Part::update) {
        entered_.insert(entered_.end(), run_entered_.begin(), run_entered_.end());
        dropped_.insert(dropped_.end(), run_dropped_.begin(), run_dropped_.end());
        changes_.keep();
    } else {
        changes_.take_back(marked_);
        beside_.take_back(0);
    }
    run_entered_.clear();
    run_dropped_.clear();
}

void OverlayTarget::forget()
{
    looks_.clear();
    changes_.clear();
    std::vector<ExtentRef> released;
    for (const ExtentRef& appended : appended_)
        if (!handed_over_ || !is_entered(appended)) released.push_back(appended);
    appended_.clear();
    entered_.clear();
    dropped_.clear();
    handed_over_ = false;
    if (!released.empty()) release_all(real(), released);
}

void OverlayTarget::forget_in_child()
{
    appended_.clear();
}

// One run after the other, if the target's transaction begins again, each with its own look-ups.
void OverlayTarget::run(FunctionRef<void(Recorded&)> body)
{
    Changes nothing;
    Changes& changes = part_ == Transaction::Part::update      ? changes_
                       : part_ == Transaction::Part::condition ? beside_
                                                               : nothing;
    const std::size_t mark = changes.mark();
    Looks::All looks;
    std::uint64_t version = 0;
    const auto one_run = [&](ReadTransaction& now) {
        changes.take_back(mark);
        looks.clear();
        epochs_.first = 0;
        Recorded recorded(now, changes, looks);
        body(recorded);
        // Without a lock the clock may be behind what the body has seen.
        if (now.network() != nullptr && epochs_.first != 0 && epochs_.first <= now.network()->seen())
            throw TooEarly();
        version = now.version(); // known by now, also where it would be a request
        if (!looks_.empty()) looks_.verify_if_changed(now, where_); // at this moment all of it is so
    };
    const auto in_time = [&] {
        for (;;) {
            try {
                return real().read(one_run);
            } catch (const TooEarly&) {
            }
        }
    };
    try {
        if (may_write_)
            past_pending(pool_, in_time);
        else
            in_time();
    } catch (const MetPending&) { // the store reads past it
        changes.take_back(mark);
        throw;
    } catch (const Error&) { // a conclusion from what it saw
        changes.take_back(mark);
        looks_.add(std::move(looks), 0, where_);
        verify_if_changed(); // else it may be one from two moments
        throw;
    } catch (...) {
        changes.take_back(mark);
        throw;
    }
    looks_.add(std::move(looks), version, where_);
}

void OverlayTarget::read(FunctionRef<void(ReadTransaction&)> body)
{
    run([&](Recorded& recorded) { body(recorded); });
}

void OverlayTarget::write(FunctionRef<void(WriteTransaction&)> body)
{
    run([&](Recorded& recorded) { body(recorded); });
}

ExtentRef OverlayTarget::append(std::span<Payload> payloads)
{
    const ExtentRef all = real().append(payloads);
    appended_.push_back(all);
    return all;
}

bool OverlayTarget::verify_if_changed()
{
    bool changed = false;
    real().read([&](ReadTransaction& now) { changed = looks_.verify_if_changed(now, where_); });
    return changed;
}

// What was appended by the transaction and holds this; nullptr: it was there before.
const ExtentRef* OverlayTarget::own(const ExtentRef& extent) const
{
    const auto found = std::ranges::find_if(appended_, [&](const ExtentRef& one) {
        const ExtentRef room = reservation_of(one);
        return room.file == extent.file && extent.offset >= room.offset &&
               extent.offset + extent.length <= room.offset + room.length;
    });
    return found == appended_.end() ? nullptr : &*found;
}

bool OverlayTarget::is_entered(const ExtentRef& appended) const
{
    return std::ranges::find(entered_, appended) != entered_.end();
}

void OverlayTarget::require_appended()
{
    for (const ExtentRef& appended : entered_)
        if (!real().holds(appended)) restart(where_);
}

void OverlayTarget::put(WriteTransaction& target)
{
    for (const auto& [key, value] : changes_.all()) {
        if (value)
            target.put(key, *value);
        else
            target.erase(key);
    }
}

void OverlayTarget::enter(bool leaves)
{
    for (const ExtentRef& appended : entered_)
        real().entering(appended);
    if (!leaves) return;
    for (const ExtentRef& dropped : dropped_)
        if (own(dropped) == nullptr) real().leaving(dropped);
}

// From now on what was entered is released by the process that takes the note away, if at all.
void OverlayTarget::hand_over()
{
    handed_over_ = true;
}

void OverlayTarget::committed(bool releases_replaced)
{
    std::vector<ExtentRef> released;
    for (const ExtentRef& appended : appended_)
        if (!is_entered(appended)) released.push_back(appended);
    for (const ExtentRef& dropped : dropped_) {
        const ExtentRef* mine = own(dropped);
        if (mine == nullptr ? releases_replaced : is_entered(*mine)) released.push_back(dropped);
    }
    appended_.clear(); // the others are the records' now
    release_all(real(), released);
    forget();
}

OverlayStorage::OverlayStorage(std::shared_ptr<PoolCore> pool, bool may_write)
    : Storage({pool->storage().path(), pool->storage().targets(), pool->storage().durability(),
               pool->storage().capabilities()}),
      pool_(std::move(pool))
{
    for (unsigned index = 0; index < targets(); ++index)
        targets_.emplace_back(*pool_, index, may_write, epochs_);
}

} // namespace stepstore::store

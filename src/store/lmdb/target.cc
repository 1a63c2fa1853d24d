#include "store/lmdb/target.h"

#include "store/failure.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <cerrno>
#include <utility>

namespace stepstore::store::lmdb {

void Permissions::refuse_to_write() const
{
    fail(error == 0 ? EACCES : error, "pool " + pool,
         "cannot open it for writing (open it read-only, or ask its owner" + owner_of(pool) + ")");
}

LmdbTarget::LmdbTarget(TargetParts parts)
    : parts_(std::move(parts)),
      extents_(files_, !parts_.permissions.data, [&shared = parts_.shared] { return shared.next_epoch(); })
{
}

LmdbTarget::~LmdbTarget()
{
    delete environment_.load();
}

Environment& LmdbTarget::opened(bool for_writing)
{
    const std::lock_guard lock(opening_);
    Environment* there = environment_.load();
    if (there != nullptr) return *there;
    only_looked_ = parts_.machine.only_looks();
    const Permissions& may = parts_.permissions;
    there = new Environment(files_, !may.data || only_looked_, !may.lock || only_looked_, for_writing);
    environment_.store(there, std::memory_order_release);
    return *there;
}

void LmdbTarget::machine_claimed()
{
    const std::lock_guard lock(opening_);
    if (std::exchange(only_looked_, false)) before_claim_.reset(environment_.exchange(nullptr));
}

void LmdbTarget::look()
{
    Environment* there = environment_.load();
    if (there != nullptr && there->removed()) {
        throw Error(-DER_STALE,
                    files_.where +
                        " was removed while it was open, so what is written there is lost: close the pool");
    }
    if (there != nullptr) there->look_for_unseen_readers();
    parts_.machine.require_held();
}

void LmdbTarget::open_to_write()
{
    parts_.permissions.require_writable();
    index(true);
}

void LmdbTarget::write(FunctionRef<void(WriteTransaction&)> body)
{
    parts_.permissions.require_writable();
    Environment& there = index(true);
    require_there(); // with its index open
    there.write(body);
    files_.reservations.reclaim_if_due();
    require_there();
}

ExtentRef LmdbTarget::append(std::span<Payload> payloads)
{
    parts_.permissions.require_writable();
    return extents_.append(payloads);
}

void LmdbTarget::release(const ExtentRef& extent)
{
    parts_.permissions.require_writable();
    extents_.release(extent);
}

bool LmdbTarget::begin_sync(bool own)
{
    if (!parts_.permissions.data) return false;               // who writes nothing has nothing to sync
    if (files_.durability == Durability::power) return false; // every commit did it
    const Environment* there = environment_.load();
    if (own && (there == nullptr || !there->own_unsynced())) return false;
    extents_.begin_sync();
    return true;
}

void LmdbTarget::sync(bool own)
{
    // Nothing of ours to sync.
    if (!parts_.permissions.data || (own && environment_.load() == nullptr)) return;
    index().sync(own, [&] { extents_.sync(own); }); // before the index that refers to them
}

void LmdbTarget::compact()
{
    parts_.permissions.require_writable();
    files_.reservations.reclaim();
    index(true).compact();
}

std::vector<std::string> LmdbTarget::check()
{
    try {
        return index().check();
    } catch (const Error& error) { // damage that keeps a target from being opened is a finding too
        if (!says_damage(error)) throw;
        return {error.what()};
    }
}

void LmdbTarget::count(const Counters& added)
{
    if (!parts_.machine.only_looks()) parts_.shared.count(files_.number, added);
}

Counters LmdbTarget::counters()
{
    return parts_.shared.counters(files_.number);
}

} // namespace stepstore::store::lmdb

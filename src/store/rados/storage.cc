#include "store/rados/storage.h"

#include "base/call_threads.h"
#include "stepstore/error.h"
#include "store/rados/host.h"
#include "store/rados/location.h"

#include <daos_errno.h>

#include <map>

namespace stepstore::store::rados {

namespace {

// Of the parent: never ended here.
void leave_alone(const std::shared_ptr<RadosPool>& pool)
{
    static auto* all = new std::vector<std::shared_ptr<RadosPool>>;
    all->push_back(pool);
}

// Pools that this process has open; guarded by ForkLock::backend.
struct Open {
    std::uint64_t generation = 0;
    std::weak_ptr<RadosPool> pool;
};
std::map<std::string, Open>& open_pools()
{
    static auto* all = new std::map<std::string, Open>;
    return *all;
}

} // namespace

std::unique_ptr<Io> connect_to(const std::string& path)
{
    const auto place = ceph_place(path);
    if (!place)
        throw Error(-DER_BADPATH,
                    "pool " + path + ": not of the form rados://POOL or rados://POOL/NAMESPACE");
    return std::make_unique<Io>(place->pool, place->name_space, "pool " + path);
}

void share(const std::string& path, const std::shared_ptr<RadosPool>& pool)
{
    const std::lock_guard lock(host().held_over_fork(ForkLock::backend));
    open_pools()[path] = {host().process_generation(), pool};
}

std::shared_ptr<RadosPool> open_shared(const std::string& path)
{
    auto io = connect_to(path);
    const auto found = read_header(*io);
    if (!found) throw Error(-DER_NONEXIST, "there is no pool at " + path + ": create it first");
    if (found->header.state != "ready") {
        throw Error(-DER_NONEXIST, "there is no pool at " + path + " yet, or any more: it is being " +
                                       (found->header.state == "making" ? "made" : "removed") +
                                       ", or the process that did so died: create it again, or destroy it");
    }
    const std::lock_guard lock(host().held_over_fork(ForkLock::backend));
    Open& open = open_pools()[path];
    std::shared_ptr<RadosPool> pool =
        open.generation == host().process_generation() ? open.pool.lock() : nullptr;
    if (!pool || pool->header().id != found->header.id) {
        pool = std::make_shared<RadosPool>(std::move(io), found->header);
        open = {host().process_generation(), pool};
    }
    return pool;
}

RadosStorage::RadosStorage(std::string path, std::shared_ptr<RadosPool> pool, bool claimed)
    : Storage({std::move(path), pool->header().targets, pool->header().durability, rados_form.capabilities}),
      id_(pool->header().id), generation_(host().process_generation()), pool_(std::move(pool)),
      claimed_(claimed)
{
}

RadosStorage::~RadosStorage()
{
    if (generation_ != host().process_generation()) leave_alone(pool_);
}

RadosPool& RadosStorage::pool()
{
    if (generation_.load(std::memory_order_acquire) == host().process_generation()) [[likely]]
        return *pool_;
    ask_during([&] {
        const std::lock_guard lock(host().held_over_fork(ForkLock::reopening));
        const NotAsked not_asked;
        if (generation_ == host().process_generation()) return;
        auto anew = open_shared(path());
        if (anew->header().id != id_)
            throw Error(-DER_STALE, "pool " + path() + " was removed while it was open: open it again");
        if (claimed_) anew->claim();
        leave_alone(pool_);
        pool_ = std::move(anew);
        generation_.store(host().process_generation(), std::memory_order_release);
    });
    return *pool_;
}

bool RadosStorage::is_current()
{
    const auto found = read_header(*connect_to(path()));
    return found && found->header.id == id_;
}

void RadosStorage::claim()
{
    pool().claim();
    claimed_ = true;
}

Epoch RadosStorage::next_epoch()
{
    const Epoch epoch = Clock::next();
    RadosTarget::took(epoch);
    return epoch;
}

Storage::Space RadosStorage::space()
{
    const auto stat = std::make_shared<librados::cluster_stat_t>();
    const int code = wait_for([stat, &rados = cluster()] { return rados.cluster_stat(*stat); });
    if (code < 0) pool().io().failed(code, "cannot ask the cluster for its space");
    return {stat->kb * 1024, stat->kb_avail * 1024};
}

} // namespace stepstore::store::rados

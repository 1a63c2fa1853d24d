#include "store/rados/client.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>

namespace stepstore::store::rados {

std::uint64_t Client::number()
{
    const std::lock_guard lock(guard_);
    if (watched_anew_()) number_ = 0;
    while (number_ == 0) {
        Fetch fetch;
        fetch.keys = {next_client_key};
        meta_.fetch(fetch);
        const Raw next = fetch.raw(next_client_key);
        const std::uint64_t mine = next ? from_big(*next) : 1;
        if (mine >> 28 != 0)
            throw Error(-DER_NOSPACE, meta_.where + ": the pool has had 2^28 clients: make a new one");
        librados::ObjectWriteOperation operation;
        operation.assert_exists();
        operation.omap_cmp({{next_client_key, {to_buffer(next ? *next : ""), LIBRADOS_CMPXATTR_OP_EQ}}},
                           nullptr);
        operation.omap_set(
            {{next_client_key, to_buffer(big(mine + 1, 8))},
             {std::string(1, client_space) + big(mine, 4), to_buffer(big(meta_.io.instance(), 8))}});
        const int code = meta_.io.write(meta_.object, operation).code;
        if (code == 0) number_ = mine;
        if (code < 0 && code != -ECANCELED) meta_.failed(code, "cannot register this process as a client");
    }
    return number_;
}

bool Client::registered()
{
    const std::lock_guard lock(guard_);
    return number_ != 0;
}

void Client::forget()
{
    const std::lock_guard lock(guard_);
    if (number_ == 0) return;
    librados::ObjectWriteOperation operation;
    operation.assert_exists();
    operation.omap_rm_keys({std::string(1, client_space) + big(number_, 4)});
    meta_.io.write(meta_.object, operation); // else the next one who opens the pool cleans up
    number_ = 0;
}

Lane& Lanes::take()
{
    const std::uint64_t client = client_.number();
    std::unique_lock lock(guard_);
    std::erase_if(idle_, [&](const Lane* lane) { return lane->client != client; });
    if (!idle_.empty()) {
        Lane& lane = *idle_.back();
        idle_.pop_back();
        busy_.push_back(&lane);
        return lane;
    }
    if (next_ == FileNumber::most_lanes) {
        throw Error(-DER_OVERFLOW, index_.where + ": 4,096 updates of this process with large values are on "
                                                  "their way at once: let some of them end first");
    }
    auto lane = std::make_unique<Lane>();
    lane->number = next_++;
    lock.unlock();
    lane->client = client;
    librados::ObjectWriteOperation operation;
    operation.assert_exists();
    operation.omap_set({{lane->key(), to_buffer(lane->record.encoded())}});
    const int code = index_.io.write(index_.object, operation).code;
    lock.lock();
    all_.push_back(std::move(lane)); // also if that is in doubt: close() leaves it to others
    if (code < 0) index_.failed(code, "cannot prepare to write large values");
    busy_.push_back(all_.back().get());
    return *all_.back();
}

Lane* Lanes::taken_for(std::uint64_t file)
{
    const std::lock_guard lock(guard_);
    const auto found = std::ranges::find_if(busy_, [&](const Lane* lane) { return lane->file() == file; });
    return found == busy_.end() ? nullptr : *found;
}

void Lanes::settle(Lane& lane, bool published)
{
    const std::lock_guard lock(guard_);
    if (published) lane.record = {lane.record.published + 1, expected_pieces};
    const bool mine = std::erase(busy_, &lane) != 0; // else it was lost meanwhile
    if (mine && lane.record.published < FileNumber::most_appends - 1) idle_.push_back(&lane);
}

void Lanes::abandon(Lane& lane)
{
    const std::lock_guard lock(guard_);
    std::erase(busy_, &lane);
}

void Lanes::verify()
{
    std::map<std::string, Lane*> lanes;
    Fetch fetch;
    {
        const std::lock_guard lock(guard_);
        for (const auto* some : {&idle_, &busy_})
            for (Lane* lane : *some) {
                lanes[lane->key()] = lane;
                fetch.keys.insert(lane->key());
            }
    }
    index_.fetch(fetch);
    const std::lock_guard lock(guard_);
    for (const auto& [key, lane] : lanes) {
        if (fetch.has(key)) continue;
        std::erase(idle_, lane);
        std::erase(busy_, lane);
    }
}

bool Lanes::close()
{
    const std::lock_guard lock(guard_);
    std::set<std::string> keys;
    for (const Lane* lane : idle_)
        keys.insert(lane->key());
    bool all = idle_.size() == all_.size();
    if (keys.empty()) return all;
    librados::ObjectWriteOperation operation;
    operation.assert_exists();
    operation.omap_rm_keys(keys);
    all = index_.io.write(index_.object, operation).code == 0 && all;
    idle_.clear();
    return all;
}

} // namespace stepstore::store::rados

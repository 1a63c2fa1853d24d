#include "store/lmdb/index/reading.h"

#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;

constexpr auto unseen_patience = 30s; // for a version that stays until it was read
constexpr unsigned tries_unannounced = 3;
constexpr auto keeper_patience = 50ms;     // for a writer that keeps a version
constexpr std::uint64_t many_pages = 1000; // a reader that lost so many copied pages copies all at once

} // namespace

void Reading::read(FunctionRef<void(ReadTransaction&)> body)
{
    const bool read = read_in_slot([&](const Meta& meta) {
        Tree transaction = file_.tree_of(meta);
        body(transaction);
    });
    if (read) [[likely]]
        return;
    read_unseen([&](const Meta& meta, PageCopies& copies) {
        Tree transaction(meta, nullptr, &copies, target_.where);
        body(transaction);
    });
}

bool Reading::read_in_slot(FunctionRef<void(const Meta&)> body)
{
    if (map_.unseen()) [[unlikely]]
        return false;
    std::optional<LmdbMap::Use> use(std::in_place, map_);
    ReaderPool::Reader* reader = nullptr;
    for (;;) {
        const int result = map_.readers().take(map_.env(), reader);
        if (result == 0 && find_version(reader)) break;
        if (result == MDB_READERS_FULL || result == ENOSPC) return false;
        if (result != 0 && result != MDB_MAP_RESIZED) fail(result, target_.where, "cannot begin to read");
        use.reset();
        map_.adopt();
        use.emplace(map_);
    }
    const auto end = [this](ReaderPool::Reader* used) { map_.readers().give_back(used); };
    const std::unique_ptr<ReaderPool::Reader, decltype(end)> ending(reader, end);
    body(reader->meta);
    return true;
}

// Finds the meta page of the version that this reader's slot keeps, or of a later one. False, and the reader
// is gone: another process made the map larger.
bool Reading::find_version(ReaderPool::Reader* reader)
{
    try {
        // After a find that gave false the same version once more ends it too (IndexFile::find).
        while (reader->meta.transaction != mdb_txn_id(reader->transaction) &&
               !file_.find(reader->transaction, reader->meta)) {
            mdb_txn_reset(reader->transaction);
            const int result = mdb_txn_renew(reader->transaction);
            if (result == 0) continue;
            if (result != MDB_MAP_RESIZED) fail(result, target_.where, "cannot begin to read");
            ReaderPool::end(reader);
            return false;
        }
        return true;
    } catch (const Error&) {
        ReaderPool::end(reader);
        throw;
    }
}

void Reading::read_unseen(FunctionRef<void(const Meta&, PageCopies&)> body)
{
    const auto deadline = std::chrono::steady_clock::now() + unseen_patience;
    KeptView kept(target_.directory, file_.fd());
    std::optional<Announcement> announcement;
    IndexMemory memory;
    bool all_at_once = false;
    for (unsigned tries = 0; std::chrono::steady_clock::now() < deadline; ++tries) {
        const Meta meta = file_.newest();
        PageCopies copies(file_.fd(), meta, &kept);
        try {
            if (all_at_once) copies.take_all(memory);
            return body(meta, copies);
        } catch (const SnapshotGone&) {
        }
        all_at_once = all_at_once || (announcement && copies.taken() >= many_pages);
        if (tries + 1 < tries_unannounced) continue;
        auto pause_end = std::chrono::steady_clock::now();
        if (!announcement) {
            announcement.emplace(target_.directory / "data.mdb");
            pause_end += keeper_patience;
        }
        do {
            if (kept.keeps(UINT64_MAX)) break;
            std::this_thread::sleep_for(500us);
        } while (std::chrono::steady_clock::now() < pause_end);
    }
    throw Error(-DER_TIMEDOUT,
                target_.where + ": other processes write faster than this process can read, because " +
                    (map_.unseen()
                         ? "it may not write the pool's lock files: read less at once, or ask the owner "
                           "for write permission" +
                               owner_of(target_.directory)
                         : "no reader slot was free in " + map_.table().path() +
                               ", or the disk is full: read in fewer threads at once, or make room"));
}

// In a slot, which keeps every page of the walked version from being used again meanwhile.
std::vector<std::string> Reading::walk(std::size_t limit)
{
    std::vector<std::string> damage;
    const bool read = read_in_slot([&](const Meta&) {
        const Metas metas = settled_metas(file_.fd());
        damage = metas.problem.empty() ? check_pages(file_.fd(), *metas.newest(), limit)
                                       : std::vector<std::string>{metas.problem};
    });
    if (!read)
        read_unseen([&](const Meta& meta, PageCopies& copies) {
            damage = check_pages(file_.fd(), meta, limit);
            copies.require_there(); // what was used again meanwhile looks like damage
        });
    return damage;
}

std::vector<std::string> Reading::check()
{
    constexpr std::size_t most = 100;
    std::vector<std::string> damage = walk(most);
    for (std::string& text : damage)
        text = target_.where + ": " + target_.directory + "/data.mdb: " + text;
    return damage;
}

} // namespace stepstore::store::lmdb

#include "store/lmdb/index/lmdb_map.h"

#include "base/files.h"
#include "base/fork.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;

constexpr auto reader_patience = 5s;   // for a reader slot, to open an index
constexpr auto grower_patience = 10ms; // that a reader leaves to a grower

// LMDB calls this instead of going on with pages that cannot be. Its C frames
// carry unwind tables on the platforms that have LMDB packaged; where they do
// not, this ends the process, as LMDB itself would.
void on_assertion(MDB_env* env, const char* text)
{
    const auto* where = static_cast<const std::string*>(mdb_env_get_userctx(env));
    throw Error(-DER_CSUM, *where + ": the index file is damaged (LMDB: " + text +
                               "); \"stepstore pool check\" says what can be saved");
}

} // namespace

// ---- opening

void LmdbMap::create(const TargetFiles& target)
{
    const DirectoryPath path(target.directory);
    ReaderTable readers(target.directory, target.writers, target.number, target.where);
    readers.open();
    MDB_env* env = nullptr;
    int result = mdb_env_create(&env);
    if (result != 0) fail(result, target.where, "cannot make an index");
    mdb_env_set_mapsize(env, first_size);
    mdb_env_set_maxreaders(env, ReaderTable::slots);
    result = mdb_env_open(env, path.get(), MDB_NOTLS, 0666);
    if (result == 0) result = mdb_env_sync(env, 1);
    mdb_env_close(env);
    readers.close(ReaderTable::Use::over);
    if (result != 0) fail(result, target.where, "cannot make the index in " + target.directory);
    sync_directory(target.directory);
}

LmdbMap::LmdbMap(const TargetFiles& target, IndexFile& file, bool read_only, bool unseen, bool for_writing)
    : target_(target), file_(file), generation_(process_generation()), flags_(MDB_NOTLS),
      for_writing_(for_writing || read_only), unseen_(unseen),
      table_(target.directory, target.writers, target.number, target.where),
      keeper_(target.directory, file.fd(), table_), readers_(table_)
{
    if (target.durability == Durability::process) flags_ |= MDB_NOSYNC;
    if (read_only) flags_ |= MDB_RDONLY;
    if (!unseen_) open(for_writing_ ? flags_ : flags_ | MDB_RDONLY);
}

LmdbMap::~LmdbMap()
{
    if (generation_ == process_generation()) close(ReaderTable::Use::over); // else the parent's: see fork.h
}

// Called where no other thread uses the map: with guard_ held exclusive, or before others know of it.
void LmdbMap::open(unsigned flags)
{
    const std::string& where = target_.where;
    const RootedPath& directory = target_.directory;
    const auto close_it = [](LmdbMap* map) { map->close(ReaderTable::Use::over); };
    std::unique_ptr<LmdbMap, decltype(close_it)> closing(this); // what goes wrong leaves it closed
    // For writing LMDB would make a file that is not there.
    if ((flags & MDB_RDONLY) == 0 && !lies_at(file_.fd(), directory / "data.mdb"))
        throw Error(-DER_DF_INVAL,
                    where + ": " + directory + "/data.mdb was removed or replaced while it was open");
    const DirectoryPath path(directory);
    int result = mdb_env_create(&env_);
    if (result != 0) fail(result, where, "cannot make an LMDB environment");
    mdb_env_set_assert(env_, on_assertion);
    mdb_env_set_userctx(env_, const_cast<std::string*>(&where));
    mdb_env_set_mapsize(env_, first_size);
    mdb_env_set_maxreaders(env_, ReaderTable::slots);
    if ((flags & MDB_RDONLY) == 0) known_failures_ = target_.line().index.all.load();
    ReaderPool::Reader* first = nullptr;
    {
        const WritersFile::Opening alone(target_.writers, target_.number, where);
        table_.open();
        if ((flags & MDB_RDONLY) == 0) keeper_.prepare(table_.descriptor());
        result = mdb_env_open(env_, path.get(), flags, 0666);
        if (result != 0) fail(result, where, "cannot open the index in " + directory + owner_of(directory));
        int fd = -1;
        mdb_env_get_fd(env_, &fd);
        if (!same_file(fd, file_.fd(), where))
            throw Error(-DER_DF_INVAL, where + ": " + directory + "/data.mdb was replaced as it was opened");
        file_.opened(fd);
        size_ = info().me_mapsize;
        free_dead_slots(env_);
        result = readers_.make(env_, first, &ReaderTable::begin_alone);
    }
    const auto deadline = std::chrono::steady_clock::now() + reader_patience;
    for (; result != 0; result = readers_.make(env_, first)) {
        if (result == MDB_MAP_RESIZED) {
            adopt_alone(); // another process made the map larger since mdb_env_open looked at its size
        } else if (result == MDB_READERS_FULL && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(1ms);
        } else {
            fail(result, where, "cannot begin to read, by a slot in " + table_.path());
        }
    }
    std::unique_ptr<ReaderPool::Reader, decltype(&ReaderPool::end)> ending(first, &ReaderPool::end);
    if (!file_.find(first->transaction, first->meta)) file_.verify_length(file_.newest());
    result = mdb_dbi_open(first->transaction, nullptr, 0, &database_);
    if (result != 0) fail(result, where, "cannot open the index");
    readers_.give_back(ending.release());
    (void)closing.release();
}

// Transactions that are not in the pool are not there any more.
void LmdbMap::close(ReaderTable::Use use)
{
    keeper_.end();
    readers_.end_all();
    if (env_ != nullptr) mdb_env_close(std::exchange(env_, nullptr));
    table_.close(use);
}

// LMDB's locks on its lock file belong to the process, and go when any descriptor of that file is closed. So
// it is closed before it is opened again, never open twice.
void LmdbMap::open_again()
{
    const auto alone = stop_transactions();
    if (for_writing_.load()) return; // another thread was faster
    if (file_.newest().page_size != file_.page_size()) file_.damaged_metas("the size of a page");
    close(ReaderTable::Use::goes_on);
    try {
        open(flags_);
    } catch (...) {
        const std::exception_ptr reason = std::current_exception();
        try {
            open(flags_ | MDB_RDONLY); // reading can go on
        } catch (const Error&) {       // who comes next is told
        }
        std::rethrow_exception(reason);
    }
    for_writing_.store(true, std::memory_order_release);
}

// ---- the map

void LmdbMap::refuse() const
{
    throw Error(-DER_IO,
                target_.where + ": the index in " + target_.directory +
                    " could not be opened again: close the pool; the error before this one says why");
}

std::unique_lock<std::shared_mutex> LmdbMap::stop_transactions()
{
    growers_.fetch_add(1);
    std::unique_lock alone(guard_);
    growers_.fetch_sub(1);
    return alone;
}

void LmdbMap::step_back() const
{
    const auto deadline = std::chrono::steady_clock::now() + grower_patience;
    while (growers_.load(std::memory_order_relaxed) != 0 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(50us);
}

void LmdbMap::grow(std::size_t seen, std::size_t wanted)
{
    const auto alone = stop_transactions();
    if (size_.load() != seen) return;      // another thread was faster
    if (free_dead_slots(env_) > 0) return; // what they kept from being used again may be enough
    std::size_t size = seen * 2;
    while (size - seen < wanted + wanted / 8)
        size *= 2;
    const int result = mdb_env_set_mapsize(env_, size);
    if (result != 0) {
        mdb_env_set_mapsize(env_, seen);
        fail(result, target_.where, "cannot map an index of " + std::to_string(size >> 20) + " MiB");
    }
    size_ = info().me_mapsize;
}

void LmdbMap::adopt()
{
    const auto alone = stop_transactions();
    adopt_alone();
}

// With guard_ held exclusive, or before others know of the map.
void LmdbMap::adopt_alone()
{
    (void)file_.newest(); // a damaged one asks for a map that there never is
    const int result = mdb_env_set_mapsize(env_, 0);
    if (result != 0)
        fail(result, target_.where, "another process made the index larger: cannot map the new size");
    size_ = info().me_mapsize;
}

// ---- writing

LmdbMap::Writing::Writing(LmdbMap& map)
{
    for (;;) {
        use_.emplace(map);
        transaction_.emplace(map.env(), nullptr);
        if (transaction_->result() == 0) return;
        if (transaction_->result() != MDB_MAP_RESIZED)
            fail(transaction_->result(), map.target_.where, "cannot begin to write");
        transaction_.reset();
        use_.reset();
        map.adopt();
    }
}

LmdbMap::OthersWait::OthersWait(LmdbMap& map, bool inherited) : Writing(map)
{
    if (!inherited) return;
    const TargetFiles& target = map.target_;
    const Meta meta = map.file_.committed_last(transaction().get());
    const Reservations::Commit none(target.reservations, target.number, meta.transaction + 1, true);
}

} // namespace stepstore::store::lmdb

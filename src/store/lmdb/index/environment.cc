#include "base/files.h"
#include "base/fork.h"
#include "store/lmdb/index/environment_use.h"
#include "store/lmdb/index/pages.h"
#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/shared_state.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <span>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

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

void Environment::create(const RootedPath& directory, const std::string& where, const PoolFiles& pool,
                         unsigned target)
{
    const DirectoryPath path(directory);
    ReaderTable readers(directory, pool.writers, target, where);
    readers.open();
    MDB_env* env = nullptr;
    int result = mdb_env_create(&env);
    if (result != 0) fail(result, where, "cannot make an index");
    mdb_env_set_mapsize(env, first_map);
    mdb_env_set_maxreaders(env, ReaderTable::slots);
    result = mdb_env_open(env, path.get(), MDB_NOTLS, 0666);
    if (result == 0) result = mdb_env_sync(env, 1);
    mdb_env_close(env);
    readers.close(ReaderTable::Use::over);
    if (result != 0) fail(result, where, "cannot make the index in " + directory);
    sync_directory(directory);
}

namespace {

Descriptor open_index(const RootedPath& path, const std::string& where)
{
    Descriptor fd = open_file(path, O_RDONLY);
    if (!fd && errno == ENOENT)
        throw Error(-DER_DF_INVAL, where + ": " + path +
                                       " is missing, and its index is lost: put the file back from a copy");
    if (!fd) fail_errno(where, "cannot open " + path + owner_of(path));
    return fd;
}

} // namespace

Environment::Environment(const RootedPath& directory, std::string where, Durability durability,
                         bool read_only, bool no_lock, bool for_writing, const PoolFiles& pool,
                         unsigned target)
    : directory_(directory), where_(std::move(where)), durability_(durability),
      generation_(process_generation()), pool_(pool), target_(target), unseen_(no_lock),
      file_(open_index(directory / "data.mdb", where_)), map_(file_.get()),
      table_(directory, pool.writers, target, where_), keeper_(directory, file_.get(), table_)
{
    const Metas metas = settled_metas(file_.get());
    if (!metas.problem.empty())
        throw Error(-DER_DF_INVAL, where_ + ": " + directory + "/data.mdb is damaged: " + metas.problem);
    page_size_ = metas.newest()->page_size;

    flags_ = MDB_NOTLS;
    if (durability == Durability::process) flags_ |= MDB_NOSYNC;
    if (read_only) flags_ |= MDB_RDONLY;
    for_writing_ = for_writing || read_only;
    if (unseen_) return;
    open(for_writing_ ? flags_ : flags_ | MDB_RDONLY);
}

// Called where no other thread uses the map: with map_guard_ held exclusive, or before others know of it.
void Environment::open(unsigned flags)
{
    const auto close_it = [](Environment* env) { env->close(ReaderTable::Use::over); };
    std::unique_ptr<Environment, decltype(close_it)> closing(this); // what goes wrong leaves it closed
    // For writing LMDB would make a file that is not there.
    if ((flags & MDB_RDONLY) == 0 && !lies_at(file_.get(), directory_ / "data.mdb"))
        throw Error(-DER_DF_INVAL,
                    where_ + ": " + directory_ + "/data.mdb was removed or replaced while it was open");
    const DirectoryPath path(directory_);
    int result = mdb_env_create(&env_);
    if (result != 0) fail(result, where_, "cannot make an LMDB environment");
    mdb_env_set_assert(env_, on_assertion);
    mdb_env_set_userctx(env_, const_cast<std::string*>(&where_));
    mdb_env_set_mapsize(env_, first_map);
    mdb_env_set_maxreaders(env_, ReaderTable::slots);
    if ((flags & MDB_RDONLY) == 0) known_failures_ = line().index.all.load();
    Reader* first = nullptr;
    {
        const WritersFile::Opening alone(pool_.writers, target_, where_);
        table_.open();
        if ((flags & MDB_RDONLY) == 0) keeper_.prepare(table_.descriptor());
        result = mdb_env_open(env_, path.get(), flags, 0666);
        if (result != 0)
            fail(result, where_, "cannot open the index in " + directory_ + owner_of(directory_));
        mdb_env_get_fd(env_, &fd_);
        if (!same_file(fd_, file_.get(), where_))
            throw Error(-DER_DF_INVAL,
                        where_ + ": " + directory_ + "/data.mdb was replaced as it was opened");
        map_size_ = info().me_mapsize;
        free_dead_slots();
        result =
            new_reader(first, [&](MDB_txn** transaction) { return table_.begin_alone(env_, transaction); });
    }
    const auto deadline = std::chrono::steady_clock::now() + reader_patience;
    for (; result != 0; result = new_reader(first)) {
        if (result == MDB_MAP_RESIZED) {
            adopt_map_alone(); // another process made the map larger since mdb_env_open looked at its size
        } else if (result == MDB_READERS_FULL && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(1ms);
        } else {
            fail(result, where_, "cannot begin to read, by a slot in " + table_.path());
        }
    }
    const auto end = [this](Reader* reader) { free_reader(reader); };
    std::unique_ptr<Reader, decltype(end)> ending(first, end);
    if (!find_meta(*first)) verify_length(newest_meta(file_.get(), where_));
    result = mdb_dbi_open(first->transaction, nullptr, 0, &database_);
    if (result != 0) fail(result, where_, "cannot open the index");
    end_read(ending.release());
    (void)closing.release();
}

// Transactions that are not in the pool are not there any more.
void Environment::close(ReaderTable::Use use)
{
    keeper_.end();
    for (auto& slot : readers_)
        if (Reader* reader = slot.exchange(nullptr)) free_reader(reader);
    if (env_ != nullptr) mdb_env_close(std::exchange(env_, nullptr));
    table_.close(use);
}

// LMDB's locks on its lock file belong to the process, and go when any descriptor of that file is closed. So
// it is closed before it is opened again, never open twice.
void Environment::open_for_writing()
{
    if (for_writing_.load(std::memory_order_acquire)) [[likely]]
        return;
    growers_.fetch_add(1);
    const std::lock_guard alone(map_guard_);
    growers_.fetch_sub(1);
    if (for_writing_.load()) return; // another thread was faster
    if (newest_meta(file_.get(), where_).page_size != page_size_) damaged_metas("the size of a page");
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

Environment::~Environment()
{
    if (generation_ == process_generation()) close(ReaderTable::Use::over); // else the parent's: see fork.h
}

// ---- the file

// The file must reach as far as the newest transaction says. Else reading a page after its end would end the
// process (SIGBUS). A good file may be a little shorter: pages that a transaction took and gave back were
// never written. So a short file is walked. If no page in use is missing it is made as long as it says. Else
// it was cut off.
void Environment::verify_length(const Meta& meta)
{
    const std::uint64_t needed = (meta.last_page + 1) * page_size_;
    if (size_of(fd_, where_) < needed) {
        const auto damage = check_pages(file_.get(), meta, 1);
        if (!damage.empty()) {
            throw Error(-DER_CSUM, where_ + ": the index file " + directory_ +
                                       "/data.mdb was cut off or damaged (" + damage.front() +
                                       "); \"stepstore pool check\" says what can be saved");
        }
        // Spares others the walk; where it cannot be done, nothing else is lost.
        (void)!fallocate(fd_, 0, static_cast<off_t>(needed - 1), 1);
    }
    raise_to(verified_page_, meta.last_page);
}

// ---- the map

void Environment::step_back() const
{
    const auto deadline = std::chrono::steady_clock::now() + grower_patience;
    while (growers_.load(std::memory_order_relaxed) != 0 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(50us);
}

void Environment::grow(std::size_t seen, std::size_t wanted)
{
    growers_.fetch_add(1);
    std::lock_guard alone(map_guard_);
    growers_.fetch_sub(1);
    if (map_size_.load() != seen) return; // another thread was faster
    if (free_dead_slots() > 0) return;    // what they kept from being used again may be enough
    std::size_t size = seen * 2;
    while (size - seen < wanted + wanted / 8)
        size *= 2;
    const int result = mdb_env_set_mapsize(env_, size);
    if (result != 0) {
        mdb_env_set_mapsize(env_, seen);
        fail(result, where_, "cannot map an index of " + std::to_string(size >> 20) + " MiB");
    }
    map_size_ = info().me_mapsize;
}

void Environment::adopt_map()
{
    growers_.fetch_add(1);
    const std::lock_guard alone(map_guard_);
    growers_.fetch_sub(1);
    adopt_map_alone();
}

// With map_guard_ held exclusive, or before others know of the map.
void Environment::adopt_map_alone()
{
    newest_meta(file_.get(), where_); // a damaged one asks for a map that there never is
    const int result = mdb_env_set_mapsize(env_, 0);
    if (result != 0) fail(result, where_, "another process made the index larger: cannot map the new size");
    map_size_ = info().me_mapsize;
}

// ---- the rest

// Beside a slot, which keeps every page of the walked version from being used again meanwhile.
std::vector<std::string> Environment::walk(std::size_t limit)
{
    std::vector<std::string> damage;
    const bool read = read_in_slot([&](const Meta&) {
        const Metas metas = settled_metas(file_.get());
        damage = metas.problem.empty() ? check_pages(file_.get(), *metas.newest(), limit)
                                       : std::vector<std::string>{metas.problem};
    });
    if (!read)
        read_unseen([&](const Meta& meta, PageCopies& copies) {
            damage = check_pages(file_.get(), meta, limit);
            copies.require_there(); // what was used again meanwhile looks like damage
        });
    return damage;
}

std::vector<std::string> Environment::check()
{
    constexpr std::size_t most = 100;
    std::vector<std::string> damage = walk(most);
    for (std::string& text : damage)
        text = where_ + ": " + directory_ + "/data.mdb: " + text;
    return damage;
}

} // namespace stepstore::store::lmdb

#include "store/lmdb/environment.h"

#include "store/lmdb/errors.h"
#include "store/lmdb/files.h"
#include "store/lmdb/fork.h"
#include "store/lmdb/pages.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t first_map = std::size_t{64} << 20; // bytes
constexpr unsigned reader_slots = 1022;
constexpr auto reader_patience = 5s;   // for a reader slot
constexpr auto grower_patience = 10ms; // that a reader leaves to a grower

// LMDB calls this instead of going on with pages that cannot be. Its C frames
// carry unwind tables on the platforms that have LMDB packaged; where they do
// not, this ends the process, as LMDB itself would.
void on_assertion(MDB_env* env, const char* text)
{
    const char* path = "";
    mdb_env_get_path(env, &path);
    throw Error(-DER_CSUM, std::string(path) + ": the index file is damaged (LMDB: " + text +
                               "); \"stepstore pool check\" says what can be saved");
}

std::size_t own_slot() noexcept
{
    static std::atomic<std::size_t> next{0};
    static thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
    return mine;
}

} // namespace

// A use of the map by one transaction, shared with all others.
class Environment::MapUse {
public:
    explicit MapUse(Environment& env) : env_(env)
    {
        if (env.growers_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            env.step_back();
        env.map_guard_.lock_shared();
    }
    ~MapUse() { env_.map_guard_.unlock_shared(); }
    MapUse(const MapUse&) = delete;
    MapUse& operator=(const MapUse&) = delete;

private:
    Environment& env_;
};

// A write transaction, aborted when it goes without having been committed.
class Environment::Transaction {
public:
    Transaction(MDB_env* env, MDB_txn* parent) : result_(mdb_txn_begin(env, parent, 0, &transaction_)) {}
    ~Transaction()
    {
        if (transaction_ != nullptr) mdb_txn_abort(transaction_);
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    int result() const { return result_; } // of beginning
    MDB_txn* get() const { return transaction_; }
    int commit() { return mdb_txn_commit(std::exchange(transaction_, nullptr)); }

private:
    MDB_txn* transaction_ = nullptr;
    int result_;
};

// ---- opening

void Environment::create(const std::string& directory, const std::string& where)
{
    MDB_env* env = nullptr;
    int result = mdb_env_create(&env);
    if (result != 0) fail(result, where, "cannot make an index");
    mdb_env_set_mapsize(env, first_map);
    mdb_env_set_maxreaders(env, reader_slots);
    result = mdb_env_open(env, directory.c_str(), MDB_NOTLS, 0666);
    if (result == 0) result = mdb_env_sync(env, 1);
    mdb_env_close(env);
    if (result != 0) fail(result, where, "cannot make the index in " + directory);
    sync_directory(directory);
}

Environment::Environment(const std::string& directory, std::string where, Durability durability, bool read_only,
                         bool no_lock)
    : directory_(directory), where_(std::move(where)), durability_(durability), generation_(process_generation())
{
    const std::string path = directory + "/data.mdb";
    Metas metas;
    {
        const Descriptor fd = open_file(path, O_RDONLY);
        if (!fd && errno == ENOENT) throw Error(-DER_DF_INVAL, where_ + ": " + path + " is missing: its index is lost");
        if (!fd) fail_errno(where_, "cannot open " + path + owner_of(path));
        metas = read_metas(fd.get());
    }
    if (!metas.problem.empty()) throw Error(-DER_DF_INVAL, where_ + ": " + path + " is damaged: " + metas.problem);
    page_size_ = metas.newest()->page_size;

    unsigned flags = MDB_NOTLS;
    if (durability == Durability::process) flags |= MDB_NOSYNC;
    if (read_only) flags |= MDB_RDONLY;
    if (no_lock) flags |= MDB_NOLOCK;
    try {
        open(flags);
    } catch (...) {
        mdb_env_close(env_);
        throw;
    }
}

void Environment::open(unsigned flags)
{
    int result = mdb_env_create(&env_);
    if (result != 0) fail(result, where_, "cannot make an LMDB environment");
    mdb_env_set_assert(env_, on_assertion);
    mdb_env_set_mapsize(env_, first_map);
    mdb_env_set_maxreaders(env_, reader_slots);
    result = mdb_env_open(env_, directory_.c_str(), flags, 0666);
    if (result != 0) fail(result, where_, "cannot open the index in " + directory_ + owner_of(directory_));
    int dead = 0;
    if ((flags & MDB_NOLOCK) == 0) mdb_reader_check(env_, &dead);
    mdb_env_get_fd(env_, &fd_);
    MDB_envinfo info;
    mdb_env_info(env_, &info);
    map_size_ = info.me_mapsize;

    Reader* first = nullptr;
    while ((first = new_reader()) == nullptr)
        adopt_map(); // another process made the map larger since mdb_env_open looked at its size
    struct Ending {
        Environment& env;
        Reader* reader;
        ~Ending() { env.free_reader(reader); }
    } ending{*this, first};
    verify_length();
    result = mdb_dbi_open(first->transaction, nullptr, 0, &database_);
    if (result != 0) fail(result, where_, "cannot open the index");
}

Environment::~Environment()
{
    if (generation_ != process_generation()) return; // the parent's: see fork.h
    for (auto& slot : readers_) {
        if (Reader* reader = slot.exchange(nullptr)) free_reader(reader);
    }
    mdb_env_close(env_);
}

// ---- reading

void Environment::read(FunctionRef<void(ReadTransaction&)> body)
{
    std::optional<MapUse> use(std::in_place, *this);
    Reader* reader = nullptr;
    while ((reader = begin_read()) == nullptr) {
        use.reset();
        adopt_map();
        use.emplace(*this);
    }
    struct Ending {
        Environment& env;
        Reader* reader;
        ~Ending() { env.end_read(reader); }
    } ending{*this, reader};
    MDB_envinfo info;
    mdb_env_info(env_, &info);
    if (info.me_last_pgno > verified_page_.load(std::memory_order_relaxed)) [[unlikely]]
        verify_length();
    LmdbRead transaction(reader->transaction, database_, reader->cursor, where_);
    body(transaction);
}

// nullptr: another process made the map larger.
Environment::Reader* Environment::begin_read()
{
    Reader* reader = nullptr;
    const std::size_t first = own_slot();
    for (std::size_t step = 0; step < pooled_readers && reader == nullptr; ++step) {
        auto& slot = readers_[(first + step) % pooled_readers];
        if (slot.load(std::memory_order_relaxed) != nullptr) reader = slot.exchange(nullptr, std::memory_order_acquire);
    }
    if (reader == nullptr) return new_reader();
    const int result = mdb_txn_renew(reader->transaction);
    if (result == 0) return reader;
    free_reader(reader);
    if (result == MDB_MAP_RESIZED) return nullptr;
    fail(result, where_, "cannot begin to read");
}

Environment::Reader* Environment::new_reader()
{
    auto reader = std::make_unique<Reader>();
    const auto deadline = std::chrono::steady_clock::now() + reader_patience;
    for (;;) {
        const int result = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader->transaction);
        if (result == 0) return reader.release();
        if (result == MDB_MAP_RESIZED) return nullptr;
        if (result != MDB_READERS_FULL || std::chrono::steady_clock::now() > deadline)
            fail(result, where_, "cannot begin to read");
        int dead = 0;
        mdb_reader_check(env_, &dead); // a process that died in a read left its slot taken
        if (dead == 0) std::this_thread::sleep_for(1ms);
    }
}

void Environment::end_read(Reader* reader)
{
    mdb_txn_reset(reader->transaction);
    const std::size_t first = own_slot();
    for (std::size_t step = 0; step < pooled_readers; ++step) {
        Reader* free = nullptr;
        auto& slot = readers_[(first + step) % pooled_readers];
        if (slot.compare_exchange_strong(free, reader, std::memory_order_release, std::memory_order_relaxed)) return;
    }
    free_reader(reader);
}

void Environment::free_reader(Reader* reader)
{
    if (reader == nullptr) return;
    if (reader->cursor != nullptr) mdb_cursor_close(reader->cursor);
    mdb_txn_abort(reader->transaction);
    delete reader;
}

// The file must reach as far as the newest transaction says, or a page behind
// its end would end the process (SIGBUS). A file may rightly be a little
// shorter: pages that a transaction took and gave back were never written. So a
// short one is walked: when no page in use is missing it is made as long as it
// says, else it was cut off.
void Environment::verify_length()
{
    MDB_envinfo info;
    mdb_env_info(env_, &info);
    const std::uint64_t needed = (info.me_last_pgno + 1) * page_size_;
    if (size_of(fd_, where_) < needed) {
        const auto damage = walk(1);
        if (!damage.empty()) {
            throw Error(-DER_CSUM, where_ + ": the index file " + directory_ + "/data.mdb was cut off or damaged (" +
                                       damage.front() + "); \"stepstore pool check\" says what can be saved");
        }
        // Spares others the walk; where it cannot be done, nothing else is lost.
        (void)!fallocate(fd_, 0, static_cast<off_t>(needed - 1), 1);
    }
    std::uint64_t known = verified_page_.load();
    while (known < info.me_last_pgno && !verified_page_.compare_exchange_weak(known, info.me_last_pgno)) {
    }
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
    int dead = 0;
    if (mdb_reader_check(env_, &dead) == 0 && dead > 0) return; // what they kept from being used again may be enough
    std::size_t size = seen * 2;
    while (size - seen < wanted + wanted / 8)
        size *= 2;
    const int result = mdb_env_set_mapsize(env_, size);
    if (result != 0) {
        mdb_env_set_mapsize(env_, seen);
        fail(result, where_, "cannot map an index of " + std::to_string(size >> 20) + " MiB");
    }
    MDB_envinfo info;
    mdb_env_info(env_, &info);
    map_size_ = info.me_mapsize;
}

void Environment::adopt_map()
{
    growers_.fetch_add(1);
    std::lock_guard alone(map_guard_);
    growers_.fetch_sub(1);
    const int result = mdb_env_set_mapsize(env_, 0);
    if (result != 0) fail(result, where_, "cannot map the index as large as another process made it");
    MDB_envinfo info;
    mdb_env_info(env_, &info);
    map_size_ = info.me_mapsize;
}

// ---- writing

void Environment::write(FunctionRef<void(WriteTransaction&)> body)
{
    if (durability_ == Durability::power)
        write_grouped(body);
    else
        write_alone(body);
}

void Environment::write_alone(FunctionRef<void(WriteTransaction&)> body)
{
    std::size_t seen = 0;
    std::size_t wanted = 0;
    while (!try_write(body, seen, wanted))
        grow(seen, wanted);
}

// False: the map was full; nothing is left of the attempt.
bool Environment::try_write(FunctionRef<void(WriteTransaction&)> body, std::size_t& map_seen, std::size_t& wanted)
{
    std::optional<MapUse> use(std::in_place, *this);
    std::optional<Transaction> transaction(std::in_place, env_, nullptr);
    while (transaction->result() == MDB_MAP_RESIZED) {
        transaction.reset();
        use.reset();
        adopt_map();
        use.emplace(*this);
        transaction.emplace(env_, nullptr);
    }
    if (transaction->result() != 0) fail(transaction->result(), where_, "cannot begin to write");
    map_seen = map_size_.load();
    LmdbWrite writer(transaction->get(), database_, where_);
    try {
        body(writer);
    } catch (...) {
        writer.close_cursor();
        wanted = writer.wanted();
        if (writer.map_full()) return false;
        throw;
    }
    writer.close_cursor();
    wanted = writer.wanted();
    if (writer.map_full()) return false;
    try {
        commit(*transaction);
    } catch (const MapFull&) {
        return false;
    }
    return true;
}

void Environment::commit(Transaction& transaction)
{
    const int result = transaction.commit();
    if (result == 0) return settle_length();
    if (result == MDB_MAP_FULL) throw MapFull{0};
    if (result == EIO) fail(reason_of_short_write(), where_, "cannot commit");
    fail(result, where_, "cannot commit");
}

// LMDB reports a write that the system cut short as EIO. The system cuts writes short where space ends.
int Environment::reason_of_short_write() const
{
    struct statvfs space {};
    if (fstatvfs(fd_, &space) == 0 && space.f_bavail * space.f_frsize < first_map) return ENOSPC;
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size_of(fd_, where_) + first_map > limit.rlim_cur)
        return EFBIG;
    return EIO;
}

// Makes the file as long as its last page says (see verify_length). Never cuts:
// another process may have gone on.
void Environment::settle_length()
{
    MDB_envinfo info;
    mdb_env_info(env_, &info);
    std::uint64_t known = verified_page_.load(std::memory_order_relaxed);
    if (info.me_last_pgno <= known) [[likely]]
        return;
    const std::uint64_t needed = (info.me_last_pgno + 1) * page_size_;
    if (size_of(fd_, where_) < needed && fallocate(fd_, 0, static_cast<off_t>(needed - 1), 1) != 0) return;
    while (known < info.me_last_pgno && !verified_page_.compare_exchange_weak(known, info.me_last_pgno)) {
    }
}

// ---- writing together

struct Environment::Waiting {
    FunctionRef<void(WriteTransaction&)> body;
    std::exception_ptr error = nullptr;
    bool done = false;
};

void Environment::write_grouped(FunctionRef<void(WriteTransaction&)> body)
{
    Waiting mine{body};
    std::unique_lock lock(queue_guard_);
    queue_.push_back(&mine);
    queue_changed_.wait(lock, [&] { return mine.done || !leading_; });
    if (!mine.done) {
        leading_ = true;
        std::vector<Waiting*> group;
        group.swap(queue_);
        lock.unlock();
        run(group);
        lock.lock();
        leading_ = false;
        for (Waiting* each : group)
            each->done = true;
        queue_changed_.notify_all();
    }
    if (mine.error) std::rethrow_exception(mine.error);
}

// Every body of the group has its result afterwards. Throws nothing.
void Environment::run(std::vector<Waiting*>& group)
{
    if (group.size() > 1) {
        try {
            std::size_t seen = 0;
            std::size_t wanted = 0;
            while (!try_together(group, seen, wanted))
                grow(seen, wanted);
            return;
        } catch (...) { // nothing of it is stored: each gets its own result below
        }
    }
    for (Waiting* each : group) {
        each->error = nullptr;
        try {
            write_alone(each->body);
        } catch (...) {
            each->error = std::current_exception();
        }
    }
}

bool Environment::try_together(std::vector<Waiting*>& group, std::size_t& map_seen, std::size_t& wanted)
{
    const MapUse use(*this);
    Transaction common(env_, nullptr);
    if (common.result() != 0) fail(common.result(), where_, "cannot begin to write");
    map_seen = map_size_.load();
    for (Waiting* each : group) {
        each->error = nullptr;
        Transaction nested(env_, common.get());
        if (nested.result() != 0) fail(nested.result(), where_, "cannot begin to write");
        LmdbWrite writer(nested.get(), database_, where_);
        try {
            each->body(writer);
        } catch (...) {
            each->error = std::current_exception();
        }
        writer.close_cursor();
        wanted = writer.wanted();
        if (writer.map_full()) return false;
        if (each->error) continue;
        if (const int result = nested.commit(); result != 0) fail(result, where_, "cannot commit");
    }
    try {
        commit(common);
    } catch (const MapFull&) {
        return false;
    }
    return true;
}

// ---- the rest

void Environment::sync()
{
    if (const int result = mdb_env_sync(env_, 1); result != 0) fail(result, where_, "cannot sync the index");
}

std::uint64_t Environment::bytes() const
{
    return allocated_of(fd_, where_);
}

// Within a read transaction, so that no page of what is walked is used again
// meanwhile: a writer keeps every page that was freed since the oldest reader
// began.
std::vector<std::string> Environment::walk(std::size_t limit) const
{
    const Metas metas = read_metas(fd_);
    if (!metas.problem.empty()) return {metas.problem};
    return check_pages(fd_, *metas.newest(), limit);
}

std::vector<std::string> Environment::check()
{
    std::vector<std::string> damage;
    read([&](ReadTransaction&) { damage = walk(100); });
    for (std::string& text : damage)
        text = where_ + ": " + directory_ + "/data.mdb: " + text;
    return damage;
}

} // namespace stepstore::store::lmdb

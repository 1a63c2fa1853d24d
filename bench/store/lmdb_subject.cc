// Raw LMDB: all processes in one environment, a transaction and a commit per put, a renewed read transaction
// per get, the value copied out. durability=process: MDB_NOSYNC; durability=power: LMDB's default, a sync per
// commit.
#include "subject.h"

#include <lmdb.h>

#include <cstring>
#include <stdexcept>
#include <sys/stat.h>

namespace stepstore::bench {

namespace {

constexpr std::size_t map_size = std::size_t{8} << 30;

void require(int result, const char* what)
{
    if (result != 0) throw std::runtime_error(std::string("raw LMDB: ") + what + ": " + mdb_strerror(result));
}

class LmdbSubject final : public Subject {
public:
    LmdbSubject(const Case& one, const std::string& directory, unsigned process)
        : Subject(one), process_(process)
    {
        require(mdb_env_create(&env_), "mdb_env_create");
        mdb_env_set_mapsize(env_, map_size);
        const unsigned flags = MDB_NOTLS | (one.power ? 0U : MDB_NOSYNC);
        require(mdb_env_open(env_, directory.c_str(), flags, 0666), "mdb_env_open");
        require(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader_), "mdb_txn_begin");
        require(mdb_dbi_open(reader_, nullptr, 0, &database_), "mdb_dbi_open");
        mdb_txn_reset(reader_);
    }
    ~LmdbSubject() override
    {
        mdb_txn_abort(reader_);
        mdb_env_close(env_);
    }
    LmdbSubject(const LmdbSubject&) = delete;
    LmdbSubject& operator=(const LmdbSubject&) = delete;

    void run(std::uint64_t place) override
    {
        const std::string name = std::to_string(process_) + "-key-" + std::to_string(100'000 + place);
        MDB_val key{name.size(), const_cast<char*>(name.data())};
        if (reads(case_)) {
            require(mdb_txn_renew(reader_), "mdb_txn_renew");
            MDB_val value{};
            require(mdb_get(reader_, database_, &key, &value), "mdb_get");
            std::memcpy(buffer_.data(), value.mv_data, value.mv_size);
            mdb_txn_reset(reader_);
            return;
        }
        MDB_val value{buffer_.size(), buffer_.data()};
        MDB_txn* transaction = nullptr;
        require(mdb_txn_begin(env_, nullptr, 0, &transaction), "mdb_txn_begin");
        require(mdb_put(transaction, database_, &key, &value, 0), "mdb_put");
        require(mdb_txn_commit(transaction), "mdb_txn_commit");
    }

private:
    unsigned process_;
    MDB_env* env_ = nullptr;
    MDB_txn* reader_ = nullptr;
    MDB_dbi database_ = 0;
};

} // namespace

void make_lmdb(const Case& one, const std::string& directory)
{
    mkdir((directory + "/lmdb").c_str(), 0777);
    LmdbSubject(one, directory + "/lmdb", 0);
}

std::unique_ptr<Subject> open_lmdb(const Case& one, const std::string& directory, unsigned process)
{
    return std::make_unique<LmdbSubject>(one, directory + "/lmdb", process);
}

} // namespace stepstore::bench

// Another process makes an index larger at a moment of this one's opening, reading and writing. Each moment
// is hit exactly: this program's LMDB functions are its own. They tell the other process to grow, before and
// after they do their work.
//
// An index above 64 MiB is mapped as it is when it is opened. So each growth makes LMDB say MDB_MAP_RESIZED.
#include "contract/backend_fixture.h"
#include "support/processes.h"

#include <dlfcn.h>
#include <lmdb.h>
#include <unistd.h>

#include <utility>

namespace stepstore::store {
namespace {

using testing::end_of;
using testing::start_child;

constexpr std::size_t above_first_map = std::size_t{66} << 20;

// The other process. It has the index open in LMDB alone, so that it needs no turn and no lock of ours.
class Grower {
public:
    explicit Grower(const std::string& index)
    {
        EXPECT_EQ(pipe(ask_), 0);
        EXPECT_EQ(pipe(answer_), 0);
        child_ = start_child([&] { return serve(index); });
        close(ask_[0]);
        close(answer_[1]);
        grow(); // it has the index open from here on
    }
    ~Grower()
    {
        close(ask_[1]);
        EXPECT_EQ(end_of(child_), 0);
        close(answer_[0]);
    }
    Grower(const Grower&) = delete;
    Grower& operator=(const Grower&) = delete;

    void grow() const
    {
        char byte = 'g';
        EXPECT_EQ(write(ask_[1], &byte, 1), 1);
        EXPECT_EQ(read(answer_[0], &byte, 1), 1);
        EXPECT_EQ(byte, 'd');
    }

private:
    int serve(const std::string& index) const
    {
        close(ask_[1]);
        MDB_env* env = nullptr;
        mdb_env_create(&env);
        mdb_env_set_mapsize(env, std::size_t{4} << 30);
        if (mdb_env_open(env, index.c_str(), MDB_NOSYNC, 0666) != 0) return 1;
        std::vector<std::byte> value(256 << 10); // has to lie together, so it goes behind the end
        char byte = 0;
        for (std::uint64_t number = 0; read(ask_[0], &byte, 1) == 1; ++number) {
            MDB_txn* transaction = nullptr;
            MDB_dbi database = 0;
            std::string name = "z" + std::to_string(number);
            MDB_val key{name.size(), name.data()};
            MDB_val content{value.size(), value.data()};
            const bool done = mdb_txn_begin(env, nullptr, 0, &transaction) == 0 &&
                              mdb_dbi_open(transaction, nullptr, 0, &database) == 0 &&
                              mdb_put(transaction, database, &key, &content, 0) == 0 &&
                              mdb_txn_commit(transaction) == 0;
            byte = done ? 'd' : 'x';
            if (write(answer_[1], &byte, 1) != 1) return 2;
        }
        return 0;
    }

    int ask_[2] = {};
    int answer_[2] = {};
    pid_t child_ = 0;
};

// Where the index grows: at the moment `at`, counted from 0. None where a transaction of ours keeps all
// others from writing.
struct Moments {
    const Grower* grower = nullptr;
    int at = 0;
    int passed = 0;
    MDB_txn* writing = nullptr;
    void pass()
    {
        if (grower != nullptr && writing == nullptr && passed++ == at) grower->grow();
    }
};
Moments moments;

template <class Function>
Function* of_lmdb(const char* name)
{
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

} // namespace

#define STEPSTORE_PASSED_ON(name, parameters, ...)                                                           \
    extern "C" int name parameters                                                                           \
    {                                                                                                        \
        static auto* const real = of_lmdb<decltype(name)>(#name);                                            \
        moments.pass();                                                                                      \
        const int result = real(__VA_ARGS__);                                                                \
        moments.pass();                                                                                      \
        return result;                                                                                       \
    }

STEPSTORE_PASSED_ON(mdb_env_create, (MDB_env * *env), env)
STEPSTORE_PASSED_ON(mdb_env_open, (MDB_env * env, const char* path, unsigned flags, mdb_mode_t mode), env,
                    path, flags, mode)
STEPSTORE_PASSED_ON(mdb_env_set_mapsize, (MDB_env * env, std::size_t size), env, size)
STEPSTORE_PASSED_ON(mdb_env_info, (MDB_env * env, MDB_envinfo* info), env, info)
STEPSTORE_PASSED_ON(mdb_env_get_fd, (MDB_env * env, mdb_filehandle_t* fd), env, fd)
STEPSTORE_PASSED_ON(mdb_reader_check, (MDB_env * env, int* dead), env, dead)
STEPSTORE_PASSED_ON(mdb_txn_renew, (MDB_txn * transaction), transaction)
STEPSTORE_PASSED_ON(mdb_dbi_open,
                    (MDB_txn * transaction, const char* name, unsigned flags, MDB_dbi* database), transaction,
                    name, flags, database)

extern "C" void mdb_env_close(MDB_env* env)
{
    static auto* const real = of_lmdb<decltype(mdb_env_close)>("mdb_env_close");
    moments.pass();
    real(env);
    moments.pass();
}

extern "C" int mdb_txn_begin(MDB_env* env, MDB_txn* parent, unsigned flags, MDB_txn** transaction)
{
    static auto* const real = of_lmdb<decltype(mdb_txn_begin)>("mdb_txn_begin");
    moments.pass();
    const int result = real(env, parent, flags, transaction);
    if (result == 0 && parent == nullptr && (flags & MDB_RDONLY) == 0) moments.writing = *transaction;
    moments.pass();
    return result;
}

extern "C" int mdb_txn_commit(MDB_txn* transaction)
{
    static auto* const real = of_lmdb<decltype(mdb_txn_commit)>("mdb_txn_commit");
    MDB_txn* const writing = moments.writing;
    moments.pass();
    const int result = real(transaction);
    moments.writing = writing == transaction ? nullptr : writing; // it may have aborted itself
    moments.pass();
    return result;
}

extern "C" void mdb_txn_abort(MDB_txn* transaction)
{
    static auto* const real = of_lmdb<decltype(mdb_txn_abort)>("mdb_txn_abort");
    moments.pass();
    real(transaction);
    if (moments.writing == transaction) moments.writing = nullptr;
    moments.pass();
}

namespace {

class Growth : public ::testing::TestWithParam<Durability> {
protected:
    void SetUp() override
    {
        const auto made = lmdb().create(path(), {1, GetParam()});
        const std::vector<std::byte> value(1 << 20, std::byte{1});
        made->target(0).write([&](WriteTransaction& transaction) {
            transaction.put(as_bytes("key"), as_bytes("value"));
            for (std::size_t n = 0; n < above_first_map / value.size(); ++n)
                transaction.put(as_bytes("a" + std::to_string(n)), value);
        });
    }
    void TearDown() override { moments = {}; }
    const Backend& lmdb() const { return backend_named("lmdb"); }
    std::string path() const { return directory_ / "pool"; }

    // The pool is opened, used and closed again and again, with the growth at one moment later each time.
    void at_every_moment(const std::function<void(Storage&)>& use)
    {
        const Grower grower(path() + "/target-000");
        int before = -1;
        for (int at = 0;; ++at) {
            moments = {&grower, at, 0, nullptr};
            EXPECT_NO_THROW({
                const auto pool = open_claimed(lmdb(), path());
                use(*pool);
            }) << "the index grew at moment "
               << at;
            const int passed = std::exchange(moments, {}).passed;
            if (HasFailure() || passed <= at) {
                EXPECT_GT(at, 20) << "moments, of which there are more in an opening";
                break;
            }
            before = passed;
        }
        EXPECT_GT(before, 0);
    }
    testing::TemporaryDirectory directory_;
};
INSTANTIATE_TEST_SUITE_P(Durabilities, Growth, ::testing::Values(Durability::process, Durability::power),
                         [](const auto& info) {
                             return info.param == Durability::power ? "power" : "process";
                         });

TEST_P(Growth, DisturbsNoReaderThatBeginsToWrite)
{
    int round = 0;
    at_every_moment([&](Storage& pool) {
        EXPECT_EQ(get(pool.target(0), "key"), "value"); // opened to read
        const std::string text = std::to_string(++round);
        put(pool.target(0), "mine", text); // opened again to write
        EXPECT_EQ(get(pool.target(0), "mine"), text);
    });
}

TEST_P(Growth, DisturbsNoWriter)
{
    int round = 0;
    at_every_moment([&](Storage& pool) {
        const std::string text = std::to_string(++round);
        put(pool.target(0), "mine", text);
        EXPECT_EQ(get(pool.target(0), "key"), "value");
        EXPECT_EQ(get(pool.target(0), "mine"), text);
        pool.target(0).sync(false);
        EXPECT_EQ(pool.target(0).check(), std::vector<std::string>{});
    });
}

TEST_P(Growth, DisturbsNoThreadThatGivesSpaceBack)
{
    at_every_moment([&](Storage& pool) {
        EXPECT_EQ(get(pool.target(0), "key"), "value");
        pool.target(0).compact();
        EXPECT_EQ(get(pool.target(0), "key"), "value");
    });
}

} // namespace
} // namespace stepstore::store

// Space comes back: from an index in use, and after writers that were killed.
#include "contract/backend_fixture.h"
#include "support/processes.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <poll.h>

namespace stepstore::store {

namespace {

using testing::end_of;
using testing::run_in_child;
using testing::start_child;

class Space : public ::testing::TestWithParam<Durability> {
protected:
    void SetUp() override { pool_ = lmdb().create(path(), {2, GetParam()}); }
    const Backend& lmdb() const { return backend_named("lmdb"); }
    std::string path() const { return directory_ / "pool"; }
    Target& target() { return pool_->target(0); }

    static std::string key_of(int number) { return "key" + std::to_string(100000 + number); }
    void fill(int count)
    {
        target().write([&](WriteTransaction& transaction) {
            for (int n = 0; n < count; ++n)
                transaction.put(as_bytes(key_of(n)), pattern(3000, static_cast<std::uint64_t>(n)));
        });
    }
    void erase(int from, int to)
    {
        target().write([&](WriteTransaction& transaction) {
            for (int n = from; n < to; ++n)
                transaction.erase(as_bytes(key_of(n)));
        });
    }
    static bool holds(ReadTransaction& transaction, int from, int to)
    {
        Bytes value;
        for (int n = from; n < to; ++n) {
            if (!transaction.get(as_bytes(key_of(n)), value) ||
                !std::ranges::equal(value, pattern(3000, static_cast<std::uint64_t>(n))))
                return false;
        }
        return true;
    }
    testing::TemporaryDirectory directory_;
    std::unique_ptr<Storage> pool_;
};

constexpr int many = 8000;
constexpr int kept = 200;

TEST_P(Space, OfAnIndexIsGivenBackWhileOthersReadAndWrite)
{
    fill(many);
    const auto full = target().usage().index;
    std::vector<pid_t> others;
    int ending[2];
    ASSERT_EQ(pipe(ending), 0);
    for (int number = 0; number < 3; ++number) {
        others.push_back(start_child([&, number] {
            close(ending[1]);
            const auto mine = open_claimed(lmdb(), path());
            for (int turn = 0;; ++turn) {
                if (number == 0)
                    put(mine->target(0), "mine" + std::to_string(turn % 50), std::to_string(turn));
                bool right = false;
                mine->target(0).read(
                    [&](ReadTransaction& transaction) { right = holds(transaction, 0, kept); });
                if (!right) return 1;
                pollfd end{ending[0], POLLIN, 0};
                if (poll(&end, 1, 0) == 1) return 0;
            }
        }));
    }
    erase(kept, many);
    for (int round = 0; round < 20; ++round) {
        target().compact();
        put(target(), "round", std::to_string(round));
    }
    EXPECT_LT(target().usage().index, full / 4);
    close(ending[1]);
    for (const pid_t other : others)
        EXPECT_EQ(end_of(other), 0);
    close(ending[0]);
    target().compact();
    EXPECT_EQ(target().check(), std::vector<std::string>{});
    fill(many); // into the holes
    target().read([&](ReadTransaction& transaction) { EXPECT_TRUE(holds(transaction, 0, many)); });
    EXPECT_EQ(target().check(), std::vector<std::string>{});
}

// Nobody asks for it: writers give it back beside their updates.
TEST_P(Space, OfAnIndexComesBackByItselfBeyondABound)
{
    constexpr int very_many = 35000;             // 137 MiB
    constexpr std::uint64_t bound = 80ULL << 20; // 64 MiB, and what is in use
    fill(very_many);
    erase(kept, very_many);
    EXPECT_GT(target().usage().index, bound);
    int updates = 0;
    const auto reader = lmdb().open(path());
    while (target().usage().index > bound && ++updates < 3000) {
        put(target(), "update", std::to_string(updates));
        reader->target(0).read([&](ReadTransaction& transaction) {
            Bytes value;
            EXPECT_TRUE(transaction.get(as_bytes("update"), value) &&
                        text_of(value) == std::to_string(updates));
        });
    }
    EXPECT_LE(target().usage().index, bound) << "after " << updates << " updates";
    target().read([&](ReadTransaction& transaction) { EXPECT_TRUE(holds(transaction, 0, kept)); });
    EXPECT_EQ(target().check(), std::vector<std::string>{});
    fill(very_many); // into the holes
    target().read([&](ReadTransaction& transaction) { EXPECT_TRUE(holds(transaction, 0, very_many)); });
    EXPECT_EQ(target().check(), std::vector<std::string>{});
}

TEST_P(Space, ThatAnOldReaderNeedsStays)
{
    fill(many);
    int begun[2];
    int done[2];
    ASSERT_EQ(pipe(begun), 0);
    ASSERT_EQ(pipe(done), 0);
    const pid_t reader = start_child([&] {
        close(done[1]);
        const auto mine = lmdb().open(path());
        bool right = false;
        mine->target(0).read([&](ReadTransaction& transaction) {
            char byte = 0;
            (void)!write(begun[1], "b", 1);
            (void)!read(done[0], &byte, 1);
            right = holds(transaction, 0, many);
        });
        return right ? 0 : 1;
    });
    char byte = 0;
    ASSERT_EQ(read(begun[0], &byte, 1), 1);
    erase(kept, many);
    put(target(), "more", "updates");
    put(target(), "more", "of them");
    const auto before = target().usage().index;
    target().compact();
    EXPECT_GT(target().usage().index, before * 3 / 4);
    close(done[1]);
    EXPECT_EQ(end_of(reader), 0);
    target().compact();
    EXPECT_LT(target().usage().index, before / 4);
    for (const int fd : {begun[0], begun[1], done[0]})
        close(fd);
}

// Opens the pool, and is killed in the middle of `body`.
void killed(const std::function<void(Storage&)>& body, const std::string& path)
{
    EXPECT_EQ(run_in_child([&] {
                  const auto mine = open_claimed(backend_named("lmdb"), path);
                  body(*mine);
                  raise(SIGKILL);
                  return 1;
              }),
              -SIGKILL);
}

void refer(Target& target, std::string_view key, const ExtentRef& extent)
{
    target.write([&](WriteTransaction& transaction) {
        transaction.put(as_bytes(key), std::as_bytes(std::span(&extent, 1)));
        target.entering(extent);
    });
}

std::vector<std::byte> read_reference(Target& target, std::string_view key)
{
    ExtentRef extent;
    const std::string stored = get(target, key);
    if (stored.size() != sizeof extent) return {};
    std::memcpy(&extent, stored.data(), sizeof extent);
    std::vector<std::byte> bytes(extent.length);
    target.read_extent(extent, 0, bytes);
    return bytes;
}

constexpr std::size_t large = 3'000'000;

TEST_P(Space, ThatKilledWritersAppendedIsGivenBackByTheNextWriter)
{
    pool_.reset();
    for (int kills = 0; kills < 10; ++kills)
        killed([](Storage& mine) { append_only(mine.target(0), {pattern(large, 1)}); }, path());
    pool_ = open_claimed(lmdb(), path());
    append_only(pool_->target(1), {as_bytes("a writer, to another target")});
    EXPECT_LT(target().usage().bulk, 100'000U);
}

TEST_P(Space, ThatKilledWritersKeptForTheNextExtentsIsGivenBackByTheNextWriter)
{
    pool_.reset();
    killed(
        [](Storage& mine) {
            for (int n = 0; n < 5; ++n) {
                const ExtentRef extent = append_only(mine.target(0), {pattern(large, 1)});
                refer(mine.target(0), "key" + std::to_string(n), extent);
            }
            for (int n = 0; n < 4; ++n) {
                ExtentRef extent;
                const std::string stored = get(mine.target(0), "key" + std::to_string(n));
                std::memcpy(&extent, stored.data(), sizeof extent);
                mine.target(0).write(
                    [&](WriteTransaction& t) { t.erase(as_bytes("key" + std::to_string(n))); });
                mine.target(0).release(extent);
            }
        },
        path());
    pool_ = open_claimed(lmdb(), path());
    append_only(target(), {as_bytes("a writer")});
    EXPECT_LT(target().usage().bulk, large + 100'000U);
    EXPECT_EQ(read_reference(target(), "key4"), pattern(large, 1));
}

TEST_P(Space, ThatIsReferredToStaysWhereverItsWriterWasKilled)
{
    pool_.reset();
    killed(
        [](Storage& mine) {
            refer(mine.target(0), "promised", append_only(mine.target(0), {pattern(large, 1)}));
            const ExtentRef other = append(mine.target(0), {pattern(large, 2)}); // promised, and not kept
            mine.target(0).write([&](WriteTransaction& transaction) {
                transaction.put(as_bytes("unpromised"), std::as_bytes(std::span(&other, 1)));
            });
        },
        path());
    killed([](Storage& mine) { append_only(mine.target(0), {pattern(large, 3)}); }, path());
    killed(
        [](Storage& mine) { // gave back what the one before left, and wrote on in its file
            refer(mine.target(0), "next", append_only(mine.target(0), {pattern(large, 4)}));
        },
        path());
    pool_ = open_claimed(lmdb(), path());
    refer(target(), "last", append_only(target(), {pattern(large, 5)}));
    EXPECT_EQ(read_reference(target(), "promised"), pattern(large, 1));
    EXPECT_EQ(read_reference(target(), "unpromised"), pattern(large, 2));
    EXPECT_EQ(read_reference(target(), "next"), pattern(large, 4));
    EXPECT_EQ(read_reference(target(), "last"), pattern(large, 5));
    EXPECT_LT(target().usage().bulk, 4 * large + 100'000U);
}

// With `key` dropped, and killed in the body or after the commit.
void killed_dropping(const std::string& key, bool committed, const std::string& path)
{
    killed(
        [&](Storage& mine) {
            const ExtentRef entering = append_only(mine.target(0), {pattern(large, 9)});
            mine.target(0).write([&](WriteTransaction& transaction) {
                Bytes stored;
                ExtentRef leaving;
                if (!transaction.get(as_bytes(key), stored)) _exit(1);
                std::memcpy(&leaving, stored.data(), sizeof leaving);
                transaction.put(as_bytes(key), std::as_bytes(std::span(&entering, 1)));
                mine.target(0).entering(entering);
                mine.target(0).leaving(leaving);
                if (!committed) raise(SIGKILL);
            });
        },
        path);
}

TEST_P(Space, ThatAKilledWriterWasCommittingIsGivenBackByANewWriter)
{
    refer(target(), "key", append_only(target(), {pattern(large, 1)}));
    pool_.reset();
    for (int kills = 0; kills < 5; ++kills)
        killed_dropping("key", false, path());
    pool_ = open_claimed(lmdb(), path());
    EXPECT_EQ(read_reference(target(), "key"), pattern(large, 1));
    append_only(pool_->target(1), {as_bytes("a writer, to another target")});
    EXPECT_LT(target().usage().bulk, large + 100'000U);
    EXPECT_EQ(read_reference(target(), "key"), pattern(large, 1));
    pool_.reset();
    for (int kills = 0; kills < 5; ++kills)
        killed_dropping("key", true, path());
    pool_ = open_claimed(lmdb(), path());
    append_only(pool_->target(1), {as_bytes("a writer, to another target")});
    EXPECT_LT(target().usage().bulk, large + 100'000U);
    EXPECT_EQ(read_reference(target(), "key"), pattern(large, 9));
}

TEST_P(Space, ThatAKilledWriterWasCommittingIsGivenBackByTheOneThatWaits)
{
    refer(target(), "key", append_only(target(), {pattern(large, 1)}));
    for (const bool committed : {false, true, false}) {
        const std::vector<std::byte> before = read_reference(target(), "key");
        killed_dropping("key", committed, path());
        put(target(), "turn", "taken over, where it was left");
        append_only(target(), {as_bytes("a writer")});
        target().compact();
        EXPECT_LT(target().usage().bulk, large + 200'000U);
        EXPECT_EQ(read_reference(target(), "key"), committed ? pattern(large, 9) : before);
    }
}

// The version that a killed writer was making may be another writer's. Then nothing tells what it dropped.
TEST_P(Space, ThatAKilledWriterDroppedStaysWhereAnotherMadeItsVersion)
{
    refer(target(), "key", append_only(target(), {pattern(large, 1)}));
    killed_dropping("key", false, path());
    put(target(), "turn", "makes that version");
    put(target(), "turn", "and the next one");
    append_only(target(), {as_bytes("a writer")});
    target().compact();
    EXPECT_EQ(read_reference(target(), "key"), pattern(large, 1));
    EXPECT_LT(target().usage().bulk, large + 200'000U);
}

TEST_P(Space, IsKeptWhenAnUpdateFailsAndAnotherMakesItsVersion)
{
    refer(target(), "key", append_only(target(), {pattern(large, 1)}));
    pool_.reset();
    killed(
        [](Storage& mine) {
            Target& target = mine.target(0);
            const ExtentRef failed = append_only(target, {pattern(large, 2)});
            try {
                target.write([&](WriteTransaction& transaction) {
                    Bytes stored;
                    ExtentRef leaving;
                    if (!transaction.get(as_bytes("key"), stored)) _exit(1);
                    std::memcpy(&leaving, stored.data(), sizeof leaving);
                    target.entering(failed);
                    target.leaving(leaving);
                    throw std::runtime_error("the update fails");
                });
            } catch (const std::runtime_error&) {
            }
            put(target, "other", "makes the version that the update would have made");
        },
        path());
    pool_ = open_claimed(lmdb(), path());
    append_only(target(), {as_bytes("a writer")});
    EXPECT_EQ(read_reference(target(), "key"), pattern(large, 1));
    EXPECT_LT(target().usage().bulk, large + 100'000U);
}

// A writer that is killed between noting a reservation and filling it; then one that takes over its file and
// knows of no notes.
TEST_P(Space, ThatIsNotedIsNeverAnothersNextExtent)
{
    constexpr std::size_t huge = 100 << 20;
    pool_.reset();
    const pid_t first = start_child([&]() -> int {
        const auto mine = open_claimed(lmdb(), path());
        for (;;)
            append_only(mine->target(0), {std::vector<std::byte>(huge)});
    });
    const auto noted = [&] {
        for (const auto& entry : std::filesystem::directory_iterator(path() + "/target-000"))
            if (entry.path().extension() == ".ext" && entry.file_size() >= huge) return true;
        return false;
    };
    while (!noted())
        usleep(100);
    kill(first, SIGKILL);
    EXPECT_EQ(end_of(first), -SIGKILL);

    const std::string writers = path() + "/writers";
    std::filesystem::rename(writers, path() + "/away");
    std::filesystem::create_directory(writers);
    pool_ = open_claimed(lmdb(), path());
    const ExtentRef extent = append(target(), {pattern(large, 2)});
    EXPECT_GE(extent.offset, huge);
    pool_.reset();
    std::filesystem::remove(writers);
    std::filesystem::rename(path() + "/away", writers);

    pool_ = open_claimed(lmdb(), path());
    target().compact();
    EXPECT_LT(target().usage().bulk, large + 100'000U);
    std::vector<std::byte> bytes(extent.length);
    target().read_extent(extent, 0, bytes);
    EXPECT_EQ(bytes, pattern(large, 2));
}

// What lies in a copy of a pool is the copy's.
TEST_P(Space, ThatIsNotedInACopyIsLeftToTheCheck)
{
    pool_.reset();
    killed([](Storage& mine) { append_only(mine.target(0), {pattern(large, 1)}); }, path());
    const std::string copy = directory_ / "copy";
    std::filesystem::copy(path(), copy, std::filesystem::copy_options::recursive);
    pool_ = open_claimed(lmdb(), copy);
    append_only(pool_->target(1), {as_bytes("a writer")});
    EXPECT_GT(target().usage().bulk, large - 100'000U);
}

// Any byte of `writers` may be damaged: nothing that is referred to goes, and nobody waits for an owner that
// never was.
TEST_P(Space, IsNotTakenFromOthersByADamagedNote)
{
    pool_.reset();
    killed(
        [](Storage& mine) {
            refer(mine.target(0), "kept", append_only(mine.target(0), {pattern(large, 1)}));
            append_only(mine.target(0), {pattern(large, 2)});
            const ExtentRef entering = append_only(mine.target(0), {pattern(large, 3)});
            mine.target(0).write([&](WriteTransaction& transaction) {
                Bytes stored;
                ExtentRef leaving;
                if (!transaction.get(as_bytes("kept"), stored)) _exit(1);
                std::memcpy(&leaving, stored.data(), sizeof leaving);
                mine.target(0).entering(entering);
                mine.target(0).leaving(leaving);
                raise(SIGKILL);
            });
        },
        path());
    const std::string writers = path() + "/writers";
    std::string content(160 << 10, '\0'); // the turns and the first slots
    std::ifstream(writers, std::ios::binary).read(content.data(), static_cast<long>(content.size()));
    const std::string index = path() + "/target-000/data.mdb";
    const std::string as_left = directory_ / "data.mdb"; // the versions there are as the notes say
    std::filesystem::copy_file(index, as_left);
    int damages = 0;
    for (std::size_t at = 0; at < content.size(); ++at) {
        if (content[at] == 0 && at >= 64) continue; // those of one turn, and all that was written
        std::string damaged = content;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
        std::filesystem::copy_file(as_left, index, std::filesystem::copy_options::overwrite_existing);
        std::ofstream file(writers, std::ios::binary | std::ios::in);
        file.write(damaged.data(), static_cast<long>(damaged.size()));
        file.close();
        const auto mine = open_claimed(lmdb(), path());
        put(mine->target(0), "turn", "taken");
        append_only(mine->target(1), {as_bytes("a writer")});
        ASSERT_EQ(read_reference(mine->target(0), "kept"), pattern(large, 1)) << "byte " << at;
        ++damages;
    }
    EXPECT_GT(damages, 64 + 20);
}

INSTANTIATE_TEST_SUITE_P(Durabilities, Space, ::testing::Values(Durability::process, Durability::power),
                         [](const auto& one) {
                             return one.param == Durability::power ? "power" : "process";
                         });

} // namespace

} // namespace stepstore::store

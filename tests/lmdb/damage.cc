// The embedded back end on damaged files: what cannot be read is said, nothing crashes, nothing else is lost.
#include "contract/backend_fixture.h"
#include "store/lmdb/index/pages.h"
#include "support/processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

namespace stepstore::store {

namespace {

using testing::run_in_child;
namespace fs = std::filesystem;

class LmdbDamage : public ::testing::Test {
protected:
    const Backend& lmdb() const { return backend_named("lmdb"); }
    std::string path() const { return directory_ / "pool"; }
    std::string file(const std::string& name) const { return path() + "/" + name; }

    // Two targets full of entries, one with values in pages of their own too.
    void SetUp() override
    {
        const auto pool = lmdb().create(path(), {2, Durability::process});
        for (unsigned target = 0; target < 2; ++target) {
            pool->target(target).write([&](WriteTransaction& transaction) {
                for (unsigned n = 0; n < 3000; ++n) {
                    const auto value = pattern(n % 50 == 0 ? 9000 : 60, n);
                    transaction.put(as_bytes("key" + std::to_string(10'000 + n)), value);
                }
            });
            pool->target(target).write([&](WriteTransaction& transaction) { // and some free pages
                for (unsigned n = 0; n < 3000; n += 7)
                    transaction.erase(as_bytes("key" + std::to_string(10'000 + n)));
            });
        }
        put(pool->meta(), "key", "value");
    }
    std::string content(const std::string& name) const
    {
        std::ifstream in(file(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void replace(const std::string& name, const std::string& bytes) const
    {
        std::ofstream(file(name), std::ios::binary | std::ios::trunc) << bytes;
    }
    // Reads a whole target in a process of its own. Returns 0 when all went well, 1 when an Error came, 2
    // when something else is wrong. A negative number: a signal ended it.
    int read_all(unsigned target) const
    {
        return run_in_child([&] {
            const int code = code_of([&] {
                const auto pool = open_claimed(lmdb(), path());
                std::uint64_t sum = 0;
                pool->target(target).read([&](ReadTransaction& transaction) {
                    Entry entry;
                    for (bool more = transaction.seek({}, entry); more; more = transaction.next(entry))
                        sum += checksum(entry.value);
                });
            });
            return code == 0                                                               ? 0
                   : code == -DER_CSUM || code == -DER_DF_INVAL || code == -DER_DF_INCOMPT ? 1
                                                                                           : 2;
        });
    }
    std::vector<std::string> check(unsigned target) const
    {
        return lmdb().open(path())->target(target).check();
    }

    testing::TemporaryDirectory directory_;
};

TEST_F(LmdbDamage, AnyFlippedByteOfTheFormatFileIsFound)
{
    const std::string good = content("stepstore.pool");
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const int flip : {0x01, 0x80, 0xff}) {
            std::string bad = good;
            bad[at] = static_cast<char>(bad[at] ^ flip);
            replace("stepstore.pool", bad);
            std::string text;
            ASSERT_EQ(code_of([&] { open_claimed(lmdb(), path()); }, &text), -DER_DF_INVAL) << at;
            ASSERT_NE(text.find(file("stepstore.pool")), std::string::npos) << text;
        }
    }
    for (std::size_t length = 0; length < good.size(); ++length) {
        replace("stepstore.pool", good.substr(0, length));
        ASSERT_EQ(code_of([&] { open_claimed(lmdb(), path()); }), -DER_DF_INVAL) << length;
    }
    EXPECT_TRUE((lmdb().look(path()) == Found::pool));
    replace("stepstore.pool", good);
    EXPECT_EQ(get(open_claimed(lmdb(), path())->meta(), "key"), "value");
}

TEST_F(LmdbDamage, ANewerOrOlderFormatIsNamedAsSuch)
{
    for (const std::string version : {"7", "1"}) {
        const std::string text = "stepstore pool\nversion " + version + "\nshape round\n";
        char sum[17];
        std::snprintf(sum, sizeof sum, "%016llx", static_cast<unsigned long long>(checksum(as_bytes(text))));
        replace("stepstore.pool", text + "checksum " + sum + "\n");
        std::string message;
        EXPECT_EQ(code_of([&] { lmdb().open(path()); }, &message), -DER_DF_INCOMPT);
        EXPECT_NE(message.find("version " + version), std::string::npos) << message;
        EXPECT_NE(message.find("version 4"), std::string::npos) << message;
    }
}

TEST_F(LmdbDamage, AnIndexCutOffAnywhereGivesAnErrorAndLeavesTheOtherTargets)
{
    const std::string good = content("target-000/data.mdb");
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{100}, std::size_t{4096}, std::size_t{5000}, std::size_t{8192},
          good.size() / 3, good.size() / 2, good.size() - 4096}) {
        replace("target-000/data.mdb", good.substr(0, length));
        EXPECT_EQ(read_all(0), 1) << length;
        EXPECT_EQ(read_all(1), 0) << length;
        EXPECT_FALSE(check(0).empty()) << length;
        EXPECT_EQ(check(1), std::vector<std::string>{});
    }
    fs::remove(file("target-000/data.mdb"));
    EXPECT_EQ(read_all(0), 1);
    EXPECT_NE(check(0).at(0).find("target-000/data.mdb"), std::string::npos);
}

TEST_F(LmdbDamage, TheMetadataCutOffKeepsThePoolFromOpening)
{
    for (const std::uintmax_t length : {4096, 100, 0}) {
        fs::resize_file(file("meta/data.mdb"), length);
        std::string text;
        EXPECT_EQ(code_of([&] { open_claimed(lmdb(), path()); }, &text), -DER_DF_INVAL);
        EXPECT_NE(text.find("pool metadata"), std::string::npos) << text;
    }
}

TEST_F(LmdbDamage, FlippedBytesInTheFirstPagesEndNoProcess)
{
    const std::string good = content("target-000/data.mdb");
    for (std::size_t page = 0; page < 2; ++page) {
        for (std::size_t at = 0; at < 152; at += 3) {
            std::string bad = good;
            bad[page * 4096 + at] = static_cast<char>(~bad[page * 4096 + at]);
            replace("target-000/data.mdb", bad);
            const int end = read_all(0);
            EXPECT_TRUE(end == 0 || end == 1) << "page " << page << ", byte " << at << ": " << end;
        }
    }
}

TEST_F(LmdbDamage, TheWalkFindsDamagedPages)
{
    const std::string good = content("target-000/data.mdb");
    const std::size_t pages = good.size() / 4096;
    std::size_t headers = 0;
    std::size_t found = 0;
    for (std::size_t page = 2; page < pages; ++page) {
        // The number, kind and bounds in the header of a page of the tree; what is free or holds a value's
        // bytes is passed over.
        const auto flags = static_cast<unsigned char>(good[page * 4096 + 10]);
        if (flags != 1 && flags != 2) continue;
        ++headers;
        std::string bad = good;
        bad[page * 4096 + headers % 16] = static_cast<char>(~bad[page * 4096 + headers % 16]);
        if (headers % 16 >= 8 && headers % 16 < 10) continue; // mp_pad says nothing
        replace("target-000/data.mdb", bad);
        const auto damage = check(0);
        if (damage.empty()) continue; // an old page that no transaction reaches any more
        ++found;
        EXPECT_NE(damage[0].find("page " + std::to_string(page)), std::string::npos) << damage[0];
    }
    EXPECT_GT(headers, 60U);
    EXPECT_GT(found, 40U);
    replace("target-000/data.mdb", good);
    EXPECT_EQ(check(0), std::vector<std::string>{});
}

TEST_F(LmdbDamage, AValueWhoseLengthGrewIsNotReadBeyondItsPage)
{
    const std::string good = content("target-000/data.mdb");
    const std::size_t key = good.rfind("key12999");
    ASSERT_NE(key, std::string::npos);
    std::size_t refused = 0;
    for (std::size_t at = good.find("key12999"); at != std::string::npos;
         at = good.find("key12999", at + 1)) {
        std::string bad = good;
        bad[at - 8 + 2] = '\x7f'; // the upper half of the value's length: 2 GiB
        bad[at - 8 + 3] = '\x7f';
        replace("target-000/data.mdb", bad);
        const int end = read_all(0);
        EXPECT_TRUE(end == 0 || end == 1) << end;
        refused += end == 1;
    }
    EXPECT_GE(refused, 1U);
}

// Where the list of free pages, of one page itself, keeps its versions and numbers.
class ListOfFreePages {
public:
    explicit ListOfFreePages(const std::string& file) : file_(file)
    {
        const std::size_t meta = number(144) > number(4096 + 144) ? 0 : 4096;
        EXPECT_EQ(half(meta + 46), 1U) << "the list is one page";
        const std::size_t page = 4096 * number(meta + 80);
        for (std::size_t place = page + 16; place < page + half(page + 12); place += 2) {
            const std::size_t node = page + half(place);
            versions.push_back(node + 8);
            if (half(node + 4) != 0) continue; // in pages of its own
            for (std::size_t at = 8; at < half(node); at += 8)
                numbers.push_back(node + 16 + at);
        }
    }
    std::uint64_t number(std::size_t at) const { return read<std::uint64_t>(at); }
    std::vector<std::size_t> versions, numbers;

private:
    std::size_t half(std::size_t at) const { return read<std::uint16_t>(at); }
    template <class T>
    T read(std::size_t at) const
    {
        T value;
        std::memcpy(&value, file_.data() + at, sizeof value);
        return value;
    }
    const std::string& file_;
};

// How many of some updates failed, of which each changes one page more than the one before.
int failed_updates(Target& target)
{
    int failed = 0;
    for (int pages = 1; pages <= 20; ++pages) {
        const auto update = [&] {
            target.write([&](WriteTransaction& transaction) {
                for (int n = 0; n < pages; ++n)
                    transaction.put(as_bytes("key" + std::to_string(10'000 + 140 * n)), pattern(60, 1));
            });
        };
        failed += code_of(update) != 0;
    }
    return failed;
}

// LMDB believes in which version a page was freed, and which pages are free: it takes from there in every
// commit.
TEST_F(LmdbDamage, UpdatesGoOnOrFailWithADamagedListOfFreePages)
{
    const std::string name = "target-000/data.mdb";
    {
        const auto pool = open_claimed(lmdb(), path());
        for (int round = 0; round < 6; ++round)
            put(pool->target(0), "key1" + std::to_string(round) + "999", "another value");
    }
    const std::string good = content(name);
    const ListOfFreePages list(good);
    ASSERT_GT(list.versions.size(), 1U);
    ASSERT_GT(list.numbers.size(), 4U);
    const auto update_with = [&](std::size_t at, char low) {
        std::string bad = good;
        bad[at] = low;
        replace(name, bad);
        return run_in_child([&] {
            alarm(10);
            return failed_updates(open_claimed(lmdb(), path())->target(0));
        });
    };
    for (const std::size_t at : list.versions) {
        EXPECT_EQ(update_with(at + 2, 0x10), 20) << "a version that does not exist yet";
        EXPECT_GE(update_with(at, static_cast<char>(good[at] + 1)), 0);
    }
    // A page that is free twice, in lists that descend all the same. Where LMDB notices, nobody waits for its
    // lock afterwards. What it does where it does not notice is not promised.
    for (const std::size_t at : list.numbers) {
        for (const std::size_t other : list.numbers) {
            const std::uint64_t changed =
                (list.number(at) & ~std::uint64_t{0xff}) | (list.number(other) & 0xff);
            const bool descends = changed > list.number(at + 8) && changed < list.number(at - 8);
            if (!descends || changed == list.number(at)) continue;
            ASSERT_NE(update_with(at, good[other]), -SIGALRM) << "byte " << at;
        }
    }
}

// The same while a process that writes has the pool open.
TEST_F(LmdbDamage, UpdatesGoOnOrFailWithAListOfFreePagesThatIsDamagedAfterAnUpdate)
{
    const std::string name = "target-000/data.mdb";
    const std::string good = content(name);
    int failed = 0;
    for (std::size_t index = 0; index < 3; ++index) {
        for (const int change : {0x01, 0x02, 0x03, 0x04, 0x06, 0x08, 0x10}) {
            replace(name, good);
            const int end = run_in_child([&] {
                alarm(20);
                const auto pool = open_claimed(lmdb(), path());
                for (int n = 0; n < 5; ++n)
                    put(pool->target(0), "another key " + std::to_string(n), "value");
                const std::string now = content(name);
                const ListOfFreePages list(now);
                if (index >= list.versions.size()) return 0;
                const std::size_t at = list.versions[index];
                std::fstream(file(name), std::ios::binary | std::ios::in | std::ios::out)
                    .seekp(static_cast<std::streamoff>(at))
                    .put(static_cast<char>(now[at] ^ change));
                return failed_updates(pool->target(0));
            });
            EXPECT_GE(end, 0) << "version " << index << ", xor " << change;
            failed += end > 0;
        }
    }
    EXPECT_GT(failed, 0);
}

TEST_F(LmdbDamage, AnExtentFileCutOffOrLostIsNamed)
{
    ExtentRef extent;
    std::string name;
    {
        const auto pool = open_claimed(lmdb(), path());
        extent = append(pool->target(1), {pattern(100'000, 1)});
        char number[32];
        std::snprintf(number, sizeof number, "%016llx.ext", static_cast<unsigned long long>(extent.file));
        name = std::string("target-001/") + number;
    }
    std::vector<std::byte> bytes(100'000);
    std::string text;
    fs::resize_file(file(name), extent.offset + 60'000);
    {
        const auto pool = open_claimed(lmdb(), path());
        EXPECT_EQ(code_of([&] { pool->target(1).read_extent(extent, 0, bytes); }, &text), -DER_CSUM);
        EXPECT_NE(text.find(file(name)), std::string::npos) << text;
        pool->target(1).read_extent(extent, 0, MutableBytes(bytes).first(60'000)); // what is there is given
        EXPECT_TRUE(std::ranges::equal(Bytes(bytes).first(60'000), Bytes(pattern(100'000, 1)).first(60'000)));
    }
    fs::remove(file(name));
    const auto pool = open_claimed(lmdb(), path());
    EXPECT_EQ(code_of([&] { pool->target(1).read_extent(extent, 0, bytes); }, &text), -DER_CSUM);
    EXPECT_NE(text.find(file(name)), std::string::npos) << text;
}

TEST_F(LmdbDamage, TheClockFileDamagedOrLostIsNamed)
{
    const std::string good = content("shared");
    for (const std::string& bad : {std::string(), good.substr(1), "X" + good.substr(1), good + "more"}) {
        replace("shared", bad);
        std::string text;
        EXPECT_EQ(code_of([&] { open_claimed(lmdb(), path()); }, &text), -DER_DF_INVAL);
        EXPECT_NE(text.find(file("shared")), std::string::npos) << text;
    }
    fs::remove(file("shared"));
    EXPECT_EQ(code_of([&] { open_claimed(lmdb(), path()); }), -DER_DF_INVAL);
}

TEST_F(LmdbDamage, AnOlderClockAfterAPowerFailureGoesOnAboveItsCeiling)
{
    const std::string power = directory_ / "power";
    Epoch last = 0;
    std::string early;
    {
        const auto pool = lmdb().create(power, {1, Durability::power});
        pool->next_epoch();
        std::ifstream in(power + "/shared", std::ios::binary);
        early.assign(std::istreambuf_iterator<char>(in), {});
        last = pool->next_epoch();
    }
    // As a power failure leaves it: the page as it was synced, another boot, and a real-time clock that was
    // set back. A clock set back is the same as epochs that lie ahead of it.
    constexpr std::uint64_t ahead = 3'600'000'000'000;
    const auto word = [&](std::size_t at) {
        return load_little<std::uint64_t>(reinterpret_cast<const std::byte*>(early.data() + at));
    };
    const auto set = [&](std::size_t at, std::uint64_t value) {
        store_little(reinterpret_cast<std::byte*>(early.data() + at), value);
    };
    ASSERT_GT(word(128), last) << "the ceiling lies above what was given";
    set(128, word(128) + ahead);
    set(144, word(144) + 1);
    std::ofstream(power + "/shared", std::ios::binary | std::ios::trunc) << early;
    EXPECT_GT(open_claimed(lmdb(), power)->next_epoch(), last + ahead);
}

// A process that opens a target reads its meta pages while another process commits.
TEST_F(LmdbDamage, AMetaPageThatIsJustWrittenIsReadAgain)
{
    const int fd = ::open(file("target-000/data.mdb").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    constexpr off_t last_page = 4096 + 136; // of the second meta page
    std::uint64_t torn = UINT64_MAX, whole = 0;
    ASSERT_EQ(::pread(fd, &whole, sizeof whole, last_page), 8);
    std::atomic<bool> ends{false};
    std::thread writer([&] {
        while (!ends) {
            --torn; // no two commits write the same page
            EXPECT_EQ(::pwrite(fd, &torn, sizeof torn, last_page), 8);
            EXPECT_EQ(::pwrite(fd, &whole, sizeof whole, last_page), 8);
        }
    });
    // The writer may lose its processor in the middle, which no commit does: then some are reported.
    unsigned seen_torn = 0, reported = 0;
    for (unsigned look = 0; look < 10'000'000 && seen_torn < 5000; ++look) {
        if (!lmdb::read_metas(fd).problem.empty()) ++seen_torn;
        if (lmdb::settled_metas(fd).problem.empty()) continue;
        ++reported;
        while (!lmdb::read_metas(fd).problem.empty()) // until the writer goes on
            std::this_thread::yield();
    }
    ends = true;
    writer.join();
    EXPECT_EQ(seen_torn, 5000U);
    EXPECT_LT(reported, 1000U); // a machine with much else to do
    EXPECT_EQ(::pwrite(fd, &torn, sizeof torn, last_page), 8);
    EXPECT_EQ(lmdb::settled_metas(fd).problem, "a meta page is damaged");
    ::close(fd);
}

// Calls that read, of this process. 0: the system does not count them.
std::uint64_t reads_so_far()
{
    std::ifstream counted("/proc/self/io");
    std::uint64_t calls = 0;
    for (std::string name; counted >> name;)
        if (name == "syscr:") counted >> calls;
    return calls;
}

// A process that goes on with a damaged index looks at its meta pages with every read.
TEST_F(LmdbDamage, ADamagedMetaPageIsLookedAtLongOnlyOnce)
{
    if (reads_so_far() == 0) GTEST_SKIP() << "/proc/self/io does not count reads";
    const int fd = ::open(file("target-000/data.mdb").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    for (const std::uint64_t damage : {UINT64_MAX, UINT64_MAX - 1}) {
        EXPECT_EQ(::pwrite(fd, &damage, sizeof damage, 4096 + 136), 8);
        std::uint64_t before = reads_so_far();
        EXPECT_THROW(lmdb::newest_meta(fd, "a test"), Error);
        EXPECT_GT(reads_so_far() - before, 1000U); // it might be just written
        before = reads_so_far();
        for (int again = 0; again < 100; ++again)
            EXPECT_THROW(lmdb::newest_meta(fd, "a test"), Error);
        EXPECT_LT(reads_so_far() - before, 500U);
    }
    ::close(fd);
}

} // namespace

} // namespace stepstore::store

// Pools in files: what is theirs alone. What they share with other pools is in contract.store and *_in_files.
#include "store/failure.h"
#include "support/processes.h"
#include "support/store_fixture.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace stepstore::testing {
namespace {

namespace fs = std::filesystem;

class FilesPool : public ::testing::Test {
protected:
    void SetUp() override { open(); }
    void open()
    {
        if (!fs::exists(path)) {
            PoolOptions options;
            options.backend = "files";
            Pool::create(path, options)->create_container(uuid_of(1), "test", {});
        }
        pool = Pool::open(path, Access::read_write);
        container = pool->open_container("test");
    }
    void close()
    {
        container.reset();
        pool.reset();
    }
    // The files of a pool whose names contain this.
    std::vector<fs::path> files(const std::string& name) const
    {
        std::vector<fs::path> found;
        for (const auto& entry : fs::recursive_directory_iterator(path))
            if (entry.path().filename().string().find(name) != std::string::npos)
                found.push_back(entry.path());
        std::ranges::sort(found);
        return found;
    }
    std::string found_in_check(bool repair = false)
    {
        std::string all;
        for (const CheckFinding& one : Pool::check(path, {.data = true, .repair = repair}).findings)
            if (one.severity != CheckFinding::Severity::info) all += one.where + ": " + one.what + "\n";
        return all;
    }
    std::uintmax_t bytes() const
    {
        std::uintmax_t sum = 0;
        for (const auto& entry : fs::recursive_directory_iterator(path))
            if (entry.is_regular_file() && !entry.is_symlink()) sum += entry.file_size();
        return sum;
    }
    static void flip_last_byte(const fs::path& file)
    {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(-1, std::ios::end);
        const char last = static_cast<char>(stream.get());
        stream.seekp(-1, std::ios::end);
        stream.put(static_cast<char>(last ^ 1));
    }

    TemporaryDirectory directory;
    const std::string path = directory / "pool";
    std::shared_ptr<Pool> pool;
    std::shared_ptr<Container> container;
};

TEST_F(FilesPool, IsFoundByItsPathWithAndWithoutItsScheme)
{
    EXPECT_EQ(Pool::open("shared:" + path, Access::read_only)->uuid(), pool->uuid());
    EXPECT_EQ(Pool::list(directory.path().string()), std::vector<std::string>{path});
    PoolOptions options;
    EXPECT_EQ(der_of([&] { Pool::create(path, options); }), DER_EXIST);
    EXPECT_EQ(der_of([&] { Pool::create("shared:" + path, options); }), DER_EXIST);
    options.target_directories = {directory.path().string()};
    EXPECT_EQ(der_of([&] { Pool::create("shared:" + (directory / "other"), options); }), DER_NOTSUPPORTED);
    EXPECT_FALSE(fs::exists(directory / "other"));
}

TEST_F(FilesPool, IsNoPoolOfAnotherKind)
{
    const std::string other = directory / "other";
    Pool::create(other, {})->create_container(uuid_of(2), "test", {});
    std::string message;
    EXPECT_EQ(der_of([&] { Pool::open("shared:" + other, Access::read_only); }, &message), DER_INVAL);
    EXPECT_NE(message.find("leave out shared:"), std::string::npos) << message;
    EXPECT_EQ(der_of([&] { Pool::create("shared:" + other, {}); }), DER_INVAL);
    EXPECT_EQ(der_of([&] { Pool::destroy("shared:" + other); }), DER_INVAL);
    EXPECT_TRUE(Pool::open(other, Access::read_only)->open_container("test"));
    EXPECT_EQ(der_of([&] { Pool::open("shared:" + (directory / "none"), Access::read_only); }), DER_NONEXIST);
}

TEST_F(FilesPool, HasNoSnapshotsAndSaysSo)
{
    std::string message;
    EXPECT_EQ(der_of([&] { container->create_snapshot("s"); }, &message), DER_NOTSUPPORTED);
    EXPECT_NE(message.find("a pool of another kind"), std::string::npos) << message;
    EXPECT_TRUE(container->snapshots().empty());
}

TEST_F(FilesPool, AHandleOfADestroyedPoolTouchesNothingOfTheNextOne)
{
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("old"));
    ASSERT_EQ(run_in_child([&] { return Pool::destroy(path), 0; }), 255) << "open in this process";
    ASSERT_EQ(system(("rm -r " + path).c_str()), 0);
    const auto old = container;
    const auto old_pool = pool;
    open();
    EXPECT_NE(der_of([&] { old->kv_put(kv_object(1), as_bytes("key"), as_bytes("late")); }), 0);
    EXPECT_NE(der_of([&] { write_cells(*old, array_object(2), {}, 0, pattern(10, 1)); }), 0);
    EXPECT_EQ(der_of([&] { old_pool->create_container(uuid_of(7), "late", {}); }), DER_STALE);
    EXPECT_TRUE(container->objects().empty());
    EXPECT_EQ(pool->containers().size(), 1U);
}

TEST_F(FilesPool, ADamagedValueIsReportedAndAffectsNoOther)
{
    for (int key = 0; key < 20; ++key)
        container->kv_put(kv_object(1), as_bytes("key-" + std::to_string(key)), pattern(100, 1));
    const std::string long_key(400, 'k');
    container->kv_put(kv_object(1), as_bytes(long_key), pattern(100, 2));
    flip_last_byte(files("key-7@1").at(0));
    EXPECT_EQ(der_of([&] { kv_read(*container, kv_object(1), as_bytes("key-7")); }), DER_CSUM);
    EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes("key-8")), pattern(100, 1));
    EXPECT_EQ(list_keys(*container, kv_object(1)).size(), 21U) << "its name is whole";
    EXPECT_NE(found_in_check().find("key-7"), std::string::npos);
    // A listing needs the file of a long key.
    flip_last_byte(files("~").at(0));
    ListPosition position;
    int keys = 0, errors = 0;
    while (!position.done) {
        errors += der_of([&] {
                      container->kv_list(kv_object(1), position, [&](Bytes) { return ++keys > 0; });
                  }) == DER_CSUM;
        ASSERT_LT(errors, 3);
    }
    EXPECT_EQ(errors, 1);
    EXPECT_EQ(keys, 20);
    container->kv_put(kv_object(1), as_bytes("key-7"), pattern(50, 3)); // mends it
    container->kv_put(kv_object(1), as_bytes(long_key), pattern(50, 4));
    EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes("key-7")), pattern(50, 3));
    EXPECT_EQ(found_in_check(), "");
}

TEST_F(FilesPool, ADamagedEntryIsReportedAndIsNoMissingObject)
{
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("value"));
    write_cells(*container, array_object(2), {}, 0, pattern(100, 1));
    close();
    const fs::path entry = files(store::text(array_object(2))).at(0);
    std::string text = fs::read_symlink(entry).string();
    text[2] = static_cast<char>(text[2] ^ 1);
    fs::remove(entry);
    fs::create_symlink(text, entry);
    open();
    EXPECT_EQ(der_of([&] { read_cells(*container, array_object(2), {}, 0, 10); }), DER_CSUM);
    EXPECT_EQ(der_of([&] { write_cells(*container, array_object(2), {}, 0, pattern(10, 1)); }), DER_CSUM);
    EXPECT_TRUE(kv_read(*container, kv_object(1), as_bytes("key")));
    EXPECT_NE(found_in_check().find("entry is damaged"), std::string::npos);
}

TEST_F(FilesPool, ReplacedValuesLeaveFewNamesAndNoBytes)
{
    for (int round = 0; round < 300; ++round) {
        container->kv_put(kv_object(1), as_bytes("small"), pattern(100, static_cast<std::uint64_t>(round)));
        container->kv_put(kv_object(1), as_bytes("large"),
                          pattern(1 << 20, static_cast<std::uint64_t>(round)));
    }
    EXPECT_LE(files("small@").size(), 10U);
    EXPECT_LE(files("large@").size(), 10U);
    EXPECT_LT(bytes(), std::uintmax_t{1'100'000});
    EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes("large")), pattern(1 << 20, 299));
}

TEST_F(FilesPool, RemovedKeysStayRemovedAndCompactingDropsTheirNames)
{
    for (int key = 0; key < 50; ++key) {
        const std::string name = "gone-" + std::to_string(key);
        container->kv_put(kv_object(1), as_bytes(name), as_bytes("value"));
        EXPECT_TRUE(container->kv_remove(kv_object(1), as_bytes(name)));
        EXPECT_FALSE(container->kv_remove(kv_object(1), as_bytes(name)));
    }
    container->kv_put(kv_object(1), as_bytes("gone-7"), as_bytes("again"));
    EXPECT_EQ(list_keys(*container, kv_object(1)), std::vector<std::string>{"gone-7"});
    EXPECT_EQ(files("gone-8@").size(), 2U);
    pool->compact();
    EXPECT_EQ(files("gone-8@").size(), 0U);
    EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes("gone-7")), to_bytes("again"));
    container->kv_put(kv_object(1), as_bytes("gone-8"), as_bytes("new"));
    EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes("gone-8")), to_bytes("new"));
    // Not while another process updates.
    int ready[2], go[2];
    ASSERT_EQ(pipe(ready) + pipe(go), 0);
    const pid_t other = start_child([&] {
        container->kv_put(kv_object(1), as_bytes("child"), as_bytes("value"));
        char byte = 'x';
        return write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1 ? 0 : 1;
    });
    char byte = 'x';
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(der_of([&] { pool->compact(); }), DER_BUSY);
    ASSERT_EQ(write(go[1], &byte, 1), 1);
    EXPECT_EQ(end_of(other), 0);
    found_in_check(true); // a forked child does not clean up
    pool->compact();
}

// A key-value object of which some keys were replaced, some removed, and some are long.
void fill(Container& container, const ObjectId& oid, int keys)
{
    for (int key = 0; key < keys; ++key) {
        const std::string name =
            key % 7 == 3 ? std::string(200, 'k') + std::to_string(key) : "key/" + std::to_string(key);
        const auto number = static_cast<std::uint64_t>(key);
        container.kv_put(oid, as_bytes(name), pattern(10 + number % 900, number));
        if (key % 3 == 0) container.kv_put(oid, as_bytes(name), pattern(20 + number % 900, number + 1));
        if (key % 5 == 0) container.kv_remove(oid, as_bytes(name));
    }
}

std::map<std::string, std::vector<std::byte>> content(Container& container, const ObjectId& oid)
{
    std::map<std::string, std::vector<std::byte>> found;
    for (const std::string& key : list_keys(container, oid))
        found[key] = kv_read(container, oid, as_bytes(key)).value_or(std::vector<std::byte>{});
    return found;
}

TEST_F(FilesPool, CompactingPutsTheKeysOfAnObjectIntoOneFile)
{
    fill(*container, kv_object(1), 300);
    const auto before = content(*container, kv_object(1));
    ASSERT_EQ(before.size(), 240U);
    const std::uint64_t names = files("").size();
    const auto told = pool->compact();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(files("@").size(), 1U) << "the label of the container";
    EXPECT_EQ(files("packed").size(), 1U);
    EXPECT_LT(files("").size(), names / 10);
    EXPECT_EQ(told[0].files_before - told[0].files_after, names - files("").size());
    EXPECT_LT(told[0].index_after, told[0].index_before);
    EXPECT_EQ(content(*container, kv_object(1)), before);
    EXPECT_EQ(found_in_check(), "");
    // Nothing to do: nothing is done.
    const auto file = files("packed");
    pool->compact();
    EXPECT_EQ(files("packed"), file);
}

TEST_F(FilesPool, PackedKeysAreReplacedRemovedAndComparedAsOthers)
{
    fill(*container, kv_object(1), 100);
    pool->compact();
    auto expected = content(*container, kv_object(1));
    const auto one = as_bytes("key/1"), two = as_bytes("key/2"), four = as_bytes("key/4");
    std::vector<std::byte> room(4096);
    Replaced replaced{room, {}};
    EXPECT_EQ(der_of([&] { container->kv_put(kv_object(1), one, one, Condition::must_not_exist); }),
              DER_EXIST);
    EXPECT_EQ(der_of([&] { container->kv_put(kv_object(1), one, one, Precondition::equals(two)); }),
              DER_MISMATCH);
    container->kv_put(kv_object(1), one, to_bytes("new"), Precondition::equals(expected["key/1"]), &replaced);
    EXPECT_EQ(replaced.size, expected["key/1"].size());
    EXPECT_TRUE(std::ranges::equal(Bytes(room).first(expected["key/1"].size()), expected["key/1"]));
    EXPECT_TRUE(container->kv_remove(kv_object(1), two));
    EXPECT_FALSE(container->kv_remove(kv_object(1), two));
    EXPECT_TRUE(container->kv_remove(kv_object(1), four));
    container->kv_put(kv_object(1), four, to_bytes("again"), Condition::must_not_exist);
    EXPECT_EQ(der_of([&] { container->kv_put(kv_object(1), two, two, Condition::must_exist); }),
              DER_NONEXIST);
    container->kv_put(kv_object(1), as_bytes("key/0"), to_bytes("it was removed before"));
    for (int round = 0; round < 30; ++round)
        container->kv_put(kv_object(1), as_bytes("key/8"), pattern(100, static_cast<std::uint64_t>(round)));
    EXPECT_LE(files("key%2f8@").size(), 10U);
    expected["key/1"] = to_bytes("new");
    expected.erase("key/2");
    expected["key/4"] = to_bytes("again");
    expected["key/0"] = to_bytes("it was removed before");
    expected["key/8"] = pattern(100, 29);
    EXPECT_EQ(content(*container, kv_object(1)), expected);
    EXPECT_EQ(found_in_check(), "");
    pool->compact();
    EXPECT_EQ(files("packed").size(), 1U);
    EXPECT_EQ(content(*container, kv_object(1)), expected);
    close();
    open();
    EXPECT_EQ(content(*container, kv_object(1)), expected);
    container->punch(kv_object(1));
    EXPECT_FALSE(container->holds(kv_object(1), latest));
    EXPECT_EQ(files("packed").size(), 0U);
}

TEST_F(FilesPool, AListingGoesOnWhereItWasWhenTheKeysArePackedMeanwhile)
{
    fill(*container, kv_object(1), 300);
    auto before = list_keys(*container, kv_object(1));
    std::ranges::sort(before);
    const auto reader = Pool::open(path, Access::read_only)->open_container("test");
    std::multiset<std::string> seen;
    ListPosition position;
    for (int part = 0; !position.done; ++part) {
        int count = 0;
        reader->kv_list(kv_object(1), position,
                        [&](Bytes key) {
                            if (++count > 17) return false; // it comes again
                            seen.emplace(as_text(key));
                            return true;
                        },
                        latest, {});
        if (part == 3) pool->compact();
    }
    EXPECT_EQ(std::vector<std::string>(seen.begin(), seen.end()), before);
}

// The directories of the old data as a reader sees them that opened them before the keys were packed, and
// lists them when they have been emptied.
void put_empty_buckets(const std::vector<fs::path>& buckets)
{
    for (const fs::path& bucket : buckets)
        fs::create_directories(bucket);
}

std::vector<fs::path> buckets_of(const std::vector<fs::path>& values)
{
    std::vector<fs::path> found;
    for (const fs::path& value : values)
        if (value.string().find("/data/") != std::string::npos) found.push_back(value.parent_path());
    return found;
}

TEST_F(FilesPool, AReaderThatSeesEmptiedDirectoriesLooksAgain)
{
    for (int key = 0; key < 100; ++key)
        container->kv_put(kv_object(1), as_bytes("key-" + std::to_string(key)), pattern(100, 1));
    const auto old = buckets_of(files("@"));
    ASSERT_GT(old.size(), 60U);
    EXPECT_TRUE(kv_read(*container, kv_object(1), as_bytes("key-1"))); // the handle knows where the keys are
    std::set<std::string> listed;
    ListPosition position;
    container->kv_list(kv_object(1), position,
                       [&](Bytes key) {
                           if (listed.size() == 20) {
                               Pool::open(path, Access::read_write)->compact();
                               put_empty_buckets(old);
                           }
                           listed.emplace(as_text(key));
                           return true;
                       },
                       latest, {});
    EXPECT_EQ(listed.size(), 100U);
    for (int key = 0; key < 100; ++key)
        EXPECT_TRUE(kv_read(*container, kv_object(1), as_bytes("key-" + std::to_string(key)))) << key;
}

TEST_F(FilesPool, ThreadsThatUpdateWhileOneCompactsLoseNothing)
{
    std::atomic<bool> done{false};
    std::vector<std::map<std::string, int>> put(2);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread) {
        threads.emplace_back([&, thread] {
            for (int round = 0; !done; ++round) {
                const std::string key = "key-" + std::to_string(thread) + "-" + std::to_string(round % 50);
                try {
                    container->kv_put(kv_object(1), as_bytes(key), as_bytes(std::to_string(round)));
                    put[static_cast<std::size_t>(thread)][key] = round;
                } catch (const Error& error) {
                    if (error.code() != -DER_BUSY) throw;
                }
                if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
        });
    }
    int compacted = 0;
    for (int round = 0; round < 20'000 && compacted < 20; ++round) {
        try {
            pool->compact();
            ++compacted;
        } catch (const Error& error) {
            ASSERT_EQ(error.code(), -DER_BUSY) << error.what();
        }
    }
    done = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_GT(compacted, 0);
    for (const auto& keys : put)
        for (const auto& [key, round] : keys)
            EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes(key)), to_bytes(std::to_string(round)))
                << key;
}

TEST_F(FilesPool, DamageInPackedKeysIsFoundAndNamed)
{
    for (int key = 0; key < 100; ++key)
        container->kv_put(kv_object(1), as_bytes("key-" + std::to_string(key)), pattern(1000, 1));
    pool->compact();
    const fs::path file = files("packed").at(0);
    const std::string whole = [&] {
        std::ifstream in(file, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }();
    const auto write = [&](const std::string& bytes) {
        std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    };
    for (const std::size_t at : {std::size_t{30}, whole.size() / 2, whole.size() - 5}) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
        write(bytes);
        EXPECT_NE(found_in_check(), "") << "byte " << at;
        EXPECT_EQ(der_of([&] { content(*container, kv_object(1)); }), DER_CSUM) << "byte " << at;
    }
    write(whole.substr(0, whole.size() / 2));
    EXPECT_NE(found_in_check(), "");
    fs::remove(file);
    EXPECT_NE(found_in_check().find("is missing"), std::string::npos);
    EXPECT_EQ(der_of([&] { kv_read(*container, kv_object(1), as_bytes("key-1")); }), DER_CSUM);
    EXPECT_EQ(der_of([&] { list_keys(*container, kv_object(1)); }), DER_CSUM);
    EXPECT_EQ(der_of([&] { container->kv_put(kv_object(1), as_bytes("key-1"), to_bytes("x")); }), DER_CSUM);
    write(whole);
    EXPECT_EQ(found_in_check(), "");
    EXPECT_EQ(content(*container, kv_object(1)).size(), 100U);
}

TEST_F(FilesPool, NobodyUpdatesWhileTheMarkOfACompactionIsThere)
{
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("value"));
    close();
    const fs::path marks =
        fs::path(path) / store::text(Pool::open(path, Access::read_only)->uuid()) / "compacting";
    const fs::path mark = marks / "00112233445566778899aabbccddeeff";
    int ready[2], go[2];
    ASSERT_EQ(pipe(ready) + pipe(go), 0);
    const pid_t other = start_child([&] { // stands for one that compacts: it has the same record as a mark
        Pool::open(path, Access::read_write)->open_container("test")->kv_put(kv_object(2), as_bytes("k"), {});
        const auto own = Pool::open(path, Access::read_write);
        own->open_container("test")->kv_put(kv_object(2), as_bytes("k"), {});
        const auto owners = files("owner");
        fs::create_directory(marks);
        fs::copy_file(owners.at(0), mark);
        char byte = 'x';
        return ::write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1 ? 0 : 1;
    });
    char byte = 'x';
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    open();
    EXPECT_EQ(der_of([&] { container->kv_put(kv_object(1), as_bytes("key"), as_bytes("new")); }), DER_BUSY);
    EXPECT_EQ(der_of([&] { container->punch(kv_object(1)); }), DER_BUSY);
    EXPECT_EQ(der_of([&] { pool->compact(); }), DER_BUSY);
    EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes("key")), to_bytes("value"));
    ASSERT_EQ(::write(go[1], &byte, 1), 1);
    EXPECT_EQ(end_of(other), 0);
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("new")); // the mark is one of a dead process
    EXPECT_NE(found_in_check(true).find("is dead"), std::string::npos);
    EXPECT_FALSE(fs::exists(mark));
}

TEST_F(FilesPool, ARepairRemovesWhatDeadProcessesLeft)
{
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("value"));
    write_cells(*container, array_object(2), {}, 0, pattern(100, 1));
    const pid_t child = start_child([&] {
        container->kv_put(kv_object(1), as_bytes("child"), as_bytes("value"));
        raise(SIGKILL);
        return 0;
    });
    EXPECT_EQ(end_of(child), -SIGKILL);
    // As if it had been killed in the middle of a removal, and of the making of a container.
    const fs::path id = path + "/" + store::text(pool->uuid());
    fs::create_directories(id / "gone/0123");
    std::ofstream(id / "gone/0123/file") << "x";
    const fs::path data = id / "containers" / store::text(uuid_of(1)) / "data";
    fs::create_directories(data / "elsewhere");
    std::ofstream(data / "elsewhere/0123456789abcdef0123456789abcdef") << "unreferenced";
    fs::create_directories(id / "containers" / store::text(uuid_of(9)));
    const std::string before = found_in_check();
    for (const char* what :
         {"which is dead", "not removed yet", "data that no object has", "without its record"})
        EXPECT_NE(before.find(what), std::string::npos) << what << " in\n" << before;
    EXPECT_EQ(found_in_check(), before) << "a check changes nothing";
    found_in_check(true);
    EXPECT_EQ(found_in_check(), "");
    EXPECT_TRUE(kv_read(*container, kv_object(1), as_bytes("child")));
    EXPECT_EQ(read_cells(*container, array_object(2), {}, 0, 100), pattern(100, 1));
}

TEST_F(FilesPool, AForkedChildGoesOnWithWhatItsParentHasOpen)
{
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("parent"));
    write_cells(*container, array_object(2), {}, 0, pattern(100, 1));
    EXPECT_EQ(run_in_child([&] {
                  container->kv_put(kv_object(1), as_bytes("key"), as_bytes("child"));
                  write_cells(*container, array_object(2), {}, 50, pattern(100, 2));
                  return container->allocate_oids(5) == 0 ? 0 : 1;
              }),
              0);
    EXPECT_EQ(kv_read(*container, kv_object(1), as_bytes("key")), to_bytes("child"));
    EXPECT_EQ(read_cells(*container, array_object(2), {}, 50, 100), pattern(100, 2));
    EXPECT_EQ(container->allocate_oids(1), 5U);
    container->kv_put(kv_object(1), as_bytes("key"), as_bytes("parent"));
}

// Handles of two processes: an object that one removes and makes anew is the new one for the other too.
TEST_F(FilesPool, ARemovedObjectIsGoneForThoseWhoKnewIt)
{
    const auto other = Pool::open(path, Access::read_write)->open_container("test"); // with its own memory
    for (int round = 0; round < 5; ++round) {
        container->kv_put(kv_object(1), as_bytes("key"), pattern(10, 1));
        container->kv_put(kv_object(1), as_bytes("other"), pattern(10, 1));
        write_cells(*container, array_object(2), {}, 0, pattern(100, 1));
        EXPECT_EQ(kv_read(*other, kv_object(1), as_bytes("key")), pattern(10, 1));
        EXPECT_EQ(read_cells(*other, array_object(2), {}, 0, 100), pattern(100, 1));
        container->punch(kv_object(1));
        container->punch(array_object(2));
        EXPECT_FALSE(kv_read(*other, kv_object(1), as_bytes("key")));
        EXPECT_EQ(other->array_size(array_object(2), {}), 0U);
        EXPECT_FALSE(other->kv_remove(kv_object(1), as_bytes("other")));
        container->kv_put(kv_object(1), as_bytes("key"), pattern(20, 2));
        write_cells(*container, array_object(2), {}, 0, pattern(10, 2));
        EXPECT_EQ(kv_read(*other, kv_object(1), as_bytes("key")), pattern(20, 2));
        EXPECT_EQ(other->array_size(array_object(2), {}), 10U);
        other->kv_put(kv_object(1), as_bytes("third"), pattern(30, 3));
        EXPECT_EQ(list_keys(*container, kv_object(1)).size(), 2U);
        other->punch(kv_object(1));
    }
    EXPECT_EQ(found_in_check(), "");
}

} // namespace
} // namespace stepstore::testing

// Many processes on the same pool and the same objects at once.
#include "support/processes.h"
#include "support/store_fixture.h"

#include <algorithm>
#include <map>
#include <sys/mman.h>

namespace stepstore::testing {
namespace {

constexpr int processes = 8;

class Processes : public StoreTest {
protected:
    void SetUp() override { open_pool("lmdb", 4); }

    // Runs `body(number)` in that many processes at once; each must return 0.
    void in_processes(const std::function<int(int)>& body)
    {
        std::vector<pid_t> children;
        for (int number = 0; number < processes; ++number)
            children.push_back(start_child([&, number] { return body(number); }));
        for (const pid_t child : children)
            EXPECT_EQ(end_of(child), 0);
    }
};

// What a value must look like to be whole: it says who wrote it, at which turn, and how long it is.
std::vector<std::byte> signed_value(std::uint64_t writer, std::uint64_t turn)
{
    const std::uint64_t sizes[] = {24, 100, 5000, 56000, 70000, 300000};
    const std::uint64_t size = sizes[(writer + turn) % 6];
    auto value = pattern(size, writer << 32 | turn);
    store_little(value.data(), writer);
    store_little(value.data() + 8, turn);
    store_little(value.data() + 16, size);
    return value;
}

bool is_whole(Bytes value)
{
    if (value.size() < 24) return false;
    const auto writer = load_little<std::uint64_t>(value.data());
    const auto turn = load_little<std::uint64_t>(value.data() + 8);
    const auto expected = signed_value(writer, turn);
    return std::ranges::equal(value, expected);
}

TEST_F(Processes, WriteReadAndListTheSameObjectsAtOnce)
{
    const ObjectId own = kv_object(1, class_sx);
    const ObjectId shared = kv_object(2, class_rp_2g1);
    const ObjectId array = array_object(3, class_sx);
    const ArrayAttributes attributes{1, 200000};
    const std::uint64_t slot = 150000; // not the chunk's length: slots share chunks
    in_processes([&](int number) {
        // Half of them open the pool anew, half go on with what they got from their parent.
        auto mine =
            number % 2 == 0 ? container : Pool::open(path, Access::read_write)->open_container("test");
        const auto me = static_cast<std::uint64_t>(number);
        std::mt19937_64 random(me);
        for (std::uint64_t turn = 0; turn < 60; ++turn) {
            const std::string key = "writer" + std::to_string(me) + "/" + std::to_string(turn);
            const auto value = signed_value(me, turn);
            mine->kv_put(own, as_bytes(key), value);
            if (kv_read(*mine, own, as_bytes(key)) != value) return 1; // one reads what one wrote
            mine->kv_put(shared, as_bytes("key" + std::to_string(random() % 5)), value);
            const auto seen = kv_read(*mine, shared, as_bytes("key" + std::to_string(random() % 5)));
            if (seen && !is_whole(*seen)) return 2;
            const auto cells = pattern(slot, me << 20 | turn);
            write_cells(*mine, array, attributes, me * slot, cells);
            if (read_cells(*mine, array, attributes, me * slot, slot) != cells) return 3;
            if (turn % 10 != 0) continue;
            const auto keys = list_keys(*mine, own);
            for (std::uint64_t i = 0; i <= turn; ++i) {
                if (std::ranges::count(keys, "writer" + std::to_string(me) + "/" + std::to_string(i)) != 1)
                    return 4;
            }
        }
        return 0;
    });
    EXPECT_EQ(list_keys(*container, own).size(), 8U * 60U);
    for (int number = 0; number < processes; ++number) {
        const auto me = static_cast<std::uint64_t>(number);
        for (std::uint64_t turn = 0; turn < 60; ++turn) {
            const std::string key = "writer" + std::to_string(me) + "/" + std::to_string(turn);
            ASSERT_EQ(kv_read(*container, own, as_bytes(key)), signed_value(me, turn)) << key;
        }
        EXPECT_EQ(read_cells(*container, array, attributes, me * slot, slot), pattern(slot, me << 20 | 59U));
    }
    EXPECT_EQ(container->array_size(array, attributes), 8 * slot);
    EXPECT_TRUE(undamaged(Pool::check(path, {})));
}

// Readers of values that are replaced all the time: their extents vanish under them, and they never see it.
TEST_F(Processes, ReadersOfReplacedExtentsSeeWholeValues)
{
    const ObjectId oid = kv_object(1);
    const ObjectId array = array_object(2, class_s1);
    const ArrayAttributes attributes{1, 1 << 20};
    std::vector<std::vector<std::byte>> contents;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
        contents.push_back(pattern(400000, seed));
    container->kv_put(oid, as_bytes("key"), signed_value(1, 4));
    write_cells(*container, array, attributes, 0, contents[0]);
    in_processes([&](int number) {
        auto mine =
            Pool::open(path, number == 7 ? Access::read_only : Access::read_write)->open_container("test");
        for (std::uint64_t turn = 0; turn < 300; ++turn) {
            if (number < 2) {
                mine->kv_put(oid, as_bytes("key"), signed_value(1, 6 * turn + 4)); // 300000 bytes each
                for (const auto& content : contents)
                    write_cells(*mine, array, attributes, 0, content);
                continue;
            }
            const auto value = kv_read(*mine, oid, as_bytes("key"));
            if (!value || value->size() != 300000 || !is_whole(*value)) return 1;
            for (const Verify verify : {Verify::yes, Verify::no, Verify::no, Verify::no, Verify::no}) {
                const auto cells = read_cells(*mine, array, attributes, 0, 400000, latest, nullptr, verify);
                if (std::ranges::find(contents, cells) == contents.end()) return 2;
            }
        }
        return 0;
    });
}

TEST_F(Processes, ObjectIdsAreUniqueOverAllProcesses)
{
    constexpr std::size_t rounds = 200;
    auto* firsts =
        static_cast<std::uint64_t*>(mmap(nullptr, processes * rounds * sizeof(std::uint64_t),
                                         PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(firsts, MAP_FAILED);
    in_processes([&](int number) {
        auto mine = Pool::open(path, Access::read_write)->open_container("test");
        for (std::size_t i = 0; i < rounds; ++i)
            firsts[static_cast<std::size_t>(number) * rounds + i] = mine->allocate_oids(i % 7 + 1);
        return 0;
    });
    std::set<std::uint64_t> all;
    for (std::size_t at = 0; at < processes * rounds; ++at) {
        for (std::uint64_t k = 0; k < at % rounds % 7 + 1; ++k)
            EXPECT_TRUE(all.insert(firsts[at] + k).second) << "a number was given twice";
    }
    munmap(firsts, processes * rounds * sizeof(std::uint64_t));
}

TEST_F(Processes, OneOfManyCreates)
{
    const std::string other = directory / "other";
    std::vector<pid_t> children;
    for (int number = 0; number < processes; ++number) {
        children.push_back(start_child([&, number] {
            PoolOptions options;
            options.targets = 2;
            const int error = der_of([&] { Pool::create(other, options); });
            if (error != 0 && error != DER_EXIST) return 100;
            auto made = Pool::open(other, Access::read_write); // there it is, for the others too
            const int again = der_of(
                [&] { made->create_container(uuid_of(static_cast<std::uint8_t>(number)), "same", {}); });
            if (again != 0 && again != DER_EXIST) return 101;
            made->open_container("same")->kv_put(kv_object(1), as_bytes(std::to_string(number)), {});
            return (error == 0 ? 1 : 0) + (again == 0 ? 2 : 0);
        }));
    }
    int pools = 0;
    int containers = 0;
    for (const pid_t child : children) {
        const int result = end_of(child);
        ASSERT_GE(result, 0);
        ASSERT_LT(result, 4);
        pools += result & 1;
        containers += result >> 1;
    }
    EXPECT_EQ(pools, 1);
    EXPECT_EQ(containers, 1);
    EXPECT_EQ(list_keys(*Pool::open(other, Access::read_only)->open_container("same"), kv_object(1)).size(),
              8U);
}

TEST_F(Processes, ACheckBesideWritersFindsNoDamage)
{
    std::vector<pid_t> writers;
    for (int number = 0; number < 3; ++number) {
        writers.push_back(start_child([&, number] {
            auto mine = Pool::open(path, Access::read_write)->open_container("test");
            const auto me = static_cast<std::uint64_t>(number);
            for (std::uint64_t turn = 0; turn < 150; ++turn) {
                mine->kv_put(kv_object(1, class_rp_2gx), as_bytes("key" + std::to_string(turn % 10)),
                             signed_value(me, turn));
                write_cells(*mine, array_object(2), {1, 100000}, turn * 997 % 500000, pattern(130000, turn));
                if (turn % 20 == 0) mine->create_snapshot("");
                if (turn % 30 == 29) {
                    const int gone = der_of([&] { mine->destroy_snapshot(mine->snapshots().front().epoch); });
                    if (gone != 0 && gone != DER_NONEXIST) return 1; // another writer may have been faster
                }
                if (turn % 50 != 0) continue;
                const std::string label = "passing" + std::to_string(me);
                mine->pool()->create_container(uuid_of(static_cast<std::uint8_t>(100 + me)), label, {});
                mine->pool()->open_container(label)->kv_put(kv_object(1), as_bytes("k"),
                                                            signed_value(me, turn));
                mine->pool()->destroy_container(label, true);
            }
            return 0;
        }));
    }
    for (int round = 0; round < 8; ++round)
        EXPECT_TRUE(undamaged(Pool::check(path, {true, round % 2 == 1}))) << "round " << round;
    for (const pid_t writer : writers)
        EXPECT_EQ(end_of(writer), 0);
    const auto keys = list_keys(*container, kv_object(1, class_rp_2gx));
    EXPECT_EQ(keys.size(), 10U);
    for (const auto& key : keys)
        EXPECT_TRUE(is_whole(*kv_read(*container, kv_object(1, class_rp_2gx), as_bytes(key)))) << key;
}

} // namespace
} // namespace stepstore::testing

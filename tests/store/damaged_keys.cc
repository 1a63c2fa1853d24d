// One byte of one record's key or value, or the size of its key, is changed such that the order of the keys
// stays. Every read gives the right value or an error, at every epoch, before updates and after them. The
// check names the damage.
#include "store/failure.h"
#include "store/pool_core.h"
#include "support/store_fixture.h"

#include <algorithm>
#include <functional>

namespace stepstore::testing {
namespace {

constexpr ArrayAttributes attributes{1, 100};
constexpr std::uint64_t cells = 520; // that are read of each array

struct Probe {
    std::string name;
    std::function<std::string()> ask;
    bool of_one_record = true; // else of several, which an update that failed leaves half done
};

// A record of the pool.
struct Place {
    unsigned target; // meta_target: meta
    std::vector<std::byte> key, value;
};

std::string shown(const std::optional<std::vector<std::byte>>& value)
{
    return value ? "=" + std::string(as_text(*value)) : "absent";
}

// A small pool with records of every kind and two snapshots.
class World {
public:
    explicit World(const std::string& path, const std::string& backend) : path_(path)
    {
        PoolOptions options;
        options.backend = backend;
        options.targets = 2;
        pool = Pool::create(path, options);
        for (const char* label : {"test", "other", "empty"})
            pool->create_container(uuid_of(static_cast<std::uint8_t>(label[0])), label, {});
        test = pool->open_container("test");
        other = pool->open_container("other");
        fill();
        add_probes();
    }
    ~World()
    {
        test.reset();
        other.reset();
        pool.reset();
        Pool::destroy(path_);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    std::unique_ptr<Storage> below() const
    {
        for (const Backend& factory : backends())
            if (factory.look(path_) == Found::pool) return factory.open(path_);
        return nullptr;
    }
    static Target& target_of(Storage& backend, unsigned index)
    {
        return index == meta_target ? backend.meta() : backend.target(index);
    }
    std::vector<Place> places() const
    {
        std::vector<Place> all;
        const auto backend = below();
        for (const unsigned index : {0U, 1U, meta_target}) {
            target_of(*backend, index).read([&](ReadTransaction& transaction) {
                Entry entry;
                const std::byte lowest{};
                for (bool more = transaction.seek({&lowest, 1}, entry); more; more = transaction.next(entry))
                    all.push_back({index,
                                   {entry.key.begin(), entry.key.end()},
                                   {entry.value.begin(), entry.value.end()}});
            });
        }
        return all;
    }
    void replace(unsigned index, Bytes old_key, Bytes key, Bytes value) const
    {
        const auto backend = below();
        target_of(*backend, index).write([&](WriteTransaction& transaction) {
            transaction.erase(old_key);
            transaction.put(key, value);
        });
    }
    CheckReport check() const { return Pool::check(path_, {}); }

    // What is right now. "error": damage was reported.
    static std::string answer(const Probe& probe)
    {
        try {
            return probe.ask();
        } catch (const Error& error) {
            if (error.code() == -DER_NONEXIST || error.code() == -DER_EXIST) return "absent";
            return "error";
        }
    }
    std::vector<std::string> answers() const
    {
        std::vector<std::string> all;
        for (const Probe& probe : probes)
            all.push_back(answer(probe));
        return all;
    }

    // Returns how many failed. `kind` 0: puts and writes; 1: removals of snapshots and objects; 2: of a
    // container.
    int update(int kind)
    {
        int failed = 0;
        const auto attempt = [&](const std::function<void()>& change) {
            try {
                change();
            } catch (const Error& error) {
                EXPECT_NE(error.code(), -DER_EXIST) << error.what();
                EXPECT_NE(error.code(), -DER_NONEXIST) << error.what();
                ++failed;
            }
        };
        const auto write = [&](const ObjectId& oid, std::uint64_t at, std::uint64_t length) {
            attempt(
                [&, oid, at, length] { write_cells(*test, oid, attributes, at, pattern(length, at + 7)); });
        };
        if (kind == 1) {
            attempt([&] { test->destroy_snapshot(first); });
            attempt([&] { test->punch(keys_one); });
        }
        if (kind == 2) attempt([&] { pool->destroy_container("other", true); });
        for (const char* key : {"k00", "k01", "k04", "k09", "k13", "k30"})
            attempt([&, key] { test->kv_put(keys, as_bytes(key), as_bytes("updated")); });
        attempt([&] { test->kv_remove(keys, as_bytes("k06")); });
        attempt([&] { test->kv_put(keys_punched, as_bytes("b"), as_bytes("updated")); });
        write(array, 45, 5);
        write(array, 95, 110);
        write(array, 330, 10);
        write(sparse, 15, 40);
        write(single, 0, 3);
        attempt([&] { test->array_set_size(single, attributes, 120); });
        attempt([&] { pool->create_container(uuid_of(99), "fresh", {}); });
        attempt([&] { EXPECT_EQ(test->allocate_oids(5), 17U); });
        attempt([&] { test->create_snapshot("third"); });
        return failed;
    }

    std::shared_ptr<Pool> pool;
    std::shared_ptr<Container> test, other;
    std::vector<Probe> probes;

private:
    const std::string path_;
    const ObjectId keys = kv_object(1), keys_one = kv_object(2, class_sx), keys_punched = kv_object(3),
                   array = array_object(4), sparse = array_object(5, class_s1),
                   single = array_object(6, class_s1);
    Epoch first = 0, second = 0;

    void fill()
    {
        const auto put = [&](const ObjectId& oid, const std::string& key, const std::string& value) {
            test->kv_put(oid, as_bytes(key), as_bytes(value));
        };
        const auto write = [&](const ObjectId& oid, std::uint64_t at, std::uint64_t length,
                               std::uint64_t seed) {
            write_cells(*test, oid, attributes, at, pattern(length, seed));
        };
        for (int i = 0; i < 20; i += 2)
            put(keys, (i < 10 ? "k0" : "k") + std::to_string(i), "value " + std::to_string(i));
        put(keys, std::string(100, 'k'), "long");
        put(keys_one, "the only one", "value");
        for (const char* key : {"a", "b", "c"})
            put(keys_punched, key, "value");
        test->array_create(array, attributes);
        write(array, 0, 250, 1);
        for (const std::uint64_t at : {10U, 50U, 205U})
            write(sparse, at, 10, at);
        test->allocate_oids(17);
        const NewUserAttribute named[] = {{"creator", as_bytes("test")},
                                          {std::string(100, 'c'), as_bytes("long name")}};
        test->user_attributes()->set(named);
        pool->user_attributes()->set(named);
        other->kv_put(keys, as_bytes("k00"), as_bytes("of the other"));
        other->create_snapshot("of the other");
        first = test->create_snapshot("first");
        for (const char* key : {"k00", "k02", "k04", "k08"})
            put(keys, key, "second");
        for (const char* key : {"k10", "k12"})
            test->kv_remove(keys, as_bytes(key));
        test->punch(keys_punched);
        write(array, 40, 20, 2);
        write(array, 120, 140, 3);
        test->punch(sparse);
        second = test->create_snapshot("second");
        test->mark_object(second, array, as_bytes("marked"));
        for (const char* key : {"k00", "k02"})
            put(keys, key, "third");
        const Range hole{10, 10};
        test->array_punch(array, attributes, {&hole, 1});
        test->array_set_size(array, attributes, 500);
        write(sparse, 10, 20, 4);
        write(single, 20, 30, 5);
        other->kv_put(keys, as_bytes("k00"), as_bytes("overwritten"));
    }

    void add_probes()
    {
        const auto add = [&](const std::string& name, std::function<std::string()> ask,
                             bool of_one_record = true) {
            probes.push_back({name, std::move(ask), of_one_record});
        };
        for (const Epoch epoch : {latest, second, first}) {
            const std::string at = epoch == latest ? "" : epoch == first ? " at first" : " at second";
            for (int i = 0; i <= 31; ++i) {
                const std::string key = (i < 10 ? "k0" : "k") + std::to_string(i);
                add(key + at, [=, this] { return shown(kv_read(*test, keys, as_bytes(key), epoch)); });
            }
            add("long key" + at,
                [=, this] { return shown(kv_read(*test, keys, as_bytes(std::string(100, 'k')), epoch)); });
            add("only key" + at,
                [=, this] { return shown(kv_read(*test, keys_one, as_bytes("the only one"), epoch)); });
            for (const char* key : {"a", "b", "c"})
                add(key + at,
                    [=, this] { return shown(kv_read(*test, keys_punched, as_bytes(key), epoch)); });
            for (const ObjectId& oid : {keys, keys_one, keys_punched})
                add("list" + at, [=, this] { return list(oid, epoch); }, false);
            add("objects" + at, [=, this] { return objects(epoch); }, false);
            add("attributes" + at, [=, this] {
                const auto found = test->array_attributes(array, epoch);
                return found ? std::to_string(found->chunk_size) : "absent";
            });
            for (const ObjectId& oid : {array, sparse, single}) {
                const std::string name = "array " + std::to_string(oid.lo) + at;
                add(name + ", size",
                    [=, this] { return std::to_string(test->array_size(oid, attributes, epoch)); });
                for (std::uint64_t cell = 0; cell < cells; cell += 5)
                    add(name + ", cell " + std::to_string(cell),
                        [=, this] { return read(oid, cell, 5, epoch); });
                add(name + ", whole", [=, this] { return read(oid, 0, cells, epoch); }, false);
            }
        }
        add("of the other", [this] { return shown(kv_read(*other, keys, as_bytes("k00"))); });
        for (const char* name : {"test", "other", "empty", "absent", "00000000-0000-0000-0000-000000000074"})
            add(
                std::string("container ") + name,
                [=, this] { return describe(pool->open_container(name)->query()); }, false);
        add(
            "containers",
            [this] {
                std::string all;
                for (const ContainerInfo& one : pool->containers())
                    all += describe(one) + "\n";
                return all;
            },
            false);
        add(
            "snapshots",
            [this] {
                std::string all;
                for (const SnapshotInfo& one : test->snapshots())
                    all += one.name + "\n";
                return all;
            },
            false);
        for (const std::string& name :
             {std::string("creator"), std::string(100, 'c'), std::string("absent")}) {
            add("attribute " + name, [=, this] { return attribute(*test->user_attributes(), name); });
            add("pool's attribute " + name, [=, this] { return attribute(*pool->user_attributes(), name); });
        }
        add("marker", [this] {
            const auto found = test->object_markers(second, array, array);
            return found.empty() ? "absent" : "=" + std::string(as_text(found.front().marker));
        });
        add(
            "attributes' names",
            [this] {
                std::string all;
                for (const std::string& name : test->user_attributes()->names())
                    all += name + "\n";
                return all;
            },
            false);
        add("has snapshot", [this] { return std::to_string(static_cast<int>(test->has_snapshot(second))); });
    }

    static std::string attribute(UserAttributes& of, const std::string& name)
    {
        std::vector<std::byte> room(100);
        UserAttributeRead read{name, room, {}};
        of.get({&read, 1});
        return read.size ? "=" + std::string(as_text(Bytes(room).first(*read.size))) : "absent";
    }
    static std::string describe(const ContainerInfo& info)
    {
        return info.label + " " + std::to_string(info.uuid[15]) + " " + std::to_string(info.snapshots);
    }
    std::string list(const ObjectId& oid, Epoch epoch) const
    {
        std::string all;
        for (const std::string& key : list_keys(*test, oid, epoch))
            all += key + "\n";
        return all;
    }
    std::string objects(Epoch epoch) const
    {
        std::string all;
        for (const ObjectId& oid : test->objects(epoch))
            all += std::to_string(oid.lo) + "\n";
        return all;
    }
    std::string read(const ObjectId& oid, std::uint64_t cell, std::uint64_t length, Epoch epoch) const
    {
        ReadResult result;
        const auto bytes = read_cells(*test, oid, attributes, cell, length, epoch, &result);
        return std::string(as_text(bytes)) + std::to_string(result.cells_short);
    }
};

bool less(Bytes a, Bytes b)
{
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

class DamagedKeys : public ::testing::TestWithParam<std::string> {
protected:
    static void expect_right(const World& world, const std::vector<std::string>& before,
                             const std::vector<std::string>& after, int failed)
    {
        const auto now = world.answers();
        for (std::size_t i = 0; i < now.size(); ++i) {
            if (now[i] == "error" || now[i] == after[i]) continue;
            if (failed != 0 && (now[i] == before[i] || !world.probes[i].of_one_record)) continue;
            ADD_FAILURE() << world.probes[i].name << " is " << now[i] << ", not " << after[i] << ", and "
                          << failed << " updates failed";
        }
    }
    // Calls `each` with damages of one byte that leave the order as it is.
    static void for_each_damage(const World& world, unsigned seed, unsigned of,
                                const std::function<void(const Place&, Bytes key, Bytes value)>& each)
    {
        const std::vector<Place> places = world.places();
        std::mt19937 random(seed);
        for (std::size_t i = 0; i < places.size(); ++i) {
            const Place& place = places[i];
            const bool has_left = i != 0 && places[i - 1].target == place.target;
            const bool has_right = i + 1 != places.size() && places[i + 1].target == place.target;
            for (std::size_t at = 0; at < place.key.size(); ++at) {
                for (const unsigned change :
                     {1U, 3U, 0x10U, 0x80U, 0xffU, static_cast<unsigned>(random() % 255 + 1)}) {
                    std::vector<std::byte> key = place.key;
                    key[at] ^= static_cast<std::byte>(change);
                    if ((has_left && !less(places[i - 1].key, key)) ||
                        (has_right && !less(key, places[i + 1].key)))
                        continue;
                    if (random() % of == 0) each(place, key, place.value);
                }
            }
            // The size of the key, so that bytes of the value count as its own or the other way round.
            for (const int more : {-4, -1, 1, 8, 64}) {
                std::vector<std::byte> key = place.key;
                std::vector<std::byte> value = place.value;
                const auto size = static_cast<std::ptrdiff_t>(key.size()) + more;
                if (size <= 0) continue;
                key.insert(key.end(), value.begin(), value.end());
                if (size > static_cast<std::ptrdiff_t>(key.size())) continue;
                value.assign(key.begin() + size, key.end());
                value.resize(place.value.size());
                key.resize(static_cast<std::size_t>(size));
                if ((has_left && !less(places[i - 1].key, key)) ||
                    (has_right && !less(key, places[i + 1].key)))
                    continue;
                if (random() % of == 0) each(place, key, value);
            }
            std::vector<std::byte> value = place.value;
            value[random() % value.size()] ^= std::byte{0x10};
            if (random() % of == 0) each(place, place.key, value);
        }
    }
    static std::string name_of(const Place& place, Bytes key)
    {
        return "target " + std::to_string(place.target) + ", key " + store::quoted(place.key) + " became " +
               store::quoted(key);
    }
    std::string path() const { return directory / "pool"; }
    // One of so many damages is tried.
    unsigned thinner() const { return GetParam() == "memory" ? 8 : 80; }

    TemporaryDirectory directory;
};
INSTANTIATE_TEST_SUITE_P(Backends, DamagedKeys, every_backend(), backend_name);

TEST_P(DamagedKeys, NothingElseIsReadAtAnyEpoch)
{
    const World world(path(), GetParam());
    const auto right = world.answers();
    ASSERT_EQ(std::ranges::count(right, "error"), 0);
    int damages = 0, detected = 0;
    for_each_damage(world, 1, thinner(), [&](const Place& place, Bytes key, Bytes value) {
        world.replace(place.target, place.key, key, value);
        const auto now = world.answers();
        ++damages;
        for (std::size_t i = 0; i < now.size(); ++i)
            EXPECT_TRUE(now[i] == "error" || now[i] == right[i])
                << world.probes[i].name << " is " << now[i] << ", not " << right[i] << ": "
                << name_of(place, key);
        detected += std::ranges::count(now, "error") != 0;
        EXPECT_TRUE(world.check().damaged()) << name_of(place, key);
        world.replace(place.target, key, place.key, place.value);
    });
    EXPECT_EQ(world.answers(), right);
    EXPECT_GT(damages, GetParam() == "memory" ? 400 : 25);
    std::printf("%d damages: %d met by a read\n", damages, detected);
}

TEST_P(DamagedKeys, NoUpdateHidesThem)
{
    for (int kind = 0; kind < 3; ++kind) {
        std::vector<std::string> before, after;
        {
            World world(path(), GetParam());
            before = world.answers();
            ASSERT_EQ(world.update(kind), 0);
            after = world.answers();
        }
        std::size_t count = 0;
        for_each_damage(World(path(), GetParam()), 2, 1, [&](auto&&...) { ++count; });
        // The epochs in the keys are others each time, so the damages are chosen anew in each world.
        const unsigned rounds = 1200 / thinner() / (kind == 0 ? 1 : 3);
        for (unsigned round = 0; round < rounds; ++round) {
            World world(path(), GetParam());
            Place place;
            std::vector<std::byte> damaged_key;
            std::mt19937 random(1000 * static_cast<unsigned>(kind) + round);
            std::size_t wanted = random() % count;
            for_each_damage(world, 3, 1, [&](const Place& one, Bytes key, Bytes value) {
                if (wanted-- != 0) return;
                place = one;
                damaged_key.assign(key.begin(), key.end());
                world.replace(one.target, one.key, key, value);
            });
            if (damaged_key.empty()) continue;
            SCOPED_TRACE(name_of(place, damaged_key) + ", round " + std::to_string(round) + " of " +
                         std::to_string(kind));
            const int failed = world.update(kind);
            expect_right(world, before, after, failed);
            world.check();
        }
    }
}

// A damaged key can make a record of one container look like one of another.
TEST_P(DamagedKeys, DestroyingAContainerTakesNothingOfAnother)
{
    std::vector<std::string> before, after;
    {
        World world(path(), GetParam());
        before = world.answers();
        ASSERT_EQ(world.update(2), 0);
        after = world.answers();
    }
    for (std::size_t tried = 0, all = 1; tried < all; ++tried) {
        World world(path(), GetParam());
        std::vector<std::pair<Place, std::vector<std::byte>>> damages;
        for_each_damage(world, 4, 1, [&](const Place& place, Bytes key, Bytes) {
            if (key.size() == place.key.size() && key.size() > 4 && key[4] == std::byte{2} &&
                place.key[4] == std::byte{1})
                damages.emplace_back(place, std::vector<std::byte>(key.begin(), key.end()));
        });
        all = damages.size();
        ASSERT_GT(all, 1U);
        const auto& [place, key] = damages[tried];
        SCOPED_TRACE(name_of(place, key));
        world.replace(place.target, place.key, key, place.value);
        expect_right(world, before, after, world.update(2));
    }
}

} // namespace
} // namespace stepstore::testing

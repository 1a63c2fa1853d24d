// Random sequences of updates, snapshots, removals and destructions, on objects of all kinds in several
// containers. Whatever the sequence: a check finds nothing afterwards, and a repair changes no value.
//
//   STEPSTORE_PROPERTY_SECONDS   how long to try one sequence after the other (0: one sequence)
//   STEPSTORE_SEED               the first sequence (1)
#include "support/store_fixture.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

namespace stepstore::testing {
namespace {

using Bytestring = std::vector<std::byte>;

std::uint64_t setting(const char* name, std::uint64_t unset)
{
    const char* given = std::getenv(name);
    return given == nullptr ? unset : std::strtoull(given, nullptr, 10);
}

::testing::AssertionResult nothing_found(const CheckReport& report)
{
    if (report.findings.empty() && report.reclaimable_bytes == 0 && report.reclaimed_bytes == 0)
        return ::testing::AssertionSuccess();
    auto result = ::testing::AssertionFailure();
    for (const CheckFinding& one : report.findings)
        result << one.where << ": " << one.what << "\n";
    return result << report.reclaimable_bytes << " bytes to reclaim, " << report.reclaimed_bytes
                  << " reclaimed";
}

// A container as it should be.
struct Contents {
    std::map<ObjectId, std::map<std::string, Bytestring>> keys;
    std::map<ObjectId, Bytestring> arrays; // from the first cell on; what was never written is zero
};
struct Model {
    std::shared_ptr<Container> open;
    Contents now;
    std::map<Epoch, Contents> snapshots;
};

constexpr std::size_t cells = 600'000;
const ArrayAttributes attributes{1, 200'000};
const std::array kv_objects{kv_object(1), kv_object(2, class_sx)};
const std::array array_objects{array_object(3, class_s1), array_object(4)};

class Play {
public:
    Play(std::string path, std::uint64_t seed, bool versions)
        : path_(std::move(path)), versions_(versions), random_(seed)
    {
        open();
        add_container();
    }
    void run(int steps)
    {
        for (int step = 0; step < steps && !::testing::Test::HasFatalFailure(); ++step) {
            SCOPED_TRACE("step " + std::to_string(step));
            take_step();
        }
        check();
    }
    ~Play()
    {
        while (!containers_.empty())
            remove_container();
    }

private:
    std::uint64_t number(std::uint64_t below) { return random_() % below; }
    template <class Map>
    auto any_of(Map& map)
    {
        return std::next(map.begin(), static_cast<std::ptrdiff_t>(number(map.size())));
    }

    void take_step()
    {
        if (containers_.empty()) add_container();
        Model& model = any_of(containers_)->second;
        const std::uint64_t what = number(100);
        if (what < 38)
            put(model);
        else if (what < 52)
            remove(model);
        else if (what < 74)
            write(model);
        else if (what < 79)
            punch_range(model);
        else if (what < 83)
            punch(model);
        else if (what < 88)
            snapshot(model);
        else if (what < 93)
            drop_snapshots(model);
        else if (what < 95)
            add_container();
        else if (what < 96)
            remove_container();
        else if (what < 98)
            reopen();
        else
            check();
    }

    // Some so long that their records are larger than a back end may keep in its index.
    std::string key()
    {
        switch (number(10)) {
        case 0: return std::string(270'000, 'h') + std::to_string(number(3));
        case 1:
        case 2: return std::string(100, 'l') + std::to_string(number(6));
        default: return "key " + std::to_string(number(12));
        }
    }
    std::size_t size()
    {
        switch (number(6)) {
        case 0: return (64 << 10) + number(140'000);
        case 1: return 4000 + number(50'000);
        default: return number(300);
        }
    }
    void put(Model& model)
    {
        const ObjectId& oid = kv_objects[number(kv_objects.size())];
        const std::string name = key();
        const Bytestring value = pattern(size(), random_());
        model.open->kv_put(oid, as_bytes(name), value);
        model.now.keys[oid][name] = value;
    }
    void remove(Model& model)
    {
        const ObjectId& oid = kv_objects[number(kv_objects.size())];
        auto& keys = model.now.keys[oid];
        const std::string name = keys.empty() ? key() : any_of(keys)->first;
        EXPECT_EQ(model.open->kv_remove(oid, as_bytes(name)), keys.erase(name) == 1);
    }
    Range range()
    {
        const std::uint64_t from = number(cells);
        return {from, 1 + number(std::min<std::uint64_t>(cells - from, number(2) == 0 ? 3000 : 300'000))};
    }
    Bytestring& array(Model& model, const ObjectId& oid)
    {
        return model.now.arrays.try_emplace(oid, cells).first->second;
    }
    void write(Model& model)
    {
        const ObjectId& oid = array_objects[number(array_objects.size())];
        const Range where = range();
        const Bytestring bytes = pattern(where.length, random_());
        write_cells(*model.open, oid, attributes, where.index, bytes);
        std::ranges::copy(bytes, array(model, oid).begin() + static_cast<std::ptrdiff_t>(where.index));
    }
    void punch_range(Model& model)
    {
        const ObjectId& oid = array_objects[number(array_objects.size())];
        const Range where = range();
        model.open->array_punch(oid, attributes, {&where, 1});
        std::fill_n(array(model, oid).begin() + static_cast<std::ptrdiff_t>(where.index), where.length,
                    std::byte{0});
    }
    void punch(Model& model)
    {
        const bool keys = number(2) == 0;
        const ObjectId& oid =
            keys ? kv_objects[number(kv_objects.size())] : array_objects[number(array_objects.size())];
        model.open->punch(oid);
        model.now.keys.erase(oid);
        model.now.arrays.erase(oid);
    }
    void snapshot(Model& model)
    {
        if (versions_ && model.snapshots.size() < 4)
            model.snapshots.emplace(model.open->create_snapshot(""), model.now);
    }
    void drop_snapshots(Model& model)
    {
        std::vector<Epoch> epochs;
        for (const auto& [epoch, contents] : model.snapshots)
            if (number(2) == 0) epochs.push_back(epoch);
        EXPECT_EQ(model.open->destroy_snapshots(epochs), epochs.size());
        for (const Epoch epoch : epochs)
            model.snapshots.erase(epoch);
    }
    void add_container()
    {
        if (containers_.size() == 3) return;
        const std::string label = "container-" + std::to_string(++made_);
        pool_->create_container(uuid_of(static_cast<std::uint8_t>(made_)), label, {});
        containers_[label].open = pool_->open_container(label);
    }
    void remove_container()
    {
        const auto which = any_of(containers_);
        which->second.open.reset();
        pool_->destroy_container(which->first, false);
        containers_.erase(which);
    }

    void open()
    {
        pool_ = Pool::open(path_, Access::read_write);
        for (auto& [label, model] : containers_)
            model.open = pool_->open_container(label);
    }
    void close()
    {
        for (auto& [label, model] : containers_)
            model.open.reset();
        pool_.reset();
    }
    void reopen()
    {
        close();
        open();
    }
    void check()
    {
        close();
        for (const bool repair : {false, true}) {
            ASSERT_TRUE(nothing_found(Pool::check(path_, {.data = true, .repair = repair})))
                << (repair ? "with repair" : "");
        }
        open();
        for (const auto& [label, model] : containers_) {
            compare(*model.open, model.now, latest);
            for (const auto& [epoch, contents] : model.snapshots)
                compare(*model.open, contents, epoch);
        }
    }
    static void compare(Container& container, const Contents& contents, Epoch epoch)
    {
        for (const ObjectId& oid : kv_objects) {
            const auto expected = contents.keys.find(oid);
            const auto listed = list_keys(container, oid, epoch);
            ASSERT_EQ(listed.size(), expected == contents.keys.end() ? 0 : expected->second.size());
            if (listed.empty()) continue;
            for (const auto& [key, value] : expected->second)
                ASSERT_EQ(kv_read(container, oid, as_bytes(key), epoch), value);
        }
        for (const ObjectId& oid : array_objects) {
            const auto expected = contents.arrays.find(oid);
            const auto got = read_cells(container, oid, attributes, 0, cells, epoch);
            ASSERT_TRUE(got == (expected == contents.arrays.end() ? Bytestring(cells) : expected->second));
        }
    }

    const std::string path_;
    const bool versions_;
    std::mt19937_64 random_;
    std::shared_ptr<Pool> pool_;
    std::map<std::string, Model> containers_;
    unsigned made_ = 1; // the fixture's has the number 1
};

class CheckProperty : public StoreTest {
protected:
    void SetUp() override
    {
        StoreTest::SetUp();
        container.reset();
        pool.reset();
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, CheckProperty, every_store(), backend_name);

TEST_P(CheckProperty, NothingIsFoundAndNoValueIsChangedAfterAnySequence)
{
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + std::chrono::seconds(setting("STEPSTORE_PROPERTY_SECONDS", 0));
    std::uint64_t seed = setting("STEPSTORE_SEED", 1);
    for (bool more = true; more && !HasFailure(); ++seed) {
        SCOPED_TRACE("STEPSTORE_SEED=" + std::to_string(seed));
        Play(path, seed, has_versions()).run(GetParam() == "rados" ? 120 : 400);
        more = steady_clock::now() < end;
    }
    std::printf("%llu sequences\n", static_cast<unsigned long long>(seed - setting("STEPSTORE_SEED", 1)));
}

// An update of more than a back end sends at once: each extent of an array, and each old version of it.
TEST_P(CheckProperty, NothingIsFoundAfterUpdatesTooLargeForOneOperation)
{
    constexpr std::size_t extents = 700, length = 50'000;
    const ObjectId oid = array_object(1, class_s1);
    const ArrayAttributes of_extents{1, 2 * length};
    const Bytestring bytes = pattern(extents * length, 7);
    std::vector<Range> ranges;
    for (std::size_t at = 0; at < extents; ++at)
        ranges.push_back({at * 2 * length, length});
    const Bytes memory = bytes;
    Epoch epoch = 0;
    const auto open = [&] {
        pool = Pool::open(path, Access::read_write);
        container = pool->open_container("test");
    };
    const auto check = [&] {
        container.reset();
        pool.reset();
        ASSERT_TRUE(nothing_found(Pool::check(path, {.data = false, .repair = true})));
        open();
        Bytestring got(bytes.size());
        const MutableBytes into = got;
        container->array_read(oid, of_extents, ranges, {&into, 1}, epoch == 0 ? latest : epoch);
        EXPECT_TRUE(got == bytes);
    };
    open();
    container->array_write(oid, of_extents, ranges, {&memory, 1});
    check();
    if (has_versions()) {
        epoch = container->create_snapshot("");
        container->punch(oid);
        check();
    }
    write_cells(*container, oid, of_extents, 0, Bytes(bytes).first(length));
    container->punch(oid);
    EXPECT_TRUE(container->objects().empty());
    if (has_versions()) container->destroy_snapshot(epoch);
    container.reset();
    pool->destroy_container("test", false);
    pool.reset();
    EXPECT_TRUE(nothing_found(Pool::check(path, {.data = true, .repair = true})));
}

} // namespace
} // namespace stepstore::testing

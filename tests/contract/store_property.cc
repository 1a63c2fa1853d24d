// Random operations on array and key-value objects, with snapshots, against the simplest model there is.
#include "support/store_fixture.h"

#include <algorithm>
#include <map>
#include <memory>

namespace stepstore::testing {
namespace {

class PropertyContract : public StoreTest {
protected:
    // Each step is many round trips where there is a network.
    static int steps(int locally) { return GetParam() == "rados" ? locally / 10 : locally; }
};
INSTANTIATE_TEST_SUITE_P(Backends, PropertyContract, every_store(), backend_name);

// An array as bytes, which of them were written, and the end markers that set_size left.
struct ArrayModel {
    std::vector<std::byte> bytes;
    std::vector<bool> written;
    std::set<std::uint64_t> markers;

    explicit ArrayModel(std::size_t space) : bytes(space), written(space) {}
    std::uint64_t size() const
    {
        std::uint64_t end = markers.empty() ? 0 : *markers.rbegin();
        for (std::uint64_t i = bytes.size(); i > end; --i)
            if (written[i - 1]) return i;
        return end;
    }
    void write(std::uint64_t at, Bytes data)
    {
        clear(at, at + data.size());
        std::ranges::copy(data, bytes.begin() + static_cast<long>(at));
        std::fill_n(written.begin() + static_cast<long>(at), data.size(), true);
    }
    void clear(std::uint64_t from, std::uint64_t to)
    {
        to = std::min<std::uint64_t>(to, bytes.size());
        if (from >= to) return;
        std::fill(bytes.begin() + static_cast<long>(from), bytes.begin() + static_cast<long>(to),
                  std::byte{0});
        std::fill(written.begin() + static_cast<long>(from), written.begin() + static_cast<long>(to), false);
        std::erase_if(markers, [&](std::uint64_t marker) { return marker > from && marker <= to; });
    }
    void set_size(std::uint64_t to)
    {
        clear(to, bytes.size());
        std::erase_if(markers, [&](std::uint64_t marker) { return marker > to; });
        if (size() != to) markers.insert(to);
    }
};

class ArrayPlay {
public:
    ArrayPlay(Container& container, const ObjectId& oid, ArrayAttributes attributes, std::size_t space,
              unsigned seed)
        : container_(container), oid_(oid), attributes_(attributes), model_(space), random_(seed)
    {
    }

    void run(int steps)
    {
        for (int step = 0; step < steps; ++step) {
            const unsigned what = number(100);
            if (what < 55)
                write();
            else if (what < 63)
                punch();
            else if (what < 68)
                set_size();
            else if (what < 72 && snapshots_.size() < 6)
                snapshot();
            else if (what < 75 && !snapshots_.empty())
                drop_snapshot();
            else
                read(what % 3 == 0);
            if (::testing::Test::HasFatalFailure()) {
                ADD_FAILURE() << "at step " << step;
                return;
            }
        }
        compare(model_, latest);
        for (const auto& [epoch, model] : snapshots_)
            compare(model, epoch);
    }

private:
    unsigned number(std::size_t below) { return static_cast<unsigned>(random_() % below); }
    std::uint64_t cells() const { return model_.bytes.size() / attributes_.cell_size; }
    Range range()
    {
        const std::uint64_t from = number(cells());
        // Small ones, and now and then large ones.
        const std::uint64_t longest = number(4) == 0 ? cells() : std::max<std::uint64_t>(2, cells() / 50);
        return {from, std::min<std::uint64_t>(cells() - from, 1 + number(longest))};
    }

    void write()
    {
        std::vector<Range> ranges;
        std::vector<std::vector<std::byte>> data;
        std::vector<Bytes> memory;
        for (unsigned i = 0; i <= number(3); ++i) {
            ranges.push_back(range());
            const std::size_t before = number(64); // memory begins anywhere in a cache line
            data.push_back(pattern(before + ranges.back().length * attributes_.cell_size, random_()));
            memory.push_back(Bytes(data.back()).subspan(before));
        }
        container_.array_write(oid_, attributes_, ranges, memory);
        for (std::size_t i = 0; i < ranges.size(); ++i)
            model_.write(ranges[i].index * attributes_.cell_size, memory[i]);
    }
    void punch()
    {
        const Range one = range();
        container_.array_punch(oid_, attributes_, {&one, 1});
        model_.clear(one.index * attributes_.cell_size, (one.index + one.length) * attributes_.cell_size);
    }
    void set_size()
    {
        const std::uint64_t to = number(cells() + 1);
        container_.array_set_size(oid_, attributes_, to);
        model_.set_size(to * attributes_.cell_size);
    }
    void snapshot()
    {
        static int made = 0; // several plays share a container
        snapshots_.emplace(container_.create_snapshot("play " + std::to_string(++made)), model_);
    }
    void drop_snapshot()
    {
        auto at = snapshots_.begin();
        std::advance(at, number(snapshots_.size()));
        container_.destroy_snapshot(at->first);
        snapshots_.erase(at);
    }
    void read(bool at_snapshot)
    {
        Epoch epoch = latest;
        const ArrayModel* model = &model_;
        if (at_snapshot && !snapshots_.empty()) {
            auto at = snapshots_.begin();
            std::advance(at, number(snapshots_.size()));
            epoch = at->first;
            model = &at->second;
        }
        const Range one = range();
        ReadResult result;
        const auto got = read_cells(container_, oid_, attributes_, one.index, one.length, epoch, &result);
        const auto from = model->bytes.begin() + static_cast<long>(one.index * attributes_.cell_size);
        ASSERT_TRUE(std::equal(got.begin(), got.end(), from)) << "range " << one.index << " + " << one.length;
        const std::uint64_t size = model->size() / attributes_.cell_size;
        const std::uint64_t end = one.index + one.length;
        ASSERT_EQ(result.cells_short, end > size ? end - std::max(size, one.index) : 0);
        const auto written = model->written.begin() + static_cast<long>(one.index * attributes_.cell_size);
        ASSERT_EQ(result.bytes, static_cast<std::uint64_t>(
                                    std::count(written, written + static_cast<long>(got.size()), true)));
        ASSERT_EQ(container_.array_size(oid_, attributes_, epoch), size);
    }
    void compare(const ArrayModel& model, Epoch epoch)
    {
        EXPECT_EQ(read_cells(container_, oid_, attributes_, 0, cells(), epoch), model.bytes);
        EXPECT_EQ(container_.array_size(oid_, attributes_, epoch) * attributes_.cell_size, model.size());
    }

    Container& container_;
    const ObjectId oid_;
    const ArrayAttributes attributes_;
    ArrayModel model_;
    std::map<Epoch, ArrayModel> snapshots_;
    std::mt19937_64 random_;
};

TEST_P(PropertyContract, ArraysOfSmallExtents)
{
    if (!has_versions()) GTEST_SKIP() << "pools in files have no extents";
    ArrayPlay(*container, array_object(1), {1, 100}, 5000, 1).run(steps(4000));
    ArrayPlay(*container, array_object(2, class_s1), {7, 33}, 7 * 900, 2).run(steps(2000));
    ArrayPlay(*container, array_object(3, class_rp_2gx), {8, 64}, 8 * 500, 3).run(steps(1000));
}

TEST_P(PropertyContract, ArraysOfLargeExtents)
{
    if (!has_versions()) GTEST_SKIP() << "pools in files have no extents";
    ArrayPlay(*container, array_object(1, class_s2), {1, 1 << 20}, 3 << 20, 4).run(steps(400));
    ArrayPlay(*container, array_object(2, class_rp_2g1), {8, 40000}, 1600000, 5).run(steps(200));
}

TEST_P(PropertyContract, KeyValues)
{
    using Model = std::map<std::string, std::vector<std::byte>>;
    std::mt19937_64 random(6);
    const ObjectId oid = kv_object(1, class_sx);
    Model model;
    std::map<Epoch, Model> snapshots;
    const auto compare = [&](const Model& expected, Epoch epoch) {
        const auto listed = list_keys(*container, oid, epoch);
        EXPECT_EQ(std::set<std::string>(listed.begin(), listed.end()).size(), listed.size());
        EXPECT_EQ(listed.size(), expected.size());
        for (const auto& [key, value] : expected)
            ASSERT_EQ(kv_read(*container, oid, as_bytes(key), epoch), value);
    };
    for (int step = 0; step < steps(6000); ++step) {
        const std::string key = (random() % 5 == 0 ? std::string(100, 'l') : "") +
                                std::string(random() % 2, '\0') + std::to_string(random() % 150);
        const auto what = random() % 100;
        if (what < 60) {
            const std::size_t size = random() % 40 == 0 ? 65000 + random() % 10000 : random() % 300;
            const auto value = pattern(size, random());
            container->kv_put(oid, as_bytes(key), value);
            model[key] = value;
        } else if (what < 90) {
            EXPECT_EQ(container->kv_remove(oid, as_bytes(key)), model.erase(key) == 1);
        } else if (what < 92 && has_versions() && snapshots.size() < 8) {
            snapshots.emplace(container->create_snapshot(""), model);
        } else if (what < 93 && !snapshots.empty()) {
            auto at = snapshots.begin();
            std::advance(at, random() % snapshots.size());
            compare(at->second, at->first);
            container->destroy_snapshot(at->first);
            snapshots.erase(at);
        } else {
            const auto expected = model.find(key);
            const auto got = kv_read(*container, oid, as_bytes(key));
            ASSERT_EQ(got.has_value(), expected != model.end());
            ASSERT_TRUE(!got || *got == expected->second);
        }
    }
    compare(model, latest);
    for (const auto& [epoch, kept] : snapshots)
        compare(kept, epoch);
    while (!snapshots.empty()) {
        container->destroy_snapshot(snapshots.begin()->first);
        snapshots.erase(snapshots.begin());
    }
    compare(model, latest);
}

} // namespace
} // namespace stepstore::testing

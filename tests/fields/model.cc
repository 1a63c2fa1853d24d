// Random operations, by several writers in turn, against a map.
#include "fields/fixture.h"

#include <random>

namespace stepstore::fields::testing {
namespace {

class Model : public FieldsTest {
protected:
    using Name = std::pair<int, int>; // number, step
    struct Value {
        std::vector<std::byte> data;
        std::uint64_t time;
    };

    int below(int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); }

    void archive()
    {
        const auto writer = static_cast<std::size_t>(below(2));
        for (int left = 1 + below(30); left > 0; --left) {
            const Name name{below(4), below(40)};
            static constexpr std::size_t sizes[] = {0, 1, 700, 66000, 150000};
            Value value{pattern(sizes[below(5)], random()), 1 + random() % 1000000};
            writers[writer]->archive(collocation_key(name.first), element_key(name.second), value.data,
                                     value.time);
            pending[writer][name] = std::move(value);
        }
    }
    void flush()
    {
        const auto writer = static_cast<std::size_t>(below(2));
        writers[writer]->flush();
        for (auto& [name, value] : pending[writer])
            fields[name] = std::move(value);
        pending[writer].clear();
    }
    void look()
    {
        const Name name{below(4), below(40)};
        const auto found =
            CatalogueReader(dataset).find(collocation_key(name.first), element_key(name.second));
        const auto expected = fields.find(name);
        ASSERT_EQ(found.has_value(), expected != fields.end());
        if (!found) return;
        EXPECT_EQ(found->timestamp, expected->second.time);
        EXPECT_EQ(StoreReader(dataset).read(std::get<FieldLocation>(found->location)), expected->second.data);
    }
    void list_all()
    {
        const auto listed = list(dataset);
        ASSERT_EQ(listed.size(), fields.size());
        const StoreReader store(dataset);
        for (const auto& [name, value] : fields) {
            const auto found =
                listed.find(collocation_key(name.first).text() + "|" + element_key(name.second).text());
            ASSERT_NE(found, listed.end());
            ASSERT_EQ(store.read(std::get<FieldLocation>(found->second.entry.location)), value.data);
        }
    }
    void remove()
    {
        Request request;
        const int number = below(5);
        if (number < 4) request.add("number", std::to_string(number));
        const bool steps = below(2) == 0;
        std::set<int> chosen;
        for (int left = steps ? 1 + below(5) : 0; left > 0; --left)
            chosen.insert(below(40));
        for (const int step : chosen)
            request.add("step", std::to_string(step));
        if (number == 4 && chosen.empty()) return; // not all
        const std::uint64_t removed = wipe(dataset, request).fields;
        EXPECT_EQ(removed, std::erase_if(fields, [&](const auto& one) {
                      return (number == 4 || one.first.first == number) &&
                             (chosen.empty() || chosen.contains(one.first.second));
                  }));
    }

    std::mt19937_64 random{20261122};
    std::shared_ptr<Dataset> dataset;
    std::vector<std::unique_ptr<Fields>> writers;
    std::map<Name, Value> pending[2];
    std::map<Name, Value> fields;
};
INSTANTIATE_FIELDS(Model);

TEST_P(Model, BehavesAsAMap)
{
    dataset = make();
    writers.push_back(std::make_unique<Fields>(dataset));
    writers.push_back(std::make_unique<Fields>(dataset, WriterOptions{.asynchronous = true}));
    for (int operation = 0; operation < 1500; ++operation) {
        const int what = below(100);
        if (what < 40)
            archive();
        else if (what < 55)
            flush();
        else if (what < 90)
            look();
        else if (what < 94)
            list_all();
        else if (what < 97)
            remove();
        else
            purge(dataset);
        ASSERT_FALSE(HasFailure()) << "operation " << operation;
    }
    list_all();
}

} // namespace
} // namespace stepstore::fields::testing

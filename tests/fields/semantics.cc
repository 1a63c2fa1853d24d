// archive, flush, retrieve, list: what the references promise.
#include "fields/fixture.h"
#include "support/damage.h"

namespace stepstore::fields::testing {
namespace {

class Semantics : public FieldsTest {};
INSTANTIATE_FIELDS(Semantics);

TEST_P(Semantics, NothingIsVisibleBeforeTheFlushAndAllAfterIt)
{
    const auto dataset = make();
    Fields fields(dataset);
    const auto small = pattern(1500, 1), large = pattern(1 << 20, 2);
    fields.archive(collocation_key(), element_key(1), small);
    fields.archive(collocation_key(), element_key(2), large);
    fields.archive(collocation_key(2), element_key(1), {});
    EXPECT_EQ(retrieve(dataset, collocation_key(), element_key(1)), std::nullopt);
    EXPECT_TRUE(list(dataset).empty());
    fields.flush();
    EXPECT_EQ(retrieve(dataset, collocation_key(), element_key(1)), small);
    EXPECT_EQ(retrieve(dataset, collocation_key(), element_key(2)), large);
    EXPECT_EQ(retrieve(dataset, collocation_key(2), element_key(1)), std::vector<std::byte>());
    EXPECT_EQ(list(dataset).size(), 3U);
}

TEST_P(Semantics, AMissingFieldIsNoError)
{
    EXPECT_EQ(session->find(dataset_key()), nullptr);
    const auto dataset = make();
    EXPECT_EQ(retrieve(dataset, collocation_key(), element_key(1)), std::nullopt);
    Fields fields(dataset);
    fields.archive(collocation_key(), element_key(1), bytes_of("x"));
    fields.flush();
    EXPECT_EQ(retrieve(dataset, collocation_key(), element_key(2)), std::nullopt);
    EXPECT_EQ(retrieve(dataset, collocation_key(7), element_key(1)), std::nullopt);
}

TEST_P(Semantics, AFieldArchivedAgainIsReplacedByTheFlush)
{
    const auto dataset = make();
    Fields fields(dataset);
    const auto first = pattern(3000, 1), second = pattern(100000, 2);
    fields.archive(collocation_key(), element_key(1), first, 1000);
    fields.flush();
    fields.archive(collocation_key(), element_key(1), second, 2000);
    fields.store.flush();
    EXPECT_EQ(retrieve(dataset, collocation_key(), element_key(1)), first);
    fields.catalogue.flush();
    EXPECT_EQ(retrieve(dataset, collocation_key(), element_key(1)), second);
    const auto all = list(dataset);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.begin()->second.entry.timestamp, 2000U);
    Listing masked(dataset, {}, {true});
    std::vector<bool> found;
    for (ListedField field; masked.next(field);)
        found.push_back(field.masked);
    EXPECT_EQ(found, (std::vector<bool>{false, true}));
}

TEST_P(Semantics, AFindWithoutRefreshSeesWhatWasSeenLast)
{
    const auto dataset = make();
    Fields fields(dataset);
    CatalogueReader reader(dataset);
    EXPECT_FALSE(reader.find(collocation_key(), element_key(1), false));
    fields.archive(collocation_key(), element_key(1), bytes_of("a"), 1);
    fields.flush();
    ASSERT_TRUE(reader.find(collocation_key(), element_key(1), false)); // nothing is cached, so it looks
    fields.archive(collocation_key(), element_key(1), bytes_of("b"), 2);
    fields.flush();
    EXPECT_EQ(reader.find(collocation_key(), element_key(1), false)->timestamp, 1U);
    reader.axes(collocation_key());
    EXPECT_EQ(reader.find(collocation_key(), element_key(1), false)->timestamp, 2U);
}

TEST_P(Semantics, TheLastOfSeveralInOneFlushCounts)
{
    const auto dataset = make();
    Fields fields(dataset);
    fields.archive(collocation_key(), element_key(1), bytes_of("old"));
    fields.archive(collocation_key(), element_key(1), bytes_of("new"));
    fields.flush();
    EXPECT_EQ(retrieve(dataset, collocation_key(), element_key(1)), bytes_of("new"));
}

TEST_P(Semantics, ManyPagesAndPartsMergeInOrder)
{
    const auto dataset = make();
    Fields fields(dataset);
    std::map<std::string, std::string> model;
    for (int round = 0; round < 5; ++round) {
        for (int step = round; step < 2000; step += 1 + round) {
            const std::string data = std::to_string(round) + "/" + std::to_string(step);
            fields.archive(collocation_key(), element_key(step), bytes_of(data));
            model[collocation_key().text() + "|" + element_key(step).text()] = data;
        }
        fields.flush();
    }
    const auto all = list(dataset);
    ASSERT_EQ(all.size(), model.size());
    const StoreReader store(dataset);
    for (const auto& [name, field] : all)
        ASSERT_EQ(store.read(std::get<FieldLocation>(field.entry.location)), bytes_of(model.at(name)))
            << name;
    for (int step = 0; step < 2000; ++step)
        ASSERT_EQ(retrieve(dataset, collocation_key(), element_key(step)),
                  bytes_of(model.at(collocation_key().text() + "|" + element_key(step).text())));
}

TEST_P(Semantics, ListsWhatARequestMatches)
{
    const auto dataset = make();
    Fields fields(dataset);
    for (int number = 1; number <= 3; ++number)
        for (int step = 0; step < 10; ++step)
            for (const int param : {130, 131})
                fields.archive(collocation_key(number), element_key(step, param), bytes_of("x"));
    fields.flush();
    EXPECT_EQ(list(dataset, {{"number", {"2"}}}).size(), 20U);
    EXPECT_EQ(list(dataset, {{"step", {"3", "4"}}, {"param", {"131"}}}).size(), 6U);
    EXPECT_EQ(list(dataset, {{"step", {"77"}}}).size(), 0U);
    EXPECT_EQ(list(dataset, {{"unheard-of", {"1"}}}).size(), 60U);
    // A page whose keys have not all the same keywords.
    fields.archive(collocation_key(9), {{"step", "1"}}, bytes_of("x"));
    fields.archive(collocation_key(9), {{"step", "1"}, {"extra", "a"}}, bytes_of("x"));
    fields.flush();
    EXPECT_EQ(list(dataset, {{"number", {"9"}}, {"extra", {"b"}}}).size(), 1U);
    CatalogueReader reader(dataset);
    EXPECT_EQ(reader.axes(collocation_key(1))->at("param"),
              (std::set<std::string, std::less<>>{"130", "131"}));
    std::map<std::string, std::uint64_t> entries;
    reader.indexes({}, [&](const IndexSummary& one) {
        entries[one.collocation.text()] = one.entries;
        return true;
    });
    EXPECT_EQ(entries.size(), 4U);
    EXPECT_EQ(entries.at(collocation_key(2).text()), 20U);
}

TEST_P(Semantics, KeysAndLocationsMayBe64KiBAndHoldAnyBytes)
{
    const std::string long_value(64 * 1024, 'v');
    const std::string odd = std::string("a,b=c%d\n") + '\0' + "\x7f/:\xff";
    const auto dataset = make({{"class", long_value}, {"expver", odd}});
    ASSERT_EQ(session->find({{"class", long_value}, {"expver", odd}}), dataset);
    Fields fields(dataset);
    const Key collocation{{"type", long_value}, {odd, odd}};
    for (int i = 0; i < 3; ++i)
        fields.catalogue.archive(collocation, {{"step", long_value + std::to_string(i)}, {"param", odd}},
                                 Location(std::string(64 * 1024, static_cast<char>('a' + i))), 7);
    fields.archive(collocation, {}, bytes_of("an empty key"));
    fields.flush();
    EXPECT_EQ(list(dataset).size(), 4U);
    const auto found =
        CatalogueReader(dataset).find(collocation, {{"step", long_value + "2"}, {"param", odd}});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(std::get<std::string>(found->location), std::string(64 * 1024, 'c'));
    EXPECT_EQ(found->timestamp, 7U);
    EXPECT_EQ(retrieve(dataset, collocation, {}), bytes_of("an empty key"));
    const auto axes = CatalogueReader(dataset).axes(collocation);
    EXPECT_TRUE(axes->at("param").contains(odd));
    EXPECT_EQ(CatalogueReader(dataset).axes(collocation), axes) << "nothing was archived since";
}

TEST_P(Semantics, SmallFieldsShareObjectsLargeOnesHaveTheirOwn)
{
    const auto dataset = make();
    StoreWriter store(dataset);
    const StoreReader reader(dataset);
    std::set<std::uint64_t> small, large;
    std::vector<FieldLocation> locations;
    for (int i = 0; i < 100; ++i)
        locations.push_back(store.archive(pattern(1500, static_cast<std::uint64_t>(i))));
    for (const auto& one : locations)
        small.insert(one.object);
    for (int i = 0; i < 10; ++i)
        large.insert(
            locations.emplace_back(store.archive(pattern(200000, static_cast<std::uint64_t>(100 + i))))
                .object);
    store.flush();
    EXPECT_EQ(small.size(), 1U);
    EXPECT_EQ(large.size(), 10U);
    std::vector<std::vector<std::byte>> data;
    std::vector<MutableBytes> memory;
    for (const auto& one : locations)
        data.emplace_back(one.length);
    for (auto& one : data)
        memory.emplace_back(one);
    reader.read(locations, memory);
    for (std::size_t i = 0; i < data.size(); ++i) {
        ASSERT_EQ(data[i], pattern(data[i].size(), i)) << i;
        EXPECT_TRUE(reader.exists(locations[i]));
    }
    std::vector<std::byte> part(100);
    reader.read(locations[7], 50, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), pattern(1500, 7).begin() + 50));
}

TEST_P(Semantics, AsynchronousArchiveGivesTheSame)
{
    const auto dataset = make();
    Fields fields(dataset, {.asynchronous = true, .in_flight = 1 << 20});
    for (int step = 0; step < 60; ++step) {
        auto data = pattern(step % 3 == 0 ? 900 : 200000, static_cast<std::uint64_t>(step));
        fields.archive(collocation_key(), element_key(step), data);
        std::ranges::fill(data, std::byte{0xff}); // it has a copy
    }
    fields.flush();
    for (int step = 0; step < 60; ++step)
        ASSERT_EQ(retrieve(dataset, collocation_key(), element_key(step)),
                  pattern(step % 3 == 0 ? 900 : 200000, static_cast<std::uint64_t>(step)));
}

TEST_P(Semantics, TheSchemaBelongsToTheDataset)
{
    const auto dataset = session->create(dataset_key(), {.pack_below = 7}, "[ class\n[ type ]]\n");
    EXPECT_EQ(session->create(dataset_key(), {}, "[ class\n[ type ]]\n"), dataset);
    EXPECT_EQ(session->find(dataset_key()), dataset);
    EXPECT_EQ(session->find(dataset_key())->options().pack_below, 7U);
    EXPECT_ERROR(-DER_MISMATCH, session->create(dataset_key(), {}, "[ class\n[ other ]]\n"));
    const auto reading = Session::open(location, Access::read_only);
    EXPECT_EQ(reading->find(dataset_key())->schema(), "[ class\n[ type ]]\n");
    EXPECT_ERROR(-DER_NO_PERM, reading->create(dataset_key("2")));
}

TEST_P(Semantics, VerifyingBelongsToTheDataset)
{
    if (stepstore::testing::on_rados()) GTEST_SKIP() << "it changes bytes of the pool's files";
    const auto data = pattern(500'000, 1);
    for (const bool verify : {true, false}) {
        const Key key = dataset_key(verify ? "0001" : "0002");
        const auto dataset = session->create(key, {.verify = verify});
        Fields fields(dataset);
        const FieldLocation location = fields.archive(collocation_key(), element_key(1), data);
        fields.flush();
        Session::release();
        session = Session::open(this->location, Access::read_write);
        const auto found = session->create(key, {.verify = !verify});
        EXPECT_EQ(found->options().verify, verify);
        EXPECT_EQ(StoreReader(found).read(location), data);
        std::string text;
        dump(found, false, [&](std::string_view line) { text += line; });
        EXPECT_EQ(text.find("not verified") == std::string::npos, verify) << text;
    }
    if (GetParam() == "memory") return;
    const std::string extension = stepstore::testing::in_files() ? "" : ".ext";
    const Bytes place = Bytes(data).subspan(200'000, 64);
    ASSERT_EQ(stepstore::testing::flip_in_files(location.substr(location.find('/')), extension, place, 7), 2);
    EXPECT_ERROR(-DER_CSUM, retrieve(session->find(dataset_key("0001")), collocation_key(), element_key(1)));
    auto damaged = data;
    damaged[200'007] ^= std::byte{0x10};
    EXPECT_EQ(retrieve(session->find(dataset_key("0002")), collocation_key(), element_key(1)), damaged);
    // Several at once tell it too. In a pool in files a part has no checksum, and the location has one.
    const auto dataset = session->find(dataset_key("0001"));
    const auto entry = CatalogueReader(dataset).find(collocation_key(), element_key(1));
    const auto field = std::get<FieldLocation>(entry->location);
    EXPECT_EQ(field.checksum.has_value(), stepstore::testing::in_files());
    std::vector<std::byte> memory(field.length);
    const MutableBytes piece(memory);
    EXPECT_ERROR(-DER_CSUM, StoreReader(dataset).read({&field, 1}, {&piece, 1}));
}

TEST_P(Semantics, ControlFlagsAndAttributesAreStored)
{
    const auto dataset = make();
    Fields fields(dataset);
    dataset->set_enabled(Control::archive, false);
    fields.archive(collocation_key(), element_key(1), bytes_of("x"));
    EXPECT_ERROR(-DER_NO_PERM, fields.catalogue.flush());
    dataset->set_enabled(Control::archive, true);
    fields.flush();
    EXPECT_EQ(list(dataset).size(), 1U);
    dataset->set_enabled(Control::list, false);
    EXPECT_ERROR(-DER_NO_PERM, list(dataset));
    dataset->set_enabled(Control::retrieve, false);
    EXPECT_ERROR(-DER_NO_PERM, retrieve(dataset, collocation_key(), element_key(1)));
    dataset->set_attribute("owner", "a");
    dataset->set_attribute("other", "1");
    EXPECT_EQ(dataset->attributes().size(), 2U);
    EXPECT_EQ(dataset->attribute("owner"), "a");
    dataset->remove_attribute("other");
    EXPECT_EQ(dataset->attribute("other"), std::nullopt);
}

TEST_P(Semantics, UnknownThingsAreClearErrors)
{
    EXPECT_ERROR(-DER_NONEXIST, Session::open(directory / "nowhere", Access::read_write));
    EXPECT_ERROR(-DER_INVAL, parse_options({{"index", "process"}}));
    EXPECT_ERROR(-DER_INVAL, parse_options({{"packBelw", "1"}}));
    EXPECT_ERROR(-DER_INVAL, parse_options({{"packBelow", "1 TiB"}}));
    EXPECT_ERROR(-DER_INVAL, parse_options({{"verify", "yes"}}));
    const Options options = parse_options({{"packSize", "2MiB"}, {"asynchronous", "true"}});
    EXPECT_EQ(options.dataset.pack_size, 2U << 20);
    EXPECT_TRUE(options.writer.asynchronous);
    DatasetOptions wrong;
    wrong.data_class = "S3000";
    EXPECT_ERROR(-DER_INVAL, session->create(dataset_key(), wrong));
    EXPECT_EQ(session->find(dataset_key()), nullptr);
}

} // namespace
} // namespace stepstore::fields::testing

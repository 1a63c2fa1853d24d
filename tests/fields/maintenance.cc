// Wipe, purge, statistics, dump, copy and move.
#include "fields/fixture.h"
#include "support/processes.h"

namespace stepstore::fields::testing {
namespace {

using stepstore::testing::run_in_child;

class Maintenance : public FieldsTest {
protected:
    void fill(Fields& fields, int numbers, int steps, std::size_t size, std::uint64_t seed = 0)
    {
        for (int number = 0; number < numbers; ++number)
            for (int step = 0; step < steps; ++step)
                fields.archive(collocation_key(number), element_key(step),
                               pattern(size, seed + static_cast<std::uint64_t>(number * 1000 + step)));
        fields.flush();
    }
    std::size_t objects_in(const std::shared_ptr<Dataset>& dataset) const
    {
        return arrays_in(location, dataset->container_label());
    }
};
INSTANTIATE_FIELDS(Maintenance);

TEST_P(Maintenance, AWipedDatasetIsGoneForAllAndReadersAreTold)
{
    const auto dataset = make();
    Fields fields(dataset);
    fill(fields, 2, 3, 2000);
    CatalogueReader reader(dataset);
    const auto entry = reader.find(collocation_key(1), element_key(1));
    ASSERT_TRUE(entry.has_value());
    Listing listing(dataset, {});
    ListedField field;
    ASSERT_TRUE(listing.next(field));
    ASSERT_TRUE(wipe(*session, dataset_key()));
    EXPECT_FALSE(wipe(*session, dataset_key()));
    EXPECT_EQ(session->find(dataset_key()), nullptr);
    EXPECT_EQ(session->find_container(dataset->container_label()), nullptr);
    const Error error =
        error_of([&] { StoreReader(dataset).read(std::get<FieldLocation>(entry->location)); });
    EXPECT_EQ(error.code(), -DER_STALE);
    EXPECT_NE(std::string(error.what()).find("was wiped"), std::string::npos) << error.what();
    EXPECT_ERROR(-DER_STALE, reader.find(collocation_key(1), element_key(1)));
    EXPECT_ERROR(-DER_STALE, while (listing.next(field)));
    fields.archive(collocation_key(), element_key(1), bytes_of("x"));
    EXPECT_ERROR(-DER_STALE, fields.flush());
    // A new one of the same name is another one.
    const auto again = make();
    EXPECT_NE(again->container_label(), dataset->container_label());
    EXPECT_TRUE(list(again).empty());
    EXPECT_TRUE(purge_pool(*session).empty());
}

TEST_P(Maintenance, ADamagedDatasetIsAnErrorAndCanBeWiped)
{
    const std::string label = make()->container_label();
    Session::release();
    session = Session::open(location, Access::read_write);
    {
        const Container container = session->pool().open_container(label);
        KeyValue entries = container.key_value(container.object_id(0, 0, ObjectType::key_value, "S1"));
        auto record = entries.get("record").value();
        record[40] ^= std::byte{1};
        entries.put("record", record);
    }
    EXPECT_ERROR(-DER_CSUM, session->find(dataset_key()));
    EXPECT_ERROR(-DER_CSUM, make());
    EXPECT_TRUE(wipe(*session, dataset_key()));
    EXPECT_TRUE(list(make()).empty());
}

TEST_P(Maintenance, PurgeReclaimsWhatWasReplacedAndNothingElse)
{
    const auto dataset = make();
    Fields fields(dataset);
    fill(fields, 2, 5, 200000);
    const auto old = CatalogueReader(dataset).find(collocation_key(1), element_key(3));
    fill(fields, 1, 5, 200000, 7);
    fill(fields, 1, 2, 3000, 9);
    const auto before = list(dataset);
    EXPECT_EQ(objects_in(dataset), 16U);
    Statistics statistics = fields::statistics(dataset);
    EXPECT_EQ(statistics.fields, 10U);
    EXPECT_EQ(statistics.bytes, 8 * 200000U + 2 * 3000U);
    EXPECT_EQ(statistics.masked_fields, 7U);
    EXPECT_EQ(statistics.masked_bytes, 1400000U);
    std::size_t found = 0;
    PurgeOptions options;
    options.dry_run = true;
    options.found = [&](const Unneeded& one) {
        ++found;
        EXPECT_EQ(one.reason, Unneeded::Reason::replaced);
        EXPECT_EQ(one.collocation, collocation_key(0));
    };
    PurgeReport report = purge(dataset, options);
    EXPECT_EQ(found, 7U);
    EXPECT_EQ(report.objects, 7U);
    EXPECT_EQ(report.bytes, 1400000U);
    EXPECT_EQ(objects_in(dataset), 16U);
    CatalogueReader reader(dataset); // with its cache filled
    ASSERT_TRUE(reader.find(collocation_key(0), element_key(1)).has_value());
    const auto masked = [&] {
        Listing listing(dataset, {}, {.masked = true});
        for (ListedField field; listing.next(field);)
            if (field.masked) return std::get<FieldLocation>(field.entry.location);
        return FieldLocation{};
    }();
    report = purge(dataset);
    EXPECT_EQ(report.objects, 7U);
    EXPECT_EQ(report.masked_fields, 7U);
    EXPECT_EQ(report.pages, 3U);
    EXPECT_EQ(objects_in(dataset), 9U);
    const auto after = list(dataset);
    ASSERT_EQ(after.size(), before.size());
    for (const auto& [name, field] : after)
        EXPECT_EQ(field.entry.location, before.at(name).entry.location);
    EXPECT_EQ(retrieve(dataset, collocation_key(0), element_key(1)), pattern(3000, 10));
    EXPECT_EQ(retrieve(dataset, collocation_key(0), element_key(4)), pattern(200000, 11));
    EXPECT_EQ(retrieve(dataset, collocation_key(1), element_key(3)), pattern(200000, 1003));
    const Error gone = error_of([&] { StoreReader(dataset).read(masked); });
    EXPECT_EQ(gone.code(), -DER_STALE) << gone.what();
    EXPECT_NE(std::string(gone.what()).find("purge"), std::string::npos);
    EXPECT_FALSE(StoreReader(dataset).exists(masked));
    // The row goes on behind its base, and a second purge finds nothing.
    report = purge(dataset);
    EXPECT_EQ(report.objects + report.pages + report.masked_fields, 0U);
    fill(fields, 1, 1, 500, 77);
    EXPECT_EQ(retrieve(dataset, collocation_key(0), element_key(0)), pattern(500, 77));
    EXPECT_EQ(list(dataset).size(), 10U);
    purge(dataset);
    EXPECT_EQ(list(dataset).size(), 10U);
    EXPECT_EQ(retrieve(dataset, collocation_key(0), element_key(0)), pattern(500, 77));
}

TEST_P(Maintenance, ReadersWithOldCachesSurviveManyPurges)
{
    const auto dataset = make();
    Fields fields(dataset);
    const auto other = [&] { // a row as a reader has it that has not looked for long
        Listing listing(dataset, {});
        return listing;
    };
    fill(fields, 1, 3000, 10);
    auto listing = other();
    ListedField field;
    std::set<std::string> names;
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(listing.next(field));
        names.insert(field.element.text());
    }
    for (std::uint64_t round = 1; round < 4; ++round) {
        fill(fields, 1, 3000, 10, round);
        purge(dataset);
        EXPECT_EQ(retrieve(dataset, collocation_key(0), element_key(17)), pattern(10, round + 17));
    }
    while (listing.next(field))
        EXPECT_TRUE(names.insert(field.element.text()).second);
    EXPECT_EQ(names.size(), 3000U);
}

TEST_P(Maintenance, WipesByRequest)
{
    const auto dataset = make();
    Fields fields(dataset);
    fill(fields, 3, 10, 2000);
    WipeReport report = wipe(dataset, {{"number", {"1"}}}, true);
    EXPECT_EQ(report.fields, 10U);
    EXPECT_EQ(list(dataset).size(), 30U);
    report = wipe(dataset, {{"number", {"1"}}});
    EXPECT_EQ(report.fields, 10U);
    EXPECT_EQ(report.bytes, 20000U);
    EXPECT_EQ(report.collocations, 1U);
    EXPECT_EQ(list(dataset).size(), 20U);
    EXPECT_EQ(retrieve(dataset, collocation_key(1), element_key(1)), std::nullopt);
    report = wipe(dataset, {{"step", {"2", "3"}}});
    EXPECT_EQ(report.fields, 4U);
    EXPECT_EQ(list(dataset).size(), 16U);
    EXPECT_EQ(retrieve(dataset, collocation_key(2), element_key(2)), std::nullopt);
    EXPECT_EQ(retrieve(dataset, collocation_key(2), element_key(4)), pattern(2000, 2004));
    // What was removed can come back.
    fields.archive(collocation_key(1), element_key(1), bytes_of("again"));
    fields.flush();
    EXPECT_EQ(retrieve(dataset, collocation_key(1), element_key(1)), bytes_of("again"));
    EXPECT_TRUE(clear(dataset, collocation_key(2)));
    EXPECT_EQ(list(dataset, {{"number", {"2"}}}).size(), 0U);
    EXPECT_FALSE(clear(dataset, collocation_key(2)));
    purge(dataset);
    EXPECT_EQ(list(dataset).size(), 9U);
    dataset->set_enabled(Control::wipe, false);
    EXPECT_ERROR(-DER_NO_PERM, wipe(*session, dataset_key()));
    EXPECT_ERROR(-DER_NO_PERM, purge(dataset));
}

TEST_P(Maintenance, CopiesWhole)
{
    const auto dataset = make();
    Fields fields(dataset);
    fill(fields, 2, 5, 3000);
    fill(fields, 1, 2, 200000, 5);
    fields.catalogue.archive(collocation_key(5), element_key(1), std::string("file:/somewhere"), 42);
    fields.flush();
    dataset->set_attribute("owner", "me");
    const std::string other = new_pool(directory, "other");
    create_pool(other, GetParam());
    const auto target = Session::open(other, Access::read_write);
    EXPECT_EQ(copy(dataset, *target, dataset_key()), 11U);
    EXPECT_ERROR(-DER_EXIST, copy(dataset, *target, dataset_key()));
    const auto same = [&](const std::shared_ptr<Dataset>& copied) {
        EXPECT_EQ(list(copied).size(), 11U);
        EXPECT_EQ(retrieve(copied, collocation_key(0), element_key(1)), pattern(200000, 6));
        EXPECT_EQ(retrieve(copied, collocation_key(1), element_key(4)), pattern(3000, 1004));
        const auto entry = CatalogueReader(copied).find(collocation_key(5), element_key(1));
        EXPECT_EQ(std::get<std::string>(entry->location), "file:/somewhere");
        EXPECT_EQ(entry->timestamp, 42U);
        EXPECT_EQ(copied->attribute("owner"), "me");
    };
    same(target->find(dataset_key()));
    EXPECT_EQ(copy(dataset, *target, dataset_key("0002")), 11U);
    same(target->find(dataset_key("0002")));
    EXPECT_TRUE(purge_pool(*target).empty());
}

TEST_P(Maintenance, DumpShowsWhatIsStored)
{
    const auto dataset = make();
    Fields fields(dataset);
    fill(fields, 1, 2, 100);
    dataset->set_enabled(Control::list, false);
    std::string text;
    dump(dataset, true, [&](std::string_view line) { text += std::string(line) + "\n"; });
    for (const char* part : {"dataset class=od", "collocation type=pf,levtype=pl,number=0", "locked: list",
                             "step=1,param=130,levelist=500: ", "axes", "step=0/1", "writer "})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST_P(Maintenance, FieldsWithAnotherCatalogueAreNotTakenForUnreferenced)
{
    if (GetParam() == "memory") GTEST_SKIP() << "memory pools are of one process";
    const auto locate = [&](bool elsewhere) {
        return run_in_child([&] {
            const auto dataset = Session::open(location, Access::read_write)->find(dataset_key());
            StoreWriter store(dataset, {.asynchronous = false, .indexed_elsewhere = elsewhere});
            store.archive(pattern(200000, 1));
            store.flush();
            return 0;
        });
    };
    const auto dataset = make();
    ASSERT_EQ(locate(false), 0);
    EXPECT_EQ(purge(dataset).unreferenced, 1U);
    ASSERT_EQ(locate(true), 0);
    EXPECT_EQ(purge(dataset).unreferenced, 0U);
    EXPECT_EQ(objects_in(dataset), 1U);
}

} // namespace
} // namespace stepstore::fields::testing

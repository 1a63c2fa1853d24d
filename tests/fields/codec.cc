// The bytes: keys, pages and records, whole and damaged.
#include "fields/fixture.h"
#include "fields/record.h"
#include "fields/row_record.h"

#include <functional>
#include <random>

namespace stepstore::fields::testing {
namespace {

TEST(Codec, TextsOfKeysAreReadBack)
{
    const std::string odd = std::string("a,b=c%d\r") + '\0' + "\x7f\xff";
    for (const Key& key :
         {Key(), Key{{"step", "1"}}, Key{{"step", ""}, {"", "x"}}, Key{{odd, odd}, {"b", "2"}}}) {
        const std::string text = key.text();
        EXPECT_EQ(Key::parse(text), key) << text;
        EXPECT_EQ(text.find('\0'), std::string::npos);
    }
    EXPECT_EQ((Key{{"a", "1"}, {"b", "x,y"}}).text(), "a=1,b=x%2Cy");
    for (const char* text : {"a", "a=1,", ",", "a=%4", "a=%zz", "a=1,b"})
        EXPECT_ERROR(-DER_DF_INVAL, Key::parse(text));
}

struct Built {
    std::vector<BuiltPart> parts;
    PageSummary summary;
    std::map<std::string, PageEntry> model;
};

Built build(std::uint64_t seed, std::size_t count)
{
    std::mt19937_64 random(seed);
    Built built;
    while (built.model.size() < count) {
        PageEntry entry;
        entry.removed = random() % 10 == 0;
        if (!entry.removed) entry.timestamp = random() % 3 == 0 ? random() : 1700000000 + random() % 1000;
        if (random() % 4 == 0 && !entry.removed)
            entry.location = std::string(random() % 300, 'f');
        else if (!entry.removed)
            entry.location =
                FieldLocation{random(), random() % 100, random() >> (random() % 64),
                              random() % 2 == 0 ? std::optional<std::uint64_t>(random()) : std::nullopt};
        const auto number = static_cast<int>(random() % 100000);
        built.model[element_key(number % 100, number / 100).text()] = entry;
    }
    PageBuilder builder([&](BuiltPart&& part) { built.parts.push_back(std::move(part)); });
    for (const auto& [text, entry] : built.model)
        builder.add(text, entry);
    built.summary = builder.finish();
    return built;
}

bool same(const PageEntry& a, const PageEntry& b)
{
    return a.removed == b.removed && (a.removed || (a.location == b.location && a.timestamp == b.timestamp));
}

TEST(Codec, PagesHoldWhatWasPut)
{
    for (const std::size_t count : {1U, 15U, 16U, 17U, 33U, 5000U}) {
        const Built built = build(count, count);
        EXPECT_EQ(built.summary.entries, count);
        EXPECT_FALSE(built.summary.mixed);
        auto expected = built.model.begin();
        for (const BuiltPart& part : built.parts) {
            const auto read = std::make_shared<const Part>(part.bytes, "a part");
            EXPECT_EQ(part.first, expected->first);
            Part::Cursor cursor(read);
            while (cursor.next()) {
                ASSERT_EQ(cursor.text(), expected->first);
                ASSERT_TRUE(same(cursor.entry(), expected->second));
                const auto found = read->find(expected->first);
                ASSERT_TRUE(found && same(*found, expected->second));
                EXPECT_FALSE(read->find(expected->first + "0"));
                ++expected;
            }
            EXPECT_FALSE(read->find(""));
            EXPECT_FALSE(read->find("zzz"));
        }
        EXPECT_EQ(expected, built.model.end());
        for (const auto& [text, entry] : built.model)
            EXPECT_TRUE(built.summary.axes.at("step").contains(*Key::parse(text).find("step")));
    }
}

// A dataset that says where its pages lie is read only if they lie in the row.
TEST(Codec, AnotherPlaceOfPagesIsRefusedByName)
{
    DatasetRecord dataset;
    dataset.key = dataset_key();
    const auto with_index = [&](std::uint64_t kind) {
        auto bytes = encode_dataset(dataset);
        WireWriter to(bytes);
        write_field(to, 2 | must_know, kind);
        seal(bytes, Magic::dataset);
        return bytes;
    };
    EXPECT_EQ(decode_dataset(with_index(1), "dataset d").key, dataset.key);
    for (const std::uint64_t kind : {0, 2, 3}) {
        const Error error = error_of([&] { decode_dataset(with_index(kind), "dataset d"); });
        EXPECT_EQ(error.code(), -DER_DF_INCOMPT);
        EXPECT_NE(std::string(error.what()).find("dataset d has the setting index=process"),
                  std::string::npos)
            << error.what();
    }
}

// Any damage ends in an error, also behind a checksum that was made to fit.
TEST(Codec, DamagedBytesAreErrors)
{
    const Built built = build(1, 100);
    RowRecord row;
    row.summary = built.summary;
    row.firsts = {"a"};
    row.inside = built.parts.front().bytes;
    DatasetRecord dataset;
    dataset.key = dataset_key();
    dataset.schema = "schema";
    struct Kind {
        Magic magic;
        std::vector<std::byte> bytes;
        std::function<void(const std::vector<std::byte>&)> read;
    };
    const std::vector<Kind> kinds = {
        {Magic::part, built.parts.front().bytes,
         [](const auto& bytes) {
             const auto part = std::make_shared<const Part>(bytes, "a part");
             Part::Cursor cursor(part);
             while (cursor.next())
                 cursor.entry();
             part->find("step=5,param=130,levelist=500");
         }},
        {Magic::row, encode_row(row), [](const auto& bytes) { decode_row(bytes, "a row"); }},
        {Magic::dataset, encode_dataset(dataset),
         [](const auto& bytes) { decode_dataset(bytes, "a dataset"); }},
        {Magic::root, encode_root("label"), [](const auto& bytes) { decode_root(bytes, "a root"); }},
        {Magic::writer, encode_writer({1, 2, this_process()}),
         [](const auto& bytes) { decode_writer(bytes, "w"); }},
        {Magic::collocation, encode_collocation(7),
         [](const auto& bytes) { decode_collocation(bytes, "c"); }},
    };
    std::mt19937_64 random(20261122);
    for (const Kind& kind : kinds) {
        EXPECT_NO_THROW(kind.read(kind.bytes));
        for (int round = 0; round < 2000; ++round) {
            auto bytes = kind.bytes;
            const std::size_t at = random() % bytes.size();
            if (round % 3 == 0)
                bytes.resize(at);
            else
                bytes[at] ^= static_cast<std::byte>(1 + random() % 255);
            const bool versions_only = round % 3 != 0 && at >= 4 && at < 8;
            const int code = error_of([&] { kind.read(bytes); }).code();
            if (!versions_only) {
                EXPECT_NE(code, 0) << static_cast<int>(kind.magic) << " at " << at;
            }
            if (bytes.size() < frame_size) continue;
            seal(bytes, kind.magic); // so that only what reads it can notice
            try {
                kind.read(bytes);
            } catch (const Error& error) {
                EXPECT_TRUE(error.code() == -DER_DF_INVAL || error.code() == -DER_DF_INCOMPT) << error.what();
            }
        }
    }
}

} // namespace
} // namespace stepstore::fields::testing

// Blobs from C++: values whole, while others write, and no space that stays.
#include "base/bytes.h"
#include "fixture.h"

#include <algorithm>
#include <map>
#include <thread>

namespace stepstore::blobs::testing {
namespace {

using stepstore::testing::code_of;
using Sizes = std::vector<std::size_t>;
const Sizes sizes = {0, 1, 100, 32767, 32768, 32769, 65536, (1 << 20) + 7};

class BlobsOfAContainer : public BlobsTest {
protected:
    Blobs blobs = open();
};

TEST_F(BlobsOfAContainer, ValuesOfEverySizeComeBackWholeAndInParts)
{
    for (const std::size_t size : sizes) {
        EXPECT_FALSE(blobs.read("a/b"));
        const auto wanted = value(size);
        EXPECT_TRUE(blobs.write("a/b", wanted));
        EXPECT_EQ(blobs.read("a/b"), wanted);
        ASSERT_TRUE(blobs.info("a/b"));
        EXPECT_EQ(blobs.info("a/b")->size, size);
        const auto whole = static_cast<std::int64_t>(size);
        for (const std::int64_t start : {std::int64_t{0}, std::int64_t{5}, whole - 1, whole, -whole - 3}) {
            const auto part = blobs.read("a/b", {start, start + 50});
            const std::int64_t from = start < 0 ? std::max<std::int64_t>(start + whole, 0) : start;
            const std::int64_t to = start + 50 < 0 ? start + 50 + whole : start + 50;
            const auto first = static_cast<std::size_t>(std::clamp<std::int64_t>(from, 0, whole));
            const auto end = static_cast<std::size_t>(std::clamp<std::int64_t>(to, 0, whole));
            const std::vector<std::byte> expected(wanted.begin() + static_cast<std::ptrdiff_t>(first),
                                                  wanted.begin() +
                                                      static_cast<std::ptrdiff_t>(std::max(first, end)));
            EXPECT_EQ(part, expected) << size << " from " << start;
        }
        EXPECT_TRUE(blobs.remove("a/b"));
        EXPECT_FALSE(blobs.remove("a/b"));
    }
    EXPECT_TRUE(arrays_in(blobs).empty());
}

TEST_F(BlobsOfAContainer, OfSeveralWritersOfANameOneValueStays)
{
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed)
        threads.emplace_back([&, seed] {
            for (std::size_t turn = 0; turn < 20; ++turn)
                blobs.write("k", value(40000 + 1000 * seed + turn, seed));
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(arrays_in(blobs), std::set<std::uint64_t>{blobs.info("k")->number});
}

TEST_F(BlobsOfAContainer, NoAppendIsLostAndNoneComesTwice)
{
    constexpr std::size_t each = 3000;
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 3; ++seed)
        threads.emplace_back([&, seed] {
            for (int turn = 0; turn < 8; ++turn)
                blobs.append("k", std::vector<std::byte>(each, static_cast<std::byte>(seed)));
        });
    for (std::thread& thread : threads)
        thread.join();
    const auto all = blobs.read("k");
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 3 * 8 * each);
    std::map<std::byte, int> times;
    for (std::size_t at = 0; at < all->size(); at += each) {
        EXPECT_TRUE(std::all_of(all->begin() + static_cast<std::ptrdiff_t>(at),
                                all->begin() + static_cast<std::ptrdiff_t>(at + each),
                                [&](std::byte byte) { return byte == (*all)[at]; }));
        ++times[(*all)[at]];
    }
    for (const auto& one : times)
        EXPECT_EQ(one.second, 8);
    EXPECT_EQ(arrays_in(blobs), std::set<std::uint64_t>{blobs.info("k")->number});
}

TEST_F(BlobsOfAContainer, OnlyNewKeepsWhatIsThere)
{
    for (const std::size_t size : {std::size_t{10}, std::size_t{100000}}) {
        blobs.write("k", value(size, 1));
        EXPECT_FALSE(blobs.write("k", value(100000, 2), Put::only_new));
        EXPECT_EQ(blobs.read("k"), value(size, 1));
        EXPECT_EQ(arrays_in(blobs).size(), size > largest_small ? 1U : 0U);
        blobs.remove("k");
        EXPECT_TRUE(blobs.write("k", value(100000, 2), Put::only_new));
        EXPECT_EQ(blobs.read("k"), value(100000, 2));
    }
}

TEST_F(BlobsOfAContainer, AWriterPublishesAtItsEndOrNever)
{
    for (const Sizes& pieces : {Sizes{10, 20}, Sizes{30000, 30000, 5}, Sizes{1 << 20, 1}, Sizes{}}) {
        std::vector<std::byte> whole;
        Writer writer(blobs, "k");
        for (const std::size_t size : pieces) {
            const auto part = value(size, static_cast<unsigned>(size));
            writer.write(part);
            whole.insert(whole.end(), part.begin(), part.end());
        }
        EXPECT_FALSE(blobs.exists("k"));
        EXPECT_TRUE(writer.close());
        EXPECT_EQ(code_of([&] { writer.write(whole); }), -DER_NO_HDL);
        EXPECT_EQ(blobs.read("k"), whole);
        {
            Writer left(blobs, "k");
            left.write(value(100000));
        }
        EXPECT_EQ(blobs.read("k"), whole);
        blobs.remove("k");
    }
    EXPECT_TRUE(arrays_in(blobs).empty());
}

TEST_F(BlobsOfAContainer, AReaderKeepsToOneVersion)
{
    for (const std::size_t size : {std::size_t{1000}, std::size_t{1} << 20}) {
        blobs.write("k", value(size, 1));
        const auto reader = blobs.reader("k");
        blobs.write("k", value(size, 2));
        EXPECT_FALSE(reader->is_current());
        std::vector<std::byte> found;
        const auto read = [&] {
            reader->read({}, [&](std::size_t bytes) {
                found.resize(bytes);
                return MutableBytes(found);
            });
        };
        if (size > largest_small) {
            EXPECT_EQ(code_of(read), -DER_NONEXIST);
        } else {
            read();
            EXPECT_EQ(found, value(size, 1));
        }
    }
}

TEST_F(BlobsOfAContainer, CopiesAndNewNamesAreOfOneVersion)
{
    const Blobs other = Blobs::open(location + "/other", Access::read_write);
    for (const std::size_t size : {std::size_t{5}, std::size_t{20} << 20}) {
        blobs.write("k", value(size));
        const auto version = blobs.copy("k", other, "m");
        ASSERT_TRUE(version);
        EXPECT_EQ(other.read("m"), value(size));
        EXPECT_TRUE(blobs.rename("k", "l"));
        EXPECT_FALSE(blobs.exists("k"));
        EXPECT_EQ(blobs.read("l"), value(size));
        EXPECT_FALSE(blobs.remove("l", *version)); // it has another one
        EXPECT_TRUE(blobs.exists("l"));
    }
    EXPECT_FALSE(blobs.copy("none", other, "m"));
    EXPECT_FALSE(blobs.rename("none", "m"));
}

TEST_F(BlobsOfAContainer, ListingsAreSortedAndKnowFolders)
{
    for (const char* key : {"b", "a/x", "a/y/z", "ab"})
        blobs.write(key, {});
    blobs.make_folder("empty");
    using Names = std::vector<std::string>;
    EXPECT_EQ(blobs.keys(), (Names{"a/x", "a/y/z", "ab", "b"}));
    EXPECT_EQ(blobs.keys("a/"), (Names{"a/x", "a/y/z"}));
    EXPECT_EQ(blobs.children(), (Names{"a/", "ab", "b", "empty/"}));
    EXPECT_EQ(blobs.children("a"), (Names{"x", "y/"}));
    EXPECT_TRUE(blobs.is_folder("empty"));
    EXPECT_EQ(blobs.remove_folder("a"), 2U);
    EXPECT_EQ(blobs.keys(), (Names{"ab", "b"}));
}

TEST_F(BlobsOfAContainer, FaultsNameTheBlob)
{
    std::string text;
    EXPECT_EQ(code_of([&] { blobs.write("", {}); }, &text), -DER_INVAL);
    EXPECT_NE(text.find("key of a blob is empty"), std::string::npos) << text;
    EXPECT_EQ(code_of([&] { blobs.read(std::string("a\0b", 3)); }), -DER_INVAL);
    blobs.write("k", value(100000));
    const auto hi = blobs.container().object_id(0, directory_hi, ObjectType::key_value, "SX");
    KeyValue directory = blobs.container().key_value(hi);
    // Entries that an enemy made: of another kind, cut, and of an array that is longer than any.
    const auto entry = *directory.get("k");
    std::vector<std::vector<std::byte>> bad{{}, {std::byte{9}}, entry, entry, entry};
    bad[2][0] = std::byte{5};
    bad[3].pop_back();
    std::fill_n(bad[4].begin() + array_entry - 8, 8, std::byte{0xff});
    for (const auto& one : bad) {
        directory.put("bad", one);
        EXPECT_EQ(code_of([&] { blobs.read("bad"); }, &text), -DER_INVAL);
        EXPECT_NE(text.find("blob 'bad' in "), std::string::npos) << text;
        EXPECT_EQ(code_of([&] { blobs.info("bad"); }), -DER_INVAL);
    }
    // Sizes that an entry may have, and that its array has not: no memory is asked for.
    for (const int bits : {62, 40, 25}) {
        auto longer = entry;
        store_little(&longer[array_entry - 8], std::uint64_t{1} << bits);
        directory.put("longer", longer);
        EXPECT_EQ(code_of([&] { blobs.read("longer"); }, &text), -DER_CSUM) << bits;
        EXPECT_NE(text.find("shorter than the blob"), std::string::npos) << text;
        directory.put("longer", array_entry_of(blobs.info("k")->number, std::uint64_t{1} << bits,
                                               std::optional<Bytes>(Bytes())));
        EXPECT_EQ(code_of([&] { blobs.read("longer", {5, 7}); }), -DER_CSUM) << bits;
        directory.put("longer", longer);
        if (entry.size() > array_entry) continue; // its checksums do not begin where it says
        EXPECT_EQ(blobs.read("longer", {10, 20})->size(), 10U);
    }
    EXPECT_TRUE(blobs.write("bad", {}));
    blobs.container()
        .open_array({blobs.container().object_id(0, data_hi, ObjectType::array_bytes, "S1").hi,
                     blobs.info("k")->number},
                    ArrayAttributes{1, std::uint64_t{1} << 40})
        .destroy();
    EXPECT_EQ(code_of([&] { blobs.read("k"); }, &text), -DER_CSUM);
    EXPECT_NE(text.find("array object is missing"), std::string::npos) << text;
}

TEST_F(BlobsOfAContainer, ADamagedMarkKeepsWhatALivingWriterMayHave)
{
    Writer writer(blobs, "k");
    writer.write(value(100000));
    ASSERT_EQ(marks_in(blobs).size(), 1U);
    const Container& container = blobs.container();
    container.key_value(container.object_id(0, writers_hi, ObjectType::key_value, "S1"))
        .put(marks_in(blobs).front(), value(5));
    EXPECT_EQ(blobs.take_back(), 0U);
    EXPECT_TRUE(writer.close());
    EXPECT_EQ(blobs.read("k"), value(100000));
}

// A pool in files does not verify the cells of arrays. So each byte of a blob is, whatever part is read.
TEST(BlobsInFiles, AnyDamagedByteIsFound)
{
    const stepstore::testing::TemporaryDirectory directory;
    const std::string location = "shared:" + (directory / "pool");
    const Blobs blobs = Blobs::open(location, Access::read_write);
    constexpr std::size_t size = 700'000;
    const auto written = value(size);
    blobs.write("at once", written);
    {
        Writer writer(blobs, "in pieces");
        for (std::size_t at = 0; at < size; at += 9'973)
            writer.write(Bytes(written).subspan(at, std::min<std::size_t>(9'973, size - at)));
        writer.close();
    }
    blobs.append("in pieces", value(10));
    std::mt19937_64 random(3);
    for (const std::string key : {"at once", "in pieces"}) {
        const auto whole = blobs.read(key);
        ASSERT_TRUE(whole);
        EXPECT_TRUE(std::equal(written.begin(), written.end(), whole->begin()));
        Array array = blobs.container().open_array(
            {blobs.container().object_id(0, data_hi, ObjectType::array_bytes, "S1").hi,
             blobs.info(key)->number},
            ArrayAttributes{1, std::uint64_t{1} << 40});
        for (int round = 0; round < 60; ++round) {
            const std::uint64_t at = random() % array.size();
            const std::uint64_t gap = (whole->size() + 63) / 64 * 64;
            std::byte one{};
            array.read(at, {&one, 1});
            const std::byte wrong = one ^ std::byte{64};
            array.write(at, {&wrong, 1});
            const bool of_value = at < whole->size();
            EXPECT_EQ(code_of([&] { blobs.read(key); }), of_value || at >= gap ? -DER_CSUM : 0) << at;
            const auto first = static_cast<std::int64_t>(random() % whole->size());
            const bool near = of_value && at / (256 << 10) == static_cast<std::uint64_t>(first) / (256 << 10);
            EXPECT_EQ(code_of([&] { blobs.read(key, {first, first + 1}); }),
                      near || at >= gap ? -DER_CSUM : 0)
                << at << " of " << first;
            array.write(at, {&one, 1});
        }
        EXPECT_EQ(blobs.read(key), whole);
    }
}

TEST_F(BlobsOfAContainer, OneThatIsOpenForReadingWritesNothing)
{
    blobs.write("k", value(10));
    const Blobs reading = open(Access::read_only);
    EXPECT_EQ(reading.read("k"), value(10));
    for (const std::size_t size : {std::size_t{10}, std::size_t{100000}})
        EXPECT_EQ(code_of([&] { reading.write("k", value(size, 2)); }), -DER_NO_PERM);
    EXPECT_EQ(code_of([&] { reading.remove("k"); }), -DER_NO_PERM);
    EXPECT_EQ(blobs.read("k"), value(10));
    EXPECT_EQ(code_of([&] { Blobs::open(location + "/none", Access::read_only); }), -DER_NONEXIST);
}

} // namespace
} // namespace stepstore::blobs::testing

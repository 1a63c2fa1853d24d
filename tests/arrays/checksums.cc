// Damage that the store itself cannot see, since somebody wrote it: found by an array's own checksums, in the
// block where it is. And damaged records.
#include "arrays/head.h"
#include "arrays/model.h"
#include "arrays/transfer.h"

namespace stepstore::arrays::testing {
namespace {

class Checksums : public ArraysTest {
protected:
    static constexpr std::int64_t elements = 10000;

    void write(bool checksum)
    {
        run_ranks(2, [&](const std::shared_ptr<Communicator>& communicator) {
            Store store(location, Mode::write, communicator);
            std::vector<std::int64_t> mine(elements / 2);
            std::iota(mine.begin(), mine.end(), communicator->rank() * elements / 2);
            DataLayout layout;
            layout.checksum = checksum;
            layout.chunk_size = 4096;
            store.write({.name = "T",
                         .type = {Kind::int64},
                         .shape = {elements},
                         .start = {communicator->rank() * elements / 2},
                         .count = {elements / 2},
                         .data = mine.data(),
                         .layout = layout});
            store.close();
        });
    }
    // One byte of the data object, or of what lies behind a block.
    void damage(std::uint64_t at)
    {
        const Pool pool = Pool::connect(location);
        const Container container = pool.open_container("default");
        const Head head(container, "T", "T", Access::read_write);
        const Header header = *head.header();
        Array array =
            container.open_array(data_id(container, header.objects.front().first, header.layout.object_class),
                                 {1, header.layout.chunk_size});
        std::byte byte{};
        array.read(at, {&byte, 1});
        byte ^= std::byte{1};
        array.write(at, {&byte, 1});
    }
    void read(const OpenOptions& options, std::int64_t start, std::int64_t count) const
    {
        std::vector<std::int64_t> values(static_cast<std::size_t>(count));
        Store store(location, Mode::read, self_communicator(), options);
        store.read({.name = "T",
                    .type = {Kind::int64},
                    .dimensions = 1,
                    .start = {start},
                    .count = {count},
                    .data = values.data()});
    }
};

TEST_F(Checksums, DamageIsFoundInItsBlock)
{
    write(true);
    read({}, 0, elements);
    damage(4096 + 100);
    expect_error(-DER_CSUM, {"read_array 'T'", "block [0:5000] of array 'T'", "from 4096 to 8192"},
                 [&] { read({}, 0, elements); });
    expect_error(-DER_CSUM, {"block [0:5000]"}, [&] { read({}, 600, 1); }); // another element of that part
    read({}, 0, 512);                                                       // other parts are sound
    read({}, 1024, elements - 1024);
    OpenOptions unverified;
    unverified.verify = Verify::no;
    read(unverified, 0, elements);
}

TEST_F(Checksums, DamageOfAChecksumIsFoundToo)
{
    write(true);
    damage(checksums_at(0, elements / 2 * 8)); // of the first part
    expect_error(-DER_CSUM, {"block [0:5000]", "from 0 to 4096"}, [&] { read({}, 10, 20); });
    read({}, 600, 9000);
}

TEST_F(Checksums, WithoutThemNothingIsFound)
{
    if (stepstore::testing::in_files()) GTEST_SKIP() << "they are always there";
    write(false);
    damage(100);
    read({}, 0, elements);
}

// A block whose object ends too early is no block of zeroes.
TEST_F(Checksums, MissingDataAreFound)
{
    write(false);
    const Pool pool = Pool::connect(location);
    const Container container = pool.open_container("default");
    const Header header = *Head(container, "T", "T", Access::read_write).header();
    container
        .open_array(data_id(container, header.objects.front().first, header.layout.object_class),
                    {1, header.layout.chunk_size})
        .set_size(50000);
    expect_error(-DER_CSUM, {"block [5000:10000]", "is not whole"}, [&] { read({}, 0, elements); });
    read({}, 0, 5000);
}

TEST_F(Checksums, ADamagedHeaderIsToldAndCanBeReplaced)
{
    write(true);
    {
        const Pool pool = Pool::connect(location);
        const Container container = pool.open_container("default");
        auto bytes = *Head(container, "T", "T", Access::read_write).header_bytes();
        bytes[40] ^= std::byte{1};
        container.key_value(head_id(container, "T")).put("header", bytes);
    }
    expect_error(-DER_CSUM, {"array 'T'", "is damaged"}, [&] { read({}, 0, elements); });
    write(true);
    read({}, 0, elements);
}

// Any byte of a record: an error that says so, never another array.
TEST_F(Checksums, AnyDamagedByteOfARecordIsFound)
{
    Header header;
    header.name = "T";
    header.version = 3;
    header.generation = 77;
    header.type = {Kind::character, 12};
    header.dimensions = 2;
    header.shape = {4, 5};
    header.grows_along = 1;
    header.layout.checksum = true;
    header.objects = {{77, 2}};
    const std::vector<StoredBlock> blocks{{{{0, 0}, {4, 5}}, 77, 64}};
    header.tables = {{0, 0, 1, encode_table(blocks, 2)}};
    header.dropped_objects = {{70, 1}};
    header.dropped_class = "S1";
    header.dropped_tables = {9};
    const std::vector<std::byte> sound = encode(header);
    EXPECT_EQ(decode_header(sound, "T"), header);
    for (std::size_t i = 0; i < sound.size(); ++i) {
        std::vector<std::byte> damaged = sound;
        damaged[i] ^= std::byte{0x20};
        // Bytes 4 and 5: a newer format, which this reader may still read.
        if (i != 4 && i != 5) {
            EXPECT_THROW(decode_header(damaged, "T"), Error) << i;
        }
        EXPECT_THROW(decode_header(Bytes(sound).first(i), "T"), Error) << i;
    }
    std::vector<StoredBlock> back;
    decode_table(header.tables.front().in_place, header, "table", back);
    EXPECT_EQ(back, blocks);
}

// A table that another user has sealed rightly: no reader touches memory outside of its own for it.
TEST_F(Checksums, ATableOfBlocksElsewhereIsRefused)
{
    Header header;
    header.type = {Kind::real64, 1};
    header.dimensions = 2;
    header.shape = {4, 5};
    header.objects = {{80, 2}, {77, 2}};
    const auto decoded = [&](const StoredBlock& block) {
        std::vector<StoredBlock> back;
        decode_table(encode_table({&block, 1}, 2), header, "table", back);
        return back.front();
    };
    for (const std::uint64_t object : {77, 78, 80, 81}) {
        const StoredBlock sound{{{1, 0}, {3, 5}}, object, 64};
        EXPECT_EQ(decoded(sound), sound);
    }
    constexpr std::uint64_t all = UINT64_MAX, far = std::uint64_t{1} << 63;
    const StoredBlock hostile[] = {
        {{{0, 0}, {5, 5}}, 77, 0},       {{{1, 0}, {4, 5}}, 77, 0},   {{{0, 0}, {4, 6}}, 77, 0},
        {{{all - 1, 0}, {4, 5}}, 77, 0}, {{{1, 0}, {all, 5}}, 77, 0}, {{{far, 0}, {far, 5}}, 77, 0},
        {{{0, 0}, {4, 5}}, 76, 0},       {{{0, 0}, {4, 5}}, 79, 0},   {{{0, 0}, {4, 5}}, 82, 0},
        {{{0, 0}, {4, 5}}, 77, all},     {{{0, 0}, {4, 5}}, 77, far}, {{{0, 0}, {4, 5}}, 77, far - 8},
    };
    for (const StoredBlock& block : hostile)
        EXPECT_THROW(decoded(block), Error) << block.box.start[0] << ' ' << block.object;
}

// The cells of a pool in files have no other checksums.
TEST_F(Checksums, ArraysInFilesAlwaysHaveThem)
{
    location = "shared:" + (directory / "in_files");
    write(false);
    EXPECT_NO_THROW(read({}, 0, elements));
    damage(1000);
    expect_error(-DER_CSUM, {"block [0:5000] of array 'T'"}, [&] { read({}, 0, elements); });
}

TEST_F(Checksums, AHeaderOfWhatCannotBeIsRefused)
{
    Header sound;
    sound.name = "T";
    sound.type = {Kind::real64, 1};
    sound.dimensions = 1;
    sound.shape = {4};
    sound.objects = {{77, 1}};
    EXPECT_EQ(decode_header(encode(sound), "T"), sound);
    const auto refused = [&](auto change) {
        Header header = sound;
        change(header);
        EXPECT_THROW(decode_header(encode(header), "T"), Error);
    };
    constexpr std::uint64_t all = UINT64_MAX;
    refused([](Header& one) { one.layout.chunk_size = all; }); // sizes of checksums would begin again at 0
    refused([](Header& one) { one.layout.chunk_size = 0; });
    refused([](Header& one) { one.shape = {std::uint64_t{1} << 60}; });
    refused([](Header& one) { one.objects = {{77, all}}; }); // to be destroyed one by one
    refused([](Header& one) { one.dropped_objects = {{all, 2}}; });
    refused([](Header& one) { one.tables = {{1, 0, all, {}}, {2, 0, 1, {}}}; });
    refused([](Header& one) { one.tables = {{1, UINT32_MAX, 1, {}}}; });
    refused([](Header& one) { one.order = Order{9}; });
}

} // namespace
} // namespace stepstore::arrays::testing

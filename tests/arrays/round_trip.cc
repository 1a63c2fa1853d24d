// What is written is read: all types, both orders, 1 to 7 dimensions, other decompositions, hyperslabs,
// memory with gaps, requests.
#include "arrays/model.h"

#include <complex>

namespace stepstore::arrays::testing {
namespace {

const std::vector<ElementType> all_types{
    {Kind::int8},         {Kind::int16},         {Kind::int32},     {Kind::int64},
    {Kind::uint8},        {Kind::uint16},        {Kind::uint32},    {Kind::uint64},
    {Kind::real32},       {Kind::real64},        {Kind::complex64}, {Kind::complex128},
    {Kind::character, 1}, {Kind::character, 13}, {Kind::logical8},  {Kind::logical32}};

WriteCall writing(const std::string& name, const ElementType& type, const Extents& shape, const Box& box,
                  unsigned dimensions, Order order, const std::vector<std::byte>& data)
{
    const auto given = [&](const Extents& extents) {
        const Numbers row_major = numbers(extents, dimensions);
        return order == Order::row_major ? row_major : backwards(row_major);
    };
    return {.name = name,
            .type = type,
            .shape = given(shape),
            .start = given(box.start),
            .count = given(box.count),
            .data = data.data()};
}

ReadCall reading(const std::string& name, const ElementType& type, const Box& box, unsigned dimensions,
                 Order order, std::vector<std::byte>& data)
{
    const auto given = [&](const Extents& extents) {
        const Numbers row_major = numbers(extents, dimensions);
        return order == Order::row_major ? row_major : backwards(row_major);
    };
    return {.name = name,
            .type = type,
            .dimensions = dimensions,
            .start = given(box.start),
            .count = given(box.count),
            .data = data.data()};
}

// Whatever the column-major program calls its dimensions, the array is the same: it has them reversed.
Extents seen_by(const Extents& shape, unsigned dimensions, Order order)
{
    return order == Order::row_major ? shape : reversed(shape, dimensions);
}

class RoundTrip : public ArraysTest {
protected:
    OpenOptions options_of(Order order, std::uint64_t transfer_size) const
    {
        OpenOptions options;
        options.order = order;
        options.transfer_size = transfer_size;
        return options;
    }

    // Some ranks write, others read in another decomposition and in boxes of their own, in both orders.
    void run(unsigned seed)
    {
        std::mt19937 random(seed);
        const unsigned dimensions = 1 + seed % max_dimensions;
        const ElementType type = all_types[seed % all_types.size()];
        const std::uint64_t size = size_of(type);
        const Order written = seed % 2 == 0 ? Order::row_major : Order::column_major;
        const int writers = 1 + static_cast<int>(below(random, 5));
        const int readers = 1 + static_cast<int>(below(random, 5));
        Extents shape{};
        for (unsigned d = 0; d < dimensions; ++d)
            shape[d] = 1 + below(random, dimensions == 1 ? 5000 : dimensions < 4 ? 20 : 5);
        DataLayout layout;
        layout.chunk_size = std::uint64_t{64} << below(random, 8);
        layout.checksum = below(random, 2) == 0;
        layout.object_class = below(random, 2) == 0 ? "SX" : "S1";
        const Placement placement =
            below(random, 2) == 0 ? Placement::one_object : Placement::object_per_block;
        const std::uint64_t transfer = std::uint64_t{4096} << below(random, 5);
        const auto blocks = decomposition(shape, dimensions, static_cast<std::size_t>(writers), random);
        const std::string name = "array " + std::to_string(seed);
        run_ranks(writers, [&](const std::shared_ptr<Communicator>& ranks) {
            Store store(location, Mode::write, ranks, options_of(written, transfer));
            const Box& box = blocks[static_cast<std::size_t>(ranks->rank())];
            // Row-major inside: a column-major writer's memory runs the other way round.
            const auto data = content(shape, box, dimensions, size, Order::row_major);
            WriteCall call = writing(name, type, shape, box, dimensions, written, data);
            call.layout = layout;
            call.placement = placement;
            store.write(call);
            store.close();
        });
        for (const Order order : {Order::row_major, Order::column_major}) {
            std::vector<Box> boxes =
                decomposition(shape, dimensions, static_cast<std::size_t>(readers), random);
            std::vector<Box> slabs;
            for (int rank = 0; rank < readers; ++rank)
                slabs.push_back(random_box(shape, dimensions, random));
            run_ranks(readers, [&](const std::shared_ptr<Communicator>& ranks) {
                Store store(location, Mode::read, ranks, options_of(order, transfer));
                const ArrayInfo info = store.inquire(name);
                EXPECT_EQ(info.type, type);
                EXPECT_EQ(info.order, written);
                const Extents seen = seen_by(shape, dimensions, order);
                EXPECT_EQ(info.shape, Dims(seen.begin(), seen.begin() + dimensions));
                DataLayout kept = layout;
                if (stepstore::testing::in_files()) kept.checksum = true; // always
                EXPECT_EQ(info.layout, kept);
                for (const auto& set : {boxes, slabs}) {
                    const Box& box = set[static_cast<std::size_t>(ranks->rank())];
                    std::vector<std::byte> data(volume(box.count, dimensions) * size, std::byte{0xee});
                    store.read(reading(name, type, box, dimensions, order, data));
                    EXPECT_EQ(data, content(shape, box, dimensions, size, Order::row_major))
                        << "seed " << seed << ", rank " << ranks->rank();
                }
                store.close();
            });
        }
    }
};

TEST_F(RoundTrip, AnyTypeOrderDimensionsAndDecomposition)
{
    for (unsigned seed = 0; seed < 112; ++seed) { // each type with each number of dimensions
        run(seed);
        if (HasFailure()) return;
    }
}

// A Fortran program's a(i, j) is the C program's a[j][i].
TEST_F(ArraysTest, TheOtherLanguageSeesDimensionsReversed)
{
    OpenOptions fortran;
    fortran.order = Order::column_major;
    const auto store = open(Mode::write, fortran);
    const std::vector<std::int32_t> values{11, 21, 31, 12, 22, 32}; // a(3, 2), a(i, j) = 10 i + j
    store->write({.name = "a", .type = {Kind::int32}, .shape = {3, 2}, .data = values.data()});
    const auto reader = open(Mode::read);
    EXPECT_EQ(reader->inquire("a").shape, (Dims{2, 3}));
    std::int32_t element = 0;
    reader->read({.name = "a",
                  .type = {Kind::int32},
                  .dimensions = 2,
                  .start = {1, 2},
                  .count = {1, 1},
                  .data = &element});
    EXPECT_EQ(element, 32); // a[1][2] is a(3, 2)
}

// Interior of a field with a halo, to and from the field's own memory.
TEST_F(ArraysTest, MemoryWithStrides)
{
    constexpr std::int64_t rows = 40, columns = 3000, halo = 2;
    constexpr std::int64_t width = columns + 2 * halo;
    std::vector<double> field((rows + 2 * halo) * width, -1);
    const auto at = [&](std::int64_t row, std::int64_t column) {
        return static_cast<std::size_t>((row + halo) * width + column + halo);
    };
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
            field[at(row, column)] = static_cast<double>(row * columns + column);
    for (const std::uint64_t transfer : {std::uint64_t{4096}, std::uint64_t{16} << 20}) {
        OpenOptions options;
        options.transfer_size = transfer;
        const auto store = open(Mode::write, options);
        DataLayout layout;
        layout.checksum = transfer == 4096;
        store->write({.name = "T",
                      .type = {Kind::real64},
                      .shape = {rows, columns},
                      .strides = {width * 8, 8},
                      .data = &field[at(0, 0)],
                      .layout = layout});
        std::vector<double> whole(rows * columns);
        store->read({.name = "T", .type = {Kind::real64}, .dimensions = 2, .data = whole.data()});
        for (std::size_t i = 0; i < whole.size(); ++i)
            ASSERT_EQ(whole[i], static_cast<double>(i));
        std::vector<double> back(field.size(), -1);
        store->read({.name = "T",
                     .type = {Kind::real64},
                     .dimensions = 2,
                     .strides = {width * 8, 8},
                     .data = &back[at(0, 0)]});
        EXPECT_EQ(back, field); // also what is between: untouched
        std::vector<double> every_other(2 * columns, -2);
        store->read({.name = "T",
                     .type = {Kind::real64},
                     .dimensions = 2,
                     .start = {7, 0},
                     .count = {1, columns},
                     .strides = {8, 16},
                     .data = every_other.data()});
        for (std::int64_t column = 0; column < columns; ++column) {
            ASSERT_EQ(every_other[static_cast<std::size_t>(2 * column)],
                      static_cast<double>(7 * columns + column));
            ASSERT_EQ(every_other[static_cast<std::size_t>(2 * column + 1)], -2);
        }
    }
}

// Larger than many requests, with blocks of several chunks.
TEST_F(ArraysTest, MoreThanOneRequestPerBlock)
{
    constexpr int ranks = 3;
    constexpr std::int64_t each = (5 << 20) / 8 + 7;
    OpenOptions options;
    options.transfer_size = 1 << 20;
    run_ranks(ranks, [&](const std::shared_ptr<Communicator>& communicator) {
        Store store(location, Mode::write, communicator, options);
        std::vector<std::int64_t> mine(each);
        std::iota(mine.begin(), mine.end(), communicator->rank() * each);
        DataLayout layout;
        layout.checksum = true;
        store.write({.name = "big",
                     .type = {Kind::int64},
                     .shape = {ranks * each},
                     .start = {communicator->rank() * each},
                     .count = {each},
                     .data = mine.data(),
                     .layout = layout});
        std::vector<std::int64_t> all(ranks * each);
        store.read({.name = "big", .type = {Kind::int64}, .dimensions = 1, .data = all.data()});
        for (std::int64_t i = 0; i < ranks * each; ++i)
            ASSERT_EQ(all[static_cast<std::size_t>(i)], i);
        store.close();
    });
}

TEST_F(ArraysTest, RequestsAreUnderWayTogether)
{
    run_ranks(3, [&](const std::shared_ptr<Communicator>& ranks) {
        Store store(location, Mode::write, ranks);
        const std::int64_t rank = ranks->rank();
        std::vector<std::vector<std::int32_t>> data;
        std::vector<Request> requests;
        for (std::int32_t i = 0; i < 5; ++i)
            data.emplace_back(1000, i * 10 + static_cast<std::int32_t>(rank));
        for (std::int32_t i = 0; i < 5; ++i)
            requests.push_back(store.begin_write({.name = "a" + std::to_string(i),
                                                  .type = {Kind::int32},
                                                  .shape = {3000},
                                                  .start = {rank * 1000},
                                                  .count = {1000},
                                                  .data = data[static_cast<std::size_t>(i)].data()}));
        EXPECT_TRUE(store.list().empty()); // nothing is there before the wait
        for (Request& one : requests)
            one.wait();
        EXPECT_EQ(store.list().size(), 5U);
        std::vector<std::vector<std::int32_t>> read(5, std::vector<std::int32_t>(3000));
        requests.clear();
        for (std::size_t i = 0; i < 5; ++i)
            requests.push_back(store.begin_read({.name = "a" + std::to_string(i),
                                                 .type = {Kind::int32},
                                                 .dimensions = 1,
                                                 .data = read[i].data()}));
        for (Request& one : requests)
            one.wait();
        for (std::int32_t i = 0; i < 5; ++i)
            for (std::int32_t at = 0; at < 3000; ++at)
                ASSERT_EQ(read[static_cast<std::size_t>(i)][static_cast<std::size_t>(at)],
                          i * 10 + at / 1000);
        store.close();
    });
}

TEST_F(ArraysTest, AReadyRequestNeedsNoRank)
{
    const auto store = open(Mode::write);
    const std::vector<double> values(1000, 1);
    Request request =
        store->begin_write({.name = "x", .type = {Kind::real64}, .shape = {1000}, .data = values.data()});
    while (!request.ready())
        std::this_thread::yield();
    request.wait();
    request.wait(); // does nothing
    EXPECT_EQ(read_vector(*store, "x"), values);
}

TEST_F(ArraysTest, BlocksAreTold)
{
    run_ranks(2, [&](const std::shared_ptr<Communicator>& ranks) {
        OpenOptions options;
        options.order = Order::column_major;
        Store store(location, Mode::write, ranks, options);
        const std::vector<float> data(12, 1);
        store.write({.name = "f",
                     .type = {Kind::real32},
                     .shape = {4, 6},
                     .start = {0, ranks->rank() * 3},
                     .count = {4, 3},
                     .data = data.data()});
        const auto blocks = store.blocks("f");
        ASSERT_EQ(blocks.size(), 2U);
        EXPECT_EQ(blocks[1].start, (Dims{0, 3}));
        EXPECT_EQ(blocks[1].count, (Dims{4, 3}));
        store.close();
    });
}

TEST_F(ArraysTest, NamesAreListedAndRemoved)
{
    const auto store = open(Mode::write);
    write_vector(*store, "b", {1, 2});
    write_vector(*store, "a/very long/ name \xc3\xa4", {3});
    write_vector(*store, "c", {4, 5, 6});
    EXPECT_EQ(store->list(), (std::vector<std::string>{"a/very long/ name \xc3\xa4", "b", "c"}));
    store->remove("b");
    EXPECT_EQ(store->list(), (std::vector<std::string>{"a/very long/ name \xc3\xa4", "c"}));
    expect_error(-DER_NONEXIST, {"remove 'b'", "there is no array 'b'"}, [&] { store->remove("b"); });
    expect_error(-DER_NONEXIST, {"there is no array 'b'"}, [&] { store->inquire("b"); });
    write_vector(*store, "b", {7});
    EXPECT_EQ(read_vector(*store, "b"), std::vector<double>{7});
    const auto reader = open(Mode::read);
    EXPECT_EQ(reader->list().size(), 3U);
    EXPECT_EQ(read_vector(*reader, "c"), (std::vector<double>{4, 5, 6}));
}

TEST_F(ArraysTest, AttributesOfArraysAndOfTheLocation)
{
    const auto store = open(Mode::write);
    write_vector(*store, "T", {1});
    const auto text = [](std::string_view value) {
        Attribute attribute{{Kind::character, static_cast<std::uint32_t>(value.size())}, 1, {}};
        const Bytes bytes = as_bytes(value);
        attribute.values.assign(bytes.begin(), bytes.end());
        return attribute;
    };
    store->set_attribute("T", "units", text("K"));
    store->set_attribute("T", "levels", {{Kind::int16}, 2, std::vector<std::byte>(4)});
    store->set_attribute("", "title", text("a simulation"));
    store->set_attribute("T", "units", text("degC"));
    write_vector(*store, "T", {2, 3}); // keeps them
    const auto reader = open(Mode::read);
    EXPECT_EQ(reader->attributes("T"), (std::vector<std::string>{"levels", "units"}));
    EXPECT_EQ(reader->attribute("T", "units"), text("degC"));
    EXPECT_EQ(reader->attribute("", "title"), text("a simulation"));
    EXPECT_EQ(reader->attributes(""), std::vector<std::string>{"title"});
    expect_error(-DER_NONEXIST, {"no attribute 'long_name'", "array 'T'"},
                 [&] { reader->attribute("T", "long_name"); });
    expect_error(-DER_NONEXIST, {"no array 'U'"}, [&] { reader->attribute("U", "units"); });
    expect_error(-DER_NO_PERM, {"opened for reading"}, [&] { reader->set_attribute("T", "x", text("y")); });
    store->remove_attribute("T", "units");
    EXPECT_EQ(store->attributes("T"), std::vector<std::string>{"levels"});
    store->remove("T");
    write_vector(*store, "T", {2});
    EXPECT_TRUE(store->attributes("T").empty()); // a new array has none of an old one
}

TEST_F(ArraysTest, ASnapshotIsReadAsItWas)
{
    const auto store = open(Mode::write);
    write_vector(*store, "T", {1, 2});
    const Pool pool = Pool::connect(location);
    Container container = pool.open_container("default");
    OpenOptions options;
    options.snapshot = container.create_snapshot();
    write_vector(*store, "T", {3, 4, 5});
    const auto old = open(Mode::read, options);
    EXPECT_EQ(read_vector(*old, "T"), (std::vector<double>{1, 2}));
    EXPECT_EQ(read_vector(*store, "T"), (std::vector<double>{3, 4, 5}));
}

} // namespace
} // namespace stepstore::arrays::testing

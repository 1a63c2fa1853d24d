// Boxes, min/max, options, locations' grammar, memory of steps: against plain models.
#include "steps/layouts/layout.h"
#include "steps/metadata/spare_buffers.h"
#include "steps/read/hyperslab.h"
#include "steps/statistics.h"
#include "steps/stream/options.h"
#include "support/errors.h"

#include <gtest/gtest.h>

#include <daos_errno.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace stepstore::steps {
namespace {

using stepstore::testing::message_of;

struct Box {
    Dims start, count;
    BoxView view() const { return {start, count}; }
};

Box random_box(std::mt19937_64& random, std::size_t dimensions)
{
    Box box;
    for (std::size_t d = 0; d < dimensions; ++d) {
        box.start.push_back(random() % 5);
        box.count.push_back(random() % 5);
    }
    return box;
}

// Position of a point in a box's packed memory; nullopt: outside.
std::optional<std::uint64_t> position(const Box& box, const Dims& point, Order order)
{
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < point.size(); ++i) {
        const std::size_t d = order == Order::row_major ? i : point.size() - 1 - i;
        if (point[d] < box.start[d] || point[d] - box.start[d] >= box.count[d]) return std::nullopt;
        at = at * box.count[d] + (point[d] - box.start[d]);
    }
    return at;
}

TEST(Hyperslab, CopiesExactlyTheSharedElementsInAnyDimensions)
{
    std::mt19937_64 random(1);
    for (int round = 0; round < 4000; ++round) {
        const std::size_t dimensions = 1 + random() % 4;
        const Order order = random() % 2 == 0 ? Order::row_major : Order::column_major;
        const Box from = random_box(random, dimensions), to = random_box(random, dimensions);
        std::vector<std::uint16_t> source(elements(from.count)), target(elements(to.count), 0xffff),
            wanted = target;
        for (std::size_t i = 0; i < source.size(); ++i)
            source[i] = static_cast<std::uint16_t>(i);
        Dims point(dimensions, 0);
        while (true) {
            const auto a = position(from, point, order), b = position(to, point, order);
            if (a && b) wanted[*b] = source[*a];
            std::size_t d = 0;
            while (d < dimensions && ++point[d] == 10)
                point[d++] = 0;
            if (d == dimensions) break;
        }
        copy_shared(from.view(), reinterpret_cast<const std::byte*>(source.data()), to.view(),
                    reinterpret_cast<std::byte*>(target.data()), 2, order);
        ASSERT_EQ(target, wanted) << to_text(from.start) << to_text(from.count) << " to " << to_text(to.start)
                                  << to_text(to.count);
    }
}

TEST(Hyperslab, WholeRowsAreOneRun)
{
    const Dims block_start{10, 0}, block_count{20, 50}, box_start{0, 0}, box_count{100, 50};
    int runs = 0;
    each_shared_run({block_start, block_count}, {box_start, box_count}, Order::row_major,
                    [&](std::uint64_t a, std::uint64_t b, std::uint64_t length) {
                        ++runs;
                        EXPECT_EQ(a, 0u);
                        EXPECT_EQ(b, 500u);
                        EXPECT_EQ(length, 1000u);
                    });
    EXPECT_EQ(runs, 1);
}

template <class T>
void expect_minmax(std::mt19937_64& random)
{
    for (std::size_t count : {1u, 2u, 7u, 63u, 64u, 65u, 1000u}) {
        std::vector<T> data(count);
        for (T& value : data)
            value = static_cast<T>(static_cast<std::int64_t>(random() % 2001) - 1000);
        T found[2];
        store_minmax(type_of<T>(), data.data(), count, reinterpret_cast<std::byte*>(found));
        EXPECT_EQ(found[0], *std::min_element(data.begin(), data.end()));
        EXPECT_EQ(found[1], *std::max_element(data.begin(), data.end()));
    }
}

TEST(Statistics, FindMinAndMaxOfEveryType)
{
    std::mt19937_64 random(2);
    expect_minmax<std::int8_t>(random);
    expect_minmax<std::int16_t>(random);
    expect_minmax<std::int32_t>(random);
    expect_minmax<std::int64_t>(random);
    expect_minmax<std::uint8_t>(random);
    expect_minmax<std::uint16_t>(random);
    expect_minmax<std::uint32_t>(random);
    expect_minmax<std::uint64_t>(random);
    expect_minmax<float>(random);
    expect_minmax<double>(random);
    expect_minmax<long double>(random);
    expect_minmax<char>(random);
}

TEST(Statistics, NaNsDoNotHideNumbers)
{
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t at = 0; at < 100; ++at) {
        std::vector<double> data(100, nan);
        data[at] = 3;
        data[(at + 50) % 100] = -3;
        double found[2];
        store_minmax(Type::float64, data.data(), data.size(), reinterpret_cast<std::byte*>(found));
        EXPECT_EQ(found[0], -3);
        EXPECT_EQ(found[1], 3);
    }
    const std::vector<double> nothing(100, nan);
    double found[2] = {0, 0};
    store_minmax(Type::float64, nothing.data(), nothing.size(), reinterpret_cast<std::byte*>(found));
    EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1]));
    MinMax sum{Scalar::of(nan), Scalar::of(nan)};
    merge_minmax(Type::float64, sum, {Scalar::of(1.0), Scalar::of(2.0)});
    merge_minmax(Type::float64, sum, {Scalar::of(nan), Scalar::of(nan)});
    EXPECT_EQ(sum.min.as<double>(), 1);
    EXPECT_EQ(sum.max.as<double>(), 2);
}

TEST(Statistics, InfinitiesCount)
{
    const double infinity = std::numeric_limits<double>::infinity();
    const double data[] = {infinity, infinity};
    double found[2];
    store_minmax(Type::float64, data, 2, reinterpret_cast<std::byte*>(found));
    EXPECT_EQ(found[0], infinity);
    EXPECT_EQ(found[1], infinity);
}

TEST(Options, AreSetByNameAndSayWhatIsValid)
{
    WriterOptions options;
    EXPECT_TRUE(options.set("layout", "KV"));
    EXPECT_EQ(options.layout, "kv");
    EXPECT_TRUE(options.set("ChunkSize", "64k"));
    EXPECT_EQ(options.chunk_size, 65536u);
    EXPECT_TRUE(options.set("DataChunkSize", "2MiB"));
    EXPECT_EQ(options.data_chunk_size, 2u << 20);
    EXPECT_FALSE(options.set("Colour", "blue"));
    EXPECT_FALSE(ReaderOptions().set("Gets", "sync"));
    const std::string layouts = message_of([&] { options.set("Layout", "hdf5"); }, -DER_INVAL);
    for (const Layout* layout : steps::layouts())
        EXPECT_NE(layouts.find(layout->name), std::string::npos) << layouts;
    message_of([&] { options.set("ChunkSize", "0"); }, -DER_INVAL);
    message_of([&] { options.set("ChunkSize", "-1"); }, -DER_INVAL);
    message_of([&] { options.set("ChunkSize", "99999999999999999999"); }, -DER_INVAL);
    message_of([&] { options.set("ChunkSize", "17179869184G"); }, -DER_INVAL);
    ReaderOptions reader;
    EXPECT_TRUE(reader.set("OpenTimeoutSecs", "2.5"));
    EXPECT_EQ(reader.open_timeout, 2.5);
    message_of([&] { reader.set("OpenTimeoutSecs", "soon"); }, -DER_INVAL);
    message_of([&] { reader.set("BeginStepPollingFrequencySecs", "often"); }, -DER_INVAL);
    reader.set("BeginStepPollingFrequencySecs", "0"); // as often as it looks by default
    EXPECT_EQ(reader.poll_interval, ReaderOptions().poll_interval);
    for (const std::string& name : WriterOptions::names())
        EXPECT_FALSE(name.empty());
}

TEST(Options, ThatCannotBeAreRefused)
{
    WriterOptions options;
    for (const Objects objects :
         {Objects::single, Objects::per_step, Objects::per_writer, Objects::per_machine}) {
        EXPECT_TRUE(options.set("Objects", name_of(objects)));
        EXPECT_EQ(options.objects, objects);
    }
    EXPECT_TRUE(options.set("Steps", "extend"));
    const std::string text = message_of([&] { options.set("Objects", "several"); }, -DER_INVAL);
    EXPECT_NE(text.find("single, per-step, per-writer, per-machine"), std::string::npos) << text;
    message_of([&] { options.set("Steps", "backwards"); }, -DER_INVAL);
    options.layout = "posix";
    const std::string why = message_of([&] { check_options(options); }, -DER_INVAL);
    EXPECT_NE(why.find("per-machine"), std::string::npos) << why;
    EXPECT_NE(why.find("posix"), std::string::npos) << why;
    for (const char* const layout : {"kv", "array", "array-adaptive"}) { // they have no places for them
        options.layout = layout;
        EXPECT_NE(message_of([&] { check_options(options); }, -DER_INVAL).find(layout), std::string::npos);
    }
    options = {};
    options.set("Objects", "per-writer");
    options.set("RanksPerObject", "2");
    EXPECT_NE(message_of([&] { check_options(options); }, -DER_INVAL).find("RanksPerObject"),
              std::string::npos);
    options = {};
    options.layout = "columns";
    message_of([&] { check_options(options); }, -DER_INVAL);
    options = {};
    options.chunk_size = 100;
    message_of([&] { check_options(options); }, -DER_INVAL);
    options.layout = "array";
    check_options(options);
}

TEST(SpareBuffers, GiveMemoryAgainButKeepLittle)
{
    SpareBuffers spares;
    EXPECT_TRUE(spares.take().empty());
    std::vector<std::byte> used(1 << 20);
    const std::byte* const memory = used.data();
    spares.give(std::move(used));
    EXPECT_EQ(spares.take().data(), memory);
    EXPECT_TRUE(spares.take().empty());
    for (int i = 0; i < 100; ++i)
        spares.give(std::vector<std::byte>(1 << 20));
    std::size_t kept = 0;
    while (const std::size_t room = spares.take().capacity())
        kept += room;
    EXPECT_GT(kept, 16u << 20);
    EXPECT_LE(kept, 32u << 20);
}

TEST(Types, BoxesTooLargeToCountAreRefused)
{
    const Dims huge{1ull << 32, 1ull << 32};
    EXPECT_THROW(elements(huge), Error);
    EXPECT_EQ(elements(Dims{1ull << 32, 0, 1ull << 40}), 0u);
}

} // namespace
} // namespace stepstore::steps

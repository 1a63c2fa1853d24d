// Growing arrays, and what is published when: replacement under readers, killed writers, other writers.
#include "arrays/head.h"
#include "arrays/model.h"
#include "stepstore/administration.h"
#include "support/process_group.h"

#include <atomic>

namespace stepstore::arrays::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::run_in_child;
using stepstore::testing::run_processes;
using stepstore::testing::start_child;

std::size_t data_objects(const std::string& location)
{
    const Pool pool = Pool::connect(location, Access::read_only);
    const Container container = pool.open_container("default", Access::read_only);
    std::size_t count = 0;
    for (const ObjectInfo& one : list_objects(container, false))
        count += (one.id.hi & 0xffffffff) == 0x53530202 ? 1 : 0;
    return count;
}

class Append : public ArraysTest {
protected:
    // Step n of a field of {columns}, in a series of shape {steps, columns}.
    static std::vector<std::int32_t> step(std::int32_t n, std::int64_t from, std::int64_t count)
    {
        std::vector<std::int32_t> values(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i)
            values[static_cast<std::size_t>(i)] = n * 1000 + static_cast<std::int32_t>(from + i);
        return values;
    }
    static void append(Store& store, std::int32_t n, Placement placement = Placement::one_object,
                       std::int64_t columns = 6)
    {
        const std::int64_t each = columns / store.size();
        const auto mine = step(n, store.rank() * each, each);
        DataLayout layout;
        layout.checksum = true;
        store.write({.name = "series",
                     .type = {Kind::int32},
                     .shape = {1, columns},
                     .start = {0, store.rank() * each},
                     .count = {1, each},
                     .data = mine.data(),
                     .placement = placement,
                     .append_along = 0,
                     .layout = layout});
    }
    static void expect_series(Store& store, std::int32_t steps, std::int64_t columns = 6)
    {
        const ArrayInfo info = store.inquire("series");
        ASSERT_EQ(info.shape, (Dims{static_cast<std::uint64_t>(steps), static_cast<std::uint64_t>(columns)}));
        ASSERT_EQ(info.grows_along, 0U);
        std::vector<std::int32_t> all(static_cast<std::size_t>(steps * columns));
        store.read({.name = "series", .type = {Kind::int32}, .dimensions = 2, .data = all.data()});
        std::vector<std::int32_t> expected;
        for (std::int32_t n = 0; n < steps; ++n)
            std::ranges::copy(step(n, 0, columns), std::back_inserter(expected));
        ASSERT_EQ(all, expected);
    }
};

TEST_F(Append, SeveralSessionsOfSeveralRanks)
{
    std::int32_t steps = 0;
    for (const int ranks : {2, 1, 3}) {
        const Placement placement = ranks == 3 ? Placement::object_per_block : Placement::one_object;
        run_ranks(ranks, [&](const std::shared_ptr<Communicator>& communicator) {
            Store store(location, Mode::write, communicator);
            for (std::int32_t n = 0; n < 3; ++n)
                append(store, steps + n, placement);
            store.close();
        });
        steps += 3;
        const auto reader = open(Mode::read);
        expect_series(*reader, steps);
    }
}

// Tables of blocks are merged, and a reader that knows the array is told of new ones.
TEST_F(Append, ManyAppends)
{
    const auto store = open(Mode::write);
    const auto reader = [&] {
        append(*store, 0);
        return open(Mode::read);
    }();
    constexpr std::int32_t many = 2100; // two levels: 32 * 32 and more
    for (std::int32_t n = 1; n < many; ++n) {
        append(*store, n);
        if (n % 500 == 0) expect_series(*reader, n + 1);
    }
    expect_series(*reader, many);
    EXPECT_EQ(reader->inquire("series").blocks, static_cast<std::uint64_t>(many));
    EXPECT_EQ(data_objects(location), 1U); // of one session
    // Small: a header with many tables in it would grow with the array.
    const Pool pool = Pool::connect(location, Access::read_only);
    const Container container = pool.open_container("default", Access::read_only);
    const Head head(container, "series", "series", Access::read_only);
    EXPECT_LT(head.header_bytes()->size(), 40000U);
}

TEST_F(Append, AlongAnyDimensionInEitherOrder)
{
    OpenOptions options;
    options.order = Order::column_major;
    const auto store = open(Mode::write, options);
    for (std::int32_t n = 0; n < 4; ++n) {
        const std::vector<std::int32_t> values{n, n + 10, n + 20};
        store->write(
            {.name = "a", .type = {Kind::int32}, .shape = {3, 1}, .data = values.data(), .append_along = 1});
    }
    EXPECT_EQ(store->inquire("a").grows_along, 1U);
    const auto reader = open(Mode::read);
    EXPECT_EQ(reader->inquire("a").grows_along, 0U);
    std::vector<std::int32_t> all(12);
    reader->read({.name = "a", .type = {Kind::int32}, .dimensions = 2, .data = all.data()});
    EXPECT_EQ(all, (std::vector<std::int32_t>{0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23}));
    expect_error(-DER_MISMATCH, {"it grows along dimension 2, not along dimension 1"}, [&] {
        store->write(
            {.name = "a", .type = {Kind::int32}, .shape = {1, 4}, .data = all.data(), .append_along = 0});
    });
}

TEST_F(Append, AnotherProgramsChangeIsNotOverwritten)
{
    const auto one = open(Mode::write);
    const auto other = open(Mode::write);
    append(*one, 0);
    append(*other, 1);
    append(*one, 2);
    expect_series(*one, 3);
    const auto values = step(3, 0, 6);
    Request request = one->begin_write(
        {.name = "series", .type = {Kind::int32}, .shape = {1, 6}, .data = values.data(), .append_along = 0});
    append(*other, 3);
    expect_error(-DER_STALE, {"append_array 'series'", "another program changed"}, [&] { request.wait(); });
    append(*one, 4);
    expect_series(*one, 5);
}

// A rank without a block has no place: the object of all blocks is not its.
TEST_F(Append, TheFirstRankHasNoBlock)
{
    run_ranks(2, [&](const std::shared_ptr<Communicator>& communicator) {
        Store store(location, Mode::write, communicator);
        for (double n = 0; n < 4; ++n) {
            for (const std::string name : {"T", "U"}) {
                const std::vector<double> values(1000, name == "T" ? n : n + 100);
                store.write({.name = name,
                             .type = {Kind::real64},
                             .shape = {1000},
                             .start = {0},
                             .count = {store.rank() * 1000},
                             .data = values.data(),
                             .append_along = 0});
            }
        }
        store.close();
    });
    const auto reader = open(Mode::read);
    for (const std::string name : {"T", "U"}) {
        std::vector<double> expected;
        for (double n = 0; n < 4; ++n)
            expected.insert(expected.end(), 1000, name == "T" ? n : n + 100);
        EXPECT_EQ(read_vector(*reader, name), expected) << name;
    }
}

// A table is begun empty, and grows. Elements of extent 0 take no data, whatever the other extents are.
TEST_F(Append, ArraysWithoutElements)
{
    for (const Placement placement : {Placement::one_object, Placement::object_per_block}) {
        const std::string name = placement == Placement::one_object ? "one" : "each";
        run_ranks(2, [&](const std::shared_ptr<Communicator>& communicator) {
            Store store(location, Mode::write, communicator);
            const auto write = [&](std::int64_t rows, std::optional<int> along) {
                const std::int64_t mine = store.rank() == 0 ? rows : 0;
                const std::vector<double> values(static_cast<std::size_t>(mine * 3), 7);
                store.write({.name = name,
                             .type = {Kind::real64},
                             .shape = {rows, 3},
                             .start = {0, 0},
                             .count = {mine, 3},
                             .data = mine == 0 ? nullptr : values.data(),
                             .placement = placement,
                             .append_along = along});
            };
            write(5, {});
            const std::uint64_t before = store.inquire(name).generation;
            write(0, {});
            EXPECT_EQ(store.inquire(name).shape, (Dims{0, 3}));
            EXPECT_NE(store.inquire(name).generation, before);
            store.read({.name = name, .type = {Kind::real64}, .dimensions = 2, .shape = {0, 3}});
            store.read(
                {.name = name, .type = {Kind::real64}, .dimensions = 2, .start = {0, 1}, .count = {0, 2}});
            write(2, 0);
            write(0, 0);
            write(1, 0);
            EXPECT_EQ(store.inquire(name).shape, (Dims{3, 3}));
            std::vector<double> all(9);
            store.read({.name = name, .type = {Kind::real64}, .dimensions = 2, .data = all.data()});
            EXPECT_EQ(all, std::vector<double>(9, 7));
            store.close();
        });
    }
    const auto store = open(Mode::write);
    store->write({.name = "wide", .type = {Kind::real64}, .shape = {0, 1LL << 50}, .append_along = 0});
    EXPECT_EQ(open(Mode::read)->inquire("wide").shape, (Dims{0, 1ULL << 50}));
    expect_error(-DER_OVERFLOW, {"more than 2^61 bytes"},
                 [&] { store->write({.name = "wide", .type = {Kind::real64}, .shape = {0, 1LL << 62}}); });
    expect_error(-DER_NONEXIST, {"'never'"}, [&] { store->inquire("never"); });
}

// What was inquired is what is read, or an error.
TEST_F(Append, AReadOfAnotherGenerationIsRefused)
{
    const auto store = open(Mode::write);
    write_vector(*store, "T", {1, 2, 3});
    const std::uint64_t first = store->inquire("T").generation;
    std::vector<double> values(3);
    const auto read = [&](std::uint64_t generation) {
        store->read({.name = "T",
                     .type = {Kind::real64},
                     .dimensions = 1,
                     .generation = generation,
                     .start = {0},
                     .count = {2},
                     .data = values.data()});
    };
    read(first);
    EXPECT_EQ(values, (std::vector<double>{1, 2, 0}));
    write_vector(*store, "T", {4, 5, 6, 7});
    expect_error(-DER_STALE, {"array 'T'", "was replaced"}, [&] { read(first); });
    read(store->inquire("T").generation);
    EXPECT_EQ(values, (std::vector<double>{4, 5, 0}));
}

// A reader sees one version or the other, never some of both.
TEST_F(Append, ReplacementWhileItIsRead)
{
    constexpr std::int64_t elements = 200000;
    const auto write = [&](Store& store, std::int64_t version) {
        const std::vector<std::int64_t> values(elements / store.size(), version);
        store.write({.name = "T",
                     .type = {Kind::int64},
                     .shape = {elements},
                     .start = {store.rank() * (elements / store.size())},
                     .count = {elements / store.size()},
                     .data = values.data()});
    };
    write(*open(Mode::write), 0);
    std::atomic<bool> done = false;
    std::thread writer([&] {
        run_ranks(2, [&](const std::shared_ptr<Communicator>& communicator) {
            Store store(location, Mode::write, communicator);
            for (std::int64_t version = 1; version <= 60; ++version)
                write(store, version);
            store.close();
        });
        done = true;
    });
    std::int64_t last = 0;
    int reads = 0;
    const auto reader = open(Mode::read);
    while (!done || last < 60) {
        std::vector<std::int64_t> values(elements, -1);
        reader->read({.name = "T", .type = {Kind::int64}, .dimensions = 1, .data = values.data()});
        const std::int64_t version = values.front();
        if (!std::ranges::all_of(values, [&](std::int64_t one) { return one == version; }) ||
            version < last) {
            ADD_FAILURE() << "a mix of versions after " << last;
            break;
        }
        last = version;
        ++reads;
    }
    writer.join();
    EXPECT_GT(reads, 1);
    EXPECT_EQ(data_objects(location), 1U); // the old ones are gone
}

// Killed at any moment: the old array or the new one is there, and the next writer leaves one array's data.
TEST_F(Append, KilledWriters)
{
    constexpr std::int64_t elements = 50000;
    const auto write = [&](Store& store, std::int64_t version) {
        const std::vector<std::int64_t> values(elements, version);
        store.write({.name = "T", .type = {Kind::int64}, .shape = {elements}, .data = values.data()});
    };
    ASSERT_EQ(run_in_child([&] {
                  write(*open(Mode::write), 0);
                  return 0;
              }),
              0);
    std::mt19937 random(7);
    std::int64_t last = 0;
    const bool slow = stepstore::testing::on_rados();
    for (std::int64_t round = 0; round < (slow ? 12 : 40); ++round) {
        int opened[2];
        ASSERT_EQ(pipe(opened), 0);
        const pid_t child = start_child([&] {
            const auto store = open(Mode::write);
            for (std::int64_t version = last + 1; ::write(opened[1], "x", 1) == 1; ++version)
                write(*store, version);
            return 1;
        });
        // Every second one is killed while it opens, or soon after, every fourth when it has written.
        char ready = 0;
        for (int told = round % 4 == 0 ? 2 : 1 - static_cast<int>(round % 2); told > 0; --told)
            ASSERT_EQ(::read(opened[0], &ready, 1), 1);
        usleep(static_cast<useconds_t>(2000 + below(random, slow ? 200000 : 30000)));
        kill(child, SIGKILL);
        end_of(child);
        close(opened[0]);
        close(opened[1]);
        const int seen = run_in_child([&] {
            const auto store = open(Mode::read);
            std::vector<std::int64_t> values(elements, -1);
            store->read({.name = "T", .type = {Kind::int64}, .dimensions = 1, .data = values.data()});
            const bool whole =
                std::ranges::all_of(values, [&](std::int64_t one) { return one == values.front(); });
            return whole && values.front() >= last ? static_cast<int>(values.front() - last) : 254;
        });
        ASSERT_GE(seen, 0);
        ASSERT_LT(seen, 254) << "round " << round;
        last += seen;
    }
    EXPECT_GT(last, 0);
    ASSERT_EQ(run_in_child([&] {
                  write(*open(Mode::write), last + 1);
                  return 0;
              }),
              0);
    EXPECT_EQ(data_objects(location), 1U);
}

// A rank of several is killed between the beginning of a write and its end.
TEST_F(Append, AKilledRank)
{
    constexpr int ranks = 3;
    const auto call = [](int rank, const std::vector<double>& data) {
        return WriteCall{.name = "T",
                         .type = {Kind::real64},
                         .shape = {3},
                         .start = {rank},
                         .count = {1},
                         .data = data.data()};
    };
    const auto ends = run_processes(ranks, [&](const std::shared_ptr<Communicator>& communicator) {
        const int rank = communicator->rank();
        Store store(location, Mode::write, communicator);
        const std::vector<double> old{1};
        store.write(call(rank, old));
        const std::vector<double> fresh{2};
        try {
            Request request = store.begin_write(call(rank, fresh));
            if (rank == 1) kill(getpid(), SIGKILL);
            request.wait();
        } catch (const Error& error) {
            // Rank 0 may have ended for this reason before rank 2 looks.
            const std::string text = error.what();
            const bool told =
                error.code() == -DER_CANCELED && (text.find("rank 1") != std::string::npos ||
                                                  (rank == 2 && text.find("rank 0") != std::string::npos));
            if (!told) std::fprintf(stderr, "%s\n", error.what());
            return told ? 0 : 1;
        }
        return 2;
    });
    EXPECT_EQ(ends, (std::vector<int>{0, -SIGKILL, 0}));
    EXPECT_EQ(run_in_child([&] {
                  return read_vector(*open(Mode::read), "T") == std::vector<double>{1, 1, 1} ? 0 : 1;
              }),
              0);
}

// Two programs replace the same array again and again: one or the other, and no data are left behind.
TEST_F(Append, TwoWriters)
{
    const auto write_some = [&](double value) {
        const auto store = open(Mode::write);
        for (int i = 0; i < 50; ++i)
            write_vector(*store, "T", std::vector<double>(1000, value));
        return 0;
    };
    const pid_t one = start_child([&] { return write_some(1); });
    const pid_t other = start_child([&] { return write_some(2); });
    EXPECT_EQ(end_of(one), 0);
    EXPECT_EQ(end_of(other), 0);
    const auto values = read_vector(*open(Mode::read), "T");
    EXPECT_TRUE(values == std::vector<double>(1000, 1) || values == std::vector<double>(1000, 2));
    EXPECT_EQ(data_objects(location), 1U);
}

} // namespace
} // namespace stepstore::arrays::testing

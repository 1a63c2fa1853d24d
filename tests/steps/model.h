// A stream that can be checked from its numbers alone: what rank r puts in step n depends only on r, n and
// the layout of the test.
#pragma once

#include "steps/layouts/layout.h"
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "support/location.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace stepstore::steps::testing {

// How a stream's metadata lies: a layout, and its objects.
struct Design {
    std::string layout;
    Objects objects;
    StepMode step_mode = StepMode::extend;
    bool aggregated = false; // two ranks have one that stores for both
    bool async = false;      // beside the program (WriterOptions::async_write)
};

inline std::string name_of(const Design& design)
{
    std::string name = design.layout;
    if (design.objects != Objects::single) name += "-" + std::string(steps::name_of(design.objects));
    if (design.step_mode != StepMode::extend) name += "-" + std::string(steps::name_of(design.step_mode));
    if (design.aggregated) name += "-aggregated";
    if (design.async) name += "-async";
    return name;
}

inline constexpr Objects all_objects[] = {Objects::single, Objects::per_step, Objects::per_writer,
                                          Objects::per_machine};

// Every choice of each, from the list of layouts: one that is added is tested like the others.
template <class Each>
void each_design(Each&& each)
{
    for (const Layout* layout : layouts())
        for (const Objects objects : all_objects)
            for (const StepMode mode : {StepMode::extend, StepMode::snapshot})
                for (const bool aggregated : {false, true})
                    each(Design{std::string(layout->name), objects, mode, aggregated});
}

inline WriterOptions options_of(const Design& design)
{
    WriterOptions options;
    options.layout = design.layout;
    options.objects = design.objects;
    options.step_mode = design.step_mode;
    options.targets = 4;
    if (design.objects == Objects::per_machine) options.ranks_per_object = 2; // as if of several machines
    if (design.aggregated) options.ranks_per_aggregator = 2;
    options.async_write = design.async;
    if (design.layout == "array-aligned" || design.layout == "array-adaptive") options.chunk_size = 4096;
    return options;
}

inline bool is_accepted(const Design& design)
{
    using stepstore::testing::on_cluster;
    using stepstore::testing::on_rados;
    if (design.layout == "posix" && on_cluster()) return false; // it needs a directory
    // In files, which have no snapshots, one of each layout: what else there is does not depend on the pool.
    if (stepstore::testing::in_files() &&
        (design.step_mode == StepMode::snapshot ||
         (design.objects != Objects::single && design.objects != Objects::per_machine)))
        return false;
    // On Ceph, where each takes seconds, one of every kind.
    const std::string name = name_of(design);
    if (on_rados() && name != "array-aligned" && name != "kv-per-step" &&
        name != "array-adaptive-per-writer" && name != "array-aligned-snapshot")
        return false;
    try {
        check_options(options_of(design));
        return true;
    } catch (const Error&) {
        return false;
    }
}

// All that a writer accepts, by name.
inline const std::map<std::string, Design> designs = [] {
    std::map<std::string, Design> all;
    each_design([&](const Design& design) {
        // What an aggregator stores is to the objects of steps and ranks like a rank's own metadata.
        const bool alike = design.aggregated &&
                           (design.objects == Objects::per_step || design.objects == Objects::per_writer);
        if (is_accepted(design) && !alike) all[name_of(design)] = design;
        Design async = design;
        async.async = true;
        if (is_accepted(async) && design.objects == Objects::single) all[name_of(async)] = async;
    });
    return all;
}();

inline const std::vector<std::string> all_designs = [] {
    std::vector<std::string> names;
    for (const auto& [name, design] : designs)
        if (!design.async && (design.step_mode == StepMode::extend || !stepstore::testing::on_rados()))
            names.push_back(name);
    return names;
}();

// That write beside the program: with ranks that wait for one another in every step, in some, and in none.
inline const std::vector<std::string> async_designs = [] {
    std::vector<std::string> names;
    for (const auto& [name, design] : designs)
        if (design.async && design.layout != "kv" && design.layout != "array") names.push_back(name);
    return names;
}();

// For tests that take long and do not depend on where metadata lies: by snapshots in one layout.
inline const std::vector<std::string> few_designs = [] {
    std::vector<std::string> names;
    for (const auto& [name, design] : designs)
        if (!design.async && (design.step_mode == StepMode::extend || name == "array-aligned-snapshot"))
            names.push_back(name);
    return names;
}();

// Whether the ranks wait for one another in each step: then no step is there in part.
inline bool ranks_wait(const std::string& name)
{
    const Design& design = designs.at(name);
    return design.layout == "array" || design.layout == "posix" || design.step_mode == StepMode::snapshot ||
           design.aggregated;
}

// How many of the ended steps need not be there, if nobody closes: the last one, as long as it is on its way.
inline std::uint64_t under_way(const std::string& name)
{
    return designs.at(name).async ? 1 : 0;
}

inline std::string name_of_design(const ::testing::TestParamInfo<std::string>& info)
{
    std::string name = info.param;
    std::erase(name, '-');
    return name;
}

// One global array of doubles is split into rows among the ranks. The number of rows changes with the step.
// Then there are a value, a string, and a local array whose length differs by rank and is 0 on some. One
// variable is on only one rank, and only in every third step.
struct Model {
    int ranks = 1;
    std::uint64_t columns = 16;
    // Strings that make metadata larger than a chunk on some ranks and steps. In step 1 they are so large
    // that the store keeps them apart from its index.
    bool large = false;

    std::uint64_t rows(std::uint64_t step, int rank) const
    {
        return 1 + (step + static_cast<std::uint64_t>(rank)) % 4;
    }
    std::uint64_t all_rows(std::uint64_t step) const { return first_row(step, ranks); }
    std::uint64_t first_row(std::uint64_t step, int rank) const
    {
        std::uint64_t sum = 0;
        for (int r = 0; r < rank; ++r)
            sum += rows(step, r);
        return sum;
    }
    static double cell(std::uint64_t step, std::uint64_t row, std::uint64_t column)
    {
        return static_cast<double>(step * 1000000 + row * 1000 + column);
    }
    std::string text(std::uint64_t step, int rank) const
    {
        const bool big = large && (step + static_cast<std::uint64_t>(rank)) % 3 == 1;
        const std::size_t more = !big ? 0 : step == 1 ? 80000 : 5000 + 1000 * step;
        return "step " + std::to_string(step) + " rank " + std::to_string(rank) + std::string(more, 'x');
    }
    static std::uint64_t local_count(std::uint64_t step, int rank)
    {
        return (step * 7 + static_cast<std::uint64_t>(rank) * 3) % 5;
    }
    bool has_rare(std::uint64_t step) const { return step % 3 == 2; }

    void write_step(Writer& writer, int rank) const
    {
        const std::uint64_t step = writer.begin_step();
        // A rank that has nothing at all to say in some steps.
        if (ranks > 2 && rank == 1 && step % 4 == 3) return writer.end_step();
        const auto field = writer.define("field", Type::float64, ShapeKind::global_array);
        const Dims shape{all_rows(step), columns}, start{first_row(step, rank), 0},
            count{rows(step, rank), columns};
        std::vector<double> cells(count[0] * columns);
        for (std::uint64_t i = 0; i < cells.size(); ++i)
            cells[i] = cell(step, start[0] + i / columns, i % columns);
        // In two blocks, one kept until end_step, one taken at once.
        const Dims first_count{1, columns}, rest_start{start[0] + 1, 0}, rest_count{count[0] - 1, columns};
        writer.put(field, shape, start, first_count, cells.data(), Mode::deferred);
        writer.put(field, shape, rest_start, rest_count, cells.data() + columns, Mode::sync);
        writer.put_value(writer.define("step", Type::uint64, ShapeKind::global_value), &step);
        writer.put_string(writer.define("text", Type::string, ShapeKind::local_value), text(step, rank));
        const auto local = writer.define("local", Type::int32, ShapeKind::local_array);
        std::vector<std::int32_t> numbers(local_count(step, rank),
                                          static_cast<std::int32_t>(step * 100) + rank);
        writer.put(local, {}, {}, Dims{numbers.size()}, numbers.data());
        std::vector<float> joined(2 + static_cast<std::size_t>(rank), static_cast<float>(step));
        writer.put(writer.define("joined", Type::float32, ShapeKind::joined_array), Dims{joined_dimension},
                   {}, Dims{joined.size()}, joined.data());
        float rare = static_cast<float>(step);
        if (has_rare(step) && rank == ranks - 1)
            writer.put_value(writer.define("rare", Type::float32, ShapeKind::local_value), &rare);
        if (step % 2 == 0) writer.attribute("even", Type::uint64, &step, 1);
        writer.end_step();
    }

    bool silent(std::uint64_t step, int rank) const { return ranks > 2 && rank == 1 && step % 4 == 3; }

    // All of a step, as the reader has it: everything equal to the model, nothing more.
    void check_step(Reader& reader, std::uint64_t step) const
    {
        SCOPED_TRACE("step " + std::to_string(step));
        const auto id = [&](const char* name) { return reader.find(name).value(); };
        EXPECT_EQ(reader.variables(step).size(), 5u + (has_rare(step) ? 1 : 0));
        const Dims shape = reader.shape(id("field"), step);
        ASSERT_EQ(shape, (Dims{all_rows(step), columns}));
        std::vector<double> cells(shape[0] * shape[1], -1), part(shape[0] * 3, -1);
        reader.get(id("field"), Dims{0, 0}, shape, cells.data(), Mode::deferred, step);
        reader.get(id("field"), Dims{0, 5}, Dims{shape[0], 3}, part.data(), Mode::deferred, step);
        reader.perform_gets();
        for (std::uint64_t row = 0; row < shape[0]; ++row) {
            const bool missing =
                ranks > 2 && silent(step, 1) && row >= first_row(step, 1) && row < first_row(step, 2);
            for (std::uint64_t column = 0; column < columns; ++column)
                ASSERT_EQ(cells[row * columns + column], missing ? -1 : cell(step, row, column))
                    << row << "," << column;
            for (std::uint64_t column = 0; column < 3; ++column)
                ASSERT_EQ(part[row * 3 + column], missing ? -1 : cell(step, row, column + 5));
        }
        const auto range = reader.minmax(id("field"), step);
        ASSERT_TRUE(range);
        EXPECT_EQ(range->min.as<double>(), cell(step, 0, 0));
        EXPECT_EQ(range->max.as<double>(), cell(step, shape[0] - 1, columns - 1));
        std::uint64_t value = 0;
        reader.get_value(id("step"), &value, 0, step);
        EXPECT_EQ(value, step);
        check_local(reader, step);
        const auto even = reader.attribute("even", step);
        ASSERT_TRUE(even);
        EXPECT_EQ(load_little<std::uint64_t>(even->data.data()), step / 2 * 2);
    }

private:
    void check_local(Reader& reader, std::uint64_t step) const
    {
        const auto id = [&](const char* name) { return reader.find(name).value(); };
        const std::vector<Block> blocks = reader.blocks(id("local"), step);
        std::size_t block = 0;
        std::uint64_t joined = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            if (silent(step, rank)) continue;
            ASSERT_LT(block, blocks.size());
            EXPECT_EQ(blocks[block].writer_rank, static_cast<std::uint32_t>(rank));
            ASSERT_EQ(blocks[block].count, Dims{local_count(step, rank)});
            std::vector<std::int32_t> numbers(local_count(step, rank) + 1, -1);
            reader.get_block(id("local"), block, {}, {}, numbers.data(), Mode::sync, step);
            for (std::size_t i = 0; i + 1 < numbers.size(); ++i)
                EXPECT_EQ(numbers[i], static_cast<int>(step * 100) + rank);
            EXPECT_EQ(numbers.back(), -1);
            EXPECT_EQ(reader.get_string(id("text"), block, step), text(step, rank));
            joined += 2 + static_cast<std::uint64_t>(rank);
            ++block;
        }
        EXPECT_EQ(block, blocks.size());
        ASSERT_EQ(reader.shape(id("joined"), step), Dims{joined});
        std::vector<float> values(joined, -1);
        reader.get(id("joined"), Dims{0}, Dims{joined}, values.data(), Mode::sync, step);
        for (const float one : values)
            EXPECT_EQ(one, static_cast<float>(step));
        if (has_rare(step)) {
            float rare = -1;
            reader.get_value(id("rare"), &rare, 0, step);
            EXPECT_EQ(rare, static_cast<float>(step));
            EXPECT_EQ(reader.shape(id("rare"), step), Dims{1});
        } else if (reader.find("rare")) {
            EXPECT_FALSE(reader.has(id("rare"), step));
        }
    }
};

inline WriterOptions options_of(const std::string& name)
{
    return options_of(designs.at(name));
}

} // namespace stepstore::steps::testing

// Going on with a stream: on other numbers of ranks, after some of its steps, while it is read.
#include "steps/check/check.h"
#include "steps/model.h"
#include "steps/profile/profile.h"
#include "support/errors.h"
#include "support/report.h"
#include "support/space.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <sys/stat.h>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::message_of;
using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

Model model_of(int ranks)
{
    return {ranks, 16, true};
}

ReaderOptions at_random()
{
    ReaderOptions options;
    options.mode = ReadMode::random_access;
    return options;
}

class Append : public ::testing::TestWithParam<std::string> {
protected:
    // The number of the first step that was written.
    std::uint64_t write(int ranks, int steps, bool append, std::int64_t after = INT64_MAX,
                        bool close = true) const
    {
        std::atomic<std::uint64_t> first = 0;
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            WriterOptions options = append ? WriterOptions() : options_of(GetParam());
            options.append = append;
            options.append_after = after;
            Writer writer(location, options, communicator);
            first = writer.steps();
            for (int step = 0; step < steps; ++step)
                model_of(ranks).write_step(writer, communicator->rank());
            if (close) writer.close();
        });
        return first;
    }

    // ranks[n]: how many wrote step n.
    void check(const std::vector<int>& ranks) const
    {
        Reader random(location, at_random(), self_communicator());
        ASSERT_EQ(random.steps(), ranks.size());
        for (std::uint64_t step = ranks.size(); step-- > 0;)
            model_of(ranks[step]).check_step(random, step);
        for (const int readers : {1, 3}) {
            run_ranks(readers, [&](std::shared_ptr<Communicator> communicator) {
                ReaderOptions options;
                options.read_ahead = readers == 1 ? 0 : 1 << 20;
                Reader reader(location, options, communicator);
                for (std::uint64_t step = 0; step < ranks.size(); ++step) {
                    ASSERT_EQ(reader.begin_step(10), StepStatus::ok);
                    EXPECT_EQ(reader.current_step(), step);
                    model_of(ranks[step]).check_step(reader, step);
                    reader.end_step();
                }
                EXPECT_EQ(reader.begin_step(10), StepStatus::end_of_stream);
            });
        }
        const StreamReport report = check_streams(location, true);
        EXPECT_TRUE(report.findings.empty()) << report;
        EXPECT_EQ(report.streams.at(0).whole_steps, ranks.size());
    }

    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
};

TEST_P(Append, GoesOnWithAnyNumberOfRanks)
{
    EXPECT_EQ(write(2, 3, false), 0u);
    EXPECT_EQ(write(3, 4, true), 3u);
    EXPECT_EQ(write(1, 3, true, -1), 7u);
    EXPECT_EQ(write(4, 1, true, 10), 10u);
    check({2, 2, 2, 3, 3, 3, 3, 1, 1, 1, 4});
}

TEST_P(Append, MakesAStreamThatIsNotThere)
{
    run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
        WriterOptions options = options_of(GetParam());
        options.append = true;
        options.append_after = 3;
        Writer writer(location, options, communicator);
        EXPECT_EQ(writer.steps(), 0u);
        model_of(2).write_step(writer, communicator->rank());
        writer.close();
    });
    check({2});
}

TEST_P(Append, KeepsAsManyStepsAsBp5Does)
{
    struct Case {
        std::int64_t after;
        std::uint64_t kept; // of 5
    };
    for (const Case& one :
         {Case{0, 0}, Case{1, 1}, Case{4, 4}, Case{5, 5}, Case{6, 5}, Case{INT64_MAX, 5}, Case{-1, 5},
          Case{-2, 4}, Case{-5, 1}, Case{-6, 0}, Case{-7, 0}, Case{INT64_MIN, 0}}) {
        SCOPED_TRACE(one.after);
        write(2, 5, false);
        EXPECT_EQ(write(3, 2, true, one.after), one.kept);
        std::vector<int> ranks(one.kept, 2);
        ranks.insert(ranks.end(), 2, 3);
        check(ranks);
    }
}

TEST_P(Append, CutsThroughEarlierSegments)
{
    write(2, 4, false);
    write(3, 4, true);
    write(1, 4, true);
    EXPECT_EQ(write(2, 2, true, 6), 6u);
    check({2, 2, 2, 2, 3, 3, 2, 2});
    EXPECT_EQ(write(4, 1, true, 1), 1u);
    check({2, 4});
    EXPECT_EQ(write(1, 3, true, 0), 0u);
    check({1, 1, 1});
}

TEST_P(Append, GoesOnWhereAWriterDidNotClose)
{
    write(2, 3, false, 0, false);
    EXPECT_EQ(write(2, 2, true, INT64_MAX, false), 3u);
    EXPECT_EQ(write(1, 1, true), 5u);
    check({2, 2, 2, 2, 2, 1});
}

TEST_P(Append, OpeningWithoutAStepChangesNothing)
{
    write(2, 3, false);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(write(3, 0, true), 3u);
    check({2, 2, 2});
    Reader reader(location, at_random(), self_communicator());
    EXPECT_EQ(reader.describe().segments, 2u);
}

TEST_P(Append, FreesWhatIsCutOff)
{
    constexpr std::uint64_t cells = 1 << 20; // 8 MiB a step
    const std::vector<double> data(cells, 1.5);
    const auto write_large = [&](int steps, bool append) {
        WriterOptions options = append ? WriterOptions() : options_of(GetParam());
        options.append = append;
        options.append_after = 1;
        Writer writer(location, options, self_communicator());
        const auto id = writer.define("large", Type::float64, ShapeKind::global_array);
        for (int step = 0; step < steps; ++step) {
            writer.begin_step();
            writer.put(id, Dims{cells}, Dims{0}, Dims{cells}, data.data());
            writer.end_step();
        }
        writer.close();
    };
    write_large(1, false);
    const std::uint64_t one_step = stepstore::testing::space_taken(location);
    EXPECT_GE(one_step, cells * 8);
    for (int i = 0; i < 4; ++i)
        write_large(3, true);
    const std::uint64_t four_steps = stepstore::testing::space_taken(location);
    EXPECT_LT(four_steps, 6 * cells * 8) << "what was cut off in the rounds before takes space";
    write_large(0, true);
    EXPECT_LT(stepstore::testing::space_taken(location), one_step + 2 * cells * 8);
    const StreamReport report = check_streams(location, true);
    EXPECT_TRUE(report.findings.empty()) << report;
    EXPECT_EQ(report.streams.at(0).whole_steps, 1u);
}

TEST_P(Append, AReaderGoesOnIntoWhatIsAppended)
{
    write(2, 3, false, 0, false);
    Reader reader(location, {}, self_communicator());
    for (std::uint64_t step = 0; step < 2; ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        reader.end_step();
    }
    write(3, 2, true, -1, false);
    for (std::uint64_t step = 2; step < 5; ++step) {
        ASSERT_EQ(reader.begin_step(10), StepStatus::ok);
        ASSERT_EQ(reader.current_step(), step);
        model_of(step < 3 ? 2 : 3).check_step(reader, step);
        reader.end_step();
    }
    EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
    write(1, 1, true); // and once more, for one that asks again
    ASSERT_EQ(reader.begin_step(10), StepStatus::ok);
    model_of(1).check_step(reader, 5);
    reader.end_step();
    EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
}

// Whether each rank has read the steps for itself; then rank 0's word at the end is the first.
void read_together(const std::string& location, int steps, bool each, const std::function<void()>& before_end)
{
    run_ranks(3, [&](std::shared_ptr<Communicator> communicator) {
        Reader reader(location, {}, communicator);
        for (int step = 0; step < steps; ++step) {
            ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
            reader.end_step();
        }
        EXPECT_EQ(reader.costs().read > 0, each || communicator->rank() == 0);
        EXPECT_EQ(reader.costs().broadcast > 0, !each);
        if (communicator->rank() == 0) before_end();
        EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
        EXPECT_GT(reader.costs().broadcast, 0);
    });
}

TEST_P(Append, RanksReadForThemselvesWhatHadEndedAndAgreeOnTheEnd)
{
    write(2, 3, false);
    read_together(location, 3, true, [&] { write(1, 2, true); });
    read_together(location, 5, true, [] {});
    write(2, 3, false, 0, false); // and not what may go on
    read_together(location, 3, false, [] {});
}

TEST_P(Append, AReaderWhoseStepWasCutOffIsTold)
{
    write(2, 6, false, 0, false);
    ReaderOptions no_ahead;
    no_ahead.read_ahead = 0;
    Reader behind(location, no_ahead, self_communicator()), before(location, no_ahead, self_communicator());
    Reader random(location, at_random(), self_communicator());
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(behind.begin_step(0), StepStatus::ok);
        if (i < 4) behind.end_step();
    }
    ASSERT_EQ(before.begin_step(0), StepStatus::ok);
    before.end_step();
    model_of(2).check_step(random, 5);
    write(3, 4, true, 3);

    // In its step: what it reads may be gone, so it is not given as data.
    std::vector<double> cells(model_of(2).all_rows(4) * 16);
    const std::string text = message_of(
        [&] {
            behind.get(behind.find("field").value(), Dims{0, 0}, Dims{model_of(2).all_rows(4), 16},
                       cells.data(), Mode::sync);
        },
        -DER_STALE);
    EXPECT_NE(text.find("steps from 3 on"), std::string::npos) << text;
    message_of([&] { behind.end_step(), behind.begin_step(0); }, -DER_STALE);
    message_of([&] { random.steps(); }, -DER_STALE);
    // One that has seen nothing of what was cut off goes on.
    for (std::uint64_t step = 1; step < 7; ++step) {
        ASSERT_EQ(before.begin_step(10), StepStatus::ok);
        model_of(step < 3 ? 2 : 3).check_step(before, step);
        before.end_step();
    }
    EXPECT_EQ(before.begin_step(0), StepStatus::end_of_stream);
}

TEST_P(Append, DefinitionsAndAttributesOfEarlierStepsStay)
{
    const auto write_with = [&](bool append, const std::string& name, std::int32_t value) {
        WriterOptions options = append ? WriterOptions() : options_of(GetParam());
        options.append = append;
        Writer writer(location, options, self_communicator());
        writer.attribute("of " + name, Type::int32, &value, 1);
        writer.attribute("last", Type::int32, &value, 1);
        writer.begin_step();
        writer.put_value(writer.define(name, Type::int32, ShapeKind::global_value), &value);
        writer.end_step();
        writer.close();
    };
    write_with(false, "first", 1);
    write_with(true, "second", 2);
    write_with(true, "third", 3);
    Reader reader(location, at_random(), self_communicator());
    ASSERT_EQ(reader.steps(), 3u);
    const char* names[] = {"first", "second", "third"};
    for (std::uint64_t step = 0; step < 3; ++step) {
        std::int32_t value = 0;
        const VariableId id = reader.find(names[step]).value();
        reader.get_value(id, &value, 0, step);
        EXPECT_EQ(value, static_cast<std::int32_t>(step) + 1);
        EXPECT_EQ(reader.available_steps(id), std::vector<std::uint64_t>{step});
        for (std::uint64_t other = 0; other < 3; ++other)
            EXPECT_EQ(reader.attribute(std::string("of ") + names[step], other).has_value(), other >= step);
        EXPECT_EQ(load_little<std::uint32_t>(reader.attribute("last", step)->data.data()),
                  static_cast<std::uint32_t>(value));
    }
}

TEST_P(Append, WhatContradictsTheStreamIsRefused)
{
    write(2, 1, false);
    const auto refused = [&](const std::function<void(WriterOptions&)>& set, const std::string& a,
                             const std::string& b) {
        WriterOptions options;
        options.append = true;
        set(options);
        const std::string text =
            message_of([&] { Writer(location, options, self_communicator()); }, -DER_INVAL);
        EXPECT_NE(text.find(a), std::string::npos) << text;
        EXPECT_NE(text.find(b), std::string::npos) << text;
    };
    const Design& design = designs.at(GetParam());
    const std::string is(design.layout), other(is == "kv" ? "array" : "kv");
    const std::string objects(steps::name_of(design.objects));
    const std::string other_objects(objects == "per-writer" ? "per-step" : "per-writer");
    refused([&](WriterOptions& o) { o.set("Layout", other); }, is, other);
    refused([&](WriterOptions& o) { o.set("Objects", other_objects); }, objects, other_objects);
    refused([&](WriterOptions& o) { o.set("ChunkSize", "12345"); }, "12345", "ChunkSize");
    refused([&](WriterOptions& o) { o.set("DataChunkSize", "2M"); }, "2097152", "1048576");
    refused([&](WriterOptions& o) { o.set("ObjectClass", "S2"); }, "S2", "ObjectClass");
    refused([&](WriterOptions& o) { o.order = Order::column_major; }, "column-major", "row-major");
    run_ranks(3, [&](std::shared_ptr<Communicator> communicator) {
        WriterOptions options;
        options.append = true;
        Writer writer(location, options, communicator);
        const std::string text =
            message_of([&] { writer.define("field", Type::int32, ShapeKind::global_array); }, -DER_INVAL);
        EXPECT_NE(text.find("float64"), std::string::npos) << text;
        model_of(3).write_step(writer, communicator->rank());
        writer.close();
    });
    check({2, 3});
}

INSTANTIATE_TEST_SUITE_P(Layouts, Append, ::testing::ValuesIn(all_designs), name_of_design);

} // namespace
} // namespace stepstore::steps::testing

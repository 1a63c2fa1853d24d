// Readers that show some steps only.
#include "steps/model.h"
#include "steps/stream/step_selection.h"
#include "support/temporary.h"
#include "support/thread_group.h"

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

using Numbers = std::vector<std::uint64_t>;

Numbers selected(const std::string& text, std::uint64_t steps)
{
    const StepSelection selection(text);
    Numbers numbers;
    for (std::uint64_t shown = 0; shown < selection.count(steps); ++shown)
        numbers.push_back(selection.step(shown));
    return numbers;
}

TEST(StepSelection, HasBp5sGrammar)
{
    EXPECT_EQ(selected("", 3), (Numbers{0, 1, 2}));
    EXPECT_EQ(selected("  ", 2), (Numbers{0, 1}));
    EXPECT_EQ(selected("0 6 3 2", 10), (Numbers{0, 2, 3, 6}));
    EXPECT_EQ(selected("0 6 3 2", 4), (Numbers{0, 2, 3}));
    EXPECT_EQ(selected("1:5", 10), (Numbers{1, 2, 3, 4, 5}));
    EXPECT_EQ(selected("2:n", 5), (Numbers{2, 3, 4}));
    EXPECT_EQ(selected("2:N", 2), Numbers{});
    EXPECT_EQ(selected("0:n:2", 7), (Numbers{0, 2, 4, 6}));
    EXPECT_EQ(selected(" 0:n:3  10:n:5 ", 21), (Numbers{0, 3, 6, 9, 10, 12, 15, 18, 20}));
    EXPECT_EQ(selected("1:6:3 1", 9), (Numbers{1, 4}));
    EXPECT_EQ(StepSelection("3").count(1000000000000ULL), 1u); // does not look at them all
    EXPECT_EQ(StepSelection("4:9:2").shown(8), 2u);
}

TEST(StepSelection, RefusesAnythingElse)
{
    for (const char* bad : {"a", "1:", "n", "n:3", "1:2:0", "1:2:3:4", "-1", "5:2", ":", "1,2", "1:n:x",
                            "1:2:n", "99999999999999999999", "18446744073709551615"}) {
        SCOPED_TRACE(bad);
        try {
            const StepSelection selection(bad);
            ADD_FAILURE() << "taken";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_INVAL);
            EXPECT_NE(std::string(error.what()).find("SelectSteps"), std::string::npos) << error.what();
        }
        ReaderOptions options;
        EXPECT_THROW(options.set("SelectSteps", bad), Error);
    }
}

class SelectSteps : public ::testing::TestWithParam<std::string> {};

TEST_P(SelectSteps, ShowsThoseAloneCountedFromZero)
{
    const TemporaryDirectory directory;
    const std::string location = stepstore::testing::new_stream(directory);
    const Model model{2, 16, true};
    constexpr std::uint64_t steps = 9;
    for (const bool append : {false, true}) // also across segments
        run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
            WriterOptions options = append ? WriterOptions() : options_of(GetParam());
            options.append = append;
            Writer writer(location, options, communicator);
            for (std::uint64_t step = 0; step < (append ? steps - 5 : 5); ++step)
                model.write_step(writer, communicator->rank());
            writer.close();
        });
    for (const char* text : {"0:n:3", "7 1 4:5", "8", "100 2:3"}) {
        SCOPED_TRACE(text);
        const Numbers expected = selected(text, steps);
        ReaderOptions options;
        options.set("selectsteps", text);
        run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
            Reader reader(location, options, communicator);
            for (std::uint64_t shown = 0; shown < expected.size(); ++shown) {
                ASSERT_EQ(reader.begin_step(10), StepStatus::ok);
                EXPECT_EQ(reader.current_step(), shown);
                std::uint64_t value = 0;
                reader.get_value(reader.find("step").value(), &value, 0, shown);
                EXPECT_EQ(value, expected[shown]);
                EXPECT_EQ(load_little<std::uint64_t>(reader.attribute("even")->data.data()), value / 2 * 2);
                reader.end_step();
            }
            EXPECT_EQ(reader.begin_step(10), StepStatus::end_of_stream);
        });
        options.mode = ReadMode::random_access;
        Reader reader(location, options, self_communicator());
        ASSERT_EQ(reader.steps(), expected.size());
        Numbers all(expected.size());
        std::iota(all.begin(), all.end(), 0);
        EXPECT_EQ(reader.available_steps(reader.find("field").value()), all);
        for (const std::uint64_t shown : all) {
            std::uint64_t value = 0;
            reader.get_value(reader.find("step").value(), &value, 0, shown);
            EXPECT_EQ(value, expected[shown]);
            const Dims shape = reader.shape(reader.find("field").value(), shown);
            ASSERT_EQ(shape.at(0), model.all_rows(value));
            double cell = -1;
            reader.get(reader.find("field").value(), Dims{shape[0] - 1, 3}, Dims{1, 1}, &cell, Mode::sync,
                       shown);
            EXPECT_EQ(cell, Model::cell(value, shape[0] - 1, 3));
        }
        EXPECT_THROW(reader.shape(reader.find("field").value(), expected.size()), Error);
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, SelectSteps, ::testing::ValuesIn(all_designs), name_of_design);

} // namespace
} // namespace stepstore::steps::testing

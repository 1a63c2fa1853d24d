// Ranks that define or shape a variable differently: found when the step ends, told on every rank, the step
// is not published, nothing before it is lost.
#include "steps/model.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <mutex>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

constexpr int ranks = 3;

struct Put {
    Type type = Type::float64;
    ShapeKind kind = ShapeKind::global_array;
    Dims shape;
};

void put_x(Writer& writer, const Put& put)
{
    const std::vector<double> zeros(64);
    const VariableId x = writer.define("x", put.type, put.kind);
    if (is_value(put.kind)) return writer.put_value(x, zeros.data());
    const bool global = put.kind == ShapeKind::global_array;
    const bool local = put.kind == ShapeKind::local_array;
    const Dims start(global ? put.shape.size() : 0, 0);
    const Dims count(put.shape.size(), 1);
    writer.put(x, local ? Dims() : put.shape, start, count, zeros.data(), Mode::sync);
}

Claim claim_of(const Put& put)
{
    Claim claim{{"x", put.type, put.kind, nullptr}, is_value(put.kind) ? Dims() : put.shape};
    if (put.kind == ShapeKind::local_array) std::ranges::fill(claim.shape, 0);
    return claim;
}

void put_good(Writer& writer, int rank)
{
    const double value = rank;
    writer.put(writer.define("good", Type::float64, ShapeKind::global_array), Dims{ranks},
               Dims{static_cast<std::uint64_t>(rank)}, Dims{1}, &value, Mode::sync);
}

class Contradictions : public ::testing::TestWithParam<std::string> {
protected:
    // Writes steps; in `step` rank `other` puts x as `theirs` and the others as `ours`; both again and again
    // after it. What every rank was told, by end_step or close.
    // agree: the ranks tell each other before that they will.
    std::vector<std::string> write(std::uint64_t step, int other, const Put& ours, const Put& theirs,
                                   bool agree = false) const
    {
        std::vector<std::string> told(ranks);
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            const int rank = communicator->rank();
            std::string& text = told[static_cast<std::size_t>(rank)];
            Writer writer(location, options_of(GetParam()), communicator);
            if (agree) writer.agree({claim_of(rank == other ? theirs : ours)});
            for (int i = 0; i < 5 && text.empty(); ++i) {
                const std::uint64_t now = writer.begin_step();
                put_good(writer, rank);
                if (now >= step) put_x(writer, rank == other ? theirs : ours);
                try {
                    writer.end_step();
                } catch (const Error& error) {
                    text = error.what();
                    EXPECT_TRUE(error.code() == -DER_INVAL || error.code() == -DER_CANCELED) << text;
                    EXPECT_THROW(writer.begin_step(), Error) << "only close is left";
                }
            }
            try {
                writer.close();
            } catch (const Error& error) {
                // One that was told late has ended steps that are not kept: it is told that too.
                EXPECT_TRUE(text.empty() || writer.steps() > step) << "a rank that was told can close";
                text = error.what();
            }
        });
        return told;
    }

    void expect_told(const std::vector<std::string>& told, std::initializer_list<std::string> parts) const
    {
        for (const std::string& text : told)
            for (const std::string& part : parts)
                EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
    }

    void expect_steps(std::uint64_t steps) const
    {
        ReaderOptions options;
        options.mode = ReadMode::random_access;
        Reader reader(location, options, self_communicator());
        ASSERT_EQ(reader.steps(), steps);
        EXPECT_TRUE(reader.closed());
        for (std::uint64_t step = 0; step < steps; ++step) {
            std::vector<double> values(ranks, -1);
            reader.get(*reader.find("good"), Dims{0}, Dims{ranks}, values.data(), Mode::sync, step);
            EXPECT_EQ(values, (std::vector<double>{0, 1, 2}));
        }
    }

    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_stream(directory);
};

TEST_P(Contradictions, AreToldOnEveryRankAndTheirStepIsNotPublished)
{
    const Put array{Type::float64, ShapeKind::global_array, {4, 8}};
    struct Case {
        Put theirs;
        std::vector<std::string> named;
    };
    const std::vector<Case> cases = {
        {{Type::float32, ShapeKind::global_array, {4, 8}}, {"float32", "float64"}},
        {{Type::float64, ShapeKind::local_array, {4, 8}}, {"local array", "global array"}},
        {{Type::float64, ShapeKind::global_value, {}}, {"global value", "global array"}},
        {{Type::float64, ShapeKind::local_value, {}}, {"local value", "global array"}},
        {{Type::float64, ShapeKind::global_array, {4, 8, 1}}, {"{4, 8, 1}", "{4, 8}"}},
        {{Type::float64, ShapeKind::global_array, {4, 9}}, {"{4, 9}", "{4, 8}"}},
    };
    int other = 0;
    for (const Case& one : cases) {
        SCOPED_TRACE(one.named.front());
        const std::uint64_t step = static_cast<std::uint64_t>(other) % 2; // also in the first step of all
        const auto told = write(step, other, array, one.theirs);
        expect_told(told, {"'x'", "step " + std::to_string(step), "rank " + std::to_string(other)});
        for (const std::string& part : one.named)
            expect_told(told, {part});
        expect_steps(step);
        other = (other + 1) % ranks;
    }
}

TEST_P(Contradictions, OfJoinedAndLocalArraysAreFoundByTheirDimensions)
{
    const Put joined{Type::float64, ShapeKind::joined_array, {joined_dimension, 2}};
    expect_told(write(1, 1, joined, {Type::float64, ShapeKind::joined_array, {joined_dimension, 3}}),
                {"'x'", "step 1", "rank 1", "{0, 2} (0: joined)", "{0, 3}"});
    expect_steps(1);
    const Put local{Type::float64, ShapeKind::local_array, {1, 1}};
    expect_told(write(0, 2, local, {Type::float64, ShapeKind::local_array, {1}}),
                {"'x'", "step 0", "rank 2", "1 dimensions", "2 dimensions"});
    expect_steps(0);
}

TEST_P(Contradictions, OfWhatWasToldBeforeTheFirstStepAreFound)
{
    const Put array{Type::float64, ShapeKind::global_array, {4}};
    const Put local{Type::float64, ShapeKind::local_array, {1, 1}};
    expect_told(write(0, 1, array, {Type::float64, ShapeKind::global_array, {5}}, true),
                {"'x'", "step 0", "rank 1", "{4}", "{5}"});
    expect_steps(0);
    expect_told(write(0, 0, array, {Type::int32, ShapeKind::global_array, {4}}, true), {"'x'", "int32"});
    expect_steps(0);
    expect_told(write(0, 2, local, {Type::float64, ShapeKind::local_array, {1}}, true),
                {"'x'", "1 dimensions", "2 dimensions"});
    expect_steps(0);
}

// In the first step the ranks have nothing to learn from each other: one says the beginning of what the
// others say. Later the one that said less says the rest, otherwise.
TEST_P(Contradictions, OfWhatOnlyOthersSaidBeforeAreFound)
{
    for (const int less : {0, 1, 2}) {
        std::vector<std::string> told(ranks);
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            const int rank = communicator->rank();
            Writer writer(location, options_of(GetParam()), communicator);
            const double value = 1;
            writer.begin_step();
            put_good(writer, rank);
            if (rank != less)
                writer.put_value(writer.define("y", Type::float64, ShapeKind::global_value), &value);
            writer.end_step();
            communicator->max(0); // all have said it
            writer.begin_step();
            put_good(writer, rank);
            if (rank == less)
                writer.put_value(writer.define("y", Type::int64, ShapeKind::global_value), &value);
            std::string& text = told[static_cast<std::size_t>(rank)];
            try {
                writer.end_step();
            } catch (const Error& error) {
                text = error.what();
            }
            try {
                writer.close();
            } catch (const Error& error) { // who has ended a step that is not kept
                text += error.what();
            }
        });
        expect_told({told[static_cast<std::size_t>(less)]}, {"'y'", "int64", "float64"});
        expect_steps(1);
    }
}

TEST_P(Contradictions, DoNotKeepTheStreamFromBeingAppendedTo)
{
    const Put array{Type::float64, ShapeKind::global_array, {4}};
    write(2, 2, array, {Type::int8, ShapeKind::global_array, {4}});
    expect_steps(2);
    run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
        WriterOptions options;
        options.append = true;
        Writer writer(location, options, communicator);
        EXPECT_EQ(writer.begin_step(), 2u);
        put_good(writer, communicator->rank());
        put_x(writer, array);
        writer.end_step();
        writer.close();
    });
    expect_steps(3);
}

// Shapes that all ranks change together, variables that only some have, or that come later: no contradiction.
TEST_P(Contradictions, AreNotSeenWhereRanksAgree)
{
    run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
        const int rank = communicator->rank();
        Writer writer(location, options_of(GetParam()), communicator);
        for (std::uint64_t step = 0; step < 12; ++step) {
            writer.begin_step();
            put_good(writer, rank);
            if (step % 3 != 1) put_x(writer, {Type::float64, ShapeKind::global_array, {4 + step / 2 % 2, 8}});
            const double value = rank;
            const auto own = writer.define("own" + std::to_string(rank) + "-" + std::to_string(step / 4),
                                           Type::float64, ShapeKind::local_value);
            if (step % 4 != static_cast<std::uint64_t>(rank)) writer.put_value(own, &value);
            if (rank == 1) {
                const VariableId lone = writer.define("lone", Type::float64, ShapeKind::global_array);
                writer.put(lone, Dims{step + 1}, Dims{step}, Dims{1}, &value, Mode::sync);
            }
            writer.end_step();
            if (rank == 2 && step == 5) usleep(150000); // the others are ahead of it, where they may be
        }
        writer.close();
    });
    expect_steps(12);
}

TEST_P(Contradictions, CostNothingInStepsThatBringNothingNew)
{
    const Put x{Type::float64, ShapeKind::global_array, {4, 8}};
    const auto requests = [&](int steps, const std::vector<Claim>& told) {
        std::uint64_t sum = 0;
        std::mutex mutex;
        run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
            Writer writer(location, options_of(GetParam()), communicator);
            writer.agree(told);
            for (int step = 0; step < steps; ++step) {
                writer.begin_step();
                put_good(writer, communicator->rank());
                put_x(writer, x);
                writer.end_step();
            }
            const std::string profile = writer.profile_json();
            writer.close();
            constexpr std::string_view name = "\"metadata_requests\":";
            const std::lock_guard lock(mutex);
            sum += std::stoull(profile.substr(profile.find(name) + name.size()));
        });
        return sum;
    };
    // A rank's metadata, and rank 0's sizes or files.
    const Design& design = designs.at(GetParam());
    const std::uint64_t of_snapshots = design.step_mode == StepMode::snapshot ? 2 : 0; // it, and its epoch
    const std::uint64_t per_step =
        design.layout == "posix" ? 3 : ranks + (design.layout == "array" ? 1 : 0) + of_snapshots;
    const std::uint64_t reaches = design.objects == Objects::per_step ? 2 * ranks : 0; // at steps 17 and 34
    const std::uint64_t few = requests(5, {}), many = requests(45, {});
    EXPECT_LE(many - few,
              40 * per_step + 2 * ranks +
                  reaches); // in the first step the ranks may be faster than each other
    // Told before, nothing has to be compared in the first step: one entry, and a look of each rank.
    const Claim good{{"good", Type::float64, ShapeKind::global_array, nullptr}, {ranks}};
    EXPECT_LE(requests(5, {claim_of(x), good}) + ranks + 1, few);
    EXPECT_GT(requests(5, {claim_of(x)}), requests(5, {claim_of(x), good})) << "one of both is compared";
}

// What one rank changes and another one does not, readers find: no rank has anything new to say to the other.
TEST_P(Contradictions, OfOneSidedChangesAreFoundByReaders)
{
    run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
        Writer writer(location, options_of(GetParam()), communicator);
        for (std::uint64_t step = 0; step < 2; ++step) {
            writer.begin_step();
            put_good(writer, communicator->rank());
            put_x(writer,
                  {Type::float64, ShapeKind::global_array, {communicator->rank() == 1 ? 4 + step : 4}});
            writer.end_step();
        }
        writer.close();
    });
    expect_steps(2);
    ReaderOptions options;
    options.mode = ReadMode::random_access;
    Reader reader(location, options, self_communicator());
    double values[4] = {};
    reader.get(*reader.find("x"), Dims{0}, Dims{4}, values, Mode::sync, 0);
    try {
        reader.get(*reader.find("x"), Dims{0}, Dims{4}, values, Mode::sync, 1);
        ADD_FAILURE() << "a shape that ranks gave differently was read";
    } catch (const Error& error) {
        expect_told({error.what()}, {"'x'", "step 1", "rank 1", "{5}", "{4}"});
    }
}

// Within a step of one rank the last put's shape counts. Then what lies outside of it is no block of the
// step.
TEST_P(Contradictions, TheLastShapeOfAStepCounts)
{
    const std::vector<double> values(8, 1.5);
    const auto put = [&](Writer& writer, std::uint64_t shape, std::uint64_t start) {
        const VariableId x = writer.define("x", Type::float64, ShapeKind::global_array);
        writer.put(x, Dims{shape}, Dims{start}, Dims{4}, values.data(), Mode::sync);
    };
    Writer writer(location, options_of(GetParam()), self_communicator());
    for (int step = 0; step < 2; ++step) {
        writer.begin_step();
        put(writer, 4, 0);
        put(writer, 8, 4);
        writer.end_step();
    }
    {
        Reader reader(location, {}, self_communicator());
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        const VariableId x = reader.find("x").value();
        EXPECT_EQ(reader.shape(x), Dims{8});
        EXPECT_EQ(reader.blocks(x).size(), 2U);
        std::vector<double> got(8);
        reader.get(x, Dims{0}, Dims{8}, got.data(), Mode::sync);
        EXPECT_EQ(got, values);
    }
    writer.begin_step();
    put(writer, 8, 4);
    put(writer, 4, 0);
    try {
        writer.end_step();
        ADD_FAILURE() << "a block outside of the step's shape was stored";
    } catch (const Error& error) {
        expect_told({error.what()}, {"'x'", "step 2", "start {4}", "shape {4}"});
    }
    writer.close();
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.steps(), 2U);
}

// A block that lies outside of the shape at its put is one of the step if the shape grows until end_step.
TEST_P(Contradictions, AShapeMayGrowBehindThePut)
{
    const std::vector<double> values(4, 1.5);
    Dims shape = {8};
    const auto shape_now = [&](VariableId) { return DimsView(shape); };
    Writer writer(location, options_of(GetParam()), self_communicator());
    const VariableId x = writer.define("x", Type::float64, ShapeKind::global_array);
    const auto put = [&](std::uint64_t start) {
        writer.put(x, Dims{4}, Dims{start}, Dims{4}, values.data(), Mode::sync);
    };
    writer.begin_step();
    EXPECT_THROW(put(4), Error);
    writer.reshapable(x);
    put(0);
    put(4);
    writer.end_step(shape_now);
    for (int again = 0; again < 2; ++again) {
        writer.begin_step();
        put(4);
        writer.end_step(shape_now);
    }
    writer.begin_step();
    put(4);
    put(0);
    shape = {}; // that of the last put
    try {
        writer.end_step(shape_now);
        ADD_FAILURE() << "a block outside of the step's shape was stored";
    } catch (const Error& error) {
        expect_told({error.what()}, {"'x'", "step 3", "start {4}", "shape {4}"});
    }
    writer.close();
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.steps(), 3U);
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    EXPECT_EQ(reader.shape(reader.find("x").value()), Dims{8});
    std::vector<double> got(8);
    reader.get(reader.find("x").value(), Dims{0}, Dims{8}, got.data(), Mode::sync);
    EXPECT_EQ(got, std::vector<double>(8, 1.5));
}

// What end_step is told counts more than the puts, also in a step that puts as the one before.
TEST_P(Contradictions, TheShapeThatEndStepIsToldCounts)
{
    const std::vector<double> values(4, 1.5);
    std::vector<Dims> shapes = {{6}, {6}, {9}, {}, {4}};
    Writer writer(location, options_of(GetParam()), self_communicator());
    const VariableId x = writer.define("x", Type::float64, ShapeKind::global_array);
    for (const Dims& shape : shapes) {
        writer.begin_step();
        writer.put(x, Dims{5}, Dims{0}, Dims{4}, values.data(), Mode::sync);
        writer.end_step([&](VariableId of) { return of == x ? DimsView(shape) : DimsView(); });
    }
    shapes[3] = {5}; // that of the put
    writer.begin_step();
    writer.put(x, Dims{5}, Dims{1}, Dims{4}, values.data(), Mode::sync);
    try {
        const Dims too_small = {4};
        writer.end_step([&](VariableId) { return DimsView(too_small); });
        ADD_FAILURE() << "a block outside of the step's shape was stored";
    } catch (const Error& error) {
        expect_told({error.what()}, {"'x'", "step 5", "start {1}", "shape {4}"});
    }
    writer.close();
    Reader reader(location, {}, self_communicator());
    for (const Dims& shape : shapes) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        EXPECT_EQ(reader.shape(x), shape);
        reader.end_step();
    }
    EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Contradictions, ::testing::ValuesIn(all_designs), name_of_design);

} // namespace
} // namespace stepstore::steps::testing

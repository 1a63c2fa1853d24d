// Which steps have a variable, in a stream whose variables come and go.
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "support/location.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

constexpr int ranks = 2;
constexpr std::uint64_t variables = 6;

// Whether a rank puts a variable in a step: one always, one never on rank 0, some now and then, in phases, or
// late.
bool puts(std::uint64_t variable, std::uint64_t step, int rank)
{
    std::mt19937_64 random(variable * 1000 + step * 2 + static_cast<std::uint64_t>(rank));
    switch (variable) {
    case 0: return true;
    case 1: return rank == 1 && step % 7 == 3;
    case 2: return random() % 3 == 0;
    case 3: return step / 20 % 2 == 1;
    case 4: return step >= 90;
    default: return step == 0;
    }
}

std::vector<std::uint64_t> expected(std::uint64_t variable, std::uint64_t steps)
{
    std::vector<std::uint64_t> found;
    for (std::uint64_t step = 0; step < steps; ++step)
        if (puts(variable, step, 0) || puts(variable, step, 1)) found.push_back(step);
    return found;
}

std::string name_of(std::uint64_t variable)
{
    return "v" + std::to_string(variable);
}

void expect_all(const Reader& reader, std::uint64_t steps)
{
    for (std::uint64_t variable = 0; variable < variables; ++variable) {
        const auto wanted = expected(variable, steps);
        const auto id = reader.find(name_of(variable));
        ASSERT_EQ(id.has_value(), !wanted.empty()) << name_of(variable);
        if (!id) continue;
        EXPECT_EQ(reader.available_steps(*id), wanted) << name_of(variable);
        EXPECT_EQ(reader.available_count(*id), wanted.size());
        for (std::uint64_t index = 0; index < wanted.size(); ++index)
            ASSERT_EQ(reader.available_step(*id, index), wanted[index]) << name_of(variable) << " " << index;
        EXPECT_EQ(reader.available_step(*id, wanted.size()), std::nullopt);
    }
}

TEST(Availability, IsThatOfAllRanksAndGrowsWithTheStream)
{
    const TemporaryDirectory directory;
    const std::string location = stepstore::testing::new_stream(directory);
    run_ranks(ranks, [&](std::shared_ptr<Communicator> communicator) {
        WriterOptions options;
        options.targets = 2;
        Writer writer(location, options, communicator);
        std::optional<Reader> reader; // on rank 0, of the stream while it grows
        const double value = 1;
        for (std::uint64_t step = 0; step < 150; ++step) {
            writer.begin_step();
            for (std::uint64_t variable = 0; variable < variables; ++variable) {
                if (!puts(variable, step, communicator->rank())) continue;
                const std::uint64_t shape[] = {ranks}, count[] = {1};
                const std::uint64_t start[] = {static_cast<std::uint64_t>(communicator->rank())};
                writer.put(writer.define(name_of(variable), Type::float64, ShapeKind::global_array), shape,
                           start, count, &value);
            }
            writer.end_step();
            communicator->barrier();
            if (communicator->rank() == 0 && (step == 100 || step == 120)) {
                ReaderOptions random;
                random.mode = ReadMode::random_access;
                if (!reader) reader.emplace(location, random, self_communicator());
                expect_all(*reader, step + 1);
            }
            communicator->barrier();
        }
        writer.close();
        if (reader) expect_all(*reader, 150);
    });
}

TEST(Availability, IsNotForStreams)
{
    const TemporaryDirectory directory;
    const std::string location = stepstore::testing::new_stream(directory);
    Writer writer(location, {}, self_communicator());
    writer.begin_step();
    const int value = 1;
    writer.put_value(writer.define("n", Type::int32, ShapeKind::global_value), &value);
    writer.end_step();
    writer.close();
    Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    try {
        (void)reader.available_count(*reader.find("n"));
        FAIL() << "a reader of a stream knows its step only";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_INVAL);
    }
}

} // namespace
} // namespace stepstore::steps::testing

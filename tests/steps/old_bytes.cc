// Streams in a pool in files, on a machine that has old bytes of them: only bytes that stay wrong are
// damaged. For every layout, with blocks as they were put and with compressed ones; for readers and for the
// check.
#include "support/old_bytes.h"
#include "steps/check/check.h"
#include "steps/model.h"
#include "support/errors.h"
#include "support/report.h"

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::TemporaryDirectory;

class OldBytesOfSteps : public ::testing::TestWithParam<std::string> {
protected:
    void write(CompressionMethod method)
    {
        Writer writer(location, options_of(GetParam()), self_communicator());
        const auto plain = writer.define("plain", Type::float64, ShapeKind::global_array);
        const auto packed = writer.define("packed", Type::float64, ShapeKind::global_array);
        writer.compress(packed, {method, 0});
        for (std::uint64_t step = 0; step < steps; ++step) {
            const auto values = content(step);
            writer.begin_step();
            for (const auto id : {plain, packed})
                writer.put(id, Dims{count}, Dims{0}, Dims{count}, values.data());
            writer.end_step();
        }
        writer.close();
    }
    static std::vector<double> content(std::uint64_t step)
    {
        std::vector<double> values(count);
        std::iota(values.begin(), values.end(), static_cast<double>(step));
        return values;
    }
    void read_all() const
    {
        ReaderOptions random;
        random.mode = ReadMode::random_access;
        Reader reader(location, random, self_communicator());
        for (std::uint64_t step = 0; step < steps; ++step) {
            for (const char* name : {"plain", "packed"}) {
                const auto id = reader.find(name);
                if (!id) throw Error(-DER_CSUM, "there is no variable");
                std::vector<double> whole(count), part(100);
                reader.get(*id, Dims{0}, Dims{count}, whole.data(), Mode::sync, step);
                EXPECT_TRUE(whole == content(step)) << name << " of step " << step;
                reader.get(*id, Dims{5'000}, Dims{100}, part.data(), Mode::sync, step);
                EXPECT_EQ(part[7], static_cast<double>(step + 5'007));
            }
        }
    }

    static constexpr std::uint64_t steps = 2, count = 20'000;
    const TemporaryDirectory directory;
    const std::string pool = directory / "pool", location = "shared:" + pool;
    stepstore::testing::OldBytes old;
};

TEST_P(OldBytesOfSteps, AreReadAgainBeforeTheyAreCalledDamaged)
{
    write(compression_method_named(compression_method_names().back()));
    bool checks = false;
    const auto read = [&] {
        checks = !checks;
        return stepstore::testing::code_of([&] {
            if (!checks) return read_all();
            const StreamReport report = check_streams(location, true);
            if (report.damaged()) throw Error(-DER_CSUM, "the check found damage");
        });
    };
    stepstore::testing::expect_second_looks(old, pool, 15, 8, read);
}

INSTANTIATE_TEST_SUITE_P(Layouts, OldBytesOfSteps, ::testing::ValuesIn([] {
                             std::vector<std::string> names = WriterOptions::choices("Layout");
                             names.push_back(names.front() + "-aggregated");
                             return names;
                         }()),
                         name_of_design);

} // namespace
} // namespace stepstore::steps::testing

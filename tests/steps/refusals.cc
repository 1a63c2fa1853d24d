// What a program does wrong gets an error that names the variable and the step, and costs nothing that was
// stored.
#include "steps/model.h"
#include "support/temporary.h"

#include <functional>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::TemporaryDirectory;

void expect_refused(const std::function<void()>& work, int code, std::initializer_list<const char*> named)
{
    try {
        work();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        for (const char* part : named)
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

class Refusals : public ::testing::Test {
protected:
    TemporaryDirectory directory;
    std::string location = directory / "pool";
};

TEST_F(Refusals, OfAWriterNameVariableAndStepAndLeaveItUsable)
{
    Writer writer(location, options_of("array-aligned"), self_communicator());
    const double data[4] = {1, 2, 3, 4};
    const auto x = writer.define("x", Type::float64, ShapeKind::global_array);
    const auto n = writer.define("n", Type::int32, ShapeKind::global_value);
    expect_refused([&] { writer.put(x, Dims{4}, Dims{0}, Dims{4}, data); }, -DER_INVAL, {"begin_step"});
    expect_refused([&] { writer.end_step(); }, -DER_INVAL, {"begin_step"});
    writer.begin_step();
    expect_refused([&] { writer.begin_step(); }, -DER_INVAL, {"step 0"});
    expect_refused([&] { writer.put(x, Dims{4}, Dims{1}, Dims{4}, data); }, -DER_INVAL,
                   {"'x'", "step 0", "{4}"});
    expect_refused([&] { writer.put(x, Dims{4}, Dims{UINT64_MAX}, Dims{4}, data); }, -DER_INVAL, {"'x'"});
    expect_refused([&] { writer.put(x, Dims{4}, Dims{0, 0}, Dims{2, 2}, data); }, -DER_INVAL, {"'x'"});
    expect_refused([&] { writer.put(x, Dims{}, Dims{}, Dims{}, data); }, -DER_INVAL, {"'x'", "dimensions"});
    expect_refused([&] { writer.put(x, Dims{4}, Dims{0}, Dims{4}, nullptr); }, -DER_INVAL, {"'x'", "null"});
    expect_refused([&] { writer.put(n, Dims{4}, Dims{0}, Dims{4}, data); }, -DER_INVAL, {"'n'"});
    expect_refused([&] { writer.put_value(x, data); }, -DER_INVAL, {"'x'"});
    expect_refused([&] { writer.put_string(n, "text"); }, -DER_INVAL, {"'n'", "int32"});
    expect_refused([&] { writer.define("x", Type::int8, ShapeKind::global_array); }, -DER_INVAL,
                   {"'x'", "float64", "int8"});
    expect_refused([&] { writer.put(77, Dims{4}, Dims{0}, Dims{4}, data); }, -DER_INVAL, {"77"});
    expect_refused([&] { writer.attribute("", Type::float64, data, 1); }, -DER_INVAL, {"name"});
    const std::uint64_t huge = 1ull << 40;
    expect_refused([&] { writer.put(x, Dims{huge, huge}, Dims{0, 0}, Dims{huge, huge}, data); },
                   -DER_OVERFLOW, {});
    writer.put(x, Dims{4}, Dims{0}, Dims{4}, data);
    writer.end_step();
    writer.close();
    writer.close();
    expect_refused([&] { writer.begin_step(); }, -DER_INVAL, {"closed"});

    Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    EXPECT_EQ(reader.block_count(*reader.find("x")), 1u);
    double read[4] = {};
    reader.get(*reader.find("x"), Dims{0}, Dims{4}, read, Mode::sync);
    EXPECT_EQ(read[3], 4);
}

TEST_F(Refusals, OfAReaderNameVariableAndStep)
{
    {
        Writer writer(location, options_of("kv"), self_communicator());
        const double data[4] = {1, 2, 3, 4};
        writer.begin_step();
        writer.put(writer.define("x", Type::float64, ShapeKind::global_array), Dims{4}, Dims{0}, Dims{4},
                   data);
        writer.put(writer.define("local", Type::float64, ShapeKind::local_array), {}, {}, Dims{4}, data);
        writer.put_string(writer.define("s", Type::string, ShapeKind::global_value), "text");
        writer.end_step();
        writer.begin_step();
        writer.put_value(writer.define("later", Type::float64, ShapeKind::global_value), data);
        writer.end_step();
        writer.close();
    }
    Reader reader(location, {}, self_communicator());
    double memory[4] = {-1, -1, -1, -1};
    expect_refused([&] { reader.variables(); }, -DER_INVAL, {"begin_step"});
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    const auto x = *reader.find("x"), local = *reader.find("local"), s = *reader.find("s");
    EXPECT_EQ(reader.find("nothing"), std::nullopt);
    expect_refused([&] { reader.get(x, Dims{1}, Dims{4}, memory); }, -DER_INVAL, {"'x'", "step 0", "{4}"});
    expect_refused([&] { reader.get(x, Dims{UINT64_MAX}, Dims{2}, memory); }, -DER_INVAL, {"'x'"});
    expect_refused([&] { reader.get(x, Dims{0, 0}, Dims{1, 1}, memory); }, -DER_INVAL, {"'x'", "dimensions"});
    expect_refused([&] { reader.get(x, Dims{0}, Dims{4}, nullptr); }, -DER_INVAL, {"'x'", "null"});
    expect_refused([&] { reader.get(local, Dims{0}, Dims{4}, memory); }, -DER_INVAL,
                   {"'local'", "get_block"});
    expect_refused([&] { reader.get(s, Dims{0}, Dims{1}, memory); }, -DER_INVAL, {"'s'"});
    expect_refused([&] { reader.get_value(x, memory); }, -DER_INVAL, {"'x'"});
    expect_refused([&] { reader.get_value(s, memory); }, -DER_INVAL, {"'s'"});
    expect_refused([&] { reader.get_string(x); }, -DER_INVAL, {"'x'"});
    expect_refused([&] { reader.get_block(local, 1, {}, {}, memory); }, -DER_INVAL, {"'local'", "block 1"});
    expect_refused([&] { reader.get_block(local, 0, Dims{3}, Dims{2}, memory); }, -DER_INVAL,
                   {"'local'", "outside"});
    expect_refused([&] { reader.shape(99); }, -DER_INVAL, {"99"});
    expect_refused([&] { reader.variables(1); }, -DER_INVAL, {"step 1"});
    EXPECT_EQ(memory[0], -1);
    expect_refused([&] { reader.begin_step(0); }, -DER_INVAL, {"step 0"});
    reader.end_step();
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    expect_refused([&] { reader.get(x, Dims{0}, Dims{1}, memory); }, -DER_NONEXIST, {"'x'", "step 1"});
    EXPECT_TRUE(reader.has(*reader.find("later")));
    reader.end_step();
    reader.close();
    expect_refused([&] { reader.begin_step(0); }, -DER_INVAL, {"closed"});
}

} // namespace
} // namespace stepstore::steps::testing

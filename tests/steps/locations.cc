// Where streams live: the grammar of locations, what is made, what is refused, replacement.
#include "steps/model.h"
#include "steps/stream/stream.h"
#include "steps/stream/stream_list.h"
#include "stepstore/administration.h"
#include "stepstore/client.h"
#include "support/errors.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <algorithm>
#include <filesystem>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::message_of;
using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

void write_one_step(const std::string& location, std::uint64_t value, const std::string& layout = "kv")
{
    Writer writer(location, options_of(layout), self_communicator());
    writer.begin_step();
    writer.put_value(writer.define("value", Type::uint64, ShapeKind::global_value), &value);
    writer.end_step();
    writer.close();
}

// Those of streams.
std::size_t objects_in(const std::string& pool, const std::string& label)
{
    const Container container = Pool::connect(pool).open_container(label);
    const auto ours = static_cast<std::uint32_t>(stream_object_id(container, 0).hi);
    return static_cast<std::size_t>(
        std::ranges::count(list_objects(container, false), ours, [](const ObjectInfo& object) {
            return static_cast<std::uint32_t>(object.id.hi);
        }));
}

std::uint64_t value_in(const std::string& location)
{
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.begin_step(0), StepStatus::ok);
    std::uint64_t value = 0;
    reader.get_value(reader.find("value").value(), &value);
    return value;
}

class Locations : public ::testing::Test {
protected:
    TemporaryDirectory directory;
};

TEST_F(Locations, AWriterMakesPoolContainerAndStream)
{
    const std::string pool = directory / "out/of/nothing";
    write_one_step(pool, 1);
    EXPECT_EQ(value_in(pool), 1u);
    EXPECT_EQ(value_in("local:" + pool), 1u);
    EXPECT_EQ(value_in(pool + "/default/main"), 1u);
    write_one_step(pool + "/run7", 2);
    write_one_step(pool + "/run7/fields/high", 3);
    EXPECT_EQ(value_in(pool + "/run7"), 2u);
    EXPECT_EQ(value_in(pool + "//run7/main/"), 2u);
    EXPECT_EQ(value_in("stepstore://" + pool + "/run7"), 2u);
    EXPECT_EQ(value_in(pool + "/run7/fields/high"), 3u);
    EXPECT_EQ(list_streams(pool + "/run7"), (std::vector<std::string>{"fields/high", "main"}));
    const Location location = resolve_location(pool + "/run7/fields/high");
    EXPECT_EQ(location.pool, pool);
    EXPECT_EQ(location.container, "run7");
    EXPECT_EQ(location.stream, "fields/high");
}

TEST_F(Locations, LabelsLiveUnderTheRootDirectory)
{
    const char* before = std::getenv("STEPSTORE_ROOT");
    const std::string saved = before ? before : "";
    setenv("STEPSTORE_ROOT", (directory / "root").c_str(), 1);
    write_one_step("local:weather", 4);
    EXPECT_EQ(value_in("local:weather"), 4u);
    EXPECT_EQ(value_in("local:weather/default"), 4u);
    EXPECT_EQ(resolve_location("local:weather/default/main").pool, "local:weather");
    EXPECT_TRUE(std::filesystem::exists(directory / "root/weather"));
    // A bare name is a directory here, whatever label is the same: no run writes over a pool elsewhere.
    const auto before_that = std::filesystem::current_path();
    std::filesystem::current_path(directory.path());
    EXPECT_FALSE(resolve_location("weather").pool_exists);
    write_one_step("weather", 5);
    EXPECT_EQ(value_in("weather"), 5u);
    EXPECT_EQ(value_in("local:weather/default"), 4u);
    EXPECT_EQ(value_in("local:" + std::string(directory / "root/weather")), 4u);
    EXPECT_EQ(value_in("local:./weather"), 5u);
    std::filesystem::remove_all(directory / "weather");
    const std::string missing = message_of([&] { value_in("weather/default"); }, -DER_NONEXIST);
    EXPECT_NE(missing.find("local:weather"), std::string::npos) << missing;
    std::filesystem::current_path(before_that);
    if (before)
        setenv("STEPSTORE_ROOT", saved.c_str(), 1);
    else
        unsetenv("STEPSTORE_ROOT");
}

TEST_F(Locations, ABareNameIsADirectoryAsForFiles)
{
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(directory.path());
    write_one_step("bare", 6);
    EXPECT_EQ(value_in("bare"), 6u);
    EXPECT_EQ(value_in("bare/default/main"), 6u);
    std::filesystem::current_path(before);
    EXPECT_EQ(value_in(directory / "bare"), 6u);
}

TEST_F(Locations, AReaderIsToldWhichPartIsMissing)
{
    const std::string pool = directory / "pool";
    EXPECT_NE(message_of([&] { value_in(pool); }, -DER_NONEXIST).find("no pool"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(pool)) << "reading must make nothing";
    write_one_step(pool + "x/made", 1);
    std::filesystem::rename(pool + "x/made", pool);
    const std::string container = message_of([&] { value_in(pool + "/nowhere"); }, -DER_NONEXIST);
    EXPECT_NE(container.find("'nowhere'"), std::string::npos) << container;
    EXPECT_NE(container.find("default"), std::string::npos) << container;
    const std::string stream = message_of([&] { value_in(pool + "/default/other"); }, -DER_NONEXIST);
    EXPECT_NE(stream.find("'other'"), std::string::npos) << stream;
    EXPECT_NE(stream.find("main"), std::string::npos) << stream;
}

TEST_F(Locations, BadLocationsAreRefusedOnEveryRank)
{
    const std::string pool = directory / "pool";
    write_one_step(pool, 1);
    for (const std::string& bad :
         {std::string(), pool + "/a/../b", pool + "/a/./b", std::string("daos://"),
          std::string("daos://pool"), std::string("s3://bucket/run"), pool + "/" + std::string(200, 'c'),
          pool + "/c/" + std::string(2000, 's')}) {
        run_ranks(3, [&](std::shared_ptr<Communicator> communicator) {
            EXPECT_THROW(Writer(bad, options_of("kv"), communicator), Error) << bad;
            EXPECT_THROW(Reader(bad, {}, communicator), Error) << bad;
        });
    }
    run_ranks(2, [&](std::shared_ptr<Communicator> communicator) { // options that only one rank has wrong
        WriterOptions options = options_of("kv");
        if (communicator->rank() == 1) options.layout = "columns";
        message_of([&] { Writer(pool, options, communicator); }, -DER_INVAL);
    });
    EXPECT_EQ(value_in(pool), 1u);
    EXPECT_FALSE(std::filesystem::exists("s3:")) << "of a scheme that is not known nothing is made";
}

// A reader that comes while the pool is being made waits for it, whatever it has seen of it.
TEST_F(Locations, APoolThatWasMadeMeanwhileIsNotInTheWay)
{
    for (const char* const form : {"", "shared:"}) {
        const std::string path = directory / (std::string("later") + (*form == 0 ? "" : " in files"));
        const Location found = resolve_location(form + path);
        ASSERT_FALSE(found.pool_exists);
        Pool::create(form + path);
        EXPECT_NO_THROW(require_place_for_pool(found, path));
        EXPECT_EQ(stepstore::testing::error_of([&] { require_pool(found, path); }).code(), -DER_NONEXIST);
    }
}

TEST_F(Locations, AFileInTheWayIsAnErrorThatNamesIt)
{
    const std::string path = directory / "file";
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::fputs("something", file);
    std::fclose(file);
    try {
        write_one_step(path, 1);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
    EXPECT_EQ(std::filesystem::file_size(path), 9u);
}

TEST_F(Locations, AReaderCanWaitForTheStreamToAppear)
{
    const std::string pool = directory / "pool";
    run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
        if (communicator->rank() == 0) {
            ReaderOptions options;
            options.open_timeout = 30;
            Reader reader(pool, options, self_communicator());
            EXPECT_EQ(reader.begin_step(30), StepStatus::ok);
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            write_one_step(pool, 5);
        }
    });
}

TEST_F(Locations, WritersThatRaceMakeOnePool)
{
    const std::string pool = directory / "pool";
    run_ranks(6, [&](std::shared_ptr<Communicator> communicator) {
        const auto rank = static_cast<std::uint64_t>(communicator->rank());
        write_one_step(pool + "/default/run" + std::to_string(rank), rank);
    });
    for (std::uint64_t rank = 0; rank < 6; ++rank)
        EXPECT_EQ(value_in(pool + "/default/run" + std::to_string(rank)), rank);
}

TEST_F(Locations, ANewerStreamIsRefusedAndNotReplaced)
{
    const std::string pool = directory / "pool";
    write_one_step(pool, 1);
    {
        const Pool opened = Pool::connect(pool);
        const Container container = opened.open_container("default");
        KeyValue list = container.key_value(stream_list_id(container));
        std::vector<std::byte> record = list.get("main").value();
        store_little<std::uint32_t>(record.data() + 4, 9);
        store_little<std::uint32_t>(record.data() + 8, 9);
        list.put("main", record);
    }
    EXPECT_NE(message_of([&] { value_in(pool); }, -DER_DF_INCOMPT).find("newer Stepstore"),
              std::string::npos);
    message_of([&] { write_one_step(pool, 2); }, -DER_DF_INCOMPT);
    run_ranks(3, [&](std::shared_ptr<Communicator> communicator) {
        message_of([&] { Reader reader(pool, {}, communicator); }, -DER_DF_INCOMPT);
    });
    write_one_step(pool + "/default/other", 3);
    EXPECT_EQ(value_in(pool + "/default/other"), 3u);
}

TEST_F(Locations, RemovedStreamsLeaveNoObjects)
{
    for (const std::string& layout : all_designs) {
        const std::string stream = directory / "pool/runs/" + layout;
        const std::string text = directory / "pool";
        write_one_step(text, 1);
        write_one_step(stream, 1, layout);
        const std::size_t once = objects_in(text, "runs");
        EXPECT_GT(once, 0u) << layout;
        write_one_step(stream, 2, layout);
        EXPECT_EQ(objects_in(text, "runs"), once) << layout; // those of the stream before are gone
        remove_stream(stream);
        EXPECT_EQ(objects_in(text, "runs"), 0u) << layout;
        message_of([&] { value_in(stream); }, -DER_NONEXIST);
        message_of([&] { remove_stream(stream); }, -DER_NONEXIST);
    }
}

// A reader of the old stream gets its data whole, or is told; never something else.
class Replacement : public ::testing::TestWithParam<std::string> {};

TEST_P(Replacement, AReaderOfTheOldStreamIsToldAndNeverGetsTornData)
{
    const TemporaryDirectory directory;
    const std::string pool = directory / "pool";
    const auto write = [&](double value) {
        Writer writer(pool, options_of(GetParam()), self_communicator());
        const auto id = writer.define("field", Type::float64, ShapeKind::global_array);
        const std::vector<double> cells(20000, value);
        for (int step = 0; step < 3; ++step) {
            writer.begin_step();
            writer.put(id, Dims{20000}, Dims{0}, Dims{20000}, cells.data());
            writer.end_step();
        }
        writer.close();
    };
    write(1);
    ReaderOptions options;
    options.read_ahead = 0;
    double current = 1;
    { // replaced within a step, and between two
        std::vector<double> cells(20000, -1);
        Reader in_step(pool, options, self_communicator()), between(pool, options, self_communicator());
        ASSERT_EQ(in_step.begin_step(0), StepStatus::ok);
        ASSERT_EQ(between.begin_step(0), StepStatus::ok);
        between.end_step();
        write(++current);
        in_step.get(*in_step.find("field"), Dims{0}, Dims{20000}, cells.data());
        message_of([&] { in_step.end_step(); }, -DER_STALE);
        if (GetParam() == "posix") { // files that are open live on; their data is checked as above
            EXPECT_EQ(between.begin_step(0), StepStatus::ok);
        } else {
            message_of([&] { between.begin_step(0); }, -DER_STALE);
            message_of([&] { between.begin_step(0); }, -DER_STALE);
        }
    }
    int told = 0, whole = 0; // and at any moment
    for (int round = 0; round < 30; ++round) {
        Reader reader(pool, options, self_communicator());
        std::thread replacing([&] { write(current + 1); });
        try {
            for (int step = 0; step < 3; ++step) {
                if (reader.begin_step(5) != StepStatus::ok) break;
                std::vector<double> cells(20000, -1);
                reader.get(*reader.find("field"), Dims{0}, Dims{20000}, cells.data());
                reader.end_step();
                // One whole stream: the old one, or the new one when the replacing was over before the reader
                // was made.
                for (const double cell : cells)
                    ASSERT_EQ(cell, current);
                ++whole;
            }
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_STALE) << error.what();
            ++told;
        }
        replacing.join();
        ++current;
        message_of(
            [&] { // the old stream is gone for good
                reader.close();
                Reader again(pool, options, self_communicator());
                ASSERT_EQ(again.begin_step(0), StepStatus::ok);
                throw Error(-1, "opened");
            },
            -1);
    }
    EXPECT_GE(whole + told, 30);
}

TEST_P(Replacement, AWriterWhoseStreamWasReplacedLearnsItWhenItCloses)
{
    const TemporaryDirectory directory;
    const std::string pool = directory / "pool";
    Writer first(pool, options_of(GetParam()), self_communicator());
    { // As a writer on another machine does that has heard nothing of it for long.
        const Container container = Pool::connect(pool).open_container("default");
        container.key_value(container.object_id(0, 0x53530003, ObjectType::key_value)).remove("main");
    }
    write_one_step(pool, 2, GetParam());
    const std::string text = message_of([&] { first.close(); }, -DER_STALE);
    EXPECT_NE(text.find("process"), std::string::npos) << text;
    EXPECT_EQ(value_in(pool), 2u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Replacement, ::testing::ValuesIn(all_designs), name_of_design);

} // namespace
} // namespace stepstore::steps::testing

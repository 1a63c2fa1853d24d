// What the steps cost: kept per rank and over the steps, in the stream and beside it. And their space.
#include "steps/profile/profile.h"
#include "steps/check/check.h"
#include "steps/model.h"
#include "steps/profile/profile_record.h"
#include "steps/stream/stream.h"
#include "support/location.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace stepstore::steps::testing {
namespace {

using nlohmann::json;
using stepstore::testing::new_stream;
using stepstore::testing::on_cluster;
using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;
namespace fs = std::filesystem;

TEST(ProfileRows, StayFewAndAddUp)
{
    Profile profile;
    constexpr std::uint64_t steps = 10007;
    for (std::uint64_t step = 0; step < steps; ++step) {
        profile.metadata_bytes += step;
        profile.encode += 0.5;
        ++profile.data_requests;
        profile.end_step(step);
    }
    EXPECT_EQ(profile.steps(), steps);
    EXPECT_LE(profile.rows().size(), Profile::most_rows);
    EXPECT_GE(profile.rows().size(), Profile::most_rows / 2);
    std::uint64_t next = 0;
    Costs sum;
    for (const Profile::Row& row : profile.rows()) {
        EXPECT_EQ(row.first, next);
        // Each row holds what its own steps cost.
        EXPECT_EQ(row.costs.metadata_bytes, (2 * row.first + row.steps - 1) * row.steps / 2);
        next += row.steps;
        sum.add(row.costs);
    }
    EXPECT_EQ(next, steps);
    EXPECT_EQ(sum.metadata_bytes, profile.metadata_bytes);
    EXPECT_EQ(sum.data_requests, steps);
    EXPECT_DOUBLE_EQ(sum.encode, profile.encode);
}

TEST(ProfileRows, OneRowPerStepInAShortRun)
{
    Profile profile;
    for (std::uint64_t step = 5; step < 15; ++step)
        profile.end_step(step);
    ASSERT_EQ(profile.rows().size(), 10u);
    EXPECT_EQ(profile.rows()[3].first, 8u);
    EXPECT_EQ(profile.rows()[3].steps, 1u);
}

// On the medium, with the pool, its directories and the profile.
std::uint64_t space_of(const std::string& pool)
{
    std::uint64_t bytes = 4096;
    for (const auto& entry : fs::recursive_directory_iterator(pool_path(pool))) {
        struct stat status {};
        if (::stat(entry.path().c_str(), &status) == 0)
            bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return bytes;
}

TEST(StreamSpace, OfManySmallStepsIsLittleMoreThanTheirs)
{
    constexpr std::size_t elements = 512;
    constexpr std::uint64_t steps = 100, most = 672 << 10; // BP5: 444 KiB
    const TemporaryDirectory directory;
    const std::string location = directory / "pool";
    WriterOptions options;
    options.targets = 4;
    Writer writer(location, options, self_communicator());
    const VariableId id = writer.define("U", Type::float64, ShapeKind::global_array);
    const std::vector<double> memory(elements, 1.5);
    const std::uint64_t shape[] = {elements}, start[] = {0};
    for (std::uint64_t step = 0; step < steps; ++step) {
        writer.begin_step();
        writer.put(id, shape, start, shape, memory.data());
        writer.end_step();
    }
    writer.close();
    EXPECT_LE(space_of(location), most);
}

class ProfileFile : public ::testing::Test {
protected:
    TemporaryDirectory directory;
    std::string pool = directory / "pool";
    Model model{3};

    void write(const std::string& location, bool profile = true)
    {
        run_ranks(model.ranks, [&](std::shared_ptr<Communicator> communicator) {
            WriterOptions options = options_of("array-aligned");
            options.profile = profile;
            Writer writer(location, options, communicator);
            for (int step = 0; step < 4; ++step)
                model.write_step(writer, communicator->rank());
            writer.close();
        });
    }

    void read(const std::string& location, bool profile)
    {
        run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
            ReaderOptions options;
            options.profile = profile;
            Reader reader(location, options, communicator);
            while (reader.begin_step(30) == StepStatus::ok) {
                model.check_step(reader, reader.current_step());
                reader.end_step();
            }
            reader.close();
        });
    }

    static json kept(const std::string& location)
    {
        return json::parse(Reader(location, {}, self_communicator()).writer_profile_json());
    }
};

TEST_F(ProfileFile, OfWritersIsInTheStreamAndBesideIt)
{
    write(pool);
    const json record = kept(pool);
    EXPECT_EQ(record["side"], "writers");
    ASSERT_EQ(record["ranks"].size(), 3u);
    for (const json& rank : record["ranks"]) {
        EXPECT_EQ(rank["steps"], 4);
        EXPECT_EQ(rank["rows"]["step"], json({0, 1, 2, 3}));
        EXPECT_EQ(rank["rows"]["metadata_bytes"].size(), 4u);
        EXPECT_FALSE(rank["rows"].contains("wait_seconds")); // which is 0
        EXPECT_GT(rank["metadata_bytes"], 0);
        EXPECT_GE(rank["metadata_requests"], 4);
    }
    std::uint64_t updates = 0, written = 0, metadata = 0;
    ASSERT_EQ(record["targets"].size(), options_of("array-aligned").targets);
    for (const json& target : record["targets"]) {
        updates += target["updates"].get<std::uint64_t>();
        written += target["bytes_written"].get<std::uint64_t>();
    }
    for (const json& rank : record["ranks"])
        metadata += rank["metadata_bytes"].get<std::uint64_t>();
    EXPECT_GE(updates, 12u);
    EXPECT_GE(written, metadata);
    const std::string path = pool + "/files/profiling.json";
    EXPECT_EQ(record["file"], "files/profiling.json");
    const json file = json::parse(read_profile_file(resolve_location(pool), ProfileSide::writers));
    EXPECT_EQ(file, record);
}

// However many blocks a rank puts in a step, small and large: they go to the store together.
TEST_F(ProfileFile, CountsOneRequestForAllDeferredBlocksOfAStep)
{
    constexpr std::size_t blocks = 300, elements = 100, large_elements = 40000;
    constexpr int steps = 3;
    {
        Writer writer(pool, options_of("array-aligned"), self_communicator());
        const std::vector<double> memory(blocks * elements + large_elements, 1.5);
        const std::uint64_t small[] = {elements}, large[] = {large_elements};
        std::vector<VariableId> ids;
        for (std::size_t i = 0; i < blocks; ++i)
            ids.push_back(writer.define("v" + std::to_string(i), Type::float64, ShapeKind::local_array));
        const VariableId large_id = writer.define("large", Type::float64, ShapeKind::local_array);
        for (int step = 0; step < steps; ++step) {
            writer.begin_step();
            for (std::size_t i = 0; i < blocks; ++i) {
                writer.put(ids[i], {}, {}, small, memory.data() + i * elements, Mode::deferred);
                if (i == blocks / 2)
                    writer.put(large_id, {}, {}, large, memory.data() + blocks * elements, Mode::deferred);
            }
            writer.end_step();
        }
        writer.close();
    }
    const json record = kept(pool);
    const json& rank = record["ranks"][0];
    EXPECT_EQ(rank["data_requests"], steps);
    EXPECT_EQ(rank["data_bytes"], steps * (blocks * elements + large_elements) * sizeof(double));
    EXPECT_EQ(rank["rows"]["data_requests"], json({1, 1, 1}));
    std::uint64_t updates = 0;
    for (const json& target : record["targets"])
        updates += target["updates"].get<std::uint64_t>();
    // A request is an update of each target that it touches. Beside them: metadata, and what opening and
    // closing cost.
    EXPECT_LT(updates, blocks / 5);
}

TEST_F(ProfileFile, OfAnotherStreamHasItsNameAndGoesWithIt)
{
    write(pool);
    write(pool + "/runs/a/b");
    const std::string path = pool + "/files/profiling/runs/a/b.json";
    EXPECT_TRUE(fs::exists(path));
    EXPECT_EQ(kept(pool + "/runs/a/b")["file"], "files/profiling/runs/a/b.json");
    remove_stream(pool + "/runs/a/b");
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(fs::exists(pool + "/files/profiling.json"));
    write(pool, false); // takes the stream's place, and its file with it
    EXPECT_FALSE(fs::exists(pool + "/files/profiling.json"));
    EXPECT_EQ(Reader(pool, {}, self_communicator()).writer_profile_json(), "");
    write(pool);
    Pool::destroy(pool);
    EXPECT_FALSE(fs::exists(pool));
}

// Also on a cluster, where a pool has no directory.
TEST_F(ProfileFile, OfReadersIsKeptWhenTheyAskForIt)
{
    const std::string location = new_stream(directory);
    const auto asked = [&] { return Reader(location, {}, self_communicator()).readers_profile_json(); };
    write(location);
    read(location, false);
    EXPECT_EQ(asked(), "");
    read(location, true);
    const json record = json::parse(asked());
    EXPECT_EQ(record["side"], "readers");
    ASSERT_EQ(record["ranks"].size(), 2u);
    EXPECT_EQ(record["ranks"][1]["steps"], 4);
    EXPECT_GT(record["ranks"][0]["read_seconds"], 0.0);
    EXPECT_GT(record["ranks"][0]["data_bytes"], 0);
    EXPECT_EQ(record.value("file", "none"), on_cluster() ? "none" : "files/profiling_readers.json");
    EXPECT_EQ(kept(location)["side"], "writers");
    EXPECT_TRUE(check_streams(location, true).findings.empty());
    write(location); // another stream takes its place
    EXPECT_EQ(asked(), "");
}

TEST_F(ProfileFile, ThatCannotBeWrittenFailsNoWriter)
{
    write(pool, false);
    std::ofstream(pool + "/files") << "in the way of a directory";
    write(pool);
    const json record = kept(pool);
    EXPECT_FALSE(record.contains("file"));
    EXPECT_NE(record["file_error"].get<std::string>().find(pool + "/files"), std::string::npos);
    EXPECT_EQ(record["ranks"].size(), 3u);
    try { // a reader asked for nothing else
        read(pool, true);
        FAIL() << "the profile cannot have been kept";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_IO);
        EXPECT_NE(std::string(error.what()).find("Profile=off"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace stepstore::steps::testing

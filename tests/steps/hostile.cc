// Records of streams that an enemy made, with the checksums right: no reader takes memory for what they only
// say, and none goes where a stream has no files.
#include "steps/check/check.h"
#include "steps/layouts/data_files.h"
#include "steps/model.h"
#include "steps/stream/stream.h"
#include "steps/stream/stream_list.h"
#include "support/processes.h"
#include "support/temporary.h"

#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace stepstore::steps::testing {
namespace {

namespace fs = std::filesystem;
using stepstore::testing::run_in_child;
using stepstore::testing::TemporaryDirectory;

class Hostile : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override
    {
        Writer writer(location_, options_of(GetParam()), self_communicator());
        for (std::uint64_t step = 0; step < 3; ++step)
            model_.write_step(writer, 0);
        writer.close();
    }

    void change_record(const std::function<void(StreamRecord&)>& change)
    {
        const OpenedStream opened = find_stream(location_);
        StreamRecord record = opened.record;
        change(record);
        const Pool pool = Pool::connect(location_, Access::read_write);
        const Container container = pool.open_container(opened.location.container, Access::read_write);
        StreamList(container, location_, Access::read_write).put(opened.location.stream, record);
    }

    // In a process that has so much memory of its own.
    static int with_memory([[maybe_unused]] std::uint64_t bytes, const std::function<void()>& body)
    {
        return run_in_child([&] {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // these need room of their own
            const rlimit limit{bytes, bytes};
            if (setrlimit(RLIMIT_DATA, &limit) != 0) return 3;
#endif
            try {
                body();
            } catch (const Error& error) {
                return error.code() == -DER_NOMEM ? 4 : 0;
            }
            return 0;
        });
    }

    TemporaryDirectory directory_;
    std::string location_ = directory_ / "pool";
    Model model_{1};
};

// 300 million ranks took 7 GB.
TEST_P(Hostile, RanksThatNeverWroteTakeNoMemory)
{
    change_record([](StreamRecord& record) { record.ranks = 300'000'000; });
    constexpr std::uint64_t enough = std::uint64_t{1} << 30;
    EXPECT_EQ(with_memory(enough,
                          [&] {
                              Reader reader(location_, {}, self_communicator());
                              reader.begin_step(0);
                          }),
              0);
    EXPECT_EQ(with_memory(enough,
                          [&] {
                              ReaderOptions random;
                              random.mode = ReadMode::random_access;
                              Reader reader(location_, random, self_communicator());
                              reader.variables(0);
                          }),
              0);
    EXPECT_EQ(with_memory(enough,
                          [&] {
                              if (!check_streams(location_, true).damaged())
                                  throw std::runtime_error("no damage was found");
                          }),
              0);
}

TEST_P(Hostile, ARankTooManyIsSeen)
{
    change_record([](StreamRecord& record) { record.ranks = 2; });
    Reader reader(location_, {}, self_communicator());
    EXPECT_THROW(reader.begin_step(0), Error);
}

TEST_P(Hostile, ChunksOfMoreThanAWriterMakesAreRefused)
{
    change_record([](StreamRecord& record) { record.chunk_size = std::uint64_t{1} << 62; });
    EXPECT_THROW(Reader(location_, {}, self_communicator()), Error);
}

TEST_P(Hostile, ADirectoryWhereNoStreamHasFilesIsRefused)
{
    const fs::path outside = directory_ / "outside";
    fs::create_directory(outside);
    std::ofstream(outside / "metadata") << "mine";
    for (const char* name : {"../outside", "files/../../outside", "files/a/..", "files//1", "/etc", ".",
                             "meta", "files", "files/a", "files/a/1/2"}) {
        StreamRecord record = find_stream(location_).record;
        record.directory = name;
        EXPECT_THROW(decode_record(encode_record(record), "stream"), Error) << name;
        EXPECT_THROW(segment_directory(location_, record), Error) << name;
        StreamRecord earlier = record;
        earlier.directory.clear();
        earlier.dropped = {last_segment(record, 1)};
        EXPECT_THROW(decode_record(encode_record(earlier), "stream"), Error) << name;
    }
    change_record([](StreamRecord& record) { record.directory = "../outside"; });
    EXPECT_THROW(Reader(location_, {}, self_communicator()), Error);
    EXPECT_THROW(remove_stream(location_), Error);
    EXPECT_TRUE(fs::exists(outside / "metadata"));
}

INSTANTIATE_TEST_SUITE_P(Layouts, Hostile, ::testing::ValuesIn(WriterOptions::choices("Layout")),
                         name_of_design);

} // namespace
} // namespace stepstore::steps::testing

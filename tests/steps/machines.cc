// Ranks on several machines. A pool that they make is one in files. If there is a local one already, or they
// do not share the directory, all of them are told so before anything is touched.
#include "steps/model.h"
#include "steps/stream/stream_list.h"
#include "support/errors.h"
#include "support/process_group.h"
#include "support/temporary.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_in_child;
using stepstore::testing::run_processes;
using stepstore::testing::TemporaryDirectory;

constexpr int ranks = 4;

class StepsMachines : public ::testing::Test {
protected:
    static Model model() { return {ranks, 16, false}; }
    // 0: written and closed; 1: refused as it should be; 2: otherwise.
    int write(const std::shared_ptr<Communicator>& communicator, const char* machine) const
    {
        return write(communicator, machine, location);
    }
    static int write(const std::shared_ptr<Communicator>& communicator, const char* machine,
                     const std::string& location)
    {
        setenv("STEPSTORE_TEST_MACHINE", machine, 1);
        try {
            Writer writer(location, options_of("array"), communicator);
            model().write_step(writer, communicator->rank());
            writer.close();
            return 0;
        } catch (const Error& error) {
            const std::string message = error.what();
            const bool told = error.code() == -DER_BUSY &&
                              message.find("rank 0 runs on first") != std::string::npos &&
                              message.find("rank 2 on second") != std::string::npos;
            if (!told) std::fprintf(stderr, "%s\n", error.what());
            return told ? 1 : 2;
        }
    }

    TemporaryDirectory directory;
    const std::string location = directory / "pool/container/stream";
};

// By themselves in a pool in files, also if the ranks run in different directories.
TEST_F(StepsMachines, MakeAPoolInFilesTogether)
{
    const std::string here = directory.path().string();
    const auto ends = run_processes(ranks, [&](std::shared_ptr<Communicator> communicator) {
        const bool first = communicator->rank() < 2;
        if (chdir(first ? here.c_str() : "/") != 0) return 9;
        return write(communicator, first ? "first" : "second", first ? "pool" : "elsewhere");
    });
    EXPECT_EQ(ends, std::vector<int>(ranks, 0));
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
        names.push_back(entry.path().filename());
    EXPECT_EQ(names, std::vector<std::string>{"pool"}) << "nothing else is left";
    EXPECT_EQ(Pool::connect(directory / "pool").location(), "shared:" + (directory / "pool"));
    for (const char* machine : {"first", "third"}) { // on any machine
        EXPECT_EQ(run_in_child([&] {
                      setenv("STEPSTORE_TEST_MACHINE", machine, 1);
                      Reader reader(directory / "pool", ReaderOptions(), self_communicator());
                      return reader.begin_step(0) == StepStatus::ok ? 0 : 1;
                  }),
                  0)
            << machine;
    }
}

// The ranks of each machine have a metadata object together, also if they are not equally many. A
// writer that appends later keeps that, on any number of machines.
// Also if a job was killed while it looked whether its machines share the directory.
TEST_F(StepsMachines, MakeAPoolInAnEmptyDirectory)
{
    const std::filesystem::path pool = directory / "pool";
    for (const bool after_a_killed_one : {false, true}) {
        std::filesystem::create_directory(pool);
        const std::filesystem::path left = pool / ".stepstore-3735928559.4.2";
        if (after_a_killed_one) std::ofstream(left) << "3735928559.4.";
        const auto ends = run_processes(ranks, [&](std::shared_ptr<Communicator> communicator) {
            return write(communicator, communicator->rank() < 2 ? "first" : "second", pool);
        });
        EXPECT_EQ(ends, std::vector<int>(ranks, 0));
        EXPECT_EQ(std::filesystem::exists(left), after_a_killed_one);
        std::filesystem::remove(left);
        for (const auto& entry : std::filesystem::directory_iterator(pool))
            EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
        std::filesystem::remove_all(pool);
    }
}

TEST_F(StepsMachines, HaveAMetadataObjectEach)
{
    constexpr std::uint64_t steps = 3;
    const std::string pool_path = directory / "pool";
    const auto write_with = [&](int size, int of_first, bool append) {
        return run_processes(size, [&, of_first, append](std::shared_ptr<Communicator> communicator) {
            setenv("STEPSTORE_TEST_MACHINE", communicator->rank() < of_first ? "first" : "second", 1);
            WriterOptions options;
            options.append = append;
            Writer writer(pool_path, options, communicator);
            const Model part{size, 16, true};
            for (std::uint64_t step = 0; step < steps; ++step)
                part.write_step(writer, communicator->rank());
            writer.close();
            return 0;
        });
    };
    EXPECT_EQ(write_with(5, 3, false), std::vector<int>(5, 0));
    EXPECT_EQ(write_with(4, 4, true), std::vector<int>(4, 0)) << "on one machine";
    EXPECT_EQ(run_in_child([&] {
                  Reader reader(pool_path, ReaderOptions(), self_communicator());
                  for (std::uint64_t step = 0; step < 2 * steps; ++step) {
                      if (reader.begin_step(0) != StepStatus::ok) return 1;
                      (step < steps ? Model{5, 16, true} : Model{4, 16, true}).check_step(reader, step);
                      reader.end_step();
                  }
                  if (::testing::Test::HasFailure()) return 2;
                  if (reader.describe().objects != "per-machine") return 3;
                  const Pool pool = Pool::connect(pool_path);
                  const auto of_file = [](const Container& in, const StreamRecord& record,
                                          std::uint32_t rank) {
                      return in.open_array(record.metadata_of(0, rank), {1, record.chunk_size}).size();
                  };
                  const Container container = pool.open_container("default");
                  const auto record = StreamList(container, "", Access::read_only).find("main");
                  if (!record || record->ranks_per_object != 3) return 4;
                  const StreamRecord first = segment_record(*record, record->earlier.at(0));
                  if (first.metadata_of(0, 2) != first.metadata_of(0, 0)) return 5;
                  if (first.metadata_of(0, 3) == first.metadata_of(0, 0)) return 6;
                  return of_file(container, first, 0) > 0 && of_file(container, first, 3) > 0 ? 0 : 7;
              }),
              0);
}

// As with /tmp, which each machine has for itself.
TEST_F(StepsMachines, AreToldWhenTheyDoNotShareTheDirectory)
{
    const auto ends = run_processes(ranks, [&](std::shared_ptr<Communicator> communicator) {
        const bool first = communicator->rank() < 3;
        if (!first &&
            (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
             mount("none", directory.path().c_str(), "tmpfs", 0, nullptr) != 0))
            _exit(77);
        setenv("STEPSTORE_TEST_MACHINE", first ? "first" : "second", 1);
        const Error error =
            stepstore::testing::error_of([&] { Writer(location, options_of("array"), communicator); });
        const std::string message = error.what();
        return error.code() == -DER_INVAL && message.find("rank 3 on second") != std::string::npos &&
                       message.find("rank 0 on first") != std::string::npos
                   ? 1
                   : 2;
    });
    if (ends[3] == 77) GTEST_SKIP() << "this user may not mount";
    EXPECT_EQ(ends, std::vector<int>(ranks, 1));
    EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "nothing is left";
}

TEST_F(StepsMachines, SnapshotsNeedAPoolOfAnotherKind)
{
    WriterOptions options = options_of("array");
    options.step_mode = StepMode::snapshot;
    const std::string message = stepstore::testing::message_of(
        [&] { Writer("shared:" + location, options, self_communicator()); }, -DER_NOTSUPPORTED);
    EXPECT_NE(message.find("Steps=snapshot"), std::string::npos) << message;
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST_F(StepsMachines, LeaveTheStreamThatWasThere)
{
    const auto first = run_processes(
        ranks, [&](std::shared_ptr<Communicator> communicator) { return write(communicator, "first"); });
    ASSERT_EQ(first, std::vector<int>(ranks, 0));
    const auto ends = run_processes(ranks, [&](std::shared_ptr<Communicator> communicator) {
        return write(communicator, communicator->rank() < 2 ? "first" : "second");
    });
    EXPECT_EQ(ends, std::vector<int>(ranks, 1));
    EXPECT_EQ(run_in_child([&] {
                  Reader reader(location, ReaderOptions(), self_communicator());
                  return reader.begin_step(0) == StepStatus::ok ? 0 : 1;
              }),
              0);
}

} // namespace
} // namespace stepstore::steps::testing

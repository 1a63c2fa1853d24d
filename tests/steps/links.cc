// The owner of a pool may put links or other files below files/, where the layout posix and profiles live.
// Nothing outside of the pool is read, written or removed through them. On kernels with openat2 and without.
#include "steps/check/check.h"
#include "steps/model.h"
#include "steps/stream/stream.h"
#include "support/old_kernel.h"
#include "support/processes.h"
#include "support/temporary.h"

#include <filesystem>
#include <fstream>
#include <map>

namespace fs = std::filesystem;

namespace stepstore::steps::testing {

namespace {

using stepstore::testing::run_in_child;
using stepstore::testing::TemporaryDirectory;

std::string content(const fs::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Nothing where the call succeeded, else what it said.
std::string said_by(const std::function<void()>& call)
{
    try {
        call();
        return {};
    } catch (const Error& error) {
        return error.what();
    }
}

// Every case runs in a process of its own: whether a kernel has openat2 is looked at once.
class LinksBelowFiles : public ::testing::TestWithParam<bool> {
protected:
    static constexpr std::uint64_t steps = 3;

    void write(bool append = false)
    {
        WriterOptions options = options_of("posix");
        options.append = append;
        Writer writer(location_, options, self_communicator());
        for (std::uint64_t step = 0; step < (append ? 1 : steps); ++step)
            model_.write_step(writer, 0);
        writer.close();
    }
    void read()
    {
        Reader reader(location_, {}, self_communicator());
        while (reader.begin_step(0) == StepStatus::ok) {
            model_.check_step(reader, reader.current_step());
            reader.end_step();
        }
    }
    // Below the pool, outermost first.
    std::vector<fs::path> parts_of_stream() const
    {
        const fs::path segment = find_stream(location_).record.directory;
        return {segment.parent_path().parent_path(),
                segment.parent_path(),
                segment,
                segment / "metadata",
                segment / "index",
                segment / "blocks.0",
                segment / "sums.0"};
    }
    // Puts a link in the place of a part, which goes on to be there, elsewhere.
    void replace_by_link(const fs::path& part) const
    {
        fs::rename(location_ / part, elsewhere_);
        fs::create_symlink(elsewhere_, location_ / part);
    }
    std::map<fs::path, std::string> all_elsewhere() const
    {
        if (!fs::is_directory(elsewhere_)) return {{elsewhere_, content(elsewhere_)}};
        std::map<fs::path, std::string> all;
        for (const auto& entry : fs::recursive_directory_iterator(elsewhere_))
            all[entry.path()] = entry.is_directory() ? "" : content(entry.path());
        return all;
    }
    void in_child(const std::function<void()>& body) const
    {
        EXPECT_EQ(run_in_child([&] {
                      stepstore::testing::old_kernel = GetParam();
                      body();
                      return HasFailure() ? 1 : 0;
                  }),
                  0);
    }
    void begin_anew() const
    {
        fs::remove_all(location_);
        fs::remove_all(elsewhere_);
    }

    TemporaryDirectory directory_;
    fs::path location_ = directory_ / "pool";
    fs::path elsewhere_ = directory_ / "elsewhere";
    Model model_{1, 64};
};

TEST_P(LinksBelowFiles, AreNotReadThrough)
{
    in_child([&] {
        for (std::size_t i = 0; i < 7; ++i) {
            begin_anew();
            write();
            const fs::path part = parts_of_stream()[i];
            replace_by_link(part);
            const std::string said = said_by([&] { read(); });
            EXPECT_NE(said.find("symbolic link"), std::string::npos) << part << ": " << said;
            EXPECT_NE(said.find(part), std::string::npos) << said;
            EXPECT_TRUE(check_streams(location_, true).damaged()) << part;
        }
    });
}

TEST_P(LinksBelowFiles, AreNotWrittenOrRemovedThrough)
{
    const std::vector<std::pair<const char*, std::function<void()>>> uses{
        {"write anew", [&] { write(); }},
        {"append", [&] { write(true); }},
        {"remove", [&] { remove_stream(location_); }},
        {"sync", [&] { Pool::connect(location_).sync(); }},
        {"destroy", [&] { Pool::destroy(location_); }},
    };
    in_child([&] {
        for (std::size_t i = 0; i < 7; ++i) {
            for (const auto& [name, use] : uses) {
                begin_anew();
                write();
                const fs::path part = parts_of_stream()[i];
                replace_by_link(part);
                const auto before = all_elsewhere();
                said_by(use);
                EXPECT_EQ(all_elsewhere(), before) << name << " with a link at " << part;
                said_by([&] { Pool::destroy(location_); });
                EXPECT_FALSE(fs::exists(fs::symlink_status(location_))) << name << " with a link at " << part;
                EXPECT_EQ(all_elsewhere(), before) << name << " and destroy with a link at " << part;
            }
        }
    });
}

TEST_P(LinksBelowFiles, ProfilesAreReadThroughNone)
{
    in_child([&] {
        write();
        std::ofstream(elsewhere_) << "{}";
        fs::create_symlink(elsewhere_, location_ / "files/profiling_readers.json");
        Reader reader(location_, {}, self_communicator());
        EXPECT_NE(said_by([&] { reader.readers_profile_json(); }).find("symbolic link"), std::string::npos);
    });
}

TEST_P(LinksBelowFiles, ProfilesAreWrittenThroughNone)
{
    in_child([&] {
        const fs::path victim = elsewhere_ / "victim";
        for (const bool hard : {false, true}) {
            for (const char* name : {"profiling.json", "profiling.json.new"}) {
                begin_anew();
                write();
                fs::create_directory(elsewhere_);
                std::ofstream(victim) << "what the victim wrote";
                const fs::path there = location_ / "files" / name;
                fs::remove(there);
                hard ? fs::create_hard_link(victim, there) : fs::create_symlink(victim, there);
                write();
                EXPECT_EQ(content(victim), "what the victim wrote") << name;
                EXPECT_EQ(fs::hard_link_count(victim), 1) << name;
                EXPECT_NE(content(location_ / "files/profiling.json").find("ranks"), std::string::npos);
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Kernels, LinksBelowFiles, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "WithoutOpenat2" : "WithOpenat2"; });

} // namespace

} // namespace stepstore::steps::testing

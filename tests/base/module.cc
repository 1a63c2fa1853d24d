// Where modules are looked for: beside what was loaded, and never where somebody else could have put one.
#include "support/temporary.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace stepstore::testing {
namespace {

namespace fs = std::filesystem;

class Module : public ::testing::Test {
protected:
    Module() { fs::create_directories(program_.parent_path()); }

    // Copies, because a link leads to where the program was built.
    void SetUp() override { fs::copy_file(TEST_FINDER, program_); }

    fs::path put_module(const fs::path& folder)
    {
        fs::create_directories(folder);
        fs::copy_file(TEST_MODULE, folder / "libtest_module.so");
        return folder / "libtest_module.so";
    }

    // What the program prints that is called by this name in this directory.
    std::string output(const std::string& name, const fs::path& working_directory)
    {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
        const pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], STDOUT_FILENO);
            if (chdir(working_directory.c_str()) == 0)
                execl(program_.c_str(), name.c_str(), static_cast<char*>(nullptr));
            _exit(127);
        }
        close(ends[1]);
        std::string text;
        char buffer[4096];
        for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(got));
        close(ends[0]);
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        return text;
    }
    bool found(const std::string& name = {})
    {
        return output(name.empty() ? program_.string() : name, root_) == "found\n";
    }

    TemporaryDirectory directory_;
    fs::path root_ = fs::canonical(directory_.path());
    fs::path program_ = root_ / "bin" / "finder";
};

TEST_F(Module, IsFoundBesideTheProgramAndInTheFoldersOfAnInstallation)
{
    EXPECT_FALSE(found());
    for (const fs::path& folder : {root_ / "bin", root_ / "lib", root_ / "lib64"}) {
        const fs::path module = put_module(folder);
        EXPECT_TRUE(found()) << folder;
        fs::remove(module);
    }
}

// As in /tmp, where anybody may make a folder of that name.
TEST_F(Module, IsNotLookedForInAFolderOfTheProjectsName)
{
    put_module(root_ / "bin" / "stepstore");
    EXPECT_FALSE(found());
}

TEST_F(Module, IsNotLookedForWhereTheProgramsNameLeadsTo)
{
    put_module(root_ / "elsewhere");
    fs::copy_file(TEST_FINDER, root_ / "elsewhere" / "finder");
    EXPECT_FALSE(found("elsewhere/finder"));
    EXPECT_FALSE(found((root_ / "elsewhere" / "finder").string()));
    EXPECT_NE(output("finder", root_ / "elsewhere"), "found\n");
}

TEST_F(Module, IsNotTakenFromAFolderThatEverybodyMayWrite)
{
    put_module(root_ / "bin");
    ASSERT_EQ(chmod((root_ / "bin").c_str(), 01777), 0);
    EXPECT_FALSE(found());
    ASSERT_EQ(chmod((root_ / "bin").c_str(), 0775), 0);
    EXPECT_TRUE(found()) << "a group may share an installation";
}

TEST_F(Module, IsNotTakenFromSomebodyElse)
{
    const fs::path module = put_module(root_ / "lib");
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    for (const fs::path& given : {module, root_ / "lib"}) {
        ASSERT_EQ(chown(given.c_str(), 12345, gid_t(-1)), 0);
        EXPECT_FALSE(found()) << given;
        ASSERT_EQ(chown(given.c_str(), 0, gid_t(-1)), 0);
    }
    EXPECT_TRUE(found());
}

} // namespace
} // namespace stepstore::testing

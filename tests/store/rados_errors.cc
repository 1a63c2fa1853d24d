// What a user is told who names a pool on Ceph that cannot be used. A process keeps its connection, so each
// case has a process of its own.
#include "store/rados/errors.h"
#include "support/processes.h"
#include "support/store_fixture.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace stepstore::testing {
namespace {

// Opening `path` in a process with these variables fails with this error, which says each of `words`.
void expect_error(const std::string& path, int code, const std::vector<std::string>& words,
                  const std::vector<std::pair<std::string, std::string>>& environment = {})
{
    const int status = run_in_child([&] {
        for (const auto& [name, value] : environment)
            setenv(name.c_str(), value.c_str(), 1);
        std::string message;
        const int found = der_of([&] { Pool::open(path, Access::read_write); }, &message);
        bool good = found == code;
        for (const std::string& word : words)
            good = good && message.find(word) != std::string::npos;
        if (!good) std::fprintf(stderr, "error %d: %s\n", found, message.c_str());
        return good ? 0 : 1;
    });
    EXPECT_EQ(status, 0) << path;
}

std::string in_test_pool(const TemporaryDirectory& directory, const std::string& name)
{
    return pool_path(directory, "rados", name);
}

TEST(RadosErrors, NameWhatIsNotThere)
{
    const TemporaryDirectory directory;
    expect_error(in_test_pool(directory, "none"), DER_NONEXIST, {"there is no pool at rados://"});
    expect_error("rados://no-such-pool", DER_NONEXIST, {"no-such-pool", "ceph osd pool create"});
    expect_error("rados://", DER_BADPATH, {"rados://POOL"});
    expect_error("rados://a/b/c", DER_BADPATH, {"rados://POOL"});
    expect_error("rados://test", DER_NONEXIST, {"Ceph configuration", "CEPH_CONF"},
                 {{"CEPH_CONF", directory / "missing.conf"}});
}

TEST(RadosErrors, DoNotTakeLongWhereThereIsNoCluster)
{
    const TemporaryDirectory directory;
    std::ofstream(directory / "ceph.conf") << "[global]\nmon_host = v2:127.0.0.1:1/0\n"
                                              "auth_client_required = none\n";
    expect_error("rados://test", DER_TIMEDOUT, {"no monitor answers", "mon_host"},
                 {{"CEPH_CONF", directory / "ceph.conf"}});
}

TEST(RadosErrors, TellAUserWithoutAKey)
{
    const TemporaryDirectory directory;
    std::ofstream(directory / "ceph.conf") << "[global]\nmon_host = v2:127.0.0.1:1/0\n"
                                              "auth_client_required = cephx\n"
                                              "keyring = /nonexistent/keyring\n";
    expect_error("rados://test", DER_NO_PERM, {"client.nobody", "keyring"},
                 {{"CEPH_CONF", directory / "ceph.conf"}, {"CEPH_ARGS", "--id nobody"}});
}

TEST(RadosErrors, TellAUserWithAnotherKey)
{
    const TemporaryDirectory directory;
    std::ofstream(directory / "keyring") << "[client.admin]\n"
                                            "key = AQAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAA==\n";
    expect_error("rados://test", DER_NO_PERM, {"refuses this Ceph user", "keyring"},
                 {{"CEPH_ARGS", "--keyring=" + (directory / "keyring")}});
}

// The cluster of the tests has no manager, which alone acts on quotas of Ceph pools.
TEST(RadosErrors, TellThatAQuotaIsUsedUp)
{
    std::string message;
    EXPECT_EQ(der_of([] { store::rados::fail(-EDQUOT, "pool rados://test", "cannot write"); }, &message),
              DER_NOSPACE);
    EXPECT_NE(message.find("pool rados://test: cannot write: the quota"), std::string::npos) << message;
    EXPECT_NE(message.find("ceph osd pool set-quota"), std::string::npos) << message;
}

// What a program is told that cannot have the module: run by the two that follow, with its expectations.
TEST(RadosErrors, DISABLED_OfThisProgram)
{
    std::string message;
    EXPECT_EQ(der_of([] { Pool::open("rados://test", Access::read_only); }, &message), DER_NOSYS);
    EXPECT_NE(message.find(std::getenv("EXPECTED")), std::string::npos) << message;
}

void run_program(const std::string& program, const std::string& environment, const std::string& expected)
{
    const std::string command = environment + " EXPECTED='" + expected + "' " + program +
                                " --gtest_also_run_disabled_tests --gtest_filter=*DISABLED_OfThisProgram";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(RadosErrors, TellThatLibradosIsAnother)
{
    const TemporaryDirectory directory;
    std::filesystem::copy(STEPSTORE_OLD_MODULE, directory / "librados.so.2"); // a library without its symbols
    const auto self = std::filesystem::canonical("/proc/self/exe").string();
    run_program(self, "LD_LIBRARY_PATH=" + directory.path().string(), "librados");
}

TEST(RadosErrors, TellThatTheModuleIsOfAnotherVersionOrMissing)
{
    const TemporaryDirectory directory;
    std::filesystem::copy("/proc/self/exe", directory / "program");
    run_program(directory / "program", "", "no such file");
    std::ofstream(directory / "libstepstore_rados.so") << "no library";
    run_program(directory / "program", "", "too short");
    std::filesystem::copy(STEPSTORE_OLD_MODULE, directory / "libstepstore_rados.so",
                          std::filesystem::copy_options::overwrite_existing);
    run_program(directory / "program", "", "another version of Stepstore");
}

// Makes an object in a namespace, with the command `rados` of ceph-common.
int put_object(const std::string& name_space, const std::string& name, const std::string& text)
{
    const std::string command = "printf '" + text + "' | rados -p " + ceph_pool() + " -N " + name_space +
                                " put " + name + " - 2>/dev/null";
    return std::system(command.c_str());
}

TEST(RadosErrors, LeaveANamespaceOfSomethingElseAlone)
{
    if (std::system("rados --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no command rados";
    const TemporaryDirectory directory;
    const std::string path = in_test_pool(directory, "other");
    const std::string name_space = path.substr(path.rfind('/') + 1);
    ASSERT_EQ(put_object(name_space, "somebody", "hello"), 0);
    const int status = run_in_child([&] {
        std::string message;
        const int found = der_of([&] { Pool::create(path, {}); }, &message);
        if (found == DER_BUSY && message.find("'somebody'") != std::string::npos) return 0;
        std::fprintf(stderr, "error %d: %s\n", found, message.c_str());
        return 1;
    });
    EXPECT_EQ(status, 0);
    ASSERT_EQ(put_object(name_space, "stepstore", "not a header"), 0);
    expect_error(path, DER_DF_INVAL, {"is not the header of a pool"});
    ASSERT_EQ(put_object(name_space, "stepstore", "STEPSTORE-RADOS 9\n"), 0);
    expect_error(path, DER_DF_INCOMPT, {"format version 9"});
}

} // namespace
} // namespace stepstore::testing

// A Ceph cluster of a test's own, to which things may happen. The test's program is run in child processes,
// since a process keeps its connection and the settings that it was made with.
#pragma once

#include "support/processes.h"
#include "support/temporary.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace stepstore::testing {

class CephCluster {
public:
    explicit CephCluster(const std::string& options)
    {
        tell("start", options + " --pool test --owner " + std::to_string(getpid()));
        setenv("CEPH_CONF", (directory_ / "cluster/ceph.conf").c_str(), 1);
        setenv("STEPSTORE_TEST_RADOS", "test", 1);
    }
    ~CephCluster() { std::system(command("stop", "").c_str()); }
    CephCluster(const CephCluster&) = delete;
    CephCluster& operator=(const CephCluster&) = delete;

    // A command of support/ceph.py.
    void tell(const std::string& what, const std::string& arguments = "") const
    {
        if (std::system(command(what, arguments).c_str()) != 0)
            throw std::runtime_error("ceph.py " + what + " " + arguments + " failed");
    }

private:
    std::string command(const std::string& what, const std::string& arguments) const
    {
        std::string text = STEPSTORE_CEPH_SCRIPT;
        for (const std::string& part : {what, std::string(directory_ / "cluster"), arguments})
            text.append(" ").append(part);
        return text.append(" >/dev/null");
    }

    TemporaryDirectory directory_;
};

// Runs a part of a test in a process of its own, with these settings of Ceph. Its failed expectations are
// failures of the test.
inline pid_t start_user(const std::string& settings, const std::function<void()>& body)
{
    return start_child([&] {
        setenv("CEPH_ARGS", settings.c_str(), 1);
        body();
        return ::testing::Test::HasFailure() ? 1 : 0;
    });
}
inline void run_user(const std::string& settings, const std::function<void()>& body)
{
    EXPECT_EQ(end_of(start_user(settings, body)), 0);
}

template <class Action>
double seconds_of(Action action)
{
    const auto begin = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline void sleep_for(double seconds)
{
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

} // namespace stepstore::testing

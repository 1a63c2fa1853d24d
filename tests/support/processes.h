// Child processes of a test.
#pragma once

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace stepstore::testing {

// Forks; the child runs `body` and ends with its value (255 after an exception, whose text goes to stderr).
// Returns the child's id.
inline pid_t start_child(const std::function<int()>& body)
{
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    int status = 255;
    try {
        status = body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "child process: %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(status);
}

// Waits for the child: its exit status, or minus the signal that ended it.
inline int end_of(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

inline int run_in_child(const std::function<int()>& body)
{
    return end_of(start_child(body));
}

} // namespace stepstore::testing

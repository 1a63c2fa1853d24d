#include "common/processes.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stepstore::bench {

namespace {

[[noreturn]] void child(const Prepare& prepare, Shared& shared, std::size_t index)
{
    try {
        const Task task = prepare();
        ++shared.ready;
        while (!shared.go)
            usleep(50);
        if (shared.failed) _exit(1);
        shared.begin[index] = now();
        task(shared);
        shared.end[index] = now();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
        shared.failed = true;
        _exit(1);
    }
    _exit(0); // nothing of the parent's is flushed or destroyed a second time
}

} // namespace

std::int64_t now()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void run(const std::vector<Prepare>& all, const std::function<void(const Shared&)>& report)
{
    if (all.size() > max_processes)
        throw std::runtime_error("give at most " + std::to_string(max_processes) + " processes");
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot get shared memory for the clocks");
    auto* shared = new (memory) Shared{};
    std::vector<pid_t> children;
    for (std::size_t index = 0; index < all.size(); ++index) {
        const pid_t pid = fork();
        if (pid == 0) child(all[index], *shared, index);
        if (pid < 0)
            shared->failed = true;
        else
            children.push_back(pid);
    }
    int left = static_cast<int>(children.size());
    while (shared->ready < static_cast<int>(all.size()) && !shared->failed) {
        int status = 0;
        if (waitpid(-1, &status, WNOHANG) > 0) { // before it was ready: that was no success
            shared->failed = true;
            --left;
        }
        usleep(100);
    }
    shared->go = true;
    for (; left > 0; --left) {
        int status = 0;
        if (waitpid(-1, &status, 0) < 0 || status != 0) shared->failed = true;
    }
    const bool wrong = shared->failed;
    if (!wrong) report(*shared);
    munmap(memory, sizeof(Shared));
    if (wrong) throw std::runtime_error("a process failed");
}

double seconds(const Shared& shared, std::size_t first, std::size_t count)
{
    const std::int64_t begin = *std::min_element(shared.begin + first, shared.begin + first + count);
    const std::int64_t end = *std::max_element(shared.end + first, shared.end + first + count);
    return static_cast<double>(end - begin) * 1e-9;
}

} // namespace stepstore::bench

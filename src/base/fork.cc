#include "base/fork.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <pthread.h>
#include <unistd.h>
#include <vector>

namespace stepstore {

namespace detail {
constinit std::atomic<std::uint64_t> process_generation{1};
}

namespace {

struct Guards {
    std::array<std::mutex, static_cast<std::size_t>(ForkLock::count)> locks;
    std::mutex descriptors; // guards locked_files; taken after all of them
    std::vector<int> locked_files;
};

Guards& guards()
{
    static Guards* all = new Guards; // never destroyed: the handlers may run at any time
    return *all;
}

void before_fork()
{
    for (std::mutex& one : guards().locks)
        one.lock();
    guards().descriptors.lock();
}

void after_fork()
{
    guards().descriptors.unlock();
    for (std::mutex& one : guards().locks)
        one.unlock();
}

void after_fork_in_child()
{
    detail::process_generation.fetch_add(1, std::memory_order_relaxed);
    for (const int fd : guards().locked_files)
        close(fd);
    guards().locked_files.clear();
    after_fork();
}

const bool handlers_installed = pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;

} // namespace

std::mutex& held_over_fork(ForkLock which) noexcept
{
    return guards().locks[static_cast<std::size_t>(which)];
}

void close_in_children(int fd)
{
    auto& all = guards();
    std::lock_guard lock(all.descriptors);
    if (handlers_installed) all.locked_files.push_back(fd);
}

void forget_in_children(int fd)
{
    auto& all = guards();
    std::lock_guard lock(all.descriptors);
    std::erase(all.locked_files, fd);
}

} // namespace stepstore

#include "store/lmdb/fork.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <unistd.h>
#include <vector>

namespace stepstore::store::lmdb {

namespace {

std::atomic<std::uint64_t> generation{1};

struct Guards {
    std::mutex process;
    std::mutex descriptors; // guards locked_files; taken after process
    std::vector<int> locked_files;
};

Guards& guards()
{
    static Guards* all = new Guards; // never destroyed: the handlers may run at any time
    return *all;
}

void before_fork()
{
    guards().process.lock();
    guards().descriptors.lock();
}

void after_fork_in_parent()
{
    guards().descriptors.unlock();
    guards().process.unlock();
}

void after_fork_in_child()
{
    generation.fetch_add(1, std::memory_order_relaxed);
    for (const int fd : guards().locked_files)
        close(fd);
    guards().locked_files.clear();
    after_fork_in_parent();
}

const bool handlers_installed = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;

} // namespace

std::uint64_t process_generation() noexcept
{
    return generation.load(std::memory_order_relaxed);
}

std::mutex& process_guard()
{
    return guards().process;
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

} // namespace stepstore::store::lmdb

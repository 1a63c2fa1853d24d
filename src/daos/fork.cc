#include "daos/fork.h"

#include <pthread.h>

#include <atomic>

namespace stepstore::daos {
namespace {

struct Guarded {
    std::mutex table;
    std::mutex workers;
    std::mutex reopen;
    std::atomic<std::uint64_t> generation{1};

    Guarded();
};

Guarded& guarded() noexcept
{
    static Guarded& instance = *new Guarded; // outlives every thread
    return instance;
}

// Lock order: as here.
void before_fork()
{
    guarded().reopen.lock();
    guarded().workers.lock();
    guarded().table.lock();
}

void after_fork()
{
    guarded().table.unlock();
    guarded().workers.unlock();
    guarded().reopen.unlock();
}

void after_fork_in_child()
{
    guarded().generation.fetch_add(1, std::memory_order_relaxed);
    after_fork();
}

Guarded::Guarded()
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

} // namespace

std::uint64_t fork_generation() noexcept
{
    return guarded().generation.load(std::memory_order_relaxed);
}
std::mutex& table_mutex() noexcept
{
    return guarded().table;
}
std::mutex& reopen_mutex() noexcept
{
    return guarded().reopen;
}
std::mutex& workers_mutex() noexcept
{
    return guarded().workers;
}

} // namespace stepstore::daos

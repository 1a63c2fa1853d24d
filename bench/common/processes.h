// Processes that begin together, and the time from the first one's beginning to the last one's end.
// Threads: run() is called by one; the processes share atomics alone. Errors: std::runtime_error.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace stepstore::bench {

constexpr int max_processes = 256;
constexpr int max_steps = 1024;

std::int64_t now(); // nanoseconds of a clock that all processes share

// What the processes of one run share.
struct Shared {
    std::atomic<int> ready;
    std::atomic<bool> go;
    std::atomic<bool> failed;
    std::int64_t begin[max_processes];
    std::int64_t end[max_processes];
    std::atomic<int> flushed[max_steps];          // by how many writers, by step
    std::atomic<std::int64_t> written[max_steps]; // when the last of them had
    std::atomic<std::int64_t> read[max_steps];    // when the last reader had all of it
};

// Of each process: prepare() runs before the clocks do, what it returns is timed.
using Task = std::function<void(Shared&)>;
using Prepare = std::function<Task()>;

// Runs one process for each of `all`; `report` sees what they have shared. Throws std::runtime_error when one
// failed.
void run(const std::vector<Prepare>& all, const std::function<void(const Shared&)>& report);

// Seconds between the first beginning and the last end of the processes from `first` on, `count` of them.
double seconds(const Shared& shared, std::size_t first, std::size_t count);

} // namespace stepstore::bench

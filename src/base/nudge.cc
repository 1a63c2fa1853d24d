#include "base/nudge.h"

#include "base/files.h"
#include "base/fork.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <fcntl.h>
#include <linux/magic.h>
#include <mutex>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <system_error>
#include <unistd.h>

namespace stepstore {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto look_interval = 10ms;
constexpr auto slow = 30ms; // longer than a call to a busy server takes
constexpr int looks_before_sleep = 50;

// When calls began that are running: 0, none. Those that find no place are not watched.
std::array<std::atomic<std::int64_t>, 64> running{};
std::atomic<std::uint32_t> begun{0}; // calls
std::atomic<int> nudgers{0};
std::atomic<std::uint64_t> of_process{0}; // the process that `running` belongs to

std::int64_t now()
{
    return Clock::now().time_since_epoch().count();
}

// The begin of the call that has been running longest.
std::int64_t oldest()
{
    std::int64_t first = 0;
    for (const auto& one : running)
        if (const std::int64_t since = one; since != 0 && (first == 0 || since < first)) first = since;
    return first;
}

// False: never again.
bool nudge(const std::string& file)
{
    const Descriptor fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return errno == ENOENT;
    if (futimens(fd.get(), nullptr) != 0) return false;
    return fsync(fd.get()) == 0;
}

void watch(const std::string& file, const std::stop_token& stop)
{
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    std::uint32_t seen = begun;
    std::int64_t nudged_call = 0;
    Clock::duration due = slow; // after the begin of the call
    int idle = 0;
    while (!stop.stop_requested()) {
        const std::int64_t first = oldest();
        const std::uint32_t count = begun;
        idle = first == 0 && count == seen ? idle + 1 : 0;
        seen = count;
        if (idle > looks_before_sleep) {
            begun.wait(count);
            continue;
        }
        if (first != nudged_call) due = slow;
        nudged_call = first;
        if (const auto age = Clock::duration(now() - first); first != 0 && age >= due) {
            if (!nudge(file)) return;
            due = std::max(age + Clock::duration(slow), age * 3 / 2);
        }
        stopped.wait_for(lock, stop, look_interval, [] { return false; });
    }
}

} // namespace

FileCallRuns::FileCallRuns() noexcept
{
    if (nudgers.load(std::memory_order_relaxed) == 0) return;
    const std::int64_t since = now();
    for (auto& one : running) {
        std::int64_t none = 0;
        if (!one.compare_exchange_strong(none, since)) continue;
        since_ = &one;
        break;
    }
    ++begun;
    begun.notify_all();
}

FileCallRuns::~FileCallRuns()
{
    if (since_ != nullptr) since_->store(0);
}

Nudger::Nudger(std::string file)
{
    if (of_process.exchange(process_generation()) != process_generation())
        for (auto& one : running) // of threads of the parent
            one = 0;
    try {
        thread_ = std::jthread([file = std::move(file)](const std::stop_token& stop) { watch(file, stop); });
    } catch (const std::system_error&) { // no more threads are allowed: calls wait as without
    }
    ++nudgers;
}

Nudger::~Nudger()
{
    --nudgers;
    thread_.request_stop();
    ++begun;
    begun.notify_all();
}

bool Nudger::may_help(int fd)
{
    constexpr std::uint64_t ceph = 0x00c36400;
    struct statfs about {};
    if (fstatfs(fd, &about) != 0) return false;
    const auto type = static_cast<std::uint64_t>(about.f_type) & 0xffffffff;
    return type == ceph || type == FUSE_SUPER_MAGIC;
}

} // namespace stepstore

// 1. WriterLine::owner is 0, or the owner: its process number (31 bits), the bit `others` where somebody
//    waits, and above them 32 bits of the time at which its process started. One compare and swap takes a
//    free turn.
// 2. Who finds it taken sets `others` and sleeps on the word (futex). Who gives up the turn of a word with
//    `others` wakes one sleeper. That one takes it with `others` set again, for there may be more.
// 3. A sleeper wakes by itself too, and looks whether the owner lives: a process of that number that started
//    then. If not, it swaps the dead owner's word for its own.
//
// LMDB's lock comes after this one and is what keeps writers apart. So a mistake about who lives (a process
// in another space of process numbers) costs the waiter its warning and no more. A
// child of fork is another process: it does not give up its parent's turn.
#include "store/lmdb/sharing/write_turn.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/warning.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <ctime>
#include <linux/futex.h>
#include <optional>
#include <sys/syscall.h>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

constexpr std::uint64_t others = 0x8000'0000;
constexpr double default_limit = 600;         // seconds
constexpr std::int64_t first_nap = 2'000'000; // ns, until a sleeper looks for itself
constexpr std::int64_t longest_nap = 100'000'000;
constexpr std::uint64_t silence = 60'000'000'000; // ns, between two warnings of a process

// The half of the word that futexes compare: process number and `others`.
std::uint32_t* low_half(WriterLine& line)
{
    static_assert(std::endian::native == std::endian::little && sizeof line.owner == 8);
    return reinterpret_cast<std::uint32_t*>(&line.owner);
}

void sleep_on(WriterLine& line, std::uint64_t seen, std::int64_t nap)
{
    const timespec time{0, nap};
    syscall(SYS_futex, low_half(line), FUTEX_WAIT, static_cast<std::uint32_t>(seen), &time, nullptr, 0);
}

bool dead(std::uint64_t owner)
{
    const ProcessSight seen = look_at(owner & (others - 1));
    return !seen.alive || (seen.started && static_cast<std::uint32_t>(*seen.started) != owner >> 32);
}

std::string time_of_day(std::uint64_t nanoseconds)
{
    const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
    std::tm local{};
    char text[32] = "an unknown time";
    if (localtime_r(&seconds, &local) != nullptr) std::strftime(text, sizeof text, "%F %T", &local);
    return text;
}

double limit_of_waits()
{
    const char* given = std::getenv("STEPSTORE_WAIT_LIMIT");
    if (given == nullptr) return default_limit;
    char* end = nullptr;
    const double seconds = std::strtod(given, &end);
    return end == given || !(seconds >= 0) ? default_limit : seconds;
}

} // namespace

WriteTurn::WriteTurn(WritersFile& file, unsigned target, const std::string& where)
    : line_(&file.require_line(target, where)), generation_(process_generation())
{
    mine_ = (file.process().started & UINT32_MAX) << 32 | file.process().process;
    std::uint64_t free = 0;
    if (!line_->owner.compare_exchange_strong(free, mine_, std::memory_order_acquire)) [[unlikely]]
        wait(where);
    line_->since.store(nanoseconds(CLOCK_REALTIME_COARSE), std::memory_order_relaxed);
}

void WriteTurn::wait(const std::string& where)
{
    std::int64_t nap = first_nap;
    std::optional<LongWait> waited; // most waits are over before the first nap is
    for (;;) {
        std::uint64_t seen = line_->owner.load(std::memory_order_relaxed);
        if (seen == 0) {
            if (line_->owner.compare_exchange_strong(seen, mine_ | others, std::memory_order_acquire)) return;
            continue;
        }
        if ((seen & others) == 0 && !line_->owner.compare_exchange_strong(seen, seen | others)) continue;
        seen |= others;
        const std::uint64_t slept = nanoseconds(CLOCK_MONOTONIC);
        sleep_on(*line_, seen, nap);
        if (static_cast<std::int64_t>(nanoseconds(CLOCK_MONOTONIC) - slept) < nap) continue;
        if (dead(seen) &&
            line_->owner.compare_exchange_strong(seen, mine_ | others, std::memory_order_acquire)) {
            inherited_ = true;
            return;
        }
        nap = std::min(nap * 2, longest_nap);
        if (!waited) waited.emplace(where + ": cannot write");
        waited->look([&] {
            const std::uint64_t process = seen & (others - 1);
            return text_of_process(process, this_process().host) + ", has been writing since " +
                   time_of_day(line_->since.load()) + ". Let it go on (kill -CONT " +
                   std::to_string(process) + ") or end it: no acknowledged update is lost";
        });
    }
}

WriteTurn::~WriteTurn()
{
    if (generation_ != process_generation()) return;
    std::uint64_t seen = mine_;
    if (line_->owner.compare_exchange_strong(seen, 0, std::memory_order_release)) [[likely]]
        return;
    if (seen != (mine_ | others) || !line_->owner.compare_exchange_strong(seen, 0, std::memory_order_release))
        return;
    syscall(SYS_futex, low_half(*line_), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

LongWait::LongWait(std::string what)
    : what_(std::move(what)), limit_(limit_of_waits()), begun_(nanoseconds(CLOCK_MONOTONIC))
{
}

double LongWait::seconds() const
{
    return static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - begun_) / 1e9;
}

void LongWait::tell(const std::string& blame)
{
    told_ = true;
    // Threads of one process that wait for the same one need not all say so.
    static std::atomic<std::uint64_t> last{0};
    const std::uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    std::uint64_t before = last.load();
    if (before != 0 && now - before < silence) return;
    if (last.compare_exchange_strong(before, now)) warn(what_ + " for 5 s: " + blame);
}

void LongWait::give_up(const std::string& blame) const
{
    const auto limit = static_cast<std::uint64_t>(limit_);
    throw Error(-DER_TIMEDOUT, what_ + " for " + std::to_string(limit) + " s: " + blame +
                                   ". (STEPSTORE_WAIT_LIMIT=SECONDS sets how long to wait, 0 for ever)");
}

std::string text_of_process(std::uint64_t process, const std::string& host)
{
    ProcessIdentity named;
    named.host = host;
    named.process = process;
    const ProcessSight seen = look_at(process);
    return named.text() + (!seen.alive    ? ", which has ended"
                           : seen.stopped ? ", which is stopped (by a signal or a debugger)"
                                          : ", which is running");
}

} // namespace stepstore::store::lmdb

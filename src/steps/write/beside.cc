// The work of a writer beside the program, and the data that waits for it.
#include "steps/write/beside.h"

#include <algorithm>
#include <utility>

namespace stepstore::steps {

namespace {

// What a thread costs, about: its start, and that the processor goes from one to the other.
constexpr double seconds_of_a_thread = 150e-6;
constexpr std::uint64_t few_bytes = 256 << 10;

} // namespace

void Beside::write(std::span<const Range> ranges, std::span<const Bytes> memory)
{
    ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
    memory_.insert(memory_.end(), memory.begin(), memory.end());
}

void Beside::start(DataPuts& puts, Last last)
{
    puts.hand_over(work_.staged);
    std::swap(work_.ranges, ranges_);
    std::swap(work_.memory, memory_);
    work_.last = std::move(last);
    work_.costs = {};
    std::uint64_t bytes = 0;
    for (const Range& range : work_.ranges)
        bytes += range.length;
    const bool quick = seconds_before_ < seconds_of_a_thread && bytes <= few_bytes;
    work_.beside = !quick && thread_.start([this] { run(); });
    if (!work_.beside) run();
    at_work_ = true;
}

void Beside::run() noexcept
{
    const Stopwatch all(work_.seconds, "stepstore.beside");
    try {
        if (!work_.ranges.empty()) {
            const Stopwatch watch(work_.costs.data, "stepstore.data");
            data_.write(work_.ranges, work_.memory);
            data_.make_durable();
        }
        if (work_.last) work_.last(work_.costs);
    } catch (...) {
        work_.failure = std::current_exception();
    }
}

void Beside::wait(Costs& costs)
{
    if (!std::exchange(at_work_, false)) return;
    double waited = 0;
    {
        const Stopwatch watch(waited, "stepstore.wait");
        thread_.wait();
    }
    seconds_before_ = std::exchange(work_.seconds, 0.0);
    work_.costs.wait = waited;
    work_.costs.hidden = work_.beside ? std::max(0.0, seconds_before_ - waited) : 0;
    costs.add(work_.costs);
    work_.ranges.clear();
    work_.memory.clear();
    work_.staged.clear(true); // new memory would cost as much as the copies
    work_.last = nullptr;
    if (const auto failure = std::exchange(work_.failure, nullptr)) std::rethrow_exception(failure);
}

} // namespace stepstore::steps

// The work of a writer beside the program, and the data that waits for it.
#include "steps/write/beside.h"

#include <algorithm>
#include <utility>

namespace stepstore::steps {

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
    if (!thread_.start([this] { run(); })) {
        run();
        work_.seconds = 0; // nothing was hidden
    }
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
    work_.costs.wait = waited;
    work_.costs.hidden = std::max(0.0, std::exchange(work_.seconds, 0.0) - waited);
    costs.add(work_.costs);
    work_.ranges.clear();
    work_.memory.clear();
    work_.staged.clear(true); // new memory would cost as much as the copies
    work_.last = nullptr;
    if (const auto failure = std::exchange(work_.failure, nullptr)) std::rethrow_exception(failure);
}

} // namespace stepstore::steps

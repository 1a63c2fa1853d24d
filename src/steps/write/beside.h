// What a writer does beside the program's computation (WriterOptions::async_write): one piece of work at a
// time, on a thread of its own, which ends with the work. The work is to write the data that the rank has put
// and, after a step's last data, what publishes the step.
//
// Data waits here as places and pieces of the puts' staging memory. start() takes that memory over, so the
// puts can fill other memory while it is written.
//
// Threads: all calls from the writer's. The work has the DataWriter to itself, and costs of its own, which
// wait() adds up. A fork takes no thread along: a child reaches none of this (OwnState::stream_writer). An
// exit waits for the work only in the destructor. Errors: what the work threw, from wait(). start() does the
// work itself where the system gives no thread, and where a thread would cost more than it hides: there are
// few bytes, and the work before was that short.
#pragma once

#include "base/call_threads.h"
#include "steps/write/data_puts.h"

#include <limits>

namespace stepstore::steps {

class Beside final : public DataWriter {
public:
    explicit Beside(DataWriter& data) : data_(data) {}
    // Keeps it for start(). `memory` is that of the puts' staging.
    void write(std::span<const Range> ranges, std::span<const Bytes> memory) override;
    // Writes what was kept, then does `last`. Only where nothing is at work.
    using Last = std::function<void(Costs&)>;
    void start(DataPuts& puts, Last last);
    // Between two steps: the memory of the one before, for the next.
    void give_back(DataPuts& puts) { puts.hand_over(work_.staged); }
    // Until the work is done. costs: of the work, whose time beside the program is `hidden`.
    void wait(Costs& costs);

private:
    struct Work {
        std::vector<Range> ranges;
        std::vector<Bytes> memory;
        StagedMemory staged; // of the memory
        Last last;
        Costs costs;
        double seconds = 0;
        bool beside = false; // else start() has done it
        std::exception_ptr failure;
    };
    void run() noexcept;

    DataWriter& data_;
    std::vector<Range> ranges_; // kept
    std::vector<Bytes> memory_;
    Work work_;
    double seconds_before_ = std::numeric_limits<double>::infinity(); // that the last work took
    bool at_work_ = false;
    CallThreads thread_; // last: its end waits for the work
};

} // namespace stepstore::steps

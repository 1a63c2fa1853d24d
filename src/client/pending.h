// One asynchronous call: its event, and everything that the call refers to.
// Threads: one at a time for each call; it may complete in another. Errors: wait() throws what the call
// failed with.
#pragma once

#include "base/not_copied.h"
#include "client/state.h"
#include "stepstore/admin.h"

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stepstore {

// A request of the C API on an array. Empty ranges and pieces are left out: a DAOS system's library hangs on
// them.
struct ArrayCall : NotCopied {
    // In the counts of a read that the library has not filled.
    static constexpr daos_size_t not_told = STEPSTORE_ARRAY_TELL; // and asks our library to tell

    explicit ArrayCall(std::span<const Range> cells);
    // -DER_INVAL: memory for no cells, or the other way round. Memory: Bytes or MutableBytes.
    template <class Memory>
    ArrayCall(std::span<const Range> cells, std::span<const Memory> memory);
    bool is_empty() const { return ranges.empty(); }

    std::vector<daos_range_t> ranges;
    std::vector<d_iov_t> pieces;
    daos_array_iod_t iod{};
    d_sg_list_t sgl{};
};

struct Pending::State : NotCopied {
    State(std::shared_ptr<EventQueue::State> queue, std::shared_ptr<const void> object);
    ~State();

    const Library& library() const { return queue->pool->library(); }
    // `call` launches the event, and gives an error at once when it does not. Another thread may see it
    // completed before the call returns.
    template <class Call>
    void start(Call&& call)
    {
        is_launched = running = true;
        const int code = call();
        if (code == 0) return;
        is_launched = running = false;
        fail(library(), code, tried());
    }
    void wait();
    bool ready() { return !running || test(DAOS_EQ_NOWAIT); }
    // With the result of the call, in the thread that took the event out: that has the message of an error.
    void completed(int result) noexcept;

    std::shared_ptr<EventQueue::State> queue;
    std::shared_ptr<const void> object; // stays open until the call completed
    std::function<std::string()> tried; // for the message of an error
    // The event comes first: a poll gives its address.
    struct Launched {
        daos_event_t event{};
        State* call = nullptr;
    } launch;
    bool is_launched = false;
    bool running = false;
    std::exception_ptr failure; // of the completed call, until it was thrown

    // What the call refers to:
    std::string key;
    std::optional<ArrayCall> array;

private:
    bool test(std::int64_t timeout);
};

} // namespace stepstore

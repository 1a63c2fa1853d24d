// One asynchronous call: its event, and everything that the call refers to.
#pragma once

#include "base/not_copied.h"
#include "client/state.h"
#include "stepstore/admin.h"

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
    // With the result of the call that launched the event: fails at once when it was not launched.
    void launched(int code);
    void wait();
    bool ready() { return !running || test(DAOS_EQ_NOWAIT); }

    std::shared_ptr<EventQueue::State> queue;
    std::shared_ptr<const void> object; // stays open until the call completed
    std::function<std::string()> tried; // for the message of an error
    daos_event_t event{};
    bool running = false;
    int code = 0; // of the completed call, until it was thrown

    // What the call refers to:
    std::string key;
    std::optional<ArrayCall> array;

private:
    bool test(std::int64_t timeout);
};

} // namespace stepstore

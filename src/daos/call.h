// How every call of the API runs: at once, or on a worker with an event; and what it returns.
#pragma once

#include "daos/events.h"
#include "daos/failure.h"
#include "daos/workers.h"

#include <functional>
#include <type_traits>
#include <utility>

namespace stepstore::daos {

bool initialised() noexcept;
void require_initialised(); // DER_UNINIT

// `prepare` looks up handles and checks arguments at once, in the caller's thread, so that a handle may be closed while
// its operations are in flight. It returns the operation, or nothing when all is done. Without an event the operation
// follows directly, in the same thread; with one, a worker carries it out, and every failure arrives in the event.
template <class Prepare>
int call(const char* name, daos_event_t* event, Prepare prepare) noexcept
{
    constexpr bool done_at_once = std::is_void_v<std::invoke_result_t<Prepare>>;
    EventState* state = nullptr;
    std::shared_ptr<EventQueue> queue;
    try {
        require_initialised();
        if (!event) {
            if constexpr (done_at_once)
                prepare();
            else
                prepare()();
            return 0;
        }
        state = event_state(event);
        queue = queue_of(state);
        queue->launch(state, false);
    } catch (...) {
        return report(current_failure(name));
    }
    try {
        if constexpr (done_at_once) {
            prepare();
            queue->complete(state, {});
        } else {
            run_on_worker([name, state, queue, operation = prepare()]() mutable {
                Failure failure;
                try {
                    operation();
                } catch (...) {
                    failure = current_failure(name);
                }
                queue->complete(state, std::move(failure));
            });
        }
    } catch (...) {
        queue->complete(state, current_failure(name));
    }
    return 0;
}

// Calls without an event; with what they return.
template <class Body>
int call(const char* name, Body body) noexcept
{
    try {
        require_initialised();
        if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
            body();
            return 0;
        } else {
            return body();
        }
    } catch (...) {
        return report(current_failure(name));
    }
}

} // namespace stepstore::daos

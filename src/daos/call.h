// How every call of the API runs: at once, or on a worker with an event; and what it returns.
// Threads: any. Errors: nothing is thrown; the call returns the code, or its event has it.
#pragma once

#include "base/interrupt.h"
#include "daos/events.h"
#include "daos/failure.h"
#include "daos/workers.h"

#include <functional>
#include <type_traits>
#include <utility>

namespace stepstore::daos {

bool initialised() noexcept;
void require_initialised(); // DER_UNINIT

// `prepare` looks up handles and checks arguments at once, in the caller's thread, so that a handle may be
// closed while its operations are in flight. It returns the operation, or nothing when all is done. Without
// an event the operation follows directly, in the same thread. With one, a worker carries it out, and every
// failure arrives in the event. An operation may return one more step, which tells the caller its result.
// With an event this step runs when the caller polls or tests, as in DAOS. So several calls in flight may
// share one *size.
template <class Prepare>
int call(const char* name, daos_event_t* event, Prepare prepare) noexcept
{
    using Operation = std::invoke_result_t<Prepare>;
    constexpr bool done_at_once = std::is_void_v<Operation>;
    const auto run = [](auto& operation) {
        if constexpr (std::is_void_v<std::invoke_result_t<decltype(operation)>>) {
            operation();
            return std::function<void()>();
        } else {
            return operation();
        }
    };
    EventState* state = nullptr;
    std::shared_ptr<EventQueue> queue;
    try {
        require_initialised();
        if (!event) {
            if constexpr (done_at_once)
                prepare();
            else if constexpr (std::is_void_v<std::invoke_result_t<Operation>>)
                prepare()();
            else
                prepare()()();
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
            const auto outcome = std::make_shared<Outcome>(name, state);
            run_on_worker([run, outcome, queue, operation = prepare()]() mutable {
                try {
                    const CarriedOutFor caller(queue->stop());
                    outcome->tell = run(operation);
                } catch (...) {
                    outcome->failure = current_failure(outcome->name);
                }
                queue->arrive(outcome);
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

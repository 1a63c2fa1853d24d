#include "client/pending.h"

#include <type_traits>
#include <utility>

namespace stepstore {

static_assert(std::is_standard_layout_v<Pending::State::Launched>);

EventQueue::State::State(std::shared_ptr<Pool::State> of) : pool(std::move(of))
{
    check(pool->library(), pool->library().eq_create(&handle),
          [&] { return "create an event queue on pool " + pool->location; });
}

EventQueue::State::~State()
{
    pool->library().eq_destroy(handle, 0);
} // what was pending kept this open, so it is empty

EventQueue::EventQueue(std::shared_ptr<State> state) : state_(std::move(state))
{
}
EventQueue::~EventQueue() = default;
EventQueue::EventQueue(EventQueue&&) noexcept = default;
EventQueue& EventQueue::operator=(EventQueue&&) noexcept = default;

std::vector<Pending::Id> EventQueue::poll(std::chrono::microseconds timeout)
{
    constexpr std::size_t most = 256; // then the caller looks at them first
    const Library& library = state_->pool->library();
    std::vector<Pending::Id> done;
    while (done.size() < most) { // one by one: the message of an error is that of the last one taken out
        daos_event_t* event = nullptr;
        const int found =
            library.eq_poll(state_->handle, 0, done.empty() ? timeout.count() : DAOS_EQ_NOWAIT, 1, &event);
        if (found < 0) fail(library, found, "wait for calls on pool " + state_->pool->location);
        if (found == 0) break;
        Pending::State& call = *reinterpret_cast<Pending::State::Launched*>(event)->call;
        call.completed(event->ev_error);
        done.push_back(&call);
    }
    return done;
}

Pending::State::State(std::shared_ptr<EventQueue::State> in, std::shared_ptr<const void> of)
    : queue(std::move(in)), object(std::move(of))
{
    launch.call = this;
    check(library(), library().event_init(&launch.event, queue->handle, nullptr),
          [&] { return "make an event on pool " + queue->pool->location; });
}

Pending::State::~State()
{
    while (running && !test(DAOS_EQ_WAIT)) {
    }
    library().event_fini(&launch.event);
}

// True when the call has completed.
bool Pending::State::test(std::int64_t timeout)
{
    bool done = false;
    const int rc = library().event_test(&launch.event, timeout, &done);
    if (rc == 0 && !done) return false;
    completed(rc == 0 ? launch.event.ev_error
                      : rc); // where that fails, the queue is gone, and with it the event
    return true;
}

void Pending::State::completed(int result) noexcept
{
    running = false;
    try {
        if (result != 0) fail(library(), result, tried());
    } catch (...) {
        failure = std::current_exception();
    }
}

void Pending::State::wait()
{
    while (running && !test(DAOS_EQ_WAIT)) {
    }
    if (const auto failed = std::exchange(failure, nullptr)) std::rethrow_exception(failed);
}

Pending::Pending() = default;
Pending::~Pending() = default;
Pending::Pending(Pending&&) noexcept = default;
Pending& Pending::operator=(Pending&&) noexcept = default;

void Pending::wait()
{
    if (state_) state_->wait();
}

std::uint64_t Pending::cells_short() const
{
    if (!state_ || !state_->array) return 0;
    return tells_cells_short() ? state_->array->iod.arr_nr_short_read : 0;
}

Pending::Id Pending::id() const
{
    return state_ && state_->is_launched ? state_.get() : nullptr;
}

bool Pending::tells_cells_short() const
{
    return state_ && state_->array && state_->array->iod.arr_nr_short_read != ArrayCall::not_told;
}

bool Pending::ready()
{
    return !state_ || state_->ready();
}

} // namespace stepstore

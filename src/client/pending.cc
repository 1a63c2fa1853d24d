#include "client/pending.h"

#include <utility>

namespace stepstore {

EventQueue::State::State(std::shared_ptr<Pool::State> of) : pool(std::move(of))
{
    check(pool->library(), pool->library().eq_create(&handle),
          [&] { return "create an event queue on pool " + pool->location; });
}

EventQueue::State::~State()
{
    pool->library().eq_destroy(handle, 0);
} // what was pending kept this open, so it is empty

EventQueue::EventQueue() = default;
EventQueue::~EventQueue() = default;
EventQueue::EventQueue(EventQueue&&) noexcept = default;
EventQueue& EventQueue::operator=(EventQueue&&) noexcept = default;

Pending::State::State(std::shared_ptr<EventQueue::State> in, std::shared_ptr<const void> of)
    : queue(std::move(in)), object(std::move(of))
{
    check(library(), library().event_init(&event, queue->handle, nullptr),
          [&] { return "make an event on pool " + queue->pool->location; });
}

Pending::State::~State()
{
    while (running && !test(DAOS_EQ_WAIT)) {
    }
    library().event_fini(&event);
}

void Pending::State::launched(int rc)
{
    check(library(), rc, tried);
    running = true;
}

// True when the call has completed.
bool Pending::State::test(std::int64_t timeout)
{
    bool done = false;
    const int rc = library().event_test(&event, timeout, &done);
    if (rc != 0) { // the queue is gone, and with it the event
        running = false;
        code = rc;
        return true;
    }
    if (!done) return false;
    running = false;
    code = event.ev_error;
    return true;
}

void Pending::State::wait()
{
    while (running && !test(DAOS_EQ_WAIT)) {
    }
    if (const int failed = std::exchange(code, 0)) fail(library(), failed, tried());
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
    const daos_size_t cells = state_->array->iod.arr_nr_short_read;
    return cells == ArrayCall::not_told ? 0 : cells;
}

bool Pending::ready()
{
    return !state_ || state_->ready();
}

} // namespace stepstore

#include "daos/events.h"

#include "base/errno_of.h"
#include "base/interrupt.h"

#include "base/fork.h"
#include "daos/workers.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace stepstore::daos {

struct Callback {
    daos_event_comp_cb_t function;
    void* arg;
};

struct EventState {
    static constexpr std::uint64_t magic_value = 0x5374657045766e74;    // "StepEvnt"
    static constexpr std::uint64_t magic_finished = 0x53746570446f6e65; // "StepDone"

    // What needs the heap, made when there is an error message or a callback.
    struct Extra {
        std::string message;
        std::vector<Callback> callbacks;
    };

    std::uint64_t magic = 0;
    std::uint64_t queue = 0; // cookie; 0: the queue of events without one
    EventState* parent = nullptr;
    EventState* previous = nullptr; // in the one list that the event is in:
    EventState* next = nullptr;     // its parent's children, or its queue's running or completed events
    Extra* extra = nullptr;
    EventList children;
    std::uint32_t children_running = 0;
    std::uint32_t children_completed = 0;
    std::int32_t status = DAOS_EVS_READY;
    bool barrier = false;
    bool tells_errno = false; // once: ev_error becomes a positive errno
    bool own_first = false;   // once: the next callback goes before those that are there

    Extra& extras()
    {
        if (!extra) extra = new Extra;
        return *extra;
    }
};
static_assert(sizeof(EventState) <= sizeof(daos_event_t::ev_private) &&
              alignof(EventState) <= alignof(std::uint64_t));
static_assert(std::is_trivially_destructible_v<EventState>);

void EventList::push_back(EventState* event)
{
    event->previous = last_;
    event->next = nullptr;
    (last_ ? last_->next : first_) = event;
    last_ = event;
    ++size_;
}

void EventList::remove(EventState* event)
{
    (event->previous ? event->previous->next : first_) = event->next;
    (event->next ? event->next->previous : last_) = event->previous;
    event->previous = event->next = nullptr;
    --size_;
}

EventState* event_state(daos_event_t* event)
{
    require(event, "the event");
    auto* state = std::launder(reinterpret_cast<EventState*>(&event->ev_private));
    if (state->magic != EventState::magic_value)
        invalid("the event is not initialised: call daos_event_init first");
    return state;
}

static bool is_finished(daos_event_t* event)
{
    require(event, "the event");
    return std::launder(reinterpret_cast<EventState*>(&event->ev_private))->magic ==
           EventState::magic_finished;
}

daos_event_t* event_of(EventState* state)
{
    return reinterpret_cast<daos_event_t*>(reinterpret_cast<char*>(state) -
                                           offsetof(daos_event_t, ev_private));
}

std::shared_ptr<EventQueue> event_queue(daos_handle_t handle)
{
    auto found = find_handle(handle);
    if (!found || found->kind() != Kind::event_queue)
        throw Error(-DER_NONEXIST, "there is no event queue with handle " + std::to_string(handle.cookie) +
                                       ": it was destroyed, or never created by this process");
    auto queue = std::static_pointer_cast<EventQueue>(found);
    if (!queue->of_this_process())
        throw Error(-DER_NONEXIST,
                    "the event queue belongs to the parent process: create one after the fork");
    return queue;
}

std::shared_ptr<EventQueue> queue_of(const EventState* event)
{
    if (event->queue != 0) return event_queue({event->queue});
    static std::shared_ptr<EventQueue>& queue =
        *new std::shared_ptr<EventQueue>(std::make_shared<EventQueue>());
    const std::lock_guard lock(held_over_fork(ForkLock::handles));
    if (!queue->of_this_process()) {
        new std::shared_ptr<EventQueue>(std::move(queue)); // NOLINT: the parent's, left behind
        queue = std::make_shared<EventQueue>();
    }
    return queue;
}

void event_init(daos_event_t* event, daos_handle_t queue, daos_event_t* parent)
{
    require(event, "the event");
    EventState* parent_state = parent ? event_state(parent) : nullptr;
    if (parent == event) invalid("an event cannot be its own parent");
    if (parent_state && parent_state->parent) throw Error(-DER_NO_PERM, "a child event cannot have children");
    if (parent_state) queue = {parent_state->queue};
    if (daos_handle_is_valid(queue)) event_queue(queue);
    std::memset(event, 0, sizeof *event);
    auto* state = new (&event->ev_private) EventState;
    state->queue = queue.cookie;
    if (parent_state) queue_of(parent_state)->add_child(parent_state, state);
    state->magic = EventState::magic_value;
}

EventQueue::~EventQueue()
{
    // One by one: a long chain that destroys itself needs a deep stack.
    while (first_arrived_)
        first_arrived_ = std::shared_ptr<Outcome>(std::move(first_arrived_->next));
}

void EventQueue::add_child(EventState* parent, EventState* child)
{
    const std::lock_guard lock(mutex_);
    if (parent->status != DAOS_EVS_READY)
        invalid("the parent event is launched already: add children before the launch");
    child->parent = parent;
    parent->children.push_back(child);
}

void EventQueue::add_callback(EventState* event, daos_event_comp_cb_t callback, void* arg)
{
    const std::lock_guard lock(mutex_);
    auto& callbacks = event->extras().callbacks;
    callbacks.insert(event->own_first ? callbacks.begin() : callbacks.end(), {callback, arg});
    event->own_first = false;
}

void EventQueue::launch(EventState* event, bool barrier)
{
    const std::lock_guard lock(mutex_);
    if (finalizing_) throw Error(-DER_NONEXIST, "the event queue is being destroyed");
    if (event->status != DAOS_EVS_READY)
        throw Error(-DER_NO_PERM, "the event is in use: poll or test it until it has completed");
    if (barrier && event->children.empty())
        invalid("the event has no children to wait for: give it children, or launch it without a barrier");
    if (event->children.size() > event->children_running + event->children_completed)
        throw Error(-DER_NO_PERM, "launch all children before their parent");
    if (event->extra) event->extra->message.clear();
    event->status = DAOS_EVS_RUNNING;
    event->barrier = barrier;
    if (event->parent) {
        ++event->parent->children_running;
        return;
    }
    // A parent has the error of its first child that failed; it may have completed before.
    if (event->children.empty()) event_of(event)->ev_error = 0;
    if (running_.empty()) stop_ = false; // of waits before
    running_.push_back(event);
    if (barrier && event->children.size() == event->children_completed) complete_locked(event, {});
}

void EventQueue::tell_errno(EventState* event)
{
    const std::lock_guard lock(mutex_);
    event->tells_errno = true;
    event->own_first = true;
}

void EventQueue::complete(EventState* event, Failure failure)
{
    // Callbacks run before anybody can see the event completed, and without the lock, so that they may launch
    // others.
    std::vector<Callback> callbacks;
    {
        const std::lock_guard lock(mutex_);
        if (event->extra) callbacks.swap(event->extra->callbacks);
    }
    for (const auto& [function, arg] : callbacks)
        if (const int rc = function(arg, event_of(event), failure.code); failure.code == 0) failure.code = rc;
    const std::lock_guard lock(mutex_);
    complete_locked(event, failure);
}

void EventQueue::complete_locked(EventState* event, const Failure& failure)
{
    const auto keep_error = [](EventState* of, const Failure& first) {
        if (event_of(of)->ev_error != 0 || first.code == 0) return;
        event_of(of)->ev_error = of->tells_errno ? errno_of(first.code) : first.code;
        try {
            of->extras().message = first.message;
        } catch (const std::bad_alloc&) {
            return; // the code is enough
        }
    };
    if (event->children.empty()) event_of(event)->ev_error = 0;
    keep_error(event, failure);
    event->tells_errno = false;
    event->own_first = false;
    event->status = DAOS_EVS_COMPLETED;
    if (EventState* parent = event->parent) {
        keep_error(parent, failure);
        --parent->children_running;
        ++parent->children_completed;
        const bool last = parent->children_completed == parent->children.size();
        if (last && parent->barrier && parent->status == DAOS_EVS_RUNNING) complete_locked(parent, {});
    } else {
        running_.remove(event);
        if (running_.empty()) stop_ = false;
        completed_.push_back(event);
    }
    changed_.notify_all();
}

void EventQueue::arrive(std::shared_ptr<Outcome> outcome)
{
    const std::lock_guard lock(mutex_);
    Outcome* last = outcome.get();
    (first_arrived_ ? last_arrived_->next : first_arrived_) = std::move(outcome);
    last_arrived_ = last;
    changed_.notify_all();
}

// Completes what has arrived. Gives up the lock meanwhile.
void EventQueue::progress(std::unique_lock<std::mutex>& lock)
{
    while (first_arrived_) {
        const auto outcome = std::exchange(first_arrived_, first_arrived_->next);
        lock.unlock();
        if (outcome->tell) {
            try {
                outcome->tell();
            } catch (...) {
                outcome->failure = current_failure(outcome->name);
            }
        }
        complete(outcome->event, std::move(outcome->failure));
        lock.lock();
    }
}

// Takes a completed event out of the queue; it may be used again. Its message becomes the thread's.
void EventQueue::take(EventState* event)
{
    completed_.remove(event);
    event->status = DAOS_EVS_READY;
    event->barrier = false;
    if (!event->extra) return;
    if (event_of(event)->ev_error != 0) set_last_message(std::move(event->extra->message));
    if (event->extra->callbacks.empty()) delete std::exchange(event->extra, nullptr);
}

template <class Done>
bool EventQueue::wait(std::unique_lock<std::mutex>& lock, std::int64_t timeout, Done done)
{
    const auto done_now = [&] {
        progress(lock);
        return done();
    };
    if (timeout == DAOS_EQ_NOWAIT) return done_now();
    // A wait of some centuries is one for ever; the clock cannot count further.
    constexpr std::int64_t longest = std::int64_t{1} << 52;
    if (timeout < 0 || timeout > longest) {
        // A thread that waits for ever may as well do the work: that saves two switches of threads when one
        // call is in flight.
        while (!done_now()) {
            lock.unlock();
            const bool helped = help_workers();
            lock.lock();
            if (helped || changed_.wait_for(lock, between_asking, done_now)) continue;
            lock.unlock();
            if (asked_to_stop()) stop_ = true; // and so these calls end, which hold the caller's memory
            lock.lock();
        }
        return true;
    }
    return changed_.wait_for(lock, std::chrono::microseconds(timeout), done_now);
}

int EventQueue::poll(bool wait_running, std::int64_t timeout, unsigned count, daos_event_t** events)
{
    std::unique_lock lock(mutex_);
    int taken = 0;
    const auto done = [&] {
        for (EventState* event = completed_.first(); event && taken < static_cast<int>(count);) {
            EventState* following = event->next;
            // A parent with an operation of its own waits for its children.
            if (event->children_running == 0) {
                take(event);
                events[taken++] = event_of(event);
            }
            event = following;
        }
        return taken > 0 || finalizing_ || (wait_running && running_.empty() && completed_.empty());
    };
    wait(lock, timeout, done);
    if (taken == 0 && finalizing_) throw Error(-DER_NONEXIST, "the event queue is being destroyed");
    return taken;
}

int EventQueue::query(unsigned what, unsigned count, daos_event_t** events)
{
    const std::lock_guard lock(mutex_);
    unsigned found = 0;
    const auto look = [&](const EventList& list) {
        if (count == 0 || !events) {
            found += list.size();
            return;
        }
        for (EventState* event = list.first(); event && found < count; event = event->next)
            events[found++] = event_of(event);
    };
    if (what & DAOS_EQR_COMPLETED) look(completed_);
    if (what & DAOS_EQR_WAITING) look(running_);
    return static_cast<int>(found);
}

bool EventQueue::test(EventState* event, std::int64_t timeout)
{
    std::unique_lock lock(mutex_);
    if (event->parent) throw Error(-DER_NO_PERM, "the event is a child: test its parent");
    const auto done = [&] {
        return event->status == DAOS_EVS_READY ||
               (event->status == DAOS_EVS_COMPLETED && event->children_running == 0);
    };
    if (!wait(lock, timeout, done)) return false;
    if (event->status == DAOS_EVS_COMPLETED) take(event);
    return true;
}

void EventQueue::abort(EventState* event)
{
    const std::lock_guard lock(mutex_);
    if (event->status != DAOS_EVS_RUNNING) throw Error(-DER_NO_PERM, "the event is not running");
}

EventState* EventQueue::next_child(EventState* parent, EventState* child)
{
    const std::lock_guard lock(mutex_);
    if (child && child->parent != parent) invalid("the second event is not a child of the first");
    return child ? child->next : parent->children.first();
}

static void forget(EventState* event)
{
    event->magic = EventState::magic_finished;
    delete std::exchange(event->extra, nullptr);
}

void event_fini(daos_event_t* event)
{
    if (is_finished(event)) return; // once more, or after its parent, which finishes its children
    EventState* state = event_state(event);
    std::shared_ptr<EventQueue> queue;
    try {
        queue = queue_of(state);
    } catch (const Error&) {
        forget(state); // its queue is gone, and has waited for it: nobody else has the event
        throw;
    }
    queue->finish(state);
}

void EventQueue::finish(EventState* event)
{
    const std::lock_guard lock(mutex_);
    if (event->status == DAOS_EVS_RUNNING || event->children_running > 0)
        throw Error(-DER_BUSY,
                    "the event or a child of it is running: poll or test it until it has completed");
    while (EventState* child = event->children.first()) {
        event->children.remove(child);
        forget(child);
    }
    if (EventState* parent = event->parent) {
        if (parent->status != DAOS_EVS_READY) invalid("the parent event is launched: poll or test it first");
        parent->children.remove(event);
        if (event->status == DAOS_EVS_COMPLETED) --parent->children_completed;
    } else if (event->status == DAOS_EVS_COMPLETED) {
        completed_.remove(event);
    }
    forget(event);
}

void EventQueue::finalize(bool force)
{
    std::unique_lock lock(mutex_);
    if (!force && !(running_.empty() && completed_.empty()))
        throw Error(-DER_BUSY, "the event queue has " + std::to_string(running_.size()) + " running and " +
                                   std::to_string(completed_.size()) +
                                   " completed events: poll them, or destroy it with DAOS_EQ_DESTROY_FORCE");
    finalizing_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] {
        progress(lock);
        for (EventState* event = completed_.first(); event; event = event->next)
            if (event->children_running > 0) return false;
        return running_.empty();
    });
    while (EventState* event = completed_.first())
        take(event);
}

} // namespace stepstore::daos

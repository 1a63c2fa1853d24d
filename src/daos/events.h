// Events and event queues. docs/design/events.md has the rules; daos_event.h what callers see.
//
// The state of an event lives in the caller's daos_event_t (ev_private), guarded by the mutex of its queue;
// events without a queue share one of their own. Nothing but this file looks into ev_private.
//
// Threads: any; waiting for a queue drives what its workers have brought. Errors: DER_NONEXIST, DER_BUSY,
// DER_NO_PERM, DER_INVAL, as daos_event.h says of each call.
#pragma once

#include "base/fork.h"
#include "daos/handles.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace stepstore::daos {

struct EventState;

// Events linked through their state.
class EventList {
public:
    bool empty() const { return first_ == nullptr; }
    std::uint32_t size() const { return size_; }
    EventState* first() const { return first_; }
    void push_back(EventState* event);
    void remove(EventState* event);

private:
    EventState* first_ = nullptr;
    EventState* last_ = nullptr;
    std::uint32_t size_ = 0;
};

// A launched operation that a worker has carried out.
struct Outcome {
    Outcome(const char* name, EventState* event) : name(name), event(event) {}
    const char* name; // of the call
    EventState* event;
    Failure failure;
    std::function<void()> tell; // what is written to the caller's memory when the event completes; may throw
    std::shared_ptr<Outcome> next;
};

class EventQueue : public Resource {
public:
    static constexpr Kind handle_kind = Kind::event_queue;
    EventQueue() : Resource(handle_kind) {}
    ~EventQueue() override;
    std::string name() const override { return "event queue"; }

    int poll(bool wait_running, std::int64_t timeout, unsigned count, daos_event_t** events);
    int query(unsigned what, unsigned count, daos_event_t** events);
    void finalize(bool force); // DER_BUSY

    // Of an event that belongs to this queue:
    void add_child(EventState* parent, EventState* child);
    void launch(EventState* event, bool barrier);
    void complete(EventState* event, Failure failure); // by the caller's thread
    void arrive(std::shared_ptr<Outcome> outcome); // by a worker: completes when the caller polls or tests
    bool test(EventState* event, std::int64_t timeout);
    void finish(EventState* event); // DER_BUSY
    void abort(EventState* event);
    EventState* next_child(EventState* parent, EventState* child);
    void add_callback(EventState* event, daos_event_comp_cb_t callback, void* arg);
    // libdfs launches the event. Its own callback, if it adds one, comes next, and runs before the program's:
    // those see the size that was read.
    void tell_errno(EventState* event);

    bool of_this_process() const { return generation_ == process_generation(); }
    // Set while a thread that waits for calls in flight is asked to stop; workers look at it when they wait.
    const std::atomic<bool>& stop() const { return stop_; }

private:
    template <class Done>
    bool wait(std::unique_lock<std::mutex>& lock, std::int64_t timeout, Done done);
    void progress(std::unique_lock<std::mutex>& lock);
    void complete_locked(EventState* event, const Failure& failure);
    void take(EventState* event);

    const std::uint64_t generation_ = process_generation();
    std::mutex mutex_; // guards the following and the states of the events
    std::condition_variable changed_;
    std::shared_ptr<Outcome> first_arrived_;
    Outcome* last_arrived_ = nullptr;
    std::atomic<bool> stop_{false};
    EventList running_;
    EventList completed_;
    bool finalizing_ = false;
};

std::shared_ptr<EventQueue> event_queue(daos_handle_t handle); // DER_NONEXIST, as libdaos has it

// ---- for the calls of the API

void event_init(daos_event_t* event, daos_handle_t queue, daos_event_t* parent);
// Releases what the event holds, also if its queue is gone, which is DER_NONEXIST.
void event_fini(daos_event_t* event);
EventState* event_state(daos_event_t* event);                  // DER_INVAL: was not initialised
std::shared_ptr<EventQueue> queue_of(const EventState* event); // DER_NONEXIST
daos_event_t* event_of(EventState* event);

} // namespace stepstore::daos

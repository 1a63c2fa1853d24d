#include "events.h"

#include "world.h"

#include <utility>

namespace stepstore::sim {

namespace {

struct Launched {
    bool running = false;
    simgrid::s4u::SemaphorePtr done = simgrid::s4u::Semaphore::create(0);
};

Launched* state_of(const daos_event_t* event)
{
    return reinterpret_cast<Launched*>(event->ev_private.space[0]);
}

int create_queue(daos_handle_t* queue)
{
    static std::uint64_t last = 0;
    queue->cookie = ++last;
    return 0;
}

int destroy_queue(daos_handle_t, int)
{
    return 0;
}

int init_event(daos_event_t* event, daos_handle_t, daos_event_t*)
{
    *event = {};
    event->ev_private.space[0] = reinterpret_cast<std::uint64_t>(new Launched);
    return 0;
}

int finish_event(daos_event_t* event)
{
    if (state_of(event)->running) return -DER_BUSY;
    delete state_of(event);
    return 0;
}

int test_event(daos_event_t* event, std::int64_t timeout, bool* flag)
{
    Launched& launched = *state_of(event);
    if (timeout != DAOS_EQ_NOWAIT) launched.done->acquire();
    *flag = timeout != DAOS_EQ_NOWAIT || !launched.running;
    return 0;
}

} // namespace

int launch(daos_event_t* event, std::function<int()> rest)
{
    if (event == nullptr) return rest();
    World& world = World::current();
    if (world.machine().is_one()) {
        event->ev_error = rest();
        state_of(event)->done->release();
        return 0;
    }
    state_of(event)->running = true;
    beside([event, rest = std::move(rest), &world, &client = world.client()] {
        world.act_for(client);
        event->ev_error = rest();
        state_of(event)->running = false;
        state_of(event)->done->release();
    });
    return 0;
}

void replace_events(Library& library)
{
    library.eq_create = &create_queue;
    library.eq_destroy = &destroy_queue;
    library.event_init = &init_event;
    library.event_fini = &finish_event;
    library.event_test = &test_event;
}

} // namespace stepstore::sim

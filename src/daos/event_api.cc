// daos_eq_ and daos_event_.
#include "daos/api.h"

#include "daos/call.h"

using namespace stepstore::daos;

extern "C" {

int daos_eq_create(daos_handle_t* eqh)
{
    return call("daos_eq_create", [&] {
        require(eqh, "eqh");
        *eqh = insert_handle(std::make_shared<EventQueue>());
    });
}

int daos_eq_destroy(daos_handle_t eqh, int flags)
{
    return call("daos_eq_destroy", [&] {
        event_queue(eqh)->finalize((flags & DAOS_EQ_DESTROY_FORCE) != 0);
        close_handle(eqh, Kind::event_queue);
    });
}

int daos_eq_poll(daos_handle_t eqh, int wait_running, int64_t timeout, unsigned int nevents,
                 daos_event_t** events)
{
    return call("daos_eq_poll", [&] {
        require(events, "events");
        if (nevents == 0 || nevents > INT_MAX) invalid("give room for 1 to INT_MAX events");
        return event_queue(eqh)->poll(wait_running != 0, timeout, nevents, events);
    });
}

int daos_eq_query(daos_handle_t eqh, daos_eq_query_t query, unsigned int nevents, daos_event_t** events)
{
    return call("daos_eq_query", [&] { return event_queue(eqh)->query(number_of(query), nevents, events); });
}

int daos_event_init(daos_event_t* ev, daos_handle_t eqh, daos_event_t* parent)
{
    return call("daos_event_init", [&] { event_init(ev, eqh, parent); });
}

int daos_event_fini(daos_event_t* ev)
{
    return call("daos_event_fini", [&] { event_fini(ev); });
}

daos_event_t* daos_event_next(daos_event_t* parent, daos_event_t* child)
{
    daos_event_t* next = nullptr;
    call("daos_event_next", [&] {
        EventState* state = event_state(parent);
        EventState* found = queue_of(state)->next_child(state, child ? event_state(child) : nullptr);
        if (found) next = event_of(found);
    });
    return next;
}

int daos_event_test(daos_event_t* ev, int64_t timeout, bool* flag)
{
    return call("daos_event_test", [&] {
        require(flag, "flag");
        EventState* state = event_state(ev);
        *flag = queue_of(state)->test(state, timeout);
    });
}

int daos_event_register_comp_cb(daos_event_t* ev, daos_event_comp_cb_t cb, void* arg)
{
    return call("daos_event_register_comp_cb", [&] {
        if (!cb) invalid("the callback is NULL");
        EventState* state = event_state(ev);
        queue_of(state)->add_callback(state, cb, arg);
    });
}

int daos_event_errno_rc(daos_event_t* ev)
{
    return call("daos_event_errno_rc", [&] {
        EventState* state = event_state(ev);
        queue_of(state)->tell_errno(state);
    });
}

int daos_event_parent_barrier(daos_event_t* ev)
{
    return call("daos_event_parent_barrier", [&] {
        EventState* state = event_state(ev);
        queue_of(state)->launch(state, true);
    });
}

int daos_event_abort(daos_event_t* ev)
{
    return call("daos_event_abort", [&] {
        EventState* state = event_state(ev);
        queue_of(state)->abort(state);
    });
}

} // extern "C"

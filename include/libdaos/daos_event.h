/*
 * Event queues and events: asynchronous completion.
 *
 * An event belongs to a queue, to a parent event, or (initialised with DAOS_HDL_INVAL) to neither. A call
 * launches it, it runs, and it completes. Then daos_eq_poll() or daos_event_test() takes it out, and it may
 * be used again. Children are never taken out themselves: their parent comes out when all of them have
 * completed.
 *
 * Time-outs are in microseconds. DAOS_EQ_WAIT waits for ever, DAOS_EQ_NOWAIT not at all.
 *
 * Threads: several may use one queue at the same time; an event belongs to one of them between its calls.
 * Errors: daos.h; each call names the codes that are its own.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_EVENT_H
#define STEPSTORE_LIBDAOS_DAOS_EVENT_H

#include <daos_errno.h>
#include <daos_types.h>

#ifdef __cplusplus
extern "C" {
#endif

int daos_eq_create(daos_handle_t* eqh);

/* -DER_NONEXIST: no such queue. -DER_BUSY: it has launched events, unless flags has DAOS_EQ_DESTROY_FORCE,
 * which waits for them. */
#define DAOS_EQ_DESTROY_FORCE 1
int daos_eq_destroy(daos_handle_t eqh, int flags);

/*
 * Takes up to `nevents` completed events out of the queue into `events`, and returns their number. Where
 * there are none, it waits up to `timeout`; with `wait_running` it returns 0 at once where no event is
 * running. -DER_NONEXIST: no such queue.
 */
int daos_eq_poll(daos_handle_t eqh, int wait_running, int64_t timeout, unsigned int nevents,
                 daos_event_t** events);

/*
 * Looks at the events of a queue without taking them out. Returns how many were put into `events`, or, with
 * NULL or 0 `nevents`, how many there are. -DER_NONEXIST.
 */
int daos_eq_query(daos_handle_t eqh, daos_eq_query_t query, unsigned int nevents, daos_event_t** events);

/*
 * Makes an event ready for use. `eqh` is not looked at when there is a `parent`. -DER_NONEXIST: no such
 * queue. -DER_INVAL: the parent is launched already. -DER_NO_PERM: the parent is a child itself.
 */
int daos_event_init(daos_event_t* ev, daos_handle_t eqh, daos_event_t* parent);

/* Ends the use of an event and of its children. -DER_BUSY while it runs. */
int daos_event_fini(daos_event_t* ev);

/* The child after `child`, or the first one for NULL; NULL at the end. */
daos_event_t* daos_event_next(daos_event_t* parent, daos_event_t* child);

/* *flag: whether the event has completed, after waiting up to `timeout`. If so, it is taken out.
 * -DER_NO_PERM: it is a child. */
int daos_event_test(struct daos_event* ev, int64_t timeout, bool* flag);

/* Calls `cb` once with `arg`, the event and the result when the event completes, from the thread that
 * completes it. */
typedef int (*daos_event_comp_cb_t)(void*, daos_event_t*, int);
int daos_event_register_comp_cb(struct daos_event* ev, daos_event_comp_cb_t cb, void* arg);

/* The next time that the event completes, its ev_error is 0 or a positive errno. */
int daos_event_errno_rc(struct daos_event* ev);

/*
 * Launches a parent that has no operation of its own. It completes when all its children have, with the error
 * of the first of them that failed. -DER_INVAL: no children. -DER_NO_PERM: not all of them are launched.
 */
int daos_event_parent_barrier(struct daos_event* ev);

/* Does not stop the operation (as in DAOS): the event still completes, and the caller must wait for it.
 * -DER_NO_PERM: not running. */
int daos_event_abort(daos_event_t* ev);

#ifdef __cplusplus
}
#endif
#endif

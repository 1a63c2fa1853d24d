/* Events. The events of the other calls are the driver's. A part of sequences.c. */
static _Thread_local daos_event_t own[4]; /* zeroes, begun or ended */
static daos_event_t* any_event(void)
{
    return wrong(12) ? NULL : &own[below(4)];
}
/* To begin it again without this would leak what it holds. */
static daos_event_t* ended_event(void)
{
    daos_event_t* const event = any_event();
    int const rc = event ? daos_event_fini(event) : 0;
    return rc == -DER_BUSY ? NULL : event;
}
CALL(daos_eq_create)
{
    NO_EVENT;
    return daos_eq_create(new_handle(QUEUE));
}
CALL(daos_eq_destroy)
{
    NO_EVENT;
    return one_in(4) ? daos_eq_destroy(any_handle(QUEUE), (int)below(3)) : 0;
}
CALL(daos_eq_poll)
{
    NO_EVENT;
    int const nr = daos_eq_poll(any_handle(QUEUE), (int)below(2), below(50), below(5),
                                memory_or_null(4 * sizeof(daos_event_t*)));
    return nr > 0 ? 0 : nr;
}
CALL(daos_eq_query)
{
    NO_EVENT;
    int const nr = daos_eq_query(any_handle(QUEUE), (daos_eq_query_t)below(5), below(5),
                                 memory_or_null(4 * sizeof(daos_event_t*)));
    return nr > 0 ? 0 : nr;
}
CALL(daos_event_init)
{
    NO_EVENT;
    daos_handle_t const queue = one_in(2) ? DAOS_HDL_INVAL : any_handle(QUEUE);
    return daos_event_init(ended_event(), queue, one_in(2) ? NULL : any_event());
}
CALL(daos_event_fini)
{
    NO_EVENT;
    return daos_event_fini(any_event());
}
CALL(daos_event_next)
{
    NO_EVENT;
    daos_event_next(any_event(), any_event());
    return 0;
}
CALL(daos_event_test)
{
    NO_EVENT;
    return daos_event_test(any_event(), below(50), memory_or_null(sizeof(bool)));
}
static int on_completion(void* arg, daos_event_t* ev, int rc)
{
    (void)arg, (void)ev;
    return rc;
}
CALL(daos_event_register_comp_cb)
{
    NO_EVENT;
    return daos_event_register_comp_cb(any_event(), one_in(8) ? NULL : on_completion, NULL);
}
CALL(daos_event_errno_rc)
{
    NO_EVENT;
    return daos_event_errno_rc(any_event());
}
CALL(daos_event_parent_barrier)
{
    NO_EVENT;
    return daos_event_parent_barrier(any_event());
}
CALL(daos_event_abort)
{
    NO_EVENT;
    return daos_event_abort(any_event());
}

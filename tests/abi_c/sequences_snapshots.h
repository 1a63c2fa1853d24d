/* Snapshots. A part of sequences.c. */
CALL(daos_cont_create_snap)
{
    return one_in(3) ? daos_cont_create_snap(any_handle(CONTAINER), memory_or_null(sizeof(daos_epoch_t)),
                                             any_snapshot_name(), ev)
                     : 0;
}
CALL(daos_cont_create_snap_opt)
{
    if (!one_in(3)) return 0;
    return daos_cont_create_snap_opt(any_handle(CONTAINER), memory_or_null(sizeof(daos_epoch_t)),
                                     any_snapshot_name(), (enum daos_snapshot_opts)below(5), ev);
}
CALL(daos_cont_list_snap)
{
    int* const nr = memory_or_null(sizeof *nr);
    if (nr) *nr = wrong(12) ? -1 : (int)below(5);
    char** names = NULL;
    if (one_in(2)) {
        names = memory(4 * sizeof *names);
        for (int i = 0; i < 4; ++i)
            names[i] = one_in(8) ? NULL : memory(DAOS_SNAPSHOT_MAX_LEN);
    }
    daos_epoch_t* const epochs = memory_or_null(4 * sizeof *epochs);
    if (epochs) memset(epochs, 0, 4 * sizeof *epochs);
    int const rc = daos_cont_list_snap(any_handle(CONTAINER), nr, epochs, names, any_anchor(), ev);
    listed_epochs = epochs;
    return rc;
}
CALL(daos_cont_destroy_snap)
{
    daos_epoch_range_t range = {any_epoch(), any_epoch()};
    if (!one_in(6)) range.epr_hi = range.epr_lo;
    return daos_cont_destroy_snap(any_handle(CONTAINER), range, ev);
}
CALL(stepstore_cont_destroy_snaps)
{
    NO_EVENT;
    daos_epoch_t* const epochs = memory_or_null(2 * sizeof *epochs);
    if (epochs) epochs[0] = any_epoch(), epochs[1] = any_epoch();
    return stepstore_cont_destroy_snaps(any_handle(CONTAINER), epochs, below(3));
}
CALL(daos_tx_open)
{
    return daos_tx_open(any_handle(CONTAINER), new_handle(SNAPSHOT), wrong(6) ? any_number() : below(4), ev);
}
CALL(daos_tx_commit)
{
    return daos_tx_commit(any_handle(SNAPSHOT), ev);
}
CALL(daos_tx_abort)
{
    return one_in(6) ? daos_tx_abort(any_handle(SNAPSHOT), ev) : 0;
}
CALL(daos_tx_restart)
{
    return daos_tx_restart(any_handle(SNAPSHOT), ev);
}
CALL(daos_tx_open_snap)
{
    return daos_tx_open_snap(any_handle(CONTAINER), any_epoch(), new_handle(SNAPSHOT), ev);
}
CALL(daos_tx_close)
{
    return one_in(6) ? daos_tx_close(any_handle(SNAPSHOT), ev) : 0;
}
CALL(daos_tx_hdl2epoch)
{
    NO_EVENT;
    return daos_tx_hdl2epoch(any_handle(SNAPSHOT), memory_or_null(sizeof(daos_epoch_t)));
}
CALL(daos_hlc2timespec)
{
    NO_EVENT;
    return daos_hlc2timespec(any_number(), memory_or_null(sizeof(struct timespec)));
}
CALL(daos_hlc2timestamp)
{
    NO_EVENT;
    return daos_hlc2timestamp(any_number(), memory_or_null(sizeof(time_t)));
}

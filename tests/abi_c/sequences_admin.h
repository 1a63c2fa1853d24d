/* What DAOS leaves to its administrators. A part of sequences.c. */
CALL(stepstore_last_message)
{
    NO_EVENT;
    CHECK(stepstore_last_message() != NULL);
    return 0;
}
CALL(stepstore_ask_in_waits)
{
    NO_EVENT;
    stepstore_ask_in_waits(one_in(2) ? never : NULL);
    return 0;
}
CALL(stepstore_pool_create) /* where one is, or none can be */
{
    NO_EVENT;
    static char const* const others[] = {"", "/dev/null/pool", "daos://", "rados://", "local:", "x://y"};
    return stepstore_pool_create(wrong(2) ? others[below(6)] : attacked, NULL);
}
CALL(stepstore_pool_destroy) /* which this process has open */
{
    NO_EVENT;
    return stepstore_pool_destroy(any_pool());
}
CALL(stepstore_pool_path)
{
    NO_EVENT;
    size_t* const size = memory_or_null(sizeof *size);
    if (size) *size = below(300);
    return stepstore_pool_path(any_pool(), memory_or_null(size ? *size : 1), size);
}
CALL(stepstore_pool_list)
{
    NO_EVENT;
    return stepstore_pool_list("/nowhere", one_in(8) ? NULL : each_pool, NULL);
}
CALL(stepstore_pool_describe)
{
    NO_EVENT;
    return stepstore_pool_describe(any_pool(), one_in(8) ? NULL : each_pool, NULL);
}
CALL(stepstore_pool_check)
{
    NO_EVENT;
    if (!wrong(20)) return 0;
    return stepstore_pool_check(any_pool(), one_in(2), one_in(4), one_in(2) ? NULL : each_finding, NULL,
                                memory_or_null(sizeof(struct stepstore_check_summary)));
}
CALL(stepstore_pool_compact)
{
    NO_EVENT;
    return wrong(20) ? stepstore_pool_compact(any_pool(), one_in(8) ? NULL : each_target, NULL) : 0;
}
CALL(stepstore_pool_sync)
{
    NO_EVENT;
    return one_in(10) ? stepstore_pool_sync(any_handle(POOL)) : 0;
}
CALL(stepstore_pool_sync_own)
{
    NO_EVENT;
    return one_in(10) ? stepstore_pool_sync_own(any_handle(POOL)) : 0;
}
CALL(stepstore_watch_file_calls) /* it comes before any pool; here only its end */
{
    NO_EVENT;
    stepstore_watch_file_calls(NULL);
    return 0;
}

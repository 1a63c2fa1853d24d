/* Key-values. A part of sequences.c. */
CALL(daos_kv_open)
{
    daos_handle_t const container = any_handle(CONTAINER);
    return daos_kv_open(container, any_oid(container), any_mode(), new_handle(KEY_VALUE), ev);
}
CALL(daos_kv_close)
{
    return one_in(12) ? daos_kv_close(any_handle(KEY_VALUE), ev) : 0;
}
CALL(daos_kv_destroy)
{
    return one_in(20) ? daos_kv_destroy(any_handle(KEY_VALUE), th(), ev) : 0;
}
/* Of memory that is there, or a size that no value has. */
static void const* any_value(daos_size_t* size)
{
    if (wrong(24))
        *size = UINT64_MAX - below(2);
    else
        *size = one_in(16) ? 65000 + below(2000) : below(400);
    bool const none = wrong(12);
    return none ? NULL : memory(*size > 70000 ? 1 : *size);
}
CALL(daos_kv_put)
{
    daos_size_t size;
    void const* const value = any_value(&size);
    return daos_kv_put(any_handle(KEY_VALUE), th(), any_flags(), any_key(), size, value, ev);
}
CALL(daos_kv_get)
{
    daos_size_t* const size = memory_or_null(sizeof *size);
    if (size) *size = one_in(4) ? 70000 : below(400);
    void* const room = memory_or_null(size ? *size : 8);
    return daos_kv_get(any_handle(KEY_VALUE), th(), any_flags(), any_key(), size, room, ev);
}
CALL(daos_kv_remove)
{
    return daos_kv_remove(any_handle(KEY_VALUE), th(), any_flags(), any_key(), ev);
}
CALL(daos_kv_list)
{
    return daos_kv_list(any_handle(KEY_VALUE), th(), room(5), memory_or_null(5 * sizeof(daos_key_desc_t)),
                        any_list(below(400)), any_anchor(), ev);
}
CALL(stepstore_kv_local2global)
{
    NO_EVENT;
    return stepstore_kv_local2global(any_handle(KEY_VALUE), new_global());
}
CALL(stepstore_kv_global2local)
{
    NO_EVENT;
    return stepstore_kv_global2local(any_handle(CONTAINER), any_global(), one_in(2) ? 0 : any_mode(),
                                     new_handle(KEY_VALUE));
}
CALL(stepstore_kv_exchange)
{
    NO_EVENT;
    daos_size_t size;
    void const* const value = any_value(&size);
    daos_size_t* const old_size = memory_or_null(sizeof *old_size);
    if (old_size) *old_size = wrong(12) ? any_size() : below(400);
    void* const old = memory_or_null(old_size && *old_size < 4097 ? *old_size : 4096);
    return stepstore_kv_exchange(any_handle(KEY_VALUE), th(), any_key(), size, value, old, old_size);
}
CALL(stepstore_kv_put_if)
{
    NO_EVENT;
    daos_size_t size;
    daos_size_t expected;
    void const* const value = any_value(&size);
    void const* const before = any_value(&expected);
    return stepstore_kv_put_if(any_handle(KEY_VALUE), th(), any_key(), expected, before, size, value);
}
CALL(stepstore_kv_list_below)
{
    NO_EVENT;
    return stepstore_kv_list_below(any_handle(KEY_VALUE), th(), any_key(),
                                   (char)(one_in(3) ? any_number() : 0), wrong(12) ? NULL : each_key, NULL);
}
CALL(stepstore_kv_get_many)
{
    NO_EVENT;
    stepstore_kv_read_t* const reads = memory_or_null(3 * sizeof *reads);
    for (int i = 0; reads && i < 3; ++i) {
        reads[i].key = any_key();
        reads[i].size = below(400);
        reads[i].buf = memory_or_null(reads[i].size);
    }
    return stepstore_kv_get_many(any_handle(KEY_VALUE), th(), below(4), reads);
}
CALL(stepstore_kv_announce)
{
    NO_EVENT;
    return stepstore_kv_announce(any_handle(KEY_VALUE), any_key());
}
CALL(stepstore_kv_watch)
{
    NO_EVENT;
    return stepstore_kv_watch(any_handle(KEY_VALUE), any_key(), new_handle(WATCH));
}
CALL(stepstore_watch_wait)
{
    NO_EVENT;
    return stepstore_watch_wait(any_handle(WATCH), below(100), memory_or_null(sizeof(int)));
}
CALL(stepstore_watch_close)
{
    NO_EVENT;
    return stepstore_watch_close(any_handle(WATCH));
}

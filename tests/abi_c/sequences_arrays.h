/* Arrays. A part of sequences.c. */
static daos_size_t any_cell(void)
{
    return wrong(8) ? any_size() : 1 + below(2);
}
static daos_size_t any_chunk(void)
{
    return wrong(8) ? any_size() : 64 + below(64);
}
CALL(daos_array_create)
{
    daos_handle_t const container = any_handle(CONTAINER);
    return daos_array_create(container, any_oid(container), th(), any_cell(), any_chunk(), new_handle(ARRAY),
                             ev);
}
CALL(daos_array_open)
{
    daos_handle_t const container = any_handle(CONTAINER);
    return daos_array_open(container, any_oid(container), th(), any_mode(),
                           memory_or_null(sizeof(daos_size_t)), memory_or_null(sizeof(daos_size_t)),
                           new_handle(ARRAY), ev);
}
CALL(daos_array_open_with_attr)
{
    daos_handle_t const container = any_handle(CONTAINER);
    return daos_array_open_with_attr(container, any_oid(container), th(), any_mode(), any_cell(), any_chunk(),
                                     new_handle(ARRAY), ev);
}
CALL(daos_array_close)
{
    return one_in(12) ? daos_array_close(any_handle(ARRAY), ev) : 0;
}
CALL(daos_array_destroy)
{
    return one_in(20) ? daos_array_destroy(any_handle(ARRAY), th(), ev) : 0;
}
CALL(daos_array_local2global)
{
    NO_EVENT;
    return daos_array_local2global(any_handle(ARRAY), new_global());
}
CALL(daos_array_global2local)
{
    NO_EVENT;
    return daos_array_global2local(any_handle(CONTAINER), any_global(), one_in(2) ? 0 : any_mode(),
                                   new_handle(ARRAY));
}
CALL(daos_array_read)
{
    daos_array_iod_t* const ranges = any_ranges();
    return daos_array_read(any_handle(ARRAY), th(), ranges, any_list(bytes_of(ranges)), ev);
}
CALL(daos_array_write)
{
    daos_array_iod_t* const ranges = any_ranges();
    return daos_array_write(any_handle(ARRAY), th(), ranges, any_list(bytes_of(ranges)), ev);
}
CALL(daos_array_punch)
{
    return daos_array_punch(any_handle(ARRAY), th(), any_ranges(), ev);
}
CALL(daos_array_get_size)
{
    return daos_array_get_size(any_handle(ARRAY), th(), memory_or_null(sizeof(daos_size_t)), ev);
}
CALL(daos_array_set_size)
{
    return daos_array_set_size(any_handle(ARRAY), th(), wrong(4) ? any_size() : below(3000), ev);
}
CALL(daos_array_stat)
{
    return daos_array_stat(any_handle(ARRAY), th(), memory_or_null(sizeof(daos_array_stbuf_t)), ev);
}
CALL(daos_array_get_attr)
{
    NO_EVENT;
    return daos_array_get_attr(any_handle(ARRAY), memory_or_null(sizeof(daos_size_t)),
                               memory_or_null(sizeof(daos_size_t)));
}

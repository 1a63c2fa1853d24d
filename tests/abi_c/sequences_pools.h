/* Pools, containers. A part of sequences.c. */
CALL(daos_init)
{
    NO_EVENT;
    return daos_init();
}
CALL(daos_fini) /* of an own daos_init() */
{
    NO_EVENT;
    int const rc = daos_init();
    return rc ? rc : daos_fini();
}
CALL(daos_pool_connect)
{
    char const* const pool = any_pool();
    unsigned const flags = wrong(8) ? (unsigned)any_number() : 1U << below(2);
    return daos_pool_connect(pool, NULL, flags, new_handle(POOL), memory_or_null(sizeof(daos_pool_info_t)),
                             ev);
}
CALL(daos_pool_disconnect)
{
    return one_in(40) ? daos_pool_disconnect(any_handle(POOL), ev) : 0;
}
CALL(daos_pool_local2global)
{
    NO_EVENT;
    return daos_pool_local2global(any_handle(POOL), new_global());
}
CALL(daos_pool_global2local)
{
    NO_EVENT;
    return daos_pool_global2local(any_global(), new_handle(POOL));
}
CALL(daos_pool_query)
{
    daos_pool_info_t* const info = memory_or_null(sizeof *info);
    if (info) info->pi_bits = one_in(2) ? (uint64_t)DPI_ALL : any_number();
    if (one_in(2)) {
        made.ranks = memory(sizeof *made.ranks);
        *made.ranks = NULL;
    }
    return daos_pool_query(any_handle(POOL), made.ranks, info, asked_properties(true), ev);
}
CALL(daos_pool_query_target)
{
    return daos_pool_query_target(any_handle(POOL), one_in(8) ? (uint32_t)any_size() : below(9), below(2),
                                  memory_or_null(sizeof(daos_target_info_t)), ev);
}
CALL(daos_pool_list_cont)
{
    daos_size_t* const nr = memory_or_null(sizeof *nr);
    if (nr) *nr = below(6);
    return daos_pool_list_cont(any_handle(POOL), nr, memory_or_null(6 * sizeof(struct daos_pool_cont_info)),
                               ev);
}
CALL(daos_cont_create)
{
    return daos_cont_create(any_handle(POOL), memory_or_null(sizeof(uuid_t)), any_properties(false), ev);
}
CALL(daos_cont_create_with_label)
{
    return daos_cont_create_with_label(any_handle(POOL), any_label(), any_properties(false),
                                       memory_or_null(sizeof(uuid_t)), ev);
}
CALL(daos_cont_open)
{
    unsigned const flags = wrong(8) ? (unsigned)any_number() : one_in(4) ? DAOS_COO_RO : DAOS_COO_RW;
    return daos_cont_open(any_handle(POOL), any_label(), flags, new_handle(CONTAINER),
                          memory_or_null(sizeof(daos_cont_info_t)), ev);
}
CALL(daos_cont_close)
{
    return one_in(40) ? daos_cont_close(any_handle(CONTAINER), ev) : 0;
}
CALL(daos_cont_destroy)
{
    return one_in(100) ? daos_cont_destroy(any_handle(POOL), any_label(), (int)below(2), ev) : 0;
}
CALL(daos_cont_query)
{
    return daos_cont_query(any_handle(CONTAINER), memory_or_null(sizeof(daos_cont_info_t)),
                           asked_properties(false), ev);
}
CALL(daos_cont_local2global)
{
    NO_EVENT;
    return daos_cont_local2global(any_handle(CONTAINER), new_global());
}
CALL(daos_cont_global2local)
{
    NO_EVENT;
    return daos_cont_global2local(any_handle(POOL), any_global(), new_handle(CONTAINER));
}
CALL(daos_cont_alloc_oids)
{
    return daos_cont_alloc_oids(any_handle(CONTAINER), wrong(4) ? any_size() % 1000 : any_size(),
                                memory_or_null(sizeof(uint64_t)), ev);
}

/* Properties. A part of sequences.c. */
static _Thread_local daos_prop_t* own_properties;
CALL(daos_prop_alloc)
{
    NO_EVENT;
    daos_prop_free(own_properties);
    own_properties = daos_prop_alloc(one_in(4) ? (uint32_t)any_size() : below(5));
    for (unsigned i = 0; own_properties && i < own_properties->dpp_nr; ++i)
        own_properties->dpp_entries[i].dpe_type = below(2) * DAOS_PROP_CO_MIN + below(32);
    return 0;
}
CALL(daos_prop_free)
{
    NO_EVENT;
    daos_prop_free(own_properties);
    own_properties = NULL;
    return 0;
}
CALL(daos_prop_entry_get)
{
    NO_EVENT;
    daos_prop_entry_get(own_properties, (uint32_t)any_size());
    return 0;
}
/* Zeroes: some types of properties hold pointers, which are released with them. */
static void* zeroes_or_null(void)
{
    void* const bytes = memory_or_null(64);
    return bytes ? memset(bytes, 0, 64) : NULL;
}
static struct daos_prop_entry* any_entry(void)
{
    return own_properties && own_properties->dpp_nr ? own_properties->dpp_entries : NULL;
}
CALL(daos_prop_entry_set_str)
{
    NO_EVENT;
    char const* const text = any_label();
    return daos_prop_entry_set_str(any_entry(), text, text ? strlen(text) : any_size());
}
CALL(daos_prop_set_str)
{
    NO_EVENT;
    char const* const text = any_label();
    return daos_prop_set_str(own_properties, below(2) * DAOS_PROP_CO_MIN + below(32), text,
                             text ? strlen(text) : any_size());
}
CALL(daos_prop_entry_set_ptr)
{
    NO_EVENT;
    return daos_prop_entry_set_ptr(any_entry(), zeroes_or_null(), 64);
}
CALL(daos_prop_set_ptr)
{
    NO_EVENT;
    return daos_prop_set_ptr(own_properties, below(2) * DAOS_PROP_CO_MIN + below(32), zeroes_or_null(), 64);
}
CALL(daos_cont_set_prop)
{
    /* Other calls open the container by its label. */
    if (own_properties && daos_prop_entry_get(own_properties, DAOS_PROP_CO_LABEL)) return 0;
    return daos_cont_set_prop(any_handle(CONTAINER), own_properties, ev);
}
CALL(daos_cont_status_clear)
{
    return daos_cont_status_clear(any_handle(CONTAINER), ev);
}
CALL(daos_cont_get_perms)
{
    NO_EVENT;
    return daos_cont_get_perms(own_properties, (uid_t)below(3), memory_or_null(3 * sizeof(gid_t)), below(4),
                               memory_or_null(sizeof(uint64_t)));
}
CALL(daos_pool_get_perms)
{
    NO_EVENT;
    return daos_pool_get_perms(own_properties, (uid_t)below(3), memory_or_null(3 * sizeof(gid_t)), below(4),
                               memory_or_null(sizeof(uint64_t)));
}

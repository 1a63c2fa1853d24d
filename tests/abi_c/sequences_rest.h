/* A part of sequences.c: attributes, notes of objects, access control and paths, at random. */

/* ---- user attributes */

enum { NAMES = 3 };
static char const* const* any_names(int* n)
{
    *n = wrong(12) ? (int)below(3) - 1 : 1 + (int)below(NAMES);
    char const** const names = memory_or_null(NAMES * sizeof *names);
    for (int i = 0; names && i < NAMES; ++i)
        names[i] = any_label();
    return names;
}
typedef int (*list_call)(daos_handle_t, char*, size_t*, daos_event_t*);
typedef int (*get_call)(daos_handle_t, int, char const* const[], void* const[], size_t[], daos_event_t*);
typedef int (*set_call)(daos_handle_t, int, char const* const[], void const* const[], size_t const[],
                        daos_event_t*);
static int list_attributes(list_call list, daos_handle_t owner, daos_event_t* ev)
{
    size_t* const size = memory_or_null(sizeof *size);
    if (size) *size = below(60);
    return list(owner, memory_or_null(size ? *size : 1), size, ev);
}
static int get_attributes(get_call get, daos_handle_t owner, daos_event_t* ev)
{
    int n;
    char const* const* const names = any_names(&n);
    size_t* const sizes = memory_or_null(NAMES * sizeof *sizes);
    void** const values = memory_or_null(NAMES * sizeof *values);
    for (int i = 0; i < NAMES; ++i) {
        size_t const size = below(50);
        if (sizes) sizes[i] = size;
        if (values) values[i] = memory_or_null(size);
    }
    return get(owner, n, names, values, sizes, ev);
}
static int set_attributes(set_call set, daos_handle_t owner, daos_event_t* ev)
{
    int n;
    char const* const* const names = any_names(&n);
    size_t* const sizes = memory_or_null(NAMES * sizeof *sizes);
    void const** const values = memory_or_null(NAMES * sizeof *values);
    for (int i = 0; i < NAMES; ++i) {
        size_t const size = one_in(10) ? below(70000) : below(50);
        if (sizes) sizes[i] = wrong(20) ? UINT64_MAX : size;
        if (values) values[i] = memory_or_null(size);
    }
    return set(owner, n, names, values, sizes, ev);
}
CALL(daos_cont_list_attr)
{
    return list_attributes(daos_cont_list_attr, any_handle(CONTAINER), ev);
}
CALL(daos_pool_list_attr)
{
    return list_attributes(daos_pool_list_attr, any_handle(POOL), ev);
}
CALL(daos_cont_get_attr)
{
    return get_attributes(daos_cont_get_attr, any_handle(CONTAINER), ev);
}
CALL(daos_pool_get_attr)
{
    return get_attributes(daos_pool_get_attr, any_handle(POOL), ev);
}
CALL(daos_cont_set_attr)
{
    return set_attributes(daos_cont_set_attr, any_handle(CONTAINER), ev);
}
CALL(daos_pool_set_attr)
{
    return set_attributes(daos_pool_set_attr, any_handle(POOL), ev);
}
CALL(daos_cont_del_attr)
{
    int n;
    char const* const* const names = any_names(&n);
    return daos_cont_del_attr(any_handle(CONTAINER), n, names, ev);
}
CALL(daos_pool_del_attr)
{
    int n;
    char const* const* const names = any_names(&n);
    return daos_pool_del_attr(any_handle(POOL), n, names, ev);
}

/* ---- epochs, and notes of objects */

CALL(daos_cont_aggregate)
{
    return daos_cont_aggregate(any_handle(CONTAINER), any_epoch(), ev);
}
CALL(daos_cont_rollback)
{
    return daos_cont_rollback(any_handle(CONTAINER), any_epoch(), ev);
}
CALL(daos_cont_subscribe)
{
    return daos_cont_subscribe(any_handle(CONTAINER), memory_or_null(sizeof(daos_epoch_t)), ev);
}
CALL(daos_cont_snap_oit_create)
{
    return daos_cont_snap_oit_create(any_handle(CONTAINER), any_epoch(),
                                     wrong(8) ? any_snapshot_name() : NULL, ev);
}
CALL(daos_cont_snap_oit_destroy)
{
    return daos_cont_snap_oit_destroy(any_handle(CONTAINER), any_handle(TABLE), ev);
}
CALL(daos_oit_mark)
{
    d_iov_t* const marker = one_in(4) ? NULL : memory(sizeof *marker);
    size_t const size = below(wrong(4) ? 40 : 33);
    if (marker) d_iov_set(marker, memory_or_null(size), size);
    if (marker && wrong(12)) marker->iov_len = any_size();
    return daos_oit_mark(any_handle(TABLE), any_oid(any_handle(CONTAINER)), marker, ev);
}
static int filter_at_random(daos_obj_id_t oid, d_iov_t* marker)
{
    CHECK(marker != NULL && marker->iov_buf != NULL && marker->iov_len <= DAOS_OIT_MARKER_MAX_LEN);
    return oid.lo % 7 == 6 ? -DER_CANCELED : (int)(oid.lo % 2);
}
CALL(daos_oit_list_filter)
{
    return daos_oit_list_filter(any_handle(TABLE), memory_or_null(5 * sizeof(daos_obj_id_t)), room(5),
                                any_anchor(), wrong(12) ? NULL : filter_at_random, ev);
}
CALL(daos_oit_list_unmarked)
{
    return daos_oit_list_unmarked(any_handle(TABLE), memory_or_null(5 * sizeof(daos_obj_id_t)), room(5),
                                  any_anchor(), ev);
}

/* ---- access control: lists in memory, with bytes changed within their length */

static char const* any_entry_text(void)
{
    static char const* const texts[] = {"A::OWNER@:rw", "A:G:GROUP@:r", "A::EVERYONE@:", "A::me@:r", "x", ""};
    return wrong(20) ? NULL : text_of(texts[below(wrong(8) ? 6 : 4)]);
}
static char* any_principal(void)
{
    static char const* const names[] = {"me@", "root@", "u:me@", "OWNER@", "me", ""};
    return wrong(12) ? NULL : text_of(names[below(6)]);
}
static enum daos_acl_principal_type any_type(void)
{
    return (enum daos_acl_principal_type)below(wrong(6) ? 300 : NUM_DAOS_ACL_TYPES);
}
/* To be freed. */
static struct daos_acl* new_acl(void)
{
    char const* texts[] = {"A::OWNER@:rw", "A::me@:r", "A:G:GROUP@:r"};
    struct daos_acl* acl = NULL;
    if (wrong(12)) return NULL;
    CHECK_OK(daos_acl_from_strs(texts, below(3) + 1, &acl));
    if (!wrong(3)) return acl;
    uint32_t const length = acl->dal_len;
    ((unsigned char*)acl)[below((unsigned)daos_acl_get_size(acl))] = (unsigned char)below(256);
    if (acl->dal_len > length) acl->dal_len = length;
    return acl;
}
static struct daos_ace* new_ace(void)
{
    struct daos_ace* ace = wrong(12) ? NULL : daos_ace_create(DAOS_ACL_USER, "me@");
    if (ace && wrong(3)) {
        uint16_t const length = ace->dae_principal_len;
        ((unsigned char*)ace)[below((unsigned)daos_ace_get_size(ace))] = (unsigned char)below(256);
        if (ace->dae_principal_len > length) ace->dae_principal_len = length;
    }
    return ace;
}
CALL(daos_cont_get_acl)
{
    daos_prop_t** const told = memory_or_null(sizeof *told);
    if (told) *told = NULL;
    int const rc = daos_cont_get_acl(any_handle(CONTAINER), told, ev);
    if (told) made.properties = *told;
    return rc;
}
CALL(daos_cont_overwrite_acl)
{
    struct daos_acl* const acl = new_acl();
    int const rc = daos_cont_overwrite_acl(any_handle(CONTAINER), acl, ev);
    daos_acl_free(acl);
    return rc;
}
CALL(daos_cont_update_acl)
{
    struct daos_acl* const acl = new_acl();
    int const rc = daos_cont_update_acl(any_handle(CONTAINER), acl, ev);
    daos_acl_free(acl);
    return rc;
}
CALL(daos_cont_delete_acl)
{
    return daos_cont_delete_acl(any_handle(CONTAINER), any_type(), any_principal(), ev);
}
CALL(daos_cont_set_owner)
{
    return daos_cont_set_owner(any_handle(CONTAINER), any_principal(), any_principal(), ev);
}
CALL(daos_cont_set_owner_no_check)
{
    return daos_cont_set_owner_no_check(any_handle(CONTAINER), any_principal(), any_principal(), ev);
}
/* All that works on lists in memory. */
static int lists_in_memory(void)
{
    struct daos_acl* acl = new_acl();
    struct daos_ace* ace = new_ace();
    struct daos_ace* found;
    char** texts = NULL;
    size_t nr = 0;
    daos_acl_validate(acl);
    daos_acl_get_size(acl);
    daos_acl_get_ace_for_principal(acl, any_type(), any_principal(), &found);
    daos_acl_add_ace(&acl, ace);
    daos_acl_remove_ace(&acl, any_type(), any_principal());
    for (found = daos_acl_get_next_ace(acl, NULL); found; found = daos_acl_get_next_ace(acl, found))
        daos_ace_is_valid(found);
    if (daos_acl_to_strs(acl, &texts, &nr) == 0)
        while (nr > 0)
            free(texts[--nr]);
    free(texts);
    daos_acl_to_stream(NULL, acl, true);
    if (one_in(100)) daos_acl_dump(NULL);
    daos_acl_free(daos_acl_dup(acl));
    daos_acl_free(daos_acl_create(&ace, 1));
    daos_acl_free(acl);
    daos_ace_free(ace);
    return 0;
}
static int entries_in_memory(void)
{
    struct daos_ace* ace = new_ace();
    struct daos_ace* parsed = NULL;
    struct daos_acl* acl = NULL;
    size_t const size = below(40);
    char const* texts[] = {any_entry_text(), any_entry_text()};
    daos_ace_is_valid(ace);
    daos_ace_get_size(ace);
    daos_ace_get_principal_str(ace);
    daos_ace_to_str(ace, memory_or_null(size), size);
    daos_ace_str_get_verbose(texts[0], memory_or_null(size), size);
    if (one_in(100)) daos_ace_dump(NULL, below(3));
    daos_ace_free(ace);
    daos_ace_from_str(texts[0], &parsed);
    daos_ace_free(parsed);
    daos_acl_from_strs(texts, below(3), &acl);
    daos_acl_free(acl);
    daos_ace_free(daos_ace_create(any_type(), any_principal()));
    return 0;
}
static int principals_in_memory(void)
{
    enum daos_acl_principal_type type;
    char* name = NULL;
    uid_t uid;
    gid_t gid;
    daos_acl_principal_is_valid(any_principal());
    daos_acl_principal_to_uid(any_principal(), wrong(8) ? NULL : &uid);
    daos_acl_principal_to_gid(any_principal(), wrong(8) ? NULL : &gid);
    daos_acl_principal_from_str(any_principal(), &type, &name);
    free(name);
    name = NULL;
    daos_acl_uid_to_principal((uid_t)below(3), wrong(8) ? NULL : &name);
    free(name);
    name = NULL;
    daos_acl_gid_to_principal((gid_t)below(3), wrong(8) ? NULL : &name);
    free(name);
    return 0;
}
#define IN_MEMORY(name, calls)                                                                               \
    CALL(name)                                                                                               \
    {                                                                                                        \
        NO_EVENT;                                                                                            \
        return calls();                                                                                      \
    }
IN_MEMORY(daos_acl_create, lists_in_memory)
IN_MEMORY(daos_acl_dup, lists_in_memory)
IN_MEMORY(daos_acl_free, lists_in_memory)
IN_MEMORY(daos_acl_get_size, lists_in_memory)
IN_MEMORY(daos_acl_get_next_ace, lists_in_memory)
IN_MEMORY(daos_acl_get_ace_for_principal, lists_in_memory)
IN_MEMORY(daos_acl_add_ace, lists_in_memory)
IN_MEMORY(daos_acl_remove_ace, lists_in_memory)
IN_MEMORY(daos_acl_validate, lists_in_memory)
IN_MEMORY(daos_acl_dump, lists_in_memory)
IN_MEMORY(daos_acl_to_strs, lists_in_memory)
IN_MEMORY(daos_acl_to_stream, lists_in_memory)
IN_MEMORY(daos_acl_from_strs, entries_in_memory)
IN_MEMORY(daos_ace_create, entries_in_memory)
IN_MEMORY(daos_ace_free, entries_in_memory)
IN_MEMORY(daos_ace_get_size, entries_in_memory)
IN_MEMORY(daos_ace_is_valid, entries_in_memory)
IN_MEMORY(daos_ace_dump, entries_in_memory)
IN_MEMORY(daos_ace_get_principal_str, entries_in_memory)
IN_MEMORY(daos_ace_from_str, entries_in_memory)
IN_MEMORY(daos_ace_to_str, entries_in_memory)
IN_MEMORY(daos_ace_str_get_verbose, entries_in_memory)
IN_MEMORY(daos_acl_principal_is_valid, principals_in_memory)
IN_MEMORY(daos_acl_uid_to_principal, principals_in_memory)
IN_MEMORY(daos_acl_gid_to_principal, principals_in_memory)
IN_MEMORY(daos_acl_principal_to_uid, principals_in_memory)
IN_MEMORY(daos_acl_principal_to_gid, principals_in_memory)
IN_MEMORY(daos_acl_principal_from_str, principals_in_memory)

CALL(daos_rank_list_parse)
{
    NO_EVENT;
    static char const* const texts[] = {"1:2", "", "1:x", "::7", "99999999999"};
    d_rank_list_free(daos_rank_list_parse(wrong(8) ? NULL : texts[below(5)], wrong(8) ? NULL : ":"));
    return 0;
}
CALL(daos_reinit)
{
    NO_EVENT;
    return daos_reinit();
}

/* ---- paths; they change no file system. They give 0 or an errno. */

static char const* any_uns_path(void)
{
    static char const* const paths[] = {"daos://tank/one", "daos://tank/two/rest",
                                        "/nowhere/at/all", "/",
                                        "daos://tank",     "daos://",
                                        "/tank/three",     ""};
    return wrong(12) ? NULL : text_of(paths[below(8)]);
}
static struct duns_attr_t* any_uns_attr(void)
{
    struct duns_attr_t* const attr = memory_or_null(sizeof *attr);
    if (!attr) return NULL;
    memset(attr, 0, sizeof *attr);
    attr->da_flags = below(8);
    attr->da_type = (daos_cont_layout_t)(2 + below(wrong(8) ? 20 : 4));
    return attr;
}
static int known_errno(int error, struct duns_attr_t* attr)
{
    CHECK(error >= 0 && error < 200);
    duns_destroy_attr(attr);
    return 0;
}
CALL(stepstore_duns_resolve_path)
{
    NO_EVENT;
    struct duns_attr_t* const attr = any_uns_attr();
    return known_errno(duns_resolve_path(any_uns_path(), attr), attr);
}
CALL(stepstore_duns_create_path)
{
    NO_EVENT;
    struct duns_attr_t* const attr = any_uns_attr();
    return known_errno(duns_create_path(any_handle(POOL), any_uns_path(), attr), attr);
}
CALL(stepstore_duns_link_cont)
{
    NO_EVENT;
    return known_errno(duns_link_cont(any_handle(POOL), any_label(), one_in(8) ? NULL : "/nowhere/at/all"),
                       NULL);
}
CALL(stepstore_duns_destroy_path)
{
    NO_EVENT;
    return one_in(100) ? known_errno(duns_destroy_path(any_handle(POOL), any_uns_path()), NULL) : 0;
}
CALL(stepstore_duns_parse_attr)
{
    NO_EVENT;
    struct duns_attr_t* const attr = any_uns_attr();
    char* const bytes = text_of("DAOS.HDF5://01234567-89ab-cdef-0123-456789abcdef/"
                                "01234567-89ab-cdef-0123-456789abcdef");
    if (one_in(2)) bytes[below((unsigned)strlen(bytes))] = (char)below(256);
    return known_errno(duns_parse_attr(wrong(20) ? NULL : bytes, strlen(bytes) - (one_in(8) ? 1 : 0), attr),
                       attr);
}
CALL(stepstore_duns_set_sys_name)
{
    NO_EVENT;
    struct duns_attr_t* const attr = any_uns_attr();
    return known_errno(duns_set_sys_name(attr, any_label()), attr);
}
CALL(stepstore_duns_destroy_attr)
{
    NO_EVENT;
    struct duns_attr_t* const attr = any_uns_attr();
    duns_destroy_attr(attr);
    return known_errno(0, attr);
}

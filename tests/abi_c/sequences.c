/*
 * Every call of the library at random, by several threads that share their handles: null, stale, foreign and
 * wrongly typed handles, bad sizes and keys, handles closed while they are used. Each call gives 0 or a code
 * that d_errstr() knows. Afterwards a pool that nobody named holds what it held, and a check finds no damage
 * in the other one.
 *
 * sequences [CALLS [SEED]]: so many calls of each thread. With three arguments it also tells how many
 * succeeded. sequences --list: the names of all calls (exports.sh).
 */
#define _XOPEN_SOURCE 700
#include "sequences.h"

#include "check.h"
#include "stepstore/admin.h"

#include <daos_uns.h>
#include <pthread.h>
#include <sys/stat.h>

enum { THREADS = 3 };

static char const* attacked; /* the pool */

/* What a call made, to be taken or released once it is over. */
static _Thread_local struct {
    enum kind kind;
    daos_handle_t* handle;
    d_iov_t* global;
    daos_iom_t* ioms;
    unsigned ioms_nr;
    d_rank_list_t** ranks;
    daos_prop_t* properties;
} made;
static _Thread_local unsigned stops; /* after so many structs a callback ends its walk */

static daos_handle_t* new_handle(enum kind kind)
{
    if (wrong(24)) return NULL;
    made.kind = kind;
    made.handle = memory(sizeof *made.handle);
    made.handle->cookie = 0;
    return made.handle;
}

static d_iov_t* new_global(void)
{
    if (wrong(20)) return NULL;
    d_iov_t* const glob = memory(sizeof *glob);
    d_iov_set(glob, memory(512), one_in(6) ? below(512) : 512);
    if (one_in(6)) d_iov_set(glob, NULL, 0);
    return made.global = glob;
}

static daos_prop_t* asked_properties(bool of_pool)
{
    if (one_in(2)) return NULL;
    made.properties = daos_prop_alloc(below(3));
    for (unsigned i = 0; made.properties && i < made.properties->dpp_nr; ++i)
        made.properties->dpp_entries[i].dpe_type = (of_pool ? 0 : DAOS_PROP_CO_MIN) + below(32);
    return made.properties;
}

static daos_handle_t th(void)
{
    return one_in(8) ? any_handle(SNAPSHOT) : DAOS_TX_NONE;
}

static unsigned any_mode(void)
{
    return wrong(12) ? (unsigned)any_number() : one_in(4) ? (unsigned)DAOS_OO_RO : (unsigned)DAOS_OO_RW;
}

static char const* any_pool(void)
{
    static char const* const others[] = {"/nowhere/at/all", "", "nosuchlabel", "/", "daos://", "rados://"};
    return wrong(20) ? NULL : wrong(12) ? others[below(6)] : attacked;
}

static int each_one(void const* told, void* arg)
{
    CHECK(told != NULL);
    (void)arg;
    return one_in(stops) ? 7 : 0;
}
static int each_object(const struct stepstore_object_info* told, void* arg)
{
    return each_one(told, arg);
}
static int each_pool(const struct stepstore_pool_info* told, void* arg)
{
    return each_one(told, arg);
}
static int each_finding(const struct stepstore_finding* told, void* arg)
{
    return each_one(told, arg);
}
static int each_target(const struct stepstore_compacted* told, void* arg)
{
    return each_one(told, arg);
}
static int each_key(const char* told, size_t size, void* arg)
{
    (void)size;
    return each_one(told, arg);
}
static int never(void)
{
    return 0;
}

#define CALL(name) static int call_##name(daos_event_t* ev)
#define NO_EVENT (void)ev

/* ---- pools, containers */

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

/* ---- snapshots */

static char* any_snapshot_name(void)
{
    return one_in(2) ? NULL : (char*)(uintptr_t)any_label();
}
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
static _Thread_local daos_epoch_t seen_epochs[4]; /* of listings */
static _Thread_local daos_epoch_t* listed_epochs;
static daos_epoch_t any_epoch(void)
{
    return wrong(6) ? any_number() : seen_epochs[below(4)];
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

/* ---- objects of dkeys and akeys */

CALL(daos_obj_generate_oid)
{
    NO_EVENT;
    return daos_obj_generate_oid(any_handle(CONTAINER), memory_or_null(sizeof(daos_obj_id_t)),
                                 (enum daos_otype_t)below(wrong(2) ? 20 : 14),
                                 wrong(4) ? (daos_oclass_id_t)any_number() : OC_UNKNOWN,
                                 wrong(4) ? (daos_oclass_hints_t)any_flags() : 0, wrong(4));
}
CALL(daos_obj_open)
{
    daos_handle_t const container = any_handle(CONTAINER);
    return daos_obj_open(container, any_oid(container), any_mode(), new_handle(OBJECT), ev);
}
CALL(daos_obj_close)
{
    return one_in(12) ? daos_obj_close(any_handle(OBJECT), ev) : 0;
}
CALL(daos_obj_punch)
{
    return one_in(12) ? daos_obj_punch(any_handle(OBJECT), th(), any_flags(), ev) : 0;
}
CALL(daos_obj_update)
{
    unsigned nr;
    daos_iod_t* const iods = any_iods(&nr);
    d_sg_list_t* const lists = lists_of(iods);
    return daos_obj_update(any_handle(OBJECT), th(), any_flags(), any_byte_key(), nr, iods, lists, ev);
}
CALL(daos_obj_fetch)
{
    unsigned nr;
    daos_iod_t* const iods = any_iods(&nr);
    d_sg_list_t* const lists = lists_of(iods);
    if (one_in(3)) {
        made.ioms = memory(3 * sizeof *made.ioms);
        made.ioms_nr = 3;
        for (int i = 0; i < 3; ++i) {
            memset(&made.ioms[i], 0, sizeof made.ioms[i]);
            made.ioms[i].iom_flags = wrong(12) ? (uint32_t)any_number() : below(2);
        }
    }
    return daos_obj_fetch(any_handle(OBJECT), th(), any_flags(), any_byte_key(), nr, iods, lists, made.ioms,
                          ev);
}
CALL(daos_obj_punch_dkeys)
{
    return daos_obj_punch_dkeys(any_handle(OBJECT), th(), any_flags(), one_in(8) ? below(3) : 1,
                                any_byte_key(), ev);
}
CALL(daos_obj_punch_akeys)
{
    return daos_obj_punch_akeys(any_handle(OBJECT), th(), any_flags(), any_byte_key(), below(2),
                                any_byte_key(), ev);
}
/* Room for a listing: for *nr entries, as it is told. */
static uint32_t* room(uint32_t most)
{
    uint32_t* const nr = memory_or_null(sizeof *nr);
    if (nr) *nr = below(most + 1);
    return nr;
}
CALL(daos_obj_list_dkey)
{
    return daos_obj_list_dkey(any_handle(OBJECT), th(), room(5), memory_or_null(5 * sizeof(daos_key_desc_t)),
                              any_list(below(400)), any_anchor(), ev);
}
CALL(daos_obj_list_akey)
{
    return daos_obj_list_akey(any_handle(OBJECT), th(), any_byte_key(), room(5),
                              memory_or_null(5 * sizeof(daos_key_desc_t)), any_list(below(400)), any_anchor(),
                              ev);
}
CALL(daos_obj_list_recx)
{
    return daos_obj_list_recx(any_handle(OBJECT), th(), any_byte_key(), any_byte_key(),
                              memory_or_null(sizeof(daos_size_t)), room(5),
                              memory_or_null(5 * sizeof(daos_recx_t)),
                              memory_or_null(5 * sizeof(daos_epoch_range_t)), any_anchor(), one_in(2), ev);
}
CALL(daos_obj_query_key)
{
    return daos_obj_query_key(any_handle(OBJECT), th(), wrong(8) ? any_number() : below(32), any_byte_key(),
                              any_byte_key(), memory_or_null(sizeof(daos_recx_t)), ev);
}
CALL(daos_obj_query_max_epoch)
{
    return daos_obj_query_max_epoch(any_handle((enum kind)(OBJECT + below(3))), th(),
                                    memory_or_null(sizeof(daos_epoch_t)), ev);
}
CALL(daos_oclass_id2name)
{
    NO_EVENT;
    daos_oclass_id2name((daos_oclass_id_t)any_number(), memory(MAX_OBJ_CLASS_NAME_LEN));
    return 0;
}
CALL(daos_oclass_name2id)
{
    NO_EVENT;
    char const* const name = any_key();
    if (name) daos_oclass_name2id(name);
    return 0;
}
CALL(daos_oclass_names_list)
{
    NO_EVENT;
    size_t const size = below(600);
    daos_oclass_names_list(size, memory(size));
    return 0;
}
CALL(daos_oit_open)
{
    return daos_oit_open(any_handle(CONTAINER), any_epoch(), new_handle(TABLE), ev);
}
CALL(daos_oit_close)
{
    return one_in(3) ? daos_oit_close(any_handle(TABLE), ev) : 0;
}
CALL(daos_oit_list)
{
    return daos_oit_list(any_handle(TABLE), memory_or_null(5 * sizeof(daos_obj_id_t)), room(5), any_anchor(),
                         ev);
}
CALL(stepstore_cont_objects)
{
    NO_EVENT;
    return stepstore_cont_objects(any_handle(CONTAINER), th(), one_in(2), wrong(12) ? NULL : each_object,
                                  NULL);
}
CALL(stepstore_cont_object)
{
    NO_EVENT;
    daos_handle_t const container = any_handle(CONTAINER);
    return stepstore_cont_object(container, th(), any_oid(container), wrong(12) ? NULL : each_object, NULL);
}

/* ---- key-values */

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

/* ---- arrays */

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

/* ---- events. The events of the other calls are the driver's. */

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

/* ---- properties */

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

#include "sequences_rest.h"

/* ---- what DAOS leaves to its administrators */

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

#define ENTRY(name) {#name, call_##name},
static struct {
    char const* name;
    int (*run)(daos_event_t*);
} const calls[] = {
#include "sequences_names.h"
};
enum { CALLS = sizeof calls / sizeof *calls };

/* ---- the driver */

static void take_what_was_made(int rc)
{
    if (made.handle && rc == 0) keep_handle(made.kind, *made.handle);
    if (made.global && rc == 0) keep_global(made.global);
    if (made.ranks) d_rank_list_free(*made.ranks);
    for (unsigned i = 0; i < made.ioms_nr; ++i)
        free(made.ioms[i].iom_recxs);
    daos_prop_free(made.properties);
    if (listed_epochs && rc == 0) memcpy(seen_epochs, listed_epochs, sizeof seen_epochs);
    listed_epochs = NULL;
}

/* One call, without an event, or with one that is waited for, or with one that was never begun. */
static int one_call(int number, daos_handle_t queue)
{
    memset(&made, 0, sizeof made);
    begin_call();
    unsigned const way = below(8);
    daos_event_t event = {0};
    int rc;
    if (way < 5) {
        rc = calls[number].run(NULL);
    } else if (way == 5) {
        rc = calls[number].run(&event);
    } else {
        CHECK_OK(daos_event_init(&event, way == 6 ? queue : DAOS_HDL_INVAL, NULL));
        rc = calls[number].run(&event);
        bool over = false;
        if (one_in(8)) daos_event_abort(&event);
        int const waited = daos_event_test(&event, DAOS_EQ_WAIT, &over);
        if (waited == 0 && rc == 0) rc = event.ev_error;
        daos_event_fini(&event);
    }
    take_what_was_made(rc);
    release_memory();
    return rc;
}

static _Atomic unsigned long done[CALLS], succeeded[CALLS];
static unsigned long calls_of_each = 6000;
static unsigned long seed = 1;

static void* run(void* arg)
{
    unsigned const thread = *(unsigned*)arg;
    seed_random(seed * THREADS + thread);
    stops = 50;
    daos_handle_t queue;
    CHECK_OK(daos_eq_create(&queue));
    for (unsigned long i = 0; i < calls_of_each; ++i) {
        if (i % 50 == 0) open_handles(attacked);
        int const number = (int)below(CALLS);
        int const rc = one_call(number, queue);
        ++done[number];
        if (rc == 0) ++succeeded[number];
        bool const known = rc == 0 || rc == 7 || (rc < 0 && strcmp(d_errstr(rc), "DER_UNKNOWN") != 0);
        if (!known)
            fprintf(stderr, "%s gave %d (%s): %s\n", calls[number].name, rc, d_errstr(rc), explanation());
        CHECK(known);
    }
    for (int i = 0; i < 4; ++i)
        daos_event_fini(&own[i]);
    daos_prop_free(own_properties);
    own_properties = NULL;
    CHECK_OK(daos_eq_destroy(queue, DAOS_EQ_DESTROY_FORCE));
    return NULL;
}

static int is_damage(const struct stepstore_finding* finding, void* arg)
{
    (void)arg;
    if (finding->severity == STEPSTORE_DAMAGE) fprintf(stderr, "%s: %s\n", finding->where, finding->what);
    return 0;
}

static void check_pool(char const* pool)
{
    struct stepstore_check_summary summary;
    CHECK_OK(stepstore_pool_check(pool, true, false, is_damage, NULL, &summary));
    CHECK(!summary.damaged);
}

int main(int argc, char** argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < CALLS; ++i)
            puts(calls[i].name);
        return 0;
    }
    if (argc > 1) calls_of_each = strtoul(argv[1], NULL, 10);
    if (argc > 2) seed = strtoul(argv[2], NULL, 10);

    struct store apart = open_store();
    char const value[] = "what nobody touches";
    daos_obj_id_t const oid = kv_oid(apart.container, 1, "SX");
    daos_handle_t values;
    CHECK_OK(daos_kv_open(apart.container, oid, DAOS_OO_RW, &values, NULL));
    CHECK_OK(daos_kv_put(values, DAOS_TX_NONE, 0, "key", sizeof value, value, NULL));
    char apart_path[512];
    snprintf(apart_path, sizeof apart_path, "%s", apart.path);
    attacked = new_pool();
    daos_handle_t open; /* so that no call destroys it */
    CHECK_OK(daos_pool_connect(attacked, NULL, DAOS_PC_RW, &open, NULL, NULL));
    CHECK_OK(daos_cont_create_with_label(open, "container", NULL, NULL, NULL));

    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    for (unsigned i = 0; i < THREADS; ++i) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, run, &numbers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; ++i)
        CHECK(pthread_join(threads[i], NULL) == 0);
    stepstore_ask_in_waits(NULL);
    close_handles();
    for (int i = 0; argc > 3 && i < CALLS; ++i)
        printf("%s %lu of %lu\n", calls[i].name, succeeded[i], done[i]);
    static char const* const common[] = {"daos_kv_put",     "daos_kv_get",    "daos_array_write",
                                         "daos_array_read", "daos_obj_fetch", "daos_obj_update"};
    for (int i = 0; i < CALLS; ++i)
        for (int k = 0; k < 6; ++k)
            CHECK(strcmp(calls[i].name, common[k]) != 0 ||
                  succeeded[i] > 0); /* mistakes are not all there is */

    char read[sizeof value];
    daos_size_t size = sizeof read;
    CHECK_OK(daos_kv_get(values, DAOS_TX_NONE, 0, "key", &size, read, NULL));
    CHECK(size == sizeof value && memcmp(read, value, size) == 0);
    CHECK_OK(daos_kv_close(values, NULL));
    bool const in_directory = getenv("STEPSTORE_TEST_BACKEND") == NULL;
    if (in_directory) {
        check_pool(apart_path);
        check_pool(attacked);
    }
    return 0;
}

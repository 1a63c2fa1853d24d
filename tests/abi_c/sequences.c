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

static char* any_snapshot_name(void)
{
    return one_in(2) ? NULL : (char*)(uintptr_t)any_label();
}
static _Thread_local daos_epoch_t seen_epochs[4]; /* of listings */
static _Thread_local daos_epoch_t* listed_epochs;
static daos_epoch_t any_epoch(void)
{
    return wrong(6) ? any_number() : seen_epochs[below(4)];
}
/* Room for a listing: for *nr entries, as it is told. */
static uint32_t* room(uint32_t most)
{
    uint32_t* const nr = memory_or_null(sizeof *nr);
    if (nr) *nr = below(most + 1);
    return nr;
}

#define CALL(name) static int call_##name(daos_event_t* ev)
#define NO_EVENT (void)ev

#include "sequences_admin.h"
#include "sequences_arrays.h"
#include "sequences_events.h"
#include "sequences_key_values.h"
#include "sequences_objects.h"
#include "sequences_pools.h"
#include "sequences_properties.h"
#include "sequences_rest.h"
#include "sequences_snapshots.h"

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

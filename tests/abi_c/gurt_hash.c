/* The hash tables of gurt: random operations beside a model, with each kind of lock; threads; and the numbers
 * of the hash functions, which are those of others that have the same names. */
#define _GNU_SOURCE
#include "check.h"

#include <gurt/common.h>
#include <gurt/hash.h>

enum { keys = 64, rounds = 60000 };

static int owner; /* what the table passes on */

struct record {
    int key;
    int references;
    bool freed;
    d_list_t link;
};

static struct record* record_of(d_list_t* link)
{
    return d_list_entry(link, struct record, link);
}

static bool key_cmp(struct d_hash_table* table, d_list_t* link, const void* key, unsigned int size)
{
    CHECK(table->ht_priv == &owner);
    CHECK_EQUAL(size, sizeof(int));
    return record_of(link)->key == *(int const*)key;
}

/* Few values, so that buckets have several records. */
static uint32_t key_hash(struct d_hash_table* table, const void* key, unsigned int size)
{
    (void)table;
    (void)size;
    return (uint32_t)(*(int const*)key % 5);
}
static uint32_t rec_hash(struct d_hash_table* table, d_list_t* link)
{
    return key_hash(table, &record_of(link)->key, sizeof(int));
}
static void key_init(struct d_hash_table* table, d_list_t* link, void* key)
{
    (void)table;
    record_of(link)->key = *(int*)key;
}
static void addref(struct d_hash_table* table, d_list_t* link)
{
    (void)table;
    ++record_of(link)->references;
}
static bool decref(struct d_hash_table* table, d_list_t* link)
{
    (void)table;
    CHECK(record_of(link)->references > 0);
    return --record_of(link)->references == 0;
}
static void free_record(struct d_hash_table* table, d_list_t* link)
{
    (void)table;
    CHECK(!record_of(link)->freed && record_of(link)->references == 0);
    CHECK(d_hash_rec_unlinked(link));
    record_of(link)->freed = true;
}

static d_hash_table_ops_t functions = {.hop_key_cmp = key_cmp,
                                       .hop_key_init = key_init,
                                       .hop_key_hash = key_hash,
                                       .hop_rec_hash = rec_hash,
                                       .hop_rec_addref = addref,
                                       .hop_rec_decref = decref,
                                       .hop_rec_free = free_record};

static int count(d_list_t* link, void* arg)
{
    CHECK(!record_of(link)->freed);
    ++*(int*)arg;
    return 0;
}

static struct record* new_record(int key)
{
    struct record* record;
    D_ALLOC_PTR(record);
    CHECK(record != NULL);
    record->key = key;
    record->references = 1; /* ours */
    D_INIT_LIST_HEAD(&record->link);
    return record;
}

/* The record in the table by its key, with our reference to each. */
static void random_operations(uint32_t features, uint32_t bits)
{
    struct d_hash_table* table = NULL;
    struct record* model[keys] = {NULL};
    bool const counts = (features & D_HASH_FT_EPHEMERAL) == 0;
    uint64_t state = features * 64 + bits + 1;
    CHECK_OK(d_hash_table_create(features, bits, &owner, &functions, &table));
    for (int round = 0; round < rounds; ++round) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        int const key = (int)(state >> 40) % keys;
        struct record* const there = model[key];
        d_list_t* found = NULL;
        switch ((state >> 33) % 8) {
        case 0:
        case 1: /* insert */
        case 2: {
            struct record* record = new_record(key);
            int const how = (int)(state >> 36) % 3;
            if (how == 0) {
                CHECK_RC(d_hash_rec_insert(table, &key, sizeof key, &record->link, true),
                         there ? -DER_EXIST : 0);
            } else if (how == 1) {
                found = d_hash_rec_find_insert(table, &key, sizeof key, &record->link);
                CHECK(found == (there ? &there->link : &record->link));
                if (there) d_hash_rec_decref(table, found);
            } else if (!there) {
                record->key = -1;
                CHECK_OK(d_hash_rec_insert_anonym(table, &record->link, (void*)&key));
            }
            if (there) {
                CHECK(d_hash_rec_unlinked(&record->link));
                D_FREE(record);
            } else {
                CHECK_EQUAL(record->references, counts ? 2 : 1);
                CHECK(!d_hash_rec_unlinked(&record->link));
                model[key] = record;
            }
            break;
        }
        case 3: /* find */
            found = d_hash_rec_find(table, &key, sizeof key);
            CHECK(found == (there ? &there->link : NULL));
            if (found) {
                CHECK_EQUAL(there->references, counts ? 3 : 2);
                d_hash_rec_addref(table, found);
                CHECK_OK(d_hash_rec_ndecref(table, 2, found));
            }
            break;
        case 4: /* take out, and let go of ours */
        case 5:
            CHECK(d_hash_rec_delete(table, &key, sizeof key) == (there != NULL));
            CHECK(!d_hash_rec_delete(table, &key, sizeof key));
            if (!there) break;
            CHECK(!there->freed && there->references == 1 && d_hash_rec_unlinked(&there->link));
            d_hash_rec_decref(table, &there->link);
            CHECK(there->freed);
            D_FREE(model[key]);
            break;
        case 6: /* let go of ours first */
            if (!there) break;
            d_hash_rec_decref(table, &there->link);
            CHECK(there->freed == !counts); /* where the table does not count, it is gone */
            if (counts) CHECK(d_hash_rec_delete_at(table, &there->link));
            CHECK(there->freed && !d_hash_rec_delete_at(table, &there->link));
            D_FREE(model[key]);
            break;
        default:
            CHECK(d_hash_rec_evict(table, &key, sizeof key) ==
                  (there != NULL && (features & D_HASH_FT_LRU) != 0));
        }
        if (round % 1000 != 0) continue;
        int expected = 0, seen = 0;
        for (int i = 0; i < keys; ++i)
            expected += model[i] != NULL;
        CHECK_OK(d_hash_table_traverse(table, count, &seen));
        CHECK_EQUAL(seen, expected);
        CHECK((d_hash_rec_first(table) == NULL) == (expected == 0));
    }
    CHECK_RC(d_hash_table_destroy(table, false), -DER_BUSY);
    CHECK_OK(d_hash_table_destroy(table, true));
    for (int i = 0; i < keys; ++i) {
        if (!model[i]) continue;
        CHECK(!model[i]->freed && model[i]->references == 1);
        D_FREE(model[i]);
    }
}

/* ---- threads that share records */

static struct d_hash_table* shared;
static int shared_total;

static bool atomic_decref(struct d_hash_table* table, d_list_t* link)
{
    (void)table;
    return __atomic_sub_fetch(&record_of(link)->references, 1, __ATOMIC_ACQ_REL) == 0;
}
static void atomic_addref(struct d_hash_table* table, d_list_t* link)
{
    (void)table;
    __atomic_add_fetch(&record_of(link)->references, 1, __ATOMIC_RELAXED);
}
static void free_shared(struct d_hash_table* table, d_list_t* link)
{
    struct record* record = record_of(link);
    (void)table;
    D_FREE(record);
    __atomic_sub_fetch(&shared_total, 1, __ATOMIC_RELAXED);
}

static void* work(void* seed)
{
    uint64_t state = (uint64_t)(uintptr_t)seed;
    for (int round = 0; round < 20000; ++round) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        int const key = (int)(state >> 40) % 16;
        if ((state >> 33) % 3 == 0) {
            d_hash_rec_delete(shared, &key, sizeof key);
            continue;
        }
        struct record* record = new_record(key);
        __atomic_add_fetch(&shared_total, 1, __ATOMIC_RELAXED);
        d_list_t* link = d_hash_rec_find_insert(shared, &key, sizeof key, &record->link);
        CHECK(record_of(link)->key == key);
        if (link != &record->link) d_hash_rec_decref(shared, &record->link); /* not needed */
        d_hash_rec_decref(shared, link);
    }
    return NULL;
}

static void threads(uint32_t features)
{
    pthread_t all[4];
    d_hash_table_ops_t of_threads = functions;
    of_threads.hop_rec_addref = atomic_addref;
    of_threads.hop_rec_decref = atomic_decref;
    of_threads.hop_rec_free = free_shared;
    CHECK_OK(d_hash_table_create(features, 3, &owner, &of_threads, &shared));
    for (uintptr_t i = 0; i < 4; ++i)
        CHECK(pthread_create(&all[i], NULL, work, (void*)(i + 1)) == 0);
    for (int i = 0; i < 4; ++i)
        CHECK(pthread_join(all[i], NULL) == 0);
    CHECK_OK(d_hash_table_destroy(shared, true));
    CHECK_EQUAL(shared_total, 0);
}

static void mistakes(void)
{
    struct d_hash_table table = {0}, *made = &table;
    d_hash_table_ops_t none = {0};
    struct record* record = new_record(1);
    int const key = 1;
    CHECK_RC(d_hash_table_create(0, 3, NULL, NULL, &made), -DER_INVAL);
    CHECK(made == NULL);
    CHECK_RC(d_hash_table_create(0, 3, NULL, &none, &made), -DER_INVAL);
    CHECK_RC(d_hash_table_create(0, 40, NULL, &functions, &made), -DER_INVAL);
    CHECK_RC(d_hash_table_create(0, 3, NULL, &functions, NULL), -DER_INVAL);
    CHECK_RC(d_hash_table_create_inplace(0, 3, NULL, &functions, NULL), -DER_INVAL);
    CHECK_RC(d_hash_table_destroy_inplace(&table, true), -DER_UNINIT);
    CHECK_RC(d_hash_table_traverse(&table, count, NULL), -DER_UNINIT);
    CHECK_RC(d_hash_rec_insert(&table, &key, sizeof key, &record->link, false), -DER_UNINIT);
    CHECK(d_hash_rec_find(&table, &key, sizeof key) == NULL && d_hash_rec_find(NULL, &key, 4) == NULL);
    CHECK_OK(d_hash_table_create_inplace(0, 3, &owner, &functions, &table));
    CHECK(d_hash_rec_find(&table, NULL, 4) == NULL && d_hash_rec_find(&table, &key, 0) == NULL);
    CHECK_RC(d_hash_rec_insert(&table, &key, 0, &record->link, false), -DER_INVAL);
    CHECK_RC(d_hash_rec_insert(&table, &key, sizeof key, NULL, false), -DER_INVAL);
    CHECK_RC(d_hash_table_traverse(&table, NULL, NULL), -DER_INVAL);
    CHECK(!d_hash_rec_delete(&table, &key, sizeof key) && !d_hash_rec_delete_at(&table, &record->link));
    CHECK_RC(d_hash_rec_ndecref(&table, 0, &record->link), -DER_INVAL);
    CHECK_OK(d_hash_rec_insert(&table, &key, sizeof key, &record->link, false));
    CHECK_RC(d_hash_rec_ndecref(&table, 3, &record->link), -DER_INVAL); /* it had two */
    CHECK(record->freed);
    CHECK_OK(d_hash_table_destroy_inplace(&table, true));
    d_free(record);
}

static void numbers(void)
{
    unsigned char const* const text = (unsigned char const*)"0123456789abcdefXYZ";
    CHECK(d_hash_string_u32("", 0) == 5381 && d_hash_string_u32("a", 1) == 177670);
    CHECK(d_hash_string_u32("hello", 5) == 261238937);
    CHECK(d_hash_murmur64((unsigned char const*)"hello", 5, 0) == 0x1e68d17c457bf117ULL);
    CHECK(d_hash_murmur64(text, 0, 5731) == 0xf81377e08c41d2b9ULL);
    CHECK(d_hash_murmur64(text, 16, 5731) == 0x64d1595caea8eee7ULL);
    CHECK(d_hash_murmur64(text, 19, 5731) == 0x422822b67a79721bULL);
    CHECK(d_hash_jump(1, 1) == 0 && d_hash_jump(42, 57) == 43 && d_hash_jump(256, 1024) == 520);
    CHECK(d_hash_jump(0xDEAD10CC, 666) == 361);
}

int main(void)
{
    uint32_t const locks[] = {0, D_HASH_FT_NOLOCK, D_HASH_FT_MUTEX, D_HASH_FT_RWLOCK};
    for (unsigned i = 0; i < 4; ++i) {
        random_operations(locks[i], 3);
        random_operations(locks[i] | D_HASH_FT_LRU, 0);
        random_operations(locks[i] | D_HASH_FT_EPHEMERAL, 6);
        random_operations(locks[i] | D_HASH_FT_EPHEMERAL | D_HASH_FT_LRU, 2);
        if (locks[i] != D_HASH_FT_NOLOCK) threads(locks[i]);
    }
    mistakes();
    numbers();
    return 0;
}

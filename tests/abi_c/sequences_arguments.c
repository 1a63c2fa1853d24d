/* The arguments of sequences.c. */
#include "sequences.h"

#include "check.h"
#include "stepstore/admin.h"

#include <stdatomic.h>

enum { MOST_MEMORY = 128, SLOTS = 6, GLOBALS = 4 };

static _Thread_local uint64_t state = 88172645463325252ULL;
static _Thread_local bool mistakes;
static _Thread_local void* kept[MOST_MEMORY];
static _Thread_local unsigned kept_nr;
static _Atomic uint64_t handles[KINDS][SLOTS];
static _Thread_local struct {
    size_t size;
    unsigned char bytes[512];
} globals[GLOBALS];

void seed_random(uint64_t seed)
{
    state = seed * 0x9E3779B97F4A7C15ULL + 88172645463325252ULL;
    if (state == 0) state = 1;
}

uint64_t any_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1DULL;
}

unsigned below(unsigned n)
{
    return (unsigned)((any_number() >> 32) % n);
}

bool one_in(unsigned n)
{
    return below(n) == 0;
}

void begin_call(void)
{
    mistakes = one_in(3);
}

bool wrong(unsigned n)
{
    return mistakes && one_in(n);
}

uint64_t any_size(void)
{
    switch (below(16)) {
    case 0: return 0;
    case 1: return (1ULL << below(64)) - 1;
    case 2: return 1ULL << below(64);
    case 3: return any_number();
    default: return 1 + below(300);
    }
}

uint64_t any_flags(void)
{
    if (wrong(6)) return any_number();
    return one_in(6) ? 1ULL << below(8) : 0;
}

void* memory(size_t size)
{
    CHECK(kept_nr < MOST_MEMORY);
    void* const made = malloc(size ? size : 1); /* of its own, so that a sanitizer sees its end */
    CHECK(made != NULL);
    memset(made, (int)below(256), size);
    return kept[kept_nr++] = made;
}

void* memory_or_null(size_t size)
{
    return wrong(12) ? NULL : memory(size);
}

void release_memory(void)
{
    while (kept_nr)
        free(kept[--kept_nr]);
}

char* text_of(char const* from)
{
    size_t const size = strlen(from) + 1;
    return memcpy(memory(size), from, size);
}

char const* any_key(void)
{
    static char const* const keys[] = {"a", "b", "key", "another key", "0", "k/1", "k/2"};
    if (wrong(30)) return NULL;
    if (wrong(30)) return text_of("");
    if (one_in(200)) {
        size_t const size = 1U << 20; /* the longest key has as many bytes, or one fewer */
        char* const longest = memory(size + 2);
        memset(longest, 'x', size + 2);
        longest[size + below(2)] = '\0';
        return longest;
    }
    return text_of(keys[below(7)]);
}

char const* any_label(void)
{
    static char const* const labels[] = {"one", "two", "three", "container", "", "with/slash", ".."};
    if (wrong(20)) return NULL;
    if (wrong(20)) {
        char* const longest = memory(200);
        memset(longest, 'l', 199);
        longest[126 + below(4)] = '\0';
        longest[199] = '\0';
        return longest;
    }
    return text_of(labels[below(wrong(8) ? 7 : 4)]);
}

static void set_byte_key(daos_key_t* key)
{
    size_t const size = one_in(6) ? 1 + below(300) : one_in(2) ? 8 : 1 + below(3);
    d_iov_set(key, memory(size), size);
    memset(key->iov_buf, "0ab\377"[below(4)], size);
    if (wrong(12)) key->iov_buf_len = any_size() % (size + 1);
    if (wrong(20)) key->iov_len = any_size();
    if (key->iov_len > size) key->iov_buf_len = size; /* more than there is: to be refused */
    if (wrong(20)) key->iov_buf = NULL;
}

daos_key_t* any_byte_key(void)
{
    if (wrong(20)) return NULL;
    daos_key_t* const key = memory(sizeof *key);
    set_byte_key(key);
    return key;
}

void set_list(d_sg_list_t* list, size_t bytes)
{
    list->sg_nr = one_in(3) ? 1 + below(3) : 1;
    if (wrong(12)) list->sg_nr = 0;
    list->sg_nr_out = 0;
    list->sg_iovs = list->sg_nr ? memory(list->sg_nr * sizeof *list->sg_iovs) : NULL;
    for (unsigned i = 0; i < list->sg_nr; ++i) {
        size_t size = i + 1 == list->sg_nr ? bytes : below((unsigned)bytes + 1);
        bytes -= size;
        if (wrong(8)) size = below(400);
        d_iov_set(&list->sg_iovs[i], memory(size), size);
        if (wrong(12)) list->sg_iovs[i].iov_len = any_size() % (size + 1);
        if (wrong(24)) list->sg_iovs[i].iov_buf = NULL;
    }
    if (wrong(30)) list->sg_iovs = NULL;
}

d_sg_list_t* any_list(size_t bytes)
{
    if (wrong(20)) return NULL;
    d_sg_list_t* const list = memory(sizeof *list);
    set_list(list, bytes);
    return list;
}

d_sg_list_t* lists_of(daos_iod_t const* iods)
{
    if (wrong(12)) return NULL;
    d_sg_list_t* const lists = memory(3 * sizeof *lists);
    for (unsigned i = 0; i < 3; ++i) {
        uint64_t cells = 1;
        if (iods && iods[i].iod_recxs && iods[i].iod_type == DAOS_IOD_ARRAY) {
            cells = 0;
            for (unsigned k = 0; k < iods[i].iod_nr; ++k)
                cells += iods[i].iod_recxs[k].rx_nr;
        }
        uint64_t const bytes = iods ? cells * iods[i].iod_size : 8;
        set_list(&lists[i], bytes < 100000 ? bytes : 8);
    }
    return lists;
}

size_t bytes_of(daos_array_iod_t const* iod)
{
    uint64_t bytes = 0;
    for (unsigned k = 0; iod && iod->arr_rgs && k < iod->arr_nr; ++k)
        bytes += iod->arr_rgs[k].rg_len;
    return bytes < 100000 ? bytes : 8;
}

daos_iod_t* any_iods(unsigned* nr)
{
    *nr = wrong(12) ? 0 : 1 + below(3);
    daos_iod_t* const iods = memory(3 * sizeof *iods);
    for (unsigned i = 0; i < 3; ++i) {
        daos_iod_t* const iod = &iods[i];
        set_byte_key(&iod->iod_name);
        iod->iod_type = wrong(20) ? (daos_iod_type_t)below(9) : (daos_iod_type_t)(1 + below(2));
        iod->iod_size = wrong(4) ? any_size() : 1 + below(8);
        iod->iod_flags = any_flags();
        iod->iod_nr = iod->iod_type == DAOS_IOD_SINGLE && !wrong(20) ? 1 : 1 + below(3);
        if (wrong(12)) iod->iod_nr = 0;
        iod->iod_recxs = memory(4 * sizeof *iod->iod_recxs);
        for (unsigned k = 0; k < 4; ++k) {
            iod->iod_recxs[k].rx_idx = wrong(8) ? any_size() : 20 * k + below(20);
            iod->iod_recxs[k].rx_nr = wrong(8) ? any_size() : 1 + below(18);
        }
        if (wrong(20)) iod->iod_recxs = NULL;
    }
    return wrong(24) ? NULL : iods;
}

daos_array_iod_t* any_ranges(void)
{
    if (wrong(20)) return NULL;
    daos_array_iod_t* const iod = memory(sizeof *iod);
    iod->arr_nr = wrong(8) ? 0 : 1 + below(3);
    iod->arr_rgs = memory(4 * sizeof *iod->arr_rgs);
    iod->arr_nr_short_read = 0;
    iod->arr_nr_read = one_in(4) ? UINT64_MAX - below(2) : 0;
    for (unsigned k = 0; k < 4; ++k) {
        iod->arr_rgs[k].rg_idx = wrong(8) ? any_size() : 500 * k + below(500);
        iod->arr_rgs[k].rg_len = wrong(8) ? any_size() : 1 + below(200);
    }
    if (wrong(30)) iod->arr_rgs = NULL;
    return iod;
}

daos_anchor_t* any_anchor(void)
{
    if (wrong(20)) return NULL;
    daos_anchor_t* const anchor = memory(sizeof *anchor);
    if (!wrong(3)) {
        memset(anchor, 0, sizeof *anchor);
    } else { /* which no call has given */
        unsigned char* const bytes = (unsigned char*)anchor;
        for (size_t i = 0; i < sizeof *anchor; ++i)
            bytes[i] = (unsigned char)any_number();
        anchor->da_type = (uint16_t)below(5);
    }
    return anchor;
}

daos_obj_id_t any_oid(daos_handle_t container)
{
    daos_obj_id_t oid;
    oid.lo = below(4);
    oid.hi = 0;
    if (wrong(40)) {
        oid.hi = any_number();
        return oid;
    }
    static char const* const classes[] = {"SX", "S1", "S2", "RP_2G1", "OC_UNKNOWN"};
    int const id = daos_oclass_name2id(classes[below(5)]);
    enum daos_otype_t const types[] = {DAOS_OT_KV_HASHED,    DAOS_OT_ARRAY,         DAOS_OT_MULTI_HASHED,
                                       DAOS_OT_MULTI_UINT64, DAOS_OT_MULTI_LEXICAL, DAOS_OT_ARRAY_BYTE};
    enum daos_otype_t const type = wrong(20) ? (enum daos_otype_t)below(20) : types[below(6)];
    daos_obj_generate_oid(container, &oid, type, (daos_oclass_id_t)id, 0, wrong(20) ? 1 : 0);
    return oid;
}

daos_prop_t* any_properties(bool of_pool)
{
    if (one_in(2)) return NULL;
    daos_prop_t* const prop = memory(sizeof *prop);
    prop->dpp_nr = below(4);
    prop->dpp_reserv = 0;
    prop->dpp_entries = wrong(12) ? NULL : memory(4 * sizeof *prop->dpp_entries);
    for (unsigned i = 0; i < 4 && prop->dpp_entries; ++i) {
        struct daos_prop_entry* const entry = &prop->dpp_entries[i];
        memset(entry, 0, sizeof *entry);
        entry->dpe_type = (of_pool ? 0 : DAOS_PROP_CO_MIN) + below(32);
        bool const is_label = entry->dpe_type == (of_pool ? DAOS_PROP_PO_LABEL : DAOS_PROP_CO_LABEL);
        if (is_label) {
            char const* const label = any_label();
            entry->dpe_str = label ? text_of(label) : NULL;
        } else if (!of_pool && entry->dpe_type == DAOS_PROP_CO_ROOTS) {
            entry->dpe_val_ptr = wrong(4) ? NULL : memory(sizeof(struct daos_prop_co_roots));
        } else if (one_in(3)) { /* an entry that holds a pointer gets NULL */
            entry->dpe_val = 0;
        }
        entry->dpe_flags = one_in(8) ? DAOS_PROP_ENTRY_NOT_SET : 0;
    }
    return prop;
}

void keep_global(d_iov_t const* made)
{
    if (made == NULL || made->iov_buf == NULL || made->iov_len > sizeof globals->bytes) return;
    unsigned const slot = below(GLOBALS);
    globals[slot].size = made->iov_len;
    memcpy(globals[slot].bytes, made->iov_buf, made->iov_len);
}

d_iov_t any_global(void)
{
    unsigned const slot = below(GLOBALS);
    size_t const size = wrong(8) ? below(200) : globals[slot].size;
    d_iov_t glob;
    d_iov_set(&glob, memory(size), size);
    if (size <= globals[slot].size) memcpy(glob.iov_buf, globals[slot].bytes, size);
    if (size && wrong(4)) ((unsigned char*)glob.iov_buf)[below((unsigned)size)] ^= 1U << below(8);
    if (wrong(20)) glob.iov_buf = NULL;
    return glob;
}

daos_handle_t any_handle(enum kind kind)
{
    if (wrong(24)) kind = (enum kind)below(KINDS);
    if (wrong(40)) return (daos_handle_t){one_in(2) ? 0 : any_number()};
    return (daos_handle_t){handles[kind][below(SLOTS)]};
}

static void close_handle(enum kind kind, daos_handle_t handle)
{
    switch (kind) {
    case POOL: daos_pool_disconnect(handle, NULL); break;
    case CONTAINER: daos_cont_close(handle, NULL); break;
    case OBJECT: daos_obj_close(handle, NULL); break;
    case KEY_VALUE: daos_kv_close(handle, NULL); break;
    case ARRAY: daos_array_close(handle, NULL); break;
    case SNAPSHOT: daos_tx_close(handle, NULL); break;
    case TABLE: daos_oit_close(handle, NULL); break;
    case QUEUE: daos_eq_destroy(handle, DAOS_EQ_DESTROY_FORCE); break;
    case WATCH: stepstore_watch_close(handle); break;
    default: CHECK(!"a kind of handle");
    }
}

void keep_handle(enum kind kind, daos_handle_t handle)
{
    _Atomic uint64_t* const slot = &handles[kind][1 + below(SLOTS - 1)];
    uint64_t empty = 0;
    if (atomic_compare_exchange_strong(slot, &empty, handle.cookie)) return;
    if (one_in(kind == POOL || kind == CONTAINER ? 30 : 6))
        handle.cookie = atomic_exchange(slot, handle.cookie);
    close_handle(kind, handle);
}

static bool is_open(enum kind kind, daos_handle_t handle)
{
    daos_epoch_t epoch;
    daos_cont_info_t info;
    switch (kind) {
    case POOL: return daos_pool_query(handle, NULL, NULL, NULL, NULL) == 0;
    case CONTAINER: return daos_cont_query(handle, &info, NULL, NULL) == 0;
    default: return daos_obj_query_max_epoch(handle, DAOS_TX_NONE, &epoch, NULL) == 0;
    }
}

/* A first handle of a kind that is open to write. Several threads may do it at once: one handle stays. */
static daos_handle_t first(enum kind kind, daos_handle_t above, char const* pool)
{
    uint64_t here = handles[kind][0];
    daos_handle_t handle = {here};
    if (is_open(kind, handle)) return handle;
    handle = DAOS_HDL_INVAL;
    unsigned const types[] = {
        [OBJECT] = DAOS_OT_MULTI_HASHED, [KEY_VALUE] = DAOS_OT_KV_HASHED, [ARRAY] = DAOS_OT_ARRAY};
    daos_obj_id_t oid = {.lo = 2, .hi = 0};
    if (kind >= OBJECT) daos_obj_generate_oid(above, &oid, (enum daos_otype_t)types[kind], OC_UNKNOWN, 0, 0);
    daos_size_t cell = 1;
    daos_size_t chunk = 100;
    switch (kind) {
    case POOL: daos_pool_connect(pool, NULL, DAOS_PC_RW, &handle, NULL, NULL); break;
    case CONTAINER:
        daos_cont_create_with_label(above, "container", NULL, NULL, NULL);
        daos_cont_open(above, "container", DAOS_COO_RW, &handle, NULL, NULL);
        break;
    case OBJECT: daos_obj_open(above, oid, DAOS_OO_RW, &handle, NULL); break;
    case KEY_VALUE: daos_kv_open(above, oid, DAOS_OO_RW, &handle, NULL); break;
    default:
        if (daos_array_create(above, oid, DAOS_TX_NONE, cell, chunk, &handle, NULL))
            daos_array_open(above, oid, DAOS_TX_NONE, DAOS_OO_RW, &cell, &chunk, &handle, NULL);
    }
    if (!atomic_compare_exchange_strong(&handles[kind][0], &here, handle.cookie)) {
        if (daos_handle_is_valid(handle)) close_handle(kind, handle);
        handle.cookie = here;
    } else if (here) {
        close_handle(kind, (daos_handle_t){here});
    }
    return handle;
}

void open_handles(char const* pool)
{
    daos_handle_t const container = first(CONTAINER, first(POOL, DAOS_HDL_INVAL, pool), pool);
    first(OBJECT, container, pool);
    first(KEY_VALUE, container, pool);
    first(ARRAY, container, pool);
}

void close_handles(void)
{
    for (int kind = KINDS - 1; kind >= 0; --kind)
        for (int slot = 0; slot < SLOTS; ++slot) {
            daos_handle_t const old = {atomic_exchange(&handles[kind][slot], 0)};
            if (daos_handle_is_valid(old)) close_handle((enum kind)kind, old);
        }
}

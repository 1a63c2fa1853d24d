/* Requests of the tests on dkeys and akeys. */
#ifndef STEPSTORE_TESTS_ABI_C_OBJECTS_H
#define STEPSTORE_TESTS_ABI_C_OBJECTS_H

#include "check.h"

static inline daos_handle_t open_object(daos_handle_t container, uint64_t lo, enum daos_otype_t type,
                                        unsigned mode)
{
    daos_obj_id_t oid = {lo, 0};
    daos_handle_t oh;
    CHECK_OK(daos_obj_generate_oid(container, &oid, type, OC_SX, 0, 0));
    CHECK_OK(daos_obj_open(container, oid, mode, &oh, NULL));
    return oh;
}

static inline daos_key_t key_of(void const* bytes, size_t size)
{
    daos_key_t key;
    d_iov_set(&key, (void*)(uintptr_t)bytes, size);
    return key;
}

static inline daos_key_t text_key(char const* text)
{
    return key_of(text, strlen(text));
}

static inline daos_iod_t single_of(char const* akey, daos_size_t size)
{
    daos_iod_t const iod = {
        .iod_name = text_key(akey), .iod_type = DAOS_IOD_SINGLE, .iod_size = size, .iod_nr = 1};
    return iod;
}

static inline daos_iod_t array_of(char const* akey, daos_size_t record_size, uint32_t nr, daos_recx_t* recxs)
{
    daos_iod_t const iod = {.iod_name = text_key(akey),
                            .iod_type = DAOS_IOD_ARRAY,
                            .iod_size = record_size,
                            .iod_nr = nr,
                            .iod_recxs = recxs};
    return iod;
}

/* Calls on one akey with text; what they return. */
static inline int put_single(daos_handle_t oh, uint64_t flags, char const* dkey, char const* akey,
                             char const* value)
{
    daos_key_t key = text_key(dkey);
    daos_iod_t iod = single_of(akey, strlen(value));
    struct memory memory;
    return daos_obj_update(oh, DAOS_TX_NONE, flags, &key, 1, &iod,
                           memory_of(&memory, (void*)(uintptr_t)value, strlen(value)), NULL);
}

static inline int get_single(daos_handle_t oh, daos_handle_t th, uint64_t flags, char const* dkey,
                             char const* akey, char* value, size_t room)
{
    daos_key_t key = text_key(dkey);
    daos_iod_t iod = single_of(akey, DAOS_REC_ANY);
    struct memory memory;
    int const rc =
        daos_obj_fetch(oh, th, flags, &key, 1, &iod, memory_of(&memory, value, room - 1), NULL, NULL);
    value[rc == 0 ? iod.iod_size : 0] = '\0';
    return rc;
}

static inline void expect_single(daos_handle_t oh, daos_handle_t th, char const* dkey, char const* akey,
                                 char const* value)
{
    char found[256];
    CHECK_OK(get_single(oh, th, 0, dkey, akey, found, sizeof found));
    if (strcmp(found, value) != 0) fprintf(stderr, "%s/%s is %s, not %s\n", dkey, akey, found, value);
    CHECK(strcmp(found, value) == 0);
}

/* Records of one byte. */
static inline int put_records(daos_handle_t oh, char const* dkey, char const* akey, uint64_t index,
                              char const* text)
{
    daos_key_t key = text_key(dkey);
    daos_recx_t recx = {index, strlen(text)};
    daos_iod_t iod = array_of(akey, 1, 1, &recx);
    struct memory memory;
    return daos_obj_update(oh, DAOS_TX_NONE, 0, &key, 1, &iod,
                           memory_of(&memory, (void*)(uintptr_t)text, strlen(text)), NULL);
}

static inline void expect_records(daos_handle_t oh, daos_handle_t th, char const* dkey, char const* akey,
                                  uint64_t index, char const* bytes, size_t size)
{
    char found[256];
    daos_key_t key = text_key(dkey);
    daos_recx_t recx = {index, size};
    daos_iod_t iod = array_of(akey, 1, 1, &recx);
    struct memory memory;
    memset(found, '?', sizeof found);
    CHECK_OK(daos_obj_fetch(oh, th, 0, &key, 1, &iod, memory_of(&memory, found, size), NULL, NULL));
    if (memory.list.sg_nr_out == 0) memset(found, 0, size); /* nothing there */
    if (memcmp(found, bytes, size) != 0)
        fprintf(stderr, "records %llu of %s/%s differ\n", (unsigned long long)index, dkey, akey);
    CHECK(memcmp(found, bytes, size) == 0);
}

#endif

/* Arguments for calls at random: mostly right, sometimes wrong, never a lie about the size of memory. */
#ifndef STEPSTORE_TESTS_ABI_C_SEQUENCES_H
#define STEPSTORE_TESTS_ABI_C_SEQUENCES_H

#include <daos.h>

/* ---- numbers; each thread has its own sequence */

void seed_random(uint64_t seed);
uint64_t any_number(void);
/* 0 to n - 1. */
unsigned below(unsigned n);
/* Once in n. */
bool one_in(unsigned n);
/* Whether the call that begins gets wrong arguments; then once in n each. */
void begin_call(void);
bool wrong(unsigned n);
/* A small number mostly; sometimes 0, or one near a power of two. */
uint64_t any_size(void);
uint64_t any_flags(void);

/* ---- memory that stays until the call is over */

void* memory(size_t size);
void release_memory(void);
/* NULL sometimes. */
void* memory_or_null(size_t size);

char* text_of(char const* from); /* a copy */
char const* any_key(void);
char const* any_label(void);
/* A key of bytes; as daos_obj_*() take them. */
daos_key_t* any_byte_key(void);
/* Pieces of so many bytes together. */
d_sg_list_t* any_list(size_t bytes);
void set_list(d_sg_list_t* list, size_t bytes);
/* One for each of three. */
d_sg_list_t* lists_of(daos_iod_t const* iods);
daos_iod_t* any_iods(unsigned* nr);
daos_array_iod_t* any_ranges(void);
size_t bytes_of(daos_array_iod_t const* iod);
daos_anchor_t* any_anchor(void);
daos_obj_id_t any_oid(daos_handle_t container);
daos_prop_t* any_properties(bool of_pool);
/* Bytes of a global handle: those that a call made, or others. */
d_iov_t any_global(void);
void keep_global(d_iov_t const* made);

/* ---- handles, which the threads share */

enum kind { POOL, CONTAINER, OBJECT, KEY_VALUE, ARRAY, SNAPSHOT, TABLE, QUEUE, WATCH, KINDS };

/* Mostly an open handle of the kind; else a closed one, one of another kind, none, or any number. */
daos_handle_t any_handle(enum kind kind);
/* For others to take. The one in its place is closed. */
void keep_handle(enum kind kind, daos_handle_t handle);
/* The first of each kind is opened again if it is closed. */
void open_handles(char const* pool);
void close_handles(void);

#endif

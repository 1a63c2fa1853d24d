// A libdaos as a table of its functions: our own, linked, or the one of a DAOS system, found at run time.
// Everything above it (client, steps, tools) calls through the table and cannot tell them apart.
// Threads: any may call ours(), system() and the functions of a library. replace_ours() and restore_ours()
// are for one, while no other uses it. Errors: DER_NOSYS if there is no such library; the functions return
// codes as DAOS's do.
#pragma once

#include "stepstore/admin.h"
#include "stepstore/export.h"

#include <daos.h>

#include <cstddef>
#include <cstdint>
#include <string>

// X(member, symbol): what a libdaos must have.
#define STEPSTORE_LIBDAOS_CALLS(X)                                                                           \
    X(init, daos_init)                                                                                       \
    X(fini, daos_fini)                                                                                       \
    X(pool_connect, daos_pool_connect)                                                                       \
    X(pool_disconnect, daos_pool_disconnect)                                                                 \
    X(pool_query, daos_pool_query)                                                                           \
    X(pool_query_target, daos_pool_query_target)                                                             \
    X(pool_list_cont, daos_pool_list_cont)                                                                   \
    X(pool_local2global, daos_pool_local2global)                                                             \
    X(pool_global2local, daos_pool_global2local)                                                             \
    X(cont_create_with_label, daos_cont_create_with_label)                                                   \
    X(cont_open, daos_cont_open)                                                                             \
    X(cont_close, daos_cont_close)                                                                           \
    X(cont_destroy, daos_cont_destroy)                                                                       \
    X(cont_query, daos_cont_query)                                                                           \
    X(cont_local2global, daos_cont_local2global)                                                             \
    X(cont_global2local, daos_cont_global2local)                                                             \
    X(cont_alloc_oids, daos_cont_alloc_oids)                                                                 \
    X(cont_create_snap, daos_cont_create_snap)                                                               \
    X(cont_create_snap_opt, daos_cont_create_snap_opt)                                                       \
    X(cont_list_snap, daos_cont_list_snap)                                                                   \
    X(cont_destroy_snap, daos_cont_destroy_snap)                                                             \
    X(tx_open_snap, daos_tx_open_snap)                                                                       \
    X(tx_close, daos_tx_close)                                                                               \
    X(obj_generate_oid, daos_obj_generate_oid)                                                               \
    X(obj_open, daos_obj_open)                                                                               \
    X(obj_close, daos_obj_close)                                                                             \
    X(obj_punch, daos_obj_punch)                                                                             \
    X(obj_update, daos_obj_update)                                                                           \
    X(obj_fetch, daos_obj_fetch)                                                                             \
    X(obj_punch_dkeys, daos_obj_punch_dkeys)                                                                 \
    X(obj_punch_akeys, daos_obj_punch_akeys)                                                                 \
    X(obj_list_dkey, daos_obj_list_dkey)                                                                     \
    X(obj_list_akey, daos_obj_list_akey)                                                                     \
    X(obj_list_recx, daos_obj_list_recx)                                                                     \
    X(obj_query_max_epoch, daos_obj_query_max_epoch)                                                         \
    X(hlc2timespec, daos_hlc2timespec)                                                                       \
    X(oit_open, daos_oit_open)                                                                               \
    X(oit_close, daos_oit_close)                                                                             \
    X(oit_list, daos_oit_list)                                                                               \
    X(oclass_name2id, daos_oclass_name2id)                                                                   \
    X(oclass_id2name, daos_oclass_id2name)                                                                   \
    X(kv_open, daos_kv_open)                                                                                 \
    X(kv_close, daos_kv_close)                                                                               \
    X(kv_destroy, daos_kv_destroy)                                                                           \
    X(kv_put, daos_kv_put)                                                                                   \
    X(kv_get, daos_kv_get)                                                                                   \
    X(kv_remove, daos_kv_remove)                                                                             \
    X(kv_list, daos_kv_list)                                                                                 \
    X(array_create, daos_array_create)                                                                       \
    X(array_open, daos_array_open)                                                                           \
    X(array_open_with_attr, daos_array_open_with_attr)                                                       \
    X(array_close, daos_array_close)                                                                         \
    X(array_destroy, daos_array_destroy)                                                                     \
    X(array_read, daos_array_read)                                                                           \
    X(array_write, daos_array_write)                                                                         \
    X(array_get_size, daos_array_get_size)                                                                   \
    X(array_set_size, daos_array_set_size)                                                                   \
    X(array_punch, daos_array_punch)                                                                         \
    X(array_stat, daos_array_stat)                                                                           \
    X(eq_create, daos_eq_create)                                                                             \
    X(eq_destroy, daos_eq_destroy)                                                                           \
    X(eq_poll, daos_eq_poll)                                                                                 \
    X(event_init, daos_event_init)                                                                           \
    X(event_fini, daos_event_fini)                                                                           \
    X(event_test, daos_event_test)

// X(member, symbol): what ours has beside them (stepstore/admin.h).
#define STEPSTORE_OWN_CALLS(X)                                                                               \
    X(last_message, stepstore_last_message)                                                                  \
    X(pool_create, stepstore_pool_create)                                                                    \
    X(pool_destroy, stepstore_pool_destroy)                                                                  \
    X(pool_path, stepstore_pool_path)                                                                        \
    X(pool_list, stepstore_pool_list)                                                                        \
    X(pool_describe, stepstore_pool_describe)                                                                \
    X(pool_check, stepstore_pool_check)                                                                      \
    X(pool_compact, stepstore_pool_compact)                                                                  \
    X(pool_sync, stepstore_pool_sync)                                                                        \
    X(pool_sync_own, stepstore_pool_sync_own)                                                                \
    X(cont_objects, stepstore_cont_objects)                                                                  \
    X(cont_object, stepstore_cont_object)                                                                    \
    X(cont_destroy_snaps, stepstore_cont_destroy_snaps)                                                      \
    X(kv_exchange, stepstore_kv_exchange)                                                                    \
    X(kv_put_if, stepstore_kv_put_if)                                                                        \
    X(kv_list_below, stepstore_kv_list_below)                                                                \
    X(kv_get_many, stepstore_kv_get_many)                                                                    \
    X(kv_announce, stepstore_kv_announce)                                                                    \
    X(kv_watch, stepstore_kv_watch)                                                                          \
    X(watch_wait, stepstore_watch_wait)                                                                      \
    X(watch_close, stepstore_watch_close)

// X(member, symbol, parameters): transactions of a DAOS system, used if it has all of them.
#define STEPSTORE_TX_CALLS(X)                                                                                \
    X(tx_open, daos_tx_open, daos_handle_t, daos_handle_t*, std::uint64_t, daos_event_t*)                    \
    X(tx_commit, daos_tx_commit, daos_handle_t, daos_event_t*)                                               \
    X(tx_restart, daos_tx_restart, daos_handle_t, daos_event_t*)                                             \
    X(tx_abort, daos_tx_abort, daos_handle_t, daos_event_t*)

namespace stepstore {

// Copyable: a copy with some functions replaced is how a test injects faults, or a simulator its own store.
class STEPSTORE_API Library {
public:
    // Our own library. Lives as long as the process.
    static const Library& ours();
    // In the place of ours(), for the whole process, until restore_ours(): for a simulator or a test, before
    // a pool is connected to. The replaced one stays in memory.
    static void replace_ours(Library library);
    static void restore_ours();
    // A DAOS system's: $STEPSTORE_LIBDAOS, or libdaos.so.2, or libdaos.so. Loaded once. DER_NOSYS when there
    // is none or functions are missing from it; the message names the file, the loader's reason and every
    // missing function.
    static const Library& system();
    // The library in one file; for system() and tests. Never unloaded.
    static Library load(const std::string& file);

    std::string name; // for messages: "stepstore", or the file

#define STEPSTORE_LIBDAOS_MEMBER(member, symbol) decltype(&::symbol) member = nullptr;
    STEPSTORE_LIBDAOS_CALLS(STEPSTORE_LIBDAOS_MEMBER)
    // Null in the library of a DAOS system.
    STEPSTORE_OWN_CALLS(STEPSTORE_LIBDAOS_MEMBER)
#undef STEPSTORE_LIBDAOS_MEMBER
    // Only a DAOS system has these. They stand in for kv_put_if there.
#define STEPSTORE_TX_MEMBER(member, symbol, ...) int (*member)(__VA_ARGS__) = nullptr;
    STEPSTORE_TX_CALLS(STEPSTORE_TX_MEMBER)
#undef STEPSTORE_TX_MEMBER

    // Ours does more than libdaos promises: reads fill with zeroes what is not stored, snapshots have names.
    bool is_ours() const { return last_message != nullptr; }
};

} // namespace stepstore

/*
 * The DAOS client API, as libdaos 2.6 offers it to I/O middleware: key-value and array objects in containers
 * in pools, snapshots, and asynchronous completion through event queues.
 *
 * These headers are Stepstore's own. A program written against libdaos compiles against them unchanged. A
 * program built against them runs with libdaos.so.2 of a DAOS system. Names, values, layouts and results are
 * the same. What is declared here works. What Stepstore does not implement is not declared.
 *
 * All calls return 0 or a negative error code (daos_errno.h) unless they say otherwise. Several threads may
 * call at once, also on one handle.
 *
 * A call that takes a daos_event_t blocks when it is NULL. With an event the call returns 0 at once, and the
 * error of the operation arrives in ev_error when the event completes. The call itself fails only where the
 * event cannot be launched. What the call was given by pointer must stay until completion. As in DAOS some
 * things are taken at launch, and the caller may reuse them at once. These are keys, names, *size as the room
 * for a value, ranges, lists of memory, and values and cells of less than 19,456 bytes.
 *
 * Any call may also return: -DER_UNINIT before daos_init(); -DER_NO_HDL on a handle that is closed, of
 * another kind or not of this process; -DER_INVAL on a NULL pointer that is not said to be optional;
 * -DER_CSUM on damaged data; -DER_NOSPACE on a full disk; -DER_NOMEM; -DER_IO.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_H
#define STEPSTORE_LIBDAOS_DAOS_H

#include <daos_api.h>
#include <daos_array.h>
#include <daos_cont.h>
#include <daos_errno.h>
#include <daos_event.h>
#include <daos_kv.h>
#include <daos_obj.h>
#include <daos_pool.h>
#include <daos_prop.h>
#include <daos_security.h>
#include <daos_types.h>
#include <daos_version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the library. Counted: each successful call needs its daos_fini(). */
int daos_init(void);

/* Undoes one daos_init(). The last one waits for what is in flight and closes every handle that is still
 * open. -DER_UNINIT. */
int daos_fini(void);

/* In a child process after fork(). Stepstore's handles work there anyway, and queues of events stay the
 * parent's. So it only tells whether the library is started. -DER_UNINIT. */
int daos_reinit(void);

#ifdef __cplusplus
}
#endif
#endif

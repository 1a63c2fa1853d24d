/*
 * Transactions and the helpers of anchors.
 * Threads and errors: daos.h.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_API_H
#define STEPSTORE_LIBDAOS_DAOS_API_H

#include <daos_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A transaction: several calls on objects of one container that take effect together, or not at all. They get
 * it as `th`. As on a DAOS system
 * - its fetches and conditions see what was committed before, not the transaction's own updates;
 * - all that it fetches was so at one moment;
 * - a call or the commit gives -DER_TX_RESTART if others have changed what the transaction has fetched or
 *   updates. Then it can only be restarted (daos_tx_restart(), which forgets all of it) or closed;
 * - it has at most 65,535 updates (-DER_OVERFLOW). Here it also has at most 256 MiB of records, values of 64
 *   KiB and more not counted, and looks at no more than 1,048,576 places.
 * A transaction that was committed or aborted, or has to be restarted, takes no calls (-DER_NO_PERM).
 *
 * On Ceph all that it fetches and updates has to lie on one target: under one dkey, in one object of class
 * S1, or in a pool of one target. Otherwise the commit is -DER_NOTSUPPORTED. Pools in files have no
 * transactions (-DER_NOTSUPPORTED). A forked child cannot use its parent's (-DER_NO_HDL).
 */
enum {
    DAOS_TF_RDONLY = 1 << 0,   /* it updates nothing (-DER_NO_PERM) */
    DAOS_TF_ZERO_COPY = 1 << 1 /* the caller's memory stays as it is until the commit; needed by DAOS alone */
};
int daos_tx_open(daos_handle_t coh, daos_handle_t* th, uint64_t flags, daos_event_t* ev);
/* -DER_ALREADY: it was. -DER_TX_RESTART: see above. After any other error it is over, and was not carried
 * out, unless the error is of the medium. */
int daos_tx_commit(daos_handle_t th, daos_event_t* ev);
int daos_tx_abort(daos_handle_t th, daos_event_t* ev);   /* -DER_ALREADY: it was */
int daos_tx_restart(daos_handle_t th, daos_event_t* ev); /* -DER_NO_PERM unless after -DER_TX_RESTART */

/* A transaction that reads the container as it was at a snapshot's epoch. As in DAOS any epoch but 0 and
 * DAOS_EPOCH_MAX (-DER_INVAL) opens. Reading at an epoch without a snapshot is -DER_EP_OLD. */
int daos_tx_open_snap(daos_handle_t coh, daos_epoch_t epoch, daos_handle_t* th, daos_event_t* ev);
/* Without a commit nothing was done. -DER_BUSY: it is being committed. */
int daos_tx_close(daos_handle_t th, daos_event_t* ev);
/* Of a snapshot, or of a transaction that was committed with updates; else -DER_UNINIT. */
int daos_tx_hdl2epoch(daos_handle_t th, daos_epoch_t* epoch);

/*
 * An epoch as the time of the clock. Each library's functions understand its own epochs: here nanoseconds
 * since 1970, on a DAOS system a clock of 1/16 nanoseconds since 2021. -DER_INVAL: NULL.
 */
int daos_hlc2timespec(uint64_t hlc, struct timespec* ts);
int daos_hlc2timestamp(uint64_t hlc, time_t* ts);

/* A list of the ranks in a text such as "1:2:3", separated by any of the characters of sep. The caller frees
 * it with d_rank_list_free(). NULL: there is none in it, one is no number, or there is no memory. */
d_rank_list_t* daos_rank_list_parse(const char* str, const char* sep);

/* Sets an anchor to the beginning. */
static inline int daos_anchor_init(daos_anchor_t* anchor, unsigned int opts)
{
    (void)opts;
    memset(anchor, 0, sizeof *anchor);
    return 0;
}

static inline void daos_anchor_fini(daos_anchor_t* anchor)
{
    (void)anchor;
}

static inline bool daos_anchor_is_eof(daos_anchor_t* anchor)
{
    return anchor->da_type == DAOS_ANCHOR_TYPE_EOF;
}

#ifdef __cplusplus
}
#endif
#endif

/*
 * Transactions (Stepstore has those that read a snapshot) and the helpers of anchors.
 * Threads and errors: daos.h.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_API_H
#define STEPSTORE_LIBDAOS_DAOS_API_H

#include <daos_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A transaction that reads the container as it was at a snapshot's epoch. As in DAOS any epoch but 0 and
 * DAOS_EPOCH_MAX (-DER_INVAL) opens. Reading at an epoch without a snapshot is -DER_EP_OLD. */
int daos_tx_open_snap(daos_handle_t coh, daos_epoch_t epoch, daos_handle_t* th, daos_event_t* ev);
int daos_tx_close(daos_handle_t th, daos_event_t* ev);
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

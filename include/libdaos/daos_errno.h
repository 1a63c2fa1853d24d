/*
 * Error codes of the DAOS client API. Calls return 0 or one of these negated: -DER_NONEXIST is -1005.
 *
 * Each code is stated once, in the lists below, from which the enumeration and the texts of d_errdesc() come.
 * X(name, value, text)
 *
 * Threads: any; the texts are constants.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_ERRNO_H
#define STEPSTORE_LIBDAOS_DAOS_ERRNO_H

/* clang-format off */
/* Codes of the common layers: 1001 and up. */
#define DAOS_COMMON_ERRORS(X) \
    X(DER_NO_PERM, 1001, "the operation is not permitted") \
    X(DER_NO_HDL, 1002, "the handle is not valid") \
    X(DER_INVAL, 1003, "a parameter is not valid") \
    X(DER_EXIST, 1004, "it exists already") \
    X(DER_NONEXIST, 1005, "it does not exist") \
    X(DER_UNREACH, 1006, "the node cannot be reached") \
    X(DER_NOSPACE, 1007, "no space left on the storage target") \
    X(DER_ALREADY, 1008, "it was done already") \
    X(DER_NOMEM, 1009, "out of memory") \
    X(DER_NOSYS, 1010, "the function is not there") \
    X(DER_TIMEDOUT, 1011, "the time ran out") \
    X(DER_BUSY, 1012, "it is in use") \
    X(DER_AGAIN, 1013, "try again") \
    X(DER_PROTO, 1014, "the protocols do not fit each other") \
    X(DER_UNINIT, 1015, "not initialised: call daos_init first") \
    X(DER_TRUNC, 1016, "the buffer is too short") \
    X(DER_OVERFLOW, 1017, "the value is too large for its type or buffer") \
    X(DER_CANCELED, 1018, "cancelled") \
    X(DER_OOG, 1019, "not in the group or member list") \
    X(DER_HG, 1020, "error of the transport layer") \
    X(DER_UNREG, 1021, "this version of the message or protocol is not registered") \
    X(DER_ADDRSTR_GEN, 1022, "no address string could be made") \
    X(DER_PMIX, 1023, "error of the PMIx layer") \
    X(DER_IVCB_FORWARD, 1024, "the variable is not here and must be asked for elsewhere") \
    X(DER_MISC, 1025, "an error of no other kind") \
    X(DER_BADPATH, 1026, "the path name is not valid") \
    X(DER_NOTDIR, 1027, "not a directory") \
    X(DER_CORPC_INCOMPLETE, 1028, "a collective call failed") \
    X(DER_NO_RAS_RANK, 1029, "no rank listens to RAS events") \
    X(DER_NOTATTACH, 1030, "the service group is not attached") \
    X(DER_MISMATCH, 1031, "the versions do not match") \
    X(DER_EXCLUDED, 1032, "the rank was excluded") \
    X(DER_NOREPLY, 1033, "the handler sent no reply") \
    X(DER_DOS, 1034, "denial of service") \
    X(DER_BAD_TARGET, 1035, "the message went to the wrong target") \
    X(DER_GRPVER, 1036, "the group versions do not match") \
    X(DER_HLC_SYNC, 1037, "the clocks are too far apart") \
    X(DER_NO_SHMEM, 1038, "not enough shared memory") \
    X(DER_ADD_METRIC_FAILED, 1039, "the metric could not be added") \
    X(DER_DURATION_MISMATCH, 1040, "the end of a duration has no start") \
    X(DER_OP_NOT_PERMITTED, 1041, "not permitted on this kind of metric") \
    X(DER_EXCEEDS_PATH_LEN, 1042, "the path name is too long") \
    X(DER_METRIC_NOT_FOUND, 1043, "there is no such metric") \
    X(DER_SHMEM_PERMS, 1044, "no permission on the shared memory segment") \
    X(DER_HG_FATAL, 1045, "fatal error of the transport layer") \
    X(DER_QUOTA_LIMIT, 1046, "the quota is used up")

/* Codes of the storage layers: 2001 and up. */
#define DAOS_STORAGE_ERRORS(X) \
    X(DER_IO, 2001, "input or output error") \
    X(DER_FREE_MEM, 2002, "memory could not be freed") \
    X(DER_ENOENT, 2003, "no such entry") \
    X(DER_NOTYPE, 2004, "unknown type of object") \
    X(DER_NOSCHEMA, 2005, "unknown schema of object") \
    X(DER_NOLOCAL, 2006, "the object is not local") \
    X(DER_STALE, 2007, "the pool map is out of date") \
    X(DER_NOTLEADER, 2008, "not the leader of the service") \
    X(DER_TGT_CREATE, 2009, "the target could not be made") \
    X(DER_EP_RO, 2010, "the epoch can only be read") \
    X(DER_EP_OLD, 2011, "the epoch is too old, its data are gone") \
    X(DER_KEY2BIG, 2012, "the key is too large") \
    X(DER_REC2BIG, 2013, "the record is larger than the buffer") \
    X(DER_IO_INVAL, 2014, "buffers and extents differ in size") \
    X(DER_EQ_BUSY, 2015, "the event queue is in use") \
    X(DER_DOMAIN, 2016, "the domains of the components do not match") \
    X(DER_SHUTDOWN, 2017, "the service is to shut down") \
    X(DER_INPROGRESS, 2018, "under way") \
    X(DER_NOTAPPLICABLE, 2019, "does not apply") \
    X(DER_NOTREPLICA, 2020, "not a replica of the service") \
    X(DER_CSUM, 2021, "the checksum does not match") \
    X(DER_DF_INVAL, 2022, "the stored format is not known") \
    X(DER_DF_INCOMPT, 2023, "the stored format has a version that this library cannot read") \
    X(DER_REC_SIZE, 2024, "the record has the wrong size") \
    X(DER_TX_RESTART, 2025, "the transaction must be restarted") \
    X(DER_DATA_LOSS, 2026, "data are lost") \
    X(DER_OP_CANCELED, 2027, "the operation was cancelled") \
    X(DER_TX_BUSY, 2028, "the transaction is not committed") \
    X(DER_AGENT_INCOMPAT, 2029, "agent and library do not fit each other") \
    X(DER_NEED_TX, 2030, "needs a distributed transaction") \
    X(DER_RF, 2031, "more failures than the redundancy bears") \
    X(DER_FETCH_AGAIN, 2032, "fetch again") \
    X(DER_TX_UNCERTAIN, 2033, "the state of the transaction is not known") \
    X(DER_AGENT_COMM, 2034, "the agent cannot be reached") \
    X(DER_ID_MISMATCH, 2035, "the identifiers do not match") \
    X(DER_TGT_RETRY, 2036, "try another target") \
    X(DER_NOTSUPPORTED, 2037, "not supported") \
    X(DER_CONTROL_INCOMPAT, 2038, "components of the control plane do not fit each other") \
    X(DER_NO_SERVICE, 2039, "no service is there") \
    X(DER_TX_ID_REUSED, 2040, "the transaction's identifier may be used twice") \
    X(DER_UPDATE_AGAIN, 2041, "update again") \
    X(DER_NVME_IO, 2042, "input or output error of an NVMe device") \
    X(DER_NO_CERT, 2043, "a certificate cannot be read") \
    X(DER_BAD_CERT, 2044, "a certificate is not valid") \
    X(DER_VOS_PARTIAL_UPDATE, 2045, "an array value cannot be overwritten in part within one epoch") \
    X(DER_CHKPT_BUSY, 2046, "the page can only be read during a checkpoint") \
    X(DER_DIV_BY_ZERO, 2047, "division by zero") \
    X(DER_OVERLOAD_RETRY, 2048, "the service is overloaded: try again later") \
    X(DER_NOT_RESUME, 2049, "the check cannot be resumed") \
    X(DER_CONT_NONEXIST, 2050, "the container does not exist")
/* clang-format on */

#ifdef __cplusplus
extern "C" {
#endif

#define DAOS_ERROR_VALUE(name, value, text) name = (value),
enum daos_errno {
    DER_SUCCESS = 0,
    DER_ERR_GURT_BASE = 1000,
    DAOS_COMMON_ERRORS(DAOS_ERROR_VALUE) DER_ERR_DAOS_BASE = 2000,
    DAOS_STORAGE_ERRORS(DAOS_ERROR_VALUE) DER_UNKNOWN = 501000
};
#undef DAOS_ERROR_VALUE

/* The older name of a code. */
#define DER_EVICTED DER_EXCLUDED

/* The name of a code as calls return it ("DER_NONEXIST" for -1005, "DER_SUCCESS" for 0); "DER_UNKNOWN" for
 * anything else. */
const char* d_errstr(int errnum);
/* One sentence on a code as calls return it; never NULL. */
const char* d_errdesc(int errnum);

/* For printf: printf("put failed: " DF_RC "\n", DP_RC(rc)); */
#ifndef DF_RC
#define DF_RC "%s(%d): '%s'"
#define DP_RC(rc) d_errstr(rc), rc, d_errdesc(rc)
#endif

#ifdef __cplusplus
}
#endif
#endif

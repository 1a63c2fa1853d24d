/*
 * Error codes of the DAOS client API. Calls return 0 or one of these negated: -DER_NONEXIST is -1005.
 *
 * Each code is stated once, in the lists below, from which the enumeration and the texts of d_errdesc() come.
 * X(with, name, value, text); `with` is what the list is given beside X.
 *
 * Threads: any; the texts are constants.
 */
#ifndef STEPSTORE_LIBDAOS_DAOS_ERRNO_H
#define STEPSTORE_LIBDAOS_DAOS_ERRNO_H

/* clang-format off */
/* Codes of the common layers: 1001 and up. */
#define DAOS_COMMON_ERRORS(X, with) \
    X(with, DER_NO_PERM, 1001, "the operation is not permitted") \
    X(with, DER_NO_HDL, 1002, "the handle is not valid") \
    X(with, DER_INVAL, 1003, "a parameter is not valid") \
    X(with, DER_EXIST, 1004, "it exists already") \
    X(with, DER_NONEXIST, 1005, "it does not exist") \
    X(with, DER_UNREACH, 1006, "the node cannot be reached") \
    X(with, DER_NOSPACE, 1007, "no space left on the storage target") \
    X(with, DER_ALREADY, 1008, "it was done already") \
    X(with, DER_NOMEM, 1009, "out of memory") \
    X(with, DER_NOSYS, 1010, "the function is not there") \
    X(with, DER_TIMEDOUT, 1011, "the time ran out") \
    X(with, DER_BUSY, 1012, "it is in use") \
    X(with, DER_AGAIN, 1013, "try again") \
    X(with, DER_PROTO, 1014, "the protocols do not fit each other") \
    X(with, DER_UNINIT, 1015, "not initialised: call daos_init first") \
    X(with, DER_TRUNC, 1016, "the buffer is too short") \
    X(with, DER_OVERFLOW, 1017, "the value is too large for its type or buffer") \
    X(with, DER_CANCELED, 1018, "cancelled") \
    X(with, DER_OOG, 1019, "not in the group or member list") \
    X(with, DER_HG, 1020, "error of the transport layer") \
    X(with, DER_UNREG, 1021, "this version of the message or protocol is not registered") \
    X(with, DER_ADDRSTR_GEN, 1022, "no address string could be made") \
    X(with, DER_PMIX, 1023, "error of the PMIx layer") \
    X(with, DER_IVCB_FORWARD, 1024, "the variable is not here and must be asked for elsewhere") \
    X(with, DER_MISC, 1025, "an error of no other kind") \
    X(with, DER_BADPATH, 1026, "the path name is not valid") \
    X(with, DER_NOTDIR, 1027, "not a directory") \
    X(with, DER_CORPC_INCOMPLETE, 1028, "a collective call failed") \
    X(with, DER_NO_RAS_RANK, 1029, "no rank listens to RAS events") \
    X(with, DER_NOTATTACH, 1030, "the service group is not attached") \
    X(with, DER_MISMATCH, 1031, "the versions do not match") \
    X(with, DER_EXCLUDED, 1032, "the rank was excluded") \
    X(with, DER_NOREPLY, 1033, "the handler sent no reply") \
    X(with, DER_DOS, 1034, "denial of service") \
    X(with, DER_BAD_TARGET, 1035, "the message went to the wrong target") \
    X(with, DER_GRPVER, 1036, "the group versions do not match") \
    X(with, DER_HLC_SYNC, 1037, "the clocks are too far apart") \
    X(with, DER_NO_SHMEM, 1038, "not enough shared memory") \
    X(with, DER_ADD_METRIC_FAILED, 1039, "the metric could not be added") \
    X(with, DER_DURATION_MISMATCH, 1040, "the end of a duration has no start") \
    X(with, DER_OP_NOT_PERMITTED, 1041, "not permitted on this kind of metric") \
    X(with, DER_EXCEEDS_PATH_LEN, 1042, "the path name is too long") \
    X(with, DER_METRIC_NOT_FOUND, 1043, "there is no such metric") \
    X(with, DER_SHMEM_PERMS, 1044, "no permission on the shared memory segment") \
    X(with, DER_HG_FATAL, 1045, "fatal error of the transport layer") \
    X(with, DER_QUOTA_LIMIT, 1046, "the quota is used up")

/* Codes of the storage layers: 2001 and up. */
#define DAOS_STORAGE_ERRORS(X, with) \
    X(with, DER_IO, 2001, "input or output error") \
    X(with, DER_FREE_MEM, 2002, "memory could not be freed") \
    X(with, DER_ENOENT, 2003, "no such entry") \
    X(with, DER_NOTYPE, 2004, "unknown type of object") \
    X(with, DER_NOSCHEMA, 2005, "unknown schema of object") \
    X(with, DER_NOLOCAL, 2006, "the object is not local") \
    X(with, DER_STALE, 2007, "the pool map is out of date") \
    X(with, DER_NOTLEADER, 2008, "not the leader of the service") \
    X(with, DER_TGT_CREATE, 2009, "the target could not be made") \
    X(with, DER_EP_RO, 2010, "the epoch can only be read") \
    X(with, DER_EP_OLD, 2011, "the epoch is too old, its data are gone") \
    X(with, DER_KEY2BIG, 2012, "the key is too large") \
    X(with, DER_REC2BIG, 2013, "the record is larger than the buffer") \
    X(with, DER_IO_INVAL, 2014, "buffers and extents differ in size") \
    X(with, DER_EQ_BUSY, 2015, "the event queue is in use") \
    X(with, DER_DOMAIN, 2016, "the domains of the components do not match") \
    X(with, DER_SHUTDOWN, 2017, "the service is to shut down") \
    X(with, DER_INPROGRESS, 2018, "under way") \
    X(with, DER_NOTAPPLICABLE, 2019, "does not apply") \
    X(with, DER_NOTREPLICA, 2020, "not a replica of the service") \
    X(with, DER_CSUM, 2021, "the checksum does not match") \
    X(with, DER_DF_INVAL, 2022, "the stored format is not known") \
    X(with, DER_DF_INCOMPT, 2023, "the stored format has a version that this library cannot read") \
    X(with, DER_REC_SIZE, 2024, "the record has the wrong size") \
    X(with, DER_TX_RESTART, 2025, "the transaction must be restarted") \
    X(with, DER_DATA_LOSS, 2026, "data are lost") \
    X(with, DER_OP_CANCELED, 2027, "the operation was cancelled") \
    X(with, DER_TX_BUSY, 2028, "the transaction is not committed") \
    X(with, DER_AGENT_INCOMPAT, 2029, "agent and library do not fit each other") \
    X(with, DER_NEED_TX, 2030, "needs a distributed transaction") \
    X(with, DER_RF, 2031, "more failures than the redundancy bears") \
    X(with, DER_FETCH_AGAIN, 2032, "fetch again") \
    X(with, DER_TX_UNCERTAIN, 2033, "the state of the transaction is not known") \
    X(with, DER_AGENT_COMM, 2034, "the agent cannot be reached") \
    X(with, DER_ID_MISMATCH, 2035, "the identifiers do not match") \
    X(with, DER_TGT_RETRY, 2036, "try another target") \
    X(with, DER_NOTSUPPORTED, 2037, "not supported") \
    X(with, DER_CONTROL_INCOMPAT, 2038, "components of the control plane do not fit each other") \
    X(with, DER_NO_SERVICE, 2039, "no service is there") \
    X(with, DER_TX_ID_REUSED, 2040, "the transaction's identifier may be used twice") \
    X(with, DER_UPDATE_AGAIN, 2041, "update again") \
    X(with, DER_NVME_IO, 2042, "input or output error of an NVMe device") \
    X(with, DER_NO_CERT, 2043, "a certificate cannot be read") \
    X(with, DER_BAD_CERT, 2044, "a certificate is not valid") \
    X(with, DER_VOS_PARTIAL_UPDATE, 2045, "an array value cannot be overwritten in part within one epoch") \
    X(with, DER_CHKPT_BUSY, 2046, "the page can only be read during a checkpoint") \
    X(with, DER_DIV_BY_ZERO, 2047, "division by zero") \
    X(with, DER_OVERLOAD_RETRY, 2048, "the service is overloaded: try again later") \
    X(with, DER_NOT_RESUME, 2049, "the check cannot be resumed") \
    X(with, DER_CONT_NONEXIST, 2050, "the container does not exist")
/* clang-format on */

#ifdef __cplusplus
extern "C" {
#endif

#define DAOS_ERROR_VALUE(with, name, value, text) name = (value),
enum daos_errno {
    DER_SUCCESS = 0,
    DER_ERR_GURT_BASE = 1000,
    DAOS_COMMON_ERRORS(DAOS_ERROR_VALUE, ) DER_ERR_DAOS_BASE = 2000,
    DAOS_STORAGE_ERRORS(DAOS_ERROR_VALUE, ) DER_UNKNOWN = 501000
};
#undef DAOS_ERROR_VALUE

/* The lists under DAOS's names, for a program that does the same with each code: action(name, text). */
#define DAOS_ERROR_ACTION(action, name, value, text) action(name, text)
#define D_FOREACH_GURT_ERR(action) DAOS_COMMON_ERRORS(DAOS_ERROR_ACTION, action)
#define D_FOREACH_DAOS_ERR(action) DAOS_STORAGE_ERRORS(DAOS_ERROR_ACTION, action)

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

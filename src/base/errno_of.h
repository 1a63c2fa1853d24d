// The errno of a code of the C API, as libdaos has it where it speaks of files.
// Threads and errors: pure.
#pragma once

#include <cerrno>
#include <daos_errno.h>

namespace stepstore {

// code: 0 or negative. What has no errno of its own is EIO.
inline int errno_of(int code) noexcept
{
    switch (-code) {
    case 0: return 0;
    case DER_NO_PERM:
    case DER_EP_RO:
    case DER_EP_OLD: return EPERM;
    case DER_ENOENT:
    case DER_NONEXIST: return ENOENT;
    case DER_INVAL:
    case DER_NOTYPE:
    case DER_NOSCHEMA:
    case DER_NOLOCAL:
    case DER_NO_HDL:
    case DER_IO_INVAL: return EINVAL;
    case DER_KEY2BIG:
    case DER_REC2BIG: return E2BIG;
    case DER_EXIST: return EEXIST;
    case DER_UNREACH: return EHOSTUNREACH;
    case DER_NOSPACE: return ENOSPC;
    case DER_ALREADY: return EALREADY;
    case DER_DOS:
    case DER_NOMEM: return ENOMEM;
    case DER_TIMEDOUT: return ETIMEDOUT;
    case DER_BUSY:
    case DER_EQ_BUSY: return EBUSY;
    case DER_AGAIN: return EAGAIN;
    case DER_PROTO: return EPROTO;
    case DER_CANCELED: return ECANCELED;
    case DER_OVERFLOW: return EOVERFLOW;
    case DER_BADPATH:
    case DER_NOTDIR: return ENOTDIR;
    case DER_STALE: return ESTALE;
    case DER_NOTSUPPORTED: return ENOTSUP;
    default: return EIO;
    }
}

} // namespace stepstore

#include "store/rados/errors.h"

#include "base/system_error.h"

#include <daos_errno.h>

#include <cerrno>
#include <system_error>

namespace stepstore::store::rados {

namespace {

const Meaning meanings[] = {
    {ENOENT, DER_STALE, "the object is gone: the pool was destroyed while it was open; open it again"},
    {EPERM, DER_NO_PERM,
     "not permitted: ask for a Ceph user with the capabilities mon 'allow r' and osd 'allow rw pool=POOL'"},
    {EACCES, DER_NO_PERM,
     "the cluster refuses this Ceph user: check the keyring and the user's name (CEPH_ARGS=\"--id USER\")"},
    {ENOSPC, DER_NOSPACE, "the cluster is full: add or free space; nothing that was stored is lost"},
    {EDQUOT, DER_NOSPACE,
     "the quota of the Ceph pool is used up: remove data, or have it raised (ceph osd pool set-quota). "
     "Nothing that was stored is lost"},
    {ETIMEDOUT, DER_TIMEDOUT,
     "the cluster does not answer: see 'ceph status'. The time to wait is rados_osd_op_timeout in seconds"},
    {EINTR, DER_CANCELED,
     "interrupted while it waited for the cluster. An update that was sent is carried out as a whole, now or "
     "later, or not at all"},
    {ENOTCONN, DER_TIMEDOUT, "the connection to the cluster is lost: see 'ceph status'"},
    {ESHUTDOWN, DER_NO_PERM,
     "this process was shut out of the cluster (see 'ceph osd blocklist ls'), as is done with one that seems "
     "to be dead: start the program again. Nothing that was acknowledged is lost"},
    {EROFS, DER_NO_PERM, "the Ceph pool is read-only"},
    {EEXIST, DER_EXIST, "it exists already"},
    {EBUSY, DER_BUSY, "in use"},
    {EINVAL, DER_INVAL, "the cluster refuses the argument"},
    {EMSGSIZE, DER_REC2BIG, "larger than one operation may be (osd_max_write_size): write less in one call"},
    {EFBIG, DER_REC2BIG, "larger than an object may be (osd_max_object_size)"},
    {ENAMETOOLONG, DER_KEY2BIG, "the name is longer than the cluster allows"},
    {EOPNOTSUPP, DER_NOTSUPPORTED,
     "this Ceph pool keeps no omap, as an erasure-coded one: name a replicated pool, which may have an "
     "erasure-coded one for its bulk data (docs/ceph.md)"},
    {ENOMEM, DER_NOMEM, "out of memory"},
    {EIO, DER_IO, "the cluster could not read or write a disk: see 'ceph health detail'"},
};

} // namespace

void fail(int code, const std::string& where, const std::string& tried)
{
    throw error_of(meanings, -code, where, tried,
                   "Ceph error " + std::to_string(-code) + " (" + std::generic_category().message(-code) +
                       "): see 'ceph status'");
}

} // namespace stepstore::store::rados

#include "daos/resources.h"

#include "daos/object_class.h"
#include "daos/properties.h"
#include "daos/transaction.h"

#include <utility>

namespace stepstore::daos {
namespace {

std::shared_ptr<store::Pool> open_to_write(const std::string& path)
{
    try {
        return store::Pool::open(path, store::Access::read_write);
    } catch (const Error& error) {
        if (error.code() != -DER_NO_PERM) throw;
        return nullptr;
    }
}

} // namespace

PoolResource::PoolResource(const std::string& path, store::Access access)
    : Resource(handle_kind), path_(path), access_(access), pool_(store::Pool::open(path, access)),
      uuid_(pool_->uuid()), targets_(pool_->targets())
{
}

void PoolResource::require_writable(const char* what) const
{
    if (access_ == store::Access::read_only)
        throw Error(-DER_NO_PERM, std::string(what) + ": pool " + path_ +
                                      " was connected read-only; connect it with DAOS_PC_RW");
}

ContainerResource::ContainerResource(std::shared_ptr<PoolResource> pool, const std::string& label_or_uuid,
                                     store::Access access)
    : Resource(handle_kind), pool_(std::move(pool)), access_(access)
{
    if (access == store::Access::read_write) {
        if (pool_->access() == store::Access::read_only) written_pool_ = open_to_write(pool_->path());
        is_writable_ = written_pool_ || pool_->access() == store::Access::read_write;
    }
    container_ = (written_pool_ ? *written_pool_ : pool_->pool()).open_container(label_or_uuid);
    const auto info = container_->query();
    uuid_ = info.uuid;
    label_ = info.label;
    redundancy_factor_ = Properties::decode(container_->properties()).redundancy_factor();
}

void ContainerResource::require_writable(const char* what) const
{
    if (access_ == store::Access::read_only)
        throw Error(-DER_NO_PERM,
                    std::string(what) + ": " + name() + " was opened read-only; open it with DAOS_COO_RW");
    if (!is_writable_)
        throw Error(-DER_NO_PERM, std::string(what) + ": pool " + pool_->path() +
                                      " can only be read: ask its owner for the right to write to its files");
}

ObjectResource::ObjectResource(Kind kind, std::shared_ptr<ContainerResource> container, daos_obj_id_t oid,
                               unsigned mode)
    : Resource(kind), container_(std::move(container)), oid_{oid.hi, oid.lo}, mode_(mode)
{
    require_stored_class(oid, container_->pool().targets());
}

void ObjectResource::require_writable() const
{
    if ((mode_ & (DAOS_OO_RW | DAOS_OO_EXCL)) == 0)
        throw Error(-DER_NO_PERM, name() + " was opened read-only; open it with DAOS_OO_RW");
    if (!container_->is_writable()) container_->require_writable(("write to " + name()).c_str());
}

Moment ObjectResource::moment_of(daos_handle_t th, bool writes) const
{
    const auto transaction = resource<TransactionResource>(th);
    if (transaction->container().uuid() != container_->uuid())
        invalid("the transaction is of " + transaction->container().name() + ", not for " + name());
    return transaction->moment(*this, writes);
}

void ObjectResource::run_in(Turn& turn, std::optional<store::Transaction::Part> part,
                            FunctionRef<void(store::Container&)> body) const
{
    try {
        turn.run(part, body);
    } catch (const Error& error) {
        if (error.code() == -DER_NONEXIST) require_ground(container_->container(), store::latest);
        throw;
    }
}

void ObjectResource::require_ground(store::Container& container, store::Epoch epoch) const
{
    try {
        if (epoch == store::latest)
            container.query();
        else if (!container.has_snapshot(epoch))
            throw Error(-DER_EP_OLD,
                        name() + " cannot be read at epoch " + std::to_string(epoch) +
                            ": no snapshot exists at this epoch, and what no snapshot needs is not kept; "
                            "daos_cont_list_snap lists the snapshots");
    } catch (const Error& error) {
        if (error.code() != -DER_NONEXIST) throw;
        throw Error(-DER_NO_HDL,
                    container_->name() + " was destroyed while it was open, and " + name() + " with it");
    }
}

} // namespace stepstore::daos

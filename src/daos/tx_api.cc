// The calls daos_tx_*: transactions, and those that read a snapshot.
#include "daos/api.h"

#include "daos/call.h"
#include "daos/transaction.h"

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::Error;

namespace {

// What a snapshot has none of.
std::shared_ptr<OpenTransaction> open_transaction(daos_handle_t th)
{
    auto found = resource<TransactionResource>(th);
    if (found->is_snapshot())
        throw Error(-DER_NO_PERM, found->name() + " is only read: close it, there is nothing to commit");
    return std::static_pointer_cast<OpenTransaction>(std::move(found));
}

// An operation that keeps its transaction, as another thread may close the handle.
std::function<void()> kept(daos_handle_t th, std::function<void()> (OpenTransaction::*begin)())
{
    auto transaction = open_transaction(th);
    auto operation = ((*transaction).*begin)();
    return [transaction = std::move(transaction), operation = std::move(operation)] { operation(); };
}

} // namespace

extern "C" {

int daos_tx_open(daos_handle_t coh, daos_handle_t* th, uint64_t flags, daos_event_t* ev)
{
    return call("daos_tx_open", ev, [=] {
        require(th, "th");
        auto container = resource<ContainerResource>(coh);
        if ((flags & ~std::uint64_t{DAOS_TF_RDONLY | DAOS_TF_ZERO_COPY}) != 0)
            invalid("flags " + std::to_string(flags) +
                    " of a transaction: give DAOS_TF_RDONLY, DAOS_TF_ZERO_COPY, both or 0");
        *th = insert_handle(
            std::make_shared<OpenTransaction>(std::move(container), (flags & DAOS_TF_RDONLY) != 0));
    });
}

int daos_tx_open_snap(daos_handle_t coh, daos_epoch_t epoch, daos_handle_t* th, daos_event_t* ev)
{
    return call("daos_tx_open_snap", ev, [=] {
        require(th, "th");
        if (epoch == 0 || epoch == DAOS_EPOCH_MAX)
            invalid("epoch " + std::to_string(epoch) + " is no snapshot: give one of daos_cont_list_snap");
        // Opens whatever there is, as DAOS does. A read at an epoch that is no snapshot tells (-DER_EP_OLD).
        *th = insert_handle(std::make_shared<SnapshotResource>(resource<ContainerResource>(coh), epoch));
    });
}

int daos_tx_commit(daos_handle_t th, daos_event_t* ev)
{
    return call("daos_tx_commit", ev, [=] { return kept(th, &OpenTransaction::begin_commit); });
}

int daos_tx_abort(daos_handle_t th, daos_event_t* ev)
{
    return call("daos_tx_abort", ev, [=] { return kept(th, &OpenTransaction::begin_abort); });
}

int daos_tx_restart(daos_handle_t th, daos_event_t* ev)
{
    return call("daos_tx_restart", ev, [=] { return kept(th, &OpenTransaction::begin_restart); });
}

int daos_tx_close(daos_handle_t th, daos_event_t* ev)
{
    return call("daos_tx_close", ev, [=] {
        const auto found = resource<TransactionResource>(th);
        if (!found->is_snapshot()) static_cast<OpenTransaction&>(*found).require_closable();
        close_handle(th, Kind::transaction);
    });
}

int daos_tx_hdl2epoch(daos_handle_t th, daos_epoch_t* epoch)
{
    return call("daos_tx_hdl2epoch", [&] {
        require(epoch, "epoch");
        if (daos_handle_is_inval(th)) invalid("the handle of the transaction is not set");
        *epoch = resource<TransactionResource>(th)->epoch();
    });
}

} // extern "C"

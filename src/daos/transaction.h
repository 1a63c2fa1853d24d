// What daos_tx_open() and daos_tx_open_snap() give.
//
// A transaction is open, and then committing, and then committed or aborted; or it failed (-DER_TX_RESTART)
// and waits for daos_tx_restart(), which opens it again. A call in another state is refused as by libdaos.
//
// Threads: any. One call at a time has its turn. Those of one thread take effect in the order in which it
// launched them, also with events. Workers take calls in the order of their launch. So when a call begins,
// those that its thread launched before have begun too, and it waits for none that waits for a worker.
// Fork: a child cannot use its parent's transactions (-DER_NO_HDL), and may close them.
// Errors: -DER_NO_PERM, -DER_ALREADY, -DER_INPROGRESS, -DER_BUSY, -DER_TX_RESTART, -DER_UNINIT.
#pragma once

#include "daos/resources.h"

#include <condition_variable>
#include <map>
#include <thread>

namespace stepstore::daos {

class SnapshotResource final : public TransactionResource {
public:
    SnapshotResource(std::shared_ptr<ContainerResource> container, store::Epoch epoch)
        : TransactionResource(std::move(container)), epoch_(epoch)
    {
    }
    std::string name() const override { return "snapshot " + std::to_string(epoch_); }
    store::Epoch epoch() override { return epoch_; }
    Moment moment(const ObjectResource& object, bool writes) override; // -DER_NO_PERM
    bool is_snapshot() const override { return true; }

private:
    const store::Epoch epoch_;
};

class OpenTransaction final : public TransactionResource,
                              public std::enable_shared_from_this<OpenTransaction> {
public:
    OpenTransaction(std::shared_ptr<ContainerResource> container, bool reads_only);
    std::string name() const override { return "transaction in " + container_->name(); }
    store::Epoch epoch() override;
    Moment moment(const ObjectResource& object, bool writes) override;

    // Each begins when it is called, and is done by the operation that it returns.
    std::function<void()> begin_commit();
    std::function<void()> begin_abort();
    std::function<void()> begin_restart();
    void require_closable(); // -DER_BUSY

private:
    friend class Turn;
    enum class State : std::uint8_t { open, committing, committed, failed, aborted, restarting };
    static constexpr std::size_t most_updates = 65535; // as DAOS

    void require_here() const; // -DER_NO_HDL in a child
    std::shared_ptr<Turn> take_turn(bool writes);
    std::shared_ptr<Turn> take_end(State state);
    bool is_next(std::uint64_t number) const;
    void set(State state);
    std::uint64_t pause();

    const bool reads_only_;
    const std::uint64_t generation_;
    const std::unique_ptr<store::Transaction> transaction_; // of the one whose turn it is

    std::mutex guard_; // guards the rest
    std::condition_variable changed_;
    State state_ = State::open;
    struct Call {
        std::thread::id launcher;
        bool began = false;
    };
    std::map<std::uint64_t, Call> turns_; // of the calls that are not done
    std::uint64_t next_turn_ = 0;
    std::optional<std::uint64_t> turn_; // of the call that has it
    std::size_t updates_ = 0;
    unsigned restarts_ = 0;
    store::Epoch epoch_ = 0;
};

// The turn of one call, until it is let go of.
class Turn : NotCopied {
public:
    Turn(std::shared_ptr<OpenTransaction> transaction, std::uint64_t number, bool writes)
        : transaction_(std::move(transaction)), number_(number), writes_(writes)
    {
    }
    ~Turn();
    // Waits for it. part: nullopt: an update or a read.
    void run(std::optional<store::Transaction::Part> part, FunctionRef<void(store::Container&)> body);

private:
    friend class OpenTransaction;
    void wait();

    std::optional<OpenTransaction::State> before_ = {}; // where an end has not begun
    const std::shared_ptr<OpenTransaction> transaction_;
    const std::uint64_t number_;
    const bool writes_;
};

} // namespace stepstore::daos

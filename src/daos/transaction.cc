// The states of a transaction, and the order of its calls.
#include "daos/transaction.h"

#include "base/fork.h"

#include <algorithm>
#include <chrono>
#include <random>

namespace stepstore::daos {

Moment SnapshotResource::moment(const ObjectResource& object, bool writes)
{
    if (writes)
        throw Error(-DER_NO_PERM,
                    "a snapshot can only be read: write to " + object.name() + " with DAOS_TX_NONE");
    return {epoch_, {}};
}

OpenTransaction::OpenTransaction(std::shared_ptr<ContainerResource> container, bool reads_only)
    : TransactionResource(std::move(container)), reads_only_(reads_only), generation_(process_generation()),
      transaction_(container_->container().begin_transaction())
{
}

void OpenTransaction::require_here() const
{
    if (generation_ == process_generation()) return;
    throw Error(-DER_NO_HDL, name() + " was opened before this process was forked: open another one here");
}

store::Epoch OpenTransaction::epoch()
{
    require_here();
    const std::lock_guard lock(guard_);
    if (epoch_ == 0)
        throw Error(-DER_UNINIT, name() + " has no epoch: it has one after it was committed with updates");
    return epoch_;
}

// With the guard.
std::shared_ptr<Turn> OpenTransaction::take_turn(bool writes)
{
    auto turn = std::make_shared<Turn>(shared_from_this(), next_turn_, writes);
    turns_[next_turn_++] = {std::this_thread::get_id()};
    return turn;
}

// With the guard. The turn of a commit, abort or restart: the state changes at once, and is put back if the
// call is never carried out.
std::shared_ptr<Turn> OpenTransaction::take_end(State state)
{
    auto turn = take_turn(true);
    turn->before_ = std::exchange(state_, state);
    return turn;
}

// With the guard.
bool OpenTransaction::is_next(std::uint64_t number) const
{
    if (turn_) return *turn_ == number;
    const std::thread::id mine = turns_.at(number).launcher;
    return std::none_of(turns_.begin(), turns_.find(number),
                        [&](const auto& one) { return one.second.began || one.second.launcher == mine; });
}

Moment OpenTransaction::moment(const ObjectResource& object, bool writes)
{
    require_here();
    const std::lock_guard lock(guard_);
    if (state_ != State::open)
        throw Error(-DER_NO_PERM,
                    name() + (state_ == State::failed ? " has to be restarted (daos_tx_restart)"
                                                      : " is not open any more: open another one"));
    if (writes && reads_only_)
        throw Error(-DER_NO_PERM,
                    name() + " was opened with DAOS_TF_RDONLY: it cannot write to " + object.name());
    return {store::latest, take_turn(writes)};
}

void OpenTransaction::set(State state)
{
    const std::lock_guard lock(guard_);
    state_ = state;
}

std::function<void()> OpenTransaction::begin_commit()
{
    require_here();
    const std::lock_guard lock(guard_);
    if (state_ == State::committed) throw Error(-DER_ALREADY, name() + " was committed already");
    if (state_ == State::committing) throw Error(-DER_INPROGRESS, name() + " is being committed");
    if (state_ != State::open)
        throw Error(-DER_NO_PERM, name() + " is not open: it was aborted, or has to be restarted");
    auto turn = take_end(State::committing);
    return [this, turn = std::move(turn)] {
        turn->wait();
        {
            const std::lock_guard lock(guard_);
            if (state_ != State::committing)
                throw Error(-DER_NO_PERM, name() + " has to be restarted, by a call before its commit");
        }
        try {
            const store::Epoch epoch = transaction_->commit();
            const std::lock_guard lock(guard_);
            epoch_ = epoch;
            state_ = State::committed;
        } catch (const Error& error) {
            set(error.code() == -DER_TX_RESTART ? State::failed : State::aborted);
            throw;
        } catch (...) {
            set(State::aborted);
            throw;
        }
    };
}

std::function<void()> OpenTransaction::begin_abort()
{
    require_here();
    const std::lock_guard lock(guard_);
    if (state_ == State::aborted) throw Error(-DER_ALREADY, name() + " was aborted already");
    if (state_ != State::open)
        throw Error(-DER_NO_PERM, name() + " is not open, so it cannot be aborted: close it");
    auto turn = take_end(State::aborted);
    return [this, turn = std::move(turn)] {
        turn->wait();
        transaction_->restart();
    };
}

// As libdaos: none the first time, then at random up to 16 us, and four times as long each time, up to 1 s.
std::uint64_t OpenTransaction::pause()
{
    const unsigned restarts = restarts_++;
    if (restarts == 0) return 0;
    const std::uint64_t most = std::uint64_t{16} << (2 * std::min(restarts - 1, 8U));
    std::random_device device;
    return std::uniform_int_distribution<std::uint64_t>(0, most)(device);
}

std::function<void()> OpenTransaction::begin_restart()
{
    require_here();
    const std::lock_guard lock(guard_);
    if (state_ != State::failed)
        throw Error(-DER_NO_PERM, name() + " can be restarted only after -DER_TX_RESTART");
    auto turn = take_end(State::restarting);
    return [this, turn = std::move(turn), pause = std::chrono::microseconds(pause())] {
        turn->wait();
        transaction_->restart();
        std::this_thread::sleep_for(pause);
        const std::lock_guard lock(guard_);
        updates_ = 0;
        state_ = State::open;
    };
}

void OpenTransaction::require_closable()
{
    if (generation_ != process_generation()) return; // what a child lets go of
    const std::lock_guard lock(guard_);
    if (state_ == State::committing)
        throw Error(-DER_BUSY, name() + " is being committed: close it after that");
}

Turn::~Turn()
{
    if (transaction_->generation_ != process_generation()) return;
    const std::lock_guard lock(transaction_->guard_);
    if (before_) transaction_->state_ = *before_;
    transaction_->turns_.erase(number_);
    if (transaction_->turn_ == number_) transaction_->turn_.reset();
    transaction_->changed_.notify_all();
}

void Turn::wait()
{
    transaction_->require_here();
    std::unique_lock lock(transaction_->guard_);
    transaction_->turns_[number_].began = true;
    transaction_->changed_.wait(lock, [&] { return transaction_->is_next(number_); });
    transaction_->turn_ = number_;
    before_.reset();
}

void Turn::run(std::optional<store::Transaction::Part> part, FunctionRef<void(store::Container&)> body)
{
    using Part = store::Transaction::Part;
    using State = OpenTransaction::State;
    wait();
    {
        const std::lock_guard lock(transaction_->guard_);
        if (transaction_->state_ != State::open && transaction_->state_ != State::committing)
            throw Error(-DER_NO_PERM, transaction_->name() + " was aborted, or has to be restarted");
        if (writes_ && transaction_->updates_ == OpenTransaction::most_updates)
            throw Error(-DER_OVERFLOW, transaction_->name() +
                                           " has 65,535 updates already: commit it, and open another one");
    }
    const Part what = part.value_or(writes_ ? Part::update : Part::read);
    try {
        transaction_->transaction_->run(what, body);
        const std::lock_guard lock(transaction_->guard_);
        if (what == Part::update) ++transaction_->updates_;
    } catch (const Error& error) {
        if (error.code() == -DER_TX_RESTART) transaction_->set(State::failed);
        throw;
    }
}

} // namespace stepstore::daos

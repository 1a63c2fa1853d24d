// State that a process has of its own, above the store and the C API, and what a fork means for it.
//
// Below (src/store, src/daos) a child makes anew what it needs: it goes on with handles that its parent has
// opened (base/fork.h). Above, everything that has state of its own in a process is one of OwnState. Such
// state is numbers, packs, leases, queues, locks, threads, or a place to go on at. It is held in one of two
// ways, so that no call can forget the fork:
// - OfProcess: a child is refused, at every call and before anything is done. Its parent's state is left
//   alone, also by destructors.
// - PerProcess: a child begins anew, with state of its own.
//
// Neither waits for a lock of the parent's, which a thread may hold that the child does not have. The test
// `style.own_state` looks that there is no other state of this kind. `processes.fork` tries every OwnState.
#pragma once

#include "base/fork.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace stepstore {

// The kinds of state that a process has of its own above the C API.
enum class OwnState : std::uint8_t {
    array_location,   // refused
    array_request,    // refused
    stream_writer,    // refused
    stream_reader,    // refused
    lease,            // refused
    leases_let_go,    // anew
    field_sessions,   // anew
    field_session,    // anew
    field_dataset,    // anew
    field_store,      // anew: what was archived and not flushed is the parent's
    field_index,      // anew: so are its entries
    field_finder,     // anew
    fdb_client,       // anew
    blob_numbers,     // anew
    blob_writer,      // refused
    file_numbers,     // anew
    file_connections, // anew
    count
};
// -DER_NO_HDL: it belongs to the parent; the message says what to do.
[[noreturn]] void refuse_parents(OwnState kind);

// State that a forked child may not use. It is reached through here only. Like a shared_ptr it may be empty.
template <OwnState kind, class T>
class OfProcess {
public:
    OfProcess() = default;
    template <class Made>
    OfProcess(std::shared_ptr<Made> state) : state_(std::move(state))
    {
    }
    OfProcess(OfProcess&& other) noexcept : generation_(other.generation_), state_(std::move(other.state_)) {}
    OfProcess& operator=(OfProcess&& other) noexcept
    {
        if (this == &other) return *this;
        leave_parents();
        generation_ = other.generation_;
        state_ = std::move(other.state_);
        return *this;
    }
    ~OfProcess() { leave_parents(); }

    // False: there is none, or it is the parent's.
    bool mine() const noexcept { return state_ && generation_ == process_generation(); }
    explicit operator bool() const noexcept { return state_ != nullptr; }
    // -DER_NO_HDL in a child.
    const std::shared_ptr<T>& shared() const
    {
        if (generation_ != process_generation()) refuse_parents(kind);
        return state_;
    }
    T* operator->() const { return shared().get(); }
    T& operator*() const { return *shared(); }

private:
    void leave_parents() noexcept
    {
        if (!state_ || mine()) return;
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): a child without memory ends
        new std::shared_ptr<T>(std::move(state_)); // on purpose for ever
    }

    std::uint64_t generation_ = process_generation();
    std::shared_ptr<T> state_;
};

// State that a forked child has anew. Threads may share it; what is in it guards itself.
template <OwnState kind, class T>
class PerProcess {
public:
    explicit PerProcess(std::function<std::unique_ptr<T>()> make)
        : make_(std::move(make)), now_(new One{process_generation(), make_()})
    {
    }
    PerProcess(const PerProcess&) = delete;
    PerProcess& operator=(const PerProcess&) = delete;
    ~PerProcess()
    {
        One* const one = now_.load();
        if (one->generation == process_generation()) delete one; // else the parent's
    }

    T& operator*() const
    {
        One* one = now_.load(std::memory_order_acquire);
        while (one->generation != process_generation()) { // the parent's, left alone
            auto fresh = std::unique_ptr<One>(new One{process_generation(), make_()});
            if (now_.compare_exchange_strong(one, fresh.get(), std::memory_order_acq_rel))
                one = fresh.release();
        }
        return *one->value;
    }
    T* operator->() const { return &**this; }

private:
    struct One {
        std::uint64_t generation;
        std::unique_ptr<T> value;
    };
    std::function<std::unique_ptr<T>()> make_;
    mutable std::atomic<One*> now_;
};

} // namespace stepstore

// The ranks of an open location, and the one form that every collective call has.
//
// 1. Every rank says which call it makes, with its arguments, and what is wrong with them (gather to rank 0).
// 2. Rank 0 compares: where ranks make different calls, or one of them has an error, all get that error.
//    Otherwise it does its part of the call, and its answer or error goes to all (broadcast).
// A call that moves data makes a second such exchange after it. So ranks that have gone apart always meet in
// an exchange, and are told, whatever they call.
//
// Nobody waits for ever. While a rank waits it looks whether the processes of the other ranks live, and how
// long it has waited. A rank that gives up says so to the others (Communicator::leave).
//
// Threads: one at a time for each rank. Errors: the same Error on all ranks; -DER_MISMATCH, -DER_TIMEDOUT and
// -DER_CANCELED are of the exchange itself.
#pragma once

#include "base/function_ref.h"
#include "comm/ranks_in_sight.h"

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stepstore::arrays {

class Group {
public:
    // Collective. timeout_seconds: how long one rank waits for another to make the same call.
    Group(std::shared_ptr<Communicator> communicator, double timeout_seconds);
    ~Group(); // those that are left are told
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    int rank() const { return communicator_->rank(); }
    int size() const { return communicator_->size(); }
    Communicator& communicator() { return *communicator_; }

    // What rank 0 makes of the arguments of all ranks, which are the same calls without a fault.
    using Answer = FunctionRef<std::vector<std::byte>(std::span<const Bytes> arguments)>;
    // The exchange. call: "write_array 'T'", the same on all ranks that agree; fault: what this rank knows to
    // be wrong with its arguments. Throws the same Error on all ranks. allowance: seconds that the others may
    // come later, since they move data; infinite: all are known to be in the call.
    std::vector<std::byte> meet(const std::string& call, Bytes arguments, const std::exception_ptr& fault,
                                Answer answer, double allowance = 0);
    // All ranks have ended together: nobody waits for this one.
    void end() noexcept { left_ = true; }
    // This rank takes part in nothing any more; the others are told.
    void leave(const std::string& why) noexcept;

private:
    void look();
    std::vector<std::byte> answer_of(const std::string& call, Bytes said,
                                     std::span<const std::uint64_t> offsets, Answer answer);

    std::shared_ptr<Communicator> communicator_;
    double timeout_;
    std::optional<RanksInSight> in_sight_;
    bool left_ = false;
    std::string call_; // that is being waited for
    std::chrono::steady_clock::time_point until_;
    std::optional<std::chrono::steady_clock::time_point> seen_dead_;
};

} // namespace stepstore::arrays

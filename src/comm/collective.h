// Doing things as a group without leaving anybody behind: errors are agreed on before anyone throws.
// Threads: one at a time for each rank, as with all of a Communicator.
#pragma once

#include "base/function_ref.h"
#include "comm/communicator.h"

#include <exception>
#include <string>

namespace stepstore {

// Runs `work` on rank 0 and gives its bytes to every rank. Its Error is thrown on every rank.
std::vector<std::byte> on_root(Communicator& communicator, FunctionRef<std::vector<std::byte>()> work);

// Every rank runs its own `work`. When any rank's throws, all throw: a rank its own error, the others the
// error of the lowest rank that failed.
void all_together(Communicator& communicator, FunctionRef<void()> work);

// Throws on every rank when they run on several machines: a local pool is one machine's. Before anything is
// made or opened. -DER_BUSY; where: the pool, for the message.
void require_one_machine(Communicator& communicator, const std::string& where);

// Code and text of an exception, for handing it to other ranks.
struct Failure {
    int code = 0; // 0: no failure
    std::string message;
};
Failure failure_of(const std::exception_ptr& exception);

} // namespace stepstore

#include "comm/collective.h"

#include "base/checksum.h"
#include "base/process.h"
#include "base/wire.h"

#include <algorithm>
#include <new>

namespace stepstore {

namespace {

std::vector<std::byte> packed(const Failure& failure, Bytes payload)
{
    std::vector<std::byte> message;
    WireWriter wire(message);
    wire.fixed(static_cast<std::uint32_t>(failure.code));
    wire.text(failure.message);
    wire.bytes(payload);
    return message;
}

} // namespace

Failure failure_of(const std::exception_ptr& exception)
{
    if (exception == nullptr) return {};
    try {
        std::rethrow_exception(exception);
    } catch (const Error& error) {
        return {error.code() == 0 ? -DER_MISC : error.code(), error.what()};
    } catch (const std::bad_alloc&) {
        return {-DER_NOMEM, "out of memory"};
    } catch (const std::exception& error) {
        return {-DER_MISC, error.what()};
    }
}

std::vector<std::byte> on_root(Communicator& communicator, FunctionRef<std::vector<std::byte>()> work)
{
    if (communicator.size() == 1) return work();
    std::exception_ptr failed;
    std::vector<std::byte> message;
    if (communicator.rank() == 0) {
        std::vector<std::byte> payload;
        try {
            payload = work();
        } catch (...) {
            failed = std::current_exception();
        }
        message = packed(failure_of(failed), payload);
    }
    communicator.broadcast(message, 0);
    if (failed != nullptr) std::rethrow_exception(failed);
    WireReader from(message, "rank 0's answer");
    const auto code = static_cast<int>(from.fixed<std::uint32_t>());
    const std::string_view text = from.text();
    if (code != 0) throw Error(code, std::string(text));
    const Bytes payload = from.bytes(from.left());
    return {payload.begin(), payload.end()};
}

void all_together(Communicator& communicator, FunctionRef<void()> work)
{
    if (communicator.size() == 1) return work();
    std::exception_ptr failed;
    try {
        work();
    } catch (...) {
        failed = std::current_exception();
    }
    const std::vector<std::uint64_t> outcomes = communicator.allgather(failed == nullptr ? 0 : 1);
    int first = 0;
    while (first < communicator.size() && outcomes[static_cast<std::size_t>(first)] == 0)
        ++first;
    if (first == communicator.size()) return;
    std::vector<std::byte> message;
    if (communicator.rank() == first) message = packed(failure_of(failed), {});
    communicator.broadcast(message, first);
    if (failed != nullptr) std::rethrow_exception(failed);
    WireReader from(message, "another rank's error");
    const auto code = static_cast<int>(from.fixed<std::uint32_t>());
    throw Error(code, "rank " + std::to_string(first) + ": " + std::string(from.text()));
}

void require_one_machine(Communicator& communicator, const std::string& where)
{
    if (communicator.size() == 1) return;
    const Machine mine = this_machine();
    const std::vector<std::uint64_t> all = communicator.allgather(checksum(as_bytes(mine.boot)));
    const auto other = std::ranges::find_if(all, [&](std::uint64_t one) { return one != all.front(); });
    if (other == all.end()) return;
    const auto rank = static_cast<int>(other - all.begin());
    const auto host_of = [&](int of) {
        std::vector<std::byte> name;
        if (communicator.rank() == of) {
            const Bytes host = as_bytes(mine.host);
            name.assign(host.begin(), host.end());
        }
        communicator.broadcast(name, of);
        return std::string(as_text(name));
    };
    const std::string first = host_of(0);
    throw Error(-DER_BUSY,
                where + " cannot be written: rank 0 runs on " + first + " and rank " + std::to_string(rank) +
                    " on " + host_of(rank) +
                    ", and the pool belongs to one machine at a time. Run all ranks on one machine, or write "
                    "to a new path on a file system that the machines share (shared:PATH), or to a cluster "
                    "(rados://CEPHPOOL or daos://POOL/CONTAINER). Nothing was written");
}

} // namespace stepstore

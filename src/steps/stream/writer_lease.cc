// The lease of a stream's writer, and what those are told who do not get it.
#include "steps/stream/writer_lease.h"

#include <daos_errno.h>

namespace stepstore::steps {

namespace {

// beside the stream list's 0x53530001 and the streams' 0x53530002
constexpr std::uint32_t leases_hi = 0x53530003;

KeyValue open_leases(const Container& container, Access access)
{
    return container.key_value(container.object_id(0, leases_hi, ObjectType::key_value), access);
}

std::string advice(LeaseState state, double timeout_seconds)
{
    switch (state) {
    case LeaseState::held_here:
        return "this is the same process: it has another writer open on the stream. Close that writer first, "
               "or write another stream";
    case LeaseState::held_elsewhere:
        return "this machine cannot see whether that process lives. It counts as dead after " +
               std::to_string(timeout_seconds) +
               " seconds without a sign of life. If you know that it is dead, set WriterTimeoutSecs=0 to "
               "take over at once";
    case LeaseState::held:
    case LeaseState::free: break;
    }
    return "wait until it closes the stream, end that process, or write another stream";
}

} // namespace

Lease take_stream(const Container& container, const std::string& stream, const std::string& where,
                  double timeout_seconds)
{
    Lease lease(open_leases(container, Access::read_write), stream, timeout_seconds);
    if (const auto other = lease.take())
        throw Error(-DER_BUSY, "the stream " + where + " is being written by " + other->record.holder.text() +
                                   ": " + advice(other->state, timeout_seconds));
    return lease;
}

void require_held(const Lease& lease, const std::string& where)
{
    if (lease.lost())
        throw Error(-DER_STALE,
                    "the stream " + where +
                        " was taken over by another writer, because this one gave no sign of life for longer "
                        "than its WriterTimeoutSecs: what this writer writes from now on is not kept");
}

void require_still_held(Lease& lease, const std::string& where)
{
    lease.still_held();
    require_held(lease, where);
}

void require_surely_held(Lease& lease, const std::string& where)
{
    lease.surely_held();
    require_held(lease, where);
}

LeaseWatch watch_writer(const Container& container, const std::string& stream)
{
    return {open_leases(container, Access::read_only), stream};
}

} // namespace stepstore::steps

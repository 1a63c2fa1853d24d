#include "base/interrupt.h"

#include "stepstore/error.h"

#include <daos_errno.h>

namespace stepstore {

namespace {

std::atomic<AskedToStop> host{nullptr};
thread_local const std::atomic<bool>* stop_of_caller = nullptr;
thread_local unsigned not_asked = 0;

} // namespace

void ask_in_waits(AskedToStop asked)
{
    host.store(asked);
}

bool asked_to_stop()
{
    if (stop_of_caller != nullptr && stop_of_caller->load(std::memory_order_relaxed)) return true;
    const AskedToStop asked = not_asked == 0 ? host.load(std::memory_order_relaxed) : nullptr;
    return asked != nullptr && asked();
}

void stop_if_asked(const std::string& what)
{
    if (asked_to_stop()) throw Error(-DER_CANCELED, what + ": interrupted while it waited");
}

CarriedOutFor::CarriedOutFor(const std::atomic<bool>& stop) : outer_(stop_of_caller)
{
    stop_of_caller = &stop;
}

CarriedOutFor::~CarriedOutFor()
{
    stop_of_caller = outer_;
}

NotAsked::NotAsked()
{
    ++not_asked;
}

NotAsked::~NotAsked()
{
    --not_asked;
}

} // namespace stepstore

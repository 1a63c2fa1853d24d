#include "base/interrupt.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <utility>

namespace stepstore {

namespace {

std::atomic<AskedToStop> host{nullptr};
thread_local Interrupts::OfThread of_this_thread;

Interrupts gone_by{[]() noexcept -> Interrupts::OfThread& { return of_this_thread; },
                   []() noexcept { return host.load(std::memory_order_relaxed); }};

} // namespace

Interrupts interrupts() noexcept
{
    return gone_by;
}

void go_by(const Interrupts& others) noexcept
{
    gone_by = others;
}

void ask_in_waits(AskedToStop asked)
{
    host.store(asked);
}

static bool is_set(const std::atomic<bool>* stop)
{
    return stop != nullptr && stop->load(std::memory_order_relaxed);
}

bool asked_to_stop()
{
    Interrupts::OfThread& here = gone_by.of_thread();
    const AskedToStop asked = here.not_asked == 0 ? gone_by.host() : nullptr;
    here.given_up = is_set(here.stop_of_caller) || (asked != nullptr && asked());
    return here.given_up;
}

void stop_if_asked(const std::string& what)
{
    if (asked_to_stop()) throw Error(-DER_CANCELED, what + ": interrupted while it waited");
}

bool may_be_asked() noexcept
{
    const Interrupts::OfThread& here = gone_by.of_thread();
    return gone_by.host() != nullptr && (here.stop_of_caller != nullptr || here.not_asked == 0);
}

bool is_given_up()
{
    const Interrupts::OfThread& here = gone_by.of_thread();
    return is_set(here.stop_of_caller) || (here.given_up && asked_to_stop());
}

CarriedOutFor::CarriedOutFor(const std::atomic<bool>& stop)
    : outer_(std::exchange(gone_by.of_thread().stop_of_caller, &stop))
{
}

CarriedOutFor::~CarriedOutFor()
{
    gone_by.of_thread().stop_of_caller = outer_;
}

NotAsked::NotAsked()
{
    ++gone_by.of_thread().not_asked;
}

NotAsked::~NotAsked()
{
    --gone_by.of_thread().not_asked;
}

} // namespace stepstore

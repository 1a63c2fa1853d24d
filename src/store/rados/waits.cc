#include "store/rados/waits.h"

#include "base/interrupt.h"
#include "store/rados/host.h"

#include <atomic>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>

namespace stepstore::store::rados {

namespace {

using namespace std::chrono_literals;

std::atomic<int> under_way{0};
std::atomic<bool> ended{false};
std::atomic<bool> silent{false};

// What a wait came to.
int heard(int code)
{
    const bool nothing = code == -EINTR || code == -ETIMEDOUT;
    if (silent.load(std::memory_order_relaxed) != nothing) silent = nothing;
    return code;
}

} // namespace

Use::Use()
{
    under_way.fetch_add(1);
}

Use::~Use()
{
    under_way.fetch_sub(1);
}

bool Use::refused() const
{
    return ended;
}

bool uses_ended()
{
    return ended;
}

bool end_uses(std::chrono::milliseconds patience)
{
    ended = true;
    const auto until = std::chrono::steady_clock::now() + patience;
    while (under_way != 0) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

bool is_silent()
{
    return silent;
}

// ---- operations

Arrival::Arrival()
    : asks_(may_be_asked()), generation_(host().process_generation()),
      completion_(asks_ ? librados::Rados::aio_create_completion(this, arrived)
                        : librados::Rados::aio_create_completion())
{
}

Arrival::~Arrival()
{
    if (generation_ == host().process_generation()) completion_->release();
}

void Arrival::arrived(rados_completion_t, void* given)
{
    auto* self = static_cast<Arrival*>(given);
    const std::lock_guard lock(self->guard_);
    self->there_ = true;
    self->changed_.notify_all();
}

int Arrival::wait(librados::IoCtx& context, bool at_once)
{
    if (!asks_) {
        completion_->wait_for_complete();
        return heard(completion_->get_return_value());
    }
    bool taken_back = false;
    std::unique_lock lock(guard_);
    while (!changed_.wait_for(lock, at_once ? 0ms : between_asking, [&] { return there_; })) {
        lock.unlock();
        at_once = at_once || asked_to_stop();
        // What was asked has forked, and this is the child: nothing arrives here any more.
        if (generation_ != host().process_generation()) return -EINTR;
        // Not, if it is arriving.
        if (at_once && !taken_back) taken_back = context.aio_cancel(completion_) == 0;
        lock.lock();
        if (at_once) changed_.wait_for(lock, between_asking, [&] { return there_; });
    }
    return heard(taken_back ? -EINTR : completion_->get_return_value());
}

// ---- calls

namespace {

struct Waited {
    std::mutex guard; // guards the next three
    std::condition_variable changed;
    bool ended = false, given_up = false;
    int code = 0;
};

bool start_thread(std::function<void()> work)
{
    try {
        std::thread(std::move(work)).detach();
        return true;
    } catch (const std::system_error&) {
        return false;
    }
}

} // namespace

int wait_for(const std::function<int()>& call, const std::function<void()>& undo)
{
    if (is_given_up()) return -EINTR;
    if (may_be_asked()) return wait_for_thread(call, undo);
    const Use here;
    return here.refused() ? -ENOTCONN : heard(call());
}

int wait_for_thread(const std::function<int()>& call, const std::function<void()>& undo)
{
    const auto waited = std::make_shared<Waited>();
    const auto here = std::make_shared<Use>();
    if (here->refused()) return -ENOTCONN;
    const bool started = start_thread([waited, here, call, undo] {
        const int code = call();
        std::unique_lock lock(waited->guard);
        waited->code = code;
        waited->ended = true;
        waited->changed.notify_all();
        if (!waited->given_up || code != 0 || !undo) return;
        lock.unlock();
        undo();
    });
    if (!started) return heard(call());
    const std::uint64_t generation = host().process_generation();
    std::unique_lock lock(waited->guard);
    while (!waited->changed.wait_for(lock, between_asking, [&] { return waited->ended; })) {
        lock.unlock();
        const bool stops = asked_to_stop();
        if (generation != host().process_generation()) return -EINTR;
        lock.lock();
        if (!stops || waited->ended) continue;
        waited->given_up = true;
        return heard(-EINTR);
    }
    return heard(waited->code);
}

void leave_to_thread(const std::function<void()>& call)
{
    const auto here = std::make_shared<Use>();
    if (here->refused()) return;
    if (!start_thread([here, call] { call(); })) call();
}

// ---- what is in flight

namespace {

constexpr std::uint64_t most_bytes = 80 << 20;
std::atomic<std::uint64_t> bytes_in_flight{0}; // no lock, which another thread may hold when one forks

} // namespace

bool InFlight::try_add(std::uint64_t bytes)
{
    std::uint64_t now = bytes_in_flight;
    while (now == 0 || now + bytes <= most_bytes)
        if (bytes_in_flight.compare_exchange_weak(now, now + bytes)) return true;
    return false;
}

int InFlight::wait()
{
    const auto until = std::chrono::steady_clock::now() + between_asking;
    for (const std::uint64_t before = bytes_in_flight; bytes_in_flight >= before;) {
        std::this_thread::sleep_for(1ms);
        if (std::chrono::steady_clock::now() > until) return asked_to_stop() ? -EINTR : 0;
    }
    return 0;
}

void InFlight::remove(std::uint64_t bytes)
{
    bytes_in_flight -= bytes;
}

void forget_uses_of_parent()
{
    under_way = 0;
    silent = false;
    bytes_in_flight = 0;
}

} // namespace stepstore::store::rados

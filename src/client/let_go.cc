#include "client/let_go.h"

#include "base/own_state.h"
#include "base/time_source.h"
#include "client/lease.h"

#include <daos_errno.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace stepstore {

namespace {

constexpr std::chrono::seconds first_pause{1}, longest_pause{8};

struct Waiting {
    std::function<KeyValue()> open;
    LeaseEnd end;
};

// True: there is nothing more to do.
bool ended(const Waiting& one) noexcept
{
    try {
        KeyValue object = one.open();
        const auto there = object.get_nonempty(one.end.key);
        if (!there) return true;
        LeaseRecord record = decode_lease(*there);
        if (record.damaged || record.over || record.token != one.end.token) return true;
        ++record.puts;
        record.over = true;
        return one.end.remove ? object.remove_if(one.end.key, *there)
                              : object.put_if(one.end.key, *there, encode_lease(record));
    } catch (const Error& error) {
        return error.code() == -DER_NONEXIST || error.code() == -DER_STALE;
    } catch (...) { // no memory, say
        return false;
    }
}

// Of OwnState::leases_let_go, with its lock and its thread.
class LetGo {
public:
    void add(std::uint64_t token)
    {
        const std::lock_guard lock(guard_);
        tokens_.insert(token);
    }
    bool has(std::uint64_t token)
    {
        const std::lock_guard lock(guard_);
        return tokens_.contains(token);
    }
    void add(Waiting one)
    {
        const std::lock_guard lock(guard_);
        waiting_.push_back(std::move(one));
        pause_ = first_pause;
        if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
        changed_.notify_all();
    }
    void stop() noexcept
    {
        std::jthread ending; // of OwnState::leases_let_go; waited for without the lock
        const std::lock_guard lock(guard_);
        ending.swap(thread_);
        ending.request_stop();
    }

private:
    void work(const std::stop_token& stop)
    {
        std::unique_lock lock(guard_);
        while (!stop.stop_requested()) {
            if (waiting_.empty())
                changed_.wait(lock, stop, [&] { return !waiting_.empty(); });
            else
                changed_.wait_for(lock, stop, pause_, [] { return false; });
            if (stop.stop_requested()) return;
            pause_ = std::min(2 * pause_, longest_pause);
            std::vector<Waiting> now = std::exchange(waiting_, {});
            lock.unlock();
            std::erase_if(now, ended);
            lock.lock();
            std::ranges::move(now, std::back_inserter(waiting_));
        }
    }

    std::mutex guard_; // of OwnState::leases_let_go: guards what follows
    std::set<std::uint64_t> tokens_;
    std::vector<Waiting> waiting_;
    std::chrono::seconds pause_ = first_pause;
    std::condition_variable_any changed_; // of OwnState::leases_let_go, and so is the thread
    std::jthread thread_;
};

LetGo& all()
{
    static auto* const one =
        new PerProcess<OwnState::leases_let_go, LetGo>([] { return std::make_unique<LetGo>(); });
    return **one; // never destroyed: leases end at any time
}

} // namespace

void let_go_of(std::uint64_t token) noexcept
{
    all().add(token);
}

bool is_let_go(std::uint64_t token)
{
    return all().has(token);
}

void end_later(const KeyValue& object, LeaseEnd end) noexcept
{
    // Made after the library that the thread calls, so it goes before it. In a forked child there is nothing.
    struct AtExit {
        ~AtExit() { all().stop(); }
    };
    static const AtExit at_exit;
    try {
        all().add({object.opener(), std::move(end)});
    } catch (...) { // no memory, or no thread: it ends with this process
    }
}

} // namespace stepstore

// Our library as a table in which calls can be stopped, and updates carried out late, to inject faults:
// - A thread stops at its n-th call, until it is let go on: so a test forks, or kills, at that point.
// - An update of a key fails with -DER_TIMEDOUT, as where no answer came, and is carried out when the test
//   says so, or never.
#pragma once

#include "stepstore/libdaos.h"

#include <daos_errno.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepstore::testing {

inline Library& real_library()
{
    static auto* const real = new Library(Library::ours());
    return *real;
}

// Where a thread of the test stops.
class Stop {
public:
    static Stop& one()
    {
        static auto* const stop = new Stop;
        return *stop;
    }
    // Of the thread that calls it: it stops at its call number `n` from here on.
    void arm(int n) { calls_left() = n; }
    // The thread that makes call number `n` of all threads stops there.
    void arm_all(int n) { of_all_ = n; }
    void disarm()
    {
        calls_left() = -1;
        of_all_ = -1;
    }
    void reached()
    {
        const bool of_all = of_all_ >= 0 && of_all_-- == 0;
        if (!of_all && (calls_left() < 0 || calls_left()-- > 0)) return;
        std::unique_lock lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
        changed_.wait(lock, [&] { return !stopped_; });
    }
    // Of another thread. False: the thread ended without stopping.
    bool wait_for_stop()
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || ended_; });
        return stopped_;
    }
    void let_go_on()
    {
        const std::lock_guard lock(mutex_);
        stopped_ = false;
        changed_.notify_all();
    }
    void thread_ends(bool ends)
    {
        const std::lock_guard lock(mutex_);
        ended_ = ends;
        changed_.notify_all();
    }

private:
    static int& calls_left()
    {
        thread_local int left = -1;
        return left;
    }
    std::atomic<int> of_all_ = -1;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopped_ = false;
    bool ended_ = false;
};

// The updates that are to get no answer.
struct Late {
    std::string puts;                        // of keys that begin so; empty: none
    std::string removals;                    // the same
    bool array_writes = false;               // the next write to an array
    std::vector<std::function<void()>> kept; // to be carried out

    static Late& one()
    {
        static auto* const late = new Late;
        return *late;
    }
    void disarm()
    {
        puts.clear();
        removals.clear();
        array_writes = false;
    }
    static bool takes(const std::string& prefix, const char* key)
    {
        return !prefix.empty() && std::string_view(key).starts_with(prefix);
    }
    // Now they are carried out.
    void carry_out()
    {
        for (const auto& one : std::exchange(kept, {}))
            one();
    }
};

template <auto member, class Result, class... Arguments>
Result stopping(Arguments... arguments)
{
    Stop::one().reached();
    return (real_library().*member)(arguments...);
}
template <auto member, class Result, class... Arguments>
auto stopping_call(Result (*)(Arguments...))
{
    return &stopping<member, Result, Arguments...>;
}

// A late update may be refused, but there must be what it goes to.
inline void carried_out(int code)
{
    if (code == -DER_NO_HDL || code == -DER_UNINIT)
        throw std::logic_error("a late update goes to what was closed");
}

inline int late_put(daos_handle_t oh, daos_handle_t th, std::uint64_t flags, const char* key,
                    daos_size_t size, const void* buffer, daos_event_t* event)
{
    Stop::one().reached();
    if (!Late::takes(Late::one().puts, key))
        return real_library().kv_put(oh, th, flags, key, size, buffer, event);
    const auto* first = static_cast<const std::byte*>(buffer);
    Late::one().kept.emplace_back([oh, th, flags, key = std::string(key),
                                   value = std::vector<std::byte>(first, first + size)] {
        carried_out(real_library().kv_put(oh, th, flags, key.c_str(), value.size(), value.data(), nullptr));
    });
    return -DER_TIMEDOUT;
}

inline int late_remove(daos_handle_t oh, daos_handle_t th, std::uint64_t flags, const char* key,
                       daos_event_t* event)
{
    Stop::one().reached();
    if (!Late::takes(Late::one().removals, key)) return real_library().kv_remove(oh, th, flags, key, event);
    Late::one().kept.emplace_back([oh, th, flags, key = std::string(key)] {
        carried_out(real_library().kv_remove(oh, th, flags, key.c_str(), nullptr));
    });
    return -DER_TIMEDOUT;
}

inline int late_write(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, d_sg_list_t* sgl,
                      daos_event_t* event)
{
    Stop::one().reached();
    Late& late = Late::one();
    if (!std::exchange(late.array_writes, false)) return real_library().array_write(oh, th, iod, sgl, event);
    std::vector<daos_range_t> ranges(iod->arr_rgs, iod->arr_rgs + iod->arr_nr);
    std::vector<std::byte> data;
    for (std::uint32_t i = 0; i < sgl->sg_nr; ++i) {
        const auto* first = static_cast<const std::byte*>(sgl->sg_iovs[i].iov_buf);
        data.insert(data.end(), first, first + sgl->sg_iovs[i].iov_len);
    }
    late.kept.emplace_back([oh, th, ranges, data]() mutable {
        daos_array_iod_t whole{};
        whole.arr_nr = ranges.size();
        whole.arr_rgs = ranges.data();
        d_iov_t piece;
        d_iov_set(&piece, data.data(), data.size());
        d_sg_list_t list{1, 0, &piece};
        carried_out(real_library().array_write(oh, th, &whole, &list, nullptr));
    });
    return -DER_TIMEDOUT;
}

// kv_put_if, in a library that has it: an update with a value is a put, one without a removal.
template <class Table>
void make_put_if_late(Table& library)
{
    if constexpr (requires { library.kv_put_if; })
        library.kv_put_if = [](daos_handle_t oh, daos_handle_t th, const char* key, daos_size_t expected_size,
                               const void* expected, daos_size_t size, const void* value) -> int {
            Stop::one().reached();
            const auto put = static_cast<Table&>(real_library()).kv_put_if;
            Late& late = Late::one();
            if (!Late::takes(value ? late.puts : late.removals, key))
                return put(oh, th, key, expected_size, expected, size, value);
            const auto copy = [](const void* first, daos_size_t bytes) {
                return first ? std::optional(std::string(static_cast<const char*>(first), bytes))
                             : std::nullopt;
            };
            late.kept.emplace_back([=, key = std::string(key), from = copy(expected, expected_size),
                                    to = copy(value, size)] {
                carried_out(put(oh, th, key.c_str(), from ? from->size() : 0, from ? from->data() : nullptr,
                                to ? to->size() : 0, to ? to->data() : nullptr));
            });
            return -DER_TIMEDOUT;
        };
}

// kv_exchange, the same.
template <class Table>
void make_exchange_late(Table& library)
{
    if constexpr (requires { library.kv_exchange; })
        library.kv_exchange = [](daos_handle_t oh, daos_handle_t th, const char* key, daos_size_t size,
                                 const void* value, void* old, daos_size_t* old_size) -> int {
            Stop::one().reached();
            const auto exchange = static_cast<Table&>(real_library()).kv_exchange;
            Late& late = Late::one();
            if (!Late::takes(value ? late.puts : late.removals, key))
                return exchange(oh, th, key, size, value, old, old_size);
            late.kept.emplace_back(
                [=, key = std::string(key),
                 to = value ? std::optional(std::string(static_cast<const char*>(value), size))
                            : std::nullopt] {
                    daos_size_t none = 0;
                    carried_out(exchange(oh, th, key.c_str(), to ? to->size() : 0, to ? to->data() : nullptr,
                                         nullptr, &none));
                });
            return -DER_TIMEDOUT;
        };
}

// What a late update goes to stays open until it has been carried out.
template <auto member>
int late_close(daos_handle_t handle, daos_event_t* event)
{
    Stop::one().reached();
    return Late::one().kept.empty() ? (real_library().*member)(handle, event) : 0;
}

// Takes the place of ours for the whole process: before a pool is connected to.
inline void use_faulty_library()
{
    Library library = real_library();
#define STEPSTORE_STOPPING(member, symbol)                                                                   \
    if (library.member) library.member = stopping_call<&Library::member>(library.member);
    STEPSTORE_LIBDAOS_CALLS(STEPSTORE_STOPPING)
    STEPSTORE_OWN_CALLS(STEPSTORE_STOPPING)
#undef STEPSTORE_STOPPING
    library.kv_put = late_put;
    library.kv_remove = late_remove;
    library.array_write = late_write;
    make_put_if_late(library);
    make_exchange_late(library);
    library.fini = [] { return Late::one().kept.empty() ? real_library().fini() : 0; };
    library.kv_close = late_close<&Library::kv_close>;
    library.array_close = late_close<&Library::array_close>;
    library.cont_close = late_close<&Library::cont_close>;
    library.pool_disconnect = late_close<&Library::pool_disconnect>;
    Library::replace_ours(library);
}

} // namespace stepstore::testing

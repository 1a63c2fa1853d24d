#include "store/rados/cluster.h"

#include "base/call_threads.h"
#include "stepstore/error.h"
#include "store/rados/errors.h"
#include "store/rados/host.h"
#include "store/rados/module.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

namespace stepstore::store::rados {

namespace {

std::atomic<std::uint64_t> reads{0}, writes{0};
thread_local Trips* of_work = nullptr; // of at_once(): where its trips are counted for now

void count(const Trips& more)
{
    if (of_work != nullptr) {
        of_work->reads += more.reads;
        of_work->writes += more.writes;
        return;
    }
    reads.fetch_add(more.reads, std::memory_order_relaxed);
    writes.fetch_add(more.writes, std::memory_order_relaxed);
}
void count_read()
{
    count({1, 0});
}
void count_write()
{
    count({0, 1});
}

} // namespace

Trips trips()
{
    return {reads.load(std::memory_order_relaxed), writes.load(std::memory_order_relaxed)};
}

void at_once(std::size_t count, FunctionRef<void(std::size_t)> work)
{
    if (count <= 1) return count == 1 ? work(0) : void();
    const auto most = std::min<std::size_t>(count, most_threads);
    std::vector<std::exception_ptr> failures(count);
    std::vector<Trips> trips(most); // of each thread
    // Each thread has its own works. Who took the next one would do several before the others have begun, and
    // a round trip is longer than that.
    const auto take_part = [&](std::size_t part) {
        Trips* const before = std::exchange(of_work, &trips[part]);
        for (std::size_t one = part; one < count; one += most) {
            try {
                work(one);
            } catch (...) {
                failures[one] = std::current_exception();
            }
        }
        of_work = before;
    };
    CallThreads threads;
    while (threads.count() + 1 < most && threads.start([&, part = threads.count() + 1] { take_part(part); }))
        continue;
    take_part(0);
    for (std::size_t part = threads.count() + 1; part < most; ++part)
        take_part(part); // the system gives no more threads: this one does their part too
    threads.wait();
    // What went out together counts once: the thread with the most of them.
    rados::count(
        *std::ranges::max_element(trips, {}, [](const Trips& one) { return one.reads + one.writes; }));
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

Io::Io(const std::string& pool, const std::string& name_space, std::string where) : where_(std::move(where))
{
    librados::Rados& rados = cluster();
    const auto made = std::make_shared<librados::IoCtx>();
    const int code = wait_for([&rados, pool, made] { return rados.ioctx_create(pool.c_str(), *made); });
    if (code == -ENOENT) {
        throw Error(-DER_NONEXIST, where_ + ": the cluster has no pool '" + pool +
                                       "': see 'ceph osd pool ls', or make it with 'ceph osd pool create " +
                                       pool + "'");
    }
    if (code < 0) fail(code, where_, "cannot use the Ceph pool '" + pool + "'");
    context_ = *made;
    set_namespace(name_space);
}

Io::Io(Io& beside, std::int64_t pool) : where_(beside.where_)
{
    const auto made = std::make_shared<librados::IoCtx>();
    const int code = wait_for([context = beside.context_, pool, made]() mutable {
        return librados::Rados(context).ioctx_create2(pool, *made);
    });
    if (code == -ENOENT) {
        throw Error(-DER_DF_INVAL, where_ + ": its bulk data were in the Ceph pool number " +
                                       std::to_string(pool) +
                                       ", which the cluster no longer has: destroy this pool");
    }
    if (code < 0) fail(code, where_, "cannot use the Ceph pool number " + std::to_string(pool));
    context_ = *made;
    set_namespace(beside.context_.get_namespace());
}

void Io::set_namespace(const std::string& name_space)
{
    context_.set_namespace(name_space);
    context_.set_pool_full_try(); // also for what has no flags of its own, as the end of a watch
    instance_ = context_.get_instance_id();
}

namespace {

template <class Send>
Io::Result round_trip(librados::IoCtx& context, Send send)
{
    if (is_given_up()) return {-EINTR, 0};
    const Use here;
    if (here.refused()) return {-ENOTCONN, 0};
    Arrival arrival;
    if (const int code = send(arrival.completion()); code != 0) return {code, 0};
    const int code = arrival.wait(context);
    return {code, arrival.version()};
}

} // namespace

Io::Result Io::read(const std::string& object, librados::ObjectReadOperation& operation)
{
    count_read();
    return round_trip(context_, [&](librados::AioCompletion* completion) {
        return context_.aio_operate(object, completion, &operation, nullptr);
    });
}

Io::Result Io::write(const std::string& object, librados::ObjectWriteOperation& operation, int if_full)
{
    count_write();
    return round_trip(context_, [&](librados::AioCompletion* completion) {
        return context_.aio_operate(object, completion, &operation, if_full);
    });
}

constexpr std::size_t most_at_once = 32; // of a batch

void Io::Batch::write(const std::string& object, librados::ObjectWriteOperation& operation,
                      std::uint64_t bytes)
{
    land(most_at_once - 1);
    if (!std::exchange(counted_, true)) count_write();
    const int code = fly(nullptr, bytes, [&](librados::AioCompletion* completion) {
        return io_.context_.aio_operate(object, completion, &operation, full_try);
    });
    if (code != 0 && failed_ == 0) failed_ = code;
}

void Io::Batch::read(const std::string& object, librados::ObjectReadOperation& operation, int* code,
                     std::uint64_t bytes)
{
    land(most_at_once - 1);
    if (!std::exchange(counted_, true)) count_read();
    *code = fly(code, bytes, [&](librados::AioCompletion* completion) {
        return io_.context_.aio_operate(object, completion, &operation, nullptr);
    });
}

int Io::Batch::make_room(std::uint64_t bytes)
{
    while (!InFlight::try_add(bytes)) {
        if (!flying_.empty())
            land(flying_.size() - 1);
        else if (const int code = InFlight::wait(); code != 0)
            return code;
    }
    return 0;
}

template <class Send>
int Io::Batch::fly(int* code, std::uint64_t bytes, Send send)
{
    if (given_up_ || is_given_up()) return -EINTR;
    if (bytes != 0)
        if (const int no_room = make_room(bytes); no_room != 0) return no_room;
    Flight& one = flying_.emplace_back(code, bytes);
    const int sent = one.here.refused() ? -ENOTCONN : send(one.arrival.completion());
    if (sent == 0) return 0;
    flying_.pop_back();
    InFlight::remove(bytes);
    return sent;
}

// Waits for the oldest until at most so many fly.
void Io::Batch::land(std::size_t most)
{
    for (; flying_.size() > (given_up_ ? 0 : most); flying_.pop_front()) {
        Flight& one = flying_.front();
        const int code = one.arrival.wait(io_.context_, given_up_);
        InFlight::remove(one.bytes);
        given_up_ = given_up_ || code == -EINTR;
        if (one.code != nullptr)
            *one.code = code;
        else if (code < 0 && failed_ == 0)
            failed_ = code;
    }
}

int Io::Batch::wait()
{
    land(0);
    return failed_;
}

void Io::write_behind(const std::string& object, librados::ObjectWriteOperation& operation,
                      std::function<void(int)> done)
{
    struct Waiting {
        Use here;
        std::function<void(int)> done;
        librados::AioCompletion* completion = nullptr;
    };
    auto* waiting = new Waiting;
    waiting->done = std::move(done);
    waiting->completion =
        librados::Rados::aio_create_completion(waiting, [](rados_completion_t, void* given) {
            const std::unique_ptr<Waiting> self(static_cast<Waiting*>(given));
            self->done(self->completion->get_return_value());
            self->completion->release();
        });
    const int code = waiting->here.refused()
                         ? -ENOTCONN
                         : context_.aio_operate(object, waiting->completion, &operation, full_try);
    if (code == 0) return;
    waiting->done(code);
    waiting->completion->release();
    delete waiting;
}

namespace {

void unwatch(librados::IoCtx& context, std::uint64_t handle)
{
    context.unwatch2(handle);
    librados::Rados(context).watch_flush();
}

} // namespace

int Io::watch(const std::string& object, const std::shared_ptr<librados::WatchCtx2>& watcher,
              std::uint64_t& handle)
{
    count_write();
    struct Watched {
        librados::IoCtx context;
        std::shared_ptr<librados::WatchCtx2> watcher;
        std::uint64_t handle = 0;
    };
    const auto made = std::make_shared<Watched>(Watched{context_, watcher});
    const int code = wait_for(
        [made, object] {
            return made->context.watch3(object, &made->handle, made->watcher.get(), watch_timeout);
        },
        [made] { unwatch(made->context, made->handle); });
    if (code == 0) handle = made->handle;
    return code;
}

void Io::end_watch(std::uint64_t handle, const std::shared_ptr<librados::WatchCtx2>& watcher)
{
    const auto end = [context = context_, handle, watcher]() mutable {
        unwatch(context, handle);
        return 0;
    };
    if (is_silent() || is_given_up())
        leave_to_thread(end);
    else
        wait_for(end);
}

int Io::served_watchers(const std::string& object, std::set<std::uint64_t>& found)
{
    constexpr std::uint64_t answers_within = 1000; // milliseconds
    count_read();
    struct Asked {
        librados::IoCtx context;
        Buffer text = {}, answers = {};
    };
    const auto asked = std::make_shared<Asked>(Asked{context_});
    const int code = wait_for([asked, object] {
        const int result = asked->context.notify2(object, asked->text, answers_within, &asked->answers);
        return result == -ETIMEDOUT ? 0 : result; // some did not answer
    });
    if (code < 0) return code;
    std::vector<librados::notify_ack_t> given;
    std::vector<librados::notify_timeout_t> missing;
    context_.decode_notify_response(asked->answers, &given, &missing);
    for (const auto& one : given)
        found.insert(one.notifier_id);
    for (const auto& one : missing)
        found.insert(one.notifier_id);
    return 0;
}

void Io::each_name(FunctionRef<bool(const std::string& name)> take)
{
    constexpr std::size_t at_a_time = 1000;
    struct Listing {
        librados::IoCtx context;
        librados::NObjectIterator at = {};
        bool begun = false, ended = false;
        std::vector<std::string> names = {};
    };
    const auto listing = std::make_shared<Listing>(Listing{context_});
    while (!listing->ended) {
        listing->names.clear();
        const int code = wait_for([listing] {
            try {
                if (!std::exchange(listing->begun, true)) listing->at = listing->context.nobjects_begin();
                for (; listing->names.size() < at_a_time; ++listing->at) {
                    listing->ended = listing->at == listing->context.nobjects_end();
                    if (listing->ended) break;
                    listing->names.push_back(listing->at->get_oid());
                }
                return 0;
            } catch (const std::system_error& error) {
                return -std::abs(error.code().value());
            }
        });
        if (code < 0) failed(code, "cannot list the objects");
        for (const std::string& name : listing->names)
            if (!take(name)) return;
    }
}

void Io::flush()
{
    wait_for([context = context_]() mutable { return context.aio_flush(); });
}

librados::IoCtx& Io::context()
{
    if (uses_ended()) fail_at_exit(where_);
    return context_;
}

void Io::failed(int code, const std::string& tried) const
{
    fail(code, where_, tried);
}

} // namespace stepstore::store::rados

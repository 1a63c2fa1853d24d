#include "store/rados/cluster.h"

#include "stepstore/error.h"
#include "store/rados/errors.h"
#include "store/rados/host.h"
#include "store/rados/module.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <future>
#include <thread>

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

// Uses of librados, and whether more may begin: see end_at_exit().
std::atomic<int> under_way{0};
std::atomic<bool> ended{false};

// A setting that nobody has made, in seconds.
void prefer(librados::Rados& rados, const char* setting, const char* unset, const char* value)
{
    std::string now;
    if (rados.conf_get(setting, now) == 0 && std::strtod(now.c_str(), nullptr) == std::strtod(unset, nullptr))
        rados.conf_set(setting, value);
}

std::string named_conf()
{
    const char* given = std::getenv("CEPH_CONF");
    return given != nullptr ? given : "/etc/ceph/ceph.conf";
}

std::string user_of_arguments()
{
    const char* given = std::getenv("CEPH_ARGS");
    const std::string text = given == nullptr ? "" : given;
    for (const std::string option : {"--id=", "--id ", "--user=", "--user "}) {
        const auto at = text.find(option);
        if (at == std::string::npos) continue;
        const auto from = text.find_first_not_of(' ', at + option.size());
        if (from != std::string::npos) return text.substr(from, text.find(' ', from) - from);
    }
    return "admin";
}

[[noreturn]] void fail_to_connect(int code, const std::string& user)
{
    const std::string tried = "cannot connect to the Ceph cluster of " + named_conf() + " as client." + user;
    if (code == -ENOENT) {
        throw Error(-DER_NO_PERM, tried + ": there is no key of this user: name its keyring in the "
                                          "configuration (keyring = FILE)");
    }
    if (code == -ETIMEDOUT) {
        throw Error(-DER_TIMEDOUT, tried + ": no monitor answers: check mon_host and that the cluster runs. "
                                           "The time to wait is client_mount_timeout in seconds");
    }
    fail(code, "Ceph", tried);
}

std::unique_ptr<librados::Rados> connect()
{
    auto rados = std::make_unique<librados::Rados>();
    const std::string user = user_of_arguments();
    if (const int code = rados->init(user.c_str()); code < 0) fail_to_connect(code, user);
    const char* given = std::getenv("CEPH_CONF");
    if (const int code = rados->conf_read_file(given); code < 0) {
        throw Error(-DER_NONEXIST, "cannot read the Ceph configuration " + named_conf() +
                                       ": set CEPH_CONF to the file of the cluster");
    }
    rados->conf_parse_env(nullptr);
    prefer(*rados, "client_mount_timeout", "300", "5");
    prefer(*rados, "rados_mon_op_timeout", "0", "5");
    prefer(*rados, "rados_osd_op_timeout", "0", "60");
    // A message for each failed attempt on the program's output is not ours to write.
    prefer(*rados, "log_to_stderr", "1", "0");
    if (const int code = rados->connect(); code < 0) fail_to_connect(code, user);
    return rados;
}

struct Connection {
    librados::Rados* rados = nullptr;
    std::uint64_t generation = 0;
    bool is_ours() const { return rados != nullptr && generation == host().process_generation(); }
};
Connection& connection() // guarded by ForkLock::backend
{
    static auto* one = new Connection;
    return *one;
}

// A program that takes a few seconds to exit would crash otherwise: librados' threads read its configuration
// now and then, which goes with its static objects. What is under way may end first. If the cluster does not
// answer it stays, since somebody waits for it.
void end_at_exit()
{
    std::unique_lock lock(host().held_over_fork(ForkLock::backend), std::try_to_lock);
    if (!lock || !connection().is_ours()) return;
    constexpr std::chrono::seconds patience{2};
    ended = true;
    const auto until = std::chrono::steady_clock::now() + patience;
    while (under_way != 0) {
        if (std::chrono::steady_clock::now() > until) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::promise<void> done;
    auto is_done = done.get_future();
    try {
        std::thread([rados = connection().rados, done = std::move(done)]() mutable {
            rados->shutdown();
            done.set_value();
        }).detach();
    } catch (const std::system_error&) {
        return;
    }
    is_done.wait_for(patience);
}

[[noreturn]] void fail_at_exit(const std::string& where)
{
    throw Error(-DER_TIMEDOUT, where + ": the process is ending, and its connection to Ceph has ended: close "
                                       "pools before main() returns");
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
    std::vector<std::thread> threads;
    threads.reserve(most);
    try {
        while (threads.size() + 1 < most)
            threads.emplace_back(take_part, threads.size() + 1);
    } catch (const std::system_error&) {
        // The system gives no more threads: this one does their part too.
    }
    take_part(0);
    for (std::size_t part = threads.size() + 1; part < most; ++part)
        take_part(part);
    for (std::thread& one : threads)
        one.join();
    // What went out together counts once: the thread with the most of them.
    rados::count(
        *std::ranges::max_element(trips, {}, [](const Trips& one) { return one.reads + one.writes; }));
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

librados::Rados& cluster()
{
    const std::lock_guard lock(host().held_over_fork(ForkLock::backend));
    if (ended) fail_at_exit("Ceph");
    Connection& one = connection();
    if (!one.is_ours()) {
        // By a thread of its own: librados draws the name of a connection from a generator of each thread,
        // and children of a process must not go on where that of their parent was. With equal names the
        // cluster takes them for one, and sends the answers to the last.
        one.rados = std::async(std::launch::async, connect).get().release();
        one.generation = host().process_generation();
        under_way = 0; // of a parent's other threads
        [[maybe_unused]] static const bool first = std::atexit(end_at_exit) == 0;
    }
    return *one.rados;
}

Io::Io(const std::string& pool, const std::string& name_space, std::string where) : where_(std::move(where))
{
    librados::Rados& rados = cluster();
    const int code = rados.ioctx_create(pool.c_str(), context_);
    if (code == -ENOENT) {
        throw Error(-DER_NONEXIST, where_ + ": the cluster has no pool '" + pool +
                                       "': see 'ceph osd pool ls', or make it with 'ceph osd pool create " +
                                       pool + "'");
    }
    if (code < 0) fail(code, where_, "cannot use the Ceph pool '" + pool + "'");
    set_namespace(name_space);
}

Io::Io(Io& beside, std::int64_t pool) : where_(beside.where_)
{
    librados::Rados rados(beside.context_);
    const int code = rados.ioctx_create2(pool, context_);
    if (code == -ENOENT) {
        throw Error(-DER_DF_INVAL, where_ + ": its bulk data were in the Ceph pool number " +
                                       std::to_string(pool) +
                                       ", which the cluster no longer has: destroy this pool");
    }
    if (code < 0) fail(code, where_, "cannot use the Ceph pool number " + std::to_string(pool));
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
Io::Result round_trip(Send send)
{
    const Use here;
    if (here.refused()) return {-ENOTCONN, 0};
    librados::AioCompletion* completion = librados::Rados::aio_create_completion();
    Io::Result result;
    result.code = send(completion);
    if (result.code == 0) {
        completion->wait_for_complete();
        result.code = completion->get_return_value();
        result.version = completion->get_version64();
    }
    completion->release();
    return result;
}

} // namespace

Io::Result Io::read(const std::string& object, librados::ObjectReadOperation& operation)
{
    count_read();
    return round_trip([&](librados::AioCompletion* completion) {
        return context_.aio_operate(object, completion, &operation, nullptr);
    });
}

Io::Result Io::write(const std::string& object, librados::ObjectWriteOperation& operation, int if_full)
{
    count_write();
    return round_trip([&](librados::AioCompletion* completion) {
        return context_.aio_operate(object, completion, &operation, if_full);
    });
}

constexpr std::size_t most_at_once = 32; // of a batch

void Io::Batch::write(const std::string& object, librados::ObjectWriteOperation& operation)
{
    land(most_at_once - 1);
    if (landed_ == 0 && flying_.empty()) count_write();
    const int code = fly(nullptr, [&](librados::AioCompletion* completion) {
        return io_.context_.aio_operate(object, completion, &operation, full_try);
    });
    if (code != 0 && failed_ == 0) failed_ = code;
}

void Io::Batch::read(const std::string& object, librados::ObjectReadOperation& operation, int* code)
{
    land(most_at_once - 1);
    if (landed_ == 0 && flying_.empty()) count_read();
    *code = fly(code, [&](librados::AioCompletion* completion) {
        return io_.context_.aio_operate(object, completion, &operation, nullptr);
    });
}

template <class Send>
int Io::Batch::fly(int* code, Send send)
{
    const Use here;
    if (here.refused()) return -ENOTCONN;
    librados::AioCompletion* completion = librados::Rados::aio_create_completion();
    const int sent = send(completion);
    if (sent != 0) {
        completion->release();
        return sent;
    }
    flying_.push_back({completion, code});
    under_way.fetch_add(1); // until it lands
    return 0;
}

// Waits for the oldest until at most so many fly.
void Io::Batch::land(std::size_t most)
{
    for (; flying_.size() - landed_ > most; ++landed_) {
        const Flight& one = flying_[landed_];
        one.completion->wait_for_complete();
        const int code = one.completion->get_return_value();
        if (one.code != nullptr)
            *one.code = code;
        else if (code < 0 && failed_ == 0)
            failed_ = code;
        one.completion->release();
        under_way.fetch_sub(1);
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

int Io::watch(const std::string& object, librados::WatchCtx2& watcher, std::uint64_t& handle)
{
    count_write();
    const Use here;
    return here.refused() ? -ENOTCONN : context_.watch3(object, &handle, &watcher, watch_timeout);
}

void Io::end_watch(std::uint64_t handle)
{
    const Use here;
    if (here.refused()) return;
    context_.unwatch2(handle);
    librados::Rados(context_).watch_flush();
}

void Io::answer_notify(const std::string& object, std::uint64_t notify, std::uint64_t handle)
{
    const Use here;
    Buffer nothing;
    if (!here.refused()) context_.notify_ack(object, notify, handle, nothing);
}

int Io::served_watchers(const std::string& object, std::set<std::uint64_t>& found)
{
    constexpr std::uint64_t answers_within = 1000; // milliseconds
    count_read();
    const Use here;
    if (here.refused()) return -ENOTCONN;
    Buffer text, answers;
    const int code = context_.notify2(object, text, answers_within, &answers);
    if (code < 0 && code != -ETIMEDOUT) return code;
    std::vector<librados::notify_ack_t> given;
    std::vector<librados::notify_timeout_t> missing;
    context_.decode_notify_response(answers, &given, &missing);
    for (const auto& one : given)
        found.insert(one.notifier_id);
    for (const auto& one : missing)
        found.insert(one.notifier_id);
    return 0;
}

void Io::flush()
{
    const Use here;
    if (!here.refused()) context_.aio_flush();
}

librados::IoCtx& Io::context()
{
    if (ended) fail_at_exit(where_);
    return context_;
}

void Io::failed(int code, const std::string& tried) const
{
    fail(code, where_, tried);
}

} // namespace stepstore::store::rados

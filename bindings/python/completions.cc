// Calls in flight for an event loop of Python. A thread waits for them in the pool's event queue. It makes a
// file descriptor readable when some have completed; the loop takes their results then. So the interpreter's
// lock is never waited for, and calls that complete together wake the loop once.
//
// 1. The loop's thread launches a call and notes it in in_flight_, both under the mutex.
// 2. The thread polls without the mutex. It looks up what has completed with it, so it finds every call
//    noted.
// 3. A call keeps its memory until the loop has taken its result, also where nobody waits for it.
#include "common.h"

#include "base/fork.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace stepstore::python {

namespace {

// What a call in flight needs, and who waits for it.
struct Call {
    enum class Kind : std::uint8_t { write, get, get_into, read, read_into };

    Call(Kind what, nb::object waits) : kind(what), future(std::move(waits)) {}

    Kind kind;
    nb::object future;
    std::optional<Buffer> memory = std::nullopt;  // of the caller
    std::optional<NewBytes> fresh = std::nullopt; // what get and read give
    std::size_t size = 0;                         // of a get: room, then the value's size
    Pending pending = {};

    MutableBytes room() const { return fresh ? fresh->memory() : memory->writable(); }
    nb::object result();
};

nb::object Call::result()
{
    try {
        pending.wait(); // has completed
    } catch (const Error& error) {
        const bool gets = kind == Kind::get || kind == Kind::get_into;
        if (gets && error.code() == -DER_NONEXIST) return nb::none();
        if (!gets || error.code() != -DER_REC2BIG) throw;
        return nb::int_(size);
    }
    const auto cells_short = [&]() -> nb::object {
        if (!pending.tells_cells_short()) return nb::none();
        return nb::int_(pending.cells_short());
    };
    switch (kind) {
    case Kind::write: return nb::none();
    case Kind::get: return fresh->first(size);
    case Kind::get_into: return nb::int_(size);
    case Kind::read: return nb::make_tuple(fresh->first(room().size()), cells_short());
    case Kind::read_into: return cells_short();
    }
    return nb::none();
}

class Completions {
public:
    explicit Completions(EventQueue queue)
        : queue_(std::move(queue)), readable_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          generation_(process_generation())
    {
        if (readable_ < 0) throw Error(-DER_NOMEM, "there is no file descriptor left for an event loop");
        thread_ = std::thread([this] { wait_for_calls(); });
    }
    ~Completions()
    {
        close();
        ::close(readable_);
    }
    Completions(const Completions&) = delete;
    Completions& operator=(const Completions&) = delete;

    bool of_this_process() const { return generation_ == process_generation(); }
    int descriptor() const { return readable_; }
    template <class Start>
    void launch(std::unique_ptr<Call> call, Start&& start);
    nb::list take();
    void close();

private:
    void wait_for_calls();
    void finished(std::unique_ptr<Call> call);

    std::optional<EventQueue> queue_; // none: closed
    const int readable_;
    const std::uint64_t generation_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::unordered_map<Pending::Id, std::unique_ptr<Call>> in_flight_; // guarded by mutex_
    std::vector<std::unique_ptr<Call>> finished_;                      // guarded by mutex_
    bool closing_ = false;                                             // guarded by mutex_
    bool ended_ = false;                                               // the thread; guarded by mutex_
    std::thread thread_;
};

// `start` launches the call in the queue it is given.
template <class Start>
void Completions::launch(std::unique_ptr<Call> call, Start&& start)
{
    unlocked([&] {
        const std::lock_guard lock(mutex_);
        if (closing_) throw Error(-DER_NO_HDL, "the pool was closed: connect to it again");
        call->pending = start(*queue_);
        if (const Pending::Id id = call->pending.id())
            in_flight_.emplace(id, std::move(call));
        else
            finished(std::move(call));
    });
    changed_.notify_one();
}

void Completions::finished(std::unique_ptr<Call> call)
{
    finished_.push_back(std::move(call));
    if (finished_.size() > 1) return; // the loop knows
    const std::uint64_t one = 1;
    while (write(readable_, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void Completions::wait_for_calls()
{
    constexpr std::chrono::seconds longest(1); // a queue that is lost is seen by then
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return closing_ || !in_flight_.empty(); });
        if (in_flight_.empty()) {
            ended_ = true;
            changed_.notify_all();
            return;
        }
        lock.unlock();
        std::vector<Pending::Id> done;
        bool lost = false;
        try {
            done = queue_->poll(longest);
        } catch (const Error&) {
            lost = true; // each call fails when its result is taken
        }
        lock.lock();
        for (const Pending::Id id : done)
            finished(std::move(in_flight_.extract(id).mapped()));
        while (lost && !in_flight_.empty())
            finished(std::move(in_flight_.extract(in_flight_.begin()).mapped()));
    }
}

// (future, result, error) of each call that has completed.
nb::list Completions::take()
{
    std::vector<std::unique_ptr<Call>> taken;
    {
        std::uint64_t count = 0;
        while (read(readable_, &count, sizeof count) < 0 && errno == EINTR) {
        }
        const std::lock_guard lock(mutex_);
        taken.swap(finished_);
    }
    nb::list results;
    for (const auto& call : taken) {
        try {
            results.append(nb::make_tuple(call->future, call->result(), nb::none()));
        } catch (const Error& error) {
            results.append(nb::make_tuple(call->future, nb::none(), error_object(error)));
        }
    }
    return results;
}

// Waits for what is in flight, and lets go of the pool. An interrupted wait ends what is in flight.
void Completions::close()
{
    if (!thread_.joinable()) return;
    if (!of_this_process()) { // a fork takes no threads along, and what is in flight is the parent's
        thread_.detach();
        for (auto& each : in_flight_)
            static_cast<void>(each.second.release());
        return;
    }
    unlocked([&] {
        {
            std::unique_lock lock(mutex_);
            closing_ = true;
            changed_.notify_all();
            while (!changed_.wait_for(lock, between_asking, [&] { return ended_; })) {
                lock.unlock();
                if (Unlocked::asked_to_stop())
                    Unlocked::end_all_waits(true); // also those for what is in flight
                lock.lock();
            }
            Unlocked::end_all_waits(false);
        }
        thread_.join();
        queue_.reset(); // and with it the pool
    });
}

std::unique_ptr<Call> call_of(Call::Kind kind, const nb::object& future)
{
    return std::make_unique<Call>(kind, future);
}

// A get of a key into the memory of the call.
void launch_get(Completions& self, std::unique_ptr<Call> call, KeyValueHandle& object, const nb::bytes& key)
{
    Call& it = *call;
    it.size = it.room().size();
    self.launch(std::move(call), [&, object = object.hold()](EventQueue& queue) {
        std::byte* const into = it.size > 0 ? it.room().data() : nullptr;
        return object->get_into(queue, text_of(key), into, &it.size, Condition::must_exist);
    });
}

void launch_read(Completions& self, std::unique_ptr<Call> call, ArrayHandle& object, std::uint64_t index)
{
    Call& it = *call;
    self.launch(std::move(call), [&, object = object.hold()](EventQueue& queue) {
        return object->read(queue, index, it.room());
    });
}

void bind_calls(nb::class_<Completions>& completions)
{
    using Kind = Call::Kind;
    completions
        .def("put",
             [](Completions& self, const nb::object& future, KeyValueHandle& object, const nb::bytes& key,
                nb::handle value, const std::string& condition) {
                 auto call = call_of(Kind::write, future);
                 call->memory.emplace(value, false);
                 const Bytes memory = call->memory->bytes();
                 const Condition wanted = condition_of(condition);
                 self.launch(std::move(call), [&, object = object.hold()](EventQueue& queue) {
                     return object->put(queue, text_of(key), memory, wanted);
                 });
             })
        .def("get",
             [](Completions& self, const nb::object& future, KeyValueHandle& object, const nb::bytes& key,
                std::size_t room) {
                 auto call = call_of(Kind::get, future);
                 call->fresh.emplace(room);
                 launch_get(self, std::move(call), object, key);
             })
        .def("get_into",
             [](Completions& self, const nb::object& future, KeyValueHandle& object, const nb::bytes& key,
                nb::handle into) {
                 auto call = call_of(Kind::get_into, future);
                 call->memory.emplace(into, true);
                 launch_get(self, std::move(call), object, key);
             })
        .def("write",
             [](Completions& self, const nb::object& future, ArrayHandle& object, std::uint64_t index,
                nb::handle data) {
                 auto call = call_of(Kind::write, future);
                 call->memory.emplace(data, false);
                 const Bytes memory = call->memory->bytes();
                 self.launch(std::move(call), [&, object = object.hold()](EventQueue& queue) {
                     return object->write(queue, index, memory);
                 });
             })
        .def("read",
             [](Completions& self, const nb::object& future, ArrayHandle& object, std::uint64_t index,
                std::size_t bytes) {
                 auto call = call_of(Kind::read, future);
                 call->fresh.emplace(bytes);
                 launch_read(self, std::move(call), object, index);
             })
        .def("read_into", [](Completions& self, const nb::object& future, ArrayHandle& object,
                             std::uint64_t index, nb::handle into) {
            auto call = call_of(Kind::read_into, future);
            call->memory.emplace(into, true);
            launch_read(self, std::move(call), object, index);
        });
}

} // namespace

void bind_completions(nb::module_& module)
{
    nb::class_<Completions> completions(module, "Completions");
    const auto queue_of = [](auto& object) {
        const auto held = object.hold();
        return unlocked([&] { return held->event_queue(); });
    };
    completions
        .def("__init__", [queue_of](Completions* self,
                                    KeyValueHandle& object) { new (self) Completions(queue_of(object)); })
        .def("__init__",
             [queue_of](Completions* self, ArrayHandle& object) { new (self) Completions(queue_of(object)); })
        .def_prop_ro("descriptor", &Completions::descriptor)
        .def_prop_ro("of_this_process", &Completions::of_this_process)
        .def("take", &Completions::take)
        .def("close", &Completions::close);
    bind_calls(completions);
}

} // namespace stepstore::python

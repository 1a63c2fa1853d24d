// The connection to a Ceph cluster, and single operations on it: what is sent, waited for and counted.
//
// A process has one connection. Its configuration is the one that every Ceph program finds: CEPH_CONF or
// /etc/ceph/ceph.conf, and CEPH_ARGS, whose --id names the user. It is made at first use and lasts as long as
// the process: it ends at the exit, before the static objects of librados, which librados' threads use. A
// forked child makes its own, since librados' threads do not survive a fork. It never touches its parent's.
//
// A wait may be given up (waits.h). Then the code is -EINTR, and the call sends nothing more.
//
// Threads: any, but for a Batch. Errors: an operation's code is what librados says, and failed() makes it an
// Error; DER_TIMEDOUT if the process is ending.
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"
#include "store/rados/waits.h"

#include <rados/librados.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace stepstore::store::rados {

using Buffer = librados::bufferlist;

inline std::string to_string(const Buffer& buffer)
{
    std::string text;
    text.reserve(buffer.length());
    for (const auto& part : buffer.buffers())
        text.append(part.c_str(), part.length());
    return text;
}
inline Buffer to_buffer(std::string_view text)
{
    Buffer buffer;
    buffer.append(text.data(), static_cast<unsigned>(text.size()));
    return buffer;
}

// A Ceph pool and a namespace in it, of the process's connection. May be used by many threads at once.
class Io : NotCopied {
public:
    // DER_NONEXIST: no such pool. DER_TIMEDOUT, DER_NO_PERM, DER_INVAL: no connection.
    Io(const std::string& pool, const std::string& name_space, std::string where);
    // The same namespace in the Ceph pool with this number. DER_DF_INVAL: it is gone.
    Io(Io& beside, std::int64_t pool);

    struct Result {
        int code = 0;              // 0, or what librados says
        std::uint64_t version = 0; // of the object
    };
    Result read(const std::string& object, librados::ObjectReadOperation& operation);
    // A full cluster answers with ENOSPC to what needs room. By itself it would let it wait.
    static constexpr int full_try = librados::OPERATION_FULL_TRY;
    Result write(const std::string& object, librados::ObjectWriteOperation& operation,
                 int if_full = full_try);

    // Many operations at once. Each `done` runs on a thread of librados.
    class Batch : NotCopied {
    public:
        explicit Batch(Io& io) : io_(io) {}
        ~Batch() { wait(); }
        // bytes: that it carries, or asks for
        void write(const std::string& object, librados::ObjectWriteOperation& operation,
                   std::uint64_t bytes = 0);
        void read(const std::string& object, librados::ObjectReadOperation& operation, int* code,
                  std::uint64_t bytes = 0);
        // Until all are done. Gives the first error of the writes, 0 where there was none.
        int wait();

    private:
        struct Flight {
            Flight(int* into, std::uint64_t carried) : code(into), bytes(carried) {}
            Use here;
            Arrival arrival;
            int* const code;
            const std::uint64_t bytes;
        };
        template <class Send>
        int fly(int* code, std::uint64_t bytes, Send send);
        int make_room(std::uint64_t bytes);
        void land(std::size_t most);
        Io& io_;
        std::deque<Flight> flying_;
        bool counted_ = false;
        bool given_up_ = false;
        int failed_ = 0;
    };
    // Nobody waits for it. `done` runs on a thread of librados with the result.
    void write_behind(const std::string& object, librados::ObjectWriteOperation& operation,
                      std::function<void(int)> done);
    // 0, or what librados says: `watcher` is told of notifies on the object.
    int watch(const std::string& object, const std::shared_ptr<librados::WatchCtx2>& watcher,
              std::uint64_t& handle);
    // On return the watcher is not called any more, unless the wait was given up or the cluster is silent.
    void end_watch(std::uint64_t handle, const std::shared_ptr<librados::WatchCtx2>& watcher);
    // 0, or what librados says. Finds the connections whose watches of the object the cluster serves. It
    // waits a second for their answers, and finds those too that did not give one.
    int served_watchers(const std::string& object, std::set<std::uint64_t>& found);
    // Of all objects, some at a time, until `take` says false.
    void each_name(FunctionRef<bool(const std::string& name)> take);
    void flush();

    static constexpr std::uint32_t watch_timeout = 10; // seconds after which a dead process watches no more

    librados::IoCtx& context();                          // DER_TIMEDOUT: the process is ending
    std::uint64_t instance() const { return instance_; } // of the process's connection
    const std::string& where() const { return where_; }
    [[noreturn]] void failed(int code, const std::string& tried) const;

private:
    void set_namespace(const std::string& name_space);
    const std::string where_; // "pool rados://..."
    librados::IoCtx context_;
    std::uint64_t instance_ = 0;
};

// Does work(0) to work(count - 1) on up to most_threads threads, this one among them. All have ended when it
// returns; then it throws what the first of those that failed has thrown.
inline constexpr unsigned most_threads = 16;
void at_once(std::size_t count, FunctionRef<void(std::size_t)> work);

// The process's connection. DER_TIMEDOUT: the process is ending, and its connection has ended before.
librados::Rados& cluster();
[[noreturn]] void fail_at_exit(const std::string& where); // which says that

} // namespace stepstore::store::rados

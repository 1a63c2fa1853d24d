// The connection to a Ceph cluster, and single operations on it: what is sent, waited for and counted.
//
// A process has one connection. Its configuration is the one that every Ceph program finds: CEPH_CONF or
// /etc/ceph/ceph.conf, and CEPH_ARGS, whose --id names the user. It is made at first use and lasts as long as
// the process: it ends at the exit, before the static objects of librados, which librados' threads use. A
// forked child makes its own, since librados' threads do not survive a fork. It never touches its parent's.
//
// Errors: an operation's code is what librados says, and failed() makes it an Error; DER_TIMEDOUT if the
// process is ending.
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/not_copied.h"

#include <rados/librados.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

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

// A use of librados: the exit of the process waits for its end, before the connection ends. Operations of Io
// have their own.
class Use : NotCopied {
public:
    Use();
    ~Use();
    bool refused() const; // the connection has ended: nothing of librados may be used any more
};

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
        void write(const std::string& object, librados::ObjectWriteOperation& operation);
        void read(const std::string& object, librados::ObjectReadOperation& operation, int* code);
        // Until all are done. Gives the first error of the writes, 0 where there was none.
        int wait();

    private:
        struct Flight {
            librados::AioCompletion* completion;
            int* code;
        };
        template <class Send>
        int fly(int* code, Send send);
        void land(std::size_t most);
        Io& io_;
        std::vector<Flight> flying_;
        std::size_t landed_ = 0;
        int failed_ = 0;
    };
    // Nobody waits for it. `done` runs on a thread of librados with the result.
    void write_behind(const std::string& object, librados::ObjectWriteOperation& operation,
                      std::function<void(int)> done);
    // 0, or what librados says: `watcher` is told of notifies on the object.
    int watch(const std::string& object, librados::WatchCtx2& watcher, std::uint64_t& handle);
    void end_watch(std::uint64_t handle); // on return the watcher is not called any more
    void answer_notify(const std::string& object, std::uint64_t notify, std::uint64_t handle);
    // 0, or what librados says. Finds the connections whose watches of the object the cluster serves. It
    // waits a second for their answers, and finds those too that did not give one.
    int served_watchers(const std::string& object, std::set<std::uint64_t>& found);
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

} // namespace stepstore::store::rados

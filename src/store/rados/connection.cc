// The process's connection: made at the first use, ended at the exit (cluster.h).
#include "base/call_threads.h"
#include "stepstore/error.h"
#include "store/rados/cluster.h"
#include "store/rados/errors.h"
#include "store/rados/host.h"

#include <daos_errno.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <future>
#include <system_error>
#include <thread>

namespace stepstore::store::rados {

namespace {

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
// now and then, which goes with its static objects. Calls that are under way may end first, unless the
// cluster is silent. Threads that wait in librados for it then do so for ever: they are not woken.
void end_at_exit()
{
    std::unique_lock lock(host().held_over_fork(ForkLock::backend), std::try_to_lock);
    if (!lock || !connection().is_ours()) return;
    constexpr std::chrono::seconds patience{2};
    if (!is_silent() && !end_uses(patience)) return;
    if (is_silent()) end_uses(std::chrono::milliseconds(100));
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

// nullptr: there is none yet.
librados::Rados* connected()
{
    if (uses_ended()) fail_at_exit("Ceph");
    return connection().is_ours() ? connection().rados : nullptr;
}

// By a thread of its own: librados draws the name of a connection from a generator of each thread, and
// children of a process must not go on where that of their parent was. With equal names the cluster takes
// them for one, and sends the answers to the last.
librados::Rados* connect_elsewhere()
{
    struct Made {
        std::unique_ptr<librados::Rados> rados;
        std::exception_ptr failed;
    };
    const auto made = std::make_shared<Made>();
    const int code = wait_for_thread([made] {
        try {
            made->rados = connect();
            return 0;
        } catch (...) {
            made->failed = std::current_exception();
            return -EIO;
        }
    });
    if (code == -EINTR) throw Error(-DER_CANCELED, "Ceph: interrupted while it connected to the cluster");
    if (made->failed) std::rethrow_exception(made->failed);
    if (code == -ENOTCONN) fail_at_exit("Ceph");
    return made->rados.release();
}

} // namespace

void fail_at_exit(const std::string& where)
{
    throw Error(-DER_TIMEDOUT, where + ": the process is ending, and its connection to Ceph has ended: close "
                                       "pools before main() returns");
}

librados::Rados& cluster()
{
    {
        const std::lock_guard lock(host().held_over_fork(ForkLock::backend));
        if (librados::Rados* rados = connected()) return *rados;
    }
    ask_during([] {
        const std::lock_guard lock(host().held_over_fork(ForkLock::backend));
        const NotAsked not_asked;
        if (connected() != nullptr) return;
        Connection& one = connection();
        if (one.generation != host().process_generation()) {
            forget_uses_of_parent();
            one = {nullptr, host().process_generation()};
        }
        one.rados = connect_elsewhere();
        [[maybe_unused]] static const bool first = std::atexit(end_at_exit) == 0;
    });
    return *connection().rados;
}

} // namespace stepstore::store::rados

#include "supervised.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stepstore::sim {

namespace {

namespace fs = std::filesystem;

class Scratch {
public:
    Scratch()
    {
        const char* chosen = std::getenv("TMPDIR");
        const fs::path shared_memory = "/dev/shm";
        const fs::path parent = chosen                      ? fs::path(chosen)
                                : fs::exists(shared_memory) ? shared_memory
                                                            : "/tmp";
        std::string name = (parent / "stepstore-simulate-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("cannot make a directory in " + parent.string() +
                                     " for what the simulation stores: set TMPDIR");
        path_ = name;
    }
    ~Scratch()
    {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    std::string path() const { return path_.string(); }

private:
    fs::path path_;
};

// Signals wait from here on, so that none comes between the directory and who removes it.
class Blocked {
public:
    Blocked()
    {
        sigemptyset(&set_);
        for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
            sigaddset(&set_, one);
        sigprocmask(SIG_BLOCK, &set_, &before_);
    }
    ~Blocked() { restore(); }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
    void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    int wait() const
    {
        int signal = 0;
        sigwait(&set_, &signal);
        return signal;
    }

private:
    sigset_t set_{}, before_{};
};

// The status of the child; `ended_by`: the signal that ended this process's wait, or 0.
int wait_for(pid_t child, const Blocked& blocked, int& ended_by)
{
    int status = 0;
    while (true) {
        const int signal = blocked.wait();
        if (signal != SIGCHLD) {
            ended_by = signal;
            ::kill(child, SIGKILL);
            while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
            return status;
        }
        if (::waitpid(child, &status, WNOHANG) == child && !WIFSTOPPED(status)) return status;
    }
}

[[noreturn]] void run_child(const std::function<int(const std::string&)>& work, const std::string& directory,
                            const Blocked& blocked)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody else would end it
    blocked.restore();
    const int result = work(directory);
    std::exit(result);
}

} // namespace

int supervised(const std::function<int(const std::string& directory)>& work)
{
    const Blocked blocked;
    int status = 0, ended_by = 0;
    {
        const Scratch scratch;
        const pid_t child = ::fork();
        if (child < 0)
            throw std::runtime_error(std::string("cannot make a process: ") + std::strerror(errno));
        if (child == 0) run_child(work, scratch.path(), blocked);
        status = wait_for(child, blocked, ended_by);
    }
    if (ended_by == 0 && WIFSIGNALED(status)) { // a terminal's ^C comes to both
        ended_by = WTERMSIG(status);
        if (ended_by != SIGINT && ended_by != SIGTERM && ended_by != SIGHUP)
            throw std::runtime_error("the simulation was killed by signal " + std::to_string(ended_by) +
                                     (ended_by == SIGKILL ? ", perhaps because the memory was full" : ""));
    }
    if (ended_by != 0) {
        std::signal(ended_by, SIG_DFL);
        blocked.restore();
        ::raise(ended_by);
    }
    return WEXITSTATUS(status);
}

} // namespace stepstore::sim

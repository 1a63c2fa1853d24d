#include "common/workers.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace stepstore::bench {

double median(std::vector<double> values)
{
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string size_name(std::uint64_t size)
{
    if (size % (1 << 20) == 0) return std::to_string(size >> 20) + "MiB";
    return size % 1024 == 0 ? std::to_string(size >> 10) + "KiB" : std::to_string(size) + "B";
}

Directory::Directory(const std::string& wanted)
    : name((wanted.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(wanted)) /
           "stepstore-bench-XXXXXX")
{
    std::filesystem::create_directories(std::filesystem::path(name).parent_path());
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a directory " + name);
    int ends[2];
    if (pipe(ends) == 0) remover_ = fork();
    if (remover_ < 0) throw std::runtime_error("cannot start a process");
    if (remover_ == 0) {
        setpgid(0, 0);
        close(ends[1]);
        char nothing = 0;
        while (::read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
        }
        std::error_code ignored;
        std::filesystem::remove_all(name, ignored);
        _exit(0);
    }
    setpgid(remover_, remover_); // out of reach of signals for the others, before there is anything to remove
    close(ends[0]);
    in_use_ = ends[1];
}

Directory::~Directory()
{
    close(in_use_);
    waitpid(remover_, nullptr, 0);
}

bool send(int to, const void* what, std::size_t bytes)
{
    return ::write(to, what, bytes) == static_cast<ssize_t>(bytes);
}

bool receive(int from, void* what, std::size_t bytes)
{
    return ::read(from, what, bytes) == static_cast<ssize_t>(bytes);
}

pid_t in_process(const std::string& name, const std::function<void()>& body)
{
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    int status = 0;
    try {
        body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "\n%s: %s\n", name.c_str(), error.what());
        status = 1;
    }
    std::fflush(nullptr);
    _exit(status);
}

void Workers::start(const std::string& name, const std::function<void(int commands, int results)>& serve)
{
    int commands[2], results[2];
    if (pipe(commands) != 0 || pipe(results) != 0) throw std::runtime_error("cannot make a pipe");
    const pid_t child = in_process(name, [&] {
        close(commands[1]);
        close(results[0]);
        for (const Worker& other : workers_)
            close(other.commands);
        serve(commands[0], results[1]);
    });
    close(commands[0]);
    close(results[1]);
    if (child < 0) throw std::runtime_error("cannot start a process");
    workers_.push_back({child, commands[1], results[0]});
}

Workers::~Workers()
{
    for (const Worker& worker : workers_) {
        close(worker.commands);
        close(worker.results);
    }
    for (const Worker& worker : workers_)
        waitpid(worker.process, nullptr, 0);
}

void Workers::tell(std::size_t first, std::size_t last, const void* command, std::size_t bytes) const
{
    for (std::size_t i = first; i < last; ++i)
        if (!send(workers_[i].commands, command, bytes)) throw std::runtime_error(name_ + " failed");
}

std::vector<double> Workers::results(std::size_t first, std::size_t last) const
{
    std::vector<double> all(last - first);
    for (std::size_t i = first; i < last; ++i)
        if (!receive(workers_[i].results, &all[i - first], sizeof(double)))
            throw std::runtime_error(name_ + " failed");
    return all;
}

} // namespace stepstore::bench

// Processes that take commands and give back times, so that the rounds of several subjects can be
// interleaved; and what the programs that have such processes share.
// Threads: one. Errors: std::runtime_error, with the name of what failed.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace stepstore::bench {

double median(std::vector<double> values);
std::string size_name(std::uint64_t size); // 64KiB

// A new directory in `wanted`, or in the one for temporary files where that is empty. A process of its own
// removes it when this is destroyed, or when this process and all that it forked have ended: by Ctrl-C, say.
class Directory {
public:
    explicit Directory(const std::string& wanted);
    ~Directory();
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    std::string name;

private:
    pid_t remover_ = -1;
    int in_use_ = -1; // the end of a pipe: the remover waits until nobody has it any more
};

bool send(int to, const void* what, std::size_t bytes);
bool receive(int from, void* what, std::size_t bytes);

// Runs `body` in a process of its own and gives its id. What it throws is said as `name`'s.
pid_t in_process(const std::string& name, const std::function<void()>& body);

class Workers {
public:
    // name: whose failure is reported.
    explicit Workers(std::string name) : name_(std::move(name)) {}
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    // Starts a process that runs `serve` and ends when the commands do.
    void start(const std::string& name, const std::function<void(int commands, int results)>& serve);
    // To the processes from `first` to before `last`. Throws when one has failed.
    void tell(std::size_t first, std::size_t last, const void* command, std::size_t bytes) const;
    // The next result of each of these. Throws when one has failed.
    std::vector<double> results(std::size_t first, std::size_t last) const;

private:
    struct Worker {
        pid_t process = -1;
        int commands = -1;
        int results = -1;
    };
    std::string name_;
    std::vector<Worker> workers_;
};

} // namespace stepstore::bench

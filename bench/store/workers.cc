#include "workers.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace stepstore::bench {

namespace {

using Clock = std::chrono::steady_clock;

void make(const Case& one, Peer peer, const std::string& directory)
{
    if (peer == Peer::stepstore) make_stepstore(one, directory);
    if (peer == Peer::lmdb) make_lmdb(one, directory);
}

std::unique_ptr<Subject> open(const Case& one, Peer peer, const std::string& directory, unsigned process)
{
    if (peer == Peer::stepstore) return open_stepstore(one, directory, process);
    if (peer == Peer::lmdb) return open_lmdb(one, directory, process);
    return open_file(one, directory, process);
}

// Stores what the reads will find.
void prepare(const Case& one, Peer peer, const std::string& directory, unsigned process)
{
    Case writing = one;
    if (!reads(one)) return;
    writing.operation = one.operation == Operation::kv_get ? Operation::kv_put : Operation::array_write;
    const auto subject = open(writing, peer, directory, process);
    for (std::uint64_t place = 0; place < places(one); ++place)
        subject->run(place);
}

// Reads go through the places all over, every place once before any comes again; writes one after the other.
std::uint64_t stride_of(const Case& one)
{
    const std::uint64_t all = places(one);
    if (!reads(one)) return 1;
    std::uint64_t stride = all * 618 / 1000 + 1;
    while (std::gcd(stride, all) != 1)
        ++stride;
    return stride;
}

double measure(Subject& subject, const Case& one, const RoundLength& length, std::uint64_t& place)
{
    const std::uint64_t all = places(one);
    const std::uint64_t step = stride_of(one);
    // operations between two looks at the clock
    const std::uint64_t batch = one.size <= 8192 && !one.power ? 16 : 1;
    std::uint64_t done = 0;
    const auto begin = Clock::now();
    const auto end = begin + std::chrono::duration<double>(length.seconds);
    auto now = begin;
    while (length.operations != 0 ? done < length.operations : now < end) {
        for (std::uint64_t n = 0; n < batch; ++n, ++done) {
            subject.run(place);

            place = (place + step) % all;
        }
        now = Clock::now();
    }
    return std::chrono::duration<double, std::micro>(now - begin).count() / static_cast<double>(done);
}

void work(const Case& one, Peer peer, const std::string& directory, unsigned process,
          const RoundLength& length, int commands, int results)
{
    prepare(one, peer, directory, process);
    const auto subject = open(one, peer, directory, process);
    std::uint64_t place = 0;
    double result = 0;
    while (write(results, &result, sizeof result) == sizeof result) {
        char command;
        if (read(commands, &command, 1) != 1) return;
        result = measure(*subject, one, length, place);
    }
}

// Runs `body` in a process of its own and gives its id.
template <class Body>
pid_t in_process(const std::string& name, const Body& body)
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

} // namespace

Workers::Workers(const Case& one, Peer peer, const std::string& directory, const RoundLength& length)
    : name_(peer == Peer::stepstore ? "Stepstore"
            : peer == Peer::lmdb    ? "raw LMDB"
                                    : "plain file")
{
    // This process opens nothing, so that the workers inherit nothing.
    const pid_t maker = in_process(name_, [&] { make(one, peer, directory); });
    int status = 0;
    if (maker < 0 || waitpid(maker, &status, 0) < 0 || status != 0)
        throw std::runtime_error(name_ + " could not be set up");
    for (unsigned process = 0; process < one.processes; ++process)
        start(one, peer, directory, process, length);
    for (const Worker& worker : workers_)
        result_of(worker); // ready
}

void Workers::start(const Case& one, Peer peer, const std::string& directory, unsigned process,
                    const RoundLength& length)
{
    int commands[2];
    int results[2];
    if (pipe(commands) != 0 || pipe(results) != 0) throw std::runtime_error("cannot make a pipe");
    const pid_t child = in_process(name_, [&] {
        close(commands[1]);
        close(results[0]);
        for (const Worker& other : workers_)
            close(other.commands);
        work(one, peer, directory, process, length, commands[0], results[1]);
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

double Workers::result_of(const Worker& worker) const
{
    double result = 0;
    if (read(worker.results, &result, sizeof result) != sizeof result)
        throw std::runtime_error(name_ + " failed");
    return result;
}

double Workers::round()
{
    for (const Worker& worker : workers_) {
        if (write(worker.commands, "r", 1) != 1) throw std::runtime_error(name_ + " failed");
    }
    double sum = 0;
    for (const Worker& worker : workers_)
        sum += result_of(worker);
    return sum / static_cast<double>(workers_.size());
}

} // namespace stepstore::bench

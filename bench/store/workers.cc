#include "workers.h"

#include <chrono>
#include <numeric>
#include <stdexcept>
#include <sys/wait.h>

namespace stepstore::bench {

namespace {

using Clock = std::chrono::steady_clock;

std::string name_of(Peer peer)
{
    return peer == Peer::stepstore ? "Stepstore" : peer == Peer::lmdb ? "raw LMDB" : "plain file";
}

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
    char command;
    while (send(results, &result, sizeof result) && receive(commands, &command, 1))
        result = measure(*subject, one, length, place);
}

} // namespace

CaseWorkers::CaseWorkers(const Case& one, Peer peer, const std::string& directory, const RoundLength& length)
    : processes_(one.processes), workers_(name_of(peer))
{
    // This process opens nothing, so that the workers inherit nothing.
    const pid_t maker = in_process(name_of(peer), [&] { make(one, peer, directory); });
    int status = 0;
    if (maker < 0 || waitpid(maker, &status, 0) < 0 || status != 0)
        throw std::runtime_error(name_of(peer) + " could not be set up");
    for (unsigned process = 0; process < processes_; ++process)
        workers_.start(name_of(peer), [&](int commands, int results) {
            work(one, peer, directory, process, length, commands, results);
        });
    (void)workers_.results(0, processes_); // ready
}

double CaseWorkers::round()
{
    workers_.tell(0, processes_, "r", 1);
    const auto times = workers_.results(0, processes_);
    return std::reduce(times.begin(), times.end()) / static_cast<double>(processes_);
}

} // namespace stepstore::bench

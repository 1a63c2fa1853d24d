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
    constexpr const char* names[] = {"Stepstore", "raw LMDB", "plain file", "bare librados"};
    return names[static_cast<std::size_t>(peer)];
}

void make(const Case& one, Peer peer, const Location& location)
{
    if (peer == Peer::stepstore) make_stepstore(one, location);
    if (peer == Peer::lmdb) make_lmdb(one, location.directory);
    if (peer == Peer::librados) (void)open_librados(one, location, 0); // whether it can be used
}

std::unique_ptr<Subject> open(const Case& one, Peer peer, const Location& location, unsigned process)
{
    if (peer == Peer::stepstore) return open_stepstore(one, location, process);
    if (peer == Peer::librados) return open_librados(one, location, process);
    if (peer == Peer::lmdb) return open_lmdb(one, location.directory, process);
    return open_file(one, location.directory, process);
}

// Stores what the reads will find.
void prepare(const Case& one, Peer peer, const Location& location, unsigned process)
{
    Case writing = one;
    if (!reads(one)) return;
    writing.operation = one.operation == Operation::kv_get ? Operation::kv_put : Operation::array_write;
    const auto subject = open(writing, peer, location, process);
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

void work(const Case& one, Peer peer, const Location& location, unsigned process, const RoundLength& length,
          int commands, int results)
{
    prepare(one, peer, location, process);
    const auto subject = open(one, peer, location, process);
    std::uint64_t place = 0;
    double result = 0;
    char command;
    while (send(results, &result, sizeof result) && receive(commands, &command, 1))
        result = measure(*subject, one, length, place);
}

} // namespace

CaseWorkers::CaseWorkers(const Case& one, Peer peer, const Location& location, const RoundLength& length)
    : processes_(one.processes), peer_(peer), location_(location),
      workers_(std::make_unique<Workers>(name_of(peer)))
{
    if (!in_own_process([&] { make(one, peer, location); }))
        throw std::runtime_error(name_of(peer) + " could not be set up");
    for (unsigned process = 0; process < processes_; ++process)
        workers_->start(name_of(peer), [&](int commands, int results) {
            work(one, peer, location, process, length, commands, results);
        });
    (void)workers_->results(0, processes_); // ready
}

CaseWorkers::~CaseWorkers()
{
    workers_.reset(); // nobody uses it any more
    remove();
}

// This process opens nothing, so that the workers inherit nothing.
bool CaseWorkers::in_own_process(const std::function<void()>& body) const
{
    const pid_t process = in_process(name_of(peer_), body);
    int status = 0;
    return process >= 0 && waitpid(process, &status, 0) >= 0 && status == 0;
}

void CaseWorkers::remove() const
{
    if (!location_.on_ceph()) return; // the directory is removed as a whole
    (void)in_own_process([&] {
        if (peer_ == Peer::stepstore) remove_stepstore(location_);
        if (peer_ == Peer::librados) remove_librados(location_);
    });
}

double CaseWorkers::round()
{
    workers_->tell(0, processes_, "r", 1);
    const auto times = workers_->results(0, processes_);
    return std::reduce(times.begin(), times.end()) / static_cast<double>(processes_);
}

} // namespace stepstore::bench

// The simulated object store: what a request costs on its way from a client to a target and back. A queueing
// network. Each target, each rail, and the switches between are served in order of arrival.
//
// 1. With its first request a process connects to all engines, one after the other.
// 2. The request goes over the rails of the client's node. A value that is small enough goes with it.
// 3. A larger value needs a registered buffer of the target for as long as it is served. A request that finds
//    none free gets a fresh one, which is more work for the target (Machine::buffer_shortage). Then the value
//    is transferred, by the target.
// 4. The target works on its requests in turn.
// 5. The reply goes back, with or after the value that was read.
//
// Threads: the actors of the simulation, of which one runs at a time. Errors: none; no request fails.
#pragma once

#include "machine.h"
#include "network.h"
#include "processors.h"
#include "stepstore/client.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace stepstore::sim {

// A process that sends requests.
struct Client {
    std::size_t node = 0;
    bool connected = false;
    double connected_at = 0; // once it has begun to connect
    std::size_t number = 0;  // of the process, from 0
    Running running = {};    // on one machine, where it carries out its requests itself, one after the other
};

struct Rpc {
    std::uint64_t target = 0;
    double service = 0;           // of the target, without its medium
    std::size_t sent = 0;         // bytes of the value
    std::size_t received = 0;     // bytes of the value that is read
    std::size_t inline_up_to = 0; // a value that is not larger comes with the request, or with the reply
    // Called when the target serves it; returns what was read, at most `received`.
    std::function<std::size_t()> serve = {};

    bool is_inline() const { return std::max(sent, received) <= inline_up_to; }
};

struct TargetCount {
    std::uint64_t requests = 0;
    std::uint64_t short_of_buffers = 0;
    double busy = 0; // seconds
};

class Storage {
public:
    Storage(const Machine& machine, Network& network);
    const Machine& machine() const { return machine_; }

    // The caller waits until the reply is here.
    void send(Client& from, const Rpc& rpc);
    // The same for several that go out one after the other, as one call of the library.
    void send_all(Client& from, std::vector<Rpc> rpcs);
    // An operation of the pool service.
    void control(Client& from);
    // A process's own. On one machine it needs a processor.
    void work(Client& client, double seconds);
    // It is going to wait for others, or has ended.
    void leave_processor(Client& client) { processors_.leave(client.running); }
    const std::vector<TargetCount>& counts() const { return counts_; }

    // From now on what is overwritten is kept: there is a snapshot.
    void keep_versions() { keeps_versions_ = true; }
    // Of the extent that begins at this byte of an array, before it is written now: how many are kept.
    std::uint64_t overwrite(const ObjectId& array, std::uint64_t first);

    // On one machine each extent that was written is found and copied by itself, when it is read.
    void note_extent(const ObjectId& array, std::uint64_t first);
    std::size_t extents_in(const ObjectId& array, std::uint64_t begin, std::uint64_t end) const; // at least 1

private:
    struct Target {
        Queue work;
        simgrid::s4u::MutexPtr updated =
            simgrid::s4u::Mutex::create(); // on one machine: one writer at a time
        std::uint64_t buffers_taken = 0;
    };

    void connect(Client& from) const;
    double take_buffer(std::uint64_t target);
    void carry_out(Client& from, Target& target, bool is_update, double service);
    std::size_t serve(Client& from, const Rpc& rpc, double more);

    const Machine& machine_;
    Network& network_;
    std::vector<Target> targets_;
    std::vector<TargetCount> counts_;
    Queue pool_service_;
    Processors processors_;
    bool keeps_versions_ = false;
    std::map<std::pair<ObjectId, std::uint64_t>, std::uint64_t> versions_;
    std::set<std::pair<ObjectId, std::uint64_t>> extents_;
};

} // namespace stepstore::sim

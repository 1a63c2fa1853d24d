#include "estimate/replay.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace stepstore::sim {

namespace {

double work_of_target(const Machine& machine, const Message& message)
{
    return message.service + static_cast<double>(message.sent) / machine.write_bandwidth +
           static_cast<double>(message.received) / machine.read_bandwidth;
}

// Bytes on the way to the target. A value that is not inline follows the request.
std::uint64_t request_bytes(const Message& message)
{
    return envelope + (message.is_inline ? message.sent : 0);
}

class Network {
public:
    Network(const Machine& machine, const std::vector<Process>& processes)
        : machine_(machine), processes_(processes), states_(processes.size()),
          targets_(machine.all_targets()), servers_(machine.all_engines()), processors_(machine.processors)
    {
        std::size_t nodes = 0;
        for (const Process& one : processes)
            nodes = std::max(nodes, one.node + 1);
        nodes_.resize(nodes);
    }

    Replayed operator()()
    {
        for (std::uint32_t process = 0; process < processes_.size(); ++process)
            go_on(process, 0);
        while (!events_.empty()) {
            const Event event = events_.top();
            events_.pop();
            advance(event);
        }
        Replayed found;
        for (const State& state : states_) {
            found.mean += state.done / static_cast<double>(states_.size());
            found.last = std::max(found.last, state.done);
        }
        found.ended.resize(states_.size());
        std::iota(found.ended.begin(), found.ended.end(), 0U);
        std::ranges::stable_sort(found.ended, {}, [&](std::uint32_t one) { return states_[one].done; });
        for (const Target& target : targets_) {
            found.most_at_target = std::max(found.most_at_target, target.served);
            found.short_of_buffers += target.short_of_buffers;
        }
        return found;
    }

private:
    // What serves in order of arrival.
    class Line {
    public:
        double take(double arrival, double service)
        {
            return busy_until_ = std::max(busy_until_, arrival) + service;
        }
        double busy_until() const { return busy_until_; }
        void stay_busy(double until) { busy_until_ = until; }

    private:
        double busy_until_ = 0;
    };
    struct Rails {
        Line out, in;
    };
    struct Target {
        Line work;
        std::uint64_t buffers_taken = 0, served = 0, short_of_buffers = 0;
    };
    struct State {                 // of a process
        std::size_t next = 0;      // call
        std::uint64_t awaited = 0; // messages of the call that waits
        double done = 0;
        double busy_until = 0; // on one machine: Client
    };
    enum class Stage : std::uint8_t { departs, arrives, is_there, is_served, is_replied };
    struct Flight {
        const Message* message;
        std::uint32_t process;
        bool awaited;
        Stage stage = Stage::departs;
        bool short_of_buffers = false;
    };
    struct Event {
        double time;
        std::uint64_t order; // of two at the same time
        std::size_t flight;
        bool operator>(const Event& other) const
        {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    // The process makes its next calls, up to one that waits.
    void go_on(std::uint32_t process, double time)
    {
        State& state = states_[process];
        const Calls& calls = *processes_[process].calls;
        while (state.next < calls.size()) {
            const Call& call = calls[state.next++];
            time = work(time, call.own);
            double departure = time;
            for (const Message& message : call.messages) {
                flights_.push_back({&message, process, call.waits});
                events_.push({departure, ++scheduled_, flights_.size() - 1});
                departure += machine_.further_rpc;
            }
            if (!call.waits || call.messages.empty()) continue;
            state.awaited = call.messages.size();
            return;
        }
        state.done = std::max(state.done, time);
    }

    // On one machine work waits for the processor that is free first.
    double work(double time, double seconds)
    {
        if (!machine_.is_one() || seconds <= 0) return time + seconds;
        double& first = *std::ranges::min_element(processors_);
        return first = std::max(first, time) + seconds;
    }

    void advance(const Event& event)
    {
        Flight& flight = flights_[event.flight];
        const Message& message = *flight.message;
        double until = event.time;
        switch (flight.stage) {
        case Stage::departs:
            until = to_server(flight, event.time, request_bytes(message));
            flight.stage = Stage::arrives;
            break;
        case Stage::arrives:
            if (!message.is_inline) take_buffer(flight);
            if (!message.is_inline && message.sent > 0) until = to_server(flight, event.time, message.sent);
            flight.stage = Stage::is_there;
            break;
        case Stage::is_there:
            until = serve(flight, event.time);
            flight.stage = Stage::is_served;
            break;
        case Stage::is_served:
            until = to_client(flight, event.time, envelope + message.received);
            flight.stage = Stage::is_replied;
            break;
        case Stage::is_replied: return take_reply(flight, event.time);
        }
        events_.push({until, ++scheduled_, event.flight});
    }

    Rails& rails_of_server(const Flight& flight)
    {
        return servers_[flight.message->target / machine_.targets];
    }
    Rails& rails_of_client(const Flight& flight) { return nodes_[processes_[flight.process].node]; }

    // Both rails and the switches carry it at the same time.
    double carry(double time, Line& from, double from_bandwidth, Line& to, double to_bandwidth,
                 std::uint64_t bytes)
    {
        const auto size = static_cast<double>(bytes);
        return std::max({from.take(time, size / from_bandwidth), to.take(time, size / to_bandwidth),
                         switches_.take(time, size / machine_.bisection)}) +
               machine_.latency;
    }
    double to_server(const Flight& flight, double time, std::uint64_t bytes)
    {
        return carry(time, rails_of_client(flight).out, machine_.client_bandwidth, rails_of_server(flight).in,
                     machine_.server_bandwidth, bytes);
    }
    double to_client(const Flight& flight, double time, std::uint64_t bytes)
    {
        return carry(time, rails_of_server(flight).out, machine_.server_bandwidth, rails_of_client(flight).in,
                     machine_.client_bandwidth, bytes);
    }

    void take_buffer(Flight& flight)
    {
        Target& target = targets_[flight.message->target];
        flight.short_of_buffers = target.buffers_taken++ >= machine_.buffers;
        target.short_of_buffers += flight.short_of_buffers;
    }

    double serve(const Flight& flight, double time)
    {
        Target& target = targets_[flight.message->target];
        ++target.served;
        const double service = work_of_target(machine_, *flight.message) +
                               (flight.short_of_buffers ? machine_.buffer_shortage : 0);
        if (!machine_.is_one()) return target.work.take(time, service);
        double& busy_until = states_[flight.process].busy_until;
        busy_until = work(std::max({time, busy_until, target.work.busy_until()}), service);
        target.work.stay_busy(busy_until);
        return busy_until;
    }

    void take_reply(const Flight& flight, double time)
    {
        if (!flight.message->is_inline) --targets_[flight.message->target].buffers_taken;
        State& state = states_[flight.process];
        state.done = std::max(state.done, time);
        if (flight.awaited && --state.awaited == 0) go_on(flight.process, time);
    }

    const Machine& machine_;
    const std::vector<Process>& processes_;
    std::vector<State> states_;
    std::vector<Target> targets_;
    std::vector<Rails> servers_, nodes_;
    Line switches_;
    std::vector<double> processors_; // until when each is busy
    std::vector<Flight> flights_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t scheduled_ = 0;
};

// Seconds of each part that one process needs.
struct Work {
    double own = 0;
    double all_bytes = 0;
    std::vector<double> targets, bytes_of_servers;
    std::vector<std::uint64_t> messages;
};

Work work_of(const Machine& machine, const Calls& calls)
{
    Work work{0, 0, std::vector<double>(machine.all_targets()), std::vector<double>(machine.all_engines()),
              std::vector<std::uint64_t>(machine.all_targets())};
    for (const Call& call : calls) {
        work.own += call.own;
        if (call.waits) work.own += 2 * machine.latency;
        if (!call.messages.empty())
            work.own += machine.further_rpc * static_cast<double>(call.messages.size() - 1);
        for (const Message& message : call.messages) {
            const auto bytes =
                static_cast<double>(2 * envelope + message.sent + message.received); // both ways
            work.targets[message.target] += work_of_target(machine, message);
            work.bytes_of_servers[message.target / machine.targets] += bytes;
            work.all_bytes += bytes;
            ++work.messages[message.target];
        }
    }
    return work;
}

} // namespace

Replayed replay(const Machine& machine, const std::vector<Process>& processes)
{
    return Network(machine, processes)();
}

Replayed bound(const Machine& machine, const Calls& calls, std::uint64_t processes)
{
    const Work work = work_of(machine, calls);
    const auto count = static_cast<double>(processes);
    const auto on_node = static_cast<double>(std::min(processes, machine.ranks_per_node));
    const double time = std::max({work.own, count * std::ranges::max(work.targets),
                                  count * std::ranges::max(work.bytes_of_servers) / machine.server_bandwidth,
                                  on_node * work.all_bytes / machine.client_bandwidth,
                                  count * work.all_bytes / machine.bisection});
    return {time, time, processes * std::ranges::max(work.messages), 0, {}};
}

std::uint64_t messages_in(const Calls& calls)
{
    std::uint64_t count = 0;
    for (const Call& call : calls)
        count += call.messages.size();
    return count;
}

} // namespace stepstore::sim

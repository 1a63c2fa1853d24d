#include "storage.h"

namespace stepstore::sim {

Storage::Storage(const Machine& machine, Network& network)
    : machine_(machine), network_(network), targets_(machine.all_targets()), counts_(machine.all_targets()),
      processors_(machine.processors, machine.slice)
{
}

void Storage::connect(Client& from) const
{
    if (!from.connected) {
        from.connected = true;
        from.connected_at = now() + machine_.connection * static_cast<double>(machine_.all_engines());
    }
    wait_until(from.connected_at);
}

std::size_t Storage::serve(Client& from, const Rpc& rpc, double more)
{
    const std::size_t received = rpc.serve ? rpc.serve() : rpc.received;
    const double service = rpc.service + more + static_cast<double>(rpc.sent) / machine_.write_bandwidth +
                           static_cast<double>(received) / machine_.read_bandwidth;
    TargetCount& count = counts_[rpc.target];
    ++count.requests;
    count.busy += service;
    if (machine_.is_one())
        carry_out(from, targets_[rpc.target], rpc.sent > 0, service);
    else
        wait_until(targets_[rpc.target].work.take(service));
    return received;
}

// On one machine it is the caller that works. Readers wait for nobody, and a target has one writer at a time.
void Storage::carry_out(Client& from, Target& target, bool is_update, double service)
{
    if (!is_update) return processors_.work(from.running, service);
    processors_.get(from.running);
    while (!target.updated->try_lock()) {
        processors_.leave(from.running);
        target.updated->lock(); // the other writer has ended: to be had by who runs
        target.updated->unlock();
        processors_.get(from.running);
    }
    processors_.work(from.running, service);
    target.updated->unlock();
}

void Storage::work(Client& client, double seconds)
{
    if (machine_.is_one())
        processors_.work(client.running, seconds);
    else
        spend(seconds);
}

void Storage::send(Client& from, const Rpc& rpc)
{
    const std::size_t engine = rpc.target / machine_.targets;
    connect(from);
    const bool bulk = !rpc.is_inline();
    wait_until(network_.to_server(from.node, engine, envelope + (bulk ? 0 : rpc.sent)));
    const double more = bulk ? take_buffer(rpc.target) : 0;
    if (bulk && rpc.sent > 0) wait_until(network_.to_server(from.node, engine, rpc.sent));
    const std::size_t received = serve(from, rpc, more);
    wait_until(network_.to_client(engine, from.node, envelope + received));
    if (bulk) --targets_[rpc.target].buffers_taken;
}

// What it costs the target more where none is free.
double Storage::take_buffer(std::uint64_t target)
{
    if (targets_[target].buffers_taken++ < machine_.buffers) return 0;
    ++counts_[target].short_of_buffers;
    return machine_.buffer_shortage;
}

void Storage::send_all(Client& from, std::vector<Rpc> rpcs)
{
    if (machine_.is_one() || rpcs.size() == 1) {
        for (const Rpc& rpc : rpcs)
            send(from, rpc);
        return;
    }
    const auto left = std::make_shared<std::size_t>(rpcs.size());
    const auto all_here = simgrid::s4u::Semaphore::create(0);
    const double begin = now();
    for (std::size_t i = 0; i < rpcs.size(); ++i) {
        beside([this, &from, left, all_here, when = begin + static_cast<double>(i) * machine_.further_rpc,
                rpc = std::move(rpcs[i])] {
            wait_until(when);
            send(from, rpc);
            if (--*left == 0) all_here->release();
        });
    }
    all_here->acquire();
}

std::uint64_t Storage::overwrite(const ObjectId& array, std::uint64_t first)
{
    return keeps_versions_ ? versions_[{array, first}]++ : 0;
}

void Storage::note_extent(const ObjectId& array, std::uint64_t first)
{
    if (machine_.is_one()) extents_.emplace(array, first);
}

std::size_t Storage::extents_in(const ObjectId& array, std::uint64_t begin, std::uint64_t end) const
{
    const auto found =
        std::distance(extents_.lower_bound({array, begin}), extents_.lower_bound({array, end}));
    return std::max<std::size_t>(1, static_cast<std::size_t>(found));
}

void Storage::control(Client& from)
{
    static_cast<void>(from);
    wait_until(pool_service_.take(machine_.control) + 2 * machine_.latency);
}

} // namespace stepstore::sim

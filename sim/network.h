// The network of the cluster: the rails of client nodes, those of servers, and the switches between them.
// Each carries one message after the other.
// Threads: the actors of the simulation, of which one runs at a time. Errors: none; no message is lost.
#pragma once

#include "machine.h"
#include "queue.h"

#include <vector>

namespace stepstore::sim {

class Network {
public:
    Network(const Machine& machine, std::size_t nodes)
        : machine_(machine), nodes_(nodes), engines_(machine.all_engines())
    {
    }
    // When it will be there, if it is sent now.
    double to_server(std::size_t node, std::size_t engine, std::size_t bytes)
    {
        return carry(nodes_[node].out, engines_[engine].in, bytes);
    }
    double to_client(std::size_t engine, std::size_t node, std::size_t bytes)
    {
        return carry(nodes_[node].in, engines_[engine].out, bytes);
    }

private:
    struct Rails {
        Queue out, in;
    };
    // Both rails and the switches carry it at the same time.
    double carry(Queue& of_node, Queue& of_engine, std::size_t bytes)
    {
        const auto size = static_cast<double>(bytes);
        return std::max({of_node.take(size / machine_.client_bandwidth),
                         of_engine.take(size / machine_.server_bandwidth),
                         switches_.take(size / machine_.bisection)}) +
               machine_.latency;
    }

    const Machine& machine_;
    std::vector<Rails> nodes_, engines_;
    Queue switches_;
};

} // namespace stepstore::sim

// The simulated parallel file system: a metadata server, data servers that files are striped over, locks, and
// what a client node caches. Only the time that an access takes; no contents.
//
// 1. Opening, making, closing, and asking for a size goes to the metadata server, which serves one request
//    after the other.
// 2. An access of a file's bytes needs the node's lock of the file: a write an exclusive one, a read a
//    shared one. A node keeps its lock for all its processes, and later accesses ask nobody. A request
//    that does not go together with the locks of other nodes waits until what is under way there is over.
//    These nodes then give their locks back, and forget what they have cached of the file. Requests for a
//    file are looked at in order of arrival. While one waits, a cached lock is not used.
//    (Machine::file_lock = 0: without locks.)
// 3. The bytes go over the rails of node and servers, and through the queues of the data servers, at once.
//    The process is done when they all are, and its own work is. Each engine's node has a data server. It
//    loses time when it turns from writing to reading, or back (Machine::file_turn).
// 4. A read that misses what the node has cached of the file brings the read-ahead window along.
//
// Threads: the actors of the simulation, of which one runs at a time. Errors: none; no access fails.
#pragma once

#include "machine.h"
#include "network.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace stepstore::sim {

class FileSystem {
public:
    FileSystem(const Machine& machine, Network& network);
    // node: the caller's. Each call waits as long as it takes.
    void metadata(std::size_t node);
    void write(std::size_t node, const std::string& path, std::uint64_t at, std::uint64_t bytes);
    void sync();
    // Bytes that the node has cached cost nothing. `size` is the file's.
    void read(std::size_t node, const std::string& path, std::uint64_t at, std::uint64_t bytes,
              std::uint64_t size);
    // Before its first access: a file on so many data servers, in place of Machine::file_stripes.
    void stripe(const std::string& path, std::uint64_t stripes);

private:
    struct Held {
        bool exclusive = false;
        double busy_until = 0; // accesses that are under way
    };
    struct Cached {
        std::uint64_t begin = 0, end = 0;
        simgrid::s4u::MutexPtr fetching = simgrid::s4u::Mutex::create();
    };
    struct File {
        std::uint64_t first_server = 0, stripes = 1;
        simgrid::s4u::MutexPtr turn = simgrid::s4u::Mutex::create();
        std::uint64_t waiting = 0;
        std::map<std::size_t, Held> locks; // by node
        std::map<std::size_t, Cached> cached;
    };
    enum class Direction : std::uint8_t { write, read };

    File& file(const std::string& path);
    void lock(File& of, std::size_t node, bool exclusive);
    static bool take_back(File& of, std::size_t node, bool exclusive);
    void transfer(File& of, std::size_t node, std::uint64_t at, std::uint64_t bytes, Direction direction);
    double pass(std::size_t node, std::uint64_t server, std::uint64_t bytes, Direction direction);

    const Machine& machine_;
    Network& network_;
    Queue metadata_;
    struct Server {
        Queue work;
        Direction last = Direction::write;
    };
    std::vector<Server> servers_;
    std::vector<Queue> lock_servers_;
    std::unordered_map<std::string, File> files_;
};

} // namespace stepstore::sim

// The simulated parallel file system: metadata servers, data servers that files are striped over, locks, and
// what a client node caches. Only the time that an access takes; no contents.
//
// 1. Opening, making, closing, and asking for a size goes to a metadata server, which serves one request
//    after the other. With several of them each has the names of some directories. A node keeps the
//    directories that it has looked up.
//    Changes of the names in one directory are made one after the other. If another node made the last one,
//    the next one takes longer (Machine::name_turn). A listing is asked for each time.
// 2. An access of a file's bytes needs the node's lock of them: a write an exclusive one, a read a shared
//    one. A lock covers the file, or a part of it (Machine::file_lock_span). A node keeps its lock for all
//    its processes, and later accesses ask nobody. A request
//    that does not go together with the locks of other nodes waits until what is under way there is over.
//    These nodes then give their locks back, and forget what they have cached of the file. Requests for a
//    lock are looked at in order of arrival. While one waits, a cached lock is not used.
//    (Machine::file_lock = 0: without locks.)
// 3. The bytes go over the rails of node and servers, and through the queues of the data servers, at once.
//    The process is done when they all are, and its own work is. Each engine's node has a data server. It
//    loses time when it turns from writing to reading, or back (Machine::file_turn).
// 4. A read that misses what the node has cached of the file brings the read-ahead window along. A read past
//    the cache brings what was asked for.
//
// Threads: the actors of the simulation, of which one runs at a time. Errors: none; no access fails.
#pragma once

#include "machine.h"
#include "network.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stepstore::sim {

class FileSystem {
public:
    FileSystem(const Machine& machine, Network& network);
    // node: the caller's. Each call waits as long as it takes. directory: a number that stands for it.
    void metadata(std::size_t node);
    void look(std::size_t node, std::uint64_t directory);
    // Looks for the directory, if the node does not know it.
    void find(std::size_t node, std::uint64_t directory);
    void change(std::size_t node, std::uint64_t directory);
    void list(std::size_t node, std::uint64_t directory, std::uint64_t names);
    void sync_names();
    void write(std::size_t node, const std::string& path, std::uint64_t at, std::uint64_t bytes);
    void sync();
    // Bytes that the node has cached cost nothing. `size` is the file's.
    void read(std::size_t node, const std::string& path, std::uint64_t at, std::uint64_t bytes,
              std::uint64_t size);
    void read_past_cache(std::size_t node, const std::string& path, std::uint64_t at, std::uint64_t bytes);
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
    struct Locks { // of a file, or of a part of it
        simgrid::s4u::MutexPtr turn = simgrid::s4u::Mutex::create();
        std::uint64_t waiting = 0;
        std::map<std::size_t, Held> held; // by node
    };
    struct File {
        std::uint64_t first_server = 0, stripes = 1;
        std::map<std::uint64_t, Locks> locks; // by the number of the part
        std::map<std::size_t, Cached> cached;
    };
    struct Span { // of bytes, or of the parts of a file that have locks
        std::uint64_t first = 0, end = 0;
    };
    struct Directory {
        Queue changes;
        std::size_t last_node = 0;
        bool changed = false;
    };
    enum class Direction : std::uint8_t { write, read };

    File& file(const std::string& path);
    Queue& server_of(std::uint64_t directory) { return metadata_[directory % metadata_.size()]; }
    Span span_of(std::uint64_t at, std::uint64_t bytes) const;
    void lock(File& of, const Span& span, std::size_t node, bool exclusive);
    void lock_part(File& of, std::uint64_t part, std::size_t node, bool exclusive);
    static bool take_back(File& of, Locks& locks, std::size_t node, bool exclusive);
    void transfer(File& of, std::size_t node, std::uint64_t at, std::uint64_t bytes, Direction direction);
    double pass(std::size_t node, std::uint64_t server, std::uint64_t bytes, Direction direction);

    const Machine& machine_;
    Network& network_;
    std::vector<Queue> metadata_;
    std::unordered_map<std::uint64_t, Directory> directories_;
    std::set<std::pair<std::size_t, std::uint64_t>> found_; // node, directory
    struct Server {
        Queue work;
        Direction last = Direction::write;
    };
    std::vector<Server> servers_;
    std::vector<Queue> lock_servers_;
    std::unordered_map<std::string, File> files_;
};

} // namespace stepstore::sim

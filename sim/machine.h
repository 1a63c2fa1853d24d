// What the simulated cluster is made of: every number that a simulation depends on. Times are seconds, sizes
// bytes, bandwidths bytes per second. clusters/*.toml say where each value comes from.
// Threads: any; pure. Errors: -DER_INVAL.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace stepstore::sim {

inline constexpr std::size_t envelope = 256; // bytes of a request or reply without its value

struct Machine {
    // ---- the object store's servers
    std::uint64_t servers = 0;
    std::uint64_t engines = 0; // of a server; each has a rail of its own
    std::uint64_t targets = 0; // of an engine
    std::uint64_t memory = 0;  // of a server, bytes: the buffers of its targets are in it

    // ---- network
    double latency = 0;          // of one message, from process to process
    double server_bandwidth = 0; // of an engine's rail, each way
    double client_bandwidth = 0; // of a client node's rails together, each way
    double bisection = 0;        // between all client nodes and all servers
    std::uint64_t ranks_per_node = 0;

    // ---- a client process
    double call = 0;         // its own work on a call of the library
    double further_rpc = 0;  // for each message of a call after the first
    double registration = 0; // of memory for a transfer that is not inline

    // ---- one machine, on which all ranks and targets run
    std::uint64_t processors = 0; // that they share; 0: it is a cluster, and each has one of its own
    double slice = 0;             // that a process may run while others wait; 0: until it waits itself
    double encode = 0;           // a writer's work on a step beside its requests; counted on one machine only
    double encode_bandwidth = 0; // of its metadata
    double decode = 0;           // a reader's work on a step
    double decode_metadata = 0;  // and on each rank's metadata
    double decode_bandwidth = 0;

    // ---- a target: one thread that serves its requests in turn
    double kv_put = 0;
    double kv_get = 0;
    double array_write = 0; // of the extents of one chunk
    double array_read = 0;
    double further_extent = 0;  // of one request, in the same chunk
    double write_bandwidth = 0; // of its medium
    double read_bandwidth = 0;
    std::uint64_t buffers = 0;     // registered buffers for transfers
    std::uint64_t buffer_size = 0; // bytes
    double buffer_shortage = 0;    // more work for a transfer that finds none free
    double overwritten = 0;        // more work on a chunk for each version that a snapshot keeps of it
    std::uint64_t inline_put = 0;  // values up to this size come with the request
    std::uint64_t inline_get = 0;  // values of keys up to this size come with the reply

    // ---- once
    double connection = 0; // of a process to an engine, with its first request
    double control = 0;    // an operation on pool, container or snapshots; one at a time in the cluster

    // ---- MPI
    double mpi_hop = 0; // a message between two ranks
    double mpi_bandwidth = 0;
    double mpi_gather_message = 0; // what a root spends on each message that it gathers

    // ---- the parallel file system, with a data server for each engine; for the layout posix, and for FDB's
    // files
    double file_request = 0;         // a process's own work on a read or write
    double file_write_bandwidth = 0; // of one process
    double file_read_bandwidth = 0;
    double file_sync = 0;
    std::uint64_t file_read_ahead = 0;      // what a read that misses brings along
    double file_metadata = 0;               // of a metadata server, for a look: opening, closing, a size
    double file_server_request = 0;         // of a data server, for each transfer
    double file_server_write_bandwidth = 0; // bytes per second of a data server
    double file_server_read_bandwidth = 0;
    std::uint64_t file_rpc = 0;       // the largest transfer
    std::uint64_t file_stripe = 0;    // bytes
    std::uint64_t file_stripes = 0;   // data servers that a file lies on
    std::uint64_t file_lock_span = 0; // bytes that a lock covers; 0: the whole file
    double file_lock = 0;             // of the lock server, for a request; 0: without locks
    double file_give_back = 0;        // of a node, to give a lock back
    double file_turn = 0;             // of a data server, between a write and a read

    // ---- the names of the parallel file system; for pools in files
    std::uint64_t name_servers = 0; // metadata servers; each has the names of some directories
    double name_change = 0;         // of a metadata server, for making or removing a name
    double name_turn = 0;           // more, in a directory in which another node did the last change
    double name_list = 0;           // for listing a directory
    double name_list_entry = 0;     // and for each of its names
    double name_sync = 0;           // until the changes of a directory are kept

    // ---- FDB's files: a table of contents (toc) for all, an index and a data file of each writing process
    std::uint64_t toc_record = 0; // bytes that a flush appends to the table of contents
    std::uint64_t toc_entry = 0;  // bytes of a field in the index
    std::uint64_t toc_buffer = 0; // bytes that a writing process collects
    double toc_load = 0;          // a reader's work on a record of the table of contents
    double toc_search = 0;        // on a record, for each field that it looks for

    bool is_one() const { return processors > 0; }
    std::uint64_t all_targets() const { return servers * engines * targets; }
    std::uint64_t all_engines() const { return servers * engines; }
};

// -DER_INVAL: a parameter is missing, unknown or out of its range; the message names it and the range.
Machine machine_of(const nlohmann::ordered_json& parameters);

} // namespace stepstore::sim

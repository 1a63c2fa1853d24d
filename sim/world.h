// One simulation: SimGrid's engine, the object store's queues, the clients, and the virtual time of all.
// While it lives, this process's clock is the virtual one, and the library of every local pool is a simulated
// one (library.h, files_library.h). There is one at a time.
// Threads: one makes and runs it; the actors run one at a time. Errors: run() throws what an actor threw.
#pragma once

#include "base/not_copied.h"
#include "contents.h"
#include "file_system.h"
#include "storage.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace stepstore::sim {

class World : NotCopied {
public:
    // pool_in_files: its directory; empty: the job's pool is on the object store.
    World(const Machine& machine, std::size_t ranks, const std::string& pool_in_files = "");
    ~World();

    static World& current();
    const Machine& machine() const { return machine_; }
    Storage& storage() { return storage_; }
    FileSystem& files() { return files_; }
    Contents& contents() { return contents_; }
    // What stands for a file beside the objects. Its path has random parts, so it is its number.
    const std::string& file_of(const std::string& path);

    // Starts a process of the simulated job, on the node of this rank.
    void start(std::size_t rank, std::function<void()> work);
    // Until all have ended. Throws what the first of them threw that failed.
    void run();
    // The process that runs now, or on whose behalf a helper does.
    Client& client();
    void act_for(Client& client); // of a helper

private:
    Machine machine_;
    simgrid::s4u::Engine engine_;
    simgrid::s4u::Host* host_;
    Network network_;
    Storage storage_;
    FileSystem files_;
    Contents contents_;
    std::vector<std::unique_ptr<Client>> clients_;
    std::map<aid_t, Client*> acting_;
    std::map<std::string, std::string> files_beside_;
    std::exception_ptr failed_;
};

} // namespace stepstore::sim

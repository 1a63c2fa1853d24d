#include "world.h"

#include "base/time_source.h"
#include "files_library.h"
#include "library.h"
#include "stepstore/libdaos.h"

#include <simgrid/version.h>

#include <cmath>
#include <utility>

namespace stepstore::sim {

namespace {

World* only = nullptr;

std::uint64_t virtual_nanoseconds()
{
    return static_cast<std::uint64_t>(std::llround(now() * 1e9));
}

void sleep_nanoseconds(std::uint64_t span)
{
    World& world = World::current();
    world.storage().leave_processor(world.client());
    spend(static_cast<double>(span) * 1e-9);
}

// In the memory of the machine: the process's own work.
void access_local_file(World& world, const FileAccess& access)
{
    const Machine& machine = world.machine();
    const auto bytes = static_cast<double>(access.bytes);
    switch (access.kind) {
    case FileAccess::write:
        return world.storage().work(world.client(),
                                    machine.file_request + bytes / machine.file_write_bandwidth);
    case FileAccess::read:
        return world.storage().work(world.client(),
                                    machine.file_request + bytes / machine.file_read_bandwidth);
    case FileAccess::sync: return spend(machine.file_sync);
    case FileAccess::open: return;
    }
}

void access_file(const FileAccess& access)
{
    World& world = World::current();
    if (world.machine().is_one()) return access_local_file(world, access);
    FileSystem& files = world.files();
    const std::size_t node = world.client().node;
    switch (access.kind) {
    case FileAccess::open: return files.metadata(node);
    case FileAccess::write: return files.write(node, world.file_of(access.path), access.at, access.bytes);
    case FileAccess::read:
        return files.read(node, world.file_of(access.path), access.at, access.bytes, access.file_size);
    case FileAccess::sync: return files.sync();
    }
}

constexpr TimeSource virtual_time{&virtual_nanoseconds, &sleep_nanoseconds, &access_file};

#if SIMGRID_VERSION >= 33400
#define STEPSTORE_SIMGRID_PRECISION "--cfg=precision/timing:1e-12"
#else
#define STEPSTORE_SIMGRID_PRECISION "--cfg=surf/precision:1e-12"
#endif

// SimGrid's own messages go to standard error; results go to standard output.
simgrid::s4u::Engine make_engine()
{
    static int count = 4;
    static char program[] = "stepstore-simulate", quiet[] = "--log=xbt_cfg.thres:warning",
                stacks[] = "--cfg=contexts/stack-size:256", precision[] = STEPSTORE_SIMGRID_PRECISION;
    static char* arguments[] = {program, quiet, stacks, precision, nullptr};
    return simgrid::s4u::Engine(&count, arguments);
}

std::size_t nodes_for(std::size_t ranks, std::size_t ranks_per_node)
{
    return (ranks + ranks_per_node - 1) / ranks_per_node;
}

} // namespace

World::World(const Machine& machine, std::size_t ranks, const std::string& pool_in_files)
    : machine_(machine), engine_(make_engine()),
      host_(simgrid::s4u::create_full_zone("cluster")->create_host("all", 1e9)->seal()),
      network_(machine_, nodes_for(ranks, machine.ranks_per_node)), storage_(machine_, network_),
      files_(machine_, network_)
{
    only = this;
    use_time(&virtual_time);
    Library::replace_ours(pool_in_files.empty() ? simulated_library() : files_library(pool_in_files));
}

World::~World()
{
    Library::restore_ours();
    end_files_library();
    use_time(nullptr);
    only = nullptr;
}

World& World::current()
{
    return *only;
}

void World::start(std::size_t rank, std::function<void()> work)
{
    Client& client = *clients_.emplace_back(std::make_unique<Client>(rank / machine_.ranks_per_node));
    client.number = clients_.size() - 1;
    simgrid::s4u::Actor::create("rank", host_, [this, &client, work = std::move(work)] {
        act_for(client);
        try {
            work();
        } catch (const simgrid::ForcefulKillException&) {
            throw;
        } catch (...) {
            if (!failed_) failed_ = std::current_exception();
            simgrid::s4u::Actor::kill_all();
        }
        storage_.leave_processor(client);
    });
}

void World::run()
{
    engine_.run();
    if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
}

const std::string& World::file_of(const std::string& path)
{
    const auto [found, is_new] = files_beside_.try_emplace(path);
    if (is_new) found->second = "beside " + std::to_string(files_beside_.size());
    return found->second;
}

Client& World::client()
{
    return *acting_.at(simgrid::s4u::this_actor::get_pid());
}

void World::act_for(Client& client)
{
    acting_[simgrid::s4u::this_actor::get_pid()] = &client;
    simgrid::s4u::this_actor::on_exit(
        [this, pid = simgrid::s4u::this_actor::get_pid()](bool) { acting_.erase(pid); });
}

} // namespace stepstore::sim

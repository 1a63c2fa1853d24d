#include "estimate/file_requests.h"

#include <algorithm>

namespace stepstore::sim {

namespace {

constexpr std::uint64_t value_head = 64; // bytes of a value's file beside the value, about

// What the pool's own code asks of the metadata servers, counted in simulations of 1, 16 and 48 ranks.
constexpr std::uint64_t looks_of_put = 4, changes_of_put = 3, listings_of_put = 1;
constexpr std::uint64_t looks_of_get = 2, listings_of_get = 1;
constexpr double looks_of_opening = 13, changes_of_opening = 0.2, listings_of_opening = 2;
constexpr double looks_of_copies = 17, changes_of_copies = 9, listings_of_copies = 3; // as keys

} // namespace

Machine servers_of_files(const Machine& machine)
{
    Machine servers = machine;
    servers.servers = 2 * machine.all_engines() + machine.name_servers;
    servers.engines = servers.targets = 1;
    servers.write_bandwidth = machine.file_server_write_bandwidth;
    servers.read_bandwidth = machine.file_server_read_bandwidth;
    servers.call = servers.further_rpc = servers.registration = 0;
    servers.inline_put = servers.inline_get = UINT64_MAX;
    return servers;
}

FileRequests::Parts FileRequests::parts_of(std::uint64_t at, std::uint64_t bytes) const
{
    const std::uint64_t span = machine_.file_lock_span;
    if (machine_.file_lock == 0 || bytes == 0) return {0, 0};
    if (span == 0) return {0, 1};
    return {at / span, (at + bytes - 1) / span + 1};
}

double FileRequests::making() const
{
    constexpr double looks = 105, changes = 34, listings = 9, syncs_of_files = 6, syncs_of_names = 10;
    return looks * machine_.file_metadata + changes * machine_.name_change + listings * machine_.name_list +
           syncs_of_files * machine_.file_sync + syncs_of_names * machine_.name_sync;
}

double FileRequests::opening(bool copies_are_keys) const
{
    const double keys = copies_are_keys ? 1 : 0;
    return ((looks_of_opening + keys * looks_of_copies) * machine_.file_metadata +
            (changes_of_opening + keys * changes_of_copies) * machine_.name_change +
            (listings_of_opening + keys * listings_of_copies) * machine_.name_list) /
           static_cast<double>(machine_.name_servers);
}

void FileRequests::of_names(std::uint64_t directory, std::uint64_t looks, std::uint64_t changes,
                            std::uint64_t listings, Calls& calls) const
{
    const auto server =
        static_cast<std::uint32_t>(2 * machine_.all_engines() + directory % machine_.name_servers);
    const auto add = [&](std::uint64_t count, double service) {
        for (std::uint64_t i = 0; i < count; ++i)
            calls.push_back({0, true, {{server, true, service, 0, 0}}});
    };
    add(listings, machine_.name_list + machine_.name_list_entry);
    add(looks, machine_.file_metadata);
    add(changes, machine_.name_change);
}

void FileRequests::put(std::uint64_t directory, std::uint64_t bytes, Calls& calls) const
{
    of_names(directory, looks_of_put, changes_of_put, listings_of_put, calls);
    transfer(directory, 0, bytes + value_head, true, machine_.file_sync + machine_.name_sync, calls);
}

void FileRequests::get(std::uint64_t directory, std::uint64_t bytes, Calls& calls) const
{
    of_names(directory, looks_of_get, 0, listings_of_get, calls);
    transfer(directory, 0, bytes + value_head, false, 0, calls);
}

void FileRequests::write(std::uint64_t file, std::uint64_t at, std::uint64_t bytes, double waits,
                         Calls& calls) const
{
    transfer(file, at, bytes, true, machine_.file_sync + waits, calls);
}

void FileRequests::read(std::uint64_t file, std::uint64_t at, std::uint64_t bytes, bool gives_back,
                        Calls& calls) const
{
    const Parts parts = parts_of(at, bytes);
    const double give_back = gives_back ? machine_.file_give_back + 2 * machine_.latency : 0;
    transfer(file, at, bytes, false, static_cast<double>(parts.end - parts.first) * give_back, calls);
}

// First the locks, which a node does not have yet, since a step lies where nothing was written before.
void FileRequests::transfer(std::uint64_t file, std::uint64_t at, std::uint64_t bytes, bool writes,
                            double own, Calls& calls) const
{
    const std::uint64_t servers = machine_.all_engines();
    const Parts parts = parts_of(at, bytes);
    for (std::uint64_t part = parts.first; part < parts.end; ++part)
        calls.push_back({0,
                         true,
                         {{static_cast<std::uint32_t>(servers + (file + part) % servers), true,
                           machine_.file_lock, 0, 0}}});
    const double rate = writes ? machine_.file_write_bandwidth : machine_.file_read_bandwidth;
    // The process works while its bytes are under way, and is done when both are.
    const double work = machine_.file_request + static_cast<double>(bytes) / rate;
    const double beside = machine_.file_server_request + 2 * machine_.latency;
    Call call{own + std::max(0.0, work - beside), true, {}};
    std::map<std::uint64_t, std::uint64_t> by_server;
    const std::uint64_t stripes = std::min(machine_.file_stripes, servers);
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t stripe = (at + done) / machine_.file_stripe;
        const std::uint64_t piece = std::min(bytes - done, (stripe + 1) * machine_.file_stripe - (at + done));
        by_server[(file + stripe % stripes) % servers] += piece;
        done += piece;
    }
    for (const auto& [server, piece] : by_server) {
        const std::uint64_t requests = (piece + machine_.file_rpc - 1) / machine_.file_rpc;
        call.messages.push_back({static_cast<std::uint32_t>(server), true,
                                 static_cast<double>(requests) * machine_.file_server_request,
                                 writes ? piece : 0, writes ? 0 : piece});
    }
    calls.push_back(std::move(call));
}

std::uint64_t SharedParts::enter(std::uint64_t file, std::uint64_t part, std::uint64_t node)
{
    auto& nodes = nodes_[{file, part}];
    return nodes.try_emplace(node, nodes.size()).first->second;
}

} // namespace stepstore::sim

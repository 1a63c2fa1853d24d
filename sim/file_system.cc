#include "file_system.h"

#include "base/checksum.h"

#include <mutex>

namespace stepstore::sim {

FileSystem::FileSystem(const Machine& machine, Network& network)
    : machine_(machine), network_(network), metadata_(machine.name_servers), servers_(machine.all_engines()),
      lock_servers_(machine.all_engines())
{
}

FileSystem::File& FileSystem::file(const std::string& path)
{
    const auto [found, is_new] = files_.try_emplace(path);
    if (is_new) {
        found->second.first_server =
            checksum(std::as_bytes(std::span(path.data(), path.size()))) % servers_.size();
        found->second.stripes = std::min<std::uint64_t>(machine_.file_stripes, servers_.size());
    }
    return found->second;
}

void FileSystem::stripe(const std::string& path, std::uint64_t stripes)
{
    file(path).stripes = std::min<std::uint64_t>(stripes, servers_.size());
}

void FileSystem::metadata(std::size_t node)
{
    look(node, 0);
}

void FileSystem::look(std::size_t node, std::uint64_t directory)
{
    static_cast<void>(node); // its messages are small
    spend(machine_.latency);
    wait_until(server_of(directory).take(machine_.file_metadata) + machine_.latency);
}

void FileSystem::find(std::size_t node, std::uint64_t directory)
{
    if (found_.emplace(node, directory).second) look(node, directory);
}

// The server works on it, and the directory is busy as long, and for the turn.
void FileSystem::change(std::size_t node, std::uint64_t directory)
{
    spend(machine_.latency);
    Directory& of = directories_[directory];
    const bool turns = of.changed && of.last_node != node;
    of.changed = true;
    of.last_node = node;
    const double served = server_of(directory).take(machine_.name_change);
    const double changed = of.changes.take(machine_.name_change + (turns ? machine_.name_turn : 0));
    wait_until(std::max(served, changed) + machine_.latency);
}

void FileSystem::list(std::size_t node, std::uint64_t directory, std::uint64_t names)
{
    static_cast<void>(node);
    spend(machine_.latency);
    wait_until(server_of(directory).take(machine_.name_list +
                                         static_cast<double>(names) * machine_.name_list_entry) +
               machine_.latency);
}

void FileSystem::sync_names()
{
    spend(machine_.name_sync);
}

FileSystem::Span FileSystem::span_of(std::uint64_t at, std::uint64_t bytes) const
{
    if (machine_.file_lock_span == 0 || bytes == 0) return {0, 1};
    return {at / machine_.file_lock_span, (at + bytes - 1) / machine_.file_lock_span + 1};
}

// From every other node whose lock does not go together with this one. True: there was one.
bool FileSystem::take_back(File& of, Locks& locks, std::size_t node, bool exclusive)
{
    double busy_until = 0;
    const auto conflicts = [&](const auto& other) {
        if (other.first == node || (!exclusive && !other.second.exclusive)) return false;
        busy_until = std::max(busy_until, other.second.busy_until);
        const auto cached = of.cached.find(other.first);
        if (cached != of.cached.end()) cached->second.begin = cached->second.end = 0;
        return true;
    };
    const bool any = std::erase_if(locks.held, conflicts) > 0;
    wait_until(busy_until);
    return any;
}

void FileSystem::lock(File& of, const Span& span, std::size_t node, bool exclusive)
{
    if (machine_.file_lock == 0) return;
    for (std::uint64_t part = span.first; part < span.end; ++part)
        lock_part(of, part, node, exclusive);
}

void FileSystem::lock_part(File& of, std::uint64_t part, std::size_t node, bool exclusive)
{
    Locks& locks = of.locks[part];
    const auto mine = locks.held.find(node);
    if (locks.waiting == 0 && mine != locks.held.end() && (mine->second.exclusive || !exclusive)) return;
    ++locks.waiting;
    spend(machine_.latency);
    wait_until(lock_servers_[(of.first_server + part) % lock_servers_.size()].take(machine_.file_lock));
    locks.turn->lock();
    if (take_back(of, locks, node, exclusive)) spend(2 * machine_.latency + machine_.file_give_back);
    spend(machine_.latency);
    locks.held[node].exclusive |= exclusive;
    --locks.waiting;
    locks.turn->unlock();
}

// When a data server will have done its part.
double FileSystem::pass(std::size_t node, std::uint64_t server, std::uint64_t bytes, Direction direction)
{
    const bool writes = direction == Direction::write;
    const double carried =
        writes ? network_.to_server(node, server, bytes) : network_.to_client(server, node, bytes);
    const double rate = writes ? machine_.file_server_write_bandwidth : machine_.file_server_read_bandwidth;
    const std::uint64_t requests = (bytes + machine_.file_rpc - 1) / machine_.file_rpc;
    Server& of = servers_[server];
    const double turn = of.last == direction ? 0 : machine_.file_turn;
    of.last = direction;
    const double served = of.work.take(turn + static_cast<double>(requests) * machine_.file_server_request +
                                       static_cast<double>(bytes) / rate);
    return std::max(carried, served + machine_.latency);
}

void FileSystem::transfer(File& of, std::size_t node, std::uint64_t at, std::uint64_t bytes,
                          Direction direction)
{
    const double rate =
        direction == Direction::write ? machine_.file_write_bandwidth : machine_.file_read_bandwidth;
    double done = now() + machine_.file_request + static_cast<double>(bytes) / rate;
    std::map<std::uint64_t, std::uint64_t> parts; // bytes by server
    for (std::uint64_t done_bytes = 0; done_bytes < bytes;) {
        const std::uint64_t stripe = (at + done_bytes) / machine_.file_stripe;
        const std::uint64_t part =
            std::min(bytes - done_bytes, (stripe + 1) * machine_.file_stripe - (at + done_bytes));
        parts[(of.first_server + stripe % of.stripes) % servers_.size()] += part;
        done_bytes += part;
    }
    for (const auto& [server, part] : parts)
        done = std::max(done, pass(node, server, part, direction));
    const Span span = span_of(at, bytes);
    for (std::uint64_t part = span.first; part < span.end && machine_.file_lock != 0; ++part)
        if (const auto mine = of.locks[part].held.find(node); mine != of.locks[part].held.end())
            mine->second.busy_until = std::max(mine->second.busy_until, done);
    wait_until(done);
}

void FileSystem::write(std::size_t node, const std::string& path, std::uint64_t at, std::uint64_t bytes)
{
    File& of = file(path);
    lock(of, span_of(at, bytes), node, true);
    transfer(of, node, at, bytes, Direction::write);
}

void FileSystem::sync()
{
    spend(machine_.file_sync);
}

void FileSystem::read(std::size_t node, const std::string& path, std::uint64_t at, std::uint64_t bytes,
                      std::uint64_t size)
{
    File& of = file(path);
    Cached& cached = of.cached[node];
    const std::uint64_t end = std::min(at + bytes, size);
    const auto has_it = [&] { return cached.begin <= at && end <= cached.end; };
    if (has_it()) return;
    const std::scoped_lock<simgrid::s4u::Mutex> fetching(*cached.fetching); // of the node's processes
    if (has_it()) return;
    const auto window = [&]() -> Span {
        const std::uint64_t from = cached.begin <= at && at <= cached.end ? cached.end : at;
        return {from, std::max(from, std::min(size, std::max(end, from + machine_.file_read_ahead)))};
    };
    const Span wanted = window();
    const Span span = span_of(wanted.first, wanted.end - wanted.first);
    lock(of, span, node, false);
    const auto [from, until] = window(); // the cache may be lost by now
    const std::uint64_t begin = from == cached.end ? cached.begin : at;
    transfer(of, node, from, until - from, Direction::read);
    for (std::uint64_t part = span.first; part < span.end && machine_.file_lock != 0; ++part)
        if (!of.locks[part].held.contains(node)) return; // taken back meanwhile, with what is cached
    cached.begin = begin;
    cached.end = until;
}

void FileSystem::read_past_cache(std::size_t node, const std::string& path, std::uint64_t at,
                                 std::uint64_t bytes)
{
    File& of = file(path);
    lock(of, span_of(at, bytes), node, false);
    transfer(of, node, at, bytes, Direction::read);
}

} // namespace stepstore::sim

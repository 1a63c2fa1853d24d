#include "machine.h"

#include "stepstore/error.h"

#include <daos_errno.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <sstream>

namespace stepstore::sim {

namespace {

constexpr double second = 1;
constexpr double fastest = 1e15; // bytes per second

struct Span {
    const char* name;
    double Machine::*member;
    double least, most;
};
constexpr std::array spans = {
    Span{"latency", &Machine::latency, 0, second},
    Span{"server_bandwidth", &Machine::server_bandwidth, 1, fastest},
    Span{"client_bandwidth", &Machine::client_bandwidth, 1, fastest},
    Span{"bisection", &Machine::bisection, 1, fastest},
    Span{"call", &Machine::call, 0, second},
    Span{"further_rpc", &Machine::further_rpc, 0, second},
    Span{"registration", &Machine::registration, 0, second},
    Span{"slice", &Machine::slice, 0, second},
    Span{"encode", &Machine::encode, 0, second},
    Span{"encode_bandwidth", &Machine::encode_bandwidth, 1, fastest},
    Span{"decode", &Machine::decode, 0, second},
    Span{"decode_metadata", &Machine::decode_metadata, 0, second},
    Span{"decode_bandwidth", &Machine::decode_bandwidth, 1, fastest},
    Span{"kv_put", &Machine::kv_put, 0, second},
    Span{"kv_get", &Machine::kv_get, 0, second},
    Span{"array_write", &Machine::array_write, 0, second},
    Span{"array_read", &Machine::array_read, 0, second},
    Span{"further_extent", &Machine::further_extent, 0, second},
    Span{"write_bandwidth", &Machine::write_bandwidth, 1, fastest},
    Span{"read_bandwidth", &Machine::read_bandwidth, 1, fastest},
    Span{"buffer_shortage", &Machine::buffer_shortage, 0, second},
    Span{"overwritten", &Machine::overwritten, 0, second},
    Span{"connection", &Machine::connection, 0, 10 * second},
    Span{"control", &Machine::control, 0, 10 * second},
    Span{"mpi_hop", &Machine::mpi_hop, 0, second},
    Span{"mpi_bandwidth", &Machine::mpi_bandwidth, 1, fastest},
    Span{"mpi_gather_message", &Machine::mpi_gather_message, 0, second},
    Span{"file_request", &Machine::file_request, 0, second},
    Span{"file_write_bandwidth", &Machine::file_write_bandwidth, 1, fastest},
    Span{"file_read_bandwidth", &Machine::file_read_bandwidth, 1, fastest},
    Span{"file_sync", &Machine::file_sync, 0, 10 * second},
    Span{"file_metadata", &Machine::file_metadata, 0, second},
    Span{"file_server_request", &Machine::file_server_request, 0, second},
    Span{"file_server_write_bandwidth", &Machine::file_server_write_bandwidth, 1, fastest},
    Span{"file_server_read_bandwidth", &Machine::file_server_read_bandwidth, 1, fastest},
    Span{"file_lock", &Machine::file_lock, 0, second},
    Span{"file_give_back", &Machine::file_give_back, 0, second},
    Span{"file_turn", &Machine::file_turn, 0, second},
    Span{"name_change", &Machine::name_change, 0, second},
    Span{"name_turn", &Machine::name_turn, 0, second},
    Span{"name_list", &Machine::name_list, 0, second},
    Span{"name_list_entry", &Machine::name_list_entry, 0, second},
    Span{"name_sync", &Machine::name_sync, 0, 10 * second},
    Span{"toc_load", &Machine::toc_load, 0, second},
    Span{"toc_search", &Machine::toc_search, 0, second},
};

struct Count {
    const char* name;
    std::uint64_t Machine::*member;
    std::uint64_t least, most;
};
constexpr std::array counts = {
    Count{"servers", &Machine::servers, 1, 65536},
    Count{"engines", &Machine::engines, 1, 64},
    Count{"targets", &Machine::targets, 1, 256},
    Count{"ranks_per_node", &Machine::ranks_per_node, 1, 4096},
    Count{"processors", &Machine::processors, 0, 4096},
    Count{"buffers", &Machine::buffers, 1, 1 << 20},
    Count{"buffer_size", &Machine::buffer_size, 1, std::uint64_t{1} << 30},
    Count{"memory", &Machine::memory, 1, std::uint64_t{1} << 50},
    Count{"inline_put", &Machine::inline_put, 0, 1 << 30},
    Count{"inline_get", &Machine::inline_get, 0, 1 << 30},
    Count{"file_read_ahead", &Machine::file_read_ahead, 0, std::uint64_t{1} << 40},
    Count{"file_rpc", &Machine::file_rpc, 4096, 1 << 30},
    Count{"file_stripe", &Machine::file_stripe, 4096, std::uint64_t{1} << 40},
    Count{"file_stripes", &Machine::file_stripes, 1, 65536},
    Count{"file_lock_span", &Machine::file_lock_span, 0, std::uint64_t{1} << 40},
    Count{"name_servers", &Machine::name_servers, 1, 65536},
    Count{"toc_record", &Machine::toc_record, 1, 1 << 20},
    Count{"toc_entry", &Machine::toc_entry, 1, 1 << 20},
    Count{"toc_buffer", &Machine::toc_buffer, 4096, 1 << 30},
};

[[noreturn]] void refuse(const std::string& text)
{
    throw Error(-DER_INVAL, "the cluster's parameters: " + text);
}

template <class Number, class Row>
Number value_of(const nlohmann::ordered_json& parameters, const Row& row)
{
    const auto found = parameters.find(row.name);
    if (found == parameters.end()) refuse(std::string(row.name) + " is missing");
    const bool good = found->is_number() && (std::is_floating_point_v<Number> || found->is_number_unsigned());
    std::ostringstream range;
    range << row.least << " to " << row.most;
    if (!good || found->template get<Number>() < row.least || found->template get<Number>() > row.most)
        refuse(std::string(row.name) + " is " + found->dump() + ", but must be a number from " + range.str());
    return found->template get<Number>();
}

void require_room_for_buffers(const Machine& machine)
{
    const std::uint64_t of_each = machine.engines * machine.targets * machine.buffer_size;
    if (machine.buffers * of_each <= machine.memory) return;
    refuse("the buffers of a server's " + std::to_string(machine.engines * machine.targets) +
           " targets take " + std::to_string(machine.buffers * of_each >> 20) + " MiB, and its memory is " +
           std::to_string(machine.memory >> 20) +
           " MiB: it has room for buffers=" + std::to_string(machine.memory / of_each));
}

bool is_known(const std::string& name)
{
    const auto is = [&](const auto& row) { return name == row.name; };
    return std::ranges::any_of(spans, is) || std::ranges::any_of(counts, is);
}

} // namespace

Machine machine_of(const nlohmann::ordered_json& parameters)
{
    if (!parameters.is_object()) refuse("give an object of names and numbers");
    Machine machine;
    for (const Span& row : spans)
        machine.*row.member = value_of<double>(parameters, row);
    for (const Count& row : counts)
        machine.*row.member = value_of<std::uint64_t>(parameters, row);
    for (const auto& [name, value] : parameters.items())
        if (!is_known(name)) refuse("there is none with the name " + name);
    require_room_for_buffers(machine);
    return machine;
}

} // namespace stepstore::sim

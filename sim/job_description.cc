#include "job_description.h"

#include "steps/layouts/aggregation.h"
#include "steps/layouts/layout.h"
#include "stepstore/error.h"

#include <daos_errno.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <sys/sysinfo.h>

namespace stepstore::sim {

using bench::Json;

namespace {

constexpr std::uint64_t most_ranks = 1 << 20;
constexpr std::uint64_t most_steps = 1'000'000;

} // namespace

std::uint64_t count_of(const Json& description, const char* name, std::uint64_t least, std::uint64_t most)
{
    const auto found = description.find(name);
    if (found == description.end()) refuse_job(std::string(name) + " is missing");
    if (!found->is_number_unsigned() || *found < least || *found > most)
        refuse_job(std::string(name) + " is " + found->dump() + ", but must be a whole number from " +
                   std::to_string(least) + " to " + std::to_string(most));
    return found->get<std::uint64_t>();
}

std::string text_of(const Json& description, const char* name)
{
    if (!description.contains(name)) return {};
    if (!description.at(name).is_string()) refuse_job(std::string(name) + " must be a text");
    return description.at(name).get<std::string>();
}

void refuse_job(const std::string& text)
{
    throw Error(-DER_INVAL, "the job: " + text);
}

void require_known(const Json& description, std::span<const char* const> names)
{
    if (!description.is_object()) refuse_job("give an object of names and values");
    for (const auto& [name, value] : description.items())
        if (std::ranges::none_of(names, [&](const char* one) { return name == one; }))
            refuse_job("there is no field " + name);
}

void require_memory(double ranks, double bytes_of_rank, double bytes, const char* what)
{
    struct sysinfo machine {};
    if (sysinfo(&machine) != 0) return;
    const double there = static_cast<double>(machine.totalram) * machine.mem_unit;
    const double needed = ranks * bytes_of_rank + bytes;
    if (needed <= there) return;
    const auto megabytes = [](double number) {
        return std::to_string(std::llround(number / (1 << 20))) + " MiB";
    };
    const double most = std::floor((there - bytes) / bytes_of_rank);
    refuse_job("it needs about " + megabytes(needed) + " of memory, and this machine has " +
               megabytes(there) +
               (most < 1 ? ": give fewer steps, or smaller ones"
                         : ": it can hold " + std::to_string(std::llround(most)) + " " + what));
}

namespace {

// As the engine does it where it sees that its ranks are on several machines (steps/write/opening.cc). Here
// all are on one.
void choose_for_files(const Machine& machine, Job& job)
{
    steps::WriterOptions& writer = job.stream.writer;
    const auto on_node = static_cast<std::uint32_t>(machine.ranks_per_node);
    const bool several_nodes = on_node > 0 && job.experiment.writers > on_node;
    const steps::Layout& layout = steps::layout_named(writer.layout);
    const bool of_machines = job.in_files && several_nodes && writer.step_mode != steps::StepMode::snapshot;
    if (of_machines && layout.objects_of_machines && !writer.objects)
        writer.objects = steps::Objects::per_machine;
    if (of_machines && layout.aggregates && writer.ranks_per_aggregator == 0)
        writer.ranks_per_aggregator = steps::usual_ranks_per_aggregator(job.experiment.writers, on_node);
    if (writer.objects == steps::Objects::per_machine && writer.ranks_per_object == 0)
        writer.ranks_per_object = several_nodes ? on_node : 0;
}

} // namespace

Job job_of(const Json& description, const Machine& machine)
{
    constexpr std::array names = {"writers", "readers",  "steps",  "size", "set",
                                  "read",    "together", "stride", "on"};
    require_known(description, names);
    const std::string on = text_of(description, "on");
    if (!on.empty() && on != "objects" && on != "files")
        refuse_job("on is '" + on + "': give objects or files");
    Job job{count_of(description, "readers", 0, most_ranks),
            {count_of(description, "steps", 1, most_steps),
             static_cast<std::uint32_t>(count_of(description, "writers", 1, most_ranks)),
             bench::MetadataSizes(text_of(description, "size")), description.value("together", true)},
            {},
            description.contains("stride") ? count_of(description, "stride", 1, std::uint64_t{1} << 40) : 0,
            on == "files",
            text_of(description, "set"),
            text_of(description, "read")};
    if (job.stride != 0 && job.readers != 0) refuse_job("extents are not read: give 0 readers");
    job.stream.writer.writer_timeout = 1e6; // no sign is due while it runs: a thread of its own would give it
    job.stream.writer.profile = false;
    bench::set_parameters(job.stream, job.parameters);
    bench::set_parameters(job.stream, job.reading);
    check_options(job.stream.writer);
    check_options(job.stream.reader);
    choose_for_files(machine, job);
    if (job.in_files && job.stream.writer.step_mode == steps::StepMode::snapshot)
        refuse_job("Steps=snapshot needs a pool that keeps versions, and pools in files keep none");
    return job;
}

} // namespace stepstore::sim

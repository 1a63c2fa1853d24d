#include "estimate/estimate.h"

#include "collective_costs.h"
#include "estimate/requests.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iomanip>
#include <map>
#include <numeric>
#include <sstream>

namespace stepstore::sim {

namespace {

using bench::Json;
using steps::MetadataPlaces;

// The engine's rule for reading ahead (src/steps/read/step_source.cc).
constexpr std::uint64_t ahead_at_once = 64, usual_ahead = 1 << 20, most_ahead = std::uint64_t{128} << 20;
constexpr std::uint64_t most_messages = 4'000'000; // of a replay, which takes seconds
constexpr std::uint64_t settled = 8;               // a step from which on the places are regular
constexpr std::uint64_t sampled_messages = 20'000; // of writers: so many steps are looked at
constexpr double slots_of_rank_0 = 1.125;          // memory for metadata, by its size

struct Writing {
    double stored = 0, exchange = 0; // seconds of a rank and step
    double messages = 0;             // of a rank
    std::uint64_t busiest_target = 0, short_of_buffers = 0;
};

struct Written { // a step
    Replayed found;
    double messages = 0; // of a rank
};

struct Reading {
    double read = 0, broadcast = 0; // seconds of a step
    double messages = 0;            // of a reader and step
    double together = 1;            // steps
    bool is_bound = false;
};

class Estimate {
public:
    Estimate(const Machine& machine, const Job& job, const Choices& choices)
        : machine_(machine), served_(job.in_files ? servers_of_files(machine) : machine), job_(job),
          choices_(choices), requests_(machine, job, choices_), writers_{machine, job.experiment.writers},
          readers_{machine, std::max<std::uint64_t>(job.readers, 1)},
          step_bytes_(requests_.step_size(sample_step()))
    {
    }

    Json operator()() const
    {
        const Writing writing = write();
        const double connecting = machine_.connection * static_cast<double>(machine_.all_engines());
        // Each rank connects to the pool and opens the container.
        const double ranks = job_.experiment.writers;
        const FileRequests files(machine_);
        const double opening = job_.in_files ? files.making() + files.opening(copies_are_keys()) * ranks
                                             : connecting + machine_.control * (2 * ranks + 6);
        Json found = {{"engine", "estimated"},
                      {"writers", job_.experiment.writers},
                      {"readers", job_.readers},
                      {"steps", job_.experiment.steps},
                      {"rank_bytes", job_.experiment.sizes.mean()},
                      {"metadata_bytes", static_cast<double>(step_bytes_) / job_.experiment.writers},
                      {"stabilisation",
                       {{"mean", writing.stored + writing.exchange},
                        {"exchange", writing.exchange},
                        {"first", job_.in_files ? 0 : connecting},
                        {"open", opening}}},
                      {"readings", Json::array()},
                      {"requests",
                       {{"writer", writing.messages},
                        {"busiest_target", writing.busiest_target},
                        {"short_of_buffers", writing.short_of_buffers}}}};
        if (job_.in_files) {
            found["files"] = files_of_stream();
            found["ranks_per_aggregator"] = choices_.ranks_per_aggregator;
            if (aggregates()) found["aggregated"] = aggregated();
        }
        if (job_.readers == 0) return found;
        const Reading reading = read();
        found["readings"].push_back(
            {{"acquisition",
              {{"mean", reading.read + reading.broadcast},
               {"open",
                job_.in_files ? 0 : connecting + machine_.control * static_cast<double>(2 * job_.readers)},
               {"parts", {{"read", reading.read}, {"broadcast", reading.broadcast}}}}}});
        found["requests"]["reader"] = reading.messages;
        found["requests"]["together"] = reading.together;
        found["requests"]["bound"] = reading.is_bound;
        // Rank 0 has the metadata where it reads it to, and in its message. The others have the message too.
        const double held = static_cast<double>(step_bytes_) * reading.together;
        found["memory"] = {{"reader", (choices_.delegated ? 2 : 1 + slots_of_rank_0) * held},
                           {"root", (choices_.delegated ? 2 + slots_of_rank_0 : 1 + slots_of_rank_0) * held}};
        return found;
    }

private:
    bool aggregates() const
    {
        return steps::layout_named(job_.stream.writer.layout).aggregates && !choices_.in_place;
    }
    bool copies_are_keys() const { return choices_.rows_of_copies == 0; }

    // Each rank may have two files with copies, and the stream has a few.
    std::uint64_t files_of_stream() const
    {
        constexpr std::uint64_t of_stream = 13;
        const std::uint64_t of_rank = copies_are_keys() ? 2 : 0;
        const std::uint64_t ranks = job_.experiment.writers, steps = job_.experiment.steps;
        const std::uint64_t writers = requests_.writers();
        const std::uint64_t together = std::max(choices_.ranks_per_object, choices_.ranks_per_aggregator);
        std::uint64_t files = of_rank * ranks + of_stream;
        if (choices_.places == MetadataPlaces::values) files += writers * steps;
        if (choices_.places == MetadataPlaces::dense) files += steps;
        // Each further metadata object has an entry and a file.
        if (choices_.objects == steps::Objects::per_writer) files += 2 * (writers - 1);
        if (choices_.ranks_per_object != 0) files += 2 * ((ranks - 1) / together);
        if (choices_.objects == steps::Objects::per_step) files += 2 * (steps - 1) + ranks;
        return files;
    }

    // The best number of nodes for which one rank stores the metadata.
    Json aggregated() const
    {
        Json best;
        const std::uint64_t ranks = job_.experiment.writers;
        for (std::uint64_t nodes = 1; nodes * machine_.ranks_per_node < 2 * ranks; nodes *= 2) {
            Choices choices = choices_;
            choices.ranks_per_aggregator = static_cast<std::uint32_t>(nodes * machine_.ranks_per_node);
            const Estimate other(machine_, job_, choices);
            const Writing writing = other.write();
            const Json one = {{"ranks", choices.ranks_per_aggregator},
                              {"stabilisation", writing.stored + writing.exchange}};
            if (best.is_null() || one["stabilisation"] < best["stabilisation"]) best = one;
        }
        return best;
    }

    std::uint64_t sample_step() const { return std::min(settled, job_.experiment.steps - 1); }

    // ---- writers

    Writing write() const
    {
        Writing writing;
        const std::uint32_t ranks = job_.experiment.writers;
        if (choices_.places == MetadataPlaces::files) {
            const double files =
                3 * machine_.file_request + static_cast<double>(step_bytes_) / machine_.file_write_bandwidth;
            writing.exchange = writers_.gather(step_bytes_) + files + writers_.broadcast(1);
            writing.messages = 3.0 / ranks;
            return writing;
        }
        const auto writers = static_cast<std::uint32_t>(requests_.writers());
        const std::uint64_t steps = std::clamp<std::uint64_t>(sampled_messages / writers, 1, settled);
        std::vector<std::uint32_t> order(writers);
        std::iota(order.begin(), order.end(), 0U);
        if (steps > 1) write_step(sample_step(), order); // finds an order, and does not count
        for (std::uint64_t i = 0; i < steps; ++i) {
            const Written one = write_step(sample_step() + i, order);
            // with snapshots all wait for the slowest
            writing.stored +=
                (choices_.in_place ? one.found.last : one.found.mean) / static_cast<double>(steps);
            writing.messages += one.messages / static_cast<double>(steps);
            writing.busiest_target = std::max(writing.busiest_target, one.found.most_at_target);
            writing.short_of_buffers = std::max(writing.short_of_buffers, one.found.short_of_buffers);
        }
        if (choices_.ranks_per_aggregator > 1) writing.exchange += handing_over();
        const double exchange = writers_.allgather(8ULL * ranks);
        if (choices_.places == MetadataPlaces::dense) writing.exchange += exchange;
        if (choices_.in_place)
            writing.exchange += exchange + machine_.control + 2 * machine_.latency + machine_.call +
                                machine_.kv_put + 2 * machine_.latency;
        return writing;
    }

    // To the aggregator, and its word that all is stored.
    double handing_over() const
    {
        const std::uint64_t ranks = job_.experiment.writers;
        const std::uint64_t together = std::min<std::uint64_t>(choices_.ranks_per_aggregator, ranks);
        const CollectiveCosts row{machine_, together};
        return row.gather(step_bytes_ / ranks * together) + row.broadcast(1);
    }

    // The ranks' own work, which counts on one machine.
    double encoding() const
    {
        return machine_.encode + job_.experiment.sizes.mean() / machine_.encode_bandwidth;
    }
    double decoding() const // of a step
    {
        const double metadata =
            machine_.decode_metadata + job_.experiment.sizes.mean() / machine_.decode_bandwidth;
        return machine_.decode + job_.experiment.writers * metadata;
    }

    // The ranks begin in this order. Then the order is that in which they have ended: who waited in a step
    // comes later in the next one.
    Written write_step(std::uint64_t step, std::vector<std::uint32_t>& order) const
    {
        std::vector<Calls> calls = requests_.of_writers(step);
        Written written;
        std::vector<Process> processes;
        for (const std::uint32_t rank : order) {
            Calls& mine = calls[rank];
            written.messages += static_cast<double>(messages_in(mine)) / job_.experiment.writers;
            if (machine_.is_one()) mine.insert(mine.begin(), {encoding(), true, {}});
            processes.push_back({requests_.node_of(rank), &mine});
        }
        written.found = replay(served_, processes);
        std::vector<std::uint32_t> next;
        for (const std::uint32_t one : written.found.ended)
            next.push_back(order[one]);
        order = std::move(next);
        return written;
    }

    // ---- readers

    Reading read() const
    {
        Reading sum;
        std::uint64_t fetches = 0;
        std::map<std::vector<std::uint64_t>, Reading> known; // by the rounds
        for (std::uint64_t step = 0; step < job_.experiment.steps;) {
            const Fetch fetch = next_fetch(step);
            auto found = known.find(fetch.ahead);
            if (found == known.end() || (step < settled && choices_.places != MetadataPlaces::files))
                found = known.insert_or_assign(fetch.ahead, read_once(fetch)).first;
            sum.read += found->second.read;
            sum.broadcast += found->second.broadcast;
            sum.messages += found->second.messages;
            sum.is_bound |= found->second.is_bound;
            step += fetch.steps();
            ++fetches;
        }
        const auto steps = static_cast<double>(job_.experiment.steps);
        if (choices_.places == MetadataPlaces::files) sum.read = read_files();
        return {sum.read / steps, sum.broadcast / steps, sum.messages / steps,
                steps / static_cast<double>(fetches), sum.is_bound};
    }

    Fetch next_fetch(std::uint64_t step) const
    {
        Fetch fetch{step, {}};
        std::uint64_t budget = job_.stream.reader.read_ahead.value_or(
            std::clamp<std::uint64_t>(2 * step_bytes_, usual_ahead, most_ahead));
        for (std::uint64_t next = step + 1; next < job_.experiment.steps;) {
            std::uint64_t count =
                std::min({budget / step_bytes_, ahead_at_once, job_.experiment.steps - next});
            if (count == 0) break;
            const std::uint64_t row = requests_.end_of_row(next) - next;
            fetch.ahead.push_back(std::min(count, row));
            if (row < count) break;
            next += count;
            budget -= count * step_bytes_;
        }
        return fetch;
    }

    Reading read_once(const Fetch& fetch) const
    {
        Reading reading;
        const auto steps = static_cast<double>(fetch.steps());
        if (choices_.delegated && job_.readers > 1) {
            const std::uint64_t sizes = 3ULL * job_.experiment.writers; // of the metadata, in the message
            reading.broadcast = readers_.broadcast((step_bytes_ + sizes) * fetch.steps());
        }
        if (choices_.places == MetadataPlaces::files) {
            reading.messages = 2 * steps;
            return reading;
        }
        Calls calls = requests_.of_reader(fetch);
        if (machine_.is_one()) calls.push_back({decoding() * steps, true, {}});
        const std::uint64_t count = choices_.delegated ? 1 : job_.readers;
        reading.messages = static_cast<double>(messages_in(calls));
        reading.is_bound = count > most_messages / std::max<std::uint64_t>(messages_in(calls), 1);
        if (reading.is_bound) {
            reading.read = bound(served_, calls, count).mean;
            return reading;
        }
        std::vector<Process> processes;
        for (std::uint64_t rank = 0; rank < count; ++rank)
            processes.push_back({rank / machine_.ranks_per_node, &calls});
        reading.read = replay(served_, processes).mean;
        return reading;
    }

    // Of all steps, one after the other: a request brings a window along.
    double read_files() const
    {
        double time = 0;
        if (machine_.is_one()) {
            const double turns = static_cast<double>(job_.readers) / static_cast<double>(machine_.processors);
            return (2 * machine_.file_request + decoding() +
                    static_cast<double>(step_bytes_) / machine_.file_read_bandwidth) *
                   static_cast<double>(job_.experiment.steps) * std::max(1.0, turns);
        }
        const std::uint64_t step = step_bytes_ + 8ULL * job_.experiment.writers;
        const std::uint64_t size = step * job_.experiment.steps;
        const std::uint64_t window_bytes = std::max<std::uint64_t>(machine_.file_read_ahead, 64);
        const std::uint64_t index_requests = 64 * job_.experiment.steps / window_bytes + 1;
        time += machine_.file_request * static_cast<double>(index_requests);
        for (std::uint64_t at = 0, window = 0; at < size; at += step) {
            if (at + step <= window) continue;
            window = std::min(size, at + std::max(step, machine_.file_read_ahead));
            time += machine_.file_request + static_cast<double>(window - at) / machine_.file_read_bandwidth;
        }
        return time;
    }

    const Machine& machine_;
    const Machine served_; // as replay() takes it
    const Job& job_;
    const Choices choices_;
    const Requests requests_;
    const CollectiveCosts writers_, readers_;
    const std::uint64_t step_bytes_;
};

// Rank 0 of the readers holds all of a step.
void require_step_in_memory(const Job& job)
{
    constexpr double most = std::uint64_t{1} << 42, tebi = std::uint64_t{1} << 40;
    const double metadata = job.experiment.sizes.mean(), step = metadata * job.experiment.writers;
    if (step <= most) return;
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << "a step has " << step / tebi
         << " TiB of metadata, and one rank reads all of it: up to " << most / tebi << " TiB are estimated, "
         << static_cast<std::uint64_t>(most / metadata) << " ranks with such metadata";
    refuse_job(text.str());
}

} // namespace

Json estimate(const Machine& machine, const Job& job)
{
    if (job.stride != 0) refuse_job("extents are not estimated: leave the stride out, or simulate them");
    require_step_in_memory(job);
    return Estimate(machine, job, choices_of(machine, job))();
}

} // namespace stepstore::sim

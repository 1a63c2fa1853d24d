#include "layouts/summary.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

namespace stepstore::bench {

namespace {

struct Head {
    double open = 0, close = 0;
    std::uint64_t metadata_bytes = 0, steps = 0, targets = 0;
};

template <class T>
void append(std::vector<std::byte>& bytes, const T* values, std::size_t count)
{
    const auto* const first = reinterpret_cast<const std::byte*>(values);
    bytes.insert(bytes.end(), first, first + count * sizeof(T));
}

template <class T>
const std::byte* take(const std::byte* from, T* values, std::size_t count)
{
    if (count > 0) std::memcpy(values, from, count * sizeof(T));
    return from + count * sizeof(T);
}

std::vector<std::byte> encoded(const Measured& one)
{
    const Head head{one.times.open, one.times.close, one.times.metadata_bytes, one.times.steps.size(),
                    one.targets.size()};
    std::vector<std::byte> bytes;
    append(bytes, &head, 1);
    append(bytes, one.times.steps.data(), one.times.steps.size());
    append(bytes, one.targets.data(), one.targets.size());
    return bytes;
}

Measured decoded(const std::byte* from)
{
    Head head;
    from = take(from, &head, 1);
    Measured one{{head.open, head.close, head.metadata_bytes, std::vector<StepTime>(head.steps)},
                 std::vector<TargetInfo>(head.targets)};
    from = take(from, one.times.steps.data(), head.steps);
    take(from, one.targets.data(), head.targets);
    return one;
}

double mean(const std::vector<double>& values)
{
    return values.empty()
               ? 0
               : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// As a mean over the ranks.
template <class Of>
double mean_of(const std::vector<Measured>& ranks, const Of& of)
{
    std::vector<double> values;
    for (const Measured& one : ranks)
        values.push_back(of(one.times));
    return mean(values);
}

// Of every rank and of every step from `first` on.
std::vector<double> samples(const std::vector<Measured>& ranks, std::size_t first, double StepTime::*of)
{
    std::vector<double> all;
    for (const Measured& one : ranks)
        for (std::size_t step = first; step < one.times.steps.size(); ++step)
            all.push_back(one.times.steps[step].*of);
    return all;
}

Json distribution(std::vector<double> values)
{
    std::ranges::sort(values);
    const auto at = [&](double share) {
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    return {{"mean", mean(values)}, {"p50", at(0.5)}, {"p90", at(0.9)}, {"p99", at(0.99)}, {"most", at(1)}};
}

std::vector<double> by_step(const std::vector<Measured>& ranks)
{
    std::vector<double> means;
    for (std::size_t step = 0; step < ranks.front().times.steps.size(); ++step)
        means.push_back(mean_of(ranks, [&](const RankTimes& times) { return times.steps[step].seconds; }));
    return means;
}

double whole_by_step(const std::vector<Measured>& ranks)
{
    return mean_of(ranks, [](const RankTimes& times) {
        double whole = times.open + times.close;
        for (const StepTime& step : times.steps)
            whole += step.seconds;
        return whole / static_cast<double>(times.steps.size());
    });
}

// What both sides have; `of` counts.
Json phase(const std::vector<Measured>& ranks, const std::vector<double>& of, double bytes)
{
    Json found = distribution(of);
    found["per_byte"] = mean(of) / bytes;
    found["first"] = mean_of(ranks, [](const RankTimes& times) { return times.steps.front().seconds; });
    found["open"] = mean_of(ranks, [](const RankTimes& times) { return times.open; });
    found["close"] = mean_of(ranks, [](const RankTimes& times) { return times.close; });
    found["whole"] = whole_by_step(ranks);
    found["by_step"] = by_step(ranks);
    return found;
}

} // namespace

std::vector<Measured> gather_times(Communicator& world, const Measured& mine)
{
    std::vector<std::byte> gathered;
    std::vector<std::uint64_t> offsets;
    const std::vector<std::byte> bytes = encoded(mine);
    world.gather(bytes, gathered, offsets, 0);
    std::vector<Measured> all;
    for (std::size_t rank = 0; rank + 1 < offsets.size(); ++rank)
        all.push_back(decoded(gathered.data() + offsets[rank]));
    return all;
}

double rank_bytes(const Experiment& experiment)
{
    double sum = 0;
    for (std::uint64_t step = 0; step < experiment.steps; ++step)
        for (std::uint32_t rank = 0; rank < experiment.writers; ++rank)
            sum += static_cast<double>(experiment.sizes.at(step, rank, experiment.writers));
    return sum / static_cast<double>(experiment.steps * experiment.writers);
}

Json stabilisation(const std::vector<Measured>& writers, const Experiment& experiment)
{
    const std::size_t first = experiment.steps > 1 ? 1 : 0;
    Json found = phase(writers, samples(writers, first, &StepTime::seconds), rank_bytes(experiment));
    found["parts"] = {{"encode", mean(samples(writers, first, &StepTime::first))},
                      {"store", mean(samples(writers, first, &StepTime::second))}};
    return found;
}

Json acquisition(const std::vector<Measured>& readers, const Experiment& experiment, bool reads_when_opened)
{
    std::vector<double> seconds;
    double opening = 0;
    for (const Measured& one : readers) {
        const double by_step = reads_when_opened ? one.times.open / static_cast<double>(experiment.steps) : 0;
        opening += by_step / static_cast<double>(readers.size());
        for (const StepTime& step : one.times.steps)
            seconds.push_back(step.seconds + by_step);
    }
    Json found = phase(readers, seconds, rank_bytes(experiment) * experiment.writers);
    found["parts"] = {{"read", mean(samples(readers, 0, &StepTime::first))},
                      {"broadcast", mean(samples(readers, 0, &StepTime::second))},
                      {"install", mean(samples(readers, 0, &StepTime::third))},
                      {"opening", opening}};
    return found;
}

Json latency(const std::vector<Measured>& writers, const std::vector<Measured>& readers)
{
    std::vector<double> all;
    const std::size_t steps = writers.front().times.steps.size();
    for (std::size_t step = steps > 1 ? 1 : 0; step < steps; ++step) {
        double last = 0;
        for (const Measured& one : writers)
            last = std::max(last, one.times.steps[step].begin);
        for (const Measured& one : readers)
            all.push_back(one.times.steps[step].begin + one.times.steps[step].seconds - last);
    }
    return distribution(std::move(all));
}

Json targets(const std::vector<Measured>& side)
{
    Json found = Json::array();
    for (const Measured& one : side)
        for (const TargetInfo& target : one.targets)
            found.push_back({{"updates", target.updates},
                             {"fetches", target.fetches},
                             {"bytes_written", target.bytes_written},
                             {"bytes_read", target.bytes_read}});
    return found;
}

double metadata_bytes(const std::vector<Measured>& writers)
{
    return mean_of(writers, [](const RankTimes& times) {
        return static_cast<double>(times.metadata_bytes) / static_cast<double>(times.steps.size());
    });
}

} // namespace stepstore::bench

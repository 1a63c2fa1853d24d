#include "layouts/experiment.h"

#include "base/time_source.h"

#include <stdexcept>

namespace stepstore::bench {

namespace {

double now()
{
    return std::chrono::duration<double>(SteadyClock::now().time_since_epoch()).count();
}

template <class Open>
auto timed_open(const Open& open, Communicator& ranks, double& seconds)
{
    ranks.barrier();
    const double begin = now();
    auto engine = open();
    seconds = now() - begin;
    return engine;
}

template <class Engine>
void timed_close(Engine& engine, double& seconds)
{
    const double begin = now();
    engine.close();
    seconds = now() - begin;
}

void look_at(const Look& look, Communicator& ranks)
{
    ranks.barrier();
    if (ranks.rank() == 0 && look) look();
    ranks.barrier();
}

StepTime timed(const std::function<void()>& what)
{
    StepTime time;
    time.begin = now();
    what();
    time.seconds = now() - time.begin;
    return time;
}

void require_metadata(const Experiment& experiment, StepReader& reader, MetadataText& text,
                      std::uint64_t step, std::uint32_t writer)
{
    const std::uint64_t size = experiment.sizes.at(step, writer, experiment.writers);
    if (reader.metadata(writer) != text.text(step, writer, size))
        throw std::runtime_error("the metadata of rank " + std::to_string(writer) + " in step " +
                                 std::to_string(step) + " is not what was written");
}

void require_steps(std::uint64_t read, std::uint64_t written)
{
    if (read != written)
        throw std::runtime_error("read " + std::to_string(read) + " steps of " + std::to_string(written));
}

} // namespace

RankTimes write_steps(const Experiment& experiment, Communicator& ranks,
                      const std::function<std::unique_ptr<StepWriter>()>& open, const Look& look)
{
    RankTimes times;
    const auto rank = static_cast<std::uint32_t>(ranks.rank());
    MetadataText text(experiment.sizes.most());
    times.steps.reserve(experiment.steps);
    const auto writer = timed_open(open, ranks, times.open);
    look_at(look, ranks);
    steps::Costs before = writer->costs();
    for (std::uint64_t step = 0; step < experiment.steps; ++step) {
        writer->begin_step(text.text(step, rank, experiment.sizes.at(step, rank, experiment.writers)));
        if (experiment.together) ranks.barrier();
        StepTime time = timed([&] { writer->end_step(); });
        const steps::Costs after = writer->costs();
        time.first = after.encode - before.encode;
        time.second = after.store - before.store;
        before = after;
        times.steps.push_back(time);
    }
    look_at(look, ranks);
    times.metadata_bytes = before.metadata_bytes;
    timed_close(*writer, times.close);
    return times;
}

RankTimes read_steps(const Experiment& experiment, Communicator& ranks,
                     const std::function<std::unique_ptr<StepReader>()>& open, const Look& look)
{
    RankTimes times;
    const auto rank = static_cast<std::uint32_t>(ranks.rank());
    const auto size = static_cast<std::uint32_t>(ranks.size());
    MetadataText text(experiment.sizes.most());
    times.steps.reserve(experiment.steps);
    const auto reader = timed_open(open, ranks, times.open);
    look_at(look, ranks);
    for (bool more = true; more;) {
        const std::uint64_t step = times.steps.size();
        const steps::Costs before = reader->costs();
        if (experiment.together) ranks.barrier();
        StepTime time = timed([&] { more = reader->begin_step(); });
        if (!more) break;
        const steps::Costs after = reader->costs();
        time.first = after.read - before.read;
        time.second = after.broadcast - before.broadcast;
        time.third = after.install - before.install;
        times.steps.push_back(time);
        for (std::uint32_t writer = rank; writer < experiment.writers; writer += size)
            require_metadata(experiment, *reader, text, step, writer);
        reader->end_step();
    }
    require_steps(times.steps.size(), experiment.steps);
    look_at(look, ranks);
    times.metadata_bytes = reader->costs().metadata_bytes;
    timed_close(*reader, times.close);
    return times;
}

} // namespace stepstore::bench

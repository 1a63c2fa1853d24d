#include "features.h"

#include "stepstore/adios2.h"

#include <algorithm>

namespace plugin_test {

Group::Group(int ranks) : all_(ranks == run.ranks)
{
    MPI_Comm_split(MPI_COMM_WORLD, run.rank < ranks ? 0 : MPI_UNDEFINED, run.rank, &comm_);
}

Group::~Group()
{
    if (member()) MPI_Comm_free(&comm_);
}

void Group::hand_over(const std::string& name) const
{
    if (run.plugin() && !run.knows_communicator() && !all_)
        EXPECT_EQ(stepstore_adios2_set_communicator(location_of(name).c_str(), &comm_), 0);
}

namespace {

void write(Feature& feature, const std::string& name, int writers)
{
    const Group group(writers);
    if (group.member()) {
        const Writers who{static_cast<std::size_t>(run.rank), static_cast<std::size_t>(writers)};
        auto adios = make_adios(group.comm());
        auto io = make_io(adios, "out", name);
        feature.define(io, who);
        group.hand_over(name);
        auto engine = open(io, name, adios2::Mode::Write);
        for (std::size_t step = 0; step < feature.steps(); ++step) {
            EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
            EXPECT_EQ(engine.CurrentStep(), step);
            feature.put(io, engine, step, who);
            engine.EndStep();
        }
        engine.Close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void read_steps(View& view, Feature& feature)
{
    for (view.step = 0; view.engine.BeginStep() == adios2::StepStatus::OK; ++view.step) {
        EXPECT_EQ(view.engine.CurrentStep(), view.step);
        view.seen.note("step " + std::to_string(view.step));
        feature.look(view);
        view.engine.EndStep();
    }
    EXPECT_EQ(view.step, feature.steps());
}

void read_at_random(View& view, Feature& feature)
{
    EXPECT_EQ(view.engine.Steps(), feature.steps());
    for (std::size_t i = feature.steps(); i-- > 0;) { // not in the order of writing
        view.step = (i * 2 + 1) % feature.steps();
        view.seen.note("step " + std::to_string(view.step) + " at random");
        feature.look(view);
    }
}

Transcript read(Feature& feature, const std::string& name, const Comparison& how, int readers, bool random)
{
    Transcript seen;
    const Group group(readers);
    if (group.member()) {
        auto adios = make_adios(group.comm());
        auto io = make_io(adios, "in", name, {{"Reading", random ? "random" : "stream"}});
        group.hand_over(name);
        auto engine = open(io, name, random ? adios2::Mode::ReadRandomAccess : adios2::Mode::Read);
        View view{io, engine, 0, static_cast<std::size_t>(how.writers), random, seen};
        if (random)
            read_at_random(view, feature);
        else
            read_steps(view, feature);
        engine.Close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return seen;
}

void expect_same(const std::string& how, const Transcript& bp5, const Transcript& ours)
{
    for (std::size_t i = 0; i < std::max(bp5.lines.size(), ours.lines.size()); ++i) {
        const std::string theirs_is = i < bp5.lines.size() ? bp5.lines[i] : "(nothing)";
        const std::string ours_is = i < ours.lines.size() ? ours.lines[i] : "(nothing)";
        if (theirs_is == ours_is) continue;
        const auto shorter = [](const std::string& text) { return text.substr(0, 400); };
        fail(__FILE__, __LINE__,
             how + ", line " + std::to_string(i) + ":\n  BP5:       " + shorter(theirs_is) +
                 "\n  Stepstore: " + shorter(ours_is));
    }
}

} // namespace

void compare_with_bp5(MakeFeature make, const Comparison& how)
{
#ifndef ADIOS2_HAS_MPI
    if (run.ranks != 1)
        fail(__FILE__, __LINE__, "BP5 of the serial ADIOS2 knows of no other ranks: compare on one");
#endif
    std::map<std::string, Transcript> seen;
    std::size_t lines = 0;
    const std::string ours = run.engine;
    EXPECT(ours != "BP5");
    for (const std::string& engine : {std::string("BP5"), ours}) {
        run.engine = engine;
        auto feature = make();
        write(*feature, "feature", how.writers);
        for (const int readers : how.readers) {
            for (const bool random : {false, true}) {
                if (random && !how.random) continue;
                const auto key =
                    std::to_string(readers) + " readers, " + (random ? "at random" : "step by step");
                auto transcript = read(*feature, "feature", how, readers, random);
                lines += transcript.lines.size();
                if (engine == ours)
                    expect_same(key, seen.at(key), transcript);
                else
                    seen[key] = std::move(transcript);
            }
        }
    }
    // Something besides the names of the steps was seen.
    EXPECT(run.rank != 0 || lines > 2 * make()->steps() * how.readers.size() * (how.random ? 2 : 1));
}

} // namespace plugin_test

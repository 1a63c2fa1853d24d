// What a stream is made of besides its arrays: attributes, variables that come late or not in every step,
// numbers of steps, several streams at once. Compared with BP5.
#include "features.h"

namespace {

using namespace plugin_test;

template <class T>
void note_attribute(View& view, const std::string& name)
{
    auto attribute = view.io.InquireAttribute<T>(name);
    if (!attribute) return view.seen.note("no attribute " + name);
    view.seen.note(name + (attribute.IsValue() ? " is" : " are"), attribute.Data());
}

// Attributes that are there from the first, that come in a later step, and that change.
class LateAttributes final : public Feature {
    std::size_t steps() const override { return 4; }
    void define(adios2::IO& io, const Writers&) override
    {
        io.DefineVariable<double>("x");
        io.DefineAttribute<std::string>("unit", "m/s", "x");
        io.DefineAttribute<std::int32_t>("changing", 1, "", "/", true);
        const std::vector<double> corners = {0.25, -1, 1e300};
        io.DefineAttribute<double>("corners", corners.data(), corners.size());
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers&) override
    {
        if (step == 1) io.DefineAttribute<double>("late", 4.5);
        if (step == 2) io.DefineAttribute<std::int32_t>("changing", 7, "", "/", true);
        engine.Put("x", 1.0 * static_cast<double>(step));
    }
    void look(View& view) override
    {
        note_attribute<std::string>(view, "x/unit");
        note_attribute<double>(view, "corners");
        note_attribute<std::int32_t>(view, "changing");
        note_attribute<double>(view, "late");
        EXPECT_EQ(static_cast<bool>(view.io.InquireAttribute<double>("late")), view.random || view.step >= 1);
    }
};
FEATURE(feature_late_attributes, LateAttributes)

class ManyAttributes final : public Feature {
    static constexpr int count = 3000;
    void define(adios2::IO& io, const Writers&) override
    {
        io.DefineVariable<double>("x");
        for (int i = 0; i < count; ++i) {
            const auto name = "attribute/" + std::to_string(i);
            if (i % 3 == 0)
                io.DefineAttribute<std::int64_t>(name, i);
            else if (i % 3 == 1)
                io.DefineAttribute<std::string>(name, "text " + std::to_string(i));
            else
                io.DefineAttribute<double>(name, std::vector<double>{0.5 * i, -1}.data(), 2);
        }
    }
    void put(adios2::IO&, adios2::Engine& engine, std::size_t step, const Writers&) override
    {
        engine.Put("x", 1.0 * static_cast<double>(step));
    }
    void look(View& view) override
    {
        EXPECT_EQ(view.io.AvailableAttributes().size(), static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) {
            const auto name = "attribute/" + std::to_string(i);
            if (i % 3 == 0)
                note_attribute<std::int64_t>(view, name);
            else if (i % 3 == 1)
                note_attribute<std::string>(view, name);
            else
                note_attribute<double>(view, name);
        }
    }
};
FEATURE(feature_many_attributes, ManyAttributes)

// Variables that are first defined when the writer runs already.
class DefinedAfterOpen final : public Feature {
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        if (step == 0) io.DefineVariable<double>("first", {writers.ranks}, {writers.rank}, {1});
        if (step == 1) io.DefineVariable<std::int32_t>("second", {writers.ranks}, {writers.rank}, {1});
        const double one = static_cast<double>(10 * step + writers.rank);
        const auto two = static_cast<std::int32_t>(one) + 1;
        engine.Put("first", &one, adios2::Mode::Sync);
        if (step >= 1) engine.Put("second", &two, adios2::Mode::Sync);
    }
    void look(View& view) override
    {
        auto first = view.variable<double>("first");
        view.get("first", first, view.writers);
        if (!view.random)
            view.seen.note(view.io.InquireVariable<std::int32_t>("second") ? "second" : "no second");
        if (view.step == 0) return;
        auto second = view.variable<std::int32_t>("second", view.step - 1);
        EXPECT_EQ(view.get("second", second, view.writers)[0], static_cast<int>(10 * view.step + 1));
    }
};
FEATURE(feature_defined_after_open, DefinedAfterOpen)

// A variable that only odd steps have, one of which only rank 0 puts something, one with another shape each
// time.
class ComingAndGoing final : public Feature {
    std::size_t steps() const override { return 5; }
    void define(adios2::IO& io, const Writers& writers) override
    {
        io.DefineVariable<float>("always", {writers.ranks}, {writers.rank}, {1});
        io.DefineVariable<float>("odd", {2 * writers.ranks}, {2 * writers.rank}, {2});
        io.DefineVariable<std::int32_t>("of_rank_0", {3}, {0}, {3});
    }
    void put(adios2::IO&, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        const float values[] = {static_cast<float>(step), static_cast<float>(writers.rank)};
        const std::int32_t three[] = {static_cast<std::int32_t>(step), -1, 2};
        engine.Put("always", values, adios2::Mode::Sync);
        if (step % 2 == 1) engine.Put("odd", values, adios2::Mode::Sync);
        if (writers.rank == 0) engine.Put("of_rank_0", three, adios2::Mode::Sync);
    }
    void look(View& view) override
    {
        auto always = view.variable<float>("always");
        view.get("always", always, view.writers);
        auto of_rank_0 = view.variable<std::int32_t>("of_rank_0");
        EXPECT_EQ(view.get("of_rank_0", of_rank_0, 3)[0], static_cast<int>(view.step));
        if (!view.random) view.seen.note(view.io.InquireVariable<float>("odd") ? "odd" : "no odd");
        if (view.step % 2 == 0) return;
        auto odd = view.variable<float>("odd", view.step / 2);
        view.get("odd", odd, 2 * view.writers);
    }
};
FEATURE(feature_coming_and_going, ComingAndGoing)

// Several steps in one Get.
class StepSelections final : public Feature {
    std::size_t steps() const override { return 5; }
    void define(adios2::IO& io, const Writers& writers) override
    {
        io.DefineVariable<double>("x", {3 * writers.ranks}, {3 * writers.rank}, {3});
        io.DefineVariable<std::int32_t>("n");
    }
    void put(adios2::IO&, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        const double base = static_cast<double>(100 * step + 10 * writers.rank);
        const double values[] = {base, base + 1, base + 2};
        engine.Put("x", values, adios2::Mode::Sync);
        engine.Put("n", static_cast<std::int32_t>(step));
    }
    void look(View& view) override
    {
        auto x = view.variable<double>("x");
        auto n = view.variable<std::int32_t>("n");
        EXPECT_EQ(view.get("n", n, 1)[0], static_cast<int>(view.step));
        view.get("x", x, 3 * view.writers);
        if (!view.random) return;
        const auto left = steps() - view.step;
        x.SetStepSelection({view.step, left});
        x.SetSelection({{1}, {2}});
        const auto got = view.get("the steps from here on", x, 2 * left, adios2::Mode::Deferred);
        EXPECT_EQ(got[2 * left - 2], 100.0 * 4 + 1);
        n.SetStepSelection({view.step, left});
        EXPECT_EQ(view.get("their values", n, left).back(), 4);
    }
};
FEATURE(feature_step_selections, StepSelections)

// Puts and gets of both kinds in one step, the memory of deferred ones alive until EndStep.
class DeferredAndSync final : public Feature {
    void define(adios2::IO& io, const Writers& writers) override
    {
        for (const char* name : {"a", "b", "c"})
            io.DefineVariable<std::uint64_t>(name, {50 * writers.ranks}, {50 * writers.rank}, {50});
    }
    void put(adios2::IO&, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        kept_.assign(3, std::vector<std::uint64_t>(50, step + writers.rank));
        engine.Put<std::uint64_t>("a", kept_[0].data(), adios2::Mode::Deferred);
        engine.Put<std::uint64_t>("b", kept_[1].data(), adios2::Mode::Sync);
        kept_[1][7] = 4711; // taken already
        if (step == 1) {
            engine.PerformPuts();
            kept_[0][8] = 4712; // taken too
        }
        engine.Put<std::uint64_t>("c", kept_[2].data());
    }
    void look(View& view) override
    {
        auto a = view.variable<std::uint64_t>("a");
        auto b = view.variable<std::uint64_t>("b");
        auto c = view.variable<std::uint64_t>("c");
        std::vector<std::uint64_t> got_a(50 * view.writers), got_c(50 * view.writers);
        view.engine.Get(a, got_a.data(), adios2::Mode::Deferred);
        EXPECT_EQ(view.get("b", b, 50 * view.writers)[7], view.step);
        view.engine.Get(c, got_c.data());
        view.engine.PerformGets();
        EXPECT_EQ(got_a[8], view.step);
        view.seen.note("a", got_a);
        view.seen.note("c", got_c);
    }

    std::vector<std::vector<std::uint64_t>> kept_;
};
FEATURE(feature_deferred_and_sync, DeferredAndSync)

// Two streams at once in one program, written in turn and read in turn.
CASE(feature_two_streams)
{
    std::map<std::string, Transcript> seen;
    const auto ranks = static_cast<std::size_t>(run.ranks);
    for (const char* engine_name : {"BP5", "Plugin"}) {
        run.engine = engine_name;
        {
            auto adios = make_adios();
            auto io_a = make_io(adios, "out-a", "a");
            auto io_b = make_io(adios, "out-b", "b");
            const Dims mine = {static_cast<std::size_t>(run.rank)};
            auto x = io_a.DefineVariable<double>("x", {ranks}, mine, {1});
            auto y = io_b.DefineVariable<float>("x", {ranks}, mine, {1});
            auto a = open(io_a, "a", adios2::Mode::Write);
            auto b = open(io_b, "b", adios2::Mode::Write);
            for (int step = 0; step < 4; ++step) {
                const double value = 10 * step + run.rank;
                const auto other = static_cast<float>(-value);
                a.BeginStep();
                a.Put(x, &value);
                if (step % 2 == 0) { // inside of the other's step
                    b.BeginStep();
                    b.Put(y, &other);
                    b.EndStep();
                }
                a.EndStep();
            }
            b.Close();
            a.Close();
        }
        auto adios = make_adios();
        auto io_a = make_io(adios, "in-a", "a");
        auto io_b = make_io(adios, "in-b", "b");
        auto a = open(io_a, "a", adios2::Mode::Read);
        auto b = open(io_b, "b", adios2::Mode::Read);
        auto& lines = seen[engine_name];
        for (int step = 0; step < 4; ++step) {
            EXPECT(a.BeginStep() == adios2::StepStatus::OK);
            EXPECT(b.BeginStep() == (step < 2 ? adios2::StepStatus::OK : adios2::StepStatus::EndOfStream));
            std::vector<double> from_a(ranks);
            std::vector<float> from_b(ranks);
            a.Get("x", from_a.data(), adios2::Mode::Deferred);
            if (step < 2) {
                b.Get("x", from_b.data());
                b.EndStep();
            }
            a.EndStep();
            lines.note("a", from_a);
            lines.note("b", from_b);
        }
        EXPECT(a.BeginStep() == adios2::StepStatus::EndOfStream);
        a.Close();
        b.Close();
    }
    EXPECT(seen["BP5"].lines == seen["Plugin"].lines);
}

} // namespace

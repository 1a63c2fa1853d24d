// ADIOS2's operators on the blocks of variables, compared with BP5.
#include "features.h"

#include <cmath>

namespace {

using namespace plugin_test;

struct Choice {
    std::string type;
    adios2::Params parameters;
};

// Those of this ADIOS2. Every one has operators from a plugin; the build with MPI has all of these.
std::vector<Choice> choices()
{
    std::vector<Choice> all = {
        {"plugin", {{"PluginName", "turn"}, {"PluginLibrary", "test_operator_probe"}}},
        {"bzip2", {}},
        {"blosc", {{"compressor", "zstd"}, {"clevel", "3"}}},
        {"zfp", {{"accuracy", "0.01"}}},
    };
    adios2::ADIOS adios;
    std::erase_if(all, [&](const Choice& one) {
        return !error_of([&] { adios.DefineOperator(one.type, one.type, one.parameters); }).empty();
    });
#ifdef ADIOS2_HAS_MPI
    EXPECT(all.size() >= 3);
#endif
    EXPECT(!all.empty());
    return all;
}

// Steps, so that it gets shorter: ADIOS2's bzip2 fails on what does not.
template <class T>
std::vector<T> stairs(std::size_t rank, std::size_t step, std::size_t count)
{
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t stair = i / 16 + 7 * rank + 100 * step;
        values[i] = static_cast<T>(0.25 * static_cast<double>(stair));
    }
    return values;
}

// Global arrays of two blocks a rank, local arrays, joined arrays; blocks of one element, and of none
// (ADIOS2's own operators may crash on either).
class Operators final : public Feature {
public:
    void define(adios2::IO& io, const Writers& writers) override
    {
        for (const auto& [type, parameters] : choices()) {
            const auto with = [&, &type = type, &parameters = parameters](auto variable) {
                EXPECT_EQ(variable.AddOperation(type, parameters), 0U);
            };
            with(io.DefineVariable<double>(type + "/global", {writers.ranks * 2, rows, columns}));
            with(io.DefineVariable<float>(type + "/local", {}, {}, {columns}));
            with(io.DefineVariable<double>(type + "/joined", {adios2::JoinedDim, columns}, {},
                                           {rows, columns}));
            if (type == "plugin")
                with(io.DefineVariable<double>(type + "/one", {writers.ranks}, {writers.rank}, {1}));
        }
    }
    void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) override
    {
        for (const auto& [type, parameters] : choices()) {
            auto global = io.InquireVariable<double>(type + "/global");
            for (std::size_t block = 0; block < 2; ++block) {
                global.SetSelection({{writers.rank * 2 + block, 0, 0}, {1, rows, columns}});
                data_ = stairs<double>(writers.rank, step, rows * columns); // the same for both blocks
                engine.Put(global, data_.data(), block == 0 ? adios2::Mode::Sync : adios2::Mode::Deferred);
            }
            auto local = io.InquireVariable<float>(type + "/local");
            const auto count = type == "plugin" && writers.rank == 0 && step == 1 ? 0 : columns;
            local.SetSelection({{}, {count}});
            engine.Put(local, stairs<float>(writers.rank, step, count + 1).data(), adios2::Mode::Sync);
            engine.Put(io.InquireVariable<double>(type + "/joined"),
                       stairs<double>(writers.rank, step + 5, rows * columns).data(), adios2::Mode::Sync);
            const double one = 0.25 * static_cast<double>(step);
            if (type == "plugin")
                engine.Put(io.InquireVariable<double>(type + "/one"), &one, adios2::Mode::Sync);
            engine.PerformPuts();
        }
    }
    void look(View& view) override
    {
        for (const auto& [type, parameters] : choices()) {
            auto global = view.variable<double>(type + "/global");
            global.SetSelection({{0, 0, 0}, {view.writers * 2, rows, columns}});
            const auto got =
                view.get(type, global, view.writers * 2 * rows * columns, adios2::Mode::Deferred);
            const auto put = stairs<double>(0, view.step, rows * columns);
            for (std::size_t i = 0; i < put.size(); ++i)
                EXPECT(std::abs(got[i] - put[i]) <= (type == "zfp" ? 0.01 : 0.0));
            EXPECT_EQ(global.Operations().size(), 1U);
            global.SetSelection({{1, 2, 3}, {view.writers, 4, 5}});
            view.get(type + " in part", global, view.writers * 20);
            if (run.engine != "BP5")
                look_joined(view, type); // BP5 leaves out all blocks but the first rank's
            if (type == "plugin") {
                auto one = view.variable<double>(type + "/one");
                view.get(type + " single", one, view.writers);
            }
            auto local = view.variable<float>(type + "/local");
            local.SetBlockSelection(view.writers - 1);
            const bool empty = type == "plugin" && view.writers == 1 && view.step == 1;
            if (!empty) view.get(type + " local", local, columns);
        }
    }

private:
    void look_joined(View& view, const std::string& type)
    {
        auto joined = view.variable<double>(type + "/joined");
        std::vector<double> got(view.writers * rows * columns);
        view.engine.Get(joined, got.data(), adios2::Mode::Sync);
        std::size_t at = 0;
        for (std::size_t rank = 0; rank < view.writers; ++rank)
            for (const double put : stairs<double>(rank, view.step + 5, rows * columns))
                EXPECT(std::abs(got[at++] - put) <= (type == "zfp" ? 0.01 : 0.0));
    }

    static constexpr std::size_t rows = 24, columns = 100;
    std::vector<double> data_;
};
FEATURE(feature_operators, Operators)

} // namespace

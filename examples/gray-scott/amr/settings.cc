#include "settings.h"

#include "../read_settings.h"

#include <sstream>

namespace gray_scott::amr {
namespace {

std::vector<int> numbers(const std::string& value)
{
    std::vector<int> found;
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, ',');)
        found.push_back(number_of<int>("parts", word, 1, 1 << 20));
    return found;
}

void check(const Settings& settings)
{
    if (settings.block % 2 != 0)
        throw std::invalid_argument("setting block=" + std::to_string(settings.block) +
                                    ": give an even number");
    const int root = settings.block << (settings.levels - 1);
    if (settings.L % root != 0)
        throw std::invalid_argument("setting L=" + std::to_string(settings.L) + ": with " +
                                    std::to_string(settings.levels) + " levels and blocks of " +
                                    std::to_string(settings.block) + " cells give a multiple of " +
                                    std::to_string(root));
}

} // namespace

Settings read_settings(int argc, char** argv)
{
    Settings to;
    const auto real = [](const char* name, double& field) { return number_setting(name, field, 0.0, 1e6); };
    apply_settings(argc, argv,
                   {{"L", number_setting("L", to.L, 4, 1 << 14)},
                    {"levels", number_setting("levels", to.levels, 1, 8)},
                    {"block", number_setting("block", to.block, 4, 64)},
                    {"max_box", number_setting("max_box", to.max_box, 1, 64)},
                    {"seeds", number_setting("seeds", to.seeds, 1, 1 << 20)},
                    {"steps", number_setting("steps", to.steps, 0, 1 << 30)},
                    {"plotgap", number_setting("plotgap", to.plotgap, 1, 1 << 30)},
                    {"regrid", number_setting("regrid", to.regrid, 1, 1 << 30)},
                    {"threshold", real("threshold", to.threshold)},
                    {"F", real("F", to.F)},
                    {"k", real("k", to.k)},
                    {"Du", real("Du", to.Du)},
                    {"Dv", real("Dv", to.Dv)},
                    {"dt", real("dt", to.dt)},
                    {"seed", number_setting<std::uint64_t>("seed", to.seed, 0, UINT64_MAX)},
                    {"output", text_setting(to.output)},
                    {"adios_config", text_setting(to.adios_config)},
                    {"timings", text_setting(to.timings)},
                    {"parts", [&to](const std::string& value) { to.parts = numbers(value); }}});
    check(to);
    return to;
}

} // namespace gray_scott::amr

#include "settings.h"

#include "read_settings.h"

namespace gray_scott {

Settings read_settings(int argc, char** argv)
{
    Settings to;
    const auto real = [](const char* name, double& field) { return number_setting(name, field, 0.0, 1e6); };
    apply_settings(argc, argv,
                   {{"L", number_setting("L", to.L, 4, 1 << 14)},
                    {"steps", number_setting("steps", to.steps, 0, 1 << 30)},
                    {"plotgap", number_setting("plotgap", to.plotgap, 1, 1 << 30)},
                    {"F", real("F", to.F)},
                    {"k", real("k", to.k)},
                    {"Du", real("Du", to.Du)},
                    {"Dv", real("Dv", to.Dv)},
                    {"dt", real("dt", to.dt)},
                    {"noise", real("noise", to.noise)},
                    {"seed", number_setting<std::uint64_t>("seed", to.seed, 0, UINT64_MAX)},
                    {"restart", number_setting("restart", to.restart, 0, 1)},
                    {"output", text_setting(to.output)},
                    {"adios_config", text_setting(to.adios_config)},
                    {"timings", text_setting(to.timings)}});
    return to;
}

} // namespace gray_scott

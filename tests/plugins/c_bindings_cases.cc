// ADIOS2's C interface: a C program writes and reads through BP5 and through Stepstore, and sees the same.
#include "c_bindings.h"
#include "features.h"

namespace {

using namespace plugin_test;

CASE(feature_c_bindings)
{
    c_bindings_transcript seen[2][2] = {};
    for (const int plugin : {0, 1}) {
        run.engine = plugin == 0 ? "BP5" : "Plugin";
        const std::string parameters =
            plugin == 0
                ? ""
                : "PluginName=stepstore,PluginLibrary=stepstore_adios2,Location=" + location_of("c-bindings");
        const auto name = location_of("c-bindings") + (plugin == 0 ? ".bp" : "");
        const c_bindings_run how{MPI_COMM_WORLD,
                                 static_cast<std::size_t>(run.rank),
                                 static_cast<std::size_t>(run.ranks),
                                 run.engine.c_str(),
                                 parameters.c_str(),
                                 name.c_str()};
        EXPECT_EQ(c_bindings_write(&how), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        for (const int at_random : {0, 1})
            EXPECT_EQ(c_bindings_read(&how, at_random, &seen[plugin][at_random]), 0);
    }
    for (const int at_random : {0, 1}) {
        const auto& bp5 = seen[0][at_random];
        const auto& ours = seen[1][at_random];
        EXPECT(bp5.count > 3 * c_bindings_steps && bp5.count < c_bindings_seen);
        EXPECT_EQ(ours.count, bp5.count);
        for (std::size_t i = 0; i < bp5.count; ++i)
            EXPECT_EQ(ours.numbers[i], bp5.numbers[i]);
        EXPECT_EQ(std::string(ours.texts), std::string(bp5.texts));
        EXPECT(contains(ours.texts, "onekg"));
    }
}

} // namespace

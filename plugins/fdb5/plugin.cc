// The plugin that eckit loads: catalogue, store, engine, locations and URI scheme register themselves (the
// builders in the other files).
#include "eckit/system/Plugin.h"

namespace stepstore::fdb_plugin {
namespace {

class Plugin final : public eckit::system::Plugin {
public:
    Plugin() : eckit::system::Plugin(STEPSTORE_FDB5_PLUGIN_NAME, STEPSTORE_FDB5_LIBRARY) {}

private:
    std::string version() const override { return STEPSTORE_VERSION; }
    std::string gitsha1(unsigned int) const override { return ""; }
};

const Plugin plugin;

} // namespace
} // namespace stepstore::fdb_plugin

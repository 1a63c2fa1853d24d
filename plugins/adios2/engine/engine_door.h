// What the engine's library gives to the loader (plugin_api.h): the plugin engine of the release at hand.
// Threads, errors: see there.
#pragma once

#include "plugin_api.h"

namespace stepstore::adios {

// An adios2::plugin::PluginEngineInterface. The arguments: see PluginEngineApi.
void* create_plugin(void* io, const std::string& name, int mode, void* communicator,
                    TakeHandedOver handed_over);

} // namespace stepstore::adios

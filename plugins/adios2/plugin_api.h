// Between the library that ADIOS2 loads (loader.cc) and the engine that it loads in turn (engine.cc).
// Threads: the loader guards what is handed over; the rest is for one thread. Errors: both sides throw
// stepstore::Error and ADIOS2's types.
#pragma once

#include "comm/communicator.h"

#include <adios2/plugin/PluginEngineInterface.h>

#include <memory>
#include <string>

namespace stepstore {

// The communicator that the program handed over for this location; null where it did not.
using TakeHandedOver = std::shared_ptr<Communicator> (*)(const std::string& location);

struct PluginEngineApi {
    adios2::plugin::PluginEngineInterface* (*create)(adios2::IO io, const std::string& name,
                                                     adios2::Mode mode, TakeHandedOver handed_over);
    void (*destroy)(adios2::plugin::PluginEngineInterface* engine);
    // Makes ADIOS2 know the engine type Stepstore; by_default: and read pools with it where a program names
    // no engine. Throws where the native engine was not built, or does not fit the ADIOS2 of this process.
    void (*register_native)(TakeHandedOver handed_over, bool by_default);
    const void* adios2; // a place in the libadios2_core that the engine uses
};

inline constexpr int plugin_engine_version = 4;
inline constexpr const char* plugin_engine_symbol = "stepstore_adios2_engine";
using PluginEngineApiFunction = const PluginEngineApi* (*)(int version);

} // namespace stepstore

// Between the library that ADIOS2 loads (loader.cc) and the engine that it loads in turn. That is made for
// one release of ADIOS2. So the loader has no header of ADIOS2: it hands on the arguments that ADIOS2 gives.
// Threads: the loader guards what is handed over; the rest is for one thread. Errors: both sides throw
// stepstore::Error and ADIOS2's types.
#pragma once

#include "comm/communicator.h"

#include <memory>
#include <string>

namespace stepstore {

// The communicator that the program handed over for this location; null where it did not.
using TakeHandedOver = std::shared_ptr<Communicator> (*)(const std::string& location);

struct PluginEngineApi {
    // Those of EngineCreate. io: adios2::IO, whose only member it is, and before ADIOS2 2.12 core::IO&.
    // communicator: before ADIOS2 2.12 the helper::Comm that is handed over.
    void* (*create)(void* io, const std::string& name, int mode, void* communicator,
                    TakeHandedOver handed_over);
    void (*destroy)(void* engine);
    // Of an operator that must not be used on data (native.cc). parameters: adios2::Params.
    void* (*create_operator)(const void* parameters);
    void (*destroy_operator)(void* object);
    // Makes ADIOS2 know the engine type Stepstore; by_default: and read pools with it where a program names
    // no engine. Throws where the native engine was not built, or does not fit the ADIOS2 of this process.
    void (*register_native)(TakeHandedOver handed_over, bool by_default);
    const void* adios2; // a place in the libadios2_core that the engine uses
};

inline constexpr const char* plugin_engine_symbol = "stepstore_adios2_engine";
// interface: STEPSTORE_ADIOS2_INTERFACE of the loader. nullptr: the engine was built with another Stepstore.
// loader: a place in it. Stepstore's modules are beside it, and not always beside the engine.
using PluginEngineApiFunction = const PluginEngineApi* (*)(const char* interface, const void* loader);

} // namespace stepstore

// The native engine: the engine type Stepstore in ADIOS2's own factory.
// Threads: one registers, before engines are made. Errors: -DER_NOSYS.
#pragma once

#include "plugin_api.h"

#include <string>

namespace stepstore::adios {

// Makes ADIOS2 know it, and with by_default read pools with it where a program names no engine
// (default_reader.h). Again: nothing. Throws stepstore::Error (-DER_NOSYS): built without the headers of
// ADIOS2's core, or the ADIOS2 of this process has another version, other features or other layouts.
void register_native(TakeHandedOver handed_over, bool by_default);
// Why the core of this process's ADIOS2 cannot be used: it does not have the layouts of the headers, or this
// is a build without the headers. Empty: it can.
const std::string& misfit();

} // namespace stepstore::adios

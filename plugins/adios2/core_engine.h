// The native engine: the engine type Stepstore in ADIOS2's own factory.
#pragma once

namespace stepstore::adios {

// Makes ADIOS2 know it. Again: nothing. Throws stepstore::Error (-DER_NOSYS): built without the headers of
// ADIOS2's core, or the ADIOS2 of this process has another version, other features or other layouts.
void register_native();
// The core of this process's ADIOS2 is the one that this library was built for. False in a build without the
// headers of the core.
bool core_fits();

} // namespace stepstore::adios

// Page-locked memory for blocks on their way from a device: its driver copies there without a copy of its
// own in between.
//
// ADIOS2 has none, and hides the runtime of CUDA that is linked to it. So the driver is asked that the
// process has loaded already: that of CUDA by the name of its library, that of HIP by its functions. That
// needs no headers and no toolkit, so nothing is looked for when the engine is built. If the driver declines,
// such as on a thread that has not used the device yet, there is no such memory.
//
// Threads: any. A forked child does not have the memory (MADV_DONTFORK), so none of its pages is copied while
// a device writes to it. Errors: none. Memory that the driver does not let go of stays for ever, as the
// driver may still take its addresses for locked ones; then no more is locked in this process.
#pragma once

#include "steps/write/pieces.h"

namespace stepstore::adios {

extern const steps::PieceMemory page_locked;

// Whether memory can be a device's of CUDA: the process has begun to use one.
bool cuda_is_in_use();

} // namespace stepstore::adios

// XXH3 from the library's header, compiled for processors with AVX2 and with its loop unrolled. No header of
// C++ is included here. Its inline functions would be compiled for AVX2 too, and the linker could take them
// for the whole library.
#include "base/checksum_avx2.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t stepstore::checksum_avx2(const void* bytes, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, length, seed);
}

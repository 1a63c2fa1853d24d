// checksum(), for processors that have AVX2 only. Of builds that define STEPSTORE_CHECKSUM_AVX2.
// Threads: any; pure.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stepstore {

uint64_t checksum_avx2(const void* bytes, size_t length, uint64_t seed);

} // namespace stepstore

#include "base/checksum.h"

#include "base/checksum_avx2.h"

#include <new>
#include <xxhash.h>

namespace stepstore {

namespace {

// The library asks the processor for its vector instructions at the first use of one. In a virtual machine
// that takes as long as reading a record.
constexpr std::size_t small = 4096;
[[maybe_unused]] constexpr std::size_t without_vectors = 240; // bytes: XXH3 uses none for so few

std::uint64_t checksum_of_small(Bytes bytes, std::uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

} // namespace

} // namespace stepstore

// Takes the widest vector instructions of the machine at run time, where the library was built with that.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <immintrin.h>
#include <xxh_x86dispatch.h>

namespace stepstore {
namespace {

// The library leaves values in the upper halves of the vector registers. While they are there, each change
// between code with and without AVX costs about 500 cycles: in the program's code too, for ever.
__attribute__((target("avx"))) void empty_upper_halves()
{
    _mm256_zeroupper();
}

void leave_vectors_as_they_were()
{
    static const bool has_them = __builtin_cpu_supports("avx");
    if (has_them) empty_upper_halves();
}

[[maybe_unused]] bool library_takes_avx512()
{
    static const bool has_it = __builtin_cpu_supports("avx512f");
    return has_it;
}

} // namespace
} // namespace stepstore
#else
namespace stepstore {
namespace {

void leave_vectors_as_they_were()
{
}

[[maybe_unused]] bool library_takes_avx512()
{
    return false;
}

} // namespace
} // namespace stepstore
#endif

namespace stepstore {

#ifdef STEPSTORE_CHECKSUM_AVX2
namespace {

bool avx2_is_best(std::size_t size)
{
    static const bool has_it = __builtin_cpu_supports("avx2");
    return size > without_vectors && has_it && (size <= small || !library_takes_avx512());
}

} // namespace
#endif

std::uint64_t checksum(Bytes bytes, std::uint64_t seed)
{
#ifdef STEPSTORE_CHECKSUM_AVX2
    if (avx2_is_best(bytes.size())) return checksum_avx2(bytes.data(), bytes.size(), seed);
#endif
    if (bytes.size() <= small) return checksum_of_small(bytes, seed);
    const std::uint64_t sum = XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
    leave_vectors_as_they_were();
    return sum;
}

ChecksumStream::ChecksumStream() : state_(XXH3_createState())
{
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_));
}

ChecksumStream::~ChecksumStream()
{
    XXH3_freeState(static_cast<XXH3_state_t*>(state_));
}

void ChecksumStream::update(Bytes piece)
{
    XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), piece.data(), piece.size());
    leave_vectors_as_they_were();
}

std::uint64_t ChecksumStream::digest() const
{
    return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_));
}

} // namespace stepstore

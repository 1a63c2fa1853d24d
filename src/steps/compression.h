// Compression of data blocks and metadata, by zstd and by C-Blosc2 (which shuffles the bytes of numbers
// first). Both libraries are optional in a build; what a build lacks is refused by name. Nothing is ever
// lost: every method gives back the same bytes. Operators of the program (block_operator.h) may lose digits.
// Threads: a Compressor is for one, all else is pure. Errors: -DER_INVAL, -DER_NOSYS, -DER_CSUM.
#pragma once

#include "base/bytes.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

// How to read stored bytes. The numbers are part of the stream's format (docs/format-stream.md).
enum class Codec : std::uint8_t {
    none = 0, // as they are
    zstd = 1, // one zstd frame
    blosc =
        2, // c-blosc 1 buffers one after the other, each of 1 GiB before compression but the last; read only
    blosc2 = 3,   // C-Blosc2 chunks one after the other, each of 2 MiB before compression but the last
    left_out = 4, // nothing: of the block are known its place in the array, minimum and maximum
    adios2_operator = 64, // and all from here on: what an operator of ADIOS2 made (operator_codec)
    adios2_blosc = 64,    // of these, those that can be undone without ADIOS2
    adios2_null = 191,
};

// ADIOS2 numbers its operators from 0 to 127; the number is also the first byte of what they make.
constexpr Codec operator_codec(std::uint8_t number)
{
    return static_cast<Codec>(static_cast<std::uint8_t>(Codec::adios2_operator) + number);
}
constexpr bool is_operator(Codec codec)
{
    return codec >= Codec::adios2_operator;
}
std::string name_of(Codec codec); // "zstd", "ADIOS2's operator zfp"

// What a writer can choose.
enum class CompressionMethod : std::uint8_t { none, zstd, blosc2_lz4, blosc2_zstd };

struct Compression {
    CompressionMethod method = CompressionMethod::none;
    int level = 0; // 0: the method's default
};

std::string_view name_of(CompressionMethod method);                // "blosc2-zstd"
CompressionMethod compression_method_named(std::string_view name); // -DER_INVAL with those of this build
std::vector<std::string> compression_method_names();               // those of this build, "none" first
// -DER_NOSYS: this build lacks the library. -DER_INVAL: the method has no such level. `name`: of the
// parameter.
void check_compression(std::string_view name, const Compression& compression);
Codec codec_of(CompressionMethod method);

// No method of these shrinks further than this (zstd: 128 KiB to 4 bytes; C-Blosc2: 2 MiB to 32 bytes). So a
// damaged length cannot ask for more memory than the stored bytes allow.
inline constexpr std::uint64_t most_shrinking = 1 << 16;

// Keeps its memory and contexts from one call to the next. Not for concurrent use.
class Compressor {
public:
    Compressor();
    ~Compressor();
    Compressor(Compressor&&) noexcept;
    Compressor& operator=(Compressor&&) noexcept;

    // The compressed form, valid until the next call; nullopt when it would not be shorter. number_size:
    // bytes of the numbers that `raw` consists of.
    std::optional<Bytes> compress(Bytes raw, std::size_t number_size, const Compression& how);

private:
    struct Contexts;
    MutableBytes room(std::size_t bytes);
    std::unique_ptr<Contexts> contexts_;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t capacity_ = 0;
};

// Exactly raw.size() bytes, or an Error that begins with `what`: -DER_NOSYS when this build lacks the
// library, or an operator is needed; -DER_CSUM when the bytes are damaged.
void decompress(Codec codec, Bytes stored, MutableBytes raw, std::string_view what);

} // namespace stepstore::steps

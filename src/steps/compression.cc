#include "steps/compression.h"

#include "base/text.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>
#include <array>
#include <cstring>

#if STEPSTORE_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif
#if STEPSTORE_HAVE_BLOSC2
#include <blosc2.h>
#endif

namespace stepstore::steps {

namespace {

struct Method {
    CompressionMethod method;
    std::string_view name;
    Codec codec;
    const char* compressor; // in C-Blosc2
    int levels;             // from 1
    int usual_level;
};
constexpr std::array methods = {
    Method{CompressionMethod::none, "none", Codec::none, "", 0, 0},
    Method{CompressionMethod::zstd, "zstd", Codec::zstd, "", 19, 3},
    Method{CompressionMethod::blosc2_lz4, "blosc2-lz4", Codec::blosc2, "lz4", 9, 5},
    Method{CompressionMethod::blosc2_zstd, "blosc2-zstd", Codec::blosc2, "zstd", 9, 5},
};
// Before compression: of buffers that c-blosc 1 made, and of chunks. (A chunk of equal bytes takes 32
// whatever its length: with longer ones a block could shrink further than most_shrinking.)
[[maybe_unused]] constexpr std::size_t blosc_piece = std::size_t{1} << 30;
[[maybe_unused]] constexpr std::size_t blosc2_piece = std::size_t{2} << 20;

const Method& method_of(CompressionMethod wanted)
{
    return *std::ranges::find(methods, wanted, &Method::method);
}

// ADIOS2's operators by their numbers.
struct Operator {
    std::uint8_t number;
    std::string_view name;
};
constexpr std::array operators = {
    Operator{0, "blosc"},
    Operator{1, "bzip2"},
    Operator{2, "libpressio"},
    Operator{3, "mgard"},
    Operator{4, "png"},
    Operator{5, "sirius"},
    Operator{6, "sz"},
    Operator{7, "zfp"},
    Operator{8, "mgardplus"},
    Operator{9, "bigwhoop"},
    Operator{10, "mgard_complex"},
    Operator{11, "sz3"},
    Operator{41, "mdr"},
    Operator{42, "prodm"},
    Operator{53, "plugin"},
    Operator{127, "null"},
};
constexpr std::size_t null_header = 12; // bytes: the number, a version, 2 of nothing, the length (64 bits)
// The same; 3 of C-Blosc2's version; 4 of nothing, the number of chunks (32 bits).
[[maybe_unused]] constexpr std::size_t blosc_header = 23;

// The library that this build lacks; empty: it has all that the codec takes.
std::string_view missing_library(Codec codec)
{
    if (codec == Codec::zstd && !STEPSTORE_HAVE_ZSTD) return "zstd (libzstd-dev)";
    if ((codec == Codec::blosc || codec == Codec::blosc2 || codec == Codec::adios2_blosc) &&
        !STEPSTORE_HAVE_BLOSC2)
        return "C-Blosc2 (libblosc2-dev)";
    return {};
}

bool in_this_build(const Method& method)
{
    if (!missing_library(method.codec).empty()) return false;
#if STEPSTORE_HAVE_BLOSC2
    if (method.codec == Codec::blosc2) return blosc2_compname_to_compcode(method.compressor) >= 0;
#endif
    return true;
}

std::string listed()
{
    std::string text;
    for (const std::string& name : compression_method_names())
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

[[noreturn]] void damaged(std::string_view what)
{
    throw Error(-DER_CSUM, std::string(what) + " cannot be decompressed: its stored bytes are damaged");
}

#if STEPSTORE_HAVE_BLOSC2
struct FreeBlosc {
    void operator()(blosc2_context* context) const { blosc2_free_ctx(context); }
};
using BloscContext = std::unique_ptr<blosc2_context, FreeBlosc>;

BloscContext checked(blosc2_context* context)
{
    if (context == nullptr) throw Error(-DER_NOMEM, "out of memory for C-Blosc2");
    return BloscContext(context);
}

void start_blosc()
{
    [[maybe_unused]] static const bool started = (blosc2_init(), true);
}

std::optional<std::size_t> compress_with_blosc(Bytes raw, std::size_t number_size, const Method& method,
                                               int level, MutableBytes to)
{
    start_blosc();
    blosc2_cparams how = BLOSC2_CPARAMS_DEFAULTS;
    how.compcode = static_cast<std::uint8_t>(blosc2_compname_to_compcode(method.compressor));
    how.clevel = static_cast<std::uint8_t>(level);
    how.typesize = static_cast<std::int32_t>(number_size);
    how.filters[BLOSC2_MAX_FILTERS - 1] = number_size > 1 ? BLOSC_SHUFFLE : BLOSC_NOFILTER;
    const BloscContext context = checked(blosc2_create_cctx(how));
    std::size_t used = 0;
    for (std::size_t at = 0; at < raw.size(); at += blosc2_piece) {
        const Bytes piece = raw.subspan(at, std::min(blosc2_piece, raw.size() - at));
        const std::size_t room = std::min(to.size() - used, 2 * blosc2_piece);
        if (room < BLOSC_EXTENDED_HEADER_LENGTH) return std::nullopt;
        const int length =
            blosc2_compress_ctx(context.get(), piece.data(), static_cast<std::int32_t>(piece.size()),
                                to.data() + used, static_cast<std::int32_t>(room));
        if (length < 0)
            throw Error(-DER_MISC, "C-Blosc2 cannot compress with " + std::string(method.name) + ": " +
                                       blosc2_error_string(length));
        if (length == 0) return std::nullopt; // no room
        used += static_cast<std::size_t>(length);
    }
    return used;
}

// C-Blosc2 reads what c-blosc 1 wrote.
void decompress_with_blosc(Bytes stored, std::size_t most, MutableBytes raw, std::string_view what)
{
    start_blosc();
    const BloscContext context = checked(blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS));
    std::size_t from = 0;
    for (std::size_t at = 0; at < raw.size(); at += most) {
        const auto expected = static_cast<std::int32_t>(std::min(most, raw.size() - at));
        const Bytes rest = stored.subspan(from);
        if (rest.size() < BLOSC_MIN_HEADER_LENGTH) damaged(what);
        std::int32_t length = 0, compressed = 0, block = 0;
        if (blosc2_cbuffer_sizes(rest.data(), &length, &compressed, &block) < 0 || length != expected ||
            compressed < BLOSC_MIN_HEADER_LENGTH || static_cast<std::size_t>(compressed) > rest.size() ||
            blosc2_decompress_ctx(context.get(), rest.data(), compressed, raw.data() + at, expected) !=
                expected)
            damaged(what);
        from += static_cast<std::size_t>(compressed);
    }
    if (from != stored.size()) damaged(what);
}
#endif

} // namespace

std::string name_of(Codec codec)
{
    switch (codec) {
    case Codec::none: return "none";
    case Codec::zstd: return "zstd";
    case Codec::blosc: return "c-blosc 1";
    case Codec::blosc2: return "C-Blosc2";
    case Codec::left_out: return "left out";
    default: break;
    }
    const auto number = static_cast<unsigned>(codec);
    if (!is_operator(codec)) return "method " + std::to_string(number);
    const unsigned of_adios2 = number - static_cast<unsigned>(Codec::adios2_operator);
    const auto found = std::ranges::find(operators, of_adios2, &Operator::number);
    return "ADIOS2's operator " +
           (found == operators.end() ? std::to_string(of_adios2) : std::string(found->name));
}

std::string_view name_of(CompressionMethod method)
{
    return method_of(method).name;
}

Codec codec_of(CompressionMethod method)
{
    return method_of(method).codec;
}

std::vector<std::string> compression_method_names()
{
    std::vector<std::string> names;
    for (const Method& method : methods)
        if (in_this_build(method)) names.emplace_back(method.name);
    return names;
}

CompressionMethod compression_method_named(std::string_view name)
{
    const auto found =
        std::ranges::find_if(methods, [&](const Method& one) { return same_name(one.name, name); });
    if (found == methods.end()) throw Error(-DER_INVAL, "'" + std::string(name) + "': valid are " + listed());
    return found->method;
}

void check_compression(std::string_view name, const Compression& compression)
{
    const Method& method = method_of(compression.method);
    if (!in_this_build(method)) {
        const std::string_view library = missing_library(method.codec);
        throw Error(-DER_NOSYS, std::string(name) + "='" + std::string(method.name) +
                                    "' is not available: this Stepstore was built without " +
                                    (library.empty() ? "a C-Blosc2 that has " + std::string(method.compressor)
                                                     : std::string(library)) +
                                    ": use " + listed());
    }
    if (compression.level < 0 || compression.level > method.levels)
        throw Error(-DER_INVAL, std::string(name) + "='" + std::string(method.name) + "' has no level " +
                                    std::to_string(compression.level) + ": " +
                                    (method.levels == 0 ? "nothing is compressed, so give no level"
                                                        : "valid are 1 to " + std::to_string(method.levels) +
                                                              ", and 0 for its default, " +
                                                              std::to_string(method.usual_level)));
}

struct Compressor::Contexts {
#if STEPSTORE_HAVE_ZSTD
    struct Free {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    };
    std::unique_ptr<ZSTD_CCtx, Free> zstd;
#endif
};

Compressor::Compressor() = default;
Compressor::~Compressor() = default;
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;

MutableBytes Compressor::room(std::size_t bytes)
{
    if (capacity_ < bytes) {
        memory_.reset();
        capacity_ = 0;
        memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
        capacity_ = bytes;
    }
    return {memory_.get(), bytes};
}

std::optional<Bytes> Compressor::compress(Bytes raw, [[maybe_unused]] std::size_t number_size,
                                          const Compression& how)
{
    // Shorter than this a block costs more than it can save.
    constexpr std::size_t least = 64;
    if (how.method == CompressionMethod::none || raw.size() < least) return std::nullopt;
    check_compression("Compression", how);
    const Method& method = method_of(how.method);
    [[maybe_unused]] const int level = how.level != 0 ? how.level : method.usual_level;
    [[maybe_unused]] const MutableBytes to = room(raw.size() - 1);
    if (!contexts_) contexts_ = std::make_unique<Contexts>();
#if STEPSTORE_HAVE_ZSTD
    if (method.codec == Codec::zstd) {
        if (!contexts_->zstd) contexts_->zstd.reset(ZSTD_createCCtx());
        if (!contexts_->zstd) throw Error(-DER_NOMEM, "out of memory for zstd");
        ZSTD_CCtx_setParameter(contexts_->zstd.get(), ZSTD_c_compressionLevel, level);
        const std::size_t length =
            ZSTD_compress2(contexts_->zstd.get(), to.data(), to.size(), raw.data(), raw.size());
        if (!ZSTD_isError(length)) return Bytes(to.first(length));
        if (ZSTD_getErrorCode(length) == ZSTD_error_dstSize_tooSmall) return std::nullopt;
        throw Error(-DER_MISC, std::string("zstd cannot compress: ") + ZSTD_getErrorName(length));
    }
#endif
#if STEPSTORE_HAVE_BLOSC2
    if (const auto length = compress_with_blosc(raw, number_size, method, level, to))
        return Bytes(to.first(*length));
#endif
    return std::nullopt;
}

void decompress(Codec codec, Bytes stored, MutableBytes raw, std::string_view what)
{
    if (const std::string_view library = missing_library(codec); !library.empty())
        throw Error(-DER_NOSYS, std::string(what) + " is compressed, and this Stepstore was built without " +
                                    std::string(library) +
                                    ": install it and build Stepstore again; everything else can be read");
    switch (codec) {
    case Codec::none:
        if (stored.size() != raw.size()) damaged(what);
        std::ranges::copy(stored, raw.begin());
        return;
    case Codec::zstd: // NOLINT(bugprone-branch-clone): only in a build without both
#if STEPSTORE_HAVE_ZSTD
        if (ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size()) != raw.size())
            damaged(what);
#endif
        return;
    case Codec::adios2_null:
        if (stored.size() != raw.size() + null_header) damaged(what);
        std::ranges::copy(stored.subspan(null_header), raw.begin());
        return;
    case Codec::adios2_blosc: // NOLINT(bugprone-branch-clone): only in a build without C-Blosc2
#if STEPSTORE_HAVE_BLOSC2
        if (stored.size() < blosc_header) damaged(what);
        decompress_with_blosc(stored.subspan(blosc_header), BLOSC2_MAX_BUFFERSIZE, raw, what);
#endif
        return;
    case Codec::blosc:
    case Codec::blosc2:
#if STEPSTORE_HAVE_BLOSC2
        decompress_with_blosc(stored, codec == Codec::blosc ? blosc_piece : blosc2_piece, raw, what);
#endif
        return;
    default: break;
    }
    if (is_operator(codec))
        throw Error(-DER_NOSYS, std::string(what) + " was changed by " + name_of(codec) +
                                    ", which only ADIOS2 can undo: read it with a program that uses an "
                                    "ADIOS2 that has this operator; everything else can be read");
    throw Error(-DER_DF_INCOMPT, std::string(what) +
                                     " is compressed with a method that this library does not know (" +
                                     std::to_string(static_cast<int>(codec)) + "): use a newer Stepstore");
}

} // namespace stepstore::steps

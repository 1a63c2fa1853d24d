// The entry of a blob in the directory, as bytes (docs/design/blobs.md).
// Threads: any; pure. Errors: -DER_INVAL for an entry of an unknown form.
#pragma once

#include "stepstore/client.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::blobs {

// Larger blobs are array objects. Below, an entry takes one update and one read (docs/design/blobs.md).
inline constexpr std::size_t largest_small = std::size_t{32} << 10;

// summed: an array with checksums (sums.h)
enum class Kind : std::uint8_t { small = 1, array = 2, folder = 3, summed = 4 };

// What decode_entry() has found. value: of a small blob, in the bytes that were decoded.
struct Entry {
    Kind kind = Kind::small;
    std::uint64_t modified = 0; // nanoseconds since 1970
    Bytes value;
    std::uint64_t number = 0; // of an array object
    std::uint64_t bytes = 0;  // in it
    std::uint64_t sum = 0;    // of its checksums

    bool in_array() const { return kind == Kind::array || kind == Kind::summed; }
    std::uint64_t size() const { return in_array() ? bytes : value.size(); }
};

inline constexpr std::size_t entry_head = 1 + sizeof(std::uint64_t);
inline constexpr std::size_t array_entry = entry_head + 2 * sizeof(std::uint64_t);
inline constexpr std::size_t summed_entry = array_entry + sizeof(std::uint64_t);
inline constexpr std::size_t longest_entry = entry_head + largest_small;

// All say that the blob was written now.
std::vector<std::byte> small_entry(Bytes value);
// sums: the blob's checksums, which lie in its array too; nullopt: it has none.
std::vector<std::byte> array_entry_of(std::uint64_t number, std::uint64_t bytes,
                                      const std::optional<Bytes>& sums);
std::vector<std::byte> folder_entry();
std::vector<std::byte> touched(Bytes entry);

// where: "blob 'K' in POOL/CONTAINER", asked for if it fails. -DER_INVAL: a newer version's.
template <class Where>
Entry decode_entry(Bytes entry, Where&& where);

bool decode_entry(Bytes entry, Entry& into) noexcept; // false: it is of no form that is known
[[noreturn]] void refuse_entry(Bytes entry, const std::string& where);

template <class Where>
Entry decode_entry(Bytes entry, Where&& where)
{
    Entry decoded;
    if (!decode_entry(entry, decoded)) refuse_entry(entry, where());
    return decoded;
}

} // namespace stepstore::blobs

// Checksums of a blob that lies in an array, for pools that do not verify arrays
// (Capabilities::verifies_cells). One for each piece of it; they lie in its array after its bytes, from the
// next multiple of 64 on. The entry has the checksum of them all.
//
// Threads: one at a time. Errors: as they say.
#pragma once

#include "blobs/entry.h"
#include "blobs/state.h"

#include "base/checksum.h"

#include <optional>

namespace stepstore::blobs {

inline constexpr std::uint64_t summed_piece = 256 << 10; // bytes, the last piece has fewer
std::uint64_t sums_at(std::uint64_t bytes); // where they begin, in the array of a blob of so many bytes

// Of bytes that come one after the other.
class Sums {
public:
    void add(Bytes bytes);
    // Of all that was added. More may be added after it.
    std::vector<std::byte> list() const;

private:
    std::vector<std::byte> whole_; // of whole pieces
    std::optional<ChecksumStream> piece_;
    std::uint64_t in_piece_ = 0;
};

// A part of the blob, verified. False: the array ends before it. -DER_CSUM: it does not match, at a second
// look either. what: names the blob.
bool read_verified(const Array& array, const Entry& entry, const Part& part, MutableBytes into,
                   FunctionRef<std::string()> what);

} // namespace stepstore::blobs

// What DAOS takes from its caller's memory when an operation is launched, so that callers use the memory for
// something else while the operation runs (docs/design/events.md).
// Threads: made in the caller's, read in a worker's. Errors: std::bad_alloc.
#pragma once

#include "base/bytes.h"

#include <memory>

namespace stepstore::daos {

// Values and cells of less than this travel with the request on DAOS, so they are taken too.
inline constexpr std::size_t travels_with_request = 19456;

// Bytes of the caller: its own memory where the operation follows at once, else a copy.
class CallerBytes {
public:
    CallerBytes(Bytes bytes, bool runs_later) : bytes_(bytes)
    {
        if (!runs_later || bytes.empty()) return;
        copy_ = std::make_shared_for_overwrite<std::byte[]>(bytes.size());
        std::memcpy(copy_.get(), bytes.data(), bytes.size());
        bytes_ = {copy_.get(), bytes.size()};
    }
    Bytes view() const { return bytes_; }

private:
    Bytes bytes_;
    std::shared_ptr<std::byte[]> copy_;
};

} // namespace stepstore::daos

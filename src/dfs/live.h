// Which objects have been given to the caller and not been taken back. The handles of libdfs are pointers. So
// only by this a call can tell one that was released, or that is of another kind.
// Threads: any. A thread that releases what another one uses is the caller's fault, as in DAOS. Errors:
// std::bad_alloc of Live().
#pragma once

#include "base/not_copied.h"

#include <cstdint>

namespace stepstore::dfs {

enum class Kind : std::uint8_t { object, file_system, file_system_by_paths, listing };

bool is_live(Kind kind, const void* what) noexcept;
bool end_life(Kind kind, const void* what) noexcept; // false: it was not live, or another thread was first

// A part of an object that lives until its end, or until end_life().
class Live : NotCopied {
public:
    Live(Kind kind, const void* owner);
    ~Live() { end_life(kind_, owner_); }

private:
    Kind kind_;
    const void* owner_;
};

} // namespace stepstore::dfs

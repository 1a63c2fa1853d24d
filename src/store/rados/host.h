// What the module takes from the library that loads it, where there must be one for both. The locks that are
// held over a fork have an order, so the module must not have its own. Nor may it ask another host whether a
// wait is to end.
// Threads: any. Errors: none.
#pragma once

#include "base/fork.h"
#include "base/interrupt.h"

namespace stepstore::store::rados {

struct Host {
    std::mutex& (*held_over_fork)(ForkLock which) noexcept;
    std::uint64_t (*process_generation)() noexcept;
    Interrupts interrupts;
};
const Host& host() noexcept;

} // namespace stepstore::store::rados

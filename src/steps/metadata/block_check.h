// Whether a block can be put: its dimensions against those of its variable.
// Threads: any; pure. Errors: what `refuse` throws.
#pragma once

#include "base/function_ref.h"
#include "steps/types.h"

namespace stepstore::steps {

// Throws; is given what is wrong with the block.
using Refuse = FunctionRef<void(const std::string& why)>;
// The number of elements of a block that lies inside of its shape. Else `refuse` is called. outside: where
// given, a block of a global array may lie outside, and this is set then.
std::uint64_t checked_elements(const Variable& variable, DimsView shape, DimsView start, DimsView count,
                               Refuse refuse, bool* outside = nullptr);

} // namespace stepstore::steps

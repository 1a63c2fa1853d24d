// The variables of an IO as a reader has left them, in the IO's own order. Where they are the same in the
// next step, none has to be looked up by its name, which costs most of a step that brings nothing new.
// Threads: that of the IO. Errors: none; false says that the IO has changed.
#pragma once

#include "base/function_ref.h"
#include "core_api.h"

#include <unordered_map>
#include <vector>

namespace stepstore::adios {

class Inventory {
public:
    // ids: of the reader's variables, by their addresses. The IO's others are the program's own.
    void note(const adios2::IO& io, const std::unordered_map<const void*, steps::VariableId>& ids);
    bool noted() const { return noted_; }
    void forget() { noted_ = false; }

    // Looks at each of the reader's variables. False: the IO has others now, or nothing was noted. `owner`:
    // the engine of the reader's variables (belongs_to()). A variable that has come to the address of a
    // removed one has another.
    using Look = FunctionRef<void(steps::VariableId, const adios2::core::VariableBase&)>;
    bool visit(const adios2::IO& io, const adios2::core::Engine* owner, Look look) const;

private:
    struct Entry {
        const adios2::core::VariableBase* identity;
        steps::VariableId id; // none: the program's
    };
    static constexpr steps::VariableId none = UINT32_MAX;
    bool noted_ = false;
    std::vector<Entry> entries_;
};

} // namespace stepstore::adios

#include "memory_selection.h"

#include "daos_errno.h"
#include "steps/read/hyperslab.h"
#include "stepstore/error.h"

namespace stepstore::adios {

MemorySelection::MemorySelection(const Selection& selection, const adios2::Dims& count, steps::Order order,
                                 const std::string& variable)
    : start_(selection.GetMemoryStart()), count_(count), extent_(selection.GetMemoryCount()), order_(order)
{
    bool fits = start_.size() == count.size() && extent_.size() == count.size();
    for (std::size_t d = 0; fits && d < count.size(); ++d)
        fits = start_[d] <= extent_[d] && count[d] <= extent_[d] - start_[d];
    if (!fits)
        throw Error(-DER_INVAL, "stepstore: variable '" + variable + "': the memory selection start " +
                                    steps::to_text(start_) + " count " + steps::to_text(extent_) +
                                    " does not hold a block of " + steps::to_text(count));
}

void MemorySelection::pack(const void* array, std::byte* packed, std::size_t element_size) const
{
    steps::copy_shared({{}, extent_}, static_cast<const std::byte*>(array), {start_, count_}, packed,
                       element_size, order_);
}

void MemorySelection::unpack(const std::byte* packed, void* array, std::size_t element_size) const
{
    steps::copy_shared({start_, count_}, packed, {{}, extent_}, static_cast<std::byte*>(array), element_size,
                       order_);
}

} // namespace stepstore::adios

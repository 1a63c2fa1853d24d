#include "steps/metadata/block_check.h"

#include <algorithm>

namespace stepstore::steps {

std::uint64_t checked_elements(const Variable& variable, DimsView shape, DimsView start, DimsView count,
                               Refuse refuse, bool* outside)
{
    if (is_value(variable.kind))
        refuse("it is a " + std::string(name_of(variable.kind)) +
               ", which has no blocks: put a single value");
    if (count.empty() || count.size() > max_dimensions)
        refuse("a block has 1 to " + std::to_string(max_dimensions) + " dimensions, not " +
               std::to_string(count.size()));
    const bool global = variable.kind == ShapeKind::global_array;
    const bool local = variable.kind == ShapeKind::local_array;
    if (local ? !shape.empty() : shape.size() != count.size())
        refuse("the shape " + to_text(shape) + " does not fit a block of " + to_text(count) +
               (local ? "; a local array has no shape" : ""));
    if (global ? start.size() != count.size() : !start.empty())
        refuse("the start " + to_text(start) + " does not fit a block of " + to_text(count) +
               (global ? "" : "; only blocks of global arrays have a start"));
    if (variable.kind == ShapeKind::joined_array && std::ranges::count(shape, joined_dimension) != 1)
        refuse("the shape " + to_text(shape) + " of a joined array needs exactly one joined dimension");
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::uint64_t from = global ? start[d] : 0;
        if (shape[d] == joined_dimension && !global) continue;
        if (from <= shape[d] && count[d] <= shape[d] - from) continue;
        if (global && outside != nullptr)
            *outside = true;
        else
            refuse("the block start " + to_text(start) + " count " + to_text(count) +
                   " lies outside of the shape " + to_text(shape));
    }
    return elements(count);
}

} // namespace stepstore::steps

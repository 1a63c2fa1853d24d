// Puts of blocks that lie in the memory of a device.
#include "device.h"
#include "memory_selection.h"
#include "write.h"

#include <algorithm>
#include <vector>

namespace stepstore::adios {

// The program may use the block's memory again at once, as in BP5. So the block is copied before the put
// returns, and a large one is written too. ADIOS2's copies are made on this thread.
void WriteAdapter::put_from_device(Known& entry, const void* values)
{
    if (steps::is_value(entry.kind)) {
        std::vector<std::byte> value(entry.element_size);
        copy_from_device(value.data(), values, value.size());
        if (counts(entry)) writer_.put_value(entry.id, value.data());
        if (derived_.is_input(*entry.identity)) remember_input(entry, value.data(), steps::Mode::sync);
        return;
    }
    const auto selection = selection_in(*entry.identity);
    const adios2::Dims count = Lying(*entry.identity).count;
    const bool global = entry.kind == steps::ShapeKind::global_array;
    const steps::DimsView start = global ? steps::DimsView(selection.GetStart()) : steps::DimsView();
    steps::Dims shape;
    if (entry.kind != steps::ShapeKind::local_array) shape = stepstore::adios::shape_of(*entry.identity);
    std::ranges::replace(shape, adios2::JoinedDim, steps::joined_dimension);
    const auto elements = steps::elements(count);
    const auto copy = [&](MutableBytes to, std::uint64_t at) {
        copy_from_device(to.data(), static_cast<const std::byte*>(values) + at, to.size());
    };
    if (selection.HasMemorySelection()) {
        const MemorySelection memory(selection, count, order_, entry.name);
        const auto pack = [&](MutableBytes to, std::uint64_t) {
            std::vector<std::byte> all(memory.elements() * entry.element_size);
            copy(all, 0);
            memory.pack(all.data(), to.data(), entry.element_size);
        };
        const auto room = writer_.put_from(entry.id, {shape, start, count}, nullptr, pack, true);
        return remember_span(entry, selection, room);
    }
    const auto extremes =
        elements > 1 ? extremes_on_device(entry.element_type, values, elements) : std::nullopt;
    const bool stays = derived_.is_input(*entry.identity);
    const auto room =
        writer_.put_from(entry.id, {shape, start, count}, extremes ? &*extremes : nullptr, copy, stays);
    if (stays) remember_span(entry, selection, room);
}

} // namespace stepstore::adios

// Puts of blocks that lie in the memory of a device.
#include "device.h"
#include "memory_selection.h"
#include "write.h"

#include <algorithm>

namespace stepstore::adios {

// The block is copied once, into memory of the stream's, where it stays until the step ends.
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
    const auto put = [&](const steps::MinMax* extremes) {
        const auto room = writer_.put_span(entry.id, shape, start, count, extremes);
        remember_span(entry, selection, room);
        return room;
    };
    if (!selection.HasMemorySelection()) {
        const auto extremes =
            elements > 1 ? extremes_on_device(entry.element_type, values, elements) : std::nullopt;
        const auto room = put(extremes ? &*extremes : nullptr);
        return copy_from_device(room.data(), values, room.size());
    }
    const MemorySelection memory(selection, count, order_, entry.name);
    std::vector<std::byte> all(memory.elements() * entry.element_size);
    const auto room = put(nullptr);
    if (room.empty()) return;
    copy_from_device(all.data(), values, all.size());
    memory.pack(all.data(), room.data(), entry.element_size);
}

} // namespace stepstore::adios

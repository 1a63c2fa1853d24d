// A writer's derived variables: what they are computed from, and their puts at the end of a step.
#include "memory_selection.h"
#include "write.h"

#include <algorithm>

namespace stepstore::adios {

void WriteAdapter::remember_span(const Known& entry, const Selection& selection, std::span<std::byte> room)
{
    const auto& base = *entry.identity;
    if (derived_.is_input(base)) derived_.put_span(base, {selection.GetStart(), base.m_Count, room.data()});
}

void WriteAdapter::remember_input(const Known& entry, const void* values, steps::Mode mode)
{
    const auto& base = *entry.identity;
    if (steps::is_value(entry.kind)) return derived_.put(base, {{}, {}, values}, entry.element_size, false);
    const auto selection = selection_in(base);
    InputBlock block{selection.GetStart(), base.m_Count, values};
    const auto bytes = steps::elements(block.count) * entry.element_size;
    if (!selection.HasMemorySelection())
        return derived_.put(base, std::move(block), bytes, mode == steps::Mode::deferred);
    std::vector<std::byte> packed(bytes);
    MemorySelection(selection, block.count, order_, entry.name)
        .pack(values, packed.data(), entry.element_size);
    derived_.put_packed(base, std::move(block), std::move(packed));
}

void WriteAdapter::put_derived()
{
    const auto puts_of = [this, before = next_put_](const adios2::core::VariableBase& variable) {
        return static_cast<std::size_t>(
            std::ranges::count(std::span(puts_).first(before), &variable, &Put::identity));
    };
    derived_.each(puts_of, [&](adios2::core::VariableDerived& variable, const DerivedBlock& block) {
        using Kind = adios2::DerivedVarType;
        DerivedVariable one(variable);
        auto& entry = known(one);
        const auto& base = *entry.identity;
        if (steps::is_value(entry.kind)) return writer_.put_value(entry.id, block.values.get());
        if (variable.GetDerivedType() == Kind::StoreData) {
            look_for_operators(one, entry);
        } else {
            writer_.operate(entry.id, variable.GetDerivedType() == Kind::ExpressionString
                                          ? steps::leaving_all_out()
                                          : steps::leaving_data_out());
            entry.operation = &base;
            writer_.attribute(steps::expression_attribute(entry.name), {&expression_of(variable), 1});
        }
        steps::Dims shape = base.m_Shape;
        std::ranges::replace(shape, adios2::JoinedDim, steps::joined_dimension);
        if (entry.kind == steps::ShapeKind::local_array) shape.clear();
        const bool global = entry.kind == steps::ShapeKind::global_array;
        // Nothing is read of what was not computed (leaving_all_out).
        const void* values = block.values ? block.values.get() : &base;
        writer_.put(entry.id, shape, global ? steps::DimsView(block.start) : steps::DimsView(), block.count,
                    values, steps::Mode::sync);
    });
}

} // namespace stepstore::adios

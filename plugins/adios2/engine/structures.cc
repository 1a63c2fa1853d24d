#include "structures.h"

#ifdef STEPSTORE_ADIOS2_CORE
#include "read.h"
#endif

#include <algorithm>

namespace stepstore::adios {

void FieldMoves::apply(const std::byte* stored, std::byte* wanted, std::uint64_t structs) const
{
    for (std::uint64_t i = 0; i < structs; ++i, stored += stored_size, wanted += wanted_size)
        for (const auto& move : moves)
            std::memcpy(wanted + move.to, stored + move.from, move.length);
}

std::optional<FieldMoves> moves_between(const steps::Structure& stored, const steps::Structure& wanted,
                                        const std::string& what)
{
    FieldMoves result{stored.size, wanted.size, {}};
    bool same = stored.size == wanted.size;
    for (const auto& field : wanted.fields) {
        const auto found = std::ranges::find(stored.fields, field.name, &steps::Structure::Field::name);
        if (found == stored.fields.end() || found->type != field.type || found->count != field.count)
            throw Error(-DER_INVAL, what + " is of " + steps::to_text(stored) + ", and is to be read as " +
                                        steps::to_text(wanted) + ": field '" + field.name +
                                        "' needs the name, type and number of elements of a stored one");
        same &= found->offset == field.offset;
        result.moves.push_back({found->offset, field.offset, field.count * steps::size_of(field.type)});
    }
    return same ? std::nullopt : std::optional(std::move(result));
}

#ifdef STEPSTORE_ADIOS2_CORE

namespace core = adios2::core;

namespace {

std::optional<steps::Type> type_of_field(adios2::DataType type)
{
    for (std::uint8_t number = 1; !steps::name_of(static_cast<steps::Type>(number)).empty(); ++number) {
        const auto one = static_cast<steps::Type>(number);
        if (steps::size_of(one) != 0 && data_type(one) == type) return one;
    }
    return std::nullopt;
}

std::string named(const core::VariableStruct& variable)
{
    return "stepstore: variable '" + variable.m_Name + "'";
}

} // namespace

steps::Structure structure_of(const core::StructDefinition& definition, const std::string& what)
{
    steps::Structure structure{definition.StructName(), definition.StructSize(), {}};
    for (std::size_t i = 0; i < definition.Fields(); ++i) {
        const auto type = type_of_field(definition.Type(i));
        if (!type)
            throw Error(-DER_NOTSUPPORTED, what + ": field '" + definition.Name(i) + "' of its struct is a " +
                                               adios2::ToString(definition.Type(i)) +
                                               ": fields are numbers and characters");
        structure.fields.push_back(
            {definition.Name(i), definition.Offset(i), *type, definition.ElementCount(i)});
    }
    return structure;
}

core::StructDefinition& definition_in(core::IO& io, const steps::Structure& structure)
{
    auto& definition = io.DefineStruct(structure.name, structure.size);
    for (const auto& field : structure.fields)
        definition.AddField(field.name, field.offset, data_type(field.type), field.count);
    return definition;
}

// A variable that was read, and is written on, has been converted to what it was read as.
steps::Variable definition_of(const StructVariable& variable, bool)
{
    const auto& core = variable.core();
    const auto* definition =
        core.m_ReadStructDefinition != nullptr ? core.m_ReadStructDefinition : core.m_WriteStructDefinition;
    return {core.m_Name, steps::Type::structure, kind_of(core.m_ShapeID, core.m_Name),
            std::make_shared<const steps::Structure>(structure_of(*definition, named(core)))};
}

// As BP5 does: anew in each step, with the definition that it was read with before.
void ReadAdapter::define_structure(Shown& shown, const steps::Dims& shape)
{
    if (host_ == nullptr) return;
    const auto& name = shown.definition.name;
    auto& io = core_of(io_);
    if (shown.stored_as == nullptr) shown.stored_as = &definition_in(io, *shown.definition.structure);
    inventory_.forget();
    io.RemoveVariable(name);
    auto& variable =
        io.DefineStructVariable(name, *shown.stored_as, shape, adios2::Dims(shape.size(), 0), shown.count);
    variable.m_ReadStructDefinition = shown.read_as;
    variable.m_Engine = host_;
    variable.m_AvailableStepsCount = available_steps_of(name);
    shown.identity = &variable;
    shown.shape = shape;
}

void ReadAdapter::get(core::VariableStruct& variable, void* values, steps::Mode mode)
{
    const auto id = id_of(&variable, variable.m_Name, steps::Type::structure);
    const auto definition = reader().definitions()[id]; // a copy: looking for a step may make more known
    auto* wanted = variable.m_ReadStructDefinition;
    const auto what = named(variable) + " " + where();
    if (wanted == nullptr)
        throw Error(-DER_INVAL, what +
                                    " has no definition to be read as, as BP5 wants: call SetReadStructDef "
                                    "before Get, with that of GetWriteStructDef or one of your own");
    if (shown_.size() <= id) shown_.resize(id + 1);
    auto& read_as = shown_[id].read_as;
    if (read_as != nullptr && read_as != wanted)
        throw Error(-DER_INVAL, what + " was read with another definition before: set that one "
                                       "(SetReadStructDef), or open the stream again");
    const auto structure = structure_of(*wanted, what);
    const auto moves = moves_between(*definition.structure, structure, what);
    read_as = wanted;
    const bool device = is_on_device(variable, values);
    const auto selection = selection_in(variable);
    each_selected_step(id, definition, selection, values, [&](std::uint64_t step, void* to) {
        return structure.size *
               get_elements(id, definition, {to, device, moves ? &*moves : nullptr}, selection, mode, step);
    });
}

#endif

} // namespace stepstore::adios

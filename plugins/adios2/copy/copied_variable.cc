#include "copied_variable.h"

#include "core_api.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace stepstore::adios {

namespace {

adios2::VariableNT inquire(adios2::IO& io, const std::string& name)
{
    return io.InquireVariableType(name) == adios2::DataType::Struct ? io.InquireStructVariable(name)
                                                                    : io.InquireVariable(name);
}

// ADIOS2 has no BlocksInfo of structs in BP files. But it asks an engine for the blocks of any variable by
// its base class, so the type in its hand does not matter.
std::vector<adios2::VariableNT::Info> blocks_of(adios2::Engine& engine, adios2::VariableNT& variable)
{
    const auto step = engine.CurrentStep();
    if (variable.Type() != "struct") return engine.BlocksInfo(variable, step);
    static_assert(sizeof(adios2::VariableNT) == sizeof(adios2::Variable<std::uint8_t>)); // a pointer to it
    std::vector<adios2::VariableNT::Info> blocks;
    for (const auto& one : engine.BlocksInfo(std::bit_cast<adios2::Variable<std::uint8_t>>(variable), step)) {
        auto& block = blocks.emplace_back();
        block.Start = one.Start;
        block.Count = one.Count;
    }
    return blocks;
}

} // namespace

std::vector<std::string> variables_of(adios2::IO& io)
{
    std::vector<std::string> names;
    for (const auto& [name, variable] : core_of(io).GetVariables())
        if (io.InquireVariableType(name) != adios2::DataType::None) names.push_back(name); // of this step
    std::ranges::sort(names);
    return names;
}

CopiedVariable::CopiedVariable(adios2::IO& io, adios2::Engine& engine, const std::string& of)
    : name(of), type(io.InquireVariableType(of)), variable(inquire(io, of)), kind(variable.ShapeID())
{
    if (is_struct() && kind != adios2::ShapeID::GlobalArray)
        throw Error(-DER_NOSYS,
                    "copy variable '" + name +
                        "': it is a local array of structs, which ADIOS2 writes into BP files but "
                        "cannot read: write it as a global array");
    blocks = blocks_of(engine, variable);
    if (type == adios2::DataType::String && kind == adios2::ShapeID::GlobalArray && blocks.size() > 1)
        throw Error(-DER_NOSYS, "copy variable '" + name + "': it is a string of each of " +
                                    std::to_string(blocks.size()) +
                                    " writers, and ADIOS2 writes no arrays of strings: write it on one rank");
    // All writers put a global value. The first one counts.
    if (kind == adios2::ShapeID::GlobalValue && blocks.size() > 1) blocks.resize(1);
    // Local values are shown as an array with an element for each. In BP4 the blocks do not say where.
    const bool shows_values =
        kind == adios2::ShapeID::GlobalArray && !blocks.empty() && blocks.front().IsValue;
    for (std::size_t i = 0; shows_values && i < blocks.size(); ++i) {
        blocks[i].Start = {i};
        blocks[i].Count = {1};
    }
    by_box = shows_values || is_struct(); // ADIOS2 gives no single block of structs
    if (is_struct()) variable.SetReadStructDef(variable.GetWriteStructDef());
}

Memory CopiedVariable::get(adios2::Engine& engine, std::size_t block)
{
    if (by_box)
        variable.SetSelection({blocks[block].Start, blocks[block].Count});
    else if (kind != adios2::ShapeID::GlobalValue)
        variable.SetBlockSelection(block);
    Memory memory;
    memory.is_text = type == adios2::DataType::String;
    if (!memory.is_text) {
        const adios2::Dims count = is_value() ? adios2::Dims() : blocks[block].Count;
        memory.bytes.resize(std::accumulate(count.begin(), count.end(), element_size(),
                                            [](std::size_t a, std::size_t b) { return a * b; }));
    }
    if (memory.is_text || !memory.bytes.empty()) engine.Get(variable, memory.data(), adios2::Mode::Sync);
    return memory;
}

std::string CopiedVariable::structure() const
{
    if (!is_struct()) return {};
    const auto definition = adios2::VariableNT(variable).GetWriteStructDef();
    std::string text = definition.StructName() + " of " + std::to_string(definition.StructSize());
    for (std::size_t i = 0; i < definition.Fields(); ++i)
        text += "; " + definition.Name(i) + " " + std::to_string(definition.Offset(i)) + " " +
                adios2::ToString(definition.Type(i)) + " " + std::to_string(definition.ElementCount(i));
    return text;
}

std::size_t CopiedVariable::element_size()
{
    return is_struct() ? variable.GetWriteStructDef().StructSize() : variable.Sizeof();
}

} // namespace stepstore::adios

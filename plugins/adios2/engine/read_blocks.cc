// What a reader says of single blocks: BlocksInfo(), and how large a selection is.
#include "read.h"

#include <algorithm>

namespace stepstore::adios {

// The blocks of a variable in a step, in the program's order of dimensions. They are kept for programs that
// go through them one by one.
ReadAdapter::Blocks& ReadAdapter::blocks_of(steps::VariableId id, std::uint64_t step) const
{
    const auto found = blocks_.find({id, step});
    if (found != blocks_.end()) return found->second;
    Blocks fresh{in_program_order(reader().shape(id, step)), reader().blocks(id, step), {}, {}};
    const bool strings = reader().definitions()[id].type == steps::Type::string;
    for (auto& block : fresh.blocks) {
        block.start = in_program_order(std::move(block.start));
        block.count = in_program_order(std::move(block.count));
        if (strings) fresh.strings.push_back(reader().get_string(id, block.index, step));
    }
    auto& kept = blocks_[{id, step}] = std::move(fresh);
    for (const auto& text : kept.strings)
        kept.texts.push_back(text.c_str());
    return kept;
}

const steps::Block& ReadAdapter::block_of(steps::VariableId id, std::uint64_t block, std::uint64_t step) const
{
    const auto& blocks = blocks_of(id, step).blocks;
    if (block >= blocks.size())
        throw Error(-DER_INVAL, "stepstore: variable '" + reader().definitions()[id].name + "' " + where() +
                                    " has no block " + std::to_string(block) + " in step " +
                                    std::to_string(step == steps::this_step ? last_step_ : step) +
                                    ": it has " + std::to_string(blocks.size()));
    return blocks[block];
}

// Programs make room for what ADIOS2 says is selected: a vector in Get, the arrays of Python. ADIOS2 asks no
// plugin for the size of a block, or for the shape of a step that is read at random. It gives what was
// selected before, or the whole shape. The plugin refuses that where it is too little. In Python it always
// refuses, because the result would have another shape.
void ReadAdapter::check_room(steps::VariableId id, const Selection& selection, const adios2::Dims& told,
                             std::uint64_t step) const
{
    if (selection.GetSelectionType() == adios2::SelectionType::BoundingBox || selection.HasMemorySelection())
        return;
    const auto definition = reader().definitions()[id]; // a copy: looking for a step may make more known
    const bool by_block = definition.kind == steps::ShapeKind::local_array || selection.HasBlockSelection();
    if (!by_block && access_ == Access::stream) return;
    steps::Dims start;
    steps::Dims count;
    if (definition.kind == steps::ShapeKind::local_value && by_block) {
        start = {selection.GetBlockID()};
        count = {1};
    } else if (by_block) {
        const auto& block = block_of(id, selection.GetBlockID(), step);
        count = block.count;
        start = block.start;
        start.resize(count.size(), 0);
    } else {
        count = in_program_order(reader().shape(id, step));
        start.assign(count.size(), 0);
    }
    if (parameters_.python ? count == told : steps::elements(count) <= steps::elements(told)) return;
    const bool in_block = definition.kind == steps::ShapeKind::local_array;
    const std::string block = "block " + std::to_string(selection.GetBlockID());
    throw Error(-DER_INVAL, "stepstore: " + (by_block ? block + " of " : std::string()) + "variable '" +
                                definition.name + "' " + where() + " has the size " + steps::to_text(count) +
                                ", but ADIOS2 tells the program " + steps::to_text(told) +
                                " without asking the plugin: select the box with start " +
                                steps::to_text(start) + " and count " + steps::to_text(count) +
                                (in_block ? " in " + block : std::string()) +
                                (by_block && !in_block ? " instead of the block" : ""));
}

steps::VariableId ReadAdapter::require(const std::string& name) const
{
    const auto id = reader().find(name);
    if (!id) throw Error(-DER_NONEXIST, "stepstore: there is no variable '" + name + "' " + where());
    return *id;
}

bool ReadAdapter::shape_of(const std::string& name, std::size_t asked_step, adios2::Dims& shape) const
{
    const auto id = require(name);
    const auto kind = reader().definitions()[id].kind;
    if (kind != steps::ShapeKind::global_array && kind != steps::ShapeKind::joined_array) return false;
    const auto step = access_ == Access::stream ? steps::this_step : absolute_step(id, asked_step);
    shape = in_program_order(reader().shape(id, step));
    return true;
}

bool ReadAdapter::has_extremes(const std::string& name) const
{
    return steps::has_minmax(reader().definitions()[require(name)].type);
}

bool ReadAdapter::minmax_of(const std::string& name, std::size_t asked_step,
                            adios2::MinMaxStruct& minmax) const
{
    const auto id = require(name);
    const auto type = reader().definitions()[id].type;
    std::vector<std::uint64_t> steps{steps::this_step};
    if (access_ == Access::random && asked_step == adios2::DefaultSizeT)
        steps = reader().available_steps(id);
    else if (access_ == Access::random)
        steps = {absolute_step(id, asked_step)};
    bool any = false;
    with_type(type, [&]<class T>(std::type_identity<T>) {
        if constexpr (std::is_arithmetic_v<T>) {
            T low{};
            T high{};
            for (const auto step : steps) {
                const auto one = reader().minmax(id, step);
                if (!one) continue;
                low = any ? std::min(low, one->min.as<T>()) : one->min.as<T>();
                high = any ? std::max(high, one->max.as<T>()) : one->max.as<T>();
                any = true;
            }
            std::memcpy(&minmax.MinUnion, &low, sizeof low);
            std::memcpy(&minmax.MaxUnion, &high, sizeof high);
        }
    });
    return any;
}

std::vector<std::size_t> ReadAdapter::steps_of(const std::string& name) const
{
    if (access_ == Access::stream) return {last_step_};
    const auto steps = reader().available_steps(require(name));
    return {steps.begin(), steps.end()};
}

void ReadAdapter::refuse_blocks_of_steps(const std::string& name) const
{
    if (parameters_.python && access_ == Access::random && reader().available_count(require(name)) > 1)
        throw Error(-DER_NOTSUPPORTED,
                    "stepstore: the blocks of variable '" + name + "' " + where() +
                        ", read at random: ADIOS2's Python interface asks a plugin for the first step only. "
                        "To see the blocks of each step read step by step (mode \"r\")");
}

adios2::MinVarInfo* ReadAdapter::blocks_info(const std::string& name, std::size_t asked_step) const
{
    const auto id = require(name);
    const auto step = access_ == Access::stream ? steps::this_step : absolute_step(id, asked_step);
    return blocks_info_of(name, step, asked_step);
}

adios2::MinVarInfo* ReadAdapter::blocks_info_of(const std::string& name, std::uint64_t step,
                                                std::size_t told) const
{
    const auto id = require(name);
    const auto definition = reader().definitions()[id]; // a copy: looking for a step may make more known
    const bool local_value = definition.kind == steps::ShapeKind::local_value;
    auto& kept = blocks_of(id, step);
    const auto dimensions = kept.blocks.empty() ? kept.shape.size() : kept.blocks.front().count.size();
    auto info = std::make_unique<adios2::MinVarInfo>(static_cast<int>(dimensions), nullptr);
    info->Step = told;
    info->WasLocalValue = local_value;
    info->IsValue = definition.kind == steps::ShapeKind::global_value;
    info->IsReverseDims = dimensions > 1 && reversed();
    // ADIOS2's convention for local values: numbers in the place of pointers.
    using Extents = decltype(adios2::MinBlockInfo::Start); // const since 2.11
    auto number = [](std::uint64_t value) { return reinterpret_cast<Extents>(value); };
    if (local_value) {
        info->Dims = 1;
        info->Shape = number(kept.blocks.size());
    } else if (!kept.shape.empty()) {
        info->Shape = kept.shape.data();
    }
    info->BlocksInfo.reserve(kept.blocks.size());
    for (std::size_t i = 0; i < kept.blocks.size(); ++i) {
        auto& block = kept.blocks[i];
        adios2::MinBlockInfo one{};
        one.WriterID = static_cast<int>(block.writer_rank);
        one.BlockID = block.index;
        one.Start = local_value           ? number(block.writer_rank)
                    : block.start.empty() ? nullptr
                                          : const_cast<Extents>(block.start.data());
        one.Count = local_value           ? number(1)
                    : block.count.empty() ? nullptr
                                          : const_cast<Extents>(block.count.data());
        if (block.minmax) {
            static_assert(sizeof one.MinMax.MinUnion >= sizeof block.minmax->min.bytes);
            std::memcpy(&one.MinMax.MinUnion, block.minmax->min.bytes.data(), sizeof block.minmax->min.bytes);
            std::memcpy(&one.MinMax.MaxUnion, block.minmax->max.bytes.data(), sizeof block.minmax->max.bytes);
        }
        if (definition.type == steps::Type::string)
            one.BufferP = &kept.texts[i];
        else
            one.BufferP = block.value.bytes.data();
        info->BlocksInfo.push_back(one);
    }
    return info.release();
}

} // namespace stepstore::adios

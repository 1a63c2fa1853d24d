// Computes derived variables with ADIOS2's own functions, and keeps what a writer needs for them.
#include "derived.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace stepstore::adios {

namespace core = adios2::core;

namespace {

// ADIOS2's parser and what follows it go one call deeper with each sign of a chain.
constexpr std::size_t longest_expression = 4096;

template <class Call>
decltype(auto) as_invalid(const std::string& what, Call&& call)
{
    try {
        return call();
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        throw Error(-DER_INVAL, what + ": " + error.what());
    }
}

std::string what_is(core::VariableDerived& variable)
{
    return "stepstore: derived variable '" + variable.m_Name + "' (" + expression_of(variable) + ")";
}

using Places = std::map<std::string, std::tuple<adios2::Dims, adios2::Dims, adios2::Dims>>;

void check_curls(core::VariableDerived& variable,
                 const std::map<std::string, std::vector<InputBlock>>& inputs)
{
    const auto blocks = inputs.empty() ? 0 : inputs.begin()->second.size();
    for (std::size_t i = 0; i < blocks; ++i) {
        Places places;
        for (const auto& [name, of_input] : inputs)
            if (i < of_input.size()) places[name] = {of_input[i].start, of_input[i].count, of_input[i].count};
        for (const auto& size : as_invalid(what_is(variable), [&] { return curled(variable, places); }))
            if (size.size() != 4 || size.back() != 3)
                throw Error(-DER_INVAL, what_is(variable) +
                                            ": curl() of one array wants a size of {x, y, z, 3}, "
                                            "and a block has " +
                                            steps::to_text(size));
    }
}

bool has_one_element(const DerivedBlock& block)
{
    return std::ranges::all_of(block.count, [](auto extent) { return extent == 1; });
}

} // namespace

void DerivedBlock::Free::operator()(void* memory) const
{
    std::free(memory); // as ADIOS2 makes it
}

std::vector<DerivedBlock> derive(core::VariableDerived& variable,
                                 const std::map<std::string, std::vector<InputBlock>>& inputs, bool compute)
{
    using Extents = decltype(adios2::MinBlockInfo::Start); // const since 2.11
    if (compute) check_curls(variable, inputs);
    std::map<std::string, std::unique_ptr<adios2::MinVarInfo>> given;
    // Blocks of local arrays have no start, and ADIOS2 looks at one.
    adios2::Dims zeros;
    for (const auto& [name, blocks] : inputs)
        for (const auto& block : blocks)
            zeros.resize(std::max(zeros.size(), block.count.size()));
    for (const auto& [name, blocks] : inputs) {
        const auto dimensions = blocks.empty() ? 0 : blocks.front().count.size();
        auto info = std::make_unique<adios2::MinVarInfo>(static_cast<int>(dimensions), nullptr);
        for (const auto& block : blocks) {
            if (block.count.size() != dimensions)
                throw Error(-DER_INVAL, what_is(variable) + ": the blocks of '" + name +
                                            "' have different numbers of dimensions");
            adios2::MinBlockInfo one{};
            one.Start = const_cast<Extents>(block.start.empty() ? zeros.data() : block.start.data());
            one.Count = const_cast<Extents>(block.count.data());
            one.BufferP = const_cast<void*>(block.values);
            info->BlocksInfo.push_back(one);
        }
        given.emplace(name, std::move(info));
    }
    return as_invalid(what_is(variable), [&] {
        std::vector<DerivedBlock> made;
        for (auto& [values, start, count] : apply_expression(variable, given, compute))
            made.push_back(
                {std::move(start), std::move(count), std::unique_ptr<void, DerivedBlock::Free>(values)});
        return made;
    });
}

std::vector<std::string> variables_in(const std::string& expression, const std::string& what)
{
    if (expression.size() > longest_expression)
        throw Error(-DER_INVAL, what + ": its expression has " + std::to_string(expression.size()) +
                                    " characters, more than " + std::to_string(longest_expression));
    auto names = as_invalid(what, [&] { return names_in(expression); });
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.empty())
        throw Error(-DER_INVAL, what + ": its expression '" + expression + "' names no variable");
    return names;
}

Derivation::Derivation(core::IO& of_program)
    : io_(std::make_unique<core::IO>(of_program.m_ADIOS, "stepstore derived variable", false,
                                     of_program.m_HostLanguage))
{
}

// As a part of the whole array, or as a block that stands alone.
void Derivation::input(const steps::Variable& definition, const steps::Dims& shape, const steps::Block& first)
{
    with_type(definition.type, [&]<class T>(std::type_identity<T>) {
        if (steps::is_value(definition.kind))
            io_->DefineVariable<T>(definition.name);
        else if (definition.kind == steps::ShapeKind::global_array)
            io_->DefineVariable<T>(definition.name, shape, first.start, first.count);
        else
            io_->DefineVariable<T>(definition.name, {}, {}, first.count);
    });
}

void Derivation::define(const steps::Variable& definition, const std::string& expression,
                        const std::string& what)
{
    variable_ = as_invalid(what, [&] {
        return &io_->DefineDerivedVariable(definition.name, expression, adios2::DerivedVarType::StoreData);
    });
    if (variable_->m_Type != data_type(definition.type))
        throw Error(-DER_INVAL,
                    what + ": its expression '" + expression + "' gives elements of another type");
}

steps::Variable definition_of(const DerivedVariable& variable, bool)
{
    const auto& base = variable.core();
    std::optional<steps::Type> type;
#define if_type(T)                                                                                           \
    if (base.m_Type == adios2::helper::GetDataType<T>()) type = steps::type_of<T>();
    ADIOS2_FOREACH_STDTYPE_1ARG(if_type)
#undef if_type
    if (!type)
        throw Error(-DER_INVAL, "stepstore: derived variable '" + base.m_Name +
                                    "' is of a type that this engine cannot store");
    return {base.m_Name, *type, kind_of(base.m_ShapeID, base.m_Name), nullptr};
}

void DerivedPuts::look()
{
    const auto& derived = core_of(io_).GetDerivedVariables();
    seen_ = derived.size();
    std::map<std::string, std::vector<Kept>> now;
    for (const auto& [name, variable] : derived)
        for (const auto& input : static_cast<core::VariableDerived&>(*variable).VariableNameList())
            if (auto known = inputs_.extract(input); !known.empty())
                now.insert(std::move(known));
            else
                now.try_emplace(input);
    inputs_ = std::move(now);
}

bool DerivedPuts::is_input(const core::VariableBase& variable)
{
    if (!usable_) return false;
    if (core_of(io_).GetDerivedVariables().size() != seen_) look();
    return seen_ > 0 && inputs_.contains(variable.m_Name);
}

void DerivedPuts::put(const core::VariableBase& input, InputBlock block, std::size_t bytes, bool deferred)
{
    auto& blocks = inputs_.at(input.m_Name);
    if (block.count.empty()) blocks.clear(); // of a value the last counts
    Kept& kept = blocks.emplace_back(Kept{std::move(block), bytes, {}});
    if (!deferred || bytes < copied_below_) copy(kept);
}

void DerivedPuts::put_span(const core::VariableBase& input, InputBlock block)
{
    inputs_.at(input.m_Name).push_back({std::move(block), 0, {}});
}

void DerivedPuts::put_packed(const core::VariableBase& input, InputBlock block, std::vector<std::byte> packed)
{
    Kept& kept = inputs_.at(input.m_Name).emplace_back(Kept{std::move(block), 0, std::move(packed)});
    kept.block.values = kept.own.data();
}

void DerivedPuts::copy(Kept& kept)
{
    const auto* from = static_cast<const std::byte*>(kept.block.values);
    kept.own.assign(from, from + std::exchange(kept.bytes, 0));
    kept.block.values = kept.own.data();
}

void DerivedPuts::keep()
{
    for (auto& [name, blocks] : inputs_)
        for (Kept& one : blocks)
            if (one.bytes > 0) copy(one);
}

void DerivedPuts::each(PutsOf puts_of, Put put)
{
    if (!usable_) return;
    const auto& derived = core_of(io_).GetDerivedVariables();
    if (derived.empty() || std::exchange(given_up_, false)) return;
    look();
    try {
        for (const auto& [name, variable] : derived)
            compute(static_cast<core::VariableDerived&>(*variable), puts_of, put);
    } catch (...) {
        given_up_ = true;
        inputs_.clear();
        seen_ = 0;
        throw;
    }
    for (auto& [name, blocks] : inputs_)
        blocks.clear();
}

// As in BP5 not in a step that lacks one of the inputs.
void DerivedPuts::compute(core::VariableDerived& variable, PutsOf puts_of, Put put)
{
    const auto& defined = core_of(io_).GetVariables();
    std::map<std::string, std::vector<InputBlock>> inputs;
    Places places;
    for (const auto& name : variable.VariableNameList()) {
        const auto found = defined.find(name);
        if (found == defined.end())
            throw Error(-DER_INVAL, what_is(variable) + ": the IO has no variable '" + name + "' any more");
        const auto& kept = inputs_.at(name);
        if (!found->second->m_SingleValue && puts_of(*found->second) != kept.size())
            throw Error(-DER_INVAL, what_is(variable) + ": it was defined after a Put of '" + name +
                                        "' in this step: define it before the step's first Put");
        if (kept.empty()) return;
        auto& blocks = inputs[name];
        for (const Kept& one : kept)
            blocks.push_back(one.block);
        if (blocks.size() != inputs.begin()->second.size())
            throw Error(-DER_INVAL, what_is(variable) + ": '" + name + "' was put " +
                                        std::to_string(blocks.size()) + " times in this step, and '" +
                                        inputs.begin()->first + "' " +
                                        std::to_string(inputs.begin()->second.size()) + " times");
        places[name] = {blocks.front().start, blocks.front().count, found->second->m_Shape};
    }
    // The shapes may have changed since it was defined.
    if (variable.m_ShapeID == adios2::ShapeID::GlobalArray)
        as_invalid(what_is(variable), [&] { variable.UpdateExprDim(places); });
    const bool only_expression = variable.GetDerivedType() == adios2::DerivedVarType::ExpressionString;
    bool known = !only_expression || variable.m_SingleValue;
    auto made = derive(variable, inputs, known);
    // A block of one element lies in the metadata.
    known |= std::ranges::any_of(made, has_one_element);
    if (only_expression && known) made = derive(variable, inputs, true);
    for (const DerivedBlock& block : made)
        put(variable, block);
}

} // namespace stepstore::adios

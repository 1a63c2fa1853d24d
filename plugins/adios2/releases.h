// What differs between the releases of ADIOS2, from 2.10 on. Nothing else in the plugin asks which one it is
// compiled for. Headers tell, not the version: packages of development versions have the number of the
// release before.
// Threads, errors: none.
#pragma once

#include <adios2/common/ADIOSConfig.h>
#include <adios2/common/ADIOSTypes.h>

#if __has_include(<adios2/cxx/IO.h>)
#include <adios2/cxx/IO.h>
#include <adios2/cxx/Variable.h>
#else // before 2.11
#include <adios2/cxx11/IO.h>
#include <adios2/cxx11/Variable.h>
#endif

// Since 2.12 plugins stand on the public interface, and what is selected can be handed to Get. Before that a
// plugin is an engine of the core, whose headers are installed.
#if __has_include(<adios2/common/Selection.h>)
#define STEPSTORE_ADIOS2_SELECTIONS
#include <adios2/common/Selection.h>
#include <adios2/plugin/PluginEngineInterface.h>
#include <adios2/plugin/PluginOperatorInterface.h>
#else
#include <adios2/core/VariableBase.h>
#include <adios2/engine/plugin/PluginEngineInterface.h>
#include <adios2/operator/plugin/PluginOperatorInterface.h>
#endif

#ifdef STEPSTORE_ADIOS2_CORE
#include <adios2/core/Engine.h>
#include <adios2/core/IO.h>
// Since 2.13: deferred gets of several threads.
#if __has_include(<adios2/core/GetContext.h>)
#define STEPSTORE_ADIOS2_GET_CONTEXTS
#include <adios2/core/GetContext.h>
#endif
#ifdef ADIOS2_HAVE_DERIVED_VARIABLE
#define STEPSTORE_ADIOS2_DERIVED
#include <adios2/core/VariableDerived.h>
#endif
#endif

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// Of a function of engines that is newer than 2.10.
#if __has_include(<adios2/cxx/IO.h>)
#define STEPSTORE_ADIOS2_SINCE_2_11(specifier) specifier
#else
#define STEPSTORE_ADIOS2_SINCE_2_11(specifier)
#endif

namespace stepstore::adios {

#ifdef STEPSTORE_ADIOS2_SELECTIONS

using Selection = adios2::core::Selection;

inline Selection selection_in(const adios2::core::VariableBase& variable)
{
    return adios2::core::InferSelection(variable);
}

inline const void* place_in_core()
{
    return reinterpret_cast<const void*>(&adios2::core::InferSelection);
}

#else

// What a program has selected in a variable, with the functions of the class of later releases.
class Selection {
public:
    explicit Selection(const adios2::core::VariableBase& of)
        : has_block_(of.m_SelectionType == adios2::SelectionType::WriteBlock || of.m_BlockID != 0),
          block_(of.m_BlockID), step_start_(of.m_StepsStart), step_count_(of.m_StepsCount),
          memory_start_(of.m_MemoryStart), memory_count_(of.m_MemoryCount),
          accuracy_(of.GetAccuracyRequested())
    {
        if (of.m_SelectionType != adios2::SelectionType::BoundingBox || of.m_Start.empty() ||
            of.m_Start.size() != of.m_Count.size())
            return;
        type_ = adios2::SelectionType::BoundingBox;
        start_ = of.m_Start;
        count_ = of.m_Count;
    }

    adios2::SelectionType GetSelectionType() const { return type_; }
    const adios2::Dims& GetStart() const { return start_; }
    const adios2::Dims& GetCount() const { return count_; }
    bool HasBlockSelection() const { return has_block_; }
    std::size_t GetBlockID() const { return block_; }
    std::size_t GetStepStart() const { return step_start_; }
    std::size_t GetStepCount() const { return step_count_; }
    bool HasMemorySelection() const { return !memory_start_.empty(); }
    const adios2::Dims& GetMemoryStart() const { return memory_start_; }
    const adios2::Dims& GetMemoryCount() const { return memory_count_; }
    const adios2::Accuracy& GetAccuracy() const { return accuracy_; }

private:
    adios2::SelectionType type_ = adios2::SelectionType::WriteBlock; // unless it is a box
    adios2::Dims start_, count_;
    bool has_block_;
    std::size_t block_, step_start_, step_count_;
    adios2::Dims memory_start_, memory_count_;
    adios2::Accuracy accuracy_;
};

inline Selection selection_in(const adios2::core::VariableBase& variable)
{
    return Selection(variable);
}

inline const void* place_in_core()
{
    return reinterpret_cast<const void*>(&adios2::core::IO::RegisterEngine);
}

#endif

// Since 2.11 an operator is told of the engine and the variable.
template <class Operator>
void tell_operator([[maybe_unused]] Operator& operation, [[maybe_unused]] const adios2::Params& parameters)
{
    if constexpr (requires { operation.AddExtraParameters(parameters); })
        operation.AddExtraParameters(parameters);
}

// Since 2.11 a program can ask for the statistics of a variable alone (StoreStatsOnly).
template <class Variable>
bool stores_data([[maybe_unused]] const Variable& variable)
{
    if constexpr (requires { variable.m_WriteData; })
        return variable.m_WriteData;
    else
        return true;
}

// Since 2.11 a reader can be opened with metadata in memory: with_metadata() gives what makes it.
#ifdef STEPSTORE_ADIOS2_CORE
template <class WithMetadata, class Entry = adios2::core::IO::EngineFactoryEntry>
Entry factory_entry(adios2::core::IO::MakeEngineFunc reader, adios2::core::IO::MakeEngineFunc writer,
                    [[maybe_unused]] WithMetadata with_metadata)
{
    Entry entry{};
    entry.MakeReader = std::move(reader);
    entry.MakeWriter = std::move(writer);
    if constexpr (requires { entry.MakeReaderWithMD; }) entry.MakeReaderWithMD = with_metadata();
    return entry;
}
#endif

#ifdef STEPSTORE_ADIOS2_DERIVED
// Since 2.12 an expression is a tree, from which ADIOS2 makes code.
inline std::vector<std::string> names_in(const std::string& expression)
{
#if __has_include(<adios2/toolkit/derived/ExprNode.h>)
    return adios2::derived::VariableNameList(adios2::detail::ParseToExprNode(expression));
#else
    return adios2::derived::Expression(expression).VariableNameList();
#endif
}

template <class Derived>
const std::string& expression_of(const Derived& variable)
{
    if constexpr (requires { variable.m_ExprString; })
        return variable.m_ExprString;
    else if constexpr (requires { variable.m_Expr.m_ExprString; }) // 2.11
        return variable.m_Expr.m_ExprString;
    else // 2.10
        return variable.m_Expr.ExprString;
}

// The sizes of what curl() gets as one array, which ADIOS2 takes for those of three components unseen. Before
// 2.12 that cannot be asked.
template <class Derived, class Places>
std::vector<adios2::Dims> curled([[maybe_unused]] const Derived& variable,
                                 [[maybe_unused]] const Places& places)
{
    std::vector<adios2::Dims> sizes;
    if constexpr (requires { variable.m_CodeStream.Instructions; }) {
        auto code = variable.m_CodeStream;
        for (const auto& instruction : variable.m_CodeStream.Instructions) {
            if (instruction.Op != adios2::detail::OP_CURL || instruction.InputBufs.size() != 1) continue;
            code.OutputBufID = instruction.InputBufs.front();
            sizes.push_back(std::get<1>(GetDims(code, places)));
        }
    }
    return sizes;
}

// 2.10 cannot tell where blocks lie without computing them.
template <class Derived, class Inputs>
auto apply_expression(Derived& variable, Inputs& inputs, [[maybe_unused]] bool compute)
{
    if constexpr (requires { variable.ApplyExpression(inputs, compute); })
        return variable.ApplyExpression(inputs, compute);
    else
        return variable.ApplyExpression(inputs);
}
#endif

} // namespace stepstore::adios

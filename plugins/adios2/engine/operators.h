// ADIOS2's operators on the blocks of a stream. They are applied and undone with the headers of ADIOS2's
// core, where these fit the ADIOS2 of the process. Elsewhere a variable with an operator is refused.
// Threads: that of the engine. Errors: -DER_NOTSUPPORTED, -DER_CSUM, -DER_MISC with ADIOS2's own text.
#pragma once

#include "core_api.h"
#include "steps/block_operator.h"

namespace stepstore::adios {

#ifdef STEPSTORE_ADIOS2_CORE
// StoreStatsOnly, which counts where there is no operator, as in BP5.
inline bool leaves_data_out(const adios2::core::VariableBase& variable)
{
    return !stores_data(variable) && variable.m_Type != adios2::DataType::Struct;
}

// Changes when the variable's operator does; nullptr: it has none, or `null`. StoreStatsOnly is one here.
inline const void* identity_of_operator(const adios2::core::VariableBase& variable)
{
    const auto& operations = variable.m_Operations;
    if (operations.empty()) return leaves_data_out(variable) ? &variable : nullptr;
    return operations.front()->m_TypeEnum == adios2::core::Operator::COMPRESS_NULL ? nullptr
                                                                                   : operations.front().get();
}
#else
inline const void* identity_of_operator(const adios2::core::VariableBase&)
{
    return nullptr;
}
#endif
// Of a variable where that is not nullptr. -DER_NOTSUPPORTED: it has several.
std::shared_ptr<steps::BlockOperator> operator_of(const adios2::core::VariableBase& variable,
                                                  const std::string& engine_name, steps::Order order);

// variable: takes part as in ADIOS2's own engines: its operator is used, or it gets one, and the accuracy
// that was reached. May be null. `what` begins the errors.
void undo_operator(const adios2::core::VariableBase* variable, const std::string& engine_name,
                   const adios2::Accuracy& wanted, steps::Codec codec, Bytes stored, MutableBytes raw,
                   const std::string& what);

} // namespace stepstore::adios

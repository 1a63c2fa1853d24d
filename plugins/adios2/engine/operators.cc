#include "operators.h"

#include "core_api.h"

#ifdef STEPSTORE_ADIOS2_CORE
#include <adios2/operator/OperatorFactory.h>
#endif

#include <algorithm>

namespace stepstore::adios {

#ifdef STEPSTORE_ADIOS2_CORE
namespace {

namespace core = adios2::core;

adios2::Params told_to_operators(const std::string& engine, const std::string& variable)
{
    return {{"EngineName", engine}, {"VariableName", variable}};
}

class Applied final : public steps::BlockOperator {
public:
    Applied(std::shared_ptr<core::Operator> operation, const std::string& engine, const std::string& variable,
            steps::Order order)
        : operation_(std::move(operation)), told_(told_to_operators(engine, variable)), order_(order)
    {
    }
    steps::Codec codec() const override
    {
        return steps::operator_codec(static_cast<std::uint8_t>(operation_->m_TypeEnum));
    }
    std::optional<Bytes> apply(Bytes raw, steps::Type type, steps::DimsView start,
                               steps::DimsView count) override
    {
        const auto of_block = dims(count);
        const std::size_t size = steps::size_of(type);
        const std::size_t room =
            operation_->GetEstimatedSize(raw.size() / size, size, of_block.size(), of_block.data());
        if (memory_.size() < room) memory_.resize(room);
        tell_operator(*operation_, told_);
        const std::size_t length =
            operation_->Operate(reinterpret_cast<const char*>(raw.data()), dims(start), of_block,
                                data_type(type), reinterpret_cast<char*>(memory_.data()));
        if (length == 0) return std::nullopt; // as ADIOS2 says that the operator does not help
        return Bytes(memory_).first(length);
    }

private:
    // Operators see row-major arrays.
    adios2::Dims dims(steps::DimsView given) const
    {
        adios2::Dims dims(given.begin(), given.end());
        if (order_ == steps::Order::column_major) std::ranges::reverse(dims);
        return dims;
    }

    std::shared_ptr<core::Operator> operation_;
    adios2::Params told_;
    steps::Order order_;
    std::vector<std::byte> memory_;
};

// The one that the variable has, else one of that kind, which the variable gets, as in BP5. nullptr: this
// ADIOS2 has none.
std::shared_ptr<core::Operator> operator_for(core::VariableBase* variable, core::Operator::OperatorType type)
{
    if (variable != nullptr && !variable->m_Operations.empty() &&
        variable->m_Operations.front()->m_TypeEnum == type)
        return variable->m_Operations.front();
    try {
        auto made = core::MakeOperator(core::OperatorTypeToString(type), {});
        if (variable != nullptr) variable->m_Operations = {made};
        return made;
    } catch (const std::exception&) { // it names the operator, as the caller does
        return nullptr;
    }
}

} // namespace

std::shared_ptr<steps::BlockOperator> operator_of(const core::VariableBase& variable,
                                                  const std::string& engine_name, steps::Order order)
{
    if (variable.m_Operations.empty()) return steps::leaving_data_out();
    if (variable.m_Operations.size() > 1)
        throw Error(-DER_NOTSUPPORTED,
                    "stepstore: variable '" + variable.m_Name + "' has " +
                        std::to_string(variable.m_Operations.size()) +
                        " operators, and a block goes through one, as in BP5: remove the others");
    return std::make_shared<Applied>(variable.m_Operations.front(), engine_name, variable.m_Name, order);
}

void undo_operator(const core::VariableBase* variable, const std::string& engine_name,
                   const adios2::Accuracy& wanted, steps::Codec codec, Bytes stored, MutableBytes raw,
                   const std::string& what)
{
    const auto damaged = [&](const std::string& why) {
        throw Error(-DER_CSUM, what + " is damaged: " + why);
    };
    constexpr std::size_t least = 4; // the header that all operators write
    if (stored.size() < least ||
        steps::operator_codec(std::to_integer<std::uint8_t>(stored.front())) != codec)
        damaged("it was stored as made by " + steps::name_of(codec) + " and does not begin so");
    auto* known = const_cast<core::VariableBase*>(variable);
    const auto operation = operator_for(known, static_cast<core::Operator::OperatorType>(stored.front()));
    if (!operation) return steps::decompress(codec, stored, raw, what);
    operation->SetAccuracy(wanted);
    tell_operator(*operation,
                  told_to_operators(engine_name, variable == nullptr ? std::string() : variable->m_Name));
    std::size_t length = 0;
    try {
        length = core::Decompress(reinterpret_cast<const char*>(stored.data()), stored.size(),
                                  reinterpret_cast<char*>(raw.data()), adios2::MemorySpace::Host, operation);
    } catch (const std::exception& error) {
        throw Error(-DER_MISC, what + " cannot be undone by " + steps::name_of(codec) + ": " + error.what());
    }
    if (length != raw.size())
        damaged(steps::name_of(codec) + " gives " + std::to_string(length) + " bytes instead of " +
                std::to_string(raw.size()));
    if (known != nullptr) known->m_AccuracyProvided = operation->GetAccuracy();
}

#else

std::shared_ptr<steps::BlockOperator> operator_of(const adios2::core::VariableBase&, const std::string&,
                                                  steps::Order)
{
    return nullptr;
}

void undo_operator(const adios2::core::VariableBase*, const std::string&, const adios2::Accuracy&,
                   steps::Codec codec, Bytes stored, MutableBytes raw, const std::string& what)
{
    steps::decompress(codec, stored, raw, what);
}

#endif

} // namespace stepstore::adios

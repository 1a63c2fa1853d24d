// Derived variables: ADIOS2 computes them from others, by an expression. A writer stores of one what BP5
// does: the elements (StoreData), minimum and maximum (StatsOnly), or nothing but its blocks
// (ExpressionString). A reader computes what is not stored. Only if the ADIOS2 at hand has them and its core
// can be used; elsewhere nothing here does anything.
// Threads: that of the IO. Errors: -DER_INVAL for what cannot be computed; the message names the variable.
#pragma once

#include "base/function_ref.h"
#include "core_api.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::adios {

#ifdef STEPSTORE_ADIOS2_DERIVED

// Both in one order of dimensions.
struct InputBlock {
    adios2::Dims start, count; // of no dimension: a value
    const void* values;
};
struct DerivedBlock {
    struct Free {
        void operator()(void* memory) const;
    };
    adios2::Dims start, count;
    std::unique_ptr<void, Free> values; // nullptr: was not computed
};

// Block by block: the k-th of the k-th of each input. Without `compute` only where the blocks lie, if this
// ADIOS2 can tell.
std::vector<DerivedBlock> derive(adios2::core::VariableDerived& variable,
                                 const std::map<std::string, std::vector<InputBlock>>& inputs, bool compute);

// The variables that an expression names. -DER_INVAL: it is none, or longer than those that ADIOS2's parser
// can be trusted with.
std::vector<std::string> variables_in(const std::string& expression, const std::string& what);

// A derived variable of a stream, apart from the program's IO. Its inputs are defined first.
class Derivation {
public:
    explicit Derivation(adios2::core::IO& of_program);
    void input(const steps::Variable& definition, const steps::Dims& shape, const steps::Block& first);
    void define(const steps::Variable& definition, const std::string& expression, const std::string& what);
    adios2::core::VariableDerived& variable() const { return *variable_; }

private:
    std::unique_ptr<adios2::core::IO> io_;
    adios2::core::VariableDerived* variable_ = nullptr;
};

// Stands for a derived variable where adapters take an adios2::Variable<T>.
class DerivedVariable {
public:
    explicit DerivedVariable(adios2::core::VariableDerived& variable) : variable_(variable) {}
    adios2::core::VariableDerived& core() const { return variable_; }

private:
    adios2::core::VariableDerived& variable_;
};

inline const adios2::core::VariableBase* identity_of(const DerivedVariable& variable)
{
    return &variable.core();
}

inline bool has_variable(const adios2::IO& io, const std::string& name, const DerivedVariable& variable)
{
    const auto& there = core_of(io).GetDerivedVariables();
    const auto found = there.find(name);
    return found != there.end() && found->second.get() == &variable.core();
}

steps::Variable definition_of(const DerivedVariable& variable, bool core_fits);

// What a writer remembers of a step for the derived variables of its IO.
class DerivedPuts {
public:
    // usable: the core fits. copied_below: bytes; smaller blocks may change after a deferred put.
    DerivedPuts(adios2::IO io, bool usable, std::size_t copied_below)
        : io_(io), usable_(usable), copied_below_(copied_below)
    {
    }

    using PutsOf = FunctionRef<std::size_t(const adios2::core::VariableBase&)>;
    using Put = FunctionRef<void(adios2::core::VariableDerived&, const DerivedBlock&)>;

    bool is_input(const adios2::core::VariableBase& variable);
    void put(const adios2::core::VariableBase& input, InputBlock block, std::size_t bytes, bool deferred);
    void put_span(const adios2::core::VariableBase& input, InputBlock block);
    void put_packed(const adios2::core::VariableBase& input, InputBlock block, std::vector<std::byte> packed);
    // The program's memory is its own again from now on.
    void keep();
    // Calls put(variable, block) for each block of each derived variable whose inputs were put, and forgets
    // them. puts_of: how often a variable was put in this step. After an Error the step ends without derived
    // variables.
    void each(PutsOf puts_of, Put put);

private:
    struct Kept {
        InputBlock block;
        std::size_t bytes; // of the program's memory; 0: it is a span, or kept
        std::vector<std::byte> own;
    };
    static void copy(Kept& kept);
    void look();
    void compute(adios2::core::VariableDerived& variable, PutsOf puts_of, Put put);

    adios2::IO io_;
    bool usable_;
    std::size_t copied_below_;
    bool given_up_ = false;                           // in this step
    std::size_t seen_ = 0;                            // derived variables, when inputs_ was made
    std::map<std::string, std::vector<Kept>> inputs_; // by name: their blocks in this step
};

#else

class DerivedPuts {
public:
    DerivedPuts(const adios2::IO&, bool, std::size_t) {}
    static constexpr bool is_input(const adios2::core::VariableBase&) { return false; }
    void keep() {}
};

#endif

} // namespace stepstore::adios

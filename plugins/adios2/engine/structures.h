// Variables of structs. ADIOS2's public interface gives them to its own engines alone, so they need the
// headers of its core (STEPSTORE_ADIOS2_CORE).
// Threads: those of the IO. Errors: -DER_INVAL, -DER_NOTSUPPORTED.
#pragma once

#include "adios_types.h"
#include "core_api.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::adios {

// From structs as a stream has them to structs with the same fields, or some of them, at other places.
struct FieldMoves {
    struct Move {
        std::size_t from, to, length; // bytes
    };
    std::size_t stored_size = 0, wanted_size = 0; // of a struct, bytes
    std::vector<Move> moves;

    // Bytes that belong to no wanted field stay as they are.
    void apply(const std::byte* stored, std::byte* wanted, std::uint64_t structs) const;
};
// nullopt: the structs are the same already. -DER_INVAL: a wanted field is not in `stored`, or is of another
// type or number of elements; the message begins with `what`.
std::optional<FieldMoves> moves_between(const steps::Structure& stored, const steps::Structure& wanted,
                                        const std::string& what);

#ifdef STEPSTORE_ADIOS2_CORE

// -DER_NOTSUPPORTED: a field's type cannot be stored. `what` begins the message.
steps::Structure structure_of(const adios2::core::StructDefinition& definition, const std::string& what);
// In the ADIOS object, as long as that lives.
adios2::core::StructDefinition& definition_in(adios2::core::IO& io, const steps::Structure& structure);

// Stands for a struct variable where adapters take an adios2::Variable<T>.
class StructVariable {
public:
    explicit StructVariable(adios2::core::VariableStruct& variable) : variable_(variable) {}
    adios2::core::VariableStruct& core() const { return variable_; }

private:
    adios2::core::VariableStruct& variable_;
};

inline const adios2::core::VariableBase* identity_of(const StructVariable& variable)
{
    return &variable.core();
}

inline Selection selection_of(const StructVariable& variable)
{
    return selection_in(variable.core());
}

inline adios2::Dims count_of(const StructVariable& variable)
{
    return variable.core().m_Count;
}

inline bool has_variable(const adios2::IO& io, const std::string& name, const StructVariable& variable)
{
    return core_of(io).InquireStructVariable(name) == &variable.core();
}

steps::Variable definition_of(const StructVariable& variable, bool core_fits);

#endif

} // namespace stepstore::adios

// ADIOS2's words in the timestep engine's, and what a plugin can find out about a variable.
// Threads: pure, but for ADIOS2's variables, which belong to one thread. Errors: -DER_DF_INVAL for an unknown
// type, -DER_NOTSUPPORTED for an unknown kind of shape.
#pragma once

#include "daos_errno.h"
#include "releases.h"
#include "steps/types.h"
#include "stepstore/error.h"

#include <bit>
#include <complex>
#include <string>

namespace stepstore::adios {

// Calls visit(std::type_identity<T>{}) with ADIOS2's C++ type.
template <class Visit>
decltype(auto) with_type(steps::Type type, Visit&& visit)
{
    switch (type) {
    case steps::Type::int8: return visit(std::type_identity<std::int8_t>{});
    case steps::Type::int16: return visit(std::type_identity<std::int16_t>{});
    case steps::Type::int32: return visit(std::type_identity<std::int32_t>{});
    case steps::Type::int64: return visit(std::type_identity<std::int64_t>{});
    case steps::Type::uint8: return visit(std::type_identity<std::uint8_t>{});
    case steps::Type::uint16: return visit(std::type_identity<std::uint16_t>{});
    case steps::Type::uint32: return visit(std::type_identity<std::uint32_t>{});
    case steps::Type::uint64: return visit(std::type_identity<std::uint64_t>{});
    case steps::Type::float32: return visit(std::type_identity<float>{});
    case steps::Type::float64: return visit(std::type_identity<double>{});
    case steps::Type::float128: return visit(std::type_identity<long double>{});
    case steps::Type::complex64: return visit(std::type_identity<std::complex<float>>{});
    case steps::Type::complex128: return visit(std::type_identity<std::complex<double>>{});
    case steps::Type::string: return visit(std::type_identity<std::string>{});
    case steps::Type::character: return visit(std::type_identity<char>{});
    case steps::Type::structure: break; // none that all programs have (structures.h)
    }
    throw Error(-DER_DF_INVAL, "stepstore: the stream has a type that this version does not know: " +
                                   std::to_string(static_cast<unsigned>(type)));
}

// Stands for a variable as long as it exists: the address of ADIOS2's own object.
//
// The public Variable is one pointer to it. It tells neither the kind of selection that was made nor a memory
// selection. selection_in() (releases.h) does, but wants the object itself. Variable<T>
// derives from VariableBase alone, so the address is the same. The plugin is bound to the ADIOS2 release it
// was built for (its SONAME), whose tests check this.
template <class T>
const adios2::core::VariableBase* identity_of(const adios2::Variable<T>& variable)
{
    static_assert(sizeof(adios2::Variable<T>) == sizeof(const adios2::core::VariableBase*));
    return std::bit_cast<const adios2::core::VariableBase*>(variable);
}

template <class T>
Selection selection_of(const adios2::Variable<T>& variable)
{
    return selection_in(*identity_of(variable));
}

inline steps::ShapeKind kind_of(adios2::ShapeID id, const std::string& name)
{
    switch (id) {
    case adios2::ShapeID::GlobalValue: return steps::ShapeKind::global_value;
    case adios2::ShapeID::GlobalArray: return steps::ShapeKind::global_array;
    case adios2::ShapeID::LocalValue: return steps::ShapeKind::local_value;
    case adios2::ShapeID::LocalArray: return steps::ShapeKind::local_array;
    case adios2::ShapeID::JoinedArray: return steps::ShapeKind::joined_array;
    case adios2::ShapeID::Unknown: break;
    }
    throw Error(-DER_NOTSUPPORTED,
                "stepstore: variable '" + name + "' has a shape of a kind that ADIOS2 itself does not know");
}

} // namespace stepstore::adios

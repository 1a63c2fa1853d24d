// What the engine uses of ADIOS2's core beyond the installed headers. With the headers of the core
// (STEPSTORE_ADIOS2_CORE) that is all of it. Without them it is what is declared here: exported functions
// alone, no layouts. The public interface has the same functions, but they cost more for each variable or
// attribute in every step. They make the text of an error message on each call, and list attributes by
// printing every value. As with selections (adios_types.h), the engine is bound to the ADIOS2 release that it
// was built for. Another release lacks a symbol and is refused when the engine is loaded.
//
// Threads: that of the IO, as all of ADIOS2. Errors: none of its own; nullptr or false say that something is
// not there.
#pragma once

#include "adios_types.h"

#ifdef STEPSTORE_ADIOS2_CORE
#include <adios2/core/Attribute.h>
#include <adios2/core/Variable.h>
#include <adios2/core/VariableStruct.h>
#include <adios2/helper/adiosType.h>
#endif

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#ifndef STEPSTORE_ADIOS2_CORE
namespace adios2::core {

class Engine;
class StructDefinition;
class VariableStruct;

class VariableBase {
public:
    bool IsConstantDims() const noexcept;
    MemorySpace GetMemorySpace(const void* values);
    Dims Shape(const size_t step) const;
};

template <class T>
class Variable {
public:
    Dims Count() const;
};

class AttributeBase {
public:
    virtual ~AttributeBase();
    bool Equals(const void* values, const std::size_t elements) const noexcept;
};

class IO {
public:
    const std::map<std::string, std::unique_ptr<AttributeBase>>& GetAttributes() const noexcept;
    const std::unordered_map<std::string, std::unique_ptr<VariableBase>>& GetVariables() const noexcept;
    template <class T>
    Variable<T>* InquireVariable(const std::string& name) noexcept;
};

} // namespace adios2::core
#endif

namespace stepstore::adios {

inline adios2::core::IO& core_of(const adios2::IO& io)
{
    static_assert(sizeof(adios2::IO) == sizeof(adios2::core::IO*)); // all that it holds
    return *std::bit_cast<adios2::core::IO*>(io);
}

// What a put needs of a variable's dimensions.
inline adios2::Dims shape_of(const adios2::core::VariableBase& variable)
{
    return variable.Shape(adios2::EngineCurrentStep);
}

template <class T>
adios2::Dims count_of(const adios2::Variable<T>& variable)
{
    static_assert(sizeof(adios2::Variable<T>) == sizeof(const adios2::core::Variable<T>*));
    return std::bit_cast<const adios2::core::Variable<T>*>(variable)->Count();
}

// A variable as it lies in ADIOS2: the public interface's look-ups cost as much as all else of a put. Only
// where the core's headers fit (misfit() in core_engine.h).
#ifdef STEPSTORE_ADIOS2_CORE
struct Lying {
    explicit Lying(const adios2::core::VariableBase& variable)
        : name(variable.m_Name), type(variable.m_Type), shape_id(variable.m_ShapeID), shape(variable.m_Shape),
          start(variable.m_Start), count(variable.m_Count),
          plain(variable.m_SelectionType == adios2::SelectionType::BoundingBox &&
                variable.m_MemoryCount.empty())
    {
    }
    const std::string& name;
    adios2::DataType type;
    adios2::ShapeID shape_id;
    const adios2::Dims &shape, &start, &count; // what is selected
    bool plain;                                // and nothing but that: no block, no memory
};
#else
struct Lying {
    explicit Lying(const adios2::core::VariableBase&) {}
    std::string name;
    adios2::DataType type = adios2::DataType::None;
    adios2::ShapeID shape_id = adios2::ShapeID::Unknown;
    adios2::Dims shape, start, count;
    bool plain = false;
};
#endif

template <class T>
bool fill(steps::Attribute& attribute, const std::string& name, std::span<const T> values, bool single)
{
    attribute.name = name;
    attribute.type = steps::type_of<T>();
    attribute.array = !single;
    attribute.count = values.size();
    attribute.data.clear();
    attribute.strings.clear();
    if constexpr (std::is_same_v<T, std::string>) {
        attribute.strings.assign(values.begin(), values.end());
    } else {
        const auto bytes = std::as_bytes(values);
        attribute.data.assign(bytes.begin(), bytes.end());
    }
    return true;
}

// From an attribute as it lies in ADIOS2, where the core fits. False: of a type that streams do not have.
#ifdef STEPSTORE_ADIOS2_CORE
inline bool fill_from(steps::Attribute& to, const adios2::core::AttributeBase& base)
{
    const auto fill_as = [&]<class T>(std::type_identity<T>) {
        const auto& attribute = static_cast<const adios2::core::Attribute<T>&>(base);
        const std::span<const T> values = base.m_IsSingleValue
                                              ? std::span<const T>(&attribute.m_DataSingleValue, 1)
                                              : std::span<const T>(attribute.m_DataArray);
        return fill<T>(to, base.m_Name, values, base.m_IsSingleValue);
    };
#define fill_as_type(T)                                                                                      \
    if (base.m_Type == adios2::helper::GetDataType<T>()) return fill_as(std::type_identity<T>{});
    ADIOS2_FOREACH_STDTYPE_1ARG(fill_as_type)
#undef fill_as_type
    return false;
}
#else
inline bool fill_from(steps::Attribute&, const adios2::core::AttributeBase&)
{
    return false;
}
#endif

// Whether the IO has a variable of this name and type, and it is this one (identity_of() in adios_types.h).
template <class T>
bool has_variable(const adios2::IO& io, const std::string& name, const void* identity)
{
    return identity != nullptr && core_of(io).InquireVariable<T>(name) == identity;
}

template <class T>
bool has_variable(const adios2::IO& io, const std::string& name, const adios2::Variable<T>& variable)
{
    return has_variable<T>(io, name, identity_of(variable));
}

#ifdef STEPSTORE_ADIOS2_CORE
inline bool has_variable_of_any_type(const adios2::IO& io, const std::string& name,
                                     const adios2::core::VariableBase* identity)
{
    const auto& there = core_of(io).GetVariables();
    const auto found = there.find(name);
    return found != there.end() && found->second.get() == identity;
}

inline adios2::DataType data_type(steps::Type type)
{
    return with_type(type, []<class T>(std::type_identity<T>) { return adios2::helper::GetDataType<T>(); });
}

// Whether nothing but the whole is selected. So most variables are at the start of a step.
inline bool selects_whole(const adios2::core::VariableBase& variable, const steps::Dims& shape,
                          const steps::Dims& count)
{
    // No box can be selected in a single value, and no part of memory.
    if (variable.m_SingleValue)
        return variable.m_SelectionType == adios2::SelectionType::BoundingBox && variable.m_StepsStart == 0 &&
               variable.m_StepsCount == 1;
    const Lying now(variable);
    return now.plain && now.shape == shape && now.count == count && variable.m_StepsStart == 0 &&
           variable.m_StepsCount == 1 &&
           std::ranges::all_of(now.start, [](auto extent) { return extent == 0; });
}

// Whether the IO has this variable, as it was defined.
inline bool is_defined(const adios2::IO& io, const steps::Variable& definition,
                       const adios2::core::VariableBase* identity)
{
    return has_variable_of_any_type(io, definition.name, identity) &&
           identity->m_Type == data_type(definition.type);
}

// As it lies in ADIOS2. nullptr: the IO has no such variable (any more).
inline const adios2::Dims* shape_in(const adios2::IO& io, const std::string& name,
                                    const adios2::core::VariableBase* identity)
{
    return has_variable_of_any_type(io, name, identity) ? &identity->m_Shape : nullptr;
}
#else
inline bool selects_whole(const adios2::core::VariableBase&, const steps::Dims&, const steps::Dims&)
{
    return false;
}

inline bool is_defined(const adios2::IO&, const steps::Variable&, const adios2::core::VariableBase*)
{
    return false;
}

inline const adios2::Dims* shape_in(const adios2::IO&, const std::string&, const adios2::core::VariableBase*)
{
    return nullptr;
}
#endif

// ADIOS2 defines strings as single values only, and its own engines show those of all ranks as an array.
inline void show_as_array(const adios2::Variable<std::string>& variable, std::size_t count)
{
#ifdef STEPSTORE_ADIOS2_CORE
    auto* base = std::bit_cast<adios2::core::Variable<std::string>*>(variable);
    base->m_ShapeID = adios2::ShapeID::GlobalArray;
    base->m_SingleValue = false;
    base->m_Shape = base->m_Count = {count};
    base->m_Start = {0};
#else
    (void)variable, (void)count;
#endif
}

// What ADIOS2 asks about a variable of a reader it asks the engine of the variable.
template <class T>
void belongs_to(const adios2::Variable<T>& variable, adios2::core::Engine* engine, std::size_t steps)
{
#ifdef STEPSTORE_ADIOS2_CORE
    auto* base = std::bit_cast<adios2::core::Variable<T>*>(variable);
    base->m_Engine = engine;
    base->m_AvailableStepsCount = steps;
#else
    (void)variable, (void)engine, (void)steps;
#endif
}

// False: the program has removed the engine's variable, and its own has come to that address. Without an
// engine that is not known.
inline bool is_engine_of(const adios2::core::VariableBase& variable, const adios2::core::Engine* engine)
{
#ifdef STEPSTORE_ADIOS2_CORE
    return engine == nullptr || variable.m_Engine == engine;
#else
    (void)variable, (void)engine;
    return true;
#endif
}

} // namespace stepstore::adios

#include "steps/types.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <set>

namespace stepstore::steps {

namespace {

struct TypeFacts {
    std::string_view name;
    std::size_t size;
    bool minmax;
};

constexpr TypeFacts facts[] = {
    {"", 0, false},          {"int8", 1, true},         {"int16", 2, true},   {"int32", 4, true},
    {"int64", 8, true},      {"uint8", 1, true},        {"uint16", 2, true},  {"uint32", 4, true},
    {"uint64", 8, true},     {"float32", 4, true},      {"float64", 8, true}, {"float128", 16, true},
    {"complex64", 8, false}, {"complex128", 16, false}, {"string", 0, false}, {"character", 1, true},
    {"struct", 0, false},
};

const TypeFacts& facts_of(Type type)
{
    const auto number = static_cast<std::size_t>(type);
    return number < std::size(facts) ? facts[number] : facts[0];
}

} // namespace

std::size_t size_of(Type type)
{
    return facts_of(type).size;
}

bool has_minmax(Type type)
{
    return facts_of(type).minmax;
}

std::string_view name_of(Type type)
{
    return facts_of(type).name;
}

std::string_view name_of(ShapeKind kind)
{
    switch (kind) {
    case ShapeKind::global_value: return "global value";
    case ShapeKind::global_array: return "global array";
    case ShapeKind::local_value: return "local value";
    case ShapeKind::local_array: return "local array";
    case ShapeKind::joined_array: return "joined array";
    }
    return "";
}

std::uint64_t elements(DimsView count)
{
    std::uint64_t product = 1;
    bool overflow = false;
    for (const std::uint64_t extent : count) {
        if (extent == 0) return 0;
        overflow |= __builtin_mul_overflow(product, extent, &product);
    }
    if (overflow || product > static_cast<std::uint64_t>(INT64_MAX))
        throw Error(-DER_OVERFLOW, "a box of " + to_text(count) + " has more than 2^63 elements");
    return product;
}

std::string fault_of(const Structure& structure)
{
    if (structure.size == 0 || structure.size > max_structure_size)
        return "its size is " + std::to_string(structure.size) + " bytes, and 1 byte to 1 GiB can be stored";
    std::set<std::string_view> names;
    for (const Structure::Field& field : structure.fields) {
        const std::string which = "its field '" + field.name + "' ";
        if (field.name.empty()) return "it has a field without a name";
        if (!names.insert(field.name).second) return which + "is there twice";
        const std::size_t size = size_of(field.type);
        if (size == 0) return which + "has no type of a fixed size";
        if (field.offset > structure.size || field.count > (structure.size - field.offset) / size)
            return which + "does not lie inside of it";
    }
    return {};
}

std::string to_text(const Structure& structure)
{
    std::string text = "struct " + structure.name + " {";
    for (const Structure::Field& field : structure.fields) {
        if (&field != &structure.fields.front()) text += ", ";
        text += field.name + ": " + std::string(name_of(field.type));
        if (field.count != 1) text += "[" + std::to_string(field.count) + "]";
        text += " at " + std::to_string(field.offset);
    }
    return text + "; " + std::to_string(structure.size) + " bytes}";
}

std::size_t element_size(const Variable& variable)
{
    return variable.structure != nullptr ? variable.structure->size : size_of(variable.type);
}

bool defined_alike(const Variable& a, const Variable& b)
{
    if (a.type != b.type || a.kind != b.kind) return false;
    return a.structure == b.structure ||
           (a.structure != nullptr && b.structure != nullptr && *a.structure == *b.structure);
}

std::string described(const Variable& variable)
{
    return std::string(name_of(variable.kind)) + " of " +
           (variable.structure ? to_text(*variable.structure) : std::string(name_of(variable.type)));
}

std::string expression_attribute(std::string_view variable)
{
    return std::string(variable) + "/__expression__";
}

} // namespace stepstore::steps

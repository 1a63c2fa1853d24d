#include "steps/types.h"

#include "stepstore/error.h"

#include <daos_errno.h>

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

bool is_value(ShapeKind kind)
{
    return kind == ShapeKind::global_value || kind == ShapeKind::local_value;
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

std::string to_text(DimsView dims)
{
    std::string text = "{";
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (i > 0) text += ", ";
        text += dims[i] == joined_dimension ? std::string("joined") : std::to_string(dims[i]);
    }
    return text + "}";
}

} // namespace stepstore::steps

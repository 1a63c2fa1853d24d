// The words of a stream of steps: element types, shape kinds, dimensions, blocks, min/max.
// Threads: any; pure. Errors: -DER_OVERFLOW of elements().
#pragma once

#include "base/bytes.h"
#include "base/dims.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace stepstore::steps {

// The numbers are part of the stream's format (docs/format-stream.md) and never change.
enum class Type : std::uint8_t {
    int8 = 1,
    int16 = 2,
    int32 = 3,
    int64 = 4,
    uint8 = 5,
    uint16 = 6,
    uint32 = 7,
    uint64 = 8,
    float32 = 9,
    float64 = 10,
    float128 = 11,   // long double: 16 bytes, in the writer's machine format
    complex64 = 12,  // two float32
    complex128 = 13, // two float64
    string = 14,
    character = 15,
    structure = 16, // a struct of the program: Structure
};

// global_value: one value for all ranks (every rank may put it; the lowest rank that did counts).
// global_array: blocks of one global box. local_value: one value per rank. local_array: each block stands
// alone. joined_array: blocks one after the other along one dimension, in rank order; that dimension of the
// shape given to put() is `joined_dimension`.
enum class ShapeKind : std::uint8_t {
    global_value = 1,
    global_array = 2,
    local_value = 3,
    local_array = 4,
    joined_array = 5,
};

// The order of the dimensions in the program that wrote: recorded in the stream. Dimensions and data are kept
// as the writer gave them; a reader of the other order reverses the dimensions and has its data in place.
using stepstore::Order;

// The metadata objects of a segment: one for all its steps, one for each step, or one for each writer rank.
enum class Objects : std::uint8_t { single = 1, per_step = 2, per_writer = 3, per_machine = 4 };

// Where the metadata of the next step goes: after that of the steps before, or in its place. Then a snapshot
// of the container keeps each step.
enum class StepMode : std::uint8_t { extend = 1, snapshot = 2 };

enum class StepStatus : std::uint8_t {
    ok,
    not_ready,     // no further step within the time-out
    end_of_stream, // the writer ended the stream: it closed it, or left without
    writer_died,   // no further step, and its writer is dead; another may append: calling again looks again
    other_error,   // reserved for callers that turn exceptions into a status
};

using stepstore::Dims;
using stepstore::DimsView;
using stepstore::joined_dimension;
inline constexpr std::size_t max_dimensions = 32;

// Of a block of an array: the global box (empty: it has none), and where the block lies in it.
struct BlockGeometry {
    DimsView shape, start, count;
};

// Stable for the life of a Writer or Reader; an index from 0. A reader's ids are its own, not the writer's.
using VariableId = std::uint32_t;

std::size_t size_of(Type type); // bytes of one element; 0 for string and structure
bool has_minmax(Type type);     // every real number and character; not complex, not string
constexpr bool is_value(ShapeKind kind)
{
    return kind == ShapeKind::global_value || kind == ShapeKind::local_value;
}
std::string_view name_of(Type type);      // "float64"; also what ADIOS2's users know: see docs
std::string_view name_of(ShapeKind kind); // "global array"
std::uint64_t elements(DimsView count); // the product; 1 for no dimension. Throws -DER_OVERFLOW beyond 2^63.
using stepstore::to_text;

template <class T>
constexpr Type type_of()
{
    if constexpr (std::is_same_v<T, char>)
        return Type::character;
    else if constexpr (std::is_same_v<T, std::string>)
        return Type::string;
    else if constexpr (std::is_same_v<T, float>)
        return Type::float32;
    else if constexpr (std::is_same_v<T, double>)
        return Type::float64;
    else if constexpr (std::is_same_v<T, long double>)
        return Type::float128;
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 1)
        return Type::int8;
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 2)
        return Type::int16;
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4)
        return Type::int32;
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8)
        return Type::int64;
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 1)
        return Type::uint8;
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
        return Type::uint16;
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
        return Type::uint32;
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
        return Type::uint64;
    else if constexpr (!std::is_arithmetic_v<T> && sizeof(T) == 8)
        return Type::complex64; // std::complex<float>
    else
        return Type::complex128;
}

// One element of any type but string and structure.
struct Scalar {
    alignas(16) std::array<std::byte, 16> bytes{};

    template <class T>
    T as() const
    {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
        T value;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
    template <class T>
    static Scalar of(const T& value)
    {
        Scalar scalar;
        std::memcpy(scalar.bytes.data(), &value, sizeof value);
        return scalar;
    }
};

// NaNs do not count; where every element is NaN both are NaN.
struct MinMax {
    Scalar min;
    Scalar max;
};

// One block of a variable in one step.
struct Block {
    std::uint32_t writer_rank = 0;
    std::uint64_t index =
        0;      // among all the variable's blocks of the step, by rank, then in the order of the puts
    Dims start; // empty for values and local arrays
    Dims count; // empty for values
    std::optional<MinMax> minmax; // of values: the value, twice. nullopt: not recorded, or no element
    Scalar value;                 // of values that are neither strings nor structs
    bool left_out = false;        // its elements are not stored
};

// What an element of the type `structure` consists of. Bytes that belong to no field are kept too.
struct Structure {
    struct Field {
        std::string name;
        std::uint64_t offset = 0; // bytes, from the beginning of the struct
        Type type = Type::float64;
        std::uint64_t count = 1; // elements
        bool operator==(const Field&) const = default;
    };
    std::string name;
    std::uint64_t size = 0; // bytes
    std::vector<Field> fields;
    bool operator==(const Structure&) const = default;
};
inline constexpr std::uint64_t max_structure_size = std::uint64_t{1} << 30; // bytes
// Empty: it can be stored. A struct has a size, and its fields have names of their own and lie inside of it.
std::string fault_of(const Structure& structure);
std::string
to_text(const Structure& structure); // "struct particle {id: int64 at 0, x: float64[3] at 8; 32 bytes}"

// A variable as the stream defines it: the same in every step.
struct Variable {
    std::string name;
    Type type = Type::float64;
    ShapeKind kind = ShapeKind::global_array;
    std::shared_ptr<const Structure> structure; // of the type `structure`
};
std::size_t element_size(const Variable& variable);       // bytes; 0 for strings
bool defined_alike(const Variable& a, const Variable& b); // whatever their names
std::string described(const Variable& variable);          // "global array of float64"

// What a rank says of a variable that other ranks may have too: its definition, and of an array the shape of
// a step. Of a local array only the number of dimensions counts: a 0 for each. Empty: a value, or nothing was
// put yet.
struct Claim {
    Variable variable;
    Dims shape;
};

// The attribute with the expression of a variable that ADIOS2 derives from others. A reader computes the
// blocks that were left out.
std::string expression_attribute(std::string_view variable);

// An attribute's value: `count` elements one after the other in `data`, or `strings`.
struct Attribute {
    std::string name;
    Type type = Type::string;
    bool array = false; // a list (also of one), not a single value
    std::uint64_t count = 0;
    std::vector<std::byte> data;
    std::vector<std::string> strings;
};

} // namespace stepstore::steps

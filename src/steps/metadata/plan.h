// A plan: the sequence of puts of one rank in one step, with the geometry of every block. Most steps put the
// same as the step before, so a step stores a plan only when it is new. Otherwise it stores the number of the
// step whose metadata holds the plan, and the blocks whose geometry differs (overrides). Everything else of a
// step has a place that follows from the plan: no search, no parsing.
// Threads: any; pure. Errors: decoding gives -DER_DF_INVAL for damage.
#pragma once

#include "steps/compression.h"
#include "steps/types.h"

#include <cstdint>
#include <vector>

namespace stepstore::steps {

inline constexpr std::uint8_t entry_has_shape = 1;
inline constexpr std::uint8_t entry_has_start = 2;
inline constexpr std::uint8_t entry_is_value = 4;
inline constexpr std::uint8_t entry_is_placed = 8; // the step says where the block lies, and in which form
// One element, which is both min and max and is stored once as those.
inline constexpr std::uint8_t entry_is_single = 16;
// The block lies in the fixed section and has no data elsewhere: single elements, all of them from version 3
// of the metadata on.
inline constexpr std::uint8_t entry_is_inline = 32;

// One put. 16 bytes without padding: two sequences are compared with memcmp.
struct PlanEntry {
    std::uint32_t variable = 0; // the writer's number
    std::uint32_t dims_at = 0;  // in the dims: shape (if any), start (if any), count; `dimensions` each
    // where its value, its string's place or its min/max lies in the fixed section
    std::uint32_t fixed_at = 0;
    std::uint8_t dimensions = 0;
    std::uint8_t flags = 0;
    std::uint16_t reserved = 0;

    std::uint32_t dims_size() const
    {
        const unsigned parts =
            1u + ((flags & entry_has_shape) ? 1u : 0u) + ((flags & entry_has_start) ? 1u : 0u);
        return (flags & entry_is_value) ? 0 : dimensions * parts;
    }
};
static_assert(sizeof(PlanEntry) == 16);

// Where a placed block lies and in which form: after its min/max in the fixed section.
struct Placement {
    std::uint64_t at = 0;     // from the step's data base; bytes, as all here
    std::uint64_t length = 0; // as stored
    Codec codec = Codec::none;
    std::uint64_t checksum = 0; // of the stored bytes; 0 where they are not compressed
};
constexpr std::uint32_t placement_size = 24;
void store_placement(const Placement& placement, std::byte* to);
Placement load_placement(const std::byte* from);

// What an entry needs to know of its variable.
struct LocalType {
    Type type = Type::float64;
    ShapeKind kind = ShapeKind::global_array;
    std::uint32_t size = 0; // of an element, bytes; 0 for strings
};
inline LocalType local_type(const Variable& variable)
{
    return {variable.type, variable.kind, static_cast<std::uint32_t>(element_size(variable))};
}

// The bytes that an entry takes in the fixed section.
constexpr std::uint32_t string_place_size = 8;
std::uint32_t minmax_size(const LocalType& local, bool statistics, std::uint8_t entry_flags);
std::uint32_t fixed_size(const LocalType& local, bool statistics, std::uint8_t entry_flags);

inline BlockGeometry geometry_of(const PlanEntry& entry, const std::uint64_t* dims)
{
    BlockGeometry geometry;
    if (entry.flags & entry_is_value) return geometry;
    const std::size_t n = entry.dimensions;
    const std::uint64_t* at = dims + entry.dims_at;
    if (entry.flags & entry_has_shape) geometry.shape = {at, n}, at += n;
    if (entry.flags & entry_has_start) geometry.start = {at, n}, at += n;
    geometry.count = {at, n};
    return geometry;
}

// The writer's side: appends the bytes of a sequence; and of the entries whose dims differ from the plan's
// (the sequences being alike).
void encode_plan(std::span<const PlanEntry> entries, std::span<const std::uint64_t> dims, bool statistics,
                 std::vector<std::byte>& to);
void encode_overrides(std::span<const PlanEntry> entries, std::span<const std::uint64_t> dims,
                      std::span<const std::uint64_t> plan_dims, std::vector<std::byte>& to);

// The reader's side.
struct Plan {
    std::uint64_t step = 0; // whose metadata holds it
    bool statistics = false;
    std::vector<PlanEntry> entries;
    std::vector<std::uint64_t> dims;
    // Of entry i, from the step's data base, unless it is placed; one more: the length of all that are not.
    std::vector<std::uint64_t> data_at;
    bool placed = false; // some entry is
    std::uint32_t fixed_bytes = 0;
    // The entries of a variable (the writer's number) in their order: first[v], then next[...], until none.
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> next;
    static constexpr std::uint32_t none = UINT32_MAX;

    std::uint32_t first_of(std::uint32_t variable) const
    {
        return variable < first.size() ? first[variable] : none;
    }
};

// types: of the writer's variables, by the writer's number.
Plan decode_plan(Bytes bytes, std::span<const LocalType> types, std::string_view what);

// The dims of a step that differs from its plan, and where its data lies then.
struct Overrides {
    std::vector<std::uint64_t> dims;    // laid out by `entries`
    std::vector<PlanEntry> entries;     // as the plan's, with places in `dims`
    std::vector<std::uint64_t> data_at; // as in Plan
};
Overrides decode_overrides(Bytes bytes, const Plan& plan, std::span<const LocalType> types,
                           std::string_view what);

} // namespace stepstore::steps

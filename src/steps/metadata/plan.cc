#include "steps/metadata/plan.h"

#include "base/checksum.h"
#include "base/wire.h"

#include <algorithm>
#include <unordered_map>

namespace stepstore::steps {

namespace {

std::uint64_t zigzag(std::uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

std::uint64_t unzigzag(std::uint64_t coded)
{
    return (coded >> 1) ^ (0 - (coded & 1));
}

Bytes raw(std::span<const std::uint64_t> dims)
{
    return std::as_bytes(dims);
}

// Where each block's data lies, one after the other.
std::vector<std::uint64_t> places(std::span<const PlanEntry> entries, const std::uint64_t* dims,
                                  std::span<const LocalType> types, const WireReader& from)
{
    std::vector<std::uint64_t> at;
    at.reserve(entries.size() + 1);
    std::uint64_t sum = 0;
    for (const PlanEntry& entry : entries) {
        at.push_back(sum);
        if (entry.flags & (entry_is_value | entry_is_inline)) continue;
        std::uint64_t length = types[entry.variable].size;
        bool overflow = false;
        for (const std::uint64_t extent : geometry_of(entry, dims).count)
            overflow |= __builtin_mul_overflow(length, extent, &length);
        if (entry.flags & entry_is_placed)
            overflow |= length > static_cast<std::uint64_t>(INT64_MAX);
        else
            overflow |= __builtin_add_overflow(sum, length, &sum);
        if (overflow || sum > static_cast<std::uint64_t>(INT64_MAX))
            from.fail("describes blocks of more than 2^63 bytes");
    }
    at.push_back(sum);
    return at;
}

// An entry says rightly whether its block is a single element.
void require_single(const PlanEntry& entry, const std::uint64_t* dims, const WireReader& from)
{
    const bool single =
        std::ranges::all_of(geometry_of(entry, dims).count, [](auto extent) { return extent == 1; });
    if (single != ((entry.flags & entry_is_single) != 0))
        from.fail("has a wrong mark for a block of a single element");
    if ((entry.flags & entry_is_inline) != 0 && (!single || (entry.flags & entry_is_placed) != 0))
        from.fail("holds a block inline that is not a single element");
}

// Reads the geometry of one array entry: new, or that of an earlier one.
void decode_geometry(WireReader& from, Plan& plan, PlanEntry& entry, std::vector<PlanEntry>& geometries)
{
    const std::uint64_t reference = from.varint();
    if (reference > geometries.size()) from.fail("refers to a geometry that it does not hold");
    if (reference > 0) {
        const PlanEntry& known = geometries[reference - 1];
        entry.dims_at = known.dims_at;
        entry.dimensions = known.dimensions;
        entry.flags = known.flags;
        return;
    }
    entry.dimensions = from.fixed<std::uint8_t>();
    entry.flags = from.fixed<std::uint8_t>();
    if (entry.dimensions == 0 || entry.dimensions > max_dimensions ||
        (entry.flags &
         ~(entry_has_shape | entry_has_start | entry_is_placed | entry_is_single | entry_is_inline)) != 0)
        from.fail("holds an impossible geometry");
    entry.dims_at = static_cast<std::uint32_t>(plan.dims.size());
    for (std::uint32_t i = 0; i < entry.dims_size(); ++i)
        plan.dims.push_back(from.varint());
    require_single(entry, plan.dims.data(), from);
    geometries.push_back(entry);
}

void index_variables(Plan& plan, std::size_t variables)
{
    plan.first.assign(variables, Plan::none);
    plan.next.assign(plan.entries.size(), Plan::none);
    for (std::size_t i = plan.entries.size(); i-- > 0;) { // from the back, so the chains are in order
        std::uint32_t& first = plan.first[plan.entries[i].variable];
        plan.next[i] = first;
        first = static_cast<std::uint32_t>(i);
    }
}

} // namespace

std::uint32_t minmax_size(const LocalType& local, bool statistics, std::uint8_t entry_flags)
{
    if (!statistics || is_value(local.kind) || !has_minmax(local.type)) return 0;
    return ((entry_flags & entry_is_single) ? 1 : 2) * local.size;
}

std::uint32_t fixed_size(const LocalType& local, bool statistics, std::uint8_t entry_flags)
{
    if (is_value(local.kind)) return local.type == Type::string ? string_place_size : local.size;
    if (entry_flags & entry_is_inline) return local.size;
    return minmax_size(local, statistics, entry_flags) +
           ((entry_flags & entry_is_placed) ? placement_size : 0);
}

void store_placement(const Placement& placement, std::byte* to)
{
    store_little(to, placement.at);
    store_little(to + 8, placement.length | static_cast<std::uint64_t>(placement.codec) << 56);
    store_little(to + 16, placement.checksum);
}

Placement load_placement(const std::byte* from)
{
    Placement placement;
    placement.at = load_little<std::uint64_t>(from);
    const auto length = load_little<std::uint64_t>(from + 8);
    placement.length = length & (UINT64_MAX >> 8);
    placement.codec = static_cast<Codec>(length >> 56);
    placement.checksum = load_little<std::uint64_t>(from + 16);
    return placement;
}

void encode_plan(std::span<const PlanEntry> entries, std::span<const std::uint64_t> dims, bool statistics,
                 std::vector<std::byte>& to)
{
    WireWriter wire(to);
    wire.fixed(static_cast<std::uint8_t>(statistics ? 1 : 0));
    wire.varint(entries.size());
    std::unordered_map<std::uint64_t, std::pair<std::uint64_t, const PlanEntry*>> known; // by checksum
    std::uint64_t geometries = 0;
    std::uint32_t expected = 0;
    for (const PlanEntry& entry : entries) {
        wire.varint(zigzag(std::uint64_t{entry.variable} - expected));
        expected = entry.variable + 1;
        if (entry.flags & entry_is_value) continue;
        const auto mine = dims.subspan(entry.dims_at, entry.dims_size());
        const std::uint64_t hash = checksum(raw(mine)) + (std::uint64_t{entry.flags} << 8) + entry.dimensions;
        const auto [it, fresh] = known.try_emplace(hash, geometries + 1, &entry);
        const PlanEntry& first = *it->second.second;
        if (!fresh && first.flags == entry.flags && first.dimensions == entry.dimensions &&
            std::ranges::equal(mine, dims.subspan(first.dims_at, first.dims_size()))) {
            wire.varint(it->second.first);
            continue;
        }
        ++geometries;
        wire.varint(0);
        wire.fixed(entry.dimensions);
        wire.fixed(entry.flags);
        for (const std::uint64_t value : mine)
            wire.varint(value);
    }
}

Plan decode_plan(Bytes bytes, std::span<const LocalType> types, std::string_view what)
{
    WireReader from(bytes, what);
    Plan plan;
    plan.statistics = from.fixed<std::uint8_t>() != 0;
    const std::uint64_t count = from.counted(1);
    plan.entries.reserve(count);
    std::vector<PlanEntry> geometries;
    std::uint64_t expected = 0, fixed = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t variable = expected + unzigzag(from.varint());
        if (variable >= types.size()) from.fail("refers to a variable that is not defined");
        PlanEntry entry;
        entry.variable = static_cast<std::uint32_t>(variable);
        entry.fixed_at = static_cast<std::uint32_t>(fixed);
        const LocalType local = types[entry.variable];
        if (is_value(local.kind))
            entry.flags = entry_is_value;
        else
            decode_geometry(from, plan, entry, geometries);
        entry.fixed_at = static_cast<std::uint32_t>(fixed);
        fixed += fixed_size(local, plan.statistics, entry.flags);
        plan.placed |= (entry.flags & entry_is_placed) != 0;
        if (fixed > UINT32_MAX) from.fail("asks for more than 4 GiB");
        plan.entries.push_back(entry);
        expected = variable + 1;
    }
    if (!from.at_end()) from.fail("has bytes left over");
    plan.fixed_bytes = static_cast<std::uint32_t>(fixed);
    plan.data_at = places(plan.entries, plan.dims.data(), types, from);
    index_variables(plan, types.size());
    return plan;
}

void encode_overrides(std::span<const PlanEntry> entries, std::span<const std::uint64_t> dims,
                      std::span<const std::uint64_t> plan_dims, std::vector<std::byte>& to)
{
    WireWriter wire(to);
    std::size_t expected = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const PlanEntry& entry = entries[i];
        const auto mine = dims.subspan(entry.dims_at, entry.dims_size());
        const auto planned = plan_dims.subspan(entry.dims_at, entry.dims_size());
        if (std::ranges::equal(mine, planned)) continue;
        wire.varint(i - expected);
        expected = i + 1;
        for (std::size_t d = 0; d < mine.size(); ++d)
            wire.varint(zigzag(mine[d] - planned[d]));
    }
}

Overrides decode_overrides(Bytes bytes, const Plan& plan, std::span<const LocalType> types,
                           std::string_view what)
{
    WireReader from(bytes, what);
    Overrides result;
    result.entries = plan.entries;
    result.dims = plan.dims;
    std::uint64_t expected = 0;
    while (!from.at_end()) {
        const std::uint64_t skipped = from.varint();
        if (skipped >= plan.entries.size() - expected)
            from.fail("changes a block that its plan does not have");
        const std::uint64_t index = expected + skipped;
        expected = index + 1;
        PlanEntry& entry = result.entries[index];
        if (entry.flags & entry_is_value) from.fail("gives a geometry to a value");
        // A place of its own: in the plan several entries may share one.
        const std::uint32_t planned = plan.entries[index].dims_at;
        entry.dims_at = static_cast<std::uint32_t>(result.dims.size());
        for (std::uint32_t d = 0; d < entry.dims_size(); ++d)
            result.dims.push_back(plan.dims[planned + d] + unzigzag(from.varint()));
        require_single(entry, result.dims.data(), from);
    }
    result.data_at = places(result.entries, result.dims.data(), types, from);
    return result;
}

} // namespace stepstore::steps

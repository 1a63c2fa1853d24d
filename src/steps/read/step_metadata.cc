#include "steps/read/step_metadata.h"

#include "steps/statistics.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

std::size_t joined_position(DimsView shape)
{
    const auto found = std::ranges::find(shape, joined_dimension);
    return static_cast<std::size_t>(found - shape.begin()); // shape.size(): none
}

Dims copy(DimsView dims)
{
    return {dims.begin(), dims.end()};
}

void set_value(Block& block, const PlacedBlock& placed, Type type)
{
    if (type == Type::string || type == Type::structure) return;
    const Bytes value = placed.rank->value(placed.entry);
    std::ranges::copy(value, block.value.bytes.begin());
    if (has_minmax(type)) block.minmax = MinMax{block.value, block.value};
}

} // namespace

void each_block(const InstalledStep& step, VariableId id, FunctionRef<bool(const PlacedBlock&)> each)
{
    PlacedBlock block;
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        const RankStep& part = step.ranks[rank];
        for (std::uint32_t entry = part.first_of(id); entry != Plan::none; entry = part.next(entry)) {
            block.rank = &part;
            block.writer_rank = static_cast<std::uint32_t>(rank);
            block.entry = entry;
            if (!each(block)) return;
            ++block.index;
        }
    }
}

std::vector<VariableId> variables_of(const InstalledStep& step)
{
    std::vector<bool> seen;
    for (const RankStep& part : step.ranks) {
        if (part.plan == nullptr) continue;
        for (std::size_t local = 0; local < part.plan->first.size(); ++local) {
            if (part.plan->first[local] == Plan::none) continue;
            const std::uint32_t id = part.mapping->global[local];
            if (id == Dictionary::none) continue;
            if (seen.size() <= id) seen.resize(std::size_t{id} + 1);
            seen[id] = true;
        }
    }
    std::vector<VariableId> ids;
    for (std::size_t id = 0; id < seen.size(); ++id)
        if (seen[id]) ids.push_back(static_cast<VariableId>(id));
    return ids;
}

bool step_has(const InstalledStep& step, VariableId id)
{
    return std::ranges::any_of(step.ranks,
                               [&](const RankStep& part) { return part.first_of(id) != Plan::none; });
}

std::uint64_t count_blocks(const InstalledStep& step, VariableId id)
{
    std::uint64_t count = 0;
    each_block(step, id, [&](const PlacedBlock&) { return ++count, true; });
    return count;
}

Dims shape_of(const InstalledStep& step, VariableId id, const Variable& variable)
{
    Dims shape;
    switch (variable.kind) {
    case ShapeKind::global_value:
    case ShapeKind::local_array: break;
    case ShapeKind::local_value: shape = {count_blocks(step, id)}; break;
    case ShapeKind::global_array:
        each_block(step, id, [&](const PlacedBlock& block) {
            shape = copy(block.rank->geometry(block.entry).shape);
            return false;
        });
        break;
    case ShapeKind::joined_array: {
        std::uint64_t sum = 0;
        each_block(step, id, [&](const PlacedBlock& block) {
            const BlockGeometry geometry = block.rank->geometry(block.entry);
            if (shape.empty()) shape = copy(geometry.shape);
            const std::size_t joined = joined_position(geometry.shape);
            if (joined < geometry.count.size()) sum += geometry.count[joined];
            return true;
        });
        std::ranges::replace(shape, joined_dimension, sum);
        break;
    }
    }
    return shape;
}

std::vector<Block> blocks_of(const InstalledStep& step, VariableId id, const Variable& variable)
{
    std::vector<Block> blocks;
    std::uint64_t joined_so_far = 0;
    each_block(step, id, [&](const PlacedBlock& placed) {
        Block& block = blocks.emplace_back();
        block.writer_rank = placed.writer_rank;
        block.index = placed.index;
        if (is_value(variable.kind)) {
            set_value(block, placed, variable.type);
            if (variable.kind == ShapeKind::local_value) {
                block.start = {placed.index};
                block.count = {1};
            }
            return true;
        }
        const BlockGeometry geometry = placed.rank->geometry(placed.entry);
        block.start = copy(geometry.start);
        block.count = copy(geometry.count);
        block.minmax = placed.rank->minmax(placed.entry);
        block.left_out = placed.rank->left_out(placed.entry);
        if (variable.kind == ShapeKind::joined_array) {
            block.start.assign(block.count.size(), 0);
            const std::size_t joined = joined_position(geometry.shape);
            if (joined < block.count.size()) {
                block.start[joined] = joined_so_far;
                joined_so_far += block.count[joined];
            }
        }
        return true;
    });
    return blocks;
}

Dims largest_block(const InstalledStep& step, VariableId id)
{
    Dims largest;
    each_block(step, id, [&](const PlacedBlock& placed) {
        const DimsView count = placed.rank->geometry(placed.entry).count;
        if (largest.size() < count.size()) largest.resize(count.size());
        for (std::size_t i = 0; i < count.size(); ++i)
            largest[i] = std::max(largest[i], count[i]);
        return true;
    });
    return largest;
}

Dims first_block(const InstalledStep& step, VariableId id)
{
    Dims first;
    each_block(step, id, [&](const PlacedBlock& placed) {
        first = copy(placed.rank->geometry(placed.entry).count);
        return false;
    });
    return first;
}

std::optional<MinMax> minmax_of(const InstalledStep& step, VariableId id, const Variable& variable)
{
    std::optional<MinMax> sum;
    const auto add = [&](const std::optional<MinMax>& block) {
        if (!block) return;
        if (sum)
            merge_minmax(variable.type, *sum, *block);
        else
            sum = block;
    };
    if (!has_minmax(variable.type)) return sum;
    each_block(step, id, [&](const PlacedBlock& placed) {
        if (is_value(variable.kind)) {
            Block block;
            set_value(block, placed, variable.type);
            add(block.minmax);
            return variable.kind != ShapeKind::global_value; // of those the first rank's counts
        }
        add(placed.rank->minmax(placed.entry));
        return true;
    });
    return sum;
}

void GeometryWatch::look(const InstalledStep& step)
{
    const bool by_plans =
        std::ranges::all_of(step.ranks, [](const RankStep& part) { return part.sections.overrides.empty(); });
    const bool same =
        by_plans && std::ranges::equal(ranks_, step.ranks, [](const Seen& a, const RankStep& b) {
            return a.plan == b.plan && a.mapping == b.mapping;
        });
    if (same) return;
    ++changes_;
    ranks_.clear();
    if (!by_plans) return;
    for (const RankStep& part : step.ranks)
        ranks_.push_back({part.plan, part.mapping});
}

} // namespace stepstore::steps

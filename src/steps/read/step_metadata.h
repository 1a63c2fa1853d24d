// Questions to an installed step: which variables it has, their shapes, blocks, values and min/max, across
// all writer ranks.
// Threads: as the installed step. Errors: -DER_DF_INVAL for damage that shows only when a part is decoded.
#pragma once

#include "steps/metadata/decoder.h"

#include <vector>

namespace stepstore::steps {

// One block as it lies in the step.
struct PlacedBlock {
    const RankStep* rank = nullptr;
    std::uint32_t writer_rank = 0;
    std::uint32_t entry = 0;
    std::uint64_t index = 0; // among the variable's blocks of the step
};

// In block order: by rank, then in the order of the puts; until `each` returns false.
void each_block(const InstalledStep& step, VariableId id, FunctionRef<bool(const PlacedBlock&)> each);

std::vector<VariableId> variables_of(const InstalledStep& step); // ascending
bool step_has(const InstalledStep& step, VariableId id);
std::uint64_t count_blocks(const InstalledStep& step, VariableId id);
Dims shape_of(const InstalledStep& step, VariableId id, const Variable& variable);
// With the starts that joined arrays and local values have in the whole.
std::vector<Block> blocks_of(const InstalledStep& step, VariableId id, const Variable& variable);
// In each dimension the most that any block has.
Dims largest_block(const InstalledStep& step, VariableId id);
Dims first_block(const InstalledStep& step, VariableId id);
std::optional<MinMax> minmax_of(const InstalledStep& step, VariableId id, const Variable& variable);

// Counts how often a step had other variables than the step before, or one of another geometry. A step that
// differs in nothing but values and places of data is told by its plans, without a look at any block.
class GeometryWatch {
public:
    void look(const InstalledStep& step);
    std::uint64_t changes() const { return changes_; }

private:
    struct Seen { // owners: an address must not come back for another plan
        std::shared_ptr<const Plan> plan;
        std::shared_ptr<const Mapping> mapping;
    };
    std::vector<Seen> ranks_; // empty: the next step counts as another one
    std::uint64_t changes_ = 0;
};

} // namespace stepstore::steps

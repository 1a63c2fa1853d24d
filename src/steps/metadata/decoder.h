// From metadata to steps: decoding for readers. Installing a step costs little when nothing changed:
// per rank a header, a look at two caches, and views of the sections. Blocks, values and strings are decoded
// when they are asked for.
//
// All ranks of a reader that install the same metadata in the same order have the same state. So rank 0 knows
// which other metadata (with definitions or plans of earlier steps) a step needs, and sends it along.
//
// Threads: one at a time; an installed step does not change but for what it decodes when asked. Errors:
// -DER_DF_INVAL and -DER_CSUM for damage, -DER_INVAL for an id that is not there.
#pragma once

#include "base/function_ref.h"
#include "steps/metadata/data_sums.h"
#include "steps/metadata/definitions.h"
#include "steps/metadata/plan.h"
#include "steps/metadata/rank_metadata.h"
#include "steps/metadata/spare_buffers.h"
#include "steps/types.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace stepstore::steps {

// The metadata of one step, where it was read to.
struct StepMetadata {
    std::uint64_t step = 0;
    std::vector<Bytes> by_rank;               // each in `bytes` or in one of `more`
    std::vector<std::byte> bytes;             // may hold other bytes between that of two ranks
    std::vector<std::vector<std::byte>> more; // of ranks that were fetched by themselves
    bool opened = false;                  // each was: open_metadata. So nobody need check the payloads again.
    std::shared_ptr<SpareBuffers> spares; // where the memory goes when this ends; may be nullptr

    StepMetadata() = default;
    StepMetadata(StepMetadata&&) noexcept = default;
    StepMetadata& operator=(StepMetadata&& other) noexcept
    {
        if (spares != nullptr) spares->give(std::move(bytes));
        step = other.step;
        by_rank = std::move(other.by_rank);
        bytes = std::move(other.bytes);
        more = std::move(other.more);
        opened = other.opened;
        spares = std::move(other.spares);
        return *this;
    }
    StepMetadata(const StepMetadata&) = delete;
    StepMetadata& operator=(const StepMetadata&) = delete;
    ~StepMetadata()
    {
        if (spares != nullptr) spares->give(std::move(bytes));
    }

    // In the place of all that was there, at least `size` bytes of memory of `from`, of any content.
    void use(const std::shared_ptr<SpareBuffers>& from, std::uint64_t size)
    {
        *this = StepMetadata();
        spares = from;
        bytes = from->take();
        if (bytes.size() < size) bytes.resize(size);
    }
    // Ranks' metadata of these sizes lies in `bytes`, one after the other, from `begin` on.
    void divide(std::span<const std::uint64_t> sizes, std::uint64_t begin = 0)
    {
        by_rank.clear();
        for (const std::uint64_t size : sizes) {
            by_rank.push_back(Bytes(bytes).subspan(begin, size));
            begin += size;
        }
    }
    // Metadata that is not in `bytes`.
    void set(std::uint32_t rank, std::vector<std::byte>&& metadata)
    {
        more.push_back(std::move(metadata));
        by_rank[rank] = more.back();
    }
    Bytes of(std::uint32_t rank) const { return by_rank[rank]; }
    std::uint32_t ranks() const { return static_cast<std::uint32_t>(by_rank.size()); }
    std::uint64_t size() const // of all
    {
        std::uint64_t sum = 0;
        for (const Bytes metadata : by_rank)
            sum += metadata.size();
        return sum;
    }
};

// What all ranks' definitions add up to.
class Dictionary {
public:
    static constexpr std::uint32_t none = UINT32_MAX;

    // The reader's id; a name that ranks define differently stays what it was first, and every use of it
    // throws (check()).
    VariableId add(std::uint64_t step, std::uint32_t rank, const Variable& variable);
    void add(std::uint64_t step, std::uint32_t rank, Attribute&& attribute);
    const std::vector<Variable>& variables() const { return variables_; }
    std::uint32_t find(std::string_view name) const; // none: not there
    void check(VariableId id) const; // -DER_INVAL: no such id; -DER_DF_INVAL: defined differently

    // As of a step: of the latest step not after it, of the lowest rank in that step.
    const Attribute* attribute(std::string_view name, std::uint64_t step) const;
    std::vector<std::string> attribute_names(std::uint64_t step) const;
    std::uint64_t attribute_changes(std::uint64_t step) const; // versions up to the step

private:
    struct Version {
        std::uint64_t step;
        std::uint32_t rank;
        Attribute attribute;
    };
    std::vector<Variable> variables_;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> origins_; // step, rank
    std::unordered_map<std::string, VariableId> by_name_;
    std::map<VariableId, std::string> conflicts_;
    std::map<std::string, std::vector<Version>, std::less<>>
        attributes_;                             // versions ascending by step, then rank
    std::vector<std::uint64_t> attribute_steps_; // of every version, ascending
};

// A writer rank's variable numbers and the reader's, both ways.
struct Mapping {
    std::vector<LocalType> types; // by the writer's number
    std::vector<std::uint32_t>
        global;                       // by the writer's number; Dictionary::none for a conflicting definition
    std::vector<std::uint32_t> local; // by the reader's; Dictionary::none when the rank does not define it
    std::uint32_t local_of(VariableId id) const { return id < local.size() ? local[id] : Dictionary::none; }
};

// One rank's part of a step.
class RankStep {
public:
    MetadataHeader header;
    MetadataSections sections;
    std::shared_ptr<const Plan> plan; // nullptr: the rank put nothing
    std::shared_ptr<const Mapping> mapping;
    std::vector<std::byte> unpacked; // owns the sections of compressed metadata

    const PlanEntry& entry(std::uint32_t index) const;
    BlockGeometry geometry(std::uint32_t index) const;
    bool is_inline(std::uint32_t index) const { return (plan->entries[index].flags & entry_is_inline) != 0; }
    // Where a block lies in the rank's data array, as checked against the step's data (an inline one:
    // nowhere, 0 bytes). -DER_DF_INVAL: damage.
    Placement place(std::uint32_t index) const;
    bool left_out(std::uint32_t index) const;           // a block whose data is not stored
    std::uint64_t raw_bytes(std::uint32_t index) const; // of a block, before compression
    std::uint32_t first_of(VariableId id) const;        // Plan::none: none
    std::uint32_t next(std::uint32_t index) const { return plan->next[index]; }
    const LocalType& local(std::uint32_t index) const
    {
        return mapping->types[plan->entries[index].variable];
    }
    std::optional<MinMax> minmax(std::uint32_t index) const; // of an array's block
    Bytes value(std::uint32_t index) const;                  // of a value; of strings, the text
    std::shared_ptr<const DataSums> sums() const;            // of its data; nullptr: it says none

private:
    const Overrides* overrides() const;
    mutable std::shared_ptr<const Overrides> overrides_;
    mutable std::shared_ptr<const DataSums> sums_;
};

struct InstalledStep {
    std::uint64_t step = 0;
    StepMetadata fetched; // owns what the sections point at
    std::vector<RankStep> ranks;
};

class Decoder {
public:
    // Gives the metadata of a rank's earlier step, or the copy of the part of it that is wanted. The decoder
    // checks it.
    using FetchMetadata =
        FunctionRef<std::vector<std::byte>(std::uint64_t step, std::uint32_t rank, MetadataPart part)>;

    // Of one segment; `dictionary` is that of the whole stream.
    Decoder(std::uint64_t generation, std::uint32_t ranks,
            std::shared_ptr<Dictionary> dictionary = std::make_shared<Dictionary>());

    // Throws for damage, naming step and rank; the decoder can be used further.
    std::unique_ptr<InstalledStep> install(StepMetadata&& fetched, FetchMetadata fetch);
    const Dictionary& dictionary() const { return *dictionary_; }
    // Forgets what the ranks' earlier steps said (names keep their ids); the next step fetches what it needs.
    // After a failed install all ranks of a reader do this, so that they hold the same state again.
    void forget();

private:
    struct RankState {
        std::uint32_t batches = 0;
        std::shared_ptr<const Mapping>
            mapping; // at first one that all ranks share, so that equal definitions stay shared
        std::vector<std::shared_ptr<const Plan>> plans; // least recently used first
    };
    struct Memo { // the last definitions that were applied: other ranks mostly have the same
        std::shared_ptr<const Mapping> before, after;
        std::vector<std::byte> records;
    };

    void learn_definitions(const MetadataHeader& header, Bytes own, FetchMetadata fetch);
    void apply(std::uint32_t rank, std::uint64_t step, const DefinitionSection& section,
               std::string_view what);
    std::shared_ptr<const Plan> plan_of(const MetadataHeader& header, Bytes own, FetchMetadata fetch);
    MetadataHeader opened(Bytes metadata, std::uint64_t step, std::uint32_t rank) const;

    void begin_states(const StepMetadata& fetched);

    std::uint64_t generation_;
    std::uint32_t ranks_;
    std::vector<RankState> states_; // by rank; empty until a step was installed
    std::shared_ptr<Dictionary> dictionary_;
    Memo memo_;
};

} // namespace stepstore::steps

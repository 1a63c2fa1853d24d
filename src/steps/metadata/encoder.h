// Makes the metadata of one writer rank. Nothing is allocated per put once the buffers have grown to a step's
// size.
// Threads: one at a time. Errors: -DER_INVAL for what cannot be put, -DER_OVERFLOW for a section beyond 4
// GiB.
#pragma once

#include "base/function_ref.h"
#include "steps/metadata/data_sums.h"
#include "steps/metadata/definitions.h"
#include "steps/metadata/plan.h"
#include "steps/metadata/rank_metadata.h"
#include "steps/types.h"

#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace stepstore::steps {

class Encoder {
public:
    // metadata_compression: of the metadata.
    Encoder(std::uint64_t generation, std::uint32_t rank, bool statistics,
            Compression metadata_compression = {});

    // A variable of earlier steps of the stream: every later definition is the same.
    void expect(Variable variable);
    // -DER_INVAL: defined otherwise before, or it cannot be stored.
    VariableId define(std::string_view name, Type type, ShapeKind kind,
                      std::shared_ptr<const Structure> structure = nullptr);
    const Variable& variable(VariableId id) const;                                  // -DER_INVAL: no such id
    std::uint32_t element_size(VariableId id) const { return variables_[id].size; } // of one that there is
    void attribute(std::uint64_t step, const Attribute& attribute) // as it is already: nothing happens
    {
        definitions_.attribute(step, attribute);
    }

    void begin_step(std::uint64_t data_base);
    // One block: its entry. It lies after the step's data so far; or, when it is to be placed, where place()
    // puts it. From the first placed block of a step on all are. A single element has no place: set_element()
    // stores it.
    std::uint32_t add_block(VariableId id, DimsView shape, DimsView start, DimsView count,
                            std::uint64_t bytes, bool placed = false);
    // add_block() for what is most often the next: the block that the step before put there, and that was
    // checked then. entry == none: it is not, it is to be placed, or it is a single element.
    static constexpr std::uint32_t none = UINT32_MAX;
    struct Next {
        std::uint32_t entry = none;
        Type type = Type::float64;
        std::uint64_t bytes = 0;
    };
    Next next_block(VariableId id, const BlockGeometry& block, bool placed)
    {
        constexpr std::uint8_t others = entry_is_value | entry_is_placed | entry_is_inline;
        Next next;
        if (placed || placing_) return next;
        const PlanEntry* planned = next_entry(id);
        if (planned == nullptr || (planned->flags & others) != 0 || !has_geometry(*planned, block))
            return next;
        const Known& known = variables_[id];
        next.type = known.variable.type;
        next.bytes = known.size;
        for (const std::uint64_t extent : block.count)
            next.bytes *= extent;
        data_length_ += next.bytes;
        next.entry = followed_++;
        return next;
    }
    // The same for a single element, which is set too. False: it is not the next.
    bool set_next_element(VariableId id, const BlockGeometry& block, const std::byte* value)
    {
        const PlanEntry* planned = next_entry(id);
        if (planned == nullptr || (planned->flags & entry_is_inline) == 0 || !has_geometry(*planned, block))
            return false;
        ++followed_;
        singles_ = true;
        copy_element(fixed_.data() + planned->fixed_at, value, variables_[id].size);
        return true;
    }
    void set_element(std::uint32_t entry, const std::byte* value)
    {
        const PlanEntry& single = entry_at(entry);
        copy_element(fixed_.data() + single.fixed_at, value, variables_[single.variable].size);
    }
    // add_value() for what is most often the next: the value that the step before put there. False: it is
    // not.
    bool add_next_value(VariableId id, const void* value)
    {
        const PlanEntry* planned = next_entry(id);
        if (planned == nullptr || (planned->flags & entry_is_value) == 0) return false;
        Known& known = variables_[id];
        if (known.size == 0) return false;
        known.entry = followed_++;
        known.stamp = stamp_;
        copy_element(fixed_.data() + planned->fixed_at, value, known.size);
        return true;
    }
    bool placing() const { return placing_; }
    BlockGeometry geometry(std::uint32_t entry) const // valid until the next add_
    {
        return geometry_of(entry_at(entry), following_ ? following_->dims.data() : dims_.data());
    }
    // Settles where a placed block of `length` stored bytes lies: in the rank's data, bytes.
    std::uint64_t place(std::uint32_t entry, std::uint64_t length, Codec codec, std::uint64_t checksum);
    void add_value(VariableId id, const void* value);
    void add_string(VariableId id, std::string_view value);
    // Where the min and max of a block of several elements belong, one element each; nullptr without
    // statistics. Valid until the next add_.
    std::byte* minmax_slot(std::uint32_t entry);
    std::uint64_t data_length() const { return data_length_; } // of the blocks added (or placed) in this step
    std::size_t entries() const { return following_ ? followed_ : entries_.size(); }

    // What later steps refer to is kept a second time, so that damaged metadata does not take other steps
    // with it. The caller stores it before the metadata of finish(), under these keys of the stream's side
    // object. Definitions are kept when they are new. A plan is kept when a second step refers to it, so a
    // plan that is used once costs nothing.
    struct Copy {
        std::string key;
        std::vector<std::byte> metadata; // metadata with that section alone
    };
    const std::vector<Copy>& copies() const { return copies_; } // of the last finish()

    // A block that was added lies outside of the shape that it was put with: finish() checks all of the step.
    void check_again() { outside_ = true; }
    // Before finish(): the shape of all blocks of a variable in this step; empty: that of its last block.
    // -DER_INVAL: a block lies outside.
    void reshape(std::uint64_t step, FunctionRef<DimsView(VariableId)> shape_now);
    // The metadata of the step that was begun, valid until the next begin_step. -DER_OVERFLOW: a section
    // beyond 4 GiB. -DER_INVAL: a block lies outside of its variable's shape, which is that of its last
    // block. sums: of the step's data, where the pool does not verify them; empty: none.
    Bytes finish(std::uint64_t step, DataSums* sums = nullptr);
    // What the step of the last finish() says for the first time, or differently than the step before. Takes
    // no time where a step puts blocks as the one before.
    std::vector<Claim> new_claims();

private:
    struct Known {
        Variable variable;
        std::uint32_t size = 0;  // of an element, bytes; 0 for strings
        std::uint32_t entry = 0; // a value's in the step `stamp`; of an array, in finish(), the last one
        std::uint64_t stamp = 0; // counted by begin_step
        Dims claimed;            // the shape that was claimed last
    };
    struct CachedPlan {
        std::uint64_t step = 0;
        std::uint64_t used = 0;
        bool copied = false;
        bool placed = false;  // some block is
        bool singles = false; // some block is a single element
        std::size_t fixed_bytes = 0;
        std::vector<PlanEntry> entries;
        std::vector<std::uint64_t> dims;
    };

    static void copy_element(std::byte* to, const void* value, std::size_t size)
    {
        switch (size) {
        case 4: std::memcpy(to, value, 4); break;
        case 8: std::memcpy(to, value, 8); break;
        default: std::memcpy(to, value, size);
        }
    }
    Known& known(VariableId id);
    LocalType local_type(VariableId id) const
    {
        const Known& of = variables_[id];
        return {of.variable.type, of.variable.kind, of.size};
    }
    std::uint32_t add_entry(PlanEntry entry, DimsView shape, DimsView start, DimsView count);
    // What the plan of the step before has next, if it is of this variable.
    const PlanEntry* next_entry(VariableId id) const
    {
        if (following_ == nullptr || followed_ == following_->entries.size()) return nullptr;
        const PlanEntry& planned = following_->entries[followed_];
        return planned.variable == id ? &planned : nullptr;
    }
    // Of an entry of the plan that is followed.
    bool has_geometry(const PlanEntry& planned, const BlockGeometry& block) const
    {
        const std::size_t n = planned.dimensions;
        const std::uint64_t* dims = following_->dims.data() + planned.dims_at;
        const auto takes = [&](DimsView part, bool there) {
            if (part.size() != (there ? n : 0)) return false;
            for (const std::uint64_t extent : part)
                if (*dims++ != extent) return false;
            return true;
        };
        return takes(block.shape, (planned.flags & entry_has_shape) != 0) &&
               takes(block.start, (planned.flags & entry_has_start) != 0) && takes(block.count, n != 0);
    }
    bool follow(const PlanEntry& entry, DimsView shape, DimsView start, DimsView count);
    void stop_following();
    const PlanEntry& entry_at(std::uint32_t entry) const
    {
        return following_ ? following_->entries[entry] : entries_[entry];
    }
    std::uint32_t value_entry(VariableId id, Known& known);
    CachedPlan* matching_plan(std::size_t& differing);
    void require_within(const PlanEntry& entry, const BlockGeometry& block, DimsView shape,
                        std::uint64_t step) const;
    void settle_shapes(std::uint64_t step);
    void write_plan(std::uint64_t step, MetadataHeader& header);
    CachedPlan& remember_plan(std::uint64_t step);
    void seal(MetadataHeader& header, std::vector<std::byte>& metadata);
    void copy_definitions(const MetadataHeader& header);
    void copy_plan(CachedPlan& plan);
    static DimsView claimed_shape(const PlanEntry& entry, const std::vector<std::uint64_t>& dims);

    std::uint64_t generation_;
    std::uint32_t rank_;
    bool statistics_;
    Compression compression_;
    Compressor compressor_;
    std::vector<Known> variables_;
    std::unordered_map<std::string, VariableId> by_name_;
    std::unordered_map<std::string, Variable> expected_;
    DefinitionLog definitions_;
    bool structures_ = false;       // some variable is of a struct
    std::vector<CachedPlan> plans_; // never moved
    CachedPlan* last_plan_ = nullptr;
    std::size_t claimed_variables_ = 0;    // how many were
    std::uint64_t claimed_plan_ = no_step; // the step of the plan whose shapes were
    bool claimed_overrides_ = false;       // and whether blocks differed from it

    // The step that is open.
    std::uint64_t stamp_ = 0;
    std::uint64_t data_base_ = 0;
    std::uint64_t data_length_ = 0;
    bool placing_ = false;
    bool outside_ = false;              // a block may lie outside of its shape
    bool singles_ = false;              // entry_is_single
    std::uint64_t plan_step_ = no_step; // of the plan that finish() used
    bool overrides_ = false;            // whether blocks differ from it
    // As long as all puts were those of the plan of the step before, it stands for them: entries_ and dims_
    // are empty.
    CachedPlan* following_ = nullptr;
    std::uint32_t followed_ = 0;
    std::vector<PlanEntry> entries_;
    std::vector<std::uint64_t> dims_;
    std::vector<std::byte> fixed_;
    std::vector<std::byte> tail_;
    std::vector<std::byte> metadata_;
    std::vector<Copy> copies_;
};

} // namespace stepstore::steps

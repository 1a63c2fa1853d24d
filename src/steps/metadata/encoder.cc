#include "steps/metadata/encoder.h"

#include "base/wire.h"
#include "steps/metadata/block_check.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>
#include <array>

namespace stepstore::steps {

namespace {

constexpr std::size_t cached_plans = 8; // sequences of puts that alternate (each step, each tenth step, ...)

bool same_sequence(std::span<const PlanEntry> a, std::span<const PlanEntry> b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

bool same_dims(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

std::uint32_t checked_size(std::size_t size, const char* section, std::uint64_t step, std::uint32_t rank)
{
    if (size > UINT32_MAX)
        throw Error(-DER_OVERFLOW, "the metadata of " + step_rank(step, rank) + " is too large: its " +
                                       section + " take " + std::to_string(size) +
                                       " bytes, and at most 4 GiB fit");
    return static_cast<std::uint32_t>(size);
}

void require_alike(const Variable& before, const Variable& now)
{
    if (defined_alike(before, now)) return;
    throw Error(-DER_INVAL, "variable '" + before.name + "' was defined as " + described(before) +
                                "; it cannot become a " + described(now));
}

void require_storable(const Variable& variable)
{
    const auto refuse = [&](const std::string& why) {
        throw Error(-DER_INVAL, "variable '" + variable.name + "' " + why);
    };
    if (variable.name.empty()) throw Error(-DER_INVAL, "the name of a variable is empty: give one");
    if (name_of(variable.type).empty()) refuse("has an unknown type");
    if (variable.type == Type::string && !is_value(variable.kind))
        refuse("is an array of strings, which cannot be stored: put single strings");
    if ((variable.type == Type::structure) != (variable.structure != nullptr))
        refuse("needs a structure if and only if its type is struct");
    if (variable.structure == nullptr) return;
    if (const std::string fault = fault_of(*variable.structure); !fault.empty())
        refuse("is of a struct that cannot be stored: " + fault + " (" + to_text(*variable.structure) + ")");
}

} // namespace

Encoder::Encoder(std::uint64_t generation, std::uint32_t rank, bool statistics,
                 Compression metadata_compression)
    : generation_(generation), rank_(rank), statistics_(statistics), compression_(metadata_compression)
{
    plans_.reserve(cached_plans);
}

void Encoder::expect(Variable variable)
{
    expected_.insert_or_assign(variable.name, std::move(variable));
}

VariableId Encoder::define(std::string_view name, Type type, ShapeKind kind,
                           std::shared_ptr<const Structure> structure)
{
    Variable now{std::string(name), type, kind, std::move(structure)};
    const auto id = static_cast<VariableId>(variables_.size());
    const auto [named, is_new] = by_name_.try_emplace(now.name, id);
    if (!is_new) {
        require_alike(variables_[named->second].variable, now);
        return named->second;
    }
    try {
        if (const auto found = expected_.find(now.name); found != expected_.end())
            require_alike(found->second, now);
        require_storable(now);
        definitions_.variable(now);
    } catch (...) {
        by_name_.erase(named);
        throw;
    }
    structures_ |= now.structure != nullptr;
    const auto size = static_cast<std::uint32_t>(stepstore::steps::element_size(now));
    variables_.push_back({std::move(now), size, 0, 0, {}});
    return id;
}

Encoder::Known& Encoder::known(VariableId id)
{
    if (id >= variables_.size())
        throw Error(-DER_INVAL, "there is no variable with id " + std::to_string(id) + ": define it first");
    return variables_[id];
}

const Variable& Encoder::variable(VariableId id) const
{
    return const_cast<Encoder*>(this)->known(id).variable;
}

void Encoder::begin_step(std::uint64_t data_base)
{
    ++stamp_;
    data_base_ = data_base;
    data_length_ = 0;
    placing_ = singles_ = outside_ = false;
    following_ = last_plan_;
    followed_ = 0;
    entries_.clear();
    dims_.clear();
    fixed_.assign(following_ ? following_->fixed_bytes : 0, std::byte{0});
    tail_.clear();
}

// Whether the entry is the one that the plan of the step before has next: most steps put the same again.
bool Encoder::follow(const PlanEntry& entry, DimsView shape, DimsView start, DimsView count)
{
    if (followed_ == following_->entries.size()) return false;
    const PlanEntry& planned = following_->entries[followed_];
    if (planned.variable != entry.variable || planned.flags != entry.flags ||
        !has_geometry(planned, {shape, start, count}))
        return false;
    ++followed_;
    return true;
}

void Encoder::stop_following()
{
    const CachedPlan& plan = *following_;
    const bool all = followed_ == plan.entries.size();
    const std::size_t dims = all ? plan.dims.size() : plan.entries[followed_].dims_at;
    entries_.assign(plan.entries.begin(), plan.entries.begin() + followed_);
    dims_.assign(plan.dims.begin(), plan.dims.begin() + static_cast<std::ptrdiff_t>(dims));
    fixed_.resize(all ? plan.fixed_bytes : plan.entries[followed_].fixed_at);
    following_ = nullptr;
}

std::uint32_t Encoder::add_entry(PlanEntry entry, DimsView shape, DimsView start, DimsView count)
{
    if (following_) {
        if (follow(entry, shape, start, count)) return followed_ - 1;
        stop_following();
    }
    const std::size_t at = fixed_.size();
    entry.dims_at = static_cast<std::uint32_t>(dims_.size());
    entry.fixed_at = static_cast<std::uint32_t>(at);
    for (const DimsView part : {shape, start, count})
        dims_.insert(dims_.end(), part.begin(), part.end());
    fixed_.resize(at + fixed_size(local_type(entry.variable), statistics_, entry.flags));
    entries_.push_back(entry);
    return static_cast<std::uint32_t>(entries_.size() - 1);
}

std::uint32_t Encoder::add_block(VariableId id, DimsView shape, DimsView start, DimsView count,
                                 std::uint64_t bytes, bool placed)
{
    known(id); // there is one
    PlanEntry entry;
    entry.variable = id;
    entry.dimensions = static_cast<std::uint8_t>(count.size());
    if (!shape.empty()) entry.flags |= entry_has_shape;
    if (!start.empty()) entry.flags |= entry_has_start;
    if (std::ranges::all_of(count, [](auto extent) { return extent == 1; })) {
        entry.flags |= entry_is_single | entry_is_inline;
        singles_ = true;
        return add_entry(entry, shape, start, count);
    }
    placing_ |= placed;
    if (placing_)
        entry.flags |= entry_is_placed;
    else
        data_length_ += bytes;
    return add_entry(entry, shape, start, count);
}

std::uint64_t Encoder::place(std::uint32_t entry, std::uint64_t length, Codec codec, std::uint64_t checksum)
{
    const PlanEntry& placed = entry_at(entry);
    std::byte* to =
        fixed_.data() + placed.fixed_at + minmax_size(local_type(placed.variable), statistics_, placed.flags);
    store_placement({data_length_, length, codec, checksum}, to);
    const std::uint64_t at = data_base_ + data_length_;
    data_length_ += length;
    return at;
}

std::uint32_t Encoder::value_entry(VariableId id, Known& known)
{
    if (known.stamp != stamp_) {
        PlanEntry entry;
        entry.variable = id;
        entry.flags = entry_is_value;
        known.entry = add_entry(entry, {}, {}, {});
        known.stamp = stamp_;
    }
    return known.entry;
}

void Encoder::add_value(VariableId id, const void* value)
{
    Known& variable = known(id);
    const std::uint32_t entry = value_entry(id, variable);
    std::memcpy(fixed_.data() + entry_at(entry).fixed_at, value, variable.size);
}

void Encoder::add_string(VariableId id, std::string_view value)
{
    const std::uint32_t entry = value_entry(id, known(id));
    const std::size_t at = tail_.size();
    if (at + value.size() > UINT32_MAX)
        throw Error(-DER_OVERFLOW,
                    "the strings of one step of rank " + std::to_string(rank_) + " exceed 4 GiB");
    const Bytes bytes = as_bytes(value);
    tail_.insert(tail_.end(), bytes.begin(), bytes.end());
    std::byte* place = fixed_.data() + entry_at(entry).fixed_at;
    store_little(place, static_cast<std::uint32_t>(at));
    store_little(place + 4, static_cast<std::uint32_t>(value.size()));
}

std::byte* Encoder::minmax_slot(std::uint32_t entry)
{
    if (!statistics_ || !has_minmax(variables_[entry_at(entry).variable].variable.type)) return nullptr;
    return fixed_.data() + entry_at(entry).fixed_at;
}

// The cached plan of the same sequence that differs in the fewest blocks; nullptr when none is near.
Encoder::CachedPlan* Encoder::matching_plan(std::size_t& differing)
{
    const std::size_t near = std::max<std::size_t>(4, entries_.size() / 4);
    CachedPlan* best = nullptr;
    for (CachedPlan& plan : plans_) {
        if (!same_sequence(entries_, plan.entries)) continue;
        std::size_t differs = 0;
        if (!same_dims(dims_, plan.dims))
            for (const PlanEntry& entry : entries_)
                differs += !std::equal(dims_.begin() + entry.dims_at,
                                       dims_.begin() + entry.dims_at + entry.dims_size(),
                                       plan.dims.begin() + entry.dims_at);
        if (differs > near || (best != nullptr && differs >= differing)) continue;
        best = &plan;
        differing = differs;
        if (differs == 0) break;
    }
    return best;
}

Encoder::CachedPlan& Encoder::remember_plan(std::uint64_t step)
{
    CachedPlan* place = nullptr;
    if (plans_.size() < cached_plans)
        place = &plans_.emplace_back();
    else
        place = &*std::ranges::min_element(plans_, {}, &CachedPlan::used);
    place->step = step;
    place->used = stamp_;
    place->copied = false;
    place->placed = placing_;
    place->singles = singles_;
    place->fixed_bytes = fixed_.size();
    place->entries = entries_;
    place->dims = dims_;
    return *place;
}

void Encoder::write_plan(std::uint64_t step, MetadataHeader& header)
{
    const std::size_t before = metadata_.size();
    std::size_t differing = 0;
    CachedPlan* plan = following_ ? following_ : matching_plan(differing);
    if (plan != nullptr) {
        last_plan_ = plan;
        plan->used = stamp_;
        if (!plan->copied) copy_plan(*plan);
        header.plan_step = plan->step;
        if (differing > 0) encode_overrides(entries_, dims_, plan->dims, metadata_);
        header.override_bytes = checked_size(metadata_.size() - before, "changed blocks", step, rank_);
        return;
    }
    encode_plan(entries_, dims_, statistics_, metadata_);
    header.plan_step = step;
    header.plan_bytes = checked_size(metadata_.size() - before, "blocks", step, rank_);
    last_plan_ = &remember_plan(step);
}

// Checksums, and compression where it is chosen and helps.
void Encoder::seal(MetadataHeader& header, std::vector<std::byte>& metadata)
{
    const Bytes payload = Bytes(metadata).subspan(metadata_header_size);
    if (const auto packed = compressor_.compress(payload, 1, compression_)) {
        header.flags |= metadata_compressed;
        std::ranges::copy(*packed, metadata.begin() + metadata_header_size);
        metadata.resize(metadata_header_size + packed->size());
    }
    seal_metadata(header, metadata);
}

void Encoder::copy_definitions(const MetadataHeader& header)
{
    MetadataHeader copy;
    copy.generation = generation_;
    copy.step = header.step;
    copy.rank = rank_;
    copy.definitions_bytes = header.definitions_bytes;
    copy.flags = header.flags & metadata_structures;
    Copy& kept = copies_.emplace_back(copy_key(header.step, rank_, MetadataPart::definitions));
    kept.metadata.assign(metadata_.begin(),
                         metadata_.begin() +
                             static_cast<std::ptrdiff_t>(metadata_header_size + header.definitions_bytes));
    seal(copy, kept.metadata);
}

void Encoder::copy_plan(CachedPlan& plan)
{
    Copy& kept = copies_.emplace_back(copy_key(plan.step, rank_, MetadataPart::plan));
    kept.metadata.resize(metadata_header_size);
    encode_plan(plan.entries, plan.dims, statistics_, kept.metadata);
    MetadataHeader copy;
    copy.generation = generation_;
    copy.step = plan.step;
    copy.rank = rank_;
    copy.plan_step = plan.step;
    if (plan.placed) copy.flags |= metadata_placed;
    if (plan.singles) copy.flags |= metadata_singles | metadata_inline;
    copy.plan_bytes = checked_size(kept.metadata.size() - metadata_header_size, "blocks", plan.step, rank_);
    seal(copy, kept.metadata);
    plan.copied = true;
}

void Encoder::require_within(const PlanEntry& entry, const BlockGeometry& block, DimsView shape,
                             std::uint64_t step) const
{
    const Variable& variable = variables_[entry.variable].variable;
    checked_elements(variable, shape, block.start, block.count, [&](const std::string& why) {
        throw Error(-DER_INVAL, "variable '" + variable.name + "' in " + step_rank(step, rank_) +
                                    ": a block does not fit the shape at the end of the step: " + why);
    });
}

void Encoder::reshape(std::uint64_t step, FunctionRef<DimsView(VariableId)> shape_now)
{
    for (std::uint32_t i = 0; i < entries(); ++i) {
        const PlanEntry entry = entry_at(i);
        if ((entry.flags & entry_has_shape) == 0) continue;
        const DimsView shape = shape_now(entry.variable);
        const BlockGeometry block = geometry(i);
        if (shape.empty() || std::ranges::equal(shape, block.shape)) continue;
        require_within(entry, block, shape, step);
        if (following_) stop_following();
        std::ranges::copy(shape, dims_.begin() + entry.dims_at);
    }
}

// The shape of a variable's last block is that of all its blocks in the step.
void Encoder::settle_shapes(std::uint64_t step)
{
    if (following_) return; // as the step before, where all fitted
    for (std::size_t i = entries_.size(); i-- > 0;) {
        const PlanEntry& entry = entries_[i];
        if ((entry.flags & entry_has_shape) == 0) continue;
        Known& known = variables_[entry.variable];
        if (known.stamp != stamp_) {
            known.stamp = stamp_;
            known.entry = static_cast<std::uint32_t>(i);
            continue;
        }
        const BlockGeometry last = geometry_of(entries_[known.entry], dims_.data());
        const BlockGeometry block = geometry_of(entry, dims_.data());
        if (std::ranges::equal(last.shape, block.shape)) continue;
        require_within(entry, block, last.shape, step);
        std::ranges::copy(last.shape, dims_.begin() + entry.dims_at);
    }
    if (!outside_) return;
    for (const PlanEntry& entry : entries_)
        if ((entry.flags & entry_has_shape) != 0) {
            const BlockGeometry block = geometry_of(entry, dims_.data());
            require_within(entry, block, block.shape, step);
        }
}

Bytes Encoder::finish(std::uint64_t step, DataSums* sums)
{
    copies_.clear();
    if (following_ && followed_ != following_->entries.size()) stop_following();
    settle_shapes(step);
    MetadataHeader header;
    header.flags = static_cast<std::uint16_t>((statistics_ ? metadata_statistics : 0) |
                                              (placing_ ? metadata_placed : 0) |
                                              (singles_ ? metadata_singles | metadata_inline : 0));
    header.generation = generation_;
    header.step = step;
    header.rank = rank_;
    header.data_base = data_base_;
    header.data_length = data_length_;
    header.fixed_bytes = checked_size(fixed_.size(), "values", step, rank_);
    header.entries = checked_size(entries(), "blocks", step, rank_);
    checked_size(dims_.size(), "dimensions", step, rank_);
    metadata_.clear();
    metadata_.resize(metadata_header_size);
    header.definitions_bytes =
        checked_size(definitions_.write_section(step, metadata_), "definitions", step, rank_);
    if (header.definitions_bytes > 0) {
        if (structures_) header.flags |= metadata_structures;
        copy_definitions(header);
    }
    header.batches = definitions_.batches();
    header.definitions_step = definitions_.last_step();
    if (header.entries > 0) write_plan(step, header);
    plan_step_ = header.plan_step;
    overrides_ = header.override_bytes > 0;
    WireWriter wire(metadata_);
    wire.bytes(fixed_);
    if (sums != nullptr && !sums->empty()) {
        const std::size_t strings = tail_.size();
        sums->encode(data_base_, tail_);
        WireWriter(tail_).fixed(checked_size(tail_.size() - strings, "checksums of the data", step, rank_));
        header.flags |= metadata_sums;
    }
    wire.bytes(tail_);
    header.tail_bytes = checked_size(tail_.size(), "strings", step, rank_);
    seal(header, metadata_);
    return metadata_;
}

// Of a local array zeros.
DimsView Encoder::claimed_shape(const PlanEntry& entry, const std::vector<std::uint64_t>& dims)
{
    static constexpr std::array<std::uint64_t, max_dimensions> zeros{};
    if ((entry.flags & entry_has_shape) != 0) return geometry_of(entry, dims.data()).shape;
    return DimsView(zeros).first(entry.dimensions);
}

std::vector<Claim> Encoder::new_claims()
{
    std::vector<Claim> claims;
    claims.reserve(variables_.size() - claimed_variables_);
    const bool as_before = plan_step_ == claimed_plan_ && !overrides_ && !claimed_overrides_;
    if (!as_before) {
        const auto& dims = following_ ? following_->dims : dims_;
        for (const PlanEntry& entry : following_ ? following_->entries : entries_) {
            Known& known = variables_[entry.variable];
            const DimsView shape = claimed_shape(entry, dims);
            if (shape.empty() || std::ranges::equal(shape, known.claimed)) continue;
            known.claimed.assign(shape.begin(), shape.end());
            claims.push_back({known.variable, known.claimed});
        }
        claimed_plan_ = plan_step_;
        claimed_overrides_ = overrides_;
    }
    for (; claimed_variables_ < variables_.size(); ++claimed_variables_)
        if (variables_[claimed_variables_].claimed.empty())
            claims.push_back({variables_[claimed_variables_].variable, {}});
    return claims;
}

} // namespace stepstore::steps

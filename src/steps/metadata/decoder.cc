#include "steps/metadata/decoder.h"

#include "base/wire.h"
#include "steps/statistics.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::size_t kept_plans = 16; // per rank; a writer refers to its last 8

[[noreturn]] void damaged(const MetadataHeader& header, const std::string& why)
{
    throw Error(-DER_DF_INVAL, "the metadata of " + step_rank(header.step, header.rank) + " " + why +
                                   ": it is damaged; other steps can still be read");
}

// Blocks that are not placed take exactly the step's data; where some are placed, the rest is theirs.
void require_data(const MetadataHeader& header, std::uint64_t unplaced, bool placed)
{
    if (placed ? header.data_length < unplaced : header.data_length != unplaced)
        damaged(header, "names a size of its data that differs from that of its blocks");
}

} // namespace

Decoder::Decoder(std::uint64_t generation, std::uint32_t ranks, std::shared_ptr<Dictionary> dictionary)
    : generation_(generation), ranks_(ranks), dictionary_(std::move(dictionary))
{
}

void Decoder::forget()
{
    memo_ = {};
    states_.clear();
}

// Believes the number of ranks of a step. A record alone may name any number of ranks.
void Decoder::begin_states(const StepMetadata& fetched)
{
    if (fetched.ranks() != ranks_)
        throw Error(-DER_DF_INVAL, "step " + std::to_string(fetched.step) + " has the metadata of " +
                                       std::to_string(fetched.ranks()) + " ranks instead of " +
                                       std::to_string(ranks_) + ": it is damaged");
    if (states_.empty()) states_.assign(ranks_, RankState{0, std::make_shared<const Mapping>(), {}});
}

MetadataHeader Decoder::opened(Bytes metadata, std::uint64_t step, std::uint32_t rank) const
{
    return open_metadata(metadata, generation_, step, rank);
}

std::unique_ptr<InstalledStep> Decoder::install(StepMetadata&& fetched, FetchMetadata fetch)
{
    begin_states(fetched);
    auto installed = std::make_unique<InstalledStep>();
    installed->step = fetched.step;
    installed->fetched = std::move(fetched);
    installed->ranks.resize(states_.size());
    for (std::uint32_t rank = 0; rank < states_.size(); ++rank) {
        const Bytes metadata = installed->fetched.of(rank);
        RankStep& part = installed->ranks[rank];
        part.header =
            installed->fetched.opened ? header_of(metadata) : opened(metadata, installed->step, rank);
        part.sections = sections_of(part.header, metadata, part.unpacked);
        if (part.header.batches > states_[rank].batches)
            learn_definitions(part.header, part.sections.definitions, fetch);
        part.mapping = states_[rank].mapping;
        if (part.header.plan_step == no_step) {
            if (part.header.entries != 0) damaged(part.header, "has blocks without a plan");
            continue;
        }
        part.plan = plan_of(part.header, part.sections.plan, fetch);
        const Plan& plan = *part.plan;
        if (part.header.entries != plan.entries.size() || part.header.fixed_bytes != plan.fixed_bytes)
            damaged(part.header, "does not fit its plan");
        if (part.sections.overrides.empty()) require_data(part.header, plan.data_at.back(), plan.placed);
    }
    return installed;
}

// Walks back from the newest section to the first that this reader does not know, then applies them in their
// order.
void Decoder::learn_definitions(const MetadataHeader& header, Bytes own, FetchMetadata fetch)
{
    const std::uint32_t rank = header.rank;
    const std::uint32_t known = states_[rank].batches;
    struct Piece {
        std::vector<std::byte> metadata; // owns the records, unless they are the step's own
        std::vector<std::byte> unpacked;
        DefinitionSection section;
        std::uint64_t step;
    };
    std::vector<Piece> pieces;
    std::uint32_t wanted = header.batches;
    std::uint64_t step = header.definitions_step;
    while (wanted > known) {
        const std::string what = "the definitions in the metadata of " + step_rank(step, rank);
        Piece piece;
        piece.step = step;
        if (step == header.step) {
            piece.section = parse_definitions(own, what);
        } else {
            if (step > header.step) damaged(header, "refers to definitions in a later step");
            piece.metadata = fetch(step, rank, MetadataPart::definitions);
            const MetadataHeader theirs = opened(piece.metadata, step, rank);
            piece.section =
                parse_definitions(sections_of(theirs, piece.metadata, piece.unpacked).definitions, what);
        }
        if (piece.section.batch != wanted) damaged(header, "refers to definitions that it does not find");
        wanted = piece.section.after;
        step = piece.section.previous_step;
        pieces.push_back(std::move(piece));
    }
    while (!pieces.empty()) {
        const Piece& piece = pieces.back();
        apply(rank, piece.step, piece.section,
              "the definitions in the metadata of " + step_rank(piece.step, rank));
        pieces.pop_back();
    }
}

void Decoder::apply(std::uint32_t rank, std::uint64_t step, const DefinitionSection& section,
                    std::string_view what)
{
    RankState& state = states_[rank];
    const bool same = memo_.before == state.mapping && std::ranges::equal(section.records, memo_.records);
    if (same) { // another rank said exactly this
        state.mapping = memo_.after;
        state.batches = section.batch;
        return;
    }
    auto mapping = std::make_shared<Mapping>(*state.mapping);
    each_definition(
        section, what,
        [&](std::uint32_t number, Variable&& variable) {
            if (number < mapping->types.size()) return; // known from an earlier section
            if (number != mapping->types.size())
                throw Error(-DER_DF_INVAL, std::string(what) + " skip a variable: the record is damaged");
            const std::uint32_t id = dictionary_->add(step, rank, variable);
            mapping->types.push_back(local_type(variable));
            mapping->global.push_back(id);
            if (id == Dictionary::none) return;
            if (mapping->local.size() <= id) mapping->local.resize(std::size_t{id} + 1, Dictionary::none);
            mapping->local[id] = number;
        },
        [&](std::uint64_t since, Attribute&& attribute) {
            dictionary_->add(since, rank, std::move(attribute));
        });
    memo_.before = std::move(state.mapping);
    memo_.after = mapping;
    memo_.records.assign(section.records.begin(), section.records.end());
    state.mapping = std::move(mapping);
    state.batches = section.batch;
}

std::shared_ptr<const Plan> Decoder::plan_of(const MetadataHeader& header, Bytes own, FetchMetadata fetch)
{
    auto& plans = states_[header.rank].plans;
    const auto known =
        std::ranges::find(plans, header.plan_step, [](const auto& plan) { return plan->step; });
    if (known != plans.end()) {
        std::rotate(known, known + 1, plans.end());
        return plans.back();
    }
    const std::string what = "the plan in the metadata of " + step_rank(header.plan_step, header.rank);
    const Mapping& mapping = *states_[header.rank].mapping;
    auto plan = std::make_shared<Plan>();
    if (header.plan_step == header.step) {
        *plan = decode_plan(own, mapping.types, what);
    } else {
        if (header.plan_step > header.step) damaged(header, "refers to a plan in a later step");
        const std::vector<std::byte> metadata = fetch(header.plan_step, header.rank, MetadataPart::plan);
        const MetadataHeader theirs = opened(metadata, header.plan_step, header.rank);
        if (theirs.plan_step != header.plan_step) damaged(header, "refers to a step without a plan");
        std::vector<std::byte> unpacked;
        *plan = decode_plan(sections_of(theirs, metadata, unpacked).plan, mapping.types, what);
    }
    plan->step = header.plan_step;
    if (plans.size() == kept_plans) plans.erase(plans.begin());
    plans.push_back(plan);
    return plan;
}

const Overrides* RankStep::overrides() const
{
    if (sections.overrides.empty()) return nullptr;
    if (overrides_ == nullptr) {
        auto decoded = std::make_shared<Overrides>(
            decode_overrides(sections.overrides, *plan, mapping->types,
                             "the changed blocks in the metadata of " + step_rank(header.step, header.rank)));
        require_data(header, decoded->data_at.back(), plan->placed);
        overrides_ = std::move(decoded);
    }
    return overrides_.get();
}

const PlanEntry& RankStep::entry(std::uint32_t index) const
{
    const Overrides* changed = overrides();
    return changed ? changed->entries[index] : plan->entries[index];
}

BlockGeometry RankStep::geometry(std::uint32_t index) const
{
    const Overrides* changed = overrides();
    return changed ? geometry_of(changed->entries[index], changed->dims.data())
                   : geometry_of(plan->entries[index], plan->dims.data());
}

std::uint64_t RankStep::raw_bytes(std::uint32_t index) const
{
    std::uint64_t bytes = local(index).size;
    for (const std::uint64_t extent : geometry(index).count)
        bytes *= extent; // plan.cc has checked that this fits
    return bytes;
}

bool RankStep::left_out(std::uint32_t index) const
{
    const PlanEntry& planned = plan->entries[index];
    if ((planned.flags & entry_is_placed) == 0) return false;
    const std::uint32_t before = minmax_size(local(index), plan->statistics, planned.flags);
    return load_placement(sections.fixed.data() + planned.fixed_at + before).codec == Codec::left_out;
}

Placement RankStep::place(std::uint32_t index) const
{
    const PlanEntry& placed = entry(index);
    const std::uint64_t raw = raw_bytes(index);
    if ((placed.flags & entry_is_inline) != 0) return {header.data_base, 0, Codec::none, 0};
    if ((placed.flags & entry_is_placed) == 0) {
        const Overrides* changed = overrides();
        return {header.data_base + (changed ? changed->data_at[index] : plan->data_at[index]), raw,
                Codec::none, 0};
    }
    const PlanEntry& planned = plan->entries[index];
    const LocalType local = mapping->types[planned.variable];
    Placement place = load_placement(sections.fixed.data() + planned.fixed_at +
                                     minmax_size(local, plan->statistics, planned.flags));
    const bool inside = place.at <= header.data_length && place.length <= header.data_length - place.at;
    const bool fits = place.codec == Codec::none       ? place.length == raw
                      : place.codec == Codec::left_out ? place.length == 0
                      : is_operator(place.codec)       ? place.length > 0
                                                       : raw / most_shrinking <= place.length;
    if (!inside || !fits) damaged(header, "names a place for a block that cannot hold it");
    place.at += header.data_base;
    return place;
}

std::uint32_t RankStep::first_of(VariableId id) const
{
    if (plan == nullptr) return Plan::none;
    const std::uint32_t local = mapping->local_of(id);
    return local == Dictionary::none ? Plan::none : plan->first_of(local);
}

std::optional<MinMax> RankStep::minmax(std::uint32_t index) const
{
    const LocalType of = local(index);
    if (!plan->statistics || !has_minmax(of.type)) return std::nullopt;
    for (const std::uint64_t extent : geometry(index).count)
        if (extent == 0) return std::nullopt;
    const std::byte* at = sections.fixed.data() + plan->entries[index].fixed_at;
    MinMax result;
    std::memcpy(result.min.bytes.data(), at, of.size);
    const bool single = (plan->entries[index].flags & entry_is_single) != 0;
    std::memcpy(result.max.bytes.data(), single ? at : at + of.size, of.size);
    const bool placed = (plan->entries[index].flags & entry_is_placed) != 0;
    if (placed && says_none(of.type, result)) return std::nullopt;
    return result;
}

Bytes RankStep::value(std::uint32_t index) const
{
    const std::byte* at = sections.fixed.data() + plan->entries[index].fixed_at;
    if (local(index).type != Type::string) return {at, local(index).size};
    const std::uint64_t begin = load_little<std::uint32_t>(at);
    const std::uint64_t length = load_little<std::uint32_t>(at + 4);
    if (begin + length > sections.tail.size()) damaged(header, "holds a string that ends too late");
    return sections.tail.subspan(begin, length);
}

std::shared_ptr<const DataSums> RankStep::sums() const
{
    if (sums_ == nullptr && !sections.sums.empty())
        sums_ = std::make_shared<const DataSums>(
            DataSums::decode(sections.sums, {header.data_base, header.data_length},
                             "the metadata of " + step_rank(header.step, header.rank)));
    return sums_;
}

} // namespace stepstore::steps

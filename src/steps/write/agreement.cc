#include "steps/write/agreement.h"

#include "base/checksum.h"
#include "base/wire.h"

#include <algorithm>
#include <utility>

namespace stepstore::steps {

namespace {

constexpr std::uint32_t agreed_magic = 0x47415353; // "SSAG"
constexpr std::size_t rank_at = 12;                // after magic and step
constexpr std::size_t claims_at = 16;

// ends: where each claim ends.
std::vector<std::byte> encode(std::uint64_t step, std::uint32_t rank, const std::vector<Claim>& claims,
                              std::vector<std::size_t>* ends = nullptr)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(agreed_magic);
    to.fixed(step);
    to.fixed(rank);
    for (const Claim& claim : claims) {
        write_variable(to, claim.variable);
        to.varint(claim.shape.size());
        for (const std::uint64_t extent : claim.shape)
            to.varint(extent);
        if (ends != nullptr) ends->push_back(bytes.size());
    }
    return bytes;
}

// Whether an entry is another one's beginning, whichever ranks say it.
bool begins(Bytes entry, Bytes whole)
{
    return claims_at <= entry.size() && entry.size() <= whole.size() &&
           std::ranges::equal(entry.first(rank_at), whole.first(rank_at)) &&
           std::ranges::equal(entry.subspan(claims_at), whole.subspan(claims_at, entry.size() - claims_at));
}

// Of a local array only the number of dimensions is shared.
std::string described_shape(const Variable& variable, const Dims& shape)
{
    if (variable.kind == ShapeKind::local_array) return std::to_string(shape.size()) + " dimensions";
    Dims shown = shape;
    std::ranges::replace(shown, joined_dimension, 0);
    return "the shape " + to_text(shown) + (shown == shape ? "" : " (0: joined)");
}

[[noreturn]] void contradict(const std::string& name, const std::string& theirs, std::uint64_t their_step,
                             std::uint32_t their_rank, const std::string& mine, std::uint64_t step,
                             std::uint32_t rank)
{
    throw Error(-DER_INVAL, "variable '" + name + "' is " + mine + " in " + step_rank(step, rank) + ", and " +
                                theirs + " in " + step_rank(their_step, their_rank) +
                                ": all ranks must define it in the same way. Step " + std::to_string(step) +
                                " is not stored; the steps before it are kept");
}

} // namespace

void Agreement::agree(Communicator& group, std::uint64_t first_step, std::vector<Claim> claims)
{
    std::ranges::sort(claims, {},
                      [](const Claim& claim) -> const std::string& { return claim.variable.name; });
    const std::uint64_t sum = checksum(encode(first_step, 0, claims));
    const std::uint64_t greatest = group.max(sum);
    const std::uint64_t least = ~group.max(~sum);
    if (least != greatest) return;
    first_step_ = first_step;
    for (Claim& claim : claims) {
        const std::string name = claim.variable.name;
        agreed_.insert_or_assign(name, std::move(claim));
    }
}

bool Agreement::is_agreed(std::uint64_t step, const Claim& claim) const
{
    const auto found = agreed_.find(claim.variable.name);
    return found != agreed_.end() && step == first_step_ && found->second.shape == claim.shape &&
           defined_alike(found->second.variable, claim.variable);
}

bool Agreement::is_said(std::uint64_t step, const Claim& claim) const
{
    const auto found = known_.find(claim.variable.name);
    if (found == known_.end()) return false;
    const Known& known = found->second;
    if (!defined_alike(known.variable, claim.variable))
        contradict(claim.variable.name, "a " + described(known.variable), known.step, known.rank,
                   "a " + described(claim.variable), step, rank_);
    if (claim.shape.empty()) return true;
    const auto shape = std::ranges::find(known.shapes, step, &Shape::step);
    if (shape == known.shapes.end()) return false;
    if (shape->dims != claim.shape)
        contradict(claim.variable.name, "of " + described_shape(known.variable, shape->dims), step,
                   shape->rank, "of " + described_shape(claim.variable, claim.shape), step, rank_);
    return true;
}

void Agreement::learn(Bytes entry, std::uint64_t step)
{
    WireReader from(entry, "the record of what the writer's ranks have agreed on");
    if (from.fixed<std::uint32_t>() != agreed_magic) from.fail("does not begin with its magic number");
    const auto their_step = from.fixed<std::uint64_t>();
    const auto their_rank = from.fixed<std::uint32_t>();
    while (!from.at_end()) {
        Known fresh;
        fresh.variable = read_variable(from);
        fresh.step = their_step;
        fresh.rank = their_rank;
        Dims shape(from.counted(1));
        for (std::uint64_t& extent : shape)
            extent = from.varint();
        const std::string name = fresh.variable.name;
        Known& known = known_.try_emplace(name, std::move(fresh)).first->second;
        std::erase_if(known.shapes, [step](const Shape& old) { return old.step < step; });
        if (!shape.empty() && their_step >= step)
            known.shapes.push_back({their_step, their_rank, std::move(shape)});
    }
}

void Agreement::settle(std::uint64_t step, std::vector<Claim> claims)
{
    std::erase_if(claims, [&](const Claim& one) { return is_agreed(step, one); });
    if (claims.empty()) return;
    const auto drop_what_is_said = [&] {
        std::erase_if(claims, [&](const Claim& one) { return is_said(step, one); });
    };
    for (const auto& entry : std::exchange(unlearned_, {}))
        learn(entry, step);
    drop_what_is_said();
    while (!claims.empty()) {
        std::vector<std::size_t> ends;
        const std::vector<std::byte> mine = encode(step, rank_, claims, &ends);
        ++requests_;
        if (auto entry = log_.read_next()) {
            if (begins(mine, *entry)) { // all of mine, and maybe more
                if (entry->size() > mine.size()) unlearned_.push_back(std::move(*entry));
                return;
            }
            const auto end = begins(*entry, mine) ? std::ranges::find(ends, entry->size()) : ends.end();
            if (end != ends.end()) { // nothing but the first of mine
                claims.erase(claims.begin(), claims.begin() + (end - ends.begin()) + 1);
                continue;
            }
            learn(*entry, step);
            drop_what_is_said();
            continue;
        }
        ++requests_;
        if (log_.append(mine)) return;
    }
}

} // namespace stepstore::steps

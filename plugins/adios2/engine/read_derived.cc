// A reader's gets of derived variables whose elements are not stored: they are computed from the blocks of
// their inputs, block by block, as the writer would have.
#include "read.h"
#include "steps/read/hyperslab.h"

#include <algorithm>

namespace stepstore::adios {
namespace {

bool meet(const steps::Dims& start, const steps::Dims& count, const steps::Dims& other_start,
          const steps::Dims& other_count)
{
    for (std::size_t d = 0; d < count.size(); ++d)
        if (std::max(start[d], other_start[d]) >=
            std::min(start[d] + count[d], other_start[d] + other_count[d]))
            return false;
    return true;
}

// The blocks of one writer rank.
std::vector<steps::Block> of_rank(const std::vector<steps::Block>& blocks, std::uint32_t rank)
{
    std::vector<steps::Block> found;
    std::ranges::copy_if(blocks, std::back_inserter(found),
                         [&](const auto& block) { return block.writer_rank == rank; });
    return found;
}

} // namespace

// Empty: it is not derived, as far as the step says.
std::string ReadAdapter::expression_of(const std::string& variable, std::uint64_t step) const
{
    if (!has_expressions_) return {};
    const auto found = reader().attribute(steps::expression_attribute(variable), step);
    return found && !found->strings.empty() ? found->strings.front() : std::string();
}

std::string ReadAdapter::expression_of(const std::string& variable) const
{
    if (access_ == Access::stream) return expression_of(variable, steps::this_step);
    const auto steps = reader().available_steps(require(variable));
    return steps.empty() ? std::string() : expression_of(variable, steps.front());
}

std::vector<ReadAdapter::Source> ReadAdapter::sources_of(const std::string& expression,
                                                         const std::string& what, std::uint64_t step) const
{
    std::vector<Source> sources;
    for (const auto& name : variables_in(expression, what)) {
        const auto input = reader().find(name);
        const auto type = input ? reader().definitions()[*input].type : steps::Type::string;
        if (type == steps::Type::string || type == steps::Type::structure || !reader().has(*input, step))
            throw Error(-DER_INVAL, what + ": the step has no variable '" + name +
                                        "' that numbers can be computed from, but its expression is '" +
                                        expression + "'");
        sources.push_back({*input, reader().definitions()[*input], reader().blocks(*input, step)});
    }
    return sources;
}

// start, count: of the array, or relative to the block. False: all that is wanted is stored.
bool ReadAdapter::get_derived(steps::VariableId id, const steps::Variable& definition,
                              std::optional<std::uint64_t> only_block, const steps::Dims& start,
                              const steps::Dims& count, void* memory, std::uint64_t step)
{
    const auto expression = expression_of(definition.name, step);
    if (expression.empty()) return false;
    const auto blocks = reader().blocks(id, step);
    const auto origin_of = [&](const steps::Block& block) {
        return only_block ? steps::Dims(block.count.size(), 0) : block.start;
    };
    std::vector<const steps::Block*> wanted;
    for (const auto& block : blocks) {
        if (only_block && block.index != *only_block) continue;
        const auto origin = origin_of(block);
        if (origin.size() == count.size() && meet(origin, block.count, start, count))
            wanted.push_back(&block);
    }
    if (std::ranges::none_of(wanted, &steps::Block::left_out)) return false;
    const std::string what = "stepstore: derived variable '" + definition.name + "' " + where();
    const auto sources = sources_of(expression, what, step);
    // The memory that is read into stays until the reads are done or dropped, also after an Error.
    auto& derived = gets_.derived.emplace_back();
    derived.start = start;
    derived.count = count;
    derived.memory = static_cast<std::byte*>(memory);
    derived.element_size = steps::element_size(definition);
    for (const auto* block : wanted) {
        auto& piece = derived.pieces.emplace_back();
        piece.start = origin_of(*block);
        piece.count = block->count;
        if (!block->left_out) {
            piece.stored.resize(steps::elements(piece.count) * derived.element_size);
            reader().get_block(id, block->index, {}, {}, piece.stored.data(), steps::Mode::deferred, step);
            continue;
        }
        const auto siblings = of_rank(blocks, block->writer_rank);
        const auto position = static_cast<std::size_t>(
            std::ranges::find(siblings, block->index, &steps::Block::index) - siblings.begin());
        auto how = derived.how ? nullptr : std::make_shared<Derivation>(core_of(io_));
        for (const Source& source : sources) {
            const auto inputs = of_rank(source.blocks, block->writer_rank);
            const bool value = steps::is_value(source.definition.kind);
            if (value ? inputs.empty() : inputs.size() != siblings.size())
                throw Error(-DER_INVAL, what + ": of writer rank " + std::to_string(block->writer_rank) +
                                            " there are " + std::to_string(siblings.size()) +
                                            " blocks, but " + std::to_string(inputs.size()) +
                                            " of its input '" + source.definition.name + "'");
            const auto& from = value ? inputs.back() : inputs[position];
            if (how) how->input(source.definition, reader().shape(source.id, step), from);
            get_input(source, from, value, piece, step);
        }
        if (!how) continue;
        how->define(definition, expression, what);
        derived.how = std::move(how);
    }
    derived.whole = true;
    return true;
}

void ReadAdapter::get_input(const Source& source, const steps::Block& block, bool value,
                            Derived::Piece& piece, std::uint64_t step)
{
    auto& room = piece.inputs[source.definition.name];
    if (!value) {
        room.start = block.start;
        room.count = block.count;
    }
    room.values.resize(steps::elements(room.count) * steps::element_size(source.definition));
    if (value)
        reader().get_value(source.id, room.values.data(), block.index, step);
    else
        reader().get_block(source.id, block.index, {}, {}, room.values.data(), steps::Mode::deferred, step);
}

void ReadAdapter::Derived::deliver(steps::Order order, const std::string& where) const
{
    if (!whole) return;
    for (const auto& piece : pieces) {
        const auto copy_from = [&](const void* values) {
            steps::copy_shared({piece.start, piece.count}, static_cast<const std::byte*>(values),
                               {start, count}, memory, element_size, order);
        };
        if (!piece.stored.empty()) {
            copy_from(piece.stored.data());
            continue;
        }
        std::map<std::string, std::vector<InputBlock>> inputs;
        for (const auto& [name, room] : piece.inputs)
            inputs[name].push_back({room.start, room.count, room.values.data()});
        const auto made = derive(how->variable(), inputs, true);
        if (made.size() != 1 || made.front().count != piece.count)
            throw Error(-DER_INVAL, "stepstore: derived variable '" + how->variable().m_Name + "' " + where +
                                        ": its expression gives a block of " +
                                        (made.empty() ? "nothing" : steps::to_text(made.front().count)) +
                                        " where the stream says " + steps::to_text(piece.count));
        copy_from(made.front().values.get());
    }
}

} // namespace stepstore::adios

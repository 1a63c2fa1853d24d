// Makes the variables and attributes of a stream known to ADIOS2's IO.
#include "read.h"

#include <algorithm>

namespace stepstore::adios {
namespace {

// Not strings, which a step has more or fewer of; not structs, which a program may read as others.
bool has_fixed_size(steps::Type type)
{
    return type != steps::Type::string && type != steps::Type::structure;
}

bool same_value(const steps::Attribute& a, const steps::Attribute& b)
{
    return a.type == b.type && a.array == b.array && a.count == b.count && a.data == b.data &&
           a.strings == b.strings;
}

bool is_expression(const steps::Attribute& attribute)
{
    static const auto ending = steps::expression_attribute("");
    return attribute.name.ends_with(ending) && attribute.type == steps::Type::string && !attribute.array;
}

} // namespace

void ReadAdapter::hide_all()
{
    for (auto& shown : shown_)
        if (shown.present) io_.RemoveVariable(shown.definition.name);
    shown_.clear();
    in_step_.clear();
    geometry_ = 0;
    by_identity_.clear();
    inventory_.forget();
}

// The current step's variables.
void ReadAdapter::show_step()
{
    const auto geometry = stream_->geometry();
    if (geometry != geometry_)
        show_variables(stream_->variables(), steps::this_step);
    else
        show_step_again();
    geometry_ = geometry;
    if (host_ != nullptr && !inventory_.noted()) inventory_.note(io_, by_identity_);
}

// Of a step that has the geometry of the step before. Only what a program can have done to a variable is
// looked at.
void ReadAdapter::show_step_again()
{
    std::vector<steps::VariableId> others;
    const auto look = [&](steps::VariableId id, const adios2::core::VariableBase& now) {
        const auto& shown = shown_[id];
        if (!has_fixed_size(shown.definition.type) || !selects_whole(now, shown.shape, shown.count))
            others.push_back(id);
    };
    if (host_ == nullptr || !inventory_.visit(io_, host_, look)) {
        others = in_step_;
        if (host_ != nullptr)
            std::erase_if(others, [&](steps::VariableId id) {
                const auto& shown = shown_[id];
                return shown.present && has_fixed_size(shown.definition.type) &&
                       is_defined(io_, shown.definition, shown.identity) &&
                       selects_whole(*shown.identity, shown.shape, shown.count);
            });
        inventory_.forget();
    }
    for (const auto id : others)
        show(id, shown_[id], shown_[id].shape);
}

// Makes the step's variables the ones that the IO has. What did not change since the step before is left as
// it is.
void ReadAdapter::show_variables(std::span<const steps::VariableId> ids, std::uint64_t step)
{
    if (!std::ranges::equal(ids, in_step_)) {
        for (auto id : in_step_) {
            if (std::ranges::binary_search(ids, id)) continue;
            auto& shown = shown_[id];
            io_.RemoveVariable(shown.definition.name);
            inventory_.forget();
            by_identity_.erase(shown.identity);
            shown.present = false;
            shown.identity = nullptr;
        }
        in_step_.assign(ids.begin(), ids.end());
    }
    for (auto id : in_step_)
        show_variable(id, step);
}

void ReadAdapter::show_variable(steps::VariableId id, std::uint64_t step)
{
    if (shown_.size() <= id) shown_.resize(std::max<std::size_t>(reader().definitions().size(), id + 1));
    auto& shown = shown_[id];
    if (shown.definition.name.empty()) shown.definition = reader().definitions()[id];
    steps::Dims shape;
    auto& count = shown.count;
    try {
        if (shown.definition.kind == steps::ShapeKind::local_array) {
            // As in BP5. An ADIOS2 that asks nobody for the size of a block shows what has room for all.
            count = in_program_order(host_ != nullptr ? reader().first_block(id, step)
                                                      : reader().largest_block(id, step));
        } else if (shown_as_array(shown.definition)) {
            shape = in_program_order(reader().shape(id, step));
            count = shape;
        }
    } catch (const Error&) {
        // Ranks that contradict each other: using this variable says so again; the step's others are good.
        count = {1};
        if (shown.definition.kind != steps::ShapeKind::local_array) shape = count;
    }
    show(id, shown, shape);
}

void ReadAdapter::show(steps::VariableId id, Shown& shown, const steps::Dims& shape)
{
    auto before = shown.identity;
    if (shown.definition.type == steps::Type::structure)
        define_structure(shown, shape);
    else
        with_type(shown.definition.type, [&]<class T>(std::type_identity<T>) { define<T>(shown, shape); });
    if (shown.identity == nullptr || (shown.identity == before && shown.present)) return;
    by_identity_.erase(before);
    by_identity_[shown.identity] = id;
    shown.present = true;
}

// Defines the variable, or resets it to the whole array, as ADIOS2's engines hand it out at the start of a
// step.
template <class T>
void ReadAdapter::define(Shown& shown, const steps::Dims& shape)
{
    const auto& name = shown.definition.name;
    // Its strings are one more or one less in each step.
    const bool strings = std::is_same_v<T, std::string> && shown_as_array(shown.definition);
    bool keep = shown.present && has_variable<T>(io_, name, shown.identity) &&
                is_engine_of(*shown.identity, host_) && !strings;
    if (keep && shown_as_array(shown.definition)) keep = keep_array<T>(shown, shape);
    if (keep) return;
    adios2::Variable<T> variable;
    inventory_.forget();
    io_.RemoveVariable(name);
    if (shown.definition.kind == steps::ShapeKind::local_value && std::is_same_v<T, std::string>)
        variable = io_.DefineVariable<T>(name, {adios2::LocalValueDim});
    else
        variable = io_.DefineVariable<T>(name, shape, adios2::Dims(shape.size(), 0), shown.count);
    if constexpr (std::is_same_v<T, std::string>)
        if (strings) show_as_array(variable, static_cast<std::size_t>(shape.at(0)));
    shown.identity = identity_of(variable);
    shown.shape = shape;
    if (host_ == nullptr) return;
    belongs_to(variable, host_, available_steps_of(name));
}

std::size_t ReadAdapter::available_steps_of(const std::string& name) const
{
    return access_ == Access::random ? reader().available_count(require(name)) : 1;
}

// Makes a variable of the step before one of this step. False: only a new definition can. Most often nothing
// changed; one look at its selection, which holds all that a program can have set, is then all that is done.
template <class T>
bool ReadAdapter::keep_array(Shown& shown, const steps::Dims& shape)
{
    const auto selection = selection_in(*shown.identity);
    if (selection.HasBlockSelection() || selection.HasMemorySelection() || selection.GetStepStart() != 0 ||
        selection.GetStepCount() != 1 || shape.size() != shown.shape.size())
        return false;
    const auto& name = shown.definition.name;
    if (shape != shown.shape) {
        io_.InquireVariable<T>(name).SetShape(shape);
        shown.shape = shape;
    }
    // Without a start (local arrays) there is no box in the selection.
    const auto& start = selection.GetStart();
    const adios2::Dims asked = start.empty() ? io_.InquireVariable<T>(name).Count() : adios2::Dims();
    const auto& selected = start.empty() ? asked : selection.GetCount();
    const bool whole = selected == shown.count && start.size() == shape.size() &&
                       std::ranges::all_of(start, [](auto extent) { return extent == 0; });
    if (!whole) io_.InquireVariable<T>(name).SetSelection({adios2::Dims(shape.size(), 0), shown.count});
    return true;
}

// Before the first BeginStep: every variable of the stream, as it is in the first step that has it.
void ReadAdapter::show_all_at_random()
{
    const auto count = random_->definitions().size();
    for (steps::VariableId id = 0; id < count; ++id) {
        std::optional<std::uint64_t> first = 0;
        try {
            // Most are in the first step; only for others is every step looked at.
            if (!random_->has(id, 0)) first = random_->available_step(id, 0);
        } catch (
            const Error&) { // of ranks that contradict each other: it is shown, and using it says so again
        }
        if (first) show_variable(id, *first);
    }
    // By its number: to find out which step is the last one, the reader asks the store each time.
    if (const auto there = random_->steps(); there > 0) show_attributes(there - 1);
}

void ReadAdapter::show_attributes(std::uint64_t step)
{
    const auto changes = reader().attribute_changes(step);
    if (changes == attribute_changes_) return;
    attribute_changes_ = changes;
    for (const auto& name : reader().attribute_names(step)) {
        auto attribute = reader().attribute(name, step);
        if (!attribute) continue;
        if (is_expression(*attribute)) { // for the engine itself
            has_expressions_ = true;
            continue;
        }
        auto [at, is_new] = attributes_.try_emplace(name);
        if (!is_new && same_value(at->second, *attribute)) continue;
        at->second = std::move(*attribute);
        show_attribute(at->second);
    }
}

void ReadAdapter::show_attribute(const steps::Attribute& attribute)
{
    const auto& name = attribute.name;
    if (!io_.AttributeType(name).empty()) io_.RemoveAttribute(name);
    with_type(attribute.type, [&]<class T>(std::type_identity<T>) {
        if constexpr (std::is_same_v<T, std::string>) {
            if (attribute.array)
                io_.DefineAttribute<T>(name, attribute.strings.data(), attribute.strings.size(), "", "/",
                                       true);
            else
                io_.DefineAttribute<T>(name, attribute.strings.at(0), "", "/", true);
        } else {
            std::vector<T> values(attribute.count);
            std::memcpy(values.data(), attribute.data.data(),
                        std::min(attribute.data.size(), values.size() * sizeof(T)));
            if (attribute.array)
                io_.DefineAttribute<T>(name, values.data(), values.size(), "", "/", true);
            else
                io_.DefineAttribute<T>(name, values.at(0), "", "/", true);
        }
    });
}

} // namespace stepstore::adios

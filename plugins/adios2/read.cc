#include "read.h"

#include "operators.h"

#include <algorithm>
#include <iostream>

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

} // namespace

ReadAdapter::ReadAdapter(adios2::IO io, const Parameters& parameters,
                         const std::shared_ptr<Communicator>& communicator, adios2::core::Engine* host)
    : io_(io), host_(host), parameters_(parameters)
{
    auto options = parameters.reader;
    if (parameters.reading != Reading::random) {
        options.mode = steps::ReadMode::stream;
        stream_.emplace(parameters.location, options, communicator).undo_operators(undoing());
    }
    const bool serial = communicator->size() == 1;
    if (parameters.reading == Reading::random ||
        (parameters.reading == Reading::automatic && serial && stream_->steps() > 0)) {
        options.mode = steps::ReadMode::random_access;
        random_.emplace(parameters.location, options, communicator).undo_operators(undoing());
        access_ = Access::random;
        show_all_at_random();
    }
}

// Shown to the program as an array: ADIOS2's engines show the local values of all ranks as one array of them.
// Through the plugin's interface an array of strings cannot be selected from.
bool ReadAdapter::shown_as_array(const steps::Variable& variable) const
{
    if (variable.kind == steps::ShapeKind::local_value)
        return host_ != nullptr || variable.type != steps::Type::string;
    return !steps::is_value(variable.kind);
}

steps::Reader& ReadAdapter::reader() const
{
    auto& chosen = access_ == Access::stream ? stream_ : random_;
    if (!chosen) throw Error(-DER_INVAL, "stepstore: the stream " + parameters_.location + " is closed");
    return const_cast<steps::Reader&>(*chosen);
}

std::string ReadAdapter::where() const
{
    return "on the stream " + reader().location().text();
}

bool ReadAdapter::reversed() const
{
    return reader().order() != parameters_.order;
}

steps::Dims ReadAdapter::in_program_order(steps::Dims dims) const
{
    if (reversed()) std::reverse(dims.begin(), dims.end());
    return dims;
}

adios2::StepStatus ReadAdapter::begin_step(adios2::StepMode mode, float timeout_seconds)
{
    if (mode != adios2::StepMode::Read)
        throw Error(-DER_NOTSUPPORTED, "stepstore: BeginStep with a step mode other than Read " + where() +
                                           ", which is open for reading");
    if (!stream_)
        throw Error(-DER_INVAL,
                    "stepstore: BeginStep " + where() +
                        ", which is read at random (parameter Reading=random): set Reading=stream");
    if (access_ == Access::random) {
        hide_all();
        // Those of the last step: each step is to show its own.
        for (const auto& [name, attribute] : attributes_)
            io_.RemoveAttribute(name);
        attributes_.clear();
        attribute_changes_ = 0;
        random_.reset();
        blocks_.clear();
        access_ = Access::stream;
    }
    switch (stream_->begin_step(static_cast<double>(timeout_seconds))) {
    case steps::StepStatus::not_ready: return adios2::StepStatus::NotReady;
    case steps::StepStatus::end_of_stream: return adios2::StepStatus::EndOfStream;
    case steps::StepStatus::writer_died:
        if (!stream_->dead_writer().empty())
            std::cerr << "stepstore: there is no further step " << where() << ": its writer ("
                      << stream_->dead_writer()
                      << ") died, so BeginStep returns OtherError. The steps before are whole. A writer "
                         "that opens the stream with Mode::Append continues after them\n";
        return adios2::StepStatus::OtherError;
    case steps::StepStatus::other_error: return adios2::StepStatus::OtherError;
    case steps::StepStatus::ok: break;
    }
    last_step_ = static_cast<std::size_t>(stream_->current_step());
    blocks_.clear();
    show_step();
    show_attributes(steps::this_step);
    return adios2::StepStatus::OK;
}

void ReadAdapter::end_step()
{
    if (access_ == Access::random || !stream_ || !stream_->in_step())
        throw Error(-DER_INVAL, "stepstore: EndStep without BeginStep " + where());
    perform_gets();
    stream_->end_step();
}

bool ReadAdapter::has_step() const
{
    return access_ == Access::random ? random_.has_value() : stream_ && stream_->in_step();
}

std::size_t ReadAdapter::current_step() const
{
    return access_ == Access::random ? 0 : last_step_;
}

std::size_t ReadAdapter::steps() const
{
    return static_cast<std::size_t>(reader().steps());
}

void ReadAdapter::perform_gets()
{
    try {
        reader().perform_gets();
    } catch (...) {
        scatters_.clear(); // the reader has dropped them too
        throw;
    }
    scatter_all();
}

void ReadAdapter::close()
{
    if (has_step()) perform_gets();
    if (stream_ && stream_->in_step()) stream_->end_step();
    if (stream_ || random_) reader().close(); // the one that was used; it stores the profile, if any
    stream_.reset();
    random_.reset();
    hide_all();
}

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
            count = in_program_order(reader().largest_block(id, step));
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
    const auto selection = adios2::core::InferSelection(*shown.identity);
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
    if (random_->steps() > 0) show_attributes(steps::this_step);
}

void ReadAdapter::show_attributes(std::uint64_t step)
{
    const auto changes = reader().attribute_changes(step);
    if (changes == attribute_changes_) return;
    attribute_changes_ = changes;
    for (const auto& name : reader().attribute_names(step)) {
        auto attribute = reader().attribute(name, step);
        if (!attribute) continue;
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

steps::VariableId ReadAdapter::id_of(const void* identity, const std::string& name, steps::Type type) const
{
    auto found = by_identity_.find(identity);
    if (found != by_identity_.end() && shown_[found->second].definition.name == name) return found->second;
    // A variable that the program defined itself, under a name of the stream's.
    auto id = reader().find(name);
    if (!id) throw Error(-DER_NONEXIST, "stepstore: there is no variable '" + name + "' " + where());
    const auto& definition = reader().definitions()[*id];
    if (definition.type != type)
        throw Error(-DER_INVAL, "stepstore: variable '" + name + "' " + where() + " is of type " +
                                    std::string(steps::name_of(definition.type)) + ", not " +
                                    std::string(steps::name_of(type)));
    return *id;
}

std::uint64_t ReadAdapter::absolute_step(steps::VariableId id, std::size_t relative) const
{
    const auto count = reader().available_count(id);
    const auto& name = reader().definitions()[id].name;
    if (count == 0)
        throw Error(-DER_NONEXIST, "stepstore: no step has the variable '" + name + "' " + where());
    const auto step =
        reader().available_step(id, relative == adios2::EngineCurrentStep ? count - 1 : relative);
    if (!step)
        throw Error(-DER_NONEXIST, "stepstore: step selection " + std::to_string(relative) +
                                       " of variable '" + name + "' " + where() + ", which has it in " +
                                       std::to_string(count) + " steps");
    return *step;
}

template <class T>
void ReadAdapter::get(adios2::Variable<T>& variable, T* values, steps::Mode mode)
{
    get(variable, values, selection_of(variable), variable.Count(), mode);
}

template <class T>
void ReadAdapter::get(adios2::Variable<T>& variable, T* values, const adios2::core::Selection& selection,
                      steps::Mode mode)
{
    const auto shape = variable.Shape();
    get(variable, values, selection, shape.empty() ? variable.Count() : shape, mode);
}

// told: the size of the selection, unless it is a box, as ADIOS2 says it to the program.
template <class T>
void ReadAdapter::get(adios2::Variable<T>& variable, T* values, const adios2::core::Selection& selection,
                      const adios2::Dims& told, steps::Mode mode)
{
    const auto id = id_of(identity_of(variable), variable.Name(), steps::type_of<T>());
    if (id < shown_.size()) shown_[id].accuracy = selection.GetAccuracy();
    const auto definition = reader().definitions()[id]; // a copy: looking for a step may make more known
    each_selected_step(id, definition, selection, [&](std::uint64_t step) {
        if constexpr (std::is_same_v<T, std::string>) {
            values += get_strings(id, definition, values, selection, step);
        } else {
            if (shown_as_array(definition)) check_room(id, selection, told, step);
            values += get_elements(id, definition, values, selection, mode, step);
        }
    });
}

void ReadAdapter::each_selected_step(steps::VariableId id, const steps::Variable& definition,
                                     const adios2::core::Selection& selection,
                                     FunctionRef<void(std::uint64_t step)> get)
{
    if (selection.HasMemorySelection() && selection.GetStepCount() != 1)
        throw Error(-DER_NOTSUPPORTED,
                    "stepstore: variable '" + definition.name +
                        "' has a memory selection and a selection of several steps: get one step at a time");
    if (access_ == Access::stream && (selection.GetStepStart() != 0 || selection.GetStepCount() != 1))
        throw Error(-DER_NOTSUPPORTED,
                    "stepstore: variable '" + definition.name +
                        "' has a step selection, but the stream is read step by step: read at random without "
                        "BeginStep (parameter Reading=random)");
    if (access_ == Access::stream) return get(steps::this_step);
    if (selection.GetStepCount() > 1) // refused as a whole, before the first is got
        absolute_step(id, selection.GetStepStart() + selection.GetStepCount() - 1);
    for (std::size_t i = 0; i < selection.GetStepCount(); ++i)
        get(absolute_step(id, selection.GetStepStart() + i));
}

void ReadAdapter::refuse_steps_of_value(const steps::Variable& definition,
                                        const adios2::core::Selection& selection) const
{
    if (parameters_.python && host_ == nullptr && selection.GetStepCount() > 1)
        throw Error(-DER_NOTSUPPORTED,
                    "stepstore: several steps of the single value '" + definition.name +
                        "': ADIOS2's Python interface has room for only one: read one step at a time");
}

std::uint64_t ReadAdapter::get_strings(steps::VariableId id, const steps::Variable& definition,
                                       std::string* values, const adios2::core::Selection& selection,
                                       std::uint64_t step) const
{
    const bool box = selection.GetSelectionType() == adios2::SelectionType::BoundingBox;
    if (shown_as_array(definition) && (box || !selection.HasBlockSelection())) {
        const auto& start = selection.GetStart();
        const auto begin = start.empty() ? 0 : start.front();
        const auto count = start.empty() ? reader().shape(id, step).at(0) : selection.GetCount().front();
        for (auto one = begin; one < begin + count; ++one)
            *values++ = reader().get_string(id, one, step);
        return count;
    }
    refuse_steps_of_value(definition, selection);
    *values = reader().get_string(id, selection.HasBlockSelection() ? selection.GetBlockID() : 0, step);
    return 1;
}

std::uint64_t ReadAdapter::get_elements(steps::VariableId id, const steps::Variable& definition, void* values,
                                        const adios2::core::Selection& selection, steps::Mode mode,
                                        std::uint64_t step, const FieldMoves* moves)
{
    if (shown_as_array(definition)) return get_array(id, definition, values, selection, mode, step, moves);
    refuse_steps_of_value(definition, selection);
    const auto block = selection.HasBlockSelection() ? selection.GetBlockID() : 0;
    return get_value(id, definition, values, block, step, moves);
}

std::uint64_t ReadAdapter::get_value(steps::VariableId id, const steps::Variable& definition, void* values,
                                     std::uint64_t block, std::uint64_t step, const FieldMoves* moves) const
{
    if (moves == nullptr) {
        reader().get_value(id, values, block, step);
    } else {
        std::vector<std::byte> stored(steps::element_size(definition));
        reader().get_value(id, stored.data(), block, step);
        moves->apply(stored.data(), static_cast<std::byte*>(values), 1);
    }
    return 1;
}

std::uint64_t ReadAdapter::get_array(steps::VariableId id, const steps::Variable& definition, void* values,
                                     const adios2::core::Selection& selection, steps::Mode mode,
                                     std::uint64_t step, const FieldMoves* moves)
{
    auto& from = reader();
    const auto kind = definition.kind;
    const bool box = selection.GetSelectionType() == adios2::SelectionType::BoundingBox;
    if (kind == steps::ShapeKind::local_value && selection.HasBlockSelection())
        return get_value(id, definition, values, selection.GetBlockID(), step, moves);
    steps::Dims start;
    steps::Dims count;
    if (box) {
        start = in_program_order(selection.GetStart());
        count = in_program_order(selection.GetCount());
    }
    if (parameters_.short_circuit_reads) return steps::elements(selection.GetCount());
    // A box of a global array is one of the whole array, as in BP5, also where a block is selected.
    const bool by_block = kind == steps::ShapeKind::local_array || (selection.HasBlockSelection() && !box);
    const auto block = selection.HasBlockSelection() ? selection.GetBlockID() : 0;
    if (!box) {
        count = by_block ? in_program_order(block_of(id, block, step).count) : from.shape(id, step);
        start.assign(count.size(), 0);
    }
    const auto number = steps::elements(count);
    const auto get_packed = [&](void* packed) {
        if (by_block)
            from.get_block(id, block, start, count, packed, steps::Mode::deferred, step);
        else
            from.get(id, start, count, packed, steps::Mode::deferred, step);
    };
    if (!selection.HasMemorySelection() && moves == nullptr) {
        get_packed(values);
        if (mode == steps::Mode::sync) perform_gets();
        return number;
    }
    const auto size = steps::element_size(definition);
    Scatter scatter{std::nullopt, std::nullopt, values, size, std::vector<std::byte>(number * size)};
    if (moves != nullptr) scatter.moves = *moves;
    if (selection.HasMemorySelection())
        scatter.memory.emplace(selection, in_program_order(count), parameters_.order, definition.name);
    get_packed(scatter.packed.data());
    scatters_.push_back(std::move(scatter)); // moving a vector leaves its memory in place
    if (mode == steps::Mode::sync) perform_gets();
    return number;
}

steps::UndoOperator ReadAdapter::undoing()
{
    return [this](steps::VariableId id, steps::Codec codec, Bytes stored, MutableBytes raw,
                  const std::string& what) {
        const Shown* shown = id < shown_.size() ? &shown_[id] : nullptr;
        undo_operator(shown ? shown->identity : nullptr, parameters_.location,
                      shown ? shown->accuracy : adios2::Accuracy{}, codec, stored, raw, what);
    };
}

void ReadAdapter::Scatter::deliver() const
{
    if (!moves) return memory->unpack(packed.data(), values, element_size);
    const auto structs = packed.size() / element_size;
    if (!memory) return moves->apply(packed.data(), static_cast<std::byte*>(values), structs);
    std::vector<std::byte> moved(structs * moves->wanted_size);
    memory->pack(values, moved.data(), moves->wanted_size); // what belongs to no field stays as it is
    moves->apply(packed.data(), moved.data(), structs);
    memory->unpack(moved.data(), values, moves->wanted_size);
}

void ReadAdapter::scatter_all()
{
    for (const auto& one : scatters_)
        one.deliver();
    scatters_.clear();
}

#define instantiate(T)                                                                                       \
    template void ReadAdapter::get<T>(adios2::Variable<T>&, T*, steps::Mode);                                \
    template void ReadAdapter::get<T>(adios2::Variable<T>&, T*, const adios2::core::Selection&, steps::Mode);
ADIOS2_FOREACH_STDTYPE_1ARG(instantiate)
#undef instantiate

} // namespace stepstore::adios

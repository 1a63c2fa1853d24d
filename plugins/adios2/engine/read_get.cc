// A reader's gets: what is selected, and into which memory it goes.
#include "operators.h"
#include "read.h"

namespace stepstore::adios {
namespace {

// adios2_reorganize hands over zeroed memory in place of a string, and writes what is there then. No string
// has a null pointer.
void give_text(std::string& to, std::string text)
{
    if (to.data() == nullptr)
        std::construct_at(&to, std::move(text));
    else
        to = std::move(text);
}

} // namespace

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

bool ReadAdapter::is_on_device(const adios2::core::VariableBase& variable, const void* values) const
{
    if (host_ != nullptr) return on_device(variable, values);
    const auto shown = by_identity_.find(&variable);
    refuse_device(variable, shown == by_identity_.end() ? "" : shown_[shown->second].definition.name, values);
    return false;
}

template <class T>
void ReadAdapter::get(adios2::Variable<T>& variable, T* values, steps::Mode mode)
{
    const bool device = is_on_device(*identity_of(variable), values);
    get(variable, values, device, selection_of(variable), variable.Count(), mode);
}

template <class T>
void ReadAdapter::get(adios2::Variable<T>& variable, T* values, const Selection& selection, steps::Mode mode)
{
    const bool device = is_on_device(*identity_of(variable), values);
    const auto shape = variable.Shape();
    get(variable, values, device, selection, shape.empty() ? variable.Count() : shape, mode);
}

// told: the size of the selection, unless it is a box, as ADIOS2 says it to the program.
template <class T>
void ReadAdapter::get(adios2::Variable<T>& variable, T* values, bool device, const Selection& selection,
                      const adios2::Dims& told, steps::Mode mode)
{
    const auto id = id_of(identity_of(variable), variable.Name(), steps::type_of<T>());
    gets_.want(id, selection.GetAccuracy());
    const auto definition = reader().definitions()[id]; // a copy: looking for a step may make more known
    each_selected_step(id, definition, selection, values, [&](std::uint64_t step, void* to) {
        if constexpr (std::is_same_v<T, std::string>) {
            return sizeof(T) * get_strings(id, definition, static_cast<T*>(to), selection, step);
        } else {
            if (shown_as_array(definition)) check_room(id, selection, told, step);
            return sizeof(T) * get_elements(id, definition, {to, device}, selection, mode, step);
        }
    });
}

void ReadAdapter::each_selected_step(steps::VariableId id, const steps::Variable& definition,
                                     const Selection& selection, void* values, GetStep get)
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
    if (!in_step())
        throw Error(-DER_INVAL, "stepstore: Get of variable '" + definition.name + "' when no step is open " +
                                    where() + ": call BeginStep first");
    if (access_ == Access::stream) {
        get(steps::this_step, values);
        return;
    }
    if (selection.GetStepCount() > 1) // refused as a whole, before the first is got
        absolute_step(id, selection.GetStepStart() + selection.GetStepCount() - 1);
    auto* const begin = static_cast<std::byte*>(values);
    std::uint64_t bytes = 0;
    auto& scatters = gets_.scatters;
    const std::size_t before = scatters.size();
#ifdef STEPSTORE_ADIOS2_DERIVED
    const std::size_t derived_before = gets_.derived.size();
#endif
    try {
        for (std::size_t i = 0; i < selection.GetStepCount(); ++i)
            bytes += get(absolute_step(id, selection.GetStepStart() + i), begin + bytes);
    } catch (...) { // the memory is the program's again, that of the steps before too
        reader().forget_gets({begin, bytes});
        for (std::size_t i = before; i < scatters.size(); ++i)
            reader().forget_gets(scatters[i].packed);
        scatters.erase(scatters.begin() + static_cast<std::ptrdiff_t>(std::min(before, scatters.size())),
                       scatters.end());
#ifdef STEPSTORE_ADIOS2_DERIVED
        for (std::size_t i = derived_before; i < gets_.derived.size(); ++i)
            gets_.derived[i].whole = false;
#endif
        throw;
    }
}

void ReadAdapter::refuse_steps_of_value(const steps::Variable& definition, const Selection& selection) const
{
    if (parameters_.python && host_ == nullptr && selection.GetStepCount() > 1)
        throw Error(-DER_NOTSUPPORTED,
                    "stepstore: several steps of the single value '" + definition.name +
                        "': ADIOS2's Python interface has room for only one: read one step at a time");
}

std::uint64_t ReadAdapter::get_strings(steps::VariableId id, const steps::Variable& definition,
                                       std::string* values, const Selection& selection,
                                       std::uint64_t step) const
{
    const bool box = selection.GetSelectionType() == adios2::SelectionType::BoundingBox;
    if (shown_as_array(definition) && (box || !selection.HasBlockSelection())) {
        const auto& start = selection.GetStart();
        const auto begin = start.empty() ? 0 : start.front();
        const auto count = start.empty() ? reader().shape(id, step).at(0) : selection.GetCount().front();
        for (auto one = begin; one < begin + count; ++one)
            give_text(*values++, reader().get_string(id, one, step));
        return count;
    }
    refuse_steps_of_value(definition, selection);
    const auto block = selection.HasBlockSelection() ? selection.GetBlockID() : 0;
    give_text(*values, reader().get_string(id, block, step));
    return 1;
}

std::uint64_t ReadAdapter::get_elements(steps::VariableId id, const steps::Variable& definition,
                                        const Place& place, const Selection& selection, steps::Mode mode,
                                        std::uint64_t step)
{
    if (shown_as_array(definition)) return get_array(id, definition, place, selection, mode, step);
    refuse_steps_of_value(definition, selection);
    const auto block = selection.HasBlockSelection() ? selection.GetBlockID() : 0;
    return get_value(id, definition, place, block, step);
}

std::uint64_t ReadAdapter::get_value(steps::VariableId id, const steps::Variable& definition,
                                     const Place& place, std::uint64_t block, std::uint64_t step) const
{
    if (place.moves == nullptr && !place.on_device) {
        reader().get_value(id, place.values, block, step);
        return 1;
    }
    Scatter one{{}, {}, place.values, place.on_device, steps::element_size(definition), {}, {}};
    if (place.moves != nullptr) one.moves = *place.moves;
    one.own.resize(one.element_size);
    one.packed = one.own;
    reader().get_value(id, one.packed.data(), block, step);
    one.deliver();
    return 1;
}

std::uint64_t ReadAdapter::get_array(steps::VariableId id, const steps::Variable& definition,
                                     const Place& place, const Selection& selection, steps::Mode mode,
                                     std::uint64_t step)
{
    auto& from = reader();
    const auto kind = definition.kind;
    const bool box = selection.GetSelectionType() == adios2::SelectionType::BoundingBox;
    if (kind == steps::ShapeKind::local_value && selection.HasBlockSelection())
        return get_value(id, definition, place, selection.GetBlockID(), step);
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
#ifdef STEPSTORE_ADIOS2_DERIVED
        const auto only = by_block ? std::optional<std::uint64_t>(block) : std::nullopt;
        if (has_expressions_ && get_derived(id, definition, only, start, count, packed, step)) return;
#endif
        if (by_block)
            from.get_block(id, block, start, count, packed, steps::Mode::deferred, step);
        else
            from.get(id, start, count, packed, steps::Mode::deferred, step);
    };
    if (!selection.HasMemorySelection() && place.moves == nullptr && !place.on_device) {
        get_packed(place.values);
        if (mode == steps::Mode::sync) perform_gets();
        return number;
    }
    const auto size = steps::element_size(definition);
    Scatter scatter{{}, {}, place.values, place.on_device, size, {}, {}};
    const bool straight = place.moves == nullptr && !selection.HasMemorySelection();
    if (straight) scatter.packed = gets_.room.take(number * size); // else it is copied on the host once more
    if (scatter.packed.empty()) {
        scatter.own.resize(number * size);
        scatter.packed = scatter.own;
    }
    if (place.moves != nullptr) scatter.moves = *place.moves;
    if (selection.HasMemorySelection())
        scatter.memory.emplace(selection, in_program_order(count), parameters_.order, definition.name);
    get_packed(scatter.packed.data());
    gets_.scatters.push_back(std::move(scatter)); // moving a vector leaves its memory in place
    if (mode == steps::Mode::sync) perform_gets();
    return number;
}

// With the lock, as an operator is the variable's, which several threads may read.
steps::UndoOperator ReadAdapter::undoing(const Gets& gets)
{
    return [this, &gets](steps::VariableId id, steps::Codec codec, Bytes stored, MutableBytes raw,
                         const std::string& what) {
        const auto held = locked();
        const Shown* shown = id < shown_.size() ? &shown_[id] : nullptr;
        const auto wanted = gets.accuracies.find(id);
        undo_operator(shown ? shown->identity : nullptr, parameters_.location,
                      wanted == gets.accuracies.end() ? adios2::Accuracy{} : wanted->second, codec, stored,
                      raw, what);
    };
}

// On a device through memory of the host that has all that lies there.
void ReadAdapter::Scatter::deliver() const
{
    if (!on_device) return deliver(values);
    if (!memory && !moves) return copy_to_device(values, packed.data(), packed.size());
    const auto elements = memory ? memory->elements() : packed.size() / element_size;
    std::vector<std::byte> all(elements * (moves ? moves->wanted_size : element_size));
    copy_from_device(all.data(), values, all.size());
    deliver(all.data());
    copy_to_device(values, all.data(), all.size());
}

void ReadAdapter::Scatter::deliver(void* to) const
{
    if (!moves && !memory) {
        std::memcpy(to, packed.data(), packed.size());
        return;
    }
    if (!moves) return memory->unpack(packed.data(), to, element_size);
    const auto structs = packed.size() / element_size;
    if (!memory) return moves->apply(packed.data(), static_cast<std::byte*>(to), structs);
    std::vector<std::byte> moved(structs * moves->wanted_size);
    memory->pack(to, moved.data(), moves->wanted_size); // what belongs to no field stays as it is
    moves->apply(packed.data(), moved.data(), structs);
    memory->unpack(moved.data(), to, moves->wanted_size);
}

void ReadAdapter::deliver(Gets& gets) const
{
#ifdef STEPSTORE_ADIOS2_DERIVED
    for (const auto& one : std::exchange(gets.derived, {}))
        one.deliver(reader().order(), where());
#endif
    for (const auto& one : gets.scatters)
        one.deliver();
    gets.scatters.clear();
    gets.room.clear();
}

void ReadAdapter::Gets::want(steps::VariableId id, const adios2::Accuracy& accuracy)
{
    const bool is_default = accuracy.error == 0 && accuracy.norm == 0 && !accuracy.relative;
    if (!is_default || accuracies.contains(id)) accuracies[id] = accuracy;
}

void ReadAdapter::Gets::forget()
{
#ifdef STEPSTORE_ADIOS2_DERIVED
    derived.clear();
#endif
    scatters.clear();
    room.clear();
}

steps::Reader::Lock ReadAdapter::locked() const
{
#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
    return reader().lock();
#else
    return {};
#endif
}

#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
std::unique_ptr<ReadAdapter::Context> ReadAdapter::new_context()
{
    const auto held = locked();
    auto made = std::make_unique<Context>();
    made->of_ = contexts_of_;
    made->queue_ = reader().new_queue(undoing(made->gets_));
    return made;
}

void ReadAdapter::require_own(const Context& context) const
{
    if (context.of_ != contexts_of_)
        throw Error(-DER_INVAL, "stepstore: a GetContext of another engine was used " + where() +
                                    ": make one with NewGetContext of this engine");
}

// As long as it is there, gets are of the context. With the lock.
class ReadAdapter::InUse {
public:
    InUse(ReadAdapter& adapter, Context& context) : adapter_(adapter), context_(context) { swap(); }
    ~InUse() { swap(); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

private:
    void swap() noexcept
    {
        std::swap(adapter_.gets_, context_.gets_);
        adapter_.reader().swap_queue(context_.queue_);
    }
    ReadAdapter& adapter_;
    Context& context_;
};

template <class T>
void ReadAdapter::get(Context& context, adios2::Variable<T>& variable, T* values, const Selection& selection)
{
    const auto held = locked();
    require_own(context);
    const InUse in_use(*this, context);
    get(variable, values, selection, steps::Mode::deferred);
}

void ReadAdapter::perform_gets(Context& context)
{
    auto held = locked();
    require_own(context);
    try {
        reader().perform_gets(*context.queue_, held);
        deliver(context.gets_);
    } catch (...) {
        context.gets_.forget();
        throw;
    }
}
#endif

#define instantiate(T)                                                                                       \
    template void ReadAdapter::get<T>(adios2::Variable<T>&, T*, steps::Mode);                                \
    template void ReadAdapter::get<T>(adios2::Variable<T>&, T*, const Selection&, steps::Mode);
ADIOS2_FOREACH_STDTYPE_1ARG(instantiate)
#undef instantiate
#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
#define instantiate(T)                                                                                       \
    template void ReadAdapter::get<T>(Context&, adios2::Variable<T>&, T*, const Selection&);
ADIOS2_FOREACH_STDTYPE_1ARG(instantiate)
#undef instantiate
#endif

} // namespace stepstore::adios

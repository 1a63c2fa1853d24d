#include "write.h"

#include "core_api.h"
#include "core_engine.h"
#include "device.h"
#include "memory_selection.h"
#include "operators.h"
#include "structures.h"

#include <algorithm>
#include <cstring>

namespace stepstore::adios {
namespace {

// What must not be silently different: an operator changes the bytes.
void refuse_operators(const std::vector<adios2::Operator>& operators, const std::string& variable)
{
    for (const auto& one : operators) {
        if (one.Type() == "null") continue; // changes nothing
        throw Error(-DER_NOTSUPPORTED,
                    "stepstore: variable '" + variable + "' has the operator '" + one.Type() +
                        "', which this build of Stepstore cannot apply: it was built without the headers of "
                        "ADIOS2's core, or for another ADIOS2 (docs/adios2.md): remove the operation. For "
                        "lossless compression of all variables set the engine parameter Compression "
                        "instead (docs/parameters.md)");
    }
}

#ifdef STEPSTORE_ADIOS2_CORE
std::optional<steps::Type> type_of(adios2::DataType type)
{
#define if_type(T)                                                                                           \
    if (type == adios2::helper::GetDataType<T>()) return steps::type_of<T>();
    ADIOS2_FOREACH_STDTYPE_1ARG(if_type)
#undef if_type
    return std::nullopt;
}

// What the ranks will most likely put, since the program has defined it before it opens the stream.
std::vector<steps::Claim> claims_of(const adios2::IO& io)
{
    std::vector<steps::Claim> claims;
    for (const auto& [name, variable] : core_of(io).GetVariables()) {
        const auto type = type_of(variable->m_Type);
        if (!type || variable->m_ShapeID == adios2::ShapeID::Unknown) continue;
        steps::Claim& claim = claims.emplace_back();
        claim.variable = {name, *type, kind_of(variable->m_ShapeID, name), nullptr};
        if (claim.variable.kind == steps::ShapeKind::local_array)
            claim.shape.assign(variable->m_Count.size(), 0);
        else if (!steps::is_value(claim.variable.kind))
            claim.shape = variable->m_Shape;
        std::ranges::replace(claim.shape, adios2::JoinedDim, steps::joined_dimension);
    }
    return claims;
}
#else
std::vector<steps::Claim> claims_of(const adios2::IO&)
{
    return {};
}
#endif

template <class T>
steps::Variable definition_of(const adios2::Variable<T>& variable, bool core_fits)
{
    if (core_fits) {
        const Lying now(*identity_of(variable));
        return {now.name, steps::type_of<T>(), kind_of(now.shape_id, now.name), nullptr};
    }
    const auto name = variable.Name();
    return {name, steps::type_of<T>(), kind_of(variable.ShapeID(), name), nullptr};
}

} // namespace

WriteAdapter::WriteAdapter(adios2::IO io, const Parameters& parameters,
                           const std::shared_ptr<Communicator>& communicator)
    : io_(io), core_fits_(misfit().empty()), attributes_(io, core_fits_), communicator_(communicator),
      writer_(parameters.location, parameters.writer, communicator),
      derived_(io, core_fits_, parameters.writer.min_deferred_size), order_(parameters.order),
      engine_name_(parameters.location), flatten_(parameters.flatten_steps)
{
    writer_.fetch_into(page_locked_memory());
    writer_.agree(core_fits_ ? claims_of(io) : std::vector<steps::Claim>());
}

adios2::StepStatus WriteAdapter::begin_step(adios2::StepMode mode)
{
    if (mode != adios2::StepMode::Append)
        throw Error(-DER_NOTSUPPORTED,
                    "stepstore: BeginStep with a step mode other than Append, but the stream " +
                        writer_.location().text() + " is open for writing: use StepMode::Append");
    if (implicit_step_)
        throw Error(-DER_INVAL, "stepstore: BeginStep after a Put outside of a step on the stream " +
                                    writer_.location().text() +
                                    ": call BeginStep before the first Put, or use no steps at all");
    if (in_step_ || !flatten_ || !writer_.in_step()) writer_.begin_step(); // refuses a second one
    next_put_ = 0;
    ++begun_;
    in_step_ = true;
    steps_used_ = true;
    return adios2::StepStatus::OK;
}

void WriteAdapter::end_step()
{
    if (!in_step_)
        throw Error(-DER_INVAL,
                    "stepstore: EndStep without BeginStep on the stream " + writer_.location().text());
    put_derived();
    in_step_ = false;
    if (!flatten_) return end_writers_step();
    writer_.end_part();
    ++parts_;
}

// As in BP5 the shape that a global array has now is that of the step, also where it was set after the last
// Put.
void WriteAdapter::end_writers_step()
{
    attributes_.look([this](const steps::Attribute& attribute) { writer_.attribute(attribute); });
    if (reshapable_.empty())
        writer_.end_step();
    else
        writer_.end_step([this](steps::VariableId id) { return shape_now(id); });
    implicit_step_ = false;
}

// Empty: it cannot have changed, or the program has removed the variable.
steps::DimsView WriteAdapter::shape_now(steps::VariableId id)
{
    Known* known = id < reshapable_.size() ? reshapable_[id] : nullptr;
    if (known == nullptr || known->id != id) return {};
    if (core_fits_) {
        const auto* shape = shape_in(io_, known->name, known->identity);
        return shape != nullptr ? steps::DimsView(*shape) : steps::DimsView();
    }
    const bool there = with_type(known->element_type, [&]<class T>(std::type_identity<T>) {
        return has_variable<T>(io_, known->name, known->identity);
    });
    if (!there) return {};
    known->shape = stepstore::adios::shape_of(*known->identity);
    return known->shape;
}

std::size_t WriteAdapter::current_step() const
{
    return static_cast<std::size_t>(writer_.steps()) + parts_; // between steps the next one, as in BP5
}

void WriteAdapter::perform_puts()
{
    if (!writer_.in_step()) return;
    derived_.keep();
    writer_.perform_puts();
}

void WriteAdapter::write_puts()
{
    if (writer_.in_step()) writer_.write_puts();
}

void WriteAdapter::close()
{
    // Where all is one step, a rank that put nothing still has a part in that of the others.
    if (flatten_ || !steps_used_) {
        const bool has_part = writer_.in_step() || !core_of(io_).GetAttributes().empty();
        if (communicator_->max(has_part ? 1 : 0) != 0 && !writer_.in_step()) writer_.begin_step();
    }
    if (implicit_step_) put_derived();
    if (writer_.in_step()) end_writers_step();
    writer_.close();
}

void WriteAdapter::begin_implicit_step()
{
    if (steps_used_)
        throw Error(-DER_INVAL, "stepstore: Put between EndStep and BeginStep on the stream " +
                                    writer_.location().text() + ": call BeginStep first");
    writer_.begin_step();
    ++begun_;
    implicit_step_ = true;
}

WriteAdapter::Known& WriteAdapter::other_entry_of(const void* identity)
{
    puts_.resize(next_put_);
    puts_.push_back({identity, &variables_[identity]});
    return *puts_[next_put_++].known;
}

// An address may come back for another variable, after RemoveVariable.
template <class V>
[[gnu::always_inline]] inline bool WriteAdapter::is_same(const Known& known, const V& variable) const
{
    if (known.name.empty()) return false;
    if (!core_fits_ || known.type == adios2::DataType::Struct) return has_variable(io_, known.name, variable);
    const Lying now(*identity_of(variable));
    return known.type == now.type && known.shape_id == now.shape_id && known.name.size() == now.name.size() &&
           std::memcmp(known.name.data(), now.name.data(), now.name.size()) == 0;
}

template <class V>
WriteAdapter::Known& WriteAdapter::define(Known& entry, V& variable)
{
    entry = {};
    const auto definition = definition_of(variable, core_fits_);
    entry.id = writer_.define(definition.name, definition.type, definition.kind, definition.structure);
    const Lying now(*identity_of(variable));
    entry.type = now.type;
    entry.shape_id = now.shape_id;
    entry.name = definition.name;
    entry.identity = identity_of(variable);
    entry.kind = definition.kind;
    entry.element_type = definition.type;
    entry.element_size = steps::element_size(definition);
    writer_.operate(entry.id, nullptr); // that of a variable which had the name
    if (entry.kind == steps::ShapeKind::global_array && !entry.identity->IsConstantDims()) {
        if (reshapable_.size() <= entry.id) reshapable_.resize(entry.id + 1);
        reshapable_[entry.id] = &entry;
        writer_.reshapable(entry.id);
    }
    return entry;
}

template <class V>
[[gnu::always_inline]] inline void WriteAdapter::look_for_operators(V& variable, Known& entry)
{
    if (core_fits_) {
        const auto& base = *identity_of(variable);
        const void* operation = identity_of_operator(base);
        if (operation == entry.operation) return;
        if (!steps::is_value(entry.kind))
            writer_.operate(entry.id, operation ? operator_of(base, engine_name_, order_) : nullptr);
        entry.operation = operation;
    } else if constexpr (requires { variable.Operations(); }) {
        if (entry.looked_at == begun_) return; // asking costs as much as all else of a put: once per step
        refuse_operators(variable.Operations(), entry.name);
        entry.looked_at = begun_;
    }
}

// Of a single value that several parts put the first counts, as in BP5.
bool WriteAdapter::counts(Known& value) const
{
    if (!flatten_) return true;
    if (!value.part) value.part = parts_;
    return *value.part == parts_;
}

template <class T>
void WriteAdapter::put(adios2::Variable<T>& variable, const T* values, steps::Mode mode)
{
    if constexpr (std::is_same_v<T, std::string>) {
        if (!in_step_ && !writer_.in_step()) begin_implicit_step();
        auto& entry = known(variable);
        look_for_operators(variable, entry);
        if (!steps::is_value(entry.kind))
            throw Error(-DER_NOTSUPPORTED, "stepstore: variable '" + entry.name +
                                               "' is an array of strings: put single strings");
        if (counts(entry)) writer_.put_string(entry.id, *values);
    } else {
        put_elements(variable, values, mode);
    }
}

#ifdef STEPSTORE_ADIOS2_CORE
void WriteAdapter::put(adios2::core::VariableStruct& variable, const void* values, steps::Mode mode)
{
    StructVariable one(variable);
    put_elements(one, values, mode);
}
#endif

template <class V>
[[gnu::always_inline]] inline void WriteAdapter::put_elements(V& variable, const void* values,
                                                              steps::Mode mode)
{
    if (!in_step_ && !writer_.in_step()) begin_implicit_step();
    const bool device = core_fits_ && on_device(*identity_of(variable), values);
    auto& entry = known(variable);
    look_for_operators(variable, entry);
    if (!core_fits_) refuse_device(*entry.identity, entry.name, values);
    if (device) return put_from_device(entry, values);
    if (!steps::is_value(entry.kind))
        put_array(variable, entry, values, mode);
    else if (counts(entry))
        writer_.put_value(entry.id, values);
    if (derived_.is_input(*entry.identity)) remember_input(entry, values, mode);
}

template <class V>
[[gnu::always_inline]] inline void WriteAdapter::put_array(V& variable, Known& entry, const void* values,
                                                           steps::Mode mode)
{
    if (core_fits_ && entry.kind != steps::ShapeKind::joined_array) {
        const Lying now(*identity_of(variable));
        const bool global = entry.kind == steps::ShapeKind::global_array;
        const steps::DimsView start = global ? steps::DimsView(now.start) : steps::DimsView();
        if (now.plain) return writer_.put(entry.id, now.shape, start, now.count, values, mode);
    }
    // Local arrays have no start, and without one ADIOS2 takes no memory selection: constant, they need no
    // look.
    if (entry.constant && entry.kind == steps::ShapeKind::local_array)
        return writer_.put(entry.id, {}, {}, entry.count, values, mode);
    put_selected(variable, entry, values, mode);
}

// The shape and the size of the block that is selected.
template <class V>
void WriteAdapter::look(V& variable, Known& entry, const Selection& selection)
{
    if (entry.constant) return;
    entry.shape.clear();
    if (entry.kind != steps::ShapeKind::local_array) entry.shape = shape_of(*identity_of(variable));
    if (entry.kind == steps::ShapeKind::joined_array)
        for (auto& extent : entry.shape)
            if (extent == adios2::JoinedDim) extent = steps::joined_dimension;
    // A box that was set or defined is in the selection already; else (local and joined arrays) ask for it.
    entry.count = selection.GetCount().empty() ? count_of(variable) : selection.GetCount();
    entry.constant = identity_of(variable)->IsConstantDims();
}

template <class T>
std::span<std::byte> WriteAdapter::put_span(adios2::Variable<T>& variable)
{
    if (!writer_.in_step()) begin_implicit_step();
    auto& entry = known(variable);
    if (steps::is_value(entry.kind))
        throw Error(-DER_INVAL, "stepstore: variable '" + entry.name +
                                    "' is a single value, which has no Span: put the value");
    look_for_operators(variable, entry);
    const auto selection = selection_of(variable);
    look(variable, entry, selection);
    const bool global = entry.kind == steps::ShapeKind::global_array;
    const auto room =
        writer_.put_span(entry.id, entry.shape, global ? selection.GetStart() : steps::Dims(), entry.count);
    remember_span(entry, selection, room);
    return room;
}

template <class V>
void WriteAdapter::put_selected(V& variable, Known& entry, const void* values, steps::Mode mode)
{
    const auto selection = selection_of(variable);
    look(variable, entry, selection);
    const bool global = entry.kind == steps::ShapeKind::global_array;
    const steps::DimsView start = global ? steps::DimsView(selection.GetStart()) : steps::DimsView();
    if (!selection.HasMemorySelection())
        return writer_.put(entry.id, entry.shape, start, entry.count, values, mode);
    const MemorySelection memory(selection, entry.count, order_, entry.name);
    const auto packed = writer_.put_span(entry.id, entry.shape, start, entry.count);
    if (!packed.empty()) memory.pack(values, packed.data(), entry.element_size);
}

#ifdef STEPSTORE_ADIOS2_DERIVED
template bool WriteAdapter::is_same(const Known&, const DerivedVariable&) const;
template WriteAdapter::Known& WriteAdapter::define(Known&, DerivedVariable&);
template void WriteAdapter::look_for_operators(DerivedVariable&, Known&);
#endif

#define instantiate(T) template void WriteAdapter::put<T>(adios2::Variable<T>&, const T*, steps::Mode);
ADIOS2_FOREACH_STDTYPE_1ARG(instantiate)
#undef instantiate

#define instantiate(T) template std::span<std::byte> WriteAdapter::put_span<T>(adios2::Variable<T>&);
ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(instantiate)
#undef instantiate

} // namespace stepstore::adios

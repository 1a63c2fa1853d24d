// The writing side of the plugin: ADIOS2's puts to the timestep engine's.
// Threads: one at a time, as all of an ADIOS2 engine. Errors: those of steps::Writer; -DER_INVAL and
// -DER_NOTSUPPORTED for a put that cannot be.
#pragma once

#include "adios_types.h"
#include "attributes.h"
#include "derived.h"
#include "parameters.h"
#include "steps/write/writer.h"

#include <optional>
#include <unordered_map>

namespace stepstore::adios {

class WriteAdapter {
public:
    WriteAdapter(adios2::IO io, const Parameters& parameters,
                 const std::shared_ptr<Communicator>& communicator);

    adios2::StepStatus begin_step(adios2::StepMode mode);
    void end_step();
    std::size_t current_step() const;
    void perform_puts();
    void write_puts(); // with AsyncWrite beside the program
    AttributeWatch& attributes() { return attributes_; }
    void close();

    template <class T>
    void put(adios2::Variable<T>& variable, const T* values, steps::Mode mode);
    void put(adios2::core::VariableStruct& variable, const void* values, steps::Mode mode);
    // Room for the selected block, which the program fills until end_step. -DER_INVAL: a single value.
    template <class T>
    std::span<std::byte> put_span(adios2::Variable<T>& variable);

private:
    struct Known {
        std::string name;
        const adios2::core::VariableBase* identity = nullptr;
        steps::VariableId id = 0;
        steps::ShapeKind kind = steps::ShapeKind::global_value;
        steps::Type element_type = steps::Type::float64;
        std::size_t element_size = 0; // bytes
        // As they lie in ADIOS2.
        adios2::DataType type = adios2::DataType::None;
        adios2::ShapeID shape_id = adios2::ShapeID::Unknown;
        std::uint64_t looked_at = 0;     // the step in which its operators were, where none is applied
        const void* operation = nullptr; // that its blocks go through
        // ADIOS2 has promised (ConstantDims) that shape, start and count stay; kept once they are known.
        bool constant = false;
        std::optional<std::size_t> part = std::nullopt; // with flatten_, of a value: that put it first
        steps::Dims shape, count;
    };
    struct Put {
        const void* identity;
        Known* known;
    };
    // Most steps put the same variables in the same order, so the one that followed in the step before is
    // tried first.
    [[gnu::always_inline]] Known& entry_of(const void* identity)
    {
        if (next_put_ < puts_.size() && puts_[next_put_].identity == identity)
            return *puts_[next_put_++].known;
        return other_entry_of(identity);
    }
    Known& other_entry_of(const void* identity);
    bool counts(Known& value) const;
    // V: an adios2::Variable<T>, or a StructVariable.
    template <class V>
    [[gnu::always_inline]] Known& known(V& variable)
    {
        auto& entry = entry_of(identity_of(variable));
        return is_same(entry, variable) ? entry : define(entry, variable);
    }
    template <class V>
    Known& define(Known& entry, V& variable);
    template <class V>
    bool is_same(const Known& known, const V& variable) const;
    template <class V>
    void look_for_operators(V& variable, Known& known);
    template <class V>
    void put_elements(V& variable, const void* values, steps::Mode mode);
    template <class V>
    void put_array(V& variable, Known& known, const void* values, steps::Mode mode);
    template <class V>
    void put_selected(V& variable, Known& known, const void* values, steps::Mode mode);
    template <class V>
    void look(V& variable, Known& known, const Selection& selection);
    void put_from_device(Known& known, const void* values);
#ifdef STEPSTORE_ADIOS2_DERIVED
    void remember_input(const Known& known, const void* values, steps::Mode mode);
    void remember_span(const Known& known, const Selection& selection, std::span<std::byte> room);
    void put_derived();
#else
    void remember_input(const Known&, const void*, steps::Mode) {}
    void remember_span(const Known&, const Selection&, std::span<std::byte>) {}
    void put_derived() {}
#endif
    steps::DimsView shape_now(steps::VariableId id);
    void end_writers_step();
    void begin_implicit_step();

    adios2::IO io_;
    bool core_fits_;
    AttributeWatch attributes_;
    std::shared_ptr<Communicator> communicator_;
    steps::Writer writer_;
    DerivedPuts derived_;
    std::unordered_map<const void*, Known> variables_;
    std::vector<Known*> reshapable_; // global arrays whose shape is not constant; by id, with gaps
    std::vector<Put> puts_;          // of this step so far, then those of the step before
    std::size_t next_put_ = 0;
    std::uint64_t begun_ = 0; // steps
    steps::Order order_;
    std::string engine_name_;
    const bool flatten_;         // the program's steps are parts of one step, which close() ends
    std::size_t parts_ = 0;      // of it that have ended
    bool in_step_ = false;       // between the program's BeginStep and EndStep
    bool steps_used_ = false;    // the program called BeginStep
    bool implicit_step_ = false; // it put without BeginStep: all is one step, as in ADIOS2's own engines
};

} // namespace stepstore::adios

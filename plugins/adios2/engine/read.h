// The reading side of the plugin: makes the stream's variables and attributes known to ADIOS2's IO, and
// forwards its gets.
// Threads: one at a time, as all of an ADIOS2 engine. At random several may take turns, by locked(). Errors:
// those of steps::Reader; -DER_INVAL and -DER_NOTSUPPORTED for what ADIOS2 asks in vain.
#pragma once

#include "adios_types.h"
#include "base/function_ref.h"
#include "core_api.h"
#include "derived.h"
#include "device.h"
#include "inventory.h"
#include "memory_selection.h"
#include "parameters.h"
#include "steps/read/reader.h"
#include "structures.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace stepstore::adios {

class ReadAdapter {
public:
#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
    class Context;
#endif

    // host: see belongs_to(); may be null.
    ReadAdapter(adios2::IO io, const Parameters& parameters,
                const std::shared_ptr<Communicator>& communicator, adios2::core::Engine* host);

    adios2::StepStatus begin_step(adios2::StepMode mode, float timeout_seconds);
    void end_step();
    std::size_t current_step() const;
    std::size_t steps() const;
    void perform_gets();
    void close();

    // What is selected in the variable, or by a Selection.
    template <class T>
    void get(adios2::Variable<T>& variable, T* values, steps::Mode mode);
    template <class T>
    void get(adios2::Variable<T>& variable, T* values, const Selection& selection, steps::Mode mode);
    void get(adios2::core::VariableStruct& variable, void* values, steps::Mode mode);

    // While it is there no other thread is in this adapter. In an ADIOS2 whose engines have one thread it
    // does nothing.
    [[nodiscard]] steps::Reader::Lock locked() const;
#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
    // Deferred gets of a thread, beside those of others. At random only. The calls lock for themselves.
    std::unique_ptr<Context> new_context();
    template <class T>
    void get(Context& context, adios2::Variable<T>& variable, T* values, const Selection& selection);
    void perform_gets(Context& context);
#endif

    // What ADIOS2's BlocksInfo() is made of. What it points to stays until the next step (at random: until
    // close).
    adios2::MinVarInfo* blocks_info(const std::string& name, std::size_t step) const;
    // The same of a step of the stream, of those that steps_of() gives: nothing is looked for. told: the
    // number by which the program knows the step.
    adios2::MinVarInfo* blocks_info_of(const std::string& name, std::uint64_t step, std::size_t told) const;
    // Throws where ADIOS2's Python interface asks a plugin for the blocks of the first step only.
    void refuse_blocks_of_steps(const std::string& name) const;
    bool in_step() const;  // one is open, or all are read at random
    bool has_step() const; // one is there to be looked at: that, or the last one was ended
    bool has_extremes(const std::string& name) const; // of every real number and character
    bool at_random() const { return access_ == Access::random; }
    // Of the step, counted among those that have the variable; in a stream of the current one. False: its
    // blocks have no shape in common.
    bool shape_of(const std::string& name, std::size_t step, adios2::Dims& shape) const;
    // DefaultSizeT: of all steps. False: it has none.
    bool minmax_of(const std::string& name, std::size_t step, adios2::MinMaxStruct& minmax) const;
    std::vector<std::size_t> steps_of(const std::string& name) const; // that have the variable
#ifdef STEPSTORE_ADIOS2_DERIVED
    // Of a derived variable that is not stored as any other; else empty.
    std::string expression_of(const std::string& variable) const;
#endif

private:
    // A variable of the stream as it is made known in the IO. The index is the reader's id.
    struct Shown {
        steps::Variable definition;
        bool present = false; // in the current step
        const adios2::core::VariableBase* identity = nullptr;
        steps::Dims shape; // as the IO has it
        steps::Dims count; // of the whole
        // Of structs: the stream's definition in ADIOS2, and what a program has read them as.
        adios2::core::StructDefinition* stored_as = nullptr;
        adios2::core::StructDefinition* read_as = nullptr;
    };
    struct Blocks {
        steps::Dims shape;
        std::vector<steps::Block> blocks;
        std::vector<std::string> strings;
        std::vector<const char*> texts;
    };
    struct Place { // where a get of numbers or structs goes
        void* values;
        bool on_device = false;
        const FieldMoves* moves = nullptr; // to the program's structs, if theirs differ
    };
    struct Scatter { // a get on its way that does not go into the program's memory as it is stored
        std::optional<MemorySelection> memory;
        std::optional<FieldMoves> moves;
        void* values;
        bool on_device;
        std::size_t element_size; // as stored, bytes
        MutableBytes packed;
        std::vector<std::byte> own; // where that lies, unless in the room of the gets
        void deliver() const;
        void deliver(void* to) const;
    };
#ifdef STEPSTORE_ADIOS2_DERIVED
    struct Source { // an input of a derived variable
        steps::VariableId id;
        steps::Variable definition;
        std::vector<steps::Block> blocks;
    };
    struct Derived { // a get on its way of what has to be computed
        struct Room {
            steps::Dims start, count;
            std::vector<std::byte> values;
        };
        struct Piece { // one block
            steps::Dims start, count;
            std::vector<std::byte> stored; // or it is made of these
            std::map<std::string, Room> inputs;
        };
        std::shared_ptr<Derivation> how;
        std::vector<Piece> pieces;
        steps::Dims start, count; // what is wanted
        std::byte* memory;
        std::size_t element_size;
        bool whole = false; // else an Error came between
        void deliver(steps::Order order, const std::string& where) const;
    };
#endif
    struct Gets { // on their way
#ifdef STEPSTORE_ADIOS2_DERIVED
        std::vector<Derived> derived;
#endif
        std::vector<Scatter> scatters;
        DeviceRoom room; // for them
        // That the last get of a variable wants of operators, if any ever wanted another than ADIOS2's
        // default.
        std::unordered_map<steps::VariableId, adios2::Accuracy> accuracies;
        void want(steps::VariableId id, const adios2::Accuracy& accuracy);
        void forget();
    };
    enum class Access { stream, random };

    bool shown_as_array(const steps::Variable& variable) const;
    steps::Reader& reader() const;
    std::string where() const;
    bool reversed() const; // the program's arrays are in the other order than the writer's
    steps::Dims in_program_order(steps::Dims dims) const;

    void show_step();
    void show_step_again();
    void show_variables(std::span<const steps::VariableId> ids, std::uint64_t step);
    void show_variable(steps::VariableId id, std::uint64_t step);
    void show(steps::VariableId id, Shown& shown, const steps::Dims& shape);
    template <class T>
    void define(Shown& shown, const steps::Dims& shape);
    template <class T>
    bool keep_array(Shown& shown, const steps::Dims& shape);
    void define_structure(Shown& shown,
                          const steps::Dims& shape); // where ADIOS2's core is; else it is hidden
    std::size_t available_steps_of(const std::string& name) const; // as ADIOS2 counts them
    steps::VariableId require(const std::string& name) const;
    void hide_all();
    void show_all_at_random();
    void show_attributes(std::uint64_t step);
    void show_attribute(const steps::Attribute& attribute);

    steps::VariableId id_of(const void* identity, const std::string& name, steps::Type type) const;
    std::uint64_t absolute_step(steps::VariableId id, std::size_t relative) const;
    // get: of one step; returns the bytes that it gets. After an Error nothing goes into `values` later.
    using GetStep = FunctionRef<std::uint64_t(std::uint64_t step, void* values)>;
    void each_selected_step(steps::VariableId id, const steps::Variable& definition,
                            const Selection& selection, void* values, GetStep get);
    bool is_on_device(const adios2::core::VariableBase& variable, const void* values) const;
    // These return the number of elements that they get.
    std::uint64_t get_strings(steps::VariableId id, const steps::Variable& definition, std::string* values,
                              const Selection& selection, std::uint64_t step) const;
    std::uint64_t get_elements(steps::VariableId id, const steps::Variable& definition, const Place& place,
                               const Selection& selection, steps::Mode mode, std::uint64_t step);
    std::uint64_t get_array(steps::VariableId id, const steps::Variable& definition, const Place& place,
                            const Selection& selection, steps::Mode mode, std::uint64_t step);
    std::uint64_t get_value(steps::VariableId id, const steps::Variable& definition, const Place& place,
                            std::uint64_t block, std::uint64_t step) const;
#ifdef STEPSTORE_ADIOS2_DERIVED
    std::string expression_of(const std::string& variable, std::uint64_t step) const;
    std::vector<Source> sources_of(const std::string& expression, const std::string& what,
                                   std::uint64_t step) const;
    void get_input(const Source& source, const steps::Block& block, bool value, Derived::Piece& piece,
                   std::uint64_t step);
    bool get_derived(steps::VariableId id, const steps::Variable& definition,
                     std::optional<std::uint64_t> only_block, const steps::Dims& start,
                     const steps::Dims& count, void* memory, std::uint64_t step);
#endif
    void refuse_steps_of_value(const steps::Variable& definition, const Selection& selection) const;

    Blocks& blocks_of(steps::VariableId id, std::uint64_t step) const;
    const steps::Block& block_of(steps::VariableId id, std::uint64_t block, std::uint64_t step) const;
    template <class T>
    void get(adios2::Variable<T>& variable, T* values, bool device, const Selection& selection,
             const adios2::Dims& told, steps::Mode mode);
    void check_room(steps::VariableId id, const Selection& selection, const adios2::Dims& told,
                    std::uint64_t step) const;
    void deliver(Gets& gets) const;
    steps::UndoOperator undoing(const Gets& gets); // for the life of this adapter
#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
    void require_own(const Context& context) const;
    class InUse;
#endif

    adios2::IO io_;
    adios2::core::Engine* host_;
    Parameters parameters_;
    Access access_ = Access::stream;
    std::optional<steps::Reader> stream_;
    std::optional<steps::Reader> random_;
    std::vector<Shown> shown_;
    std::vector<steps::VariableId> in_step_; // those of the current step, ascending
    std::uint64_t geometry_ = 0;             // what the reader said when they were shown
    std::unordered_map<const void*, steps::VariableId> by_identity_;
    Inventory inventory_; // where there is a host
    std::map<std::string, steps::Attribute> attributes_;
    std::uint64_t attribute_changes_ = 0; // what the reader said when they were shown
    bool has_expressions_ = false;        // the stream has derived variables
    Gets gets_;
#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
    std::shared_ptr<const int> contexts_of_ = std::make_shared<int>(); // its address is this adapter's mark
#endif
    mutable std::map<std::pair<steps::VariableId, std::uint64_t>, Blocks> blocks_;
    std::size_t last_step_ = 0;
    bool ended_ = false; // in a stream: the step that is still open in stream_
};

#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
// For one thread at a time. May outlive the adapter.
class ReadAdapter::Context {
    friend class ReadAdapter;
    std::shared_ptr<const int> of_;
    Gets gets_;
    steps::GetQueue queue_;
};
#endif

} // namespace stepstore::adios

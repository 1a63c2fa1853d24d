#include "steps/read/reader.h"

#include "steps/read/reader_impl.h"

namespace stepstore::steps {

Reader::Reader(const std::string& location, const ReaderOptions& options,
               std::shared_ptr<Communicator> communicator)
    : impl_(std::make_shared<Impl>(location, options, std::move(communicator)))
{
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

StepStatus Reader::begin_step(double timeout_seconds)
{
    return impl_->begin_step(timeout_seconds);
}

const std::string& Reader::dead_writer() const
{
    return impl_->source->dead_writer();
}

void Reader::end_step()
{
    impl_->end_step();
}

std::uint64_t Reader::current_step() const
{
    impl_->require_step();
    return impl_->selection.shown(impl_->current->step);
}

bool Reader::in_step() const
{
    return impl_->current != nullptr;
}

std::uint64_t Reader::steps() const
{
    impl_->require_open();
    return impl_->count_steps();
}

bool Reader::closed() const
{
    impl_->require_open();
    impl_->stream->refresh();
    return impl_->stream->record().closed;
}

std::uint64_t Reader::first_step() const
{
    impl_->require_open();
    return impl_->selection.shown(impl_->source->first_kept(0));
}

const std::vector<Variable>& Reader::definitions() const
{
    return impl_->source->dictionary().variables();
}

std::span<const VariableId> Reader::variables(std::uint64_t step) const
{
    const auto wanted = impl_->step(step);
    if (impl_->variables_step != wanted->step) {
        impl_->present = variables_of(*wanted);
        impl_->variables_step = wanted->step;
    }
    return impl_->present;
}

std::optional<VariableId> Reader::find(std::string_view name) const
{
    const std::uint32_t id = impl_->source->dictionary().find(name);
    if (id == Dictionary::none) return std::nullopt;
    return id;
}

bool Reader::has(VariableId variable, std::uint64_t step) const
{
    return step_has(*impl_->step(step), variable);
}

Dims Reader::shape(VariableId variable, std::uint64_t step) const
{
    const auto wanted = impl_->step_with(variable, step); // first: it may make more variables known
    return shape_of(*wanted, variable, impl_->variable(variable));
}

std::vector<Block> Reader::blocks(VariableId variable, std::uint64_t step) const
{
    const auto wanted = impl_->step_with(variable, step); // first: it may make more variables known
    return blocks_of(*wanted, variable, impl_->variable(variable));
}

Dims Reader::largest_block(VariableId variable, std::uint64_t step) const
{
    return stepstore::steps::largest_block(*impl_->step_with(variable, step), variable);
}

Dims Reader::first_block(VariableId variable, std::uint64_t step) const
{
    return stepstore::steps::first_block(*impl_->step_with(variable, step), variable);
}

std::uint64_t Reader::geometry() const
{
    impl_->require_step();
    return impl_->geometry.changes();
}

std::uint64_t Reader::block_count(VariableId variable, std::uint64_t step) const
{
    return count_blocks(*impl_->step(step), variable);
}

std::optional<MinMax> Reader::minmax(VariableId variable, std::uint64_t step) const
{
    const auto wanted = impl_->step_with(variable, step); // first: it may make more variables known
    return minmax_of(*wanted, variable, impl_->variable(variable));
}

std::vector<std::uint64_t> Reader::available_steps(VariableId variable) const
{
    const Availability& all = impl_->availability_of(variable);
    std::vector<std::uint64_t> steps(all.count(variable));
    for (std::uint64_t index = 0; index < steps.size(); ++index)
        steps[index] = *all.step(variable, index);
    return steps;
}

std::uint64_t Reader::available_count(VariableId variable) const
{
    return impl_->availability_of(variable).count(variable);
}

std::optional<std::uint64_t> Reader::available_step(VariableId variable, std::uint64_t index) const
{
    return impl_->availability_of(variable).step(variable, index);
}

void Reader::get(VariableId variable, DimsView start, DimsView count, void* memory, Mode mode,
                 std::uint64_t step)
{
    impl_->get(variable, start, count, memory, step);
    if (mode == Mode::sync) impl_->perform_gets();
}

void Reader::get_block(VariableId variable, std::uint64_t block, DimsView start, DimsView count, void* memory,
                       Mode mode, std::uint64_t step)
{
    impl_->get_block(variable, block, start, count, memory, step);
    if (mode == Mode::sync) impl_->perform_gets();
}

void Reader::get_value(VariableId variable, void* memory, std::uint64_t block, std::uint64_t step) const
{
    const auto wanted = impl_->step_with(variable, step);
    const Variable& of = impl_->variable(variable);
    if (!is_value(of.kind) || of.type == Type::string || memory == nullptr)
        throw Error(-DER_INVAL, impl_->where(variable, *wanted) + ": it is a " +
                                    std::string(name_of(of.kind)) + " of " + std::string(name_of(of.type)) +
                                    ", or the memory is null: get_value reads single values other than "
                                    "strings");
    const PlacedBlock placed = impl_->placed(*wanted, variable, block);
    std::ranges::copy(placed.rank->value(placed.entry), static_cast<std::byte*>(memory));
}

std::string Reader::get_string(VariableId variable, std::uint64_t block, std::uint64_t step) const
{
    const auto wanted = impl_->step_with(variable, step);
    if (impl_->variable(variable).type != Type::string)
        throw Error(-DER_INVAL, impl_->where(variable, *wanted) + ": it is not a string: use get_value, or "
                                                                  "get for an array");
    const PlacedBlock placed = impl_->placed(*wanted, variable, block);
    return std::string(as_text(placed.rank->value(placed.entry)));
}

void Reader::undo_operators(UndoOperator undo)
{
    impl_->reads->undo_operators(std::move(undo));
}

void Reader::forget_gets(MutableBytes memory) noexcept
{
    impl_->reads->forget(memory);
}

void Reader::perform_gets()
{
    impl_->require_open();
    impl_->perform_gets();
}

Reader::Lock Reader::lock() const
{
    return Lock(impl_->mutex);
}

GetQueue Reader::new_queue(UndoOperator undo) const
{
    const Lock held = lock();
    auto queue = std::make_shared<DataReads>(order());
    queue->undo_operators(std::move(undo));
    return queue;
}

void Reader::swap_queue(GetQueue& queue) noexcept
{
    impl_->reads.swap(queue);
}

void Reader::perform_gets(DataReads& queue, Lock& held)
{
    impl_->require_open();
    impl_->perform_gets(queue, held);
}

std::vector<std::string> Reader::attribute_names(std::uint64_t step) const
{
    return impl_->source->dictionary().attribute_names(impl_->step(step)->step);
}

std::uint64_t Reader::attribute_changes(std::uint64_t step) const
{
    return impl_->source->dictionary().attribute_changes(impl_->step(step)->step);
}

std::optional<Attribute> Reader::attribute(std::string_view name, std::uint64_t step) const
{
    const Attribute* found = impl_->source->dictionary().attribute(name, impl_->step(step)->step);
    if (found == nullptr) return std::nullopt;
    return *found;
}

void Reader::close()
{
    if (impl_->closed) return;
    impl_->closed = true;
    impl_->current = nullptr;
    impl_->reads->clear();
    if (impl_->options.profile) impl_->keep_profile();
}

const Location& Reader::location() const
{
    return impl_->stream->location();
}

Order Reader::order() const
{
    return impl_->stream->record().order;
}

std::uint64_t Reader::generation() const
{
    return impl_->stream->record().origin;
}

std::string Reader::writer_profile_json() const
{
    return impl_->stream->kept_profile(ProfileSide::writers);
}

std::string Reader::readers_profile_json() const
{
    return profile_place(location(), ProfileSide::readers)
               ? read_profile_file(location(), ProfileSide::readers)
               : impl_->stream->kept_profile(ProfileSide::readers);
}

std::string Reader::profile_json() const
{
    return impl_->profile.json(impl_->communicator->rank());
}

const Costs& Reader::costs() const
{
    return impl_->profile;
}

StreamDescription Reader::describe() const
{
    const StreamRecord& record = impl_->stream->record();
    StreamDescription told;
    told.format = record.format;
    told.generation = record.origin;
    told.segments = record.earlier.size() + 1;
    told.layout = layout_of(record).name;
    told.objects = name_of(record.objects);
    told.step_mode = name_of(record.step_mode);
    told.order = record.order;
    told.ranks = record.ranks;
    told.chunk_size = record.chunk_size;
    told.object_class = record.object_class;
    told.data_chunk_size = record.data_chunk_size;
    told.data_object_class = record.data_object_class;
    told.writer_host = record.writer_host;
    told.writer_process = record.writer_process;
    told.created = record.created;
    if (record.closed) told.steps = record.steps;
    return told;
}

} // namespace stepstore::steps

#include "steps/read/reader.h"

#include "steps/collective.h"
#include "steps/profile/profile_record.h"
#include "steps/read/availability.h"
#include "steps/read/data_reads.h"
#include "steps/read/hyperslab.h"
#include "steps/read/step_metadata.h"
#include "steps/read/step_source.h"
#include "steps/step_selection.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <thread>

namespace stepstore::steps {

class Reader::Impl {
public:
    Impl(const std::string& location, const ReaderOptions& options,
         std::shared_ptr<Communicator> communicator);

    StepStatus begin_step(double timeout_seconds);
    void end_step();
    std::shared_ptr<const InstalledStep> step(std::uint64_t number); // -DER_INVAL, -DER_NONEXIST
    std::shared_ptr<const InstalledStep> step_with(VariableId id, std::uint64_t number);
    const Variable& variable(VariableId id) const;
    void get(VariableId id, DimsView start, DimsView count, void* memory, std::uint64_t number);
    void get_block(VariableId id, std::uint64_t block, DimsView start, DimsView count, void* memory,
                   std::uint64_t number);
    PlacedBlock placed(const InstalledStep& step, VariableId id, std::uint64_t block) const;
    // `wanted` of a block that covers `extent`, into packed memory.
    void add_read(const InstalledStep& step, VariableId id, const PlacedBlock& block, BoxView extent,
                  BoxView wanted, std::byte* to);
    void perform_gets();
    std::string where(VariableId id, const InstalledStep& step) const;
    bool random_access() const { return options.mode == ReadMode::random_access; }
    void require_open() const;
    void require_step() const;
    void find_definitions();
    void keep_profile();
    const Availability& availability_of(VariableId id); // of all steps there are now
    std::uint64_t count_steps();                        // that are shown

    ReaderOptions options;
    std::shared_ptr<Communicator> communicator;
    Profile profile;
    std::optional<ProfileRecord> profile_record; // on rank 0
    std::unique_ptr<OpenStream> stream;
    std::unique_ptr<StepSource> source;
    std::unique_ptr<StreamDataReader> data;
    std::unique_ptr<DataReads> reads;
    std::shared_ptr<const InstalledStep> current; // stream mode
    GeometryWatch geometry;
    StepSelection selection;
    // random access: steps known to be whole; of all, not of the selected ones
    std::uint64_t first_missing = 0;
    std::uint64_t variables_step = no_step;
    std::vector<VariableId> present;
    Availability availability; // random access
    bool closed = false;

private:
    OpenedStream wait_for_stream(const std::string& location) const;
    void get_values(const InstalledStep& step, VariableId id, DimsView start, DimsView count,
                    std::byte* memory) const;
};

Reader::Impl::Impl(const std::string& location, const ReaderOptions& wanted,
                   std::shared_ptr<Communicator> group)
    : options(wanted), communicator(std::move(group))
{
    all_together(*communicator, [&] {
        check_options(options);
        selection = StepSelection(options.select_steps);
    });
    std::shared_ptr<const Pool> held; // on rank 0, until it is connected to again below
    const std::vector<std::byte> opened = on_root(*communicator, [&] {
        const OpenedStream found = wait_for_stream(location);
        held = found.location.opened;
        if (options.profile)
            profile_record.emplace(found.location, ProfileSide::readers, name_of(found.record.layout));
        return encode_opened(found);
    });
    all_together(*communicator, [&] {
        stream = std::make_unique<OpenStream>(decode_opened(opened), options.gets);
        source = std::make_unique<StepSource>(*stream, options, *communicator, profile);
        data = std::make_unique<StreamDataReader>(*stream);
        reads = std::make_unique<DataReads>(stream->record().order);
        if (random_access()) find_definitions();
    });
}

OpenedStream Reader::Impl::wait_for_stream(const std::string& location) const
{
    const auto begin = std::chrono::steady_clock::now();
    while (true) {
        try {
            return find_stream(location, options.snapshot);
        } catch (const Error& error) {
            const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
            if (error.code() != -DER_NONEXIST ||
                (options.open_timeout >= 0 && waited.count() >= options.open_timeout))
                throw;
        }
        std::this_thread::sleep_for(std::chrono::duration<double>(std::max(options.poll_interval, 0.01)));
    }
}

// In random access everything that was defined up to the last step is known from the start.
void Reader::Impl::find_definitions()
{
    first_missing = source->count();
    source->learn_definitions(first_missing);
}

void Reader::Impl::require_open() const
{
    if (closed) throw Error(-DER_INVAL, "the reader of " + stream->location().text() + " is closed");
}

void Reader::Impl::require_step() const
{
    require_open();
    if (current == nullptr)
        throw Error(-DER_INVAL,
                    "no step of " + stream->location().text() + " is open: call begin_step first");
}

StepStatus Reader::Impl::begin_step(double timeout_seconds)
{
    require_open();
    if (random_access())
        throw Error(-DER_INVAL,
                    "the reader of " + stream->location().text() +
                        " was opened for random access: there is no begin_step, name the step in each call");
    if (current != nullptr)
        throw Error(-DER_INVAL, "step " + std::to_string(current->step) + " of " + stream->location().text() +
                                    " is open already: end it first");
    StepStatus status = StepStatus::ok;
    const auto begin = std::chrono::steady_clock::now();
    double left = timeout_seconds;
    while ((current = source->next(left, status)) != nullptr && !selection.has(current->step)) {
        const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
        if (timeout_seconds >= 0) left = std::max(0.0, timeout_seconds - waited.count());
    }
    if (current != nullptr) geometry.look(*current);
    return status;
}

void Reader::Impl::end_step()
{
    require_step();
    const auto finished = std::move(current);
    current = nullptr;
    perform_gets();
    profile.end_step(finished->step);
}

std::shared_ptr<const InstalledStep> Reader::Impl::step(std::uint64_t number)
{
    if (!random_access()) {
        require_step();
        if (number != this_step && number != selection.shown(current->step))
            throw Error(-DER_INVAL, "step " + std::to_string(number) + " of " + stream->location().text() +
                                        " is not the current one, " +
                                        std::to_string(selection.shown(current->step)) +
                                        ": open the stream for random access to choose steps");
        return current;
    }
    require_open();
    std::uint64_t there = selection.count(first_missing);
    if (number == this_step || number >= there) there = count_steps();
    if (number == this_step) {
        if (there == 0)
            throw Error(-DER_NONEXIST, "the stream " + stream->location().text() + " has no whole step yet" +
                                           (selection.all() ? "" : " of those that SelectSteps names"));
        number = there - 1;
    }
    if (number >= there)
        throw Error(-DER_NONEXIST, "step " + std::to_string(number) + " of " + stream->location().text() +
                                       " is not there: the stream has " + std::to_string(there) +
                                       " whole steps" +
                                       (selection.all() ? "" : " of those that SelectSteps names"));
    return source->load(selection.step(number));
}

std::uint64_t Reader::Impl::count_steps()
{
    first_missing = std::max(first_missing, source->count());
    return selection.count(first_missing);
}

const Variable& Reader::Impl::variable(VariableId id) const
{
    source->dictionary().check(id);
    return source->dictionary().variables()[id];
}

std::string Reader::Impl::where(VariableId id, const InstalledStep& step) const
{
    return "variable '" + source->dictionary().variables()[id].name + "' in step " +
           std::to_string(step.step) + " of " + stream->location().text();
}

std::shared_ptr<const InstalledStep> Reader::Impl::step_with(VariableId id, std::uint64_t number)
{
    auto wanted = step(number);
    source->dictionary().check(id);
    if (!step_has(*wanted, id))
        throw Error(-DER_NONEXIST, where(id, *wanted) + ": this step does not have it");
    return wanted;
}

PlacedBlock Reader::Impl::placed(const InstalledStep& step, VariableId id, std::uint64_t block) const
{
    PlacedBlock found;
    each_block(step, id, [&](const PlacedBlock& one) {
        if (one.index != block) return true;
        found = one;
        return false;
    });
    if (found.rank == nullptr)
        throw Error(-DER_INVAL, where(id, step) + ": there is no block " + std::to_string(block) +
                                    ", it has " + std::to_string(count_blocks(step, id)));
    return found;
}

void Reader::Impl::get_values(const InstalledStep& step, VariableId id, DimsView start, DimsView count,
                              std::byte* memory) const
{
    const std::size_t size = size_of(source->dictionary().variables()[id].type);
    each_block(step, id, [&](const PlacedBlock& block) {
        if (block.index < start[0] || block.index - start[0] >= count[0]) return true;
        std::ranges::copy(block.rank->value(block.entry), memory + (block.index - start[0]) * size);
        return true;
    });
}

void Reader::Impl::add_read(const InstalledStep& step, VariableId id, const PlacedBlock& block,
                            BoxView extent, BoxView wanted, std::byte* to)
{
    const std::size_t size = size_of(source->dictionary().variables()[id].type);
    if (block.rank->is_inline(block.entry))
        return copy_shared(extent, block.rank->value(block.entry).data(), wanted, to, size,
                           stream->record().order);
    const Placement place = block.rank->place(block.entry);
    const DataPlace data_of{block.rank->header.generation, block.writer_rank};
    if (place.codec == Codec::none) return reads->add(data_of, place.at, extent, wanted, to, size);
    const DataReads::Compressed stored{
        data_of, place.at, place.length, block.rank->raw_bytes(block.entry), place.codec, place.checksum};
    reads->add(stored, extent, wanted, to, size, [&] {
        return where(id, step) + ": block " + std::to_string(block.index) + ", of writer rank " +
               std::to_string(block.writer_rank) + ",";
    });
}

void Reader::Impl::get(VariableId id, DimsView start, DimsView count, void* memory, std::uint64_t number)
{
    const auto wanted = step_with(id, number);
    const Variable& of = variable(id);
    const auto refuse = [&](const std::string& why) {
        throw Error(-DER_INVAL, where(id, *wanted) + ": " + why);
    };
    if (of.kind == ShapeKind::global_value) refuse("it is a single value: use get_value");
    if (of.kind == ShapeKind::local_array)
        refuse("it is a local array: its blocks are read one by one (get_block)");
    if (of.type == Type::string) refuse("its values are strings: use get_string");
    const Dims shape = shape_of(*wanted, id, of);
    if (start.size() != shape.size() || count.size() != shape.size())
        refuse("the selection start " + to_text(start) + " count " + to_text(count) +
               " has another number of dimensions than the shape " + to_text(shape));
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (start[d] > shape[d] || count[d] > shape[d] - start[d])
            refuse("the selection start " + to_text(start) + " count " + to_text(count) +
                   " lies outside of the shape " + to_text(shape));
    if (elements(count) == 0) return;
    if (memory == nullptr) refuse("the memory to read into is null");
    auto* to = static_cast<std::byte*>(memory);
    if (of.kind == ShapeKind::local_value) return get_values(*wanted, id, start, count, to);
    std::uint64_t joined_at = 0;
    Dims joined_start;
    each_block(*wanted, id, [&](const PlacedBlock& block) {
        const BlockGeometry geometry = block.rank->geometry(block.entry);
        BoxView box{geometry.start, geometry.count};
        if (geometry.count.size() != shape.size())
            refuse("block " + std::to_string(block.index) +
                   " has another number of dimensions than the shape");
        if (of.kind == ShapeKind::global_array && !std::ranges::equal(geometry.shape, shape))
            refuse("writer rank " + std::to_string(block.writer_rank) + " gives it the shape " +
                   to_text(geometry.shape) + ", a rank before it " + to_text(shape) +
                   ": the blocks can be read one by one");
        if (of.kind == ShapeKind::joined_array) {
            joined_start.assign(shape.size(), 0);
            const auto joined = std::ranges::find(geometry.shape, joined_dimension) - geometry.shape.begin();
            if (static_cast<std::size_t>(joined) < shape.size()) {
                joined_start[static_cast<std::size_t>(joined)] = joined_at;
                joined_at += geometry.count[static_cast<std::size_t>(joined)];
            }
            box.start = joined_start;
        }
        add_read(*wanted, id, block, box, {start, count}, to);
        return true;
    });
}

void Reader::Impl::get_block(VariableId id, std::uint64_t number, DimsView start, DimsView count,
                             void* memory, std::uint64_t step_number)
{
    const auto wanted = step_with(id, step_number);
    const Variable& of = variable(id);
    const PlacedBlock block = placed(*wanted, id, number);
    const auto refuse = [&](const std::string& why) {
        throw Error(-DER_INVAL, where(id, *wanted) + ", block " + std::to_string(number) + ": " + why);
    };
    if (of.type == Type::string) refuse("its values are strings: use get_string");
    if (memory == nullptr) refuse("the memory to read into is null");
    if (is_value(of.kind)) {
        std::ranges::copy(block.rank->value(block.entry), static_cast<std::byte*>(memory));
        return;
    }
    const DimsView extent = block.rank->geometry(block.entry).count;
    const Dims origin(extent.size(), 0);
    if (count.empty()) count = extent;
    if (start.empty()) start = origin;
    if (start.size() != extent.size() || count.size() != extent.size())
        refuse("the selection has another number of dimensions than the block " + to_text(extent));
    for (std::size_t d = 0; d < extent.size(); ++d)
        if (start[d] > extent[d] || count[d] > extent[d] - start[d])
            refuse("the selection start " + to_text(start) + " count " + to_text(count) +
                   " lies outside of the block " + to_text(extent));
    add_read(*wanted, id, block, {{}, extent}, {start, count}, static_cast<std::byte*>(memory));
}

void Reader::Impl::perform_gets()
{
    if (reads->empty()) return;
    const Stopwatch watch(profile.data, "stepstore.data");
    try {
        reads->run([&](std::span<DataRequest> requests) { data->read(requests); });
    } catch (const Error&) {
        stream->require_current(); // rather say that it was replaced than that its data is damaged
        throw;
    }
    profile.data_bytes += reads->bytes();
    profile.data_requests += reads->requests();
    stream->require_current();
}

void Reader::Impl::keep_profile()
{
    const std::vector<std::string> profiles = gather_profiles(*communicator, profile);
    on_root(*communicator, [&] {
        const std::string record = profile_record->finish(profiles);
        if (const auto parsed = nlohmann::json::parse(record); parsed.contains("file_error"))
            throw Error(-DER_IO, "the profile of the readers of " + stream->location().text() +
                                     " is lost: " + parsed["file_error"].get<std::string>() +
                                     "; Profile=off reads without one");
        return std::vector<std::byte>();
    });
}

Reader::Reader(const std::string& location, const ReaderOptions& options,
               std::shared_ptr<Communicator> communicator)
    : impl_(std::make_unique<Impl>(location, options, std::move(communicator)))
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
    return shape_of(*impl_->step_with(variable, step), variable, impl_->variable(variable));
}

std::vector<Block> Reader::blocks(VariableId variable, std::uint64_t step) const
{
    return blocks_of(*impl_->step_with(variable, step), variable, impl_->variable(variable));
}

Dims Reader::block_extent(VariableId variable, std::uint64_t block, std::uint64_t step) const
{
    const auto wanted = impl_->step_with(variable, step);
    const PlacedBlock placed = impl_->placed(*wanted, variable, block);
    const DimsView count = placed.rank->geometry(placed.entry).count;
    return {count.begin(), count.end()};
}

Dims Reader::largest_block(VariableId variable, std::uint64_t step) const
{
    return stepstore::steps::largest_block(*impl_->step_with(variable, step), variable);
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
    return minmax_of(*impl_->step_with(variable, step), variable, impl_->variable(variable));
}

const Availability& Reader::Impl::availability_of(VariableId id)
{
    variable(id);
    if (!random_access())
        throw Error(-DER_INVAL,
                    "available_steps needs a reader in random access: in stream mode steps come one by one");
    require_open();
    const std::uint64_t shown = count_steps();
    while (availability.steps() < shown)
        availability.add(*source->load(selection.step(availability.steps())));
    return availability;
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
                                    ", or the memory is null: get_value reads values that are no strings");
    const PlacedBlock placed = impl_->placed(*wanted, variable, block);
    std::ranges::copy(placed.rank->value(placed.entry), static_cast<std::byte*>(memory));
}

std::string Reader::get_string(VariableId variable, std::uint64_t block, std::uint64_t step) const
{
    const auto wanted = impl_->step_with(variable, step);
    if (impl_->variable(variable).type != Type::string)
        throw Error(-DER_INVAL, impl_->where(variable, *wanted) + ": it is no string");
    const PlacedBlock placed = impl_->placed(*wanted, variable, block);
    return std::string(as_text(placed.rank->value(placed.entry)));
}

void Reader::perform_gets()
{
    impl_->require_open();
    impl_->perform_gets();
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

Layout Reader::layout() const
{
    return impl_->stream->record().layout;
}

Order Reader::order() const
{
    return impl_->stream->record().order;
}

std::uint32_t Reader::writer_ranks() const
{
    return impl_->stream->record().ranks;
}

std::uint64_t Reader::generation() const
{
    return impl_->stream->record().origin;
}

std::string Reader::writer_profile_json() const
{
    const auto stored =
        impl_->stream->container().key_value(impl_->stream->record().side, Access::read_only).get("Profile");
    return stored ? std::string(as_text(*stored)) : std::string();
}

std::string Reader::readers_profile_json() const
{
    return read_profile_file(location(), ProfileSide::readers);
}

std::string Reader::profile_json() const
{
    return impl_->profile.json(impl_->communicator->rank());
}

std::string Reader::describe_json() const
{
    const StreamRecord& record = impl_->stream->record();
    nlohmann::ordered_json json = {
        {"pool", location().pool},
        {"container", location().container},
        {"stream", location().stream},
        {"format", format_of(record)},
        {"generation", record.origin},
        {"segments", record.earlier.size() + 1},
        {"layout", name_of(record.layout)},
        {"order", record.order == Order::row_major ? "row-major" : "column-major"},
        {"ranks", record.ranks},
        {"chunk_size", record.chunk_size},
        {"object_class", record.object_class},
        {"data_chunk_size", record.data_chunk_size},
        {"data_object_class", record.data_object_class},
        {"closed", record.closed},
        {"writer_host", record.writer_host},
        {"writer_process", record.writer_process},
        {"created", record.created},
    };
    if (record.closed) json["steps"] = record.steps;
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace stepstore::steps

#include "steps/read/reader_impl.h"

#include "base/interrupt.h"
#include "base/warning.h"

#include <algorithm>
#include <utility>

namespace stepstore::steps {

namespace {

constexpr double patience = 5; // seconds, of a person who sees nothing happen

// left: seconds; negative: for ever.
void say_what_it_waits_for(const Error& missing, double left)
{
    warn(std::string(missing.what()) + ". This reader waits for it" +
         (left < 0 ? "" : " for another " + std::to_string(static_cast<std::uint64_t>(left)) + " s") +
         " (OpenTimeoutSecs)");
}

} // namespace

Reader::Impl::Impl(const std::string& location, const ReaderOptions& wanted,
                   std::shared_ptr<Communicator> group)
    : options(wanted), communicator(std::move(group))
{
    all_together(*communicator, [&] {
        check_options(options);
        selection = StepSelection(options.select_steps);
    });
    const bool one_machine = communicator->on_one_machine();
    if (options.readers == Readers::automatic && !one_machine) options.readers = Readers::delegate;
    std::shared_ptr<const Pool> held; // on rank 0, until it is connected to again below
    const std::vector<std::byte> opened = on_root(*communicator, [&] {
        const OpenedStream found = wait_for_stream(location);
        held = found.location.opened;
        if (options.profile)
            profile_record.emplace(found.location, ProfileSide::readers, layout_of(found.record).name);
        return encode_opened(found);
    });
    all_together(*communicator, [&] {
        stream = std::make_unique<OpenStream>(decode_opened(opened));
        source = std::make_unique<StepSource>(*stream, options, *communicator, profile, one_machine);
        data = std::make_unique<StreamDataReader>(*stream);
        reads = std::make_shared<DataReads>(stream->record().order);
        if (random_access()) find_definitions();
    });
}

Reader::Impl::~Impl()
{
    if (closed) return;
    try {
        const std::string in_step =
            current ? " in step " + std::to_string(selection.shown(current->step)) : "";
        communicator->leave(
            "rank " + std::to_string(communicator->rank()) + " left the stream " + stream->location().text() +
            in_step + ": its reader was destroyed without Close, perhaps by an exception in the program");
    } catch (...) { // without memory the others are not told
    }
}

OpenedStream Reader::Impl::wait_for_stream(const std::string& location) const
{
    const auto begin = SteadyClock::now();
    for (bool said = false;;) {
        try {
            return find_stream(location, options.snapshot);
        } catch (const Error& error) {
            const std::chrono::duration<double> waited = SteadyClock::now() - begin;
            const double left = options.open_timeout - waited.count();
            if (error.code() != -DER_NONEXIST || (options.open_timeout >= 0 && left <= 0)) throw;
            if (waited.count() >= patience && !std::exchange(said, true)) say_what_it_waits_for(error, left);
        }
        const double least =
            capabilities_of(location).network ? 0.1 : 0.01; // a look at a cluster is several round trips
        stop_if_asked("the stream " + location);
        sleep_for(std::chrono::duration<double>(std::max(options.poll_interval, least)));
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
                        " was opened for random access, which has no begin_step: name the step in each call");
    if (current != nullptr)
        throw Error(-DER_INVAL, "step " + std::to_string(current->step) + " of " + stream->location().text() +
                                    " is open already: end it first");
    StepStatus status = StepStatus::ok;
    const auto begin = SteadyClock::now();
    double left = timeout_seconds;
    while ((current = source->next(left, status)) != nullptr && !selection.has(current->step)) {
        const std::chrono::duration<double> waited = SteadyClock::now() - begin;
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
                                       " does not exist yet: the stream has " + std::to_string(there) +
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
        throw Error(-DER_INVAL, where(id, step) + ": it has no block " + std::to_string(block) +
                                    "; the number of its blocks is " +
                                    std::to_string(count_blocks(step, id)));
    return found;
}

void Reader::Impl::get_values(const InstalledStep& step, VariableId id, DimsView start, DimsView count,
                              std::byte* memory) const
{
    const std::size_t size = element_size(source->dictionary().variables()[id]);
    each_block(step, id, [&](const PlacedBlock& block) {
        if (block.index < start[0] || block.index - start[0] >= count[0]) return true;
        std::ranges::copy(block.rank->value(block.entry), memory + (block.index - start[0]) * size);
        return true;
    });
}

void Reader::Impl::refuse_left_out(const InstalledStep& step, VariableId id, const PlacedBlock& block) const
{
    const Dictionary& known = source->dictionary();
    const std::string who = where(id, step) + ": of block " + std::to_string(block.index) +
                            ", of writer rank " + std::to_string(block.writer_rank) + ", ";
    const Attribute* derived = known.attribute(expression_attribute(known.variables()[id].name), step.step);
    if (derived == nullptr || derived->strings.empty() || derived->strings.front().empty())
        throw Error(-DER_ENOENT, who + "only minimum and maximum are stored: its writer chose to leave its "
                                       "data out (StoreStatsOnly)");
    throw Error(-DER_ENOENT, who + "no data is stored, because ADIOS2 derives it from other variables (" +
                                 derived->strings.front().substr(0, 200) +
                                 "): read it with an ADIOS2 that has derived variables (docs/adios2.md)");
}

void Reader::Impl::add_read(const InstalledStep& step, VariableId id, const PlacedBlock& block,
                            BoxView extent, BoxView wanted, std::byte* to)
{
    const std::size_t size = element_size(source->dictionary().variables()[id]);
    if (block.rank->is_inline(block.entry))
        return copy_shared(extent, block.rank->value(block.entry).data(), wanted, to, size,
                           stream->record().order);
    const Placement place = block.rank->place(block.entry);
    if (place.codec == Codec::left_out)
        return each_shared_run(extent, wanted, stream->record().order,
                               [&](auto, auto, auto) { refuse_left_out(step, id, block); });
    const DataPlace data_of{block.rank->header.generation, block.writer_rank};
    if (place.codec == Codec::none)
        return reads->add(data_of, place.at, extent, wanted, to, size, block.rank->sums());
    const DataReads::Compressed stored{
        data_of, place.at, place.length, block.rank->raw_bytes(block.entry), place.codec, place.checksum, id};
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
        refuse("it is a local array: read its blocks one by one (get_block)");
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
    const auto add_block = [&](const PlacedBlock& block) {
        const BlockGeometry geometry = block.rank->geometry(block.entry);
        BoxView box{geometry.start, geometry.count};
        if (geometry.count.size() != shape.size())
            refuse("block " + std::to_string(block.index) +
                   " has another number of dimensions than the shape");
        if (of.kind == ShapeKind::global_array && !std::ranges::equal(geometry.shape, shape))
            refuse("writer rank " + std::to_string(block.writer_rank) + " gives it the shape " +
                   to_text(geometry.shape) + ", a rank before it " + to_text(shape) +
                   ": read the blocks one by one");
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
    };
    adding(to, elements(count) * element_size(of), [&] { each_block(*wanted, id, add_block); });
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
    const auto require_memory = [&] {
        if (memory == nullptr) refuse("the memory to read into is null");
    };
    if (is_value(of.kind)) {
        require_memory();
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
    if (elements(count) == 0) return; // an empty vector has no memory
    require_memory();
    auto* to = static_cast<std::byte*>(memory);
    adding(to, elements(count) * element_size(of),
           [&] { add_read(*wanted, id, block, {{}, extent}, {start, count}, to); });
}

void Reader::Impl::perform_gets()
{
    if (reads->empty()) return;
    const Stopwatch watch(profile.data, "stepstore.data");
    try {
        reads->run([&](std::span<DataRequest> requests) {
            data->open(requests);
            data->read(requests);
        });
    } catch (const Error&) {
        stream->require_current(); // rather say that it was replaced than that its data is damaged
        throw;
    }
    account(*reads);
}

void Reader::Impl::account(const DataReads& performed)
{
    profile.data_bytes += performed.bytes();
    profile.data_requests += performed.requests();
    // What matches the metadata is of this stream. Else it may be what replaced it.
    if (!performed.verified()) stream->require_current();
}

// Without the lock: the queue, which is the caller's, and a data reader that nobody else has. That one looks
// at the stream only when it opens what it reads from, with the lock.
void Reader::Impl::perform_gets(DataReads& queue, Lock& held)
{
    if (queue.empty()) return;
    if (idle.empty()) idle.push_back(std::make_unique<StreamDataReader>(*stream));
    auto from = std::move(idle.back());
    idle.pop_back();
    double seconds = 0;
    std::exception_ptr failed;
    held.unlock();
    try {
        const Stopwatch watch(seconds, "stepstore.data");
        queue.run([&](std::span<DataRequest> requests) {
            held.lock();
            from->open(requests);
            held.unlock();
            from->read(requests);
        });
    } catch (...) {
        failed = std::current_exception();
    }
    if (!held.owns_lock()) held.lock();
    profile.data += seconds;
    idle.push_back(std::move(from));
    if (failed) {
        stream->require_current(); // as above
        std::rethrow_exception(failed);
    }
    account(queue);
}

void Reader::Impl::keep_profile()
{
    const std::vector<std::string> profiles = gather_profiles(*communicator, profile);
    on_root(*communicator, [&] {
        const ProfileRecord::Finished finished = profile_record->finish(profiles);
        std::string lost = finished.file_error;
        try {
            if (!finished.has_file) stream->keep_readers_profile(finished.json);
        } catch (const Error& error) {
            lost = error.what();
        }
        if (!lost.empty())
            throw Error(-DER_IO, "the profile of the readers of " + stream->location().text() +
                                     " is lost: " + lost + "; to read without a profile set Profile=off");
        return std::vector<std::byte>();
    });
}

const Availability& Reader::Impl::availability_of(VariableId id)
{
    variable(id);
    if (!random_access())
        throw Error(-DER_INVAL,
                    "available_steps needs a reader with random access: this one reads step by step");
    require_open();
    const std::uint64_t shown = count_steps();
    while (availability.steps() < shown)
        add_available(selection.step(availability.steps()));
    return availability;
}

void Reader::Impl::add_available(std::uint64_t step)
{
    try {
        availability.add(*source->load(step));
    } catch (const Error& error) {
        if (error.code() != -DER_EP_OLD) throw;
        availability.add_gone();
    }
}

} // namespace stepstore::steps

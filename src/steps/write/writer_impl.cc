#include "steps/write/writer_impl.h"

#include "base/wire.h"
#include "location/find/group.h"
#include "steps/pool_directory.h"
#include "steps/write/snapshot_writer.h"

#include <algorithm>
#include <utility>

namespace stepstore::steps {

namespace {

// Of sync blocks, bytes: smaller ones are copied and written together.
constexpr std::uint64_t written_at_once_from = 64 << 10;

// What rank 0 tells the others.
std::vector<std::byte> encode_word(const StreamToWrite& stream)
{
    const std::vector<std::byte> opened = encode_opened(stream.opened);
    std::vector<std::byte> word;
    WireWriter to(word);
    to.varint(opened.size());
    to.bytes(opened);
    for (const Variable& variable : stream.known)
        write_variable(to, variable);
    return word;
}

} // namespace

Writer::Impl::Impl(const std::string& location, const WriterOptions& wanted,
                   std::shared_ptr<Communicator> group)
    : options(wanted), communicator(std::move(group))
{
    all_together(*communicator, [&] { check_options(options); });
    stores_as_is = options.compression.method == CompressionMethod::none;
    if (communicator->size() > 1) watch = std::make_unique<GroupWatch>(*communicator);
    const PlaceOfGroup place = place_of_group(*communicator, location);
    const std::vector<std::byte> word = on_root(*communicator, [&] {
        StreamToWrite made =
            open_to_write(place.location, options,
                          {static_cast<std::uint32_t>(communicator->size()), place.ranks_of_a_machine});
        lease = std::move(made.lease);
        if (options.profile)
            profile_record.emplace(made.opened.location, ProfileSide::writers,
                                   layout_of(made.opened.record).name);
        return encode_word(made);
    });
    WireReader from(word, "rank 0's message about the stream");
    opened = decode_opened(from.bytes(from.varint()));
    steps = opened.record.first_step;
    all_together(*communicator, [&] {
        pool = Pool::connect(opened.location.pool, Access::read_write);
        container = pool->open_container(opened.location.container, Access::read_write);
        const LayoutContext context{*pool, *container, opened.record};
        const Layout& how = layout_of(opened.record);
        const auto rank = static_cast<std::uint32_t>(communicator->rank());
        layout = open_layout_to_write(context, *communicator);
        if (opened.record.in_place())
            layout = std::make_unique<SnapshotWriter>(std::move(layout), *container, context, *communicator,
                                                      watch.get(), profile);
        data = how.data->writer(context, rank);
        if (options.async_write) {
            beside = std::make_unique<Beside>(*data);
            puts.keep_memory();
        }
        if (!how.data->checks_itself && !capabilities_of(pool->location()).verifies_cells) puts.keep_sums();
        chunk = how.data->in_chunks ? opened.record.data_chunk_size : 1;
        side = container->key_value(opened.record.side);
        if (capabilities_of(opened.location.pool).watches)
            told.emplace(*container, opened.location.pool + "/" + opened.location.container,
                         Access::read_only);
        if (watch) {
            watch->attach(container->key_value(opened.record.side));
            agreement = std::make_unique<Agreement>(container->key_value(opened.record.side), rank);
        }
        encoder = std::make_unique<Encoder>(opened.record.generation, rank, options.statistics,
                                            Compression{options.metadata_compression, 0});
        while (!from.at_end())
            encoder->expect(read_variable(from));
    });
    if (communicator->rank() == 0) announce(); // the stream was replaced or appended to
}

Writer::Impl::~Impl()
{
    if (!watch || closed) return;
    std::uint64_t whole = steps;
    if (decided) {
        try {
            beside->wait(profile);
        } catch (const std::exception&) { // nobody is left to be told, but the other ranks
        }
        if (!decided->published) whole = decided->step;
    }
    watch->leave(whole);
}

void Writer::Impl::require_open() const
{
    if (closed) throw Error(-DER_INVAL, "the writer of " + opened.location.text() + " is closed");
    if (failed)
        throw Error(-DER_INVAL, "an earlier step of " + opened.location.text() +
                                    " could not be stored: close the writer, and open it again to append");
}

void Writer::Impl::refuse_outside(const char* what) const
{
    require_open();
    throw Error(-DER_INVAL, std::string(what) + " outside of a step of " + opened.location.text() +
                                ": call begin_step first");
}

std::uint64_t Writer::Impl::begin_step()
{
    require_open();
    if (in_step)
        throw Error(-DER_INVAL, "step " + std::to_string(steps) + " of " + opened.location.text() +
                                    " is open already: end it first");
    wait_for_step();
    // After a step of at least a chunk the next begins at a chunk's start: large blocks then cross as few
    // boundaries as possible.
    if (encoder->data_length() >= chunk) data_end = (data_end + chunk - 1) / chunk * chunk;
    encoder->begin_step(data_end);
    puts.clear();
    if (beside) beside->give_back(puts);
    in_use.clear();
    in_step = true;
    return steps;
}

std::string Writer::Impl::name_of_put(const Variable& variable) const
{
    return "variable '" + variable.name + "' in step " + std::to_string(steps) + ", rank " +
           std::to_string(communicator->rank()) + ": ";
}

// The number of elements.
std::uint64_t Writer::Impl::check_block(VariableId id, DimsView shape, DimsView start, DimsView count)
{
    const Variable& variable = encoder->variable(id);
    const bool reshapable = id < stored_as_.size() && stored_as_[id].reshapable;
    bool outside = false;
    const std::uint64_t number = checked_elements(
        variable, shape, start, count,
        [&](const std::string& why) { throw Error(-DER_INVAL, name_of_put(variable) + why); },
        reshapable ? &outside : nullptr);
    if (outside) encoder->check_again();
    return number;
}

DataPuts::Block Writer::Impl::add_block(VariableId id, DimsView shape, DimsView start, DimsView count,
                                        std::uint64_t number, const void* memory)
{
    const Compression how = compression_of(id);
    BlockOperator* through = nullptr;
    if (id < stored_as_.size() && stored_as_[id].through != nullptr) {
        through = stored_as_[id].through.get();
        if (in_use.empty() || in_use.back() != stored_as_[id].through)
            in_use.push_back(stored_as_[id].through);
    }
    const Type type = encoder->variable(id).type;
    const std::uint64_t bytes = number * encoder->element_size(id);
    const std::uint64_t at = data_end + encoder->data_length();
    const bool placed = through != nullptr || how.method != CompressionMethod::none;
    const std::uint32_t entry = encoder->add_block(id, shape, start, count, bytes, placed);
    return {at, bytes, static_cast<const std::byte*>(memory), entry, type, encoder->placing(), how, through};
}

const Compression& Writer::Impl::compression_of(VariableId id) const
{
    const bool chosen = id < stored_as_.size() && stored_as_[id].compression;
    return chosen ? *stored_as_[id].compression : options.compression;
}

bool Writer::Impl::is_changed(VariableId id) const
{
    return compression_of(id).method != CompressionMethod::none ||
           (id < stored_as_.size() && stored_as_[id].through != nullptr);
}

Writer::Impl::StoredAs& Writer::Impl::stored_as(VariableId id)
{
    if (stored_as_.size() <= id) stored_as_.resize(std::size_t{id} + 1);
    return stored_as_[id];
}

void Writer::Impl::put(VariableId id, const BlockGeometry& block, const void* memory, Mode mode)
{
    require_step("put");
    if (memory == nullptr || !encoder->set_next_element(id, block, static_cast<const std::byte*>(memory)))
        put_other(id, block, memory, mode);
}

void Writer::Impl::put_other(VariableId id, const BlockGeometry& block, const void* memory, Mode mode)
{
    if (memory != nullptr) {
        const std::uint64_t at = data_end + encoder->data_length();
        const Encoder::Next next = encoder->next_block(id, block, changes(id));
        if (next.entry != Encoder::none)
            return put_block({at, next.bytes, static_cast<const std::byte*>(memory), next.entry, next.type},
                             id, mode);
    }
    const auto& [shape, start, count] = block;
    const Variable& variable = encoder->variable(id);
    const std::uint64_t number = check_block(id, shape, start, count);
    if (number > 0 && memory == nullptr)
        throw Error(-DER_INVAL, name_of_put(variable) + "the data pointer is null");
    if (number == 1) // into the metadata
        return encoder->set_element(encoder->add_block(id, shape, start, count, 0),
                                    static_cast<const std::byte*>(memory));
    put_block(add_block(id, shape, start, count, number, memory), id, mode);
}

void Writer::Impl::put_block(const DataPuts::Block& block, VariableId id, Mode mode)
{
    if (block.bytes == 0) return;
    const std::uint64_t copied_below = mode == Mode::deferred ? options.min_deferred_size
                                       : beside               ? UINT64_MAX
                                                              : written_at_once_from;
    const bool copy = block.bytes < copied_below;
    if (mode == Mode::deferred && !copy) return puts.defer(block);
    take_or_lose(id, [&] {
        if (copy)
            puts.copy(block, *encoder, *data, profile);
        else
            puts.put_now(block, *encoder, *data, profile);
    });
}

// Of a block whose memory is not ours any more after it: so if it fails, the step cannot be completed.
void Writer::Impl::take_or_lose(VariableId id, FunctionRef<void()> work)
{
    try {
        work();
    } catch (const Error& error) {
        lost =
            std::make_exception_ptr(Error(error.code(), name_of_put(encoder->variable(id)) + error.what()));
        std::rethrow_exception(lost);
    } catch (...) {
        lost = std::current_exception();
        throw;
    }
}

std::span<std::byte> Writer::Impl::put_span(VariableId id, DimsView shape, DimsView start, DimsView count,
                                            const MinMax* extremes)
{
    require_step("put_span");
    const Variable& variable = encoder->variable(id);
    const std::uint64_t number = check_block(id, shape, start, count);
    if (number == 1)
        return puts.span_element(encoder->add_block(id, shape, start, count, 0), element_size(variable));
    const DataPuts::Block block = add_block(id, shape, start, count, number, nullptr);
    if (number == 0) return {};
    return puts.span(block, know_extremes(block, extremes));
}

bool Writer::Impl::know_extremes(const DataPuts::Block& block, const MinMax* extremes)
{
    if (extremes == nullptr) return false;
    if (std::byte* slot = encoder->minmax_slot(block.entry)) {
        std::memcpy(slot, extremes->min.bytes.data(), size_of(block.type));
        std::memcpy(slot + size_of(block.type), extremes->max.bytes.data(), size_of(block.type));
    }
    return true;
}

void Writer::Impl::put_from(VariableId id, const BlockGeometry& block, const MinMax* extremes, Fetch fetch)
{
    require_step("put_from");
    const auto& [shape, start, count] = block;
    const std::uint64_t number = check_block(id, shape, start, count);
    if (number == 1) {
        std::vector<std::byte> element(encoder->element_size(id));
        fetch(element, 0);
        return encoder->set_element(encoder->add_block(id, shape, start, count, 0), element.data());
    }
    const DataPuts::Block one = add_block(id, shape, start, count, number, nullptr);
    if (number == 0) return;
    const bool measured = know_extremes(one, extremes);
    if (!std::exchange(fetches, true)) {
        const std::string& where = pool->location();
        const bool synced = capabilities_of(where).directory && survives_power_failure(where);
        puts.put_in(Pieces(synced ? Pieces::of_synced : Pieces::usual, piece_memory), chunk);
    }
    take_or_lose(id, [&] { puts.put_from(one, measured, fetch, *encoder, *data, profile); });
}

std::span<std::byte> Writer::Impl::put_from_staying(VariableId id, const BlockGeometry& block,
                                                    const MinMax* extremes, Fetch fetch)
{
    const std::span<std::byte> room = put_span(id, block.shape, block.start, block.count, extremes);
    if (!room.empty()) take_or_lose(id, [&] { fetch(room, 0); });
    return room;
}

void Writer::Impl::put_value(VariableId id, const void* value)
{
    require_step("put");
    if (value == nullptr || !encoder->add_next_value(id, value)) put_other_value(id, value, {}, false);
}

void Writer::Impl::put_other_value(VariableId id, const void* value, std::string_view text, bool is_text)
{
    require_step("put");
    const Variable& variable = encoder->variable(id);
    if (!is_value(variable.kind))
        throw Error(-DER_INVAL, name_of_put(variable) + "it is a " + std::string(name_of(variable.kind)) +
                                    ", not a value: its blocks need dimensions");
    if ((variable.type == Type::string) != is_text)
        throw Error(-DER_INVAL, name_of_put(variable) + "it has the type " +
                                    std::string(name_of(variable.type)) +
                                    (is_text ? ", not string" : ": use put_string"));
    if (is_text) return encoder->add_string(id, text);
    if (value == nullptr) throw Error(-DER_INVAL, name_of_put(variable) + "the data pointer is null");
    encoder->add_value(id, value);
}

// Of the open step: a failure names it.
void Writer::Impl::name_data(FunctionRef<void()> work)
{
    try {
        work();
    } catch (const Error& error) {
        throw Error(error.code(), "the data of step " + std::to_string(steps) + ", rank " +
                                      std::to_string(communicator->rank()) + " of " + opened.location.text() +
                                      " is not stored: " + error.what());
    }
}

void Writer::Impl::perform_puts(bool spans)
{
    name_data(
        [&] { puts.perform(spans, *encoder, beside ? static_cast<DataWriter&>(*beside) : *data, profile); });
}

void Writer::Impl::write_puts(bool spans)
{
    perform_puts(spans);
    if (!beside) return;
    try {
        name_data([&] { beside->wait(profile); }); // of what was put before
        beside->start(puts, {});
    } catch (...) {
        lost = std::current_exception();
        throw;
    }
}

void Writer::Impl::end_part()
{
    require_step("end_part");
    if (lost != nullptr) std::rethrow_exception(lost);
    try {
        write_puts(true);
    } catch (...) {
        lost = std::current_exception(); // the memory of what is left is not ours any more
        throw;
    }
    in_use.clear();
}

void Writer::Impl::mark_closed(std::uint64_t whole_steps)
{
    StreamList list(*container, opened.location.pool + "/" + opened.location.container, Access::read_write);
    const std::string& stream = opened.location.stream;
    opened.record.closed = true;
    opened.record.steps = whole_steps;
    while (true) {
        const auto there = list.bytes(stream);
        const auto now = there ? std::optional(list.decode(*there, stream)) : std::nullopt;
        if (!now || now->generation != opened.record.generation)
            throw replaced_error(opened.location.text(), now);
        if (list.put_if(stream, there, opened.record)) break;
    }
    announce();
}

void Writer::Impl::close()
{
    if (closed) return;
    std::exception_ptr failure;
    try {
        if (in_step) end_step(nullptr);
        wait_for_step();
    } catch (...) {
        failure = std::current_exception();
    }
    try {
        close_together(failure);
    } catch (...) {
        lease.reset(); // where a rank is lost the stream stays as it is, not marked as ended
        throw;
    }
}

void Writer::Impl::close_together(const std::exception_ptr& failure)
{
    closed = true;
    puts.end_pieces();
    if (watch) watch->look_at_close();
    layout->finish();
    // Ranks that are done wait here for those that are not, without taking their processor.
    std::uint64_t least = 0;
    std::size_t last_rank = 0; // with so few steps
    {
        const std::vector<std::uint64_t> counts = communicator->allgather(steps);
        const auto found = std::ranges::min_element(counts);
        least = *found;
        last_rank = static_cast<std::size_t>(found - counts.begin());
    }
    std::vector<std::string> profiles;
    if (options.profile) profiles = gather_profiles(*communicator, profile);
    on_root(*communicator, [&] {
        // also when the record cannot be stored
        const std::unique_ptr<Lease> until_the_end = std::move(lease);
        if (profile_record)
            side->put(profile_key(ProfileSide::writers), as_bytes(profile_record->finish(profiles).json));
        mark_closed(least);
        return std::vector<std::byte>();
    });
    if (failure != nullptr) std::rethrow_exception(failure);
    if (steps == least) return;
    const std::string reason = watch->reason(least);
    throw Error(-DER_CANCELED, "rank " + std::to_string(last_rank) + " has ended " + std::to_string(least) +
                                   " steps, this rank " + std::to_string(steps) + ": the stream " +
                                   opened.location.text() +
                                   " ends after the steps that all ranks have stored" +
                                   (reason.empty() ? "" : ". There: " + reason));
}

} // namespace stepstore::steps

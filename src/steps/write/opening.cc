#include "steps/write/opening.h"

#include "client/object_groups.h"
#include "steps/layouts/aggregation.h"
#include "steps/layouts/data_files.h"
#include "steps/pool_directory.h"
#include "steps/profile/profile_record.h"
#include "steps/read/step_source.h"

#include <algorithm>
#include <chrono>

namespace stepstore::steps {

namespace {

// How each rank's data object is kept, whatever the sizes of its blocks and the number of ranks: measured,
// docs/design/speed.md.
constexpr std::uint64_t data_chunk_size = 1 << 20;
constexpr const char* data_object_class = "SX";

// One rank writes a step's metadata to one target. In a pool of files, to use others for the next steps gains
// nothing. It makes their indexes longer, by pages that are hardly filled.
const char* object_class_for(const std::string& pool, std::uint32_t ranks)
{
    return ranks == 1 && pool_directory(pool) ? "S1" : "SX";
}

bool on_files_of_machines(const Capabilities& pool, const WriterOptions& options, const WriterGroup& group)
{
    return pool.directory && !pool.one_machine && group.ranks > group.of_a_machine &&
           options.step_mode != StepMode::snapshot;
}

StreamRecord new_record(const std::string& pool, const WriterOptions& options, const WriterGroup& group)
{
    StreamRecord record;
    const Layout& layout = layout_named(options.layout);
    record.layout = layout.number;
    const bool of_machines = on_files_of_machines(capabilities_of(pool), options, group);
    // Many machines that write into one file wait for the locks of its file system. So each has its own.
    record.objects = options.objects.value_or(of_machines && layout.objects_of_machines ? Objects::per_machine
                                                                                        : Objects::single);
    if (record.objects == Objects::per_machine)
        record.ranks_per_object =
            options.ranks_per_object != 0 ? options.ranks_per_object : group.of_a_machine;
    record.step_mode = options.step_mode.value_or(StepMode::extend);
    std::uint32_t together = options.ranks_per_aggregator;
    if (together == 0 && of_machines && layout.aggregates)
        together = usual_ranks_per_aggregator(group.ranks, group.of_a_machine);
    record.order = options.order;
    record.ranks = group.ranks;
    record.chunk_size = options.chunk_size != 0 ? options.chunk_size : layout.chunk_size;
    const bool fits = together <= most_chunk_size / record.chunk_size; // a slot has room for all of them
    record.ranks_per_aggregator = together > 1 && fits ? together : 0;
    record.object_class =
        options.object_class.empty() ? object_class_for(pool, group.ranks) : options.object_class;
    record.data_chunk_size = options.data_chunk_size != 0 ? options.data_chunk_size : data_chunk_size;
    record.data_object_class =
        options.data_object_class.empty() ? data_object_class : options.data_object_class;
    record.created = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
    return record;
}

// Once the record has its ids.
void set_groups(const Pool& pool, StreamRecord& record)
{
    if (!layout_of(record).chooses_chunks || record.objects == Objects::per_writer) return;
    record.groups = object_groups(record.metadata, pool.targets());
    record.group_hash = capabilities_of(pool.location()).own_store ? GroupHash::stepstore : GroupHash::daos;
}

void set_writer(StreamRecord& record)
{
    const ProcessIdentity writer = this_process();
    record.writer_host = writer.host;
    record.writer_process = writer.process;
}

std::shared_ptr<const Pool> open_pool(const Location& location, const WriterOptions& options)
{
    PoolOptions made;
    made.targets = options.targets;
    made.durability = options.durability;
    return std::make_shared<const Pool>(Pool::connect_or_create(location.pool, made));
}

// What the stream list has under the stream's name. The new record takes its place only if it is still there:
// a writer that was stopped here may have been taken for dead, and another one took over.
struct Found {
    std::optional<std::vector<std::byte>> bytes;
    std::optional<StreamRecord> record; // nullopt: none, or a damaged one
    bool readable = true;               // no: the store cannot give its bytes, so they are no condition
};

// A new stream replaces a damaged record too; a newer version's is not ours to touch.
Found find_record(const StreamList& list, const std::string& stream, bool append)
{
    Found found;
    found.readable = false;
    try {
        found.bytes = list.bytes(stream);
        found.readable = true;
        if (found.bytes) found.record = list.decode(*found.bytes, stream);
    } catch (const Error& error) {
        if (append || (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL)) throw;
    }
    return found;
}

void put_record(StreamList& list, const OpenedStream& opened, Found& there)
{
    const std::string& stream = opened.location.stream;
    if (!there.readable)
        list.put(stream, opened.record);
    else if (!list.put_if(stream, there.bytes, opened.record))
        throw replaced_error(opened.location.text(), list.find(stream));
    there.bytes = encode_record(opened.record);
    there.readable = true;
}

std::string text_of(Order order)
{
    return order == Order::row_major ? "row-major" : "column-major";
}

void require_same(const OpenedStream& old, const WriterOptions& options)
{
    const StreamRecord& is = old.record;
    const auto refuse = [&](const std::string& what, const std::string& wanted, const std::string& has) {
        throw Error(-DER_INVAL,
                    "cannot append to the stream " + old.location.text() + " with " + what + " " + wanted +
                        ": the stream has " + has +
                        ", which cannot change: leave out the parameter, or write another stream");
    };
    const auto size = [&](const std::string& what, std::uint64_t wanted, std::uint64_t has) {
        if (wanted != 0 && wanted != has) refuse(what, std::to_string(wanted), std::to_string(has));
    };
    const auto text = [&](const std::string& what, const std::string& wanted, const std::string& has) {
        if (!wanted.empty() && wanted != has) refuse(what, wanted, has);
    };
    text("the layout", options.layout, std::string(layout_of(is).name));
    if (options.objects && *options.objects != is.objects)
        refuse("Objects", std::string(name_of(*options.objects)), std::string(name_of(is.objects)));
    if (options.step_mode && *options.step_mode != is.step_mode)
        refuse("Steps", std::string(name_of(*options.step_mode)), std::string(name_of(is.step_mode)));
    if (options.order != is.order) refuse("arrays in the order", text_of(options.order), text_of(is.order));
    size("RanksPerObject", options.ranks_per_object, is.ranks_per_object);
    size("RanksPerAggregator", options.ranks_per_aggregator, std::max(is.ranks_per_aggregator, 1U));
    size("ChunkSize", options.chunk_size, is.chunk_size);
    size("DataChunkSize", options.data_chunk_size, is.data_chunk_size);
    text("ObjectClass", options.object_class, is.object_class);
    text("DataObjectClass", options.data_object_class, is.data_object_class);
}

// ADIOS2's BP5's rule.
std::uint64_t steps_to_keep(std::int64_t append_after, std::uint64_t there)
{
    if (append_after >= 0) return std::min(static_cast<std::uint64_t>(append_after), there);
    const std::uint64_t removed = 0 - static_cast<std::uint64_t>(append_after) - 1;
    return there - std::min(removed, there);
}

// Reads a stream from one process, for what a writer has to know of it.
struct Look {
    explicit Look(const OpenedStream& opened)
        : communicator(self_communicator()), stream(opened),
          source(stream, options, *communicator, profile, true)
    {
    }
    static ReaderOptions at_random()
    {
        ReaderOptions options;
        options.mode = ReadMode::random_access;
        return options;
    }
    ReaderOptions options = at_random();
    std::shared_ptr<Communicator> communicator;
    Profile profile;
    OpenStream stream;
    StepSource source;
};

struct Append {
    StreamRecord record;         // with the new segment as the last one; what is not kept is in `dropped`
    std::vector<Variable> known; // what the kept steps define
};
// What appending will make of the stream; changes nothing but the container's numbers. -DER_INVAL: an option
// contradicts the stream; the message names both.
Append plan_append(const OpenedStream& old, Container& container, const WriterOptions& options,
                   std::uint32_t ranks)
{
    require_same(old, options);
    Look look(old);
    const std::uint64_t there = look.source.count();
    const std::uint64_t keep = steps_to_keep(options.append_after, there);
    look.source.learn_definitions(keep);

    Append plan;
    plan.known = look.source.dictionary().variables();
    StreamRecord& record = plan.record;
    record = old.record;
    std::vector<Segment> segments = std::move(record.earlier);
    segments.push_back(last_segment(old.record, there));
    record.earlier.clear();
    for (Segment& one : segments) {
        one.end_step = std::min(one.end_step, keep);
        (one.first_step < one.end_step ? record.earlier : record.dropped).push_back(one);
    }
    record.ranks = ranks;
    record.first_step = keep;
    record.closed = false;
    record.steps = 0;
    assign_objects(container, record);
    return plan;
}

// Frees what the record does not refer to any more: dropped segments, and what lies after the last step that
// is kept. May be done again, after a death in the middle. Steps that were kept are not touched.
void reclaim(const Pool& pool, Container& container, const StreamRecord& record)
{
    for (const Segment& one : record.dropped)
        destroy_segment_objects(container, pool.location(), segment_record(record, one));
    if (record.earlier.empty()) return;
    // Only the last of them may have been longer: those before were trimmed when it was begun.
    const StreamRecord last = segment_record(record, record.earlier.back());
    const LayoutContext context{pool, container, last};
    const Layout& how = layout_of(last);
    trim_steps(container, context, last.steps);
    const auto layout = open_layout(context);
    for (std::uint32_t rank = 0; rank < last.ranks; ++rank) {
        try {
            const std::vector<std::byte> metadata = layout->fetch_metadata(last.steps - 1, rank);
            const MetadataHeader header = open_metadata(metadata, last.generation, last.steps - 1, rank);
            how.data->trim(context, rank, header.data_base + header.data_length);
        } catch (const Error& error) {
            // Metadata that is damaged or gone does not say where its data ends: then the space stays taken.
            if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL && error.code() != -DER_NONEXIST &&
                error.code() != -DER_EP_OLD)
                throw;
        }
    }
}

} // namespace

StreamToWrite open_to_write(const std::string& text, const WriterOptions& options, const WriterGroup& group)
{
    StreamToWrite result;
    OpenedStream& opened = result.opened;
    opened.location = resolve_location(text);
    require_place_for_pool(opened.location, text);
    require_directory(opened.location.pool, layout_named(options.layout));
    if (options.step_mode == StepMode::snapshot && !capabilities_of(opened.location.pool).versions)
        throw Error(-DER_NOTSUPPORTED, "Steps=snapshot needs snapshots, and a pool in files (" +
                                           opened.location.pool + ") has none: leave out Steps");
    opened.location.opened = open_pool(opened.location, options);
    const Pool& pool = *opened.location.opened;
    Container container = pool.open_or_create_container(opened.location.container);
    const std::string& name = opened.location.stream;
    result.lease =
        std::make_unique<Lease>(take_stream(container, name, opened.location.text(), options.writer_timeout));
    StreamList list(container, opened.location.pool + "/" + opened.location.container, Access::read_write);
    Found there = find_record(list, name, options.append);
    require_still_held(*result.lease, opened.location.text());
    const std::optional<StreamRecord> old = std::move(there.record);
    if (old && options.append) {
        opened.record = *old;
        Append plan = plan_append(opened, container, options, group.ranks);
        opened.record = std::move(plan.record);
        result.known = std::move(plan.known);
    } else {
        opened.record = new_record(pool.location(), options, group);
        assign_objects(container, opened.record);
        set_groups(pool, opened.record);
        if (old) opened.record.dropped = segments_of(*old);
    }
    set_writer(opened.record);
    put_record(list, opened, there);
    if (const DataStore& data = *layout_of(opened.record).data; data.prepare)
        data.prepare(pool.location(), opened.record);
    if (!old) return result;
    // If a writer dies here, the next one finds in the record what it left.
    if (options.append) {
        reclaim(pool, container, opened.record);
    } else {
        destroy_stream_objects(container, pool.location(), *old);
        remove_profile_files(
            opened.location); // a file that cannot be removed fails no writer: close writes it again
    }
    if (opened.record.dropped.empty()) return result;
    opened.record.dropped.clear();
    put_record(list, opened, there);
    return result;
}

} // namespace stepstore::steps

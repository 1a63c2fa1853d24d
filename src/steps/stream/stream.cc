#include "steps/stream/stream.h"

#include "base/wire.h"
#include "steps/layouts/data_store.h"
#include "steps/layouts/reference/step_snapshots.h"
#include "steps/profile/profile_record.h"
#include "steps/stream/options.h"
#include "steps/stream/writer_lease.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

std::string joined(const std::vector<std::string>& names)
{
    constexpr std::size_t most = 10;
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < most; ++i)
        text += (i > 0 ? ", " : "") + names[i];
    if (names.size() > most) text += ", and " + std::to_string(names.size() - most) + " more";
    return text;
}

// A pool that is open already, for readers.
const Pool& pool_of(Location& location)
{
    if (!location.opened)
        location.opened = std::make_shared<const Pool>(Pool::connect(location.pool, Access::read_only));
    return *location.opened;
}

} // namespace

std::vector<std::byte> encode_opened(const OpenedStream& opened)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.text(opened.location.pool);
    to.text(opened.location.container);
    to.text(opened.location.stream);
    to.varint(opened.snapshot);
    to.bytes(encode_record(opened.record));
    return bytes;
}

OpenedStream decode_opened(Bytes bytes)
{
    WireReader from(bytes, "rank 0's message about the stream");
    OpenedStream opened;
    opened.location.pool = from.text();
    opened.location.container = from.text();
    opened.location.stream = from.text();
    opened.location.pool_exists = true;
    opened.snapshot = from.varint();
    opened.record = decode_record(from.bytes(from.left()), opened.location.text());
    return opened;
}

OpenedStream find_stream(const std::string& text, std::uint64_t snapshot)
{
    OpenedStream opened;
    opened.snapshot = snapshot;
    Location& location = opened.location;
    location = resolve_location(text);
    require_pool(location, text);
    const Pool& pool = pool_of(location);
    std::optional<Container> container;
    try {
        container = pool.open_container(location.container, Access::read_only);
    } catch (const Error& error) {
        if (error.code() != -DER_NONEXIST) throw;
        std::vector<std::string> labels;
        for (const ContainerEntry& entry : pool.containers())
            labels.push_back(entry.label);
        throw Error(-DER_NONEXIST, "the pool " + location.pool + " has no container '" + location.container +
                                       "'" + (labels.empty() ? "" : "; it has " + joined(labels)));
    }
    if (snapshot != 0) container = container->at_snapshot(snapshot);
    const std::string where = location.pool + "/" + location.container;
    const StreamList list(*container, where, Access::read_only);
    auto record = list.find(location.stream);
    if (!record) {
        const std::vector<std::string> streams = list.streams();
        throw Error(-DER_NONEXIST,
                    "there is no stream '" + location.stream + "' in " + where +
                        (streams.empty() ? ": it has no stream" : "; it has " + joined(streams)));
    }
    opened.record = std::move(*record);
    if (snapshot != 0 && !layout_of(opened.record).data->in_snapshots)
        throw Error(-DER_NOSYS, "the stream " + location.text() + " has the layout " +
                                    std::string(layout_of(opened.record).name) +
                                    ", whose files a snapshot does not keep: read it without a snapshot");
    return opened;
}

std::vector<std::string> list_streams(const std::string& text)
{
    Location location = resolve_location(text);
    require_pool(location, text);
    const Container container = pool_of(location).open_container(location.container, Access::read_only);
    return StreamList(container, location.pool + "/" + location.container, Access::read_only).streams();
}

void remove_stream(const std::string& text)
{
    const OpenedStream opened = find_stream(text);
    const Pool pool = Pool::connect(opened.location.pool, Access::read_write);
    Container container = pool.open_container(opened.location.container, Access::read_write);
    Lease lease = take_stream(container, opened.location.stream, opened.location.text(),
                              WriterOptions().writer_timeout);
    StreamList list(container, opened.location.pool + "/" + opened.location.container, Access::read_write);
    // No writer changes it any more, unless it took over from this process, which was stopped.
    if (const auto there = list.bytes(opened.location.stream)) {
        const StreamRecord record = list.decode(*there, opened.location.stream);
        require_still_held(lease, opened.location.text());
        if (!list.remove_if(opened.location.stream, *there))
            throw replaced_error(opened.location.text(), list.find(opened.location.stream));
        destroy_stream_objects(container, pool.location(), record);
    }
    if (const std::string left = remove_profile_files(opened.location); !left.empty())
        throw Error(-DER_IO, "the stream " + opened.location.text() +
                                 " was removed, but its profile was not: " + left);
}

AggregatedSteps aggregate_steps(const std::string& text, std::uint64_t keep)
{
    const OpenedStream opened = find_stream(text);
    const StreamRecord& record = opened.record;
    if (!record.in_place())
        throw Error(-DER_INVAL, "the stream " + opened.location.text() +
                                    " has no snapshots of its steps to remove: it was written with Steps=" +
                                    std::string(name_of(record.step_mode)));
    if (keep == 0)
        throw Error(-DER_INVAL, "keep at least one step of " + opened.location.text() +
                                    ": `stepstore rm` removes a whole stream");
    const Pool pool = Pool::connect(opened.location.pool, Access::read_write);
    Container container = pool.open_container(opened.location.container, Access::read_write);
    AggregatedSteps result{0, 0, record.steps};
    const StreamRecord last = segment_record_of(record, no_step);
    if (!record.closed)
        result.steps =
            last.first_step + open_layout({pool, container, last})->count_published(last.first_step);
    result.first_kept = result.steps - std::min(keep, result.steps);
    for (const Segment& one : record.earlier)
        result.removed += remove_steps(pool, container, segment_record(record, one),
                                       std::min(one.end_step, result.first_kept));
    result.removed += remove_steps(pool, container, last, result.first_kept);
    return result;
}

} // namespace stepstore::steps

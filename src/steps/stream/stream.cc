#include "steps/stream/stream.h"

#include "base/files.h"
#include "base/system_error.h"
#include "base/wire.h"
#include "steps/layouts/layout.h"
#include "steps/profile/profile_record.h"
#include "steps/read/reader.h"
#include "steps/write/append.h"

#include <chrono>
#include <filesystem>

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

// How each rank's data object is kept, whatever the sizes of its blocks and the number of ranks: measured,
// docs/design/speed.md.
constexpr std::uint64_t data_chunk_size = 1 << 20;
constexpr const char* data_object_class = "SX";

StreamRecord new_record(const WriterOptions& options, int ranks)
{
    StreamRecord record;
    record.layout = options.layout;
    record.objects = options.objects;
    record.steps_mode = options.steps;
    record.order = options.order;
    record.ranks = static_cast<std::uint32_t>(ranks);
    record.chunk_size = options.chunk_size != 0 ? options.chunk_size : default_chunk_size(options.layout);
    record.object_class = options.object_class.empty() ? "SX" : options.object_class;
    record.data_chunk_size = options.data_chunk_size != 0 ? options.data_chunk_size : data_chunk_size;
    record.data_object_class =
        options.data_object_class.empty() ? data_object_class : options.data_object_class;
    record.created = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
    return record;
}

void set_writer(StreamRecord& record)
{
    const ProcessIdentity writer = this_process();
    record.writer_host = writer.host;
    record.writer_process = writer.process;
}

// The pool, made if it is not there; another process may make it at the same time.
std::shared_ptr<const Pool> open_or_create_pool(const Location& location, const WriterOptions& options)
{
    if (!location.pool_exists) {
        const std::size_t slash = location.pool.rfind('/');
        if (slash != std::string::npos && slash > 0) {
            std::error_code ignored; // Pool::create says what is wrong
            std::filesystem::create_directories(location.pool.substr(0, slash), ignored);
        }
        PoolOptions pool;
        pool.targets = options.targets;
        pool.durability = options.durability;
        try {
            Pool::create(location.pool, pool);
        } catch (const Error& error) {
            if (error.code() != -DER_EXIST) throw;
        }
    }
    return std::make_shared<const Pool>(Pool::connect(location.pool, Access::read_write));
}

// A pool that is open already, for readers.
const Pool& pool_of(Location& location)
{
    if (!location.opened)
        location.opened = std::make_shared<const Pool>(Pool::connect(location.pool, Access::read_only));
    return *location.opened;
}

// The record that a new stream takes the place of. A damaged one is replaced too; a newer version's is not
// ours to touch.
std::optional<StreamRecord> replaced_record(const Catalogue& catalogue, const std::string& stream)
{
    try {
        return catalogue.find(stream);
    } catch (const Error& error) {
        if (error.code() == -DER_CSUM || error.code() == -DER_DF_INVAL) return std::nullopt;
        throw;
    }
}

void make_posix_directory(const std::string& pool, const StreamRecord& record)
{
    Place one = posix_place(pool, record);
    if (const int error = make_directories(one); error != 0)
        throw system_error(error, one, "cannot make the directory");
    if (!survives_power_failure(pool)) return;
    while (one.below() != ".") // up to the pool's own: which of them were there nobody knows
        sync_directory(one = one.parent());
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
    WireReader from(bytes, "rank 0's word on the stream");
    OpenedStream opened;
    opened.location.pool = from.text();
    opened.location.container = from.text();
    opened.location.stream = from.text();
    opened.location.pool_exists = true;
    opened.snapshot = from.varint();
    opened.record = decode_record(from.bytes(from.left()), opened.location.text());
    return opened;
}

StreamToWrite open_to_write(const std::string& text, const WriterOptions& options, int ranks)
{
    StreamToWrite result;
    OpenedStream& opened = result.opened;
    opened.location = resolve_location(text);
    opened.location.opened = open_or_create_pool(opened.location, options);
    const Pool& pool = *opened.location.opened;
    Container container = pool.open_or_create_container(opened.location.container);
    const std::string& name = opened.location.stream;
    result.lease =
        std::make_unique<WriterLease>(container, name, opened.location.text(), options.writer_timeout);
    Catalogue catalogue(container, opened.location.pool + "/" + opened.location.container,
                        Access::read_write);
    const auto old = options.append ? catalogue.find(name) : replaced_record(catalogue, name);
    if (old && options.append) {
        opened.record = *old;
        Append plan = plan_append(opened, container, options, ranks);
        opened.record = std::move(plan.record);
        result.known = std::move(plan.known);
    } else {
        opened.record = new_record(options, ranks);
        assign_objects(container, opened.record);
        if (old) opened.record.dropped = segments_of(*old);
    }
    set_writer(opened.record);
    catalogue.put(name, opened.record);
    if (opened.record.layout == Layout::posix) make_posix_directory(pool.location(), opened.record);
    if (!old) return result;
    // What a writer that dies here leaves, the next one finds in the record.
    if (options.append) {
        reclaim(pool, container, opened.record);
    } else {
        destroy_stream_objects(container, pool.location(), *old);
        remove_profile_files(
            opened.location); // what cannot be removed fails no writer: it is written anew at close
    }
    if (opened.record.dropped.empty()) return result;
    opened.record.dropped.clear();
    catalogue.put(name, opened.record);
    return result;
}

OpenedStream find_stream(const std::string& text, std::uint64_t snapshot)
{
    OpenedStream opened;
    opened.snapshot = snapshot;
    Location& location = opened.location;
    location = resolve_location(text);
    if (!location.pool_exists)
        throw Error(-DER_NONEXIST,
                    "there is no pool at '" + text +
                        "', nor at any directory above it: check the location, or run the writer first");
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
    const Catalogue catalogue(*container, where, Access::read_only);
    auto record = catalogue.find(location.stream);
    if (!record) {
        const std::vector<std::string> streams = catalogue.streams();
        throw Error(-DER_NONEXIST,
                    "there is no stream '" + location.stream + "' in " + where +
                        (streams.empty() ? "; no stream at all" : "; it has " + joined(streams)));
    }
    opened.record = std::move(*record);
    if (snapshot != 0 && opened.record.layout == Layout::posix)
        throw Error(-DER_NOSYS,
                    "the stream " + location.text() +
                        " has the layout posix, whose files a snapshot does not keep: read it as it is now");
    return opened;
}

std::vector<std::string> list_streams(const std::string& text)
{
    Location location = resolve_location(text);
    if (!location.pool_exists) throw Error(-DER_NONEXIST, "there is no pool at '" + text + "'");
    const Container container = pool_of(location).open_container(location.container, Access::read_only);
    return Catalogue(container, location.pool + "/" + location.container, Access::read_only).streams();
}

void remove_stream(const std::string& text)
{
    const OpenedStream opened = find_stream(text);
    const Pool pool = Pool::connect(opened.location.pool, Access::read_write);
    const Container container = pool.open_container(opened.location.container, Access::read_write);
    WriterLease lease(container, opened.location.stream, opened.location.text(),
                      WriterOptions().writer_timeout);
    Catalogue catalogue(container, opened.location.pool + "/" + opened.location.container,
                        Access::read_write);
    const auto record = catalogue.find(opened.location.stream); // no writer changes it any more
    catalogue.remove(opened.location.stream);
    if (record) destroy_stream_objects(container, pool.location(), *record);
    lease.give_back_for_good();
    if (const std::string left = remove_profile_files(opened.location); !left.empty())
        throw Error(-DER_IO,
                    "the stream " + opened.location.text() + " is removed, but not its profile: " + left);
}

} // namespace stepstore::steps

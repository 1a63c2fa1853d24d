// The calls of Store: opening and closing a location, and all that moves no data. Each has the form of
// group.h: the ranks say what they call, rank 0 works, and its answer or error goes to all.
#include "arrays/session.h"

#include "base/record.h"
#include "comm/collective.h"
#include "location/find/group.h"
#include "location/find/location.h"

#include <daos_errno.h>

#include <algorithm>
#include <cmath>

namespace stepstore::arrays {

namespace {

constexpr std::size_t longest_attribute = 1 << 20; // bytes

std::vector<std::byte> encode(Mode mode, const OpenOptions& options)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(static_cast<std::uint8_t>(mode));
    to.fixed(static_cast<std::uint8_t>(options.order));
    to.varint(options.targets);
    to.fixed(static_cast<std::uint8_t>(options.durability));
    to.fixed(static_cast<std::uint8_t>(options.verify));
    to.varint(options.transfer_size);
    to.varint(options.snapshot);
    return bytes;
}

void check_options(Mode mode, const OpenOptions& options)
{
    if (options.transfer_size < 4096)
        throw Error(-DER_INVAL, "transfer_size is " + std::to_string(options.transfer_size) +
                                    " bytes: use at least 4096");
    if (!std::isfinite(options.timeout_seconds) || options.timeout_seconds <= 0)
        throw Error(-DER_INVAL, "timeout_seconds is no positive number of seconds: give one");
    if (options.snapshot != 0 && mode == Mode::write)
        throw Error(-DER_INVAL, "a snapshot cannot be written: open it for reading");
}

void require_same_options(std::span<const Bytes> all)
{
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        if (!std::ranges::equal(all[0], all[rank]))
            throw Error(-DER_MISMATCH, "rank " + std::to_string(rank) +
                                           " opens with another mode or other options than rank 0: all "
                                           "ranks must give the same");
}

// Rank 0's: finds or makes pool and container.
void open_here(const std::string& text, Store::Session& session)
{
    Location location = resolve_location(text);
    if (location.stream_given)
        throw Error(-DER_INVAL, "the location '" + text +
                                    "' has a part behind its container: arrays have names of their own in "
                                    "POOL/CONTAINER");
    session.where = location.pool + "/" + location.container;
    const bool writes = session.mode == Mode::write;
    if (!writes) require_pool(location, text);
    if (writes) {
        PoolOptions made;
        made.targets = session.options.targets;
        made.durability = session.options.durability;
        session.pool.emplace(Pool::connect_or_create(location.pool, made));
        session.container.emplace(session.pool->open_or_create_container(location.container));
        return;
    }
    session.pool.emplace(Pool::connect(location.pool, Access::read_only));
    session.container.emplace(session.pool->open_container(location.container, Access::read_only));
}

std::vector<std::byte> handles(const Store::Session& session)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.text(session.where);
    to.text(session.pool->location());
    to.text(session.container->label());
    const std::vector<std::byte> pool = session.pool->to_global();
    to.varint(pool.size());
    to.bytes(pool);
    to.bytes(session.container->to_global());
    return bytes;
}

void open_from(Bytes bytes, Store::Session& session)
{
    WireReader from(bytes, "rank 0's handles");
    session.where = from.text();
    const std::string pool(from.text());
    const std::string container(from.text());
    session.pool.emplace(Pool::from_global(pool, from.bytes(from.varint())));
    session.container.emplace(session.pool->container_from_global(container, from.bytes(from.left())));
}

// A call without data: rank 0 does it, and its answer goes to all.
template <class Work>
std::vector<std::byte> on_root(Store::Session& session, const std::string& call, Bytes arguments,
                               const std::exception_ptr& fault, Work work)
{
    return session.open_group(call).meet(call, arguments, fault, [&](std::span<const Bytes> all) {
        for (std::size_t rank = 1; rank < all.size(); ++rank)
            if (!std::ranges::equal(all[0], all[rank]))
                throw Error(-DER_MISMATCH, "rank " + std::to_string(rank) +
                                               " gives another value than rank 0: all ranks must give the "
                                               "same");
        return work();
    });
}

std::exception_ptr fault_of(const std::function<void()>& check)
{
    try {
        check();
    } catch (...) {
        return std::current_exception();
    }
    return nullptr;
}

std::vector<std::byte> encode(const std::vector<std::string>& names)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    for (const std::string& one : names)
        to.text(one);
    return bytes;
}
std::vector<std::string> decode_names(Bytes bytes)
{
    std::vector<std::string> names;
    for (WireReader from(bytes, "a list of names"); !from.at_end();)
        names.emplace_back(from.text());
    return names;
}

Header require_array(Store::Session& session, const std::string& name)
{
    const std::shared_ptr<Head> head = session.head(name);
    std::optional<Header> header = head->header();
    if (!header)
        throw Error(-DER_NONEXIST,
                    "there is no " + head->where() + ": list the arrays to see which there are");
    return std::move(*header);
}

std::shared_ptr<Head> attributes_of(Store::Session& session, const std::string& name)
{
    if (!name.empty()) require_array(session, name);
    return session.head(name);
}

[[noreturn]] void no_attribute(const Head& head, const std::string& attribute)
{
    throw Error(-DER_NONEXIST,
                "there is no attribute '" + attribute + "' of " + head.where() + ": list its attributes");
}

} // namespace

Request::Request() = default;
Request::~Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;

void Request::wait()
{
    if (state_) state_->wait();
}
bool Request::ready() const
{
    return !state_ || state_->ready();
}

Store::Store(const std::string& location, Mode mode, std::shared_ptr<Communicator> communicator,
             const OpenOptions& options, const std::exception_ptr& given)
    : session_(std::make_shared<Session>(mode, options))
{
    Session& session = *session_;
    session.where = location;
    session.group = std::make_unique<Group>(std::move(communicator), options.timeout_seconds);
    Group& group = *session.group;
    const std::string call = "open '" + location + "'";
    group.meet(call, encode(mode, options), given ? given : fault_of([&] { check_options(mode, options); }),
               [](std::span<const Bytes> all) {
                   require_same_options(all);
                   return std::vector<std::byte>();
               });
    const PlaceOfGroup place = mode == Mode::write ? place_of_group(group.communicator(), location)
                                                   : PlaceOfGroup{location, 0, nullptr};
    const std::vector<std::byte> answer = group.meet(call, {}, nullptr, [&](std::span<const Bytes>) {
        open_here(place.location, session);
        return handles(session);
    });
    const std::exception_ptr fault = fault_of([&] {
        if (group.rank() != 0) open_from(answer, session);
        if (options.snapshot != 0) session.container = session.container->at_snapshot(options.snapshot);
        session.queue.emplace(session.pool->event_queue());
    });
    group.meet(call, {}, fault, [](std::span<const Bytes>) { return std::vector<std::byte>(); });
}

Store::~Store()
{
    if (!session_.mine()) return;
    for (Request::State* one : std::vector(session_->under_way))
        one->give_up();
    session_->group.reset();
}

void Store::close()
{
    Session& session = *session_;
    const std::string call = "close '" + session.where + "'";
    Group& group = session.open_group(call);
    std::string unfinished;
    for (Request::State* one : std::vector(session.under_way)) {
        unfinished += (unfinished.empty() ? "" : ", ") + one->call();
        one->give_up();
    }
    std::exception_ptr failure = fault_of([&] {
        group.meet(call, {}, nullptr, [&](std::span<const Bytes>) {
            if (!unfinished.empty())
                throw Error(-DER_CANCELED, "requests were given up that nobody waited for: " + unfinished +
                                               "; nothing of them was published");
            return std::vector<std::byte>();
        });
        group.end();
    });
    if (failure) group.leave("it closed " + session.where);
    session.group.reset();
    session.queue.reset();
    session.container.reset();
    session.pool.reset();
    if (failure) std::rethrow_exception(failure);
}

void Store::sync()
{
    Session& session = *session_;
    on_root(session, "sync", {}, nullptr, [&] {
        session.pool->sync();
        return std::vector<std::byte>();
    });
}

ArrayInfo Store::inquire(const std::string& name)
{
    Session& session = *session_;
    const std::vector<std::byte> answer =
        on_root(session, "inquire " + shown(name), {}, fault_of([&] { check_name(name, "array"); }),
                [&] { return encode(require_array(session, name)); });
    const Header header = decode_header(answer, session.array_name(name));
    const Naming naming{session.options.order, header.dimensions};
    ArrayInfo info;
    info.name = name;
    info.type = header.type;
    info.order = header.order;
    info.shape = to_dims(header.shape, naming);
    if (header.grows_along)
        info.grows_along = naming.order == Order::row_major ? *header.grows_along
                                                            : header.dimensions - 1 - *header.grows_along;
    info.blocks = blocks_in(header);
    info.layout = header.layout;
    info.version = header.version;
    info.generation = header.generation;
    return info;
}

std::vector<BlockInfo> Store::blocks(const std::string& name)
{
    Session& session = *session_;
    const std::vector<std::byte> answer =
        on_root(session, "blocks " + shown(name), {}, fault_of([&] { check_name(name, "array"); }), [&] {
            for (int attempt = 0; attempt < 100; ++attempt) { // appends may merge tables meanwhile
                Header header = require_array(session, name);
                const Head& head = *session.head(name);
                const auto tables = head.tables(header);
                if (!tables) continue;
                const std::vector<StoredBlock> stored = head.decode_tables(header, *tables);
                header.tables.clear();
                std::vector<std::byte> bytes;
                WireWriter to(bytes);
                const std::vector<std::byte> of = encode(header);
                to.varint(of.size());
                to.bytes(of);
                to.bytes(encode_table(stored, header.dimensions));
                return bytes;
            }
            throw Error(-DER_DATA_LOSS, "a table of blocks is missing; `stepstore pool check` says what can "
                                        "be saved");
        });
    WireReader from(answer, "rank 0's answer");
    const Header header = decode_header(from.bytes(from.varint()), "rank 0's answer");
    std::vector<StoredBlock> stored;
    decode_table(from.bytes(from.left()), header, "rank 0's answer", stored);
    const Naming naming{session.options.order, header.dimensions};
    std::vector<BlockInfo> blocks;
    for (const StoredBlock& one : stored)
        blocks.push_back({to_dims(one.box.start, naming), to_dims(one.box.count, naming)});
    return blocks;
}

// A header that says so takes the array's place. What the array had is destroyed after it.
void Store::remove(const std::string& name)
{
    Session& session = *session_;
    const std::exception_ptr fault = fault_of([&] {
        check_name(name, "array");
        session.require_writable();
    });
    on_root(session, "remove " + shown(name), {}, fault, [&] {
        const std::shared_ptr<Head> head = session.head(name);
        Head::Attributes attributes;
        std::optional<std::vector<std::byte>> entry;
        const Header tombstone = head->publish([&](const std::optional<Header>& there) {
            if (!head->exists())
                throw Error(-DER_NONEXIST,
                            "there is no " + head->where() + ": list the arrays to see which there are");
            attributes = head->stored_attributes();
            entry = session.entry(name);
            Header gone;
            gone.name = name;
            gone.removed = true;
            if (!there) return gone;
            gone.next_table = there->next_table;
            gone.dropped_objects = there->objects;
            gone.dropped_class = there->layout.object_class;
            for (const TableRef& one : there->tables)
                if (one.in_place.empty()) gone.dropped_tables.push_back(one.number);
            return gone;
        });
        head->remove_attributes(attributes);
        session.forget(name, entry);
        head->destroy_dropped(*session.container, tombstone);
        return std::vector<std::byte>();
    });
}

std::vector<std::string> Store::list()
{
    Session& session = *session_;
    return decode_names(on_root(session, "list", {}, nullptr, [&] {
        std::vector<std::string> names;
        for (std::string& name : open_name_list(*session.container, Access::read_only).list()) {
            // Entered before it was there, or gone.
            if (session.head(name)->exists()) names.push_back(std::move(name));
        }
        std::ranges::sort(names);
        return encode(names);
    }));
}

void Store::set_attribute(const std::string& name, const std::string& attribute, const Attribute& value,
                          const std::exception_ptr& given)
{
    Session& session = *session_;
    const std::exception_ptr fault = given ? given : fault_of([&] {
        check_name(name, "array", true);
        check_name(attribute, "attribute");
        check_type(value.type);
        session.require_writable();
        if (value.values.size() > longest_attribute)
            throw Error(-DER_INVAL, "the value has " + std::to_string(value.values.size()) +
                                        " bytes: an attribute has at most " +
                                        std::to_string(longest_attribute));
        if (value.values.size() / size_of(value.type) != value.count)
            throw Error(-DER_INVAL, "the value has " + std::to_string(value.values.size()) + " bytes, not " +
                                        std::to_string(value.count) + " elements of " + to_text(value.type));
    });
    const std::vector<std::byte> bytes = fault ? std::vector<std::byte>() : arrays::encode(value);
    on_root(session, "attribute_set " + shown(name) + ' ' + shown(attribute), bytes, fault, [&] {
        attributes_of(session, name)->set_attribute(attribute, value);
        return std::vector<std::byte>();
    });
}

Attribute Store::attribute(const std::string& name, const std::string& attribute)
{
    Session& session = *session_;
    const std::exception_ptr fault = fault_of([&] {
        check_name(name, "array", true);
        check_name(attribute, "attribute");
    });
    const std::vector<std::byte> answer =
        on_root(session, "attribute_get " + shown(name) + ' ' + shown(attribute), {}, fault, [&] {
            const std::shared_ptr<Head> head = attributes_of(session, name);
            const auto value = head->attribute(attribute);
            if (!value) no_attribute(*head, attribute);
            return arrays::encode(*value);
        });
    return decode_attribute(answer, "the attribute '" + attribute + "'");
}

void Store::remove_attribute(const std::string& name, const std::string& attribute)
{
    Session& session = *session_;
    const std::exception_ptr fault = fault_of([&] {
        check_name(name, "array", true);
        check_name(attribute, "attribute");
        session.require_writable();
    });
    on_root(session, "attribute_remove " + shown(name) + ' ' + shown(attribute), {}, fault, [&] {
        const std::shared_ptr<Head> head = attributes_of(session, name);
        if (!head->remove_attribute(attribute)) no_attribute(*head, attribute);
        return std::vector<std::byte>();
    });
}

std::vector<std::string> Store::attributes(const std::string& name)
{
    Session& session = *session_;
    return decode_names(on_root(session, "attribute_list " + shown(name), {},
                                fault_of([&] { check_name(name, "array", true); }),
                                [&] { return encode(attributes_of(session, name)->attributes()); }));
}

int Store::rank() const
{
    return session_->open_group("rank").rank();
}
int Store::size() const
{
    return session_->open_group("size").size();
}
Order Store::order() const
{
    return session_->options.order;
}
const std::string& Store::where() const
{
    return session_->where;
}

} // namespace stepstore::arrays

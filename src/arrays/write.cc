// Writing and appending: what all ranks say, the plan that rank 0 makes of it, the data, and the publication
// (head.h).
#include "arrays/cover.h"
#include "arrays/session.h"

#include <daos_errno.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace stepstore::arrays {

namespace {

constexpr std::size_t tables_merged = 32;      // of one level make one of the next
constexpr std::size_t longest_in_place = 4096; // bytes of a table in the header
constexpr std::size_t most_in_place = 32768;   // of all of them

// What a rank asks for, row-major.
struct Wish {
    ElementType type;
    unsigned dimensions = 0;
    Extents shape{};
    Box box;
    Placement placement = Placement::one_object;
    std::optional<unsigned> along;
    DataLayout layout;
};

void check_layout(const DataLayout& layout)
{
    if (layout.chunk_size == 0 || layout.chunk_size % 64 != 0)
        throw Error(-DER_INVAL,
                    "chunk_size is " + std::to_string(layout.chunk_size) + ": use a multiple of 64 bytes");
}

Wish wish_of(const WriteCall& call, Order order, Memory& memory)
{
    check_name(call.name, "array");
    check_type(call.type);
    Wish wish;
    wish.type = call.type;
    wish.dimensions = checked_dimensions(call.shape.size());
    const Naming naming{order, wish.dimensions};
    wish.shape = to_extents(call.shape, naming, "the extent", 1);
    wish.box.count = wish.shape;
    if (!call.start.empty() || !call.count.empty()) {
        wish.box.start = to_extents(call.start, naming, "the start", 0);
        wish.box.count = to_extents(call.count, naming, "the count", 0);
    }
    bytes_of(wish.shape, wish.type, naming);
    memory = to_memory(call.data, call.strides, wish.box, naming, size_of(wish.type));
    wish.placement = call.placement;
    if (call.append_along) {
        const int first = order == Order::row_major ? 0 : 1;
        if (*call.append_along < 0 || *call.append_along >= static_cast<int>(wish.dimensions))
            throw Error(-DER_INVAL, "dimension " + std::to_string(*call.append_along + first) +
                                        " to append along is not one of the array, which has " +
                                        std::to_string(wish.dimensions));
        const auto given = static_cast<unsigned>(*call.append_along);
        wish.along = order == Order::row_major ? given : wish.dimensions - 1 - given;
    }
    check_layout(call.layout);
    wish.layout = call.layout;
    return wish;
}

std::vector<std::byte> encode(const Wish& wish)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(static_cast<std::uint8_t>(wish.type.kind));
    to.varint(wish.type.length);
    to.varint(wish.dimensions);
    write_extents(to, wish.shape, wish.dimensions);
    write_extents(to, wish.box.start, wish.dimensions);
    write_extents(to, wish.box.count, wish.dimensions);
    to.fixed(static_cast<std::uint8_t>(wish.placement));
    to.varint(wish.along ? *wish.along + 1 : 0);
    to.text(wish.layout.object_class);
    to.varint(wish.layout.chunk_size);
    to.fixed(static_cast<std::uint8_t>(wish.layout.checksum));
    return bytes;
}

Wish decode_wish(Bytes bytes)
{
    WireReader from(bytes, "a rank's arguments");
    Wish wish;
    wish.type.kind = static_cast<Kind>(from.fixed<std::uint8_t>());
    wish.type.length = static_cast<std::uint32_t>(from.varint());
    wish.dimensions = static_cast<unsigned>(from.varint());
    wish.shape = read_extents(from, wish.dimensions);
    wish.box.start = read_extents(from, wish.dimensions);
    wish.box.count = read_extents(from, wish.dimensions);
    wish.placement = static_cast<Placement>(from.fixed<std::uint8_t>());
    if (const std::uint64_t along = from.varint()) wish.along = static_cast<unsigned>(along - 1);
    wish.layout.object_class = from.text();
    wish.layout.chunk_size = from.varint();
    wish.layout.checksum = from.fixed<std::uint8_t>() != 0;
    return wish;
}

// What the ranks must have in common.
void require_same(const Wish& first, const Wish& other, std::size_t rank, Order order)
{
    const Naming naming{order, first.dimensions};
    if (first.type != other.type)
        ranks_differ("element type", to_text(first.type), rank, to_text(other.type));
    if (first.dimensions != other.dimensions)
        ranks_differ("number of dimensions", std::to_string(first.dimensions), rank,
                     std::to_string(other.dimensions));
    for (unsigned d = 0; d < first.dimensions; ++d)
        if (first.shape[d] != other.shape[d])
            ranks_differ("shape of the array, " + naming.dimension(d), naming.extents(first.shape), rank,
                         naming.extents(other.shape));
    if (first.placement != other.placement)
        ranks_differ("placement", "one object or one per block", rank, "the other one");
    if (first.along != other.along)
        ranks_differ("dimension to append along", naming.dimension(first.along.value_or(0)), rank,
                     naming.dimension(other.along.value_or(0)));
    if (first.layout.object_class != other.layout.object_class)
        ranks_differ("object class", first.layout.object_class, rank, other.layout.object_class);
    if (first.layout.chunk_size != other.layout.chunk_size)
        ranks_differ("chunk_size", std::to_string(first.layout.chunk_size), rank,
                     std::to_string(other.layout.chunk_size));
    if (first.layout.checksum != other.layout.checksum)
        ranks_differ("checksum", std::to_string(int{first.layout.checksum}), rank,
                     std::to_string(int{other.layout.checksum}));
}

// Where one rank's block goes.
struct Place {
    std::uint64_t object = 0;
    std::uint64_t offset = 0;
};

// Rank 0's plan of a write.
struct Plan {
    Wish wish; // of rank 0
    std::shared_ptr<Head> head;
    std::optional<Header> before; // what is appended to
    DataLayout layout;
    ObjectRange fresh;         // objects that this write makes; count 0: none
    std::vector<Place> places; // of each rank
    std::vector<StoredBlock> blocks;
    std::uint64_t end = 0; // of the object, where it is one
    bool published = false;
};

// Large blocks begin at a chunk, so that no two ranks write to one; small ones share them.
std::uint64_t place_behind(std::uint64_t end, std::uint64_t bytes, std::uint64_t chunk)
{
    const std::uint64_t unit = bytes >= chunk ? chunk : 64;
    return (end + unit - 1) / unit * unit;
}

class Planner {
public:
    Planner(Store::Session& session, const std::string& name) : session_(session), name_(name) {}

    Plan plan(std::span<const Bytes> arguments)
    {
        Plan plan;
        plan.wish = decode_wish(arguments.front());
        std::vector<Box> boxes;
        for (std::size_t rank = 0; rank < arguments.size(); ++rank) {
            const Wish one = decode_wish(arguments[rank]);
            require_same(plan.wish, one, rank, session_.options.order);
            boxes.push_back(one.box);
        }
        const Naming naming{session_.options.order, plan.wish.dimensions};
        require_cover(naming, plan.wish.shape, boxes);
        require_nothing_under_way();
        plan.head = session_.head(name_);
        plan.layout = plan.wish.layout;
        // An object class that there is not is refused before anything is changed.
        static_cast<void>(data_id(*session_.container, 0, plan.layout.object_class));
        if (plan.wish.along) look_at_what_is_there(plan, naming);
        session_.make_known(*plan.head);
        place(plan, boxes);
        if (plan.fresh.count > 0) mark(plan);
        return plan;
    }

private:
    void require_nothing_under_way() const
    {
        for (const Request::State* one : session_.under_way)
            if (one->writes() == name_)
                throw Error(-DER_BUSY, "a request that writes this array is under way: wait for it first");
    }

    void look_at_what_is_there(Plan& plan, const Naming& naming) const
    {
        plan.before = plan.head->header();
        if (!plan.before) return;
        const Header& is = *plan.before;
        const Wish& wish = plan.wish;
        const auto refuse = [&](const std::string& why) {
            throw Error(-DER_MISMATCH, "cannot append to " + plan.head->where() + ": " + why);
        };
        if (is.type != wish.type)
            refuse("it has elements of " + to_text(is.type) + ", and these are of " + to_text(wish.type));
        if (is.dimensions != wish.dimensions)
            refuse("it has " + std::to_string(is.dimensions) + " dimensions, and this has " +
                   std::to_string(wish.dimensions));
        if (is.grows_along && is.grows_along != wish.along)
            refuse("it grows along " + naming.dimension(*is.grows_along) + ", not along " +
                   naming.dimension(*wish.along));
        for (unsigned d = 0; d < wish.dimensions; ++d)
            if (d != *wish.along && is.shape[d] != wish.shape[d])
                refuse(naming.dimension(d) + ": it has " + std::to_string(is.shape[d]) +
                       " elements, and this has " + std::to_string(wish.shape[d]));
        Extents grown = is.shape;
        grown[*wish.along] += wish.shape[*wish.along];
        bytes_of(grown, is.type, naming);
        plan.layout = is.layout;
    }

    void place(Plan& plan, std::span<const Box> boxes)
    {
        const bool one_object = plan.wish.placement == Placement::one_object;
        std::uint64_t count = 0;
        for (const Box& box : boxes)
            count += is_empty(box, plan.wish.dimensions) ? 0 : 1;
        std::optional<std::uint64_t> last_object;
        if (one_object && plan.before) { // the object of the last append, where this session made it
            const auto last = session_.append_places.find(name_);
            if (last != session_.append_places.end() && last->second.generation == plan.before->generation) {
                last_object = last->second.object;
                plan.end = last->second.end;
            }
        }
        if (!last_object)
            plan.fresh = {session_.take_numbers(one_object ? 1 : count), one_object ? 1 : count};
        std::uint64_t object = last_object.value_or(plan.fresh.first);
        const std::uint64_t grown_from = plan.before ? plan.before->shape[*plan.wish.along] : 0;
        for (const Box& box : boxes) {
            plan.places.emplace_back();
            if (is_empty(box, plan.wish.dimensions)) continue;
            const std::uint64_t bytes = volume(box.count, plan.wish.dimensions) * size_of(plan.wish.type);
            Place& place = plan.places.back();
            place.object = object;
            if (one_object) {
                place.offset = place_behind(plan.end, bytes, plan.layout.chunk_size);
                plan.end = checksums_at(place.offset, bytes) + checksums_size(plan.layout, bytes);
            } else {
                ++object;
            }
            StoredBlock block{box, place.object, place.offset};
            if (plan.wish.along) block.box.start[*plan.wish.along] += grown_from;
            plan.blocks.push_back(block);
        }
    }

    static void mark(const Plan& plan)
    {
        WritingMark mark;
        mark.writer = this_process();
        mark.since = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                                    std::chrono::system_clock::now().time_since_epoch())
                                                    .count());
        mark.object_class = plan.layout.object_class;
        mark.objects = {plan.fresh};
        plan.head->put_mark(plan.fresh.first, mark);
    }

    Store::Session& session_;
    const std::string& name_;
};

std::vector<std::byte> encode(const Plan& plan)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.text(plan.layout.object_class);
    to.varint(plan.layout.chunk_size);
    to.fixed(static_cast<std::uint8_t>(plan.layout.checksum));
    for (const Place& one : plan.places) {
        to.varint(one.object);
        to.varint(one.offset);
    }
    return bytes;
}

// What this rank needs of the plan.
Place place_of(Bytes plan, int rank, DataLayout& layout)
{
    WireReader from(plan, "rank 0's plan");
    layout.object_class = from.text();
    layout.chunk_size = from.varint();
    layout.checksum = from.fixed<std::uint8_t>() != 0;
    Place place;
    for (int i = 0; i <= rank; ++i) {
        place.object = from.varint();
        place.offset = from.varint();
    }
    return place;
}

// ---- the publication, in the turn of this writer

void drop_table(Header& header, const TableRef& table)
{
    if (table.in_place.empty()) header.dropped_tables.push_back(table.number);
}

void add_table(Header& header, Head& head, std::uint32_t level, std::span<const StoredBlock> blocks)
{
    TableRef ref;
    ref.number = header.next_table++;
    ref.level = level;
    ref.blocks = blocks.size();
    std::vector<std::byte> table = encode_table(blocks, header.dimensions);
    std::size_t in_place = table.size();
    for (const TableRef& one : header.tables)
        in_place += one.in_place.size();
    if (table.size() <= longest_in_place && in_place <= most_in_place)
        ref.in_place = std::move(table);
    else
        head.put_table(ref.number, table);
    header.tables.push_back(std::move(ref));
}

// So that an array of many appends has few tables: as in a number, where ten ones make a ten.
void merge_tables(Header& header, Head& head)
{
    while (true) {
        std::size_t last = 0; // tables of the last one's level
        while (last < header.tables.size() &&
               header.tables[header.tables.size() - 1 - last].level == header.tables.back().level)
            ++last;
        if (last < tables_merged) return;
        Header tail;
        tail.dimensions = header.dimensions;
        tail.tables.assign(header.tables.end() - static_cast<std::ptrdiff_t>(last), header.tables.end());
        const auto bytes = head.tables(tail);
        if (!bytes)
            throw Error(-DER_DATA_LOSS,
                        "a table of blocks of " + head.where() + " is missing: write it again");
        const std::vector<StoredBlock> blocks = head.decode_tables(tail, *bytes);
        for (const TableRef& one : tail.tables)
            drop_table(header, one);
        header.tables.resize(header.tables.size() - last);
        add_table(header, head, tail.tables.back().level + 1, blocks);
    }
}

Header new_header(const Plan& plan, const std::optional<Header>& there, Order order)
{
    Header header;
    header.name = plan.head->name();
    header.generation = plan.fresh.first;
    header.type = plan.wish.type;
    header.order = order;
    header.dimensions = plan.wish.dimensions;
    header.shape = plan.wish.shape;
    header.grows_along = plan.wish.along;
    header.layout = plan.layout;
    header.objects = {plan.fresh};
    if (there) {
        header.next_table = there->next_table;
        header.dropped_objects = there->objects;
        header.dropped_class = there->layout.object_class;
        for (const TableRef& one : there->tables)
            drop_table(header, one);
    }
    return header;
}

Header grown_header(const Plan& plan, const std::optional<Header>& there)
{
    const bool same = plan.before ? there && !there->removed && there->version == plan.before->version
                                  : !there || there->removed;
    if (!same)
        throw Error(-DER_STALE, "another program changed " + plan.head->where() +
                                    " meanwhile: nothing was appended; append again");
    Header header = *there;
    header.shape[*plan.wish.along] += plan.wish.shape[*plan.wish.along];
    header.grows_along = plan.wish.along;
    if (plan.fresh.count > 0) add_objects(header.objects, plan.fresh);
    header.dropped_objects.clear();
    header.dropped_class.clear();
    header.dropped_tables.clear();
    return header;
}

void publish(Store::Session& session, Plan& plan)
{
    Head& head = *plan.head;
    const auto fresh = head.publish([&](const std::optional<Header>& there) -> std::optional<Header> {
        if (plan.before || (plan.wish.along && there && !there->removed)) {
            Header header = grown_header(plan, there);
            add_table(header, head, 0, plan.blocks);
            merge_tables(header, head);
            return header;
        }
        Header header = new_header(plan, there, session.options.order);
        add_table(header, head, 0, plan.blocks);
        return header;
    });
    plan.published = true;
    if (plan.wish.along && plan.wish.placement == Placement::one_object)
        session.append_places[head.name()] = {fresh->generation, plan.places.front().object, plan.end};
    else
        session.append_places.erase(head.name());
    try {
        if (plan.fresh.count > 0) head.remove_mark(plan.fresh.first);
        head.destroy_dropped(*session.container, *fresh);
    } catch (const Error& error) {
        throw Error(error.code(), std::string("the array is published, but the data of the one before it "
                                              "were not removed: ") +
                                      error.what());
    }
}

void abandon(Store::Session& session, const Plan& plan) noexcept
{
    try { // what is left lies under the mark, for the next writer
        session.append_places.erase(plan.head->name());
        if (plan.fresh.count == 0 || plan.published) return;
        destroy_objects(*session.container, {&plan.fresh, 1}, plan.layout.object_class);
        plan.head->remove_mark(plan.fresh.first);
    } catch (...) {
    }
}

class WriteRequest final : public Request::State {
public:
    WriteRequest(std::shared_ptr<Store::Session> session, const WriteCall& call, bool in_background)
        : session_(std::move(session)), name_(call.name), in_background_(in_background)
    {
        call_ = std::string(call.append_along ? "append_" : "write_") +
                (call.placement == Placement::one_object ? "array " : "object ") + shown(call.name);
        Group& group = session_->open_group(call_);
        Wish wish;
        Memory memory;
        std::exception_ptr fault = call.fault;
        std::vector<std::byte> said;
        if (!fault) {
            try {
                session_->require_writable();
                wish = wish_of(call, session_->options.order, memory);
                said = encode(wish);
            } catch (...) {
                fault = std::current_exception();
            }
        }
        const std::vector<std::byte> plan =
            group.meet(call_, said, fault, [&](std::span<const Bytes> arguments) {
                plan_ = Planner(*session_, call.name).plan(arguments);
                return encode(*plan_);
            });
        number_ = ++session_->requests;
        DataLayout layout;
        const Place place = place_of(plan, group.rank(), layout);
        if (in_background) session_->under_way.push_back(this);
        if (is_empty(wish.box, wish.dimensions)) return;
        work_.start(
            [session = session_.get(), wish, memory, place, layout] {
                Array object = session->data_object(place.object, layout);
                Requests requests(*session->queue);
                write_block(requests, object, place.offset, layout, session->transfer_options(),
                            wish.dimensions, wish.box.count, size_of(wish.type), memory);
                requests.finish();
            },
            in_background);
    }
    ~WriteRequest() override { give_up(); }

    void wait() override
    {
        if (ended_) return;
        work_.settle();
        end();
        const std::vector<std::byte> status = status_of(work_.failure());
        const std::string call =
            in_background_ ? "wait of request " + std::to_string(number_) + ", " + call_ : call_;
        // Not known: how much longer than this rank others work. Blocking, all are in the call.
        const double allowance = in_background_ ? 10 * work_.seconds() : HUGE_VAL;
        try {
            session_->open_group(call).meet(
                call, status, nullptr,
                [&](std::span<const Bytes> all) {
                    require_success(all);
                    publish(*session_, *plan_);
                    return std::vector<std::byte>();
                },
                allowance);
        } catch (...) {
            if (plan_) abandon(*session_, *plan_);
            throw;
        }
    }
    bool ready() override { return work_.ready(); }
    void give_up() noexcept override
    {
        if (ended_) return;
        work_.settle();
        end();
        if (plan_ && session_->container) abandon(*session_, *plan_);
    }
    const std::string& call() const override { return call_; }
    const std::string& writes() const override { return name_; }

private:
    void end()
    {
        ended_ = true;
        std::erase(session_->under_way, this);
    }
    std::shared_ptr<Store::Session> session_;
    std::string name_;
    bool in_background_;
    std::string call_;
    std::uint64_t number_ = 0;
    std::optional<Plan> plan_; // of rank 0
    bool ended_ = false;
    OwnWork work_; // the last: it ends first
};

} // namespace

void Store::write(const WriteCall& call)
{
    WriteRequest(session_, call, false).wait();
}

Request Store::begin_write(const WriteCall& call)
{
    Request request;
    request.state_ = std::make_shared<WriteRequest>(session_, call, true);
    return request;
}

} // namespace stepstore::arrays

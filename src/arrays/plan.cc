#include "arrays/plan.h"

#include "arrays/cover.h"
#include "location/find/location.h"

#include <daos_errno.h>

#include <algorithm>
#include <chrono>

namespace stepstore::arrays {

namespace {

void check_layout(const DataLayout& layout)
{
    if (layout.chunk_size == 0 || layout.chunk_size % 64 != 0 || layout.chunk_size > most_chunk_size)
        throw Error(-DER_INVAL, "chunk_size is " + std::to_string(layout.chunk_size) +
                                    ": use a multiple of 64 bytes, at most 1 TiB");
}

} // namespace

WriteWish wish_of(const WriteCall& call, Order order, Memory& memory)
{
    check_name(call.name, "array");
    check_type(call.type);
    WriteWish wish;
    wish.type = call.type;
    wish.dimensions = checked_dimensions(call.shape.size());
    const Naming naming{order, wish.dimensions};
    wish.shape = to_extents(call.shape, naming, "the extent", 0);
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

std::vector<std::byte> encode(const WriteWish& wish)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    write_elements(to, wish);
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

namespace {

WriteWish decode_write_wish(Bytes bytes)
{
    WireReader from(bytes, "a rank's arguments");
    WriteWish wish;
    static_cast<Elements&>(wish) = read_elements(from);
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
void require_same_writes(const WriteWish& first, const WriteWish& other, std::size_t rank, Order order)
{
    const Naming naming{order, first.dimensions};
    require_same_elements(first, other, rank);
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
        plan.wish = decode_write_wish(arguments.front());
        std::vector<Box> boxes;
        for (std::size_t rank = 0; rank < arguments.size(); ++rank) {
            const WriteWish one = decode_write_wish(arguments[rank]);
            require_same_writes(plan.wish, one, rank, session_.options.order);
            boxes.push_back(one.box);
        }
        const Naming naming{session_.options.order, plan.wish.dimensions};
        require_cover(naming, plan.wish.shape, boxes);
        require_nothing_under_way();
        plan.head = session_.head(name_);
        plan.layout = plan.wish.layout;
        if (!capabilities_of(session_.pool->location()).verifies_cells) plan.layout.checksum = true;
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
        const WriteWish& wish = plan.wish;
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
        if (!last_object) { // one number also without a block: it is the generation
            const std::uint64_t objects = one_object ? 1 : std::max<std::uint64_t>(count, 1);
            plan.fresh = {session_.take_numbers(objects), objects};
        }
        std::uint64_t object = last_object.value_or(plan.fresh.first);
        plan.object = object;
        const std::uint64_t grown_from = plan.before ? plan.before->shape[*plan.wish.along] : 0;
        for (const Box& box : boxes) {
            plan.places.emplace_back();
            if (is_empty(box, plan.wish.dimensions)) continue;
            const std::uint64_t bytes = volume(box.count, plan.wish.dimensions) * size_of(plan.wish.type);
            BlockAddress& place = plan.places.back();
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
        plan.head->unpublished().put(plan.fresh.first, mark);
    }

    Store::Session& session_;
    const std::string& name_;
};

} // namespace

Plan make_plan(Store::Session& session, const std::string& name, std::span<const Bytes> wishes)
{
    return Planner(session, name).plan(wishes);
}

std::vector<std::byte> encode(const Plan& plan)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.text(plan.layout.object_class);
    to.varint(plan.layout.chunk_size);
    to.fixed(static_cast<std::uint8_t>(plan.layout.checksum));
    for (const BlockAddress& one : plan.places) {
        to.varint(one.object);
        to.varint(one.offset);
    }
    return bytes;
}

BlockAddress address_of(Bytes plan, int rank, DataLayout& layout)
{
    WireReader from(plan, "rank 0's plan");
    layout.object_class = from.text();
    layout.chunk_size = from.varint();
    layout.checksum = from.fixed<std::uint8_t>() != 0;
    BlockAddress place;
    for (int i = 0; i <= rank; ++i) {
        place.object = from.varint();
        place.offset = from.varint();
    }
    return place;
}

} // namespace stepstore::arrays

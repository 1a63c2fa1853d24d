#include "client/pending.h"

#include <utility>

namespace stepstore {

struct Array::State {
    State(std::shared_ptr<Container::State> in, const ObjectId& oid) : container(std::move(in)), id(oid) {}
    ~State()
    {
        if (daos_handle_is_valid(handle)) library().array_close(handle, nullptr);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    const Library& library() const { return container->library(); }
    std::string name() const { return object_name(id, *container); }

    std::shared_ptr<Container::State> container;
    ObjectId id;
    ArrayAttributes attributes;
    daos_handle_t handle{};
};

namespace {

// A request of the C API. It points into the ranges and pieces of its caller.
struct Request {
    template <class Memory>
    static void describe(std::span<const Range> ranges, std::span<const Memory> memory, std::vector<daos_range_t>& to,
                         std::vector<d_iov_t>& pieces)
    {
        to.reserve(ranges.size());
        for (const Range& range : ranges)
            to.push_back({range.index, range.length});
        pieces.reserve(memory.size());
        for (const Memory& piece : memory) {
            d_iov_t& described = pieces.emplace_back();
            d_iov_set(&described, const_cast<std::byte*>(piece.data()), piece.size());
        }
    }

    Request(std::span<daos_range_t> ranges, std::span<d_iov_t> pieces)
    {
        iod.arr_nr = ranges.size();
        iod.arr_rgs = ranges.data();
        sgl.sg_nr = static_cast<std::uint32_t>(pieces.size());
        sgl.sg_iovs = pieces.data();
    }

    daos_array_iod_t iod{};
    d_sg_list_t sgl{};
};

std::string cells(std::span<const daos_range_t> ranges)
{
    if (ranges.empty()) return "no cells";
    const daos_range_t& first = ranges.front();
    return "cells from " + std::to_string(first.rg_idx) + ", " + std::to_string(first.rg_len) + " of them" +
           (ranges.size() > 1 ? ", and " + std::to_string(ranges.size() - 1) + " further ranges" : "");
}

std::uint64_t cells_of(std::size_t bytes, const ArrayAttributes& attributes)
{
    if (bytes % attributes.cell_size != 0)
        throw Error(-DER_INVAL, std::to_string(bytes) + " bytes are no whole number of cells of " +
                                    std::to_string(attributes.cell_size) + " bytes");
    return bytes / attributes.cell_size;
}

} // namespace

Array::Array() = default;
Array::~Array() = default;
Array::Array(Array&&) noexcept = default;
Array& Array::operator=(Array&&) noexcept = default;

Array Container::create_array(const ObjectId& id, const ArrayAttributes& attributes) const
{
    Array array;
    array.state_ = std::make_shared<Array::State>(state_, id);
    Array::State& state = *array.state_;
    state.attributes = attributes;
    const int rc = state.library().array_create(state_->handle, to_daos(id), state_->transaction, attributes.cell_size,
                                                attributes.chunk_size, &state.handle, nullptr);
    check(state.library(), rc, [&] { return "create array " + state.name(); });
    return array;
}

std::optional<Array> Container::open_array(const ObjectId& id, Access access) const
{
    Array array;
    array.state_ = std::make_shared<Array::State>(state_, id);
    Array::State& state = *array.state_;
    daos_size_t cell_size = 0;
    daos_size_t chunk_size = 0;
    const int rc =
        state.library().array_open(state_->handle, to_daos(id), state_->transaction, open_mode(*state_, access),
                                   &cell_size, &chunk_size, &state.handle, nullptr);
    if (rc == -DER_NONEXIST) return std::nullopt;
    check(state.library(), rc, [&] { return "open array " + state.name(); });
    state.attributes = {cell_size, chunk_size};
    return array;
}

Array Container::open_array(const ObjectId& id, const ArrayAttributes& attributes, Access access) const
{
    Array array;
    array.state_ = std::make_shared<Array::State>(state_, id);
    Array::State& state = *array.state_;
    state.attributes = attributes;
    const int rc =
        state.library().array_open_with_attr(state_->handle, to_daos(id), DAOS_TX_NONE, open_mode(*state_, access),
                                             attributes.cell_size, attributes.chunk_size, &state.handle, nullptr);
    check(state.library(), rc, [&] { return "open array " + state.name(); });
    return array;
}

const ObjectId& Array::id() const
{
    return state_->id;
}
const ArrayAttributes& Array::attributes() const
{
    return state_->attributes;
}

void Array::write(std::uint64_t index, Bytes memory)
{
    const Range range{index, cells_of(memory.size(), state_->attributes)};
    write({&range, 1}, {&memory, 1});
}

ReadResult Array::read(std::uint64_t index, MutableBytes memory) const
{
    const Range range{index, cells_of(memory.size(), state_->attributes)};
    return read({&range, 1}, {&memory, 1});
}

void Array::write(std::span<const Range> ranges, std::span<const Bytes> memory)
{
    std::vector<daos_range_t> cell_ranges;
    std::vector<d_iov_t> pieces;
    Request::describe(ranges, memory, cell_ranges, pieces);
    Request request(cell_ranges, pieces);
    const int rc = state_->library().array_write(state_->handle, state_->container->transaction, &request.iod,
                                                 &request.sgl, nullptr);
    check(state_->library(), rc, [&] { return "write " + cells(cell_ranges) + " to " + state_->name(); });
}

ReadResult Array::read(std::span<const Range> ranges, std::span<const MutableBytes> memory) const
{
    std::vector<daos_range_t> cell_ranges;
    std::vector<d_iov_t> pieces;
    Request::describe(ranges, memory, cell_ranges, pieces);
    Request request(cell_ranges, pieces);
    const int rc = state_->library().array_read(state_->handle, state_->container->transaction, &request.iod,
                                                &request.sgl, nullptr);
    check(state_->library(), rc, [&] { return "read " + cells(cell_ranges) + " of " + state_->name(); });
    return {request.iod.arr_nr_short_read, request.iod.arr_nr_read * state_->attributes.cell_size};
}

std::uint64_t Array::size() const
{
    daos_size_t size = 0;
    const int rc = state_->library().array_get_size(state_->handle, state_->container->transaction, &size, nullptr);
    check(state_->library(), rc, [&] { return "get the size of " + state_->name(); });
    return size;
}

void Array::set_size(std::uint64_t size)
{
    const int rc = state_->library().array_set_size(state_->handle, state_->container->transaction, size, nullptr);
    check(state_->library(), rc, [&] { return "set the size of " + state_->name() + " to " + std::to_string(size); });
}

void Array::punch(std::span<const Range> ranges)
{
    std::vector<daos_range_t> cell_ranges;
    std::vector<d_iov_t> none;
    Request::describe(ranges, std::span<const Bytes>(), cell_ranges, none);
    Request request(cell_ranges, none);
    const int rc = state_->library().array_punch(state_->handle, state_->container->transaction, &request.iod, nullptr);
    check(state_->library(), rc, [&] { return "punch " + cells(cell_ranges) + " out of " + state_->name(); });
}

void Array::destroy()
{
    const int rc = state_->library().array_destroy(state_->handle, state_->container->transaction, nullptr);
    check(state_->library(), rc, [&] { return "destroy " + state_->name(); });
}

Pending Array::write(EventQueue& queue, std::span<const Range> ranges, std::span<const Bytes> memory)
{
    Pending pending;
    pending.state_ = std::make_unique<Pending::State>(queue.state_, state_);
    Pending::State& call = *pending.state_;
    Request::describe(ranges, memory, call.ranges, call.pieces);
    const Request request(call.ranges, call.pieces);
    call.iod = request.iod;
    call.sgl = request.sgl;
    call.tried = [&call, array = state_.get()] { return "write " + cells(call.ranges) + " to " + array->name(); };
    call.launched(state_->library().array_write(state_->handle, state_->container->transaction, &call.iod, &call.sgl,
                                                &call.event));
    return pending;
}

Pending Array::read(EventQueue& queue, std::span<const Range> ranges, std::span<const MutableBytes> memory) const
{
    Pending pending;
    pending.state_ = std::make_unique<Pending::State>(queue.state_, state_);
    Pending::State& call = *pending.state_;
    Request::describe(ranges, memory, call.ranges, call.pieces);
    const Request request(call.ranges, call.pieces);
    call.iod = request.iod;
    call.sgl = request.sgl;
    call.tried = [&call, array = state_.get()] { return "read " + cells(call.ranges) + " of " + array->name(); };
    call.launched(state_->library().array_read(state_->handle, state_->container->transaction, &call.iod, &call.sgl,
                                               &call.event));
    return pending;
}

} // namespace stepstore

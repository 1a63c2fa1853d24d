// Arrays and their asynchronous calls, by the calls daos_array_* of a library.
#include "client/pending.h"

#include "base/not_copied.h"
#include "stepstore/admin.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stepstore {

struct Array::State : NotCopied {
    State(std::shared_ptr<Container::State> in, const ObjectId& oid) : container(std::move(in)), id(oid) {}
    ~State()
    {
        if (daos_handle_is_valid(handle)) library().array_close(handle, nullptr);
    }

    const Library& library() const { return container->library(); }
    std::string name() const { return object_name(id, *container); }
    std::string tried(const char* what, const ArrayCall& call) const; // for messages

    int write(ArrayCall& call, daos_event_t* event) const;
    int read(ArrayCall& call, daos_event_t* event) const;
    // Fills the counts of a read, which a DAOS system does for arrays of type array_bytes only.
    void count(ArrayCall& call, std::uint64_t size) const;
    // An asynchronous call; `start` begins it with an event.
    template <class Memory, class Start>
    static Pending launch(const std::shared_ptr<EventQueue::State>& queue,
                          const std::shared_ptr<State>& array, const char* what,
                          std::span<const Range> ranges, std::span<const Memory> memory, Start start);

    std::shared_ptr<Container::State> container;
    ObjectId id;
    ArrayAttributes attributes;
    daos_handle_t handle{};
    bool untold = false; // Array::leave_ends_untold()
};

ArrayCall::ArrayCall(std::span<const Range> cells)
{
    ranges.reserve(cells.size());
    for (const Range& range : cells)
        if (range.length > 0) ranges.push_back({range.index, range.length});
    iod.arr_nr = ranges.size();
    iod.arr_rgs = ranges.data();
    iod.arr_nr_short_read = iod.arr_nr_read = not_told;
}

template <class Memory>
ArrayCall::ArrayCall(std::span<const Range> cells, std::span<const Memory> memory) : ArrayCall(cells)
{
    pieces.reserve(memory.size());
    for (const Memory& piece : memory)
        if (!piece.empty())
            d_iov_set(&pieces.emplace_back(), const_cast<std::byte*>(piece.data()), piece.size());
    sgl.sg_nr = static_cast<std::uint32_t>(pieces.size());
    sgl.sg_iovs = pieces.data();
    if (ranges.empty() != pieces.empty())
        throw Error(-DER_INVAL, ranges.empty()
                                    ? "the call gives memory, but no cells of the array: give both"
                                    : "the call gives cells of the array, but no memory: give both");
}

namespace {

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
        throw Error(-DER_INVAL, std::to_string(bytes) + " bytes are not a whole number of cells of " +
                                    std::to_string(attributes.cell_size) + " bytes");
    return bytes / attributes.cell_size;
}

} // namespace

std::string Array::State::tried(const char* what, const ArrayCall& call) const
{
    return what + (" " + cells(call.ranges)) + " of " + name();
}

int Array::State::write(ArrayCall& call, daos_event_t* event) const
{
    if (call.is_empty()) return 0;
    return library().array_write(handle, container->transaction, &call.iod, &call.sgl, event);
}

int Array::State::read(ArrayCall& call, daos_event_t* event) const
{
    if (call.is_empty()) {
        count(call, 0);
        return 0;
    }
    if (!library().is_ours()) // which leaves memory as it is where nothing is stored
        for (const d_iov_t& piece : call.pieces)
            std::memset(piece.iov_buf, 0, piece.iov_len);
    if (untold && library().is_ours()) call.iod.arr_nr_read = STEPSTORE_ARRAY_UNTOLD;
    return library().array_read(handle, container->transaction, &call.iod, &call.sgl, event);
}

void Array::State::count(ArrayCall& call, std::uint64_t size) const
{
    daos_size_t wanted = 0;
    daos_size_t there = 0;
    for (const daos_range_t& range : call.ranges) {
        wanted += range.rg_len;
        if (range.rg_idx < size) there += std::min(range.rg_len, size - range.rg_idx);
    }
    call.iod.arr_nr_read = there;
    call.iod.arr_nr_short_read = wanted - there;
}

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
    const int rc =
        state.library().array_create(state_->handle, to_daos(id), state_->transaction, attributes.cell_size,
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
    const int rc = state.library().array_open(state_->handle, to_daos(id), state_->transaction,
                                              open_mode(*state_, access), &cell_size, &chunk_size,
                                              &state.handle, nullptr);
    if (rc == -DER_NONEXIST) return std::nullopt;
    check(state.library(), rc, [&] { return "open array " + state.name(); });
    state.attributes = {cell_size, chunk_size};
    return array;
}

Array Container::open_array(const ObjectId& id, const ArrayAttributes& attributes, Access access,
                            Verify verify) const
{
    Array array;
    array.state_ = std::make_shared<Array::State>(state_, id);
    Array::State& state = *array.state_;
    state.attributes = attributes;
    unsigned mode = open_mode(*state_, access);
    if (verify == Verify::no && state.library().is_ours()) mode |= STEPSTORE_OO_UNVERIFIED;
    const int rc = state.library().array_open_with_attr(state_->handle, to_daos(id), DAOS_TX_NONE, mode,
                                                        attributes.cell_size, attributes.chunk_size,
                                                        &state.handle, nullptr);
    check(state.library(), rc, [&] { return "open array " + state.name(); });
    return array;
}

void Array::leave_ends_untold()
{
    state_->untold = true;
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
    ArrayCall call(ranges, memory);
    check(state_->library(), state_->write(call, nullptr), [&] { return state_->tried("write", call); });
}

ReadResult Array::read(std::span<const Range> ranges, std::span<const MutableBytes> memory) const
{
    ArrayCall call(ranges, memory);
    check(state_->library(), state_->read(call, nullptr), [&] { return state_->tried("read", call); });
    if (state_->untold) return {};
    if (call.iod.arr_nr_read == ArrayCall::not_told) state_->count(call, size());
    return {call.iod.arr_nr_short_read, call.iod.arr_nr_read * state_->attributes.cell_size};
}

std::uint64_t Array::size() const
{
    daos_size_t size = 0;
    const int rc =
        state_->library().array_get_size(state_->handle, state_->container->transaction, &size, nullptr);
    check(state_->library(), rc, [&] { return "get the size of " + state_->name(); });
    return size;
}

void Array::set_size(std::uint64_t size)
{
    const int rc =
        state_->library().array_set_size(state_->handle, state_->container->transaction, size, nullptr);
    check(state_->library(), rc,
          [&] { return "set the size of " + state_->name() + " to " + std::to_string(size); });
}

void Array::punch(std::span<const Range> ranges)
{
    ArrayCall call(ranges);
    if (call.is_empty()) return;
    const int rc =
        state_->library().array_punch(state_->handle, state_->container->transaction, &call.iod, nullptr);
    check(state_->library(), rc, [&] { return state_->tried("punch", call); });
}

void Array::destroy()
{
    const int rc = state_->library().array_destroy(state_->handle, state_->container->transaction, nullptr);
    check(state_->library(), rc, [&] { return "destroy " + state_->name(); });
}

EventQueue Array::event_queue() const
{
    return EventQueue(std::make_shared<EventQueue::State>(state_->container->pool));
}

template <class Memory, class Start>
Pending Array::State::launch(const std::shared_ptr<EventQueue::State>& queue,
                             const std::shared_ptr<State>& array, const char* what,
                             std::span<const Range> ranges, std::span<const Memory> memory, Start start)
{
    Pending pending;
    pending.state_ = std::make_unique<Pending::State>(queue, array);
    Pending::State& call = *pending.state_;
    call.array.emplace(ranges, memory);
    if (call.array->is_empty()) return pending; // nothing to wait for
    call.tried = [&call, what, of = array.get()] { return of->tried(what, *call.array); };
    call.start([&] { return start(*call.array, &call.launch.event); });
    return pending;
}

Pending Array::write(EventQueue& queue, std::uint64_t index, Bytes memory)
{
    const Range range{index, cells_of(memory.size(), state_->attributes)};
    return write(queue, {&range, 1}, {&memory, 1});
}

Pending Array::read(EventQueue& queue, std::uint64_t index, MutableBytes memory) const
{
    const Range range{index, cells_of(memory.size(), state_->attributes)};
    return read(queue, {&range, 1}, {&memory, 1});
}

Pending Array::write(EventQueue& queue, std::span<const Range> ranges, std::span<const Bytes> memory)
{
    return State::launch(queue.state_, state_, "write", ranges, memory,
                         [this](ArrayCall& call, daos_event_t* event) { return state_->write(call, event); });
}

Pending Array::read(EventQueue& queue, std::span<const Range> ranges,
                    std::span<const MutableBytes> memory) const
{
    return State::launch(queue.state_, state_, "read", ranges, memory,
                         [this](ArrayCall& call, daos_event_t* event) { return state_->read(call, event); });
}

} // namespace stepstore

#include "arrays/session.h"

#include "base/bytes.h"
#include "base/text.h"
#include "comm/collective.h"

#include <daos_errno.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

namespace stepstore::arrays {

namespace {

constexpr std::uint64_t numbers_at_once = 1024; // of objects, taken from the container in one request
constexpr std::size_t most_heads = 4096;        // that are kept open

} // namespace

Group& Store::Session::open_group(const std::string& call) const
{
    if (!group) throw Error(-DER_NO_HDL, call + ": the location " + where + " was closed");
    return *group;
}

void Store::Session::require_writable() const
{
    if (mode != Mode::write)
        throw Error(-DER_NO_PERM, where + " was opened for reading: open it for writing");
}

std::shared_ptr<Head> Store::Session::head(const std::string& name)
{
    const auto found = heads_.find(name);
    if (found != heads_.end()) return found->second;
    if (heads_.size() >= most_heads) heads_.clear();
    const std::string is = name.empty() ? where : array_name(name);
    return heads_.emplace(name, std::make_shared<Head>(*container, name, is, access())).first->second;
}

Array Store::Session::data_object(std::uint64_t number, const DataLayout& layout) const
{
    return container->open_array(data_id(*container, number, layout.object_class), {1, layout.chunk_size},
                                 access(), options.verify);
}

TransferOptions Store::Session::transfer_options() const
{
    return {options.transfer_size, options.verify == Verify::yes};
}

std::uint64_t Store::Session::take_numbers(std::uint64_t count)
{
    if (end_number_ - next_number_ < count) {
        const std::uint64_t taken = std::max(count, numbers_at_once);
        next_number_ = container->allocate_oids(taken);
        end_number_ = next_number_ + taken;
    }
    const std::uint64_t first = next_number_;
    next_number_ += count;
    return first;
}

void Store::Session::make_known(Head& head)
{
    if (entered_.contains(head.name())) return;
    enter(head.name());
    head.collect(*container);
    entered_.insert(head.name());
}

void Store::Session::enter(const std::string& name)
{
    // Bytes that no other entry has: so who removes the array before it does not remove this entry.
    std::random_device random;
    std::byte unique[8];
    store_little(unique, std::uint64_t{random()} << 32 | random());
    open_name_list(*container, Access::read_write).put(name, unique);
}

std::optional<std::vector<std::byte>> Store::Session::entry(const std::string& name) const
{
    return open_name_list(*container, Access::read_only).get(name);
}

void Store::Session::forget(const std::string& name, const std::optional<std::vector<std::byte>>& entry)
{
    if (entry) open_name_list(*container, Access::read_write).remove_if(name, *entry);
    entered_.erase(name);
    append_places.erase(name);
}

void OwnWork::run(const std::function<void()>& work) noexcept
{
    const auto began = std::chrono::steady_clock::now();
    try {
        work();
    } catch (...) {
        failure_ = std::current_exception();
    }
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    done_ = true;
}

void OwnWork::start(std::function<void()> work, bool in_background)
{
    if (!in_background) return run(work);
    done_ = false;
    thread_ = std::thread([this, work = std::move(work)] { run(work); });
}

bool OwnWork::ready() const
{
    return done_;
}

void OwnWork::settle() noexcept
{
    if (thread_.joinable()) thread_.join();
}

void was_given_up(const std::string& call)
{
    throw Error(-DER_CANCELED,
                call + ": it was given up when its location was closed: wait before you close");
}

// ---- arguments

std::string shown(const std::string& name)
{
    constexpr std::size_t most = 200;
    const std::size_t end = std::min({name.size(), name.find('\0'), most});
    return "'" + name.substr(0, end) + (end < name.size() ? "...'" : "'");
}

void check_name(const std::string& name, const char* what, bool may_be_empty)
{
    c_text(name, what);
    if (name.empty() && !may_be_empty)
        throw Error(-DER_INVAL, std::string("the name of the ") + what + " is empty: give it one");
    if (name.size() > longest_name)
        throw Error(-DER_INVAL, std::string("the name of the ") + what + " has " +
                                    std::to_string(name.size()) + " bytes: use at most " +
                                    std::to_string(longest_name));
}

namespace {

unsigned row_major(unsigned given, const Naming& naming)
{
    return naming.order == Order::row_major ? given : naming.dimensions - 1 - given;
}

} // namespace

Extents to_extents(const Numbers& numbers, const Naming& naming, const char* what, std::int64_t least)
{
    if (numbers.size() != naming.dimensions)
        throw Error(-DER_INVAL, std::string(what) + " has " + std::to_string(numbers.size()) +
                                    " dimensions, and the array " + std::to_string(naming.dimensions));
    Extents extents{};
    for (unsigned i = 0; i < naming.dimensions; ++i) {
        const unsigned d = row_major(i, naming);
        if (numbers[i] < least)
            throw Error(-DER_INVAL, naming.dimension(d) + ": " + what + " is " + std::to_string(numbers[i]) +
                                        ", less than " + std::to_string(least));
        extents[d] = static_cast<std::uint64_t>(numbers[i]);
    }
    return extents;
}

Dims to_dims(const Extents& extents, const Naming& naming)
{
    const Extents given = naming.order == Order::row_major ? extents : reversed(extents, naming.dimensions);
    return {given.begin(), given.begin() + naming.dimensions};
}

std::uint64_t bytes_of(const Extents& shape, const ElementType& type, const Naming& naming)
{
    std::uint64_t bytes = size_of(type);
    for (unsigned i = 0; i < naming.dimensions; ++i) {
        const unsigned d = row_major(i, naming);
        // An empty dimension counts as 1: it may grow, and the product must not depend on the order.
        if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(shape[d], 1), &bytes) ||
            bytes > static_cast<std::uint64_t>(INT64_MAX) / 4)
            throw Error(-DER_OVERFLOW, naming.dimension(d) + ": an array of " + to_text(type) +
                                           " of the shape " + naming.extents(shape) +
                                           " has more than 2^61 bytes: make it smaller");
    }
    return bytes;
}

// Sorted by stride, each dimension must leave room for all of the one before: so no two elements meet.
Memory to_memory(const void* first, const Numbers& strides, const Box& box, const Naming& naming,
                 std::uint64_t element_size)
{
    Memory memory;
    memory.first = static_cast<std::byte*>(const_cast<void*>(first));
    if (is_empty(box, naming.dimensions)) return memory;
    if (first == nullptr) throw Error(-DER_INVAL, "the address of the data is null: give their memory");
    if (strides.empty()) {
        memory.strides = packed_strides(box.count, naming.dimensions, element_size);
        return memory;
    }
    memory.strides = to_extents(strides, naming, "the stride", 1);
    std::vector<unsigned> by_stride(naming.dimensions);
    std::iota(by_stride.begin(), by_stride.end(), 0U);
    std::ranges::stable_sort(by_stride, {}, [&](unsigned d) { return memory.strides[d]; });
    std::uint64_t room = element_size;
    for (const unsigned d : by_stride) {
        if (box.count[d] <= 1) continue;
        if (memory.strides[d] < room)
            throw Error(-DER_INVAL, naming.dimension(d) + ": with a stride of " +
                                        std::to_string(memory.strides[d]) +
                                        " bytes elements would overlap in memory: it must be at least " +
                                        std::to_string(room));
        std::uint64_t reach = 0;
        if (__builtin_mul_overflow(memory.strides[d], box.count[d] - 1, &reach) ||
            __builtin_add_overflow(reach, room, &room))
            throw Error(-DER_OVERFLOW, naming.dimension(d) + ": the strides reach beyond 2^64 bytes");
    }
    return memory;
}

void write_elements(WireWriter& to, const Elements& elements)
{
    to.fixed(static_cast<std::uint8_t>(elements.type.kind));
    to.varint(elements.type.length);
    to.varint(elements.dimensions);
}

Elements read_elements(WireReader& from)
{
    Elements elements;
    elements.type.kind = static_cast<Kind>(from.fixed<std::uint8_t>());
    elements.type.length = static_cast<std::uint32_t>(from.varint());
    elements.dimensions = static_cast<unsigned>(from.varint());
    return elements;
}

void require_same_elements(const Elements& first, const Elements& other, std::size_t rank)
{
    if (first.type != other.type)
        ranks_differ("element type", to_text(first.type), rank, to_text(other.type));
    if (first.dimensions != other.dimensions)
        ranks_differ("number of dimensions", std::to_string(first.dimensions), rank,
                     std::to_string(other.dimensions));
}

void write_extents(WireWriter& to, const Extents& extents, unsigned dimensions)
{
    for (unsigned d = 0; d < dimensions; ++d)
        to.varint(extents[d]);
}

Extents read_extents(WireReader& from, unsigned dimensions)
{
    Extents extents{};
    for (unsigned d = 0; d < dimensions; ++d)
        extents[d] = from.varint();
    return extents;
}

std::vector<std::byte> status_of(const std::exception_ptr& failure)
{
    const Failure told = failure_of(failure);
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(static_cast<std::uint32_t>(told.code));
    to.text(told.message);
    return bytes;
}

void require_success(std::span<const Bytes> statuses)
{
    for (std::size_t rank = 0; rank < statuses.size(); ++rank) {
        WireReader from(statuses[rank], "a rank's status");
        const auto code = static_cast<int>(from.fixed<std::uint32_t>());
        if (code == 0) continue;
        throw Error(code, (statuses.size() > 1 ? "rank " + std::to_string(rank) + ": " : "") +
                              std::string(from.text()));
    }
}

void ranks_differ(const std::string& what, const std::string& first, std::size_t rank,
                  const std::string& other)
{
    throw Error(-DER_MISMATCH, what + ": rank 0 says " + first + " and rank " + std::to_string(rank) +
                                   " says " + other + ": all ranks must say the same");
}

unsigned checked_dimensions(std::size_t dimensions)
{
    if (dimensions < 1 || dimensions > max_dimensions)
        throw Error(-DER_INVAL, "the number of dimensions is " + std::to_string(dimensions) +
                                    ": an array has 1 to " + std::to_string(max_dimensions));
    return static_cast<unsigned>(dimensions);
}

void check_type(const ElementType& type)
{
    if (!is_known(type))
        throw Error(-DER_INVAL, to_text(type) + " of length " + std::to_string(type.length) +
                                    " is no element type: use one of stepstore/arrays.h");
}

} // namespace stepstore::arrays

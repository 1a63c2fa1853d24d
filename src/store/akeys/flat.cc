#include "store/akeys/flat.h"

#include "store/array/array.h"
#include "store/failure.h"

#include <algorithm>

namespace stepstore::store {

namespace {

constexpr std::uint64_t attributes_magic = 0xdaca55a9daca55a9ULL; // as libdaos marks them
constexpr std::size_t attributes_size = 24;                       // magic, cell size, chunk size

void require_flat(const ObjectId& oid, Bytes akey)
{
    if (equal(akey, as_bytes(flat_akey))) return;
    fail(DER_NOTSUPPORTED, "object " + text(oid) + ": akey " + quoted(akey) +
                               ": a key-value object or an array has the akey \"0\" alone; use an object of "
                               "another type");
}

void require_type(const ObjectId& oid, AkeyType type, AkeyType its)
{
    if (type == its) return;
    fail(DER_NOTSUPPORTED, "object " + text(oid) + ": this dkey holds " +
                               (its == AkeyType::single ? "a single value, and records were meant"
                                                        : "records, and a single value was meant"));
}

// Both conditions on a dkey with one akey. They never hold if one asks that it exists and the other that it
// does not.
Condition both(Container& container, const ObjectId& oid, Bytes dkey, Condition of_dkey, Condition of_akey)
{
    if (of_dkey == Condition::none || of_dkey == of_akey) return of_akey;
    if (of_akey == Condition::none) return of_dkey;
    const bool there = container.kv_get(oid, dkey, {}).has_value();
    fail(there ? DER_EXIST : DER_NONEXIST,
         "object " + text(oid) + ", dkey " + quoted(dkey) +
             ": the update requires that the dkey exists and its akey does not, or the other way round");
}

// The memory as one piece: its own where it is one.
class Joined {
public:
    explicit Joined(std::span<const Bytes> memory)
    {
        if (memory.size() == 1) {
            bytes_ = memory.front();
            return;
        }
        for (const Bytes& piece : memory)
            copy_.insert(copy_.end(), piece.begin(), piece.end());
        bytes_ = copy_;
    }
    Bytes view() const { return bytes_; }

private:
    Bytes bytes_;
    std::vector<std::byte> copy_;
};

void require_room(const ObjectId& oid, std::uint64_t size, std::uint64_t room)
{
    if (size > room)
        fail(DER_REC2BIG, "object " + text(oid) + ": it has " + std::to_string(size) +
                              " bytes, and there is room for " + std::to_string(room));
}

[[noreturn]] void refuse(const ObjectId& oid, Bytes dkey)
{
    fail(DER_NONEXIST, "object " + text(oid) + ", dkey " + quoted(dkey) +
                           ": it does not exist, and the call requires that it does");
}

// ---- key-value objects

void fetch_value(Container& container, const ObjectId& oid, Bytes key, AkeyFetch& fetch, Epoch epoch,
                 bool must_exist)
{
    require_type(oid, fetch.type, AkeyType::single);
    const std::uint64_t room = room_in(fetch.memory);
    std::vector<std::byte> buffer;
    MutableBytes into = fetch.memory.size() == 1 ? fetch.memory.front() : MutableBytes{};
    if (fetch.memory.size() > 1) {
        buffer.resize(room);
        into = buffer;
    }
    const auto size = container.kv_get(oid, key, into, epoch);
    if (!size && (must_exist || fetch.must_exist)) refuse(oid, key);
    fetch.record_size = size.value_or(0);
    if (fetch.memory.empty()) return;
    require_room(oid, fetch.record_size, room);
    fetch.bytes = fetch.record_size;
    if (!buffer.empty()) Scattered(fetch.memory).copy_in(0, Bytes(buffer).first(fetch.bytes));
}

// ---- arrays

// Of a chunk, in the terms of the calls for arrays.
struct ChunkCells {
    ArrayAttributes attributes;
    bool kept = false; // by the array: else extents are listed in bytes
    std::vector<Range> ranges;
};

// Where the attributes are not kept, the size of a cell is the caller's. A chunk is where its number says,
// however large it is. So one that ends where the last range does is as good as the true one.
ChunkCells cells_of(Container& container, const ObjectId& oid, std::uint64_t chunk, std::uint64_t record_size,
                    std::span<const Range> ranges, Epoch epoch)
{
    ChunkCells cells;
    if (const auto kept = container.array_attributes(oid, epoch)) {
        cells.attributes = *kept;
        cells.kept = true;
        if (record_size != 0 && record_size != kept->cell_size)
            fail(DER_INVAL, "array " + text(oid) + " has cells of " + std::to_string(kept->cell_size) +
                                " bytes, and records of " + std::to_string(record_size) + " were given");
    } else {
        cells.attributes = {std::max<std::uint64_t>(record_size, 1), 1};
        for (const Range& range : ranges)
            cells.attributes.chunk_size = std::max(cells.attributes.chunk_size, range.index + range.length);
    }
    std::uint64_t first = 0, bytes = 0;
    if (__builtin_mul_overflow(chunk, cells.attributes.chunk_size, &first) || first > farthest ||
        __builtin_mul_overflow(cells.attributes.chunk_size, cells.attributes.cell_size, &bytes) ||
        bytes > farthest)
        fail(DER_OVERFLOW, "array " + text(oid) + ": chunk " + std::to_string(chunk) +
                               " lies, or reaches, beyond 2^63 bytes");
    for (const Range& range : ranges) {
        std::uint64_t end = 0;
        if (__builtin_add_overflow(range.index, range.length, &end) || end > cells.attributes.chunk_size)
            fail(DER_INVAL, "array " + text(oid) + ": records " + std::to_string(range.index) + " + " +
                                std::to_string(range.length) + " reach beyond their chunk of " +
                                std::to_string(cells.attributes.chunk_size) + " cells");
        cells.ranges.push_back({first + range.index, range.length});
    }
    return cells;
}

void fetch_attributes(Container& container, const ObjectId& oid, Bytes dkey, AkeyFetch& fetch, Epoch epoch,
                      bool must_exist)
{
    require_type(oid, fetch.type, AkeyType::single);
    const auto kept = container.array_attributes(oid, epoch);
    if (!kept && (must_exist || fetch.must_exist)) refuse(oid, dkey);
    fetch.record_size = kept ? attributes_size : 0;
    if (fetch.memory.empty() || !kept) return;
    require_room(oid, attributes_size, room_in(fetch.memory));
    std::array<std::byte, attributes_size> bytes;
    store_little(bytes.data(), attributes_magic);
    store_little(bytes.data() + 8, kept->cell_size);
    store_little(bytes.data() + 16, kept->chunk_size);
    Scattered(fetch.memory).copy_in(0, bytes);
    fetch.bytes = attributes_size;
}

// The parts of the ranges that are stored, by their index.
std::vector<Range> stored_cells(Container& container, const ObjectId& oid, Bytes dkey,
                                const ChunkCells& cells, std::span<const Range> ranges, Epoch epoch)
{
    std::vector<Range> sorted(ranges.begin(), ranges.end());
    std::ranges::sort(sorted, {}, &Range::index);
    const std::uint64_t listed = cells.kept ? 1 : cells.attributes.cell_size; // of them in a cell
    std::vector<Range> stored;
    const auto add = [&](const StoredExtent& extent) {
        const Range part{extent.records.index / listed, extent.records.length / listed};
        if (!stored.empty() && stored.back().index + stored.back().length == part.index)
            stored.back().length += part.length;
        else
            stored.push_back(part);
        return true;
    };
    for (const Range& range : sorted)
        container.extent_list(oid, dkey, as_bytes(flat_akey), {range.index * listed, range.length * listed},
                              add, epoch);
    return stored;
}

bool has_cells(Container& container, const ObjectId& oid, Bytes dkey, Epoch epoch)
{
    bool any = false;
    const auto found = [&](const StoredExtent&) {
        any = true;
        return false;
    };
    container.extent_list(oid, dkey, as_bytes(flat_akey), {0, farthest}, found, epoch);
    return any;
}

void fetch_cells(Container& container, const ObjectId& oid, Bytes dkey, std::uint64_t chunk, AkeyFetch& fetch,
                 Epoch epoch, bool must_exist)
{
    require_type(oid, fetch.type, AkeyType::array);
    const ChunkCells cells = cells_of(container, oid, chunk, fetch.record_size, fetch.ranges, epoch);
    const std::uint64_t cell = cells.attributes.cell_size;
    if (fetch.stored != nullptr)
        *fetch.stored = stored_cells(container, oid, dkey, cells, fetch.ranges, epoch);
    const bool found = fetch.stored != nullptr && !fetch.stored->empty();
    const bool any = found || has_cells(container, oid, dkey, epoch);
    if (!any && (must_exist || fetch.must_exist)) refuse(oid, dkey);
    fetch.record_size = any ? cell : 0;
    if (!any || fetch.memory.empty()) return;
    std::uint64_t size = 0;
    for (const Range& range : fetch.ranges)
        size += range.length * cell;
    require_room(oid, size, room_in(fetch.memory));
    const auto memory = first_of(fetch.memory, size);
    fetch.bytes =
        container.array_read(oid, cells.attributes, cells.ranges, memory, epoch, Verify::yes, Ends::untold)
            .bytes;
}

void update_attributes(Container& container, const ObjectId& oid, Bytes dkey, const AkeyUpdate& update,
                       bool must_exist)
{
    require_type(oid, update.type, AkeyType::single);
    const Joined value(update.memory);
    const Bytes bytes = value.view();
    if (bytes.size() != attributes_size || update.record_size != attributes_size ||
        load_little<std::uint64_t>(bytes.data()) != attributes_magic)
        fail(DER_INVAL, "array " + text(oid) +
                            ": dkey 0 takes its attributes alone: a magic number, cell size and chunk size");
    if (must_exist && !container.array_attributes(oid)) refuse(oid, dkey);
    container.array_create( // which refuses to replace them
        oid, {load_little<std::uint64_t>(bytes.data() + 8), load_little<std::uint64_t>(bytes.data() + 16)});
}

void update_cells(Container& container, const ObjectId& oid, std::uint64_t chunk, const AkeyUpdate& update,
                  bool conditional)
{
    require_type(oid, update.type, AkeyType::array);
    if (conditional) fail(DER_NOTSUPPORTED, "array " + text(oid) + ": chunks are written without conditions");
    const ChunkCells cells = cells_of(container, oid, chunk, update.record_size, update.ranges, latest);
    if (update.record_size == 0)
        container.array_punch(oid, cells.attributes, cells.ranges);
    else
        container.array_write(oid, cells.attributes, cells.ranges, update.memory);
}

} // namespace

bool is_array(const ObjectId& oid)
{
    constexpr unsigned first_array_type = 11; // enum daos_otype_t of libdaos
    return !has_akeys(oid) && oid.hi >> 56 >= first_array_type;
}

std::optional<std::uint64_t> chunk_of(const ObjectId& oid, Bytes dkey)
{
    if (dkey.size() != 8)
        fail(DER_INVAL, "array " + text(oid) + ": a dkey of " + std::to_string(dkey.size()) +
                            " bytes: those of an array are numbers of 8 bytes");
    const auto number = load_big<std::uint64_t>(dkey.data());
    if (number == 0) return std::nullopt;
    return number - 1;
}

void flat_update(Container& container, const ObjectId& oid, Bytes dkey, std::span<const AkeyUpdate> updates,
                 Condition of_dkey)
{
    for (const AkeyUpdate& update : updates) {
        require_flat(oid, update.akey);
        if (!is_array(oid)) {
            const Condition condition = both(container, oid, dkey, of_dkey, update.condition);
            require_type(oid, update.type, AkeyType::single);
            if (update.record_size == 0) {
                container.kv_remove(oid, dkey, condition);
                continue;
            }
            const Joined value(update.memory);
            if (value.view().size() != update.record_size)
                fail(DER_IO_INVAL, "object " + text(oid) + ", dkey " + quoted(dkey) + ": the value has " +
                                       std::to_string(update.record_size) + " bytes and the memory has " +
                                       std::to_string(value.view().size()) + ": both must be the same");
            container.kv_put(oid, dkey, value.view(), condition);
        } else if (const auto chunk = chunk_of(oid, dkey)) {
            const bool conditional = of_dkey != Condition::none || update.condition != Condition::none;
            update_cells(container, oid, *chunk, update, conditional);
        } else {
            const bool must_exist =
                of_dkey == Condition::must_exist || update.condition == Condition::must_exist;
            update_attributes(container, oid, dkey, update, must_exist);
        }
    }
}

void flat_fetch(Container& container, const ObjectId& oid, Bytes dkey, std::span<AkeyFetch> fetches,
                Epoch epoch, bool dkey_must_exist)
{
    for (AkeyFetch& fetch : fetches) {
        require_flat(oid, fetch.akey);
        fetch.bytes = 0;
        if (fetch.stored != nullptr) fetch.stored->clear();
        if (!is_array(oid))
            fetch_value(container, oid, dkey, fetch, epoch, dkey_must_exist);
        else if (const auto chunk = chunk_of(oid, dkey))
            fetch_cells(container, oid, dkey, *chunk, fetch, epoch, dkey_must_exist);
        else
            fetch_attributes(container, oid, dkey, fetch, epoch, dkey_must_exist);
    }
}

void flat_punch(Container& container, const ObjectId& oid, Bytes dkey, std::span<const Bytes> akeys,
                bool must_exist)
{
    for (const Bytes akey : akeys)
        require_flat(oid, akey);
    if (!is_array(oid)) {
        container.kv_remove(oid, dkey, must_exist ? Condition::must_exist : Condition::none);
        return;
    }
    const auto chunk = chunk_of(oid, dkey);
    if (!chunk)
        fail(DER_NOTSUPPORTED, "array " + text(oid) + ": its attributes are removed with the array alone");
    const auto kept = container.array_attributes(oid);
    bool any = false;
    std::uint64_t end = 0;
    container.extent_list(oid, dkey, as_bytes(flat_akey), {0, farthest}, [&](const StoredExtent& extent) {
        any = true;
        end = extent.records.index + extent.records.length;
        return true;
    });
    if (!any && must_exist) refuse(oid, dkey);
    if (!any) return;
    const Range all{0, kept ? kept->chunk_size : end};
    const ChunkCells cells = cells_of(container, oid, *chunk, 0, {&all, 1}, latest);
    container.array_punch(oid, cells.attributes, cells.ranges);
}

} // namespace stepstore::store

// The layout `array-adaptive`: one array object in slots, several ranks' slots in a chunk. A rank writes
// as in `array-aligned`; a reader finds few chunks that are nearly full, as in `array`.
//
// 1. A rank's slot is as large as its blobs were, and an eighth more. Slots lie in rank order, each within
//    one chunk. Up to 16 chunks the ranks are spread evenly over chunks, and so over targets. With more
//    ranks a chunk has up to 8. A step takes whole chunks, so it lies at a place that all know.
// 2. The slots are the same for a *row* of steps. Rows begin at the steps 0, 1, 8, 64, 512 ... of the
//    segment: the first step brings definitions and is larger, and blobs may grow. At the first step of a
//    row all ranks exchange the sizes of their blobs, and each knows all slots. No other step has a
//    collective. Rank 0 puts the sizes of the slots under "Step<N>-Slots" into the side object.
// 3. A rank stores its blob with one write that lies within one chunk, so on one target: it is atomic. A
//    blob that is larger than its slot goes to the side object, under the key of the layout `kv`. Then the
//    slot gets a header alone (magic "SSOV") that says so.
// 4. A step is there when the slots of its row are known and all of them hold a header of this stream,
//    step and rank. A rank may write into a row before rank 0 has put its slots: a reader sees the step
//    later. Slots are never written twice, and rows do not overlap, since each begins where the one before
//    would end if all of its steps were written.
// With Steps=snapshot every step of every row begins at byte 0, and the key is "Slots".
#include "base/record.h"
#include "steps/layouts/layout.h"
#include "steps/layouts/size_exchange.h"

#include <algorithm>
#include <map>

namespace stepstore::steps {

namespace {

constexpr std::uint32_t slots_magic = 0x4c535353; // "SSSL"
constexpr std::uint64_t spread = 16;              // chunks that few ranks are spread over
constexpr std::uint64_t most_in_chunk = 8;        // slots: a target serves them in turn
constexpr std::uint64_t row_growth = 8;

std::uint64_t aligned(std::uint64_t value, std::uint64_t to)
{
    return (value + to - 1) / to * to;
}

// The first step of the row that has the step; both from the first step of the segment on.
std::uint64_t row_of(std::uint64_t index)
{
    if (index == 0) return 0;
    std::uint64_t first = 1;
    while (index / row_growth >= first)
        first *= row_growth;
    return first;
}

std::string slots_key(const StreamRecord& record, std::uint64_t step)
{
    return step_key(record, step, "-Slots", "Slots");
}

// The slots of a row of steps.
struct Row {
    std::uint64_t first = 0; // step
    std::uint64_t begin = 0; // of its first step, bytes
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> places; // from the begin of the step
    std::uint64_t stride = 0;          // of a step
    std::vector<std::uint64_t> packed; // the places without the gaps; ranks + 1
    bool in_place = false;             // all steps

    std::uint64_t step_at(std::uint64_t step) const
    {
        std::uint64_t at = 0;
        if (__builtin_mul_overflow(in_place ? 0 : step - first, stride, &at) ||
            __builtin_add_overflow(at, begin, &at) || at > static_cast<std::uint64_t>(INT64_MAX) - stride)
            throw Error(-DER_OVERFLOW, "step " + std::to_string(step) +
                                           " lies beyond the end of the largest possible array");
        return at;
    }
};

Row make_row(std::uint64_t first, std::uint64_t begin, std::vector<std::uint64_t> sizes,
             const StreamRecord& record)
{
    const std::uint64_t chunk = record.chunk_size;
    Row row{first, begin, std::move(sizes), {}, 0, {0}, record.in_place()};
    const std::uint64_t most = std::min((row.sizes.size() + spread - 1) / spread, most_in_chunk);
    std::uint64_t at = 0, in_chunk = 0;
    for (const std::uint64_t size : row.sizes) {
        if (at % chunk == 0) in_chunk = 0;
        if (in_chunk == most || at % chunk + size > chunk) at = aligned(at, chunk), in_chunk = 0;
        row.places.push_back(at);
        row.packed.push_back(row.packed.back() + size);
        at += size;
        ++in_chunk;
    }
    row.stride = aligned(at, chunk);
    return row;
}

std::vector<std::byte> encode_row(const Row& row)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(slots_magic);
    to.fixed(row.first);
    to.fixed(row.begin);
    for (const std::uint64_t size : row.sizes)
        to.varint(size);
    append_checksum(bytes);
    return bytes;
}

Row decode_row(Bytes bytes, std::uint64_t first, const StreamRecord& record)
{
    const std::string what = "the record of the blobs' slots from step " + std::to_string(first) + " on";
    const auto body = unseal_end(bytes);
    if (!body) throw Error(-DER_CSUM, what + " is damaged: its checksum does not match");
    WireReader from(*body, what);
    if (from.fixed<std::uint32_t>() != slots_magic || from.fixed<std::uint64_t>() != first)
        from.fail("does not begin with its magic number");
    const auto begin = from.fixed<std::uint64_t>();
    std::vector<std::uint64_t> sizes;
    for (std::uint32_t rank = 0; rank < record.ranks; ++rank) {
        sizes.push_back(from.varint());
        if (sizes.back() < blob_header_size || sizes.back() > record.chunk_size)
            from.fail("gives impossible sizes");
    }
    if (!from.at_end()) from.fail("has bytes left over");
    return make_row(first, begin, std::move(sizes), record);
}

class AdaptiveWriter final : public LayoutWriter {
public:
    AdaptiveWriter(const LayoutContext& context, Communicator& communicator)
        : record_(context.record),
          array_(context.container.open_array(record_.metadata, {1, record_.chunk_size}, Access::read_write)),
          side_(context.container.key_value(record_.side)), sizes_(communicator),
          rank_(static_cast<std::uint32_t>(communicator.rank()))
    {
    }
    bool collective() const override { return true; }
    bool meets(std::uint64_t step) const override { return begins_row(step); }
    void abandon(std::uint64_t step) override
    {
        if (begins_row(step)) sizes_.fail();
    }
    void finish() override { sizes_.finish(); }

    void store(std::uint64_t step, Bytes blob) override
    {
        if (begins_row(step)) begin_row(step, blob.size());
        const std::uint64_t at = row_.step_at(step) + row_.places[rank_];
        ++requests_;
        if (blob.size() <= row_.sizes[rank_]) return array_.write(at, blob);
        ++requests_;
        side_.put(blob_key(record_, step, rank_), blob);
        std::byte sealed[blob_header_size]{};
        store_header(overflow_header(record_, step, rank_, blob.size()), sealed);
        array_.write(at, Bytes(sealed));
    }

private:
    bool begins_row(std::uint64_t step) const
    {
        const std::uint64_t index = step - record_.first_step;
        return row_of(index) == index;
    }

    void begin_row(std::uint64_t step, std::uint64_t mine)
    {
        std::vector<std::uint64_t> sizes = sizes_.exchange(step, mine);
        for (std::uint64_t& size : sizes)
            size = std::min<std::uint64_t>(room_for(size), record_.chunk_size);
        const bool at_0 = step == record_.first_step || record_.in_place();
        row_ = make_row(step, at_0 ? 0 : row_.step_at(step), std::move(sizes), record_);
        if (rank_ != 0) return;
        ++requests_;
        side_.put(slots_key(record_, step), encode_row(row_));
    }

    const StreamRecord& record_;
    Array array_;
    KeyValue side_;
    SizeExchange sizes_;
    std::uint32_t rank_;
    Row row_;
};

class AdaptiveReader final : public LayoutReader {
public:
    explicit AdaptiveReader(const LayoutContext& context)
        : record_(context.record),
          array_(context.container.open_array(record_.metadata, {1, record_.chunk_size}, Access::read_only)),
          side_(context.container.key_value(record_.side, Access::read_only))
    {
    }

    bool fetch(std::uint64_t step, StepBlobs& into) override
    {
        const Row* row = find_row(step);
        if (row == nullptr) return false;
        if (awaited_step_ != step) awaited_rank_ = 0;
        awaited_step_ = step;
        if (!is_there(*row, step, awaited_rank_)) return false;
        return collect(*row, step, read_steps(*row, step, 1), into);
    }

    void fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepBlobs>& into) override
    {
        try {
            const Row* row = find_row(first);
            if (row == nullptr) return;
            const std::uint64_t index = row->first - record_.first_step;
            const std::uint64_t end = row->first + (index == 0 ? 1 : index * (row_growth - 1));
            count = std::min(count, end - first);
            const std::vector<std::byte> all = read_steps(*row, first, count);
            for (std::uint64_t i = 0; i < count; ++i) {
                StepBlobs blobs;
                if (!collect(*row, first + i, Bytes(all).subspan(i * row->packed.back(), row->packed.back()),
                             blobs))
                    return;
                into.push_back(std::move(blobs));
            }
        } catch (const Error&) { // the step's own turn tells it
        }
    }

    std::optional<std::vector<std::byte>> raw_blob(std::uint64_t step, std::uint32_t rank) override
    {
        const Row* row = find_row(step);
        if (row == nullptr) return std::nullopt;
        std::vector<std::byte> slot(row->sizes[rank]);
        ++requests_;
        array_.read(row->step_at(step) + row->places[rank], slot);
        return blob_in(slot, step, rank);
    }

private:
    const Row* find_row(std::uint64_t step)
    {
        const std::uint64_t first = record_.first_step + row_of(step - record_.first_step);
        const auto known = rows_.find(first);
        if (known != rows_.end()) return &known->second;
        ++requests_;
        const auto bytes = side_.get(slots_key(record_, first));
        if (!bytes) return nullptr;
        return &rows_.emplace(first, decode_row(*bytes, first, record_)).first->second;
    }

    bool is_there(const Row& row, std::uint64_t step, std::uint32_t rank)
    {
        std::byte slot[blob_header_size]{};
        ++requests_;
        array_.read(row.step_at(step) + row.places[rank], slot);
        BlobHeader header;
        return inspect_blob(slot, header) != BlobState::absent;
    }

    // The slots of the steps, without the gaps between them.
    std::vector<std::byte> read_steps(const Row& row, std::uint64_t first, std::uint64_t count)
    {
        std::vector<std::byte> all(count * row.packed.back());
        std::vector<Range> ranges;
        std::vector<MutableBytes> memory;
        for (std::uint64_t i = 0; i < count; ++i)
            for (std::size_t rank = 0; rank < row.sizes.size();) { // slots without a gap are a range
                const std::uint64_t at = row.places[rank], from = row.packed[rank];
                std::uint64_t end = at;
                while (rank < row.sizes.size() && row.places[rank] == end)
                    end += row.sizes[rank++];
                ranges.push_back({row.step_at(first + i) + at, end - at});
                memory.push_back(MutableBytes(all).subspan(i * row.packed.back() + from, end - at));
            }
        ++requests_;
        array_.read(ranges, memory);
        return all;
    }

    bool collect(const Row& row, std::uint64_t step, Bytes bytes, StepBlobs& into)
    {
        into.step = step;
        into.offsets.assign(1, 0);
        into.bytes.clear();
        for (std::uint32_t rank = 0; rank < record_.ranks; ++rank) {
            const auto blob = blob_in(bytes.subspan(row.packed[rank], row.sizes[rank]), step, rank);
            if (!blob) {
                awaited_rank_ = rank;
                return false;
            }
            open_blob(*blob, record_.generation, step, rank);
            into.bytes.insert(into.bytes.end(), blob->begin(), blob->end());
            into.offsets.push_back(into.bytes.size());
        }
        return true;
    }

    // nullopt: there is none. Damaged bytes are given as they are.
    std::optional<std::vector<std::byte>> blob_in(Bytes slot, std::uint64_t step, std::uint32_t rank)
    {
        BlobHeader header;
        const BlobState state = inspect_blob(slot, header);
        if (state == BlobState::absent) return std::nullopt;
        if (header.magic == overflow_magic && state != BlobState::header_damaged) {
            ++requests_;
            return overflowed_blob(side_, record_, step, rank);
        }
        if (state != BlobState::header_damaged)
            slot = slot.first(std::min<std::uint64_t>(slot.size(), header.length));
        return std::vector<std::byte>(slot.begin(), slot.end());
    }

    const StreamRecord& record_;
    Array array_;
    KeyValue side_;
    std::map<std::uint64_t, Row> rows_; // by their first steps; few
    std::uint64_t awaited_step_ = no_step;
    std::uint32_t awaited_rank_ = 0; // the first without a blob, when last looked
};

void trim_array_adaptive(const LayoutContext& context, std::uint64_t end)
{
    const StreamRecord& record = context.record;
    const std::uint64_t first = record.first_step + row_of(end - 1 - record.first_step);
    const auto bytes = context.container.key_value(record.side).get(slots_key(record, first));
    if (!bytes) return;
    const Row row = decode_row(*bytes, first, record);
    shorten(context.container.open_array(record.metadata, {1, record.chunk_size}), row.step_at(end));
}

} // namespace

const Layout& array_adaptive_layout()
{
    static const Layout layout = {
        .name = "array-adaptive",
        .number = 5,
        .chunk_size = 256 << 10,
        .least_chunk_size = blob_header_size, // of a blob that lies elsewhere
        .one_object_because = "several ranks share its chunks",
        .writer = &make_layout_writer<AdaptiveWriter>,
        .reader = &make_layout_reader<AdaptiveReader>,
        .trim = &trim_array_adaptive,
    };
    return layout;
}

} // namespace stepstore::steps

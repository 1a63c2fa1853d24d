// The layout `array-aligned`: one array object in slots of one chunk each. Slot (4 + step) * ranks + rank
// holds a rank's metadata of a step. Steps count from the first of the segment. The first four rows hold
// copies of what later steps refer to (MetadataPart): each rank's first four, in the order in which they are
// stored. So no rank makes a key for them, which in a pool in files is a file.
//
// 1. A rank stores its metadata with one write that lies within one chunk, so on one target: it is atomic. No
//    rank waits for another.
// 2. Metadata that is larger than a chunk goes to the stream's key-value object, under the key of the layout
//    `kv`, where it can meet nothing else. Then the slot gets a header alone (magic "SSOV") that says so.
// With several objects the slots in each are those of its steps and ranks alone, in the same order.
// 3. A step is there when all its slots hold a header of this stream, step and rank. A slot that was not
//    written reads as zeros. Slots are never written twice. The rest of a chunk is a hole and takes no space.
// With Steps=snapshot the slots of all steps are those of the first. There, and with an object for each step,
// no row is for copies.
#include "steps/layouts/metadata_objects.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t rows_of_copies = 4;

// In the row of a step, or of copies.
std::uint64_t slot_in_row(const StreamRecord& record, std::uint64_t row, std::uint64_t step,
                          std::uint32_t rank)
{
    const std::uint32_t together = record.ranks_together();
    std::uint64_t at = 0;
    const bool overflow = __builtin_mul_overflow(row, together, &at) ||
                          __builtin_add_overflow(at, rank % together, &at) ||
                          __builtin_mul_overflow(at, record.chunk_size, &at);
    if (overflow || at > static_cast<std::uint64_t>(INT64_MAX) - record.chunk_size)
        throw Error(-DER_OVERFLOW,
                    step_rank(step, rank) + " lies beyond the end of the largest possible array");
    return at;
}

std::uint64_t slot_at(const StreamRecord& record, std::uint64_t step, std::uint32_t rank)
{
    std::uint64_t row = 0;
    if (!record.begins_at_0() && __builtin_add_overflow(rows_of_copies, step - record.first_step, &row))
        row = UINT64_MAX;
    return slot_in_row(record, row, step, rank);
}

std::uint64_t slot_of_copy(const StreamRecord& record, std::uint64_t number, std::uint32_t rank)
{
    return slot_in_row(record, number, record.first_step, rank);
}

class AlignedWriter final : public LayoutWriter {
public:
    AlignedWriter(const LayoutContext& context, Communicator& /*communicator*/, std::uint32_t rank)
        : record_(context.record), arrays_(context, Access::read_write),
          overflow_(context.container.key_value(record_.side)), rank_(rank), reach_(context, rank_)
    {
    }

    void store(std::uint64_t step, Bytes metadata) override
    {
        const std::uint64_t at = slot_at(record_, step, rank_);
        requests_ += reach_.cover(step) + 1;
        arrays_.make_room();
        Array& array = arrays_.of(step, rank_);
        if (metadata.size() <= record_.chunk_size) return array.write(at, metadata);
        ++requests_;
        overflow_.put(metadata_key(record_, step, rank_), metadata);
        std::byte sealed[metadata_header_size]{};
        store_header(overflow_header(record_, step, rank_, metadata.size()), sealed);
        array.write(at, Bytes(sealed));
    }

    bool store_copy(Bytes copy) override
    {
        if (record_.begins_at_0() || copies_ == rows_of_copies || copy.size() > record_.chunk_size)
            return false;
        arrays_.of(record_.first_step, rank_).write(slot_of_copy(record_, copies_++, rank_), copy);
        return true;
    }

private:
    const StreamRecord& record_;
    OpenObjects<Array> arrays_;
    KeyValue overflow_;
    std::uint32_t rank_;
    ObjectsReach reach_;
    std::uint64_t copies_ = 0;
};

class AlignedReader final : public LayoutReader {
public:
    explicit AlignedReader(const LayoutContext& context)
        : record_(context.record), arrays_(context),
          overflow_(context.container.key_value(record_.side, Access::read_only)), collector_(context)
    {
    }

    bool fetch(std::uint64_t step, StepMetadata& into) override
    {
        collector_.begin(step);
        const std::uint32_t first = collector_.missing();
        if (first < collector_.in_sight() && !is_stored(record_, step)) { // one request while it is awaited
            read_slots(step, first, first + 1);
            if (collector_.missing() == first) return false;
        }
        do {
            read_slots(step, collector_.missing(), collector_.in_sight());
            if (collector_.missing() < collector_.in_sight()) return false;
        } while (collector_.look_further());
        collector_.finish(into);
        return true;
    }

    void fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepMetadata>& into) override
    {
        if (collector_.in_sight() < collector_.ranks()) return; // no step was seen whole
        std::vector<MetadataCollector> steps = collector_.others(first, count);
        std::vector<MetadataPiece> pieces;
        for (std::uint64_t i = 0; i < count; ++i)
            add_slots(steps[i], first + i, 0, record_.ranks, pieces);
        try {
            requests_ += arrays_.read(pieces);
            for (const MetadataPiece& piece : pieces) {
                MetadataCollector& collector = steps[piece.step - first];
                accept(collector, piece.step, piece.rank, piece.memory);
                if (!collector.has(piece.rank)) return;
                if (piece.rank + 1 < record_.ranks) continue;
                collector_.expect_like(collector);
                collector.finish(into.emplace_back());
            }
        } catch (const Error&) { // the step's own turn tells it
        }
    }

    std::optional<std::vector<std::byte>> raw_metadata(std::uint64_t step, std::uint32_t rank) override
    {
        return read_slot(step, rank, record_.chunk_size);
    }

    std::vector<std::vector<std::byte>> copies(std::uint32_t rank) override
    {
        if (record_.begins_at_0()) return {};
        std::vector<std::vector<std::byte>> found;
        std::vector<MetadataPiece> pieces;
        for (std::uint64_t number = 0; number < rows_of_copies; ++number) {
            const std::uint64_t at = slot_of_copy(record_, number, rank);
            found.emplace_back(arrays_.there(record_.first_step, rank, at, record_.chunk_size));
            pieces.push_back({record_.first_step, rank, at, found.back()});
        }
        requests_ += arrays_.read(pieces);
        return found;
    }

private:
    // What lies in the slot, or elsewhere, looked for in the first `most` bytes.
    std::optional<std::vector<std::byte>> read_slot(std::uint64_t step, std::uint32_t rank,
                                                    std::uint64_t most)
    {
        const std::uint64_t at = slot_at(record_, step, rank);
        std::vector<std::byte> metadata(arrays_.there(step, rank, at, std::min(most, record_.chunk_size)));
        const MetadataPiece piece{step, rank, at, metadata};
        requests_ += arrays_.read({&piece, 1});
        MetadataHeader header;
        const MetadataState state = inspect_metadata(metadata, header);
        if (state == MetadataState::absent) return std::nullopt;
        if (state == MetadataState::whole && header.magic == overflow_magic) {
            ++requests_;
            return overflowed_metadata(overflow_, record_, step, rank);
        }
        if (state != MetadataState::header_damaged)
            metadata.resize(std::min<std::uint64_t>(metadata.size(), header.length));
        return metadata;
    }

    // The slots [begin, end) that are missing, in one vector read for each object.
    void read_slots(std::uint64_t step, std::uint32_t begin, std::uint32_t end)
    {
        std::vector<MetadataPiece> pieces;
        add_slots(collector_, step, begin, end, pieces);
        requests_ += arrays_.read(pieces);
        for (const MetadataPiece& piece : pieces)
            accept(collector_, step, piece.rank, piece.memory);
    }

    void add_slots(MetadataCollector& collector, std::uint64_t step, std::uint32_t begin, std::uint32_t end,
                   std::vector<MetadataPiece>& pieces) const
    {
        for (std::uint32_t rank = begin; rank < end; ++rank) {
            if (collector.has(rank)) continue;
            MutableBytes slot = collector.slot(rank);
            slot = slot.first(std::min<std::uint64_t>(slot.size(), record_.chunk_size));
            std::fill_n(slot.begin(), std::min(slot.size(), metadata_header_size),
                        std::byte{0}); // beyond the end nothing is read
            pieces.push_back({step, rank, slot_at(record_, step, rank), slot});
        }
    }

    // Metadata that is larger than expected, elsewhere, or damaged.
    std::optional<std::vector<std::byte>> read_further(MetadataState state, const MetadataHeader& header,
                                                       std::uint64_t step, std::uint32_t rank)
    {
        if (state == MetadataState::whole && header.magic == overflow_magic) {
            ++requests_;
            return overflowed_metadata(overflow_, record_, step, rank);
        }
        if (state == MetadataState::incomplete) {
            auto metadata = read_slot(step, rank, header.length);
            MetadataHeader again;
            if (metadata && inspect_metadata(*metadata, again) == MetadataState::whole) return metadata;
        }
        return find_metadata(step, rank);
    }

    void accept(MetadataCollector& collector, std::uint64_t step, std::uint32_t rank, Bytes slot)
    {
        MetadataHeader header;
        const MetadataState state = inspect_metadata(slot, header);
        if (state == MetadataState::absent) return;
        if (state == MetadataState::whole && header.magic == metadata_magic) {
            require_metadata(state, header, record_.generation, step, rank); // the right one?
            return collector.set(rank, header.length);
        }
        auto metadata = read_further(state, header, step, rank);
        if (!metadata) return;
        open_metadata(*metadata, record_.generation, step, rank);
        collector.set(rank, std::move(*metadata));
    }

    const StreamRecord& record_;
    MetadataArrays arrays_;
    KeyValue overflow_;
    MetadataCollector collector_;
};

void trim_array_aligned(const LayoutContext& context, std::uint64_t end)
{
    const StreamRecord& record = context.record;
    for (std::uint64_t rank = 0; rank < record.ranks; rank += record.ranks_together())
        shorten(context.container.open_array(record.metadata_of(end, static_cast<std::uint32_t>(rank)),
                                             {1, record.chunk_size}),
                slot_at(record, end, 0));
}

} // namespace

const Layout& array_aligned_layout()
{
    static const Layout layout = {
        .name = "array-aligned",
        .number = 6, // 4 had no rows of copies
        .places = MetadataPlaces::slots,
        .chunk_size = 64 << 10,
        .least_chunk_size = metadata_header_size, // of metadata that lies elsewhere
        .rows_of_copies = rows_of_copies,
        .objects_of_machines = true,
        .aggregates = true,
        .writer = &make_layout_writer<AlignedWriter>,
        .reader = &make_layout_reader<AlignedReader>,
        .trim = &trim_array_aligned,
    };
    return layout;
}

} // namespace stepstore::steps

// The layout `array-adaptive`: array objects in slots, several slots in a chunk. A rank writes as in
// `array-aligned`; a reader finds few chunks that are nearly full, as in `array`.
//
// 1. A rank's slot is as large as its metadata was, and an eighth more. No slot crosses the end of a chunk.
//    In the objects of all ranks (single) and of steps (per-step) the slots of a step lie in rank order. Up
//    to 16 chunks the ranks are spread evenly over chunks. With more ranks a chunk has up to 8. A step takes
//    whole chunks, chosen so that they lie on different targets (chunk_choice.h). In the object of a rank
//    (per-writer) its slots lie in step order, as many in a chunk as fit: nobody else writes there.
// 2. The slots are the same for a *row* of steps. Rows begin at the steps 0, 1, 8, 64, 512 ... of the
//    segment: the first step brings definitions and is larger, and metadata may grow. At the steps 0, 8, 64
//    ... all ranks exchange the sizes of their metadata, and each knows all slots. At step 0 each says also
//    how much of its metadata the next steps will have: so step 1 needs no exchange. No other step has a
//    collective. Rank 0 puts the sizes of the slots under "Step<N>-Slots" into the side object.
// 3. A rank stores its metadata with one write that lies within one chunk, so on one target: it is atomic.
//    Metadata that is larger than its slot goes to the side object, under the key of the layout `kv`. Then
//    the slot gets a header alone (magic "SSOV") that says so.
// 4. A step is there when the slots of its row are known and all of them hold a header of this stream,
//    step and rank. A rank may write into a row before rank 0 has put its slots: a reader sees the step
//    later. Slots are never written twice, and rows do not overlap, since each begins where the one before
//    would end if all of its steps were written.
// With Steps=snapshot every step of every row begins at byte 0, and the key is "Slots".
#include "location/find/location.h"
#include "steps/layouts/adaptive_rows.h"
#include "steps/layouts/metadata_objects.h"
#include "steps/layouts/size_exchange.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

namespace stepstore::steps {

namespace {

std::string slots_key(const StreamRecord& record, std::uint64_t step)
{
    return step_key(record, step, "-Slots", "Slots");
}

// The sizes of two slots as one number: of the step, and of those after it.
class SlotSizes {
public:
    static std::uint64_t pack(std::uint64_t now, std::uint64_t then)
    {
        return units(now) << 32 | units(then);
    }
    static std::vector<std::uint64_t> unpack(const std::vector<std::uint64_t>& all, bool then,
                                             std::uint64_t most)
    {
        std::vector<std::uint64_t> sizes;
        for (const std::uint64_t both : all)
            sizes.push_back(std::min((then ? both & UINT32_MAX : both >> 32) * unit, most));
        return sizes;
    }

private:
    static constexpr std::uint64_t unit = 64; // bytes
    static std::uint64_t units(std::uint64_t metadata)
    {
        return std::min<std::uint64_t>(room_for(metadata) / unit,
                                       INT32_MAX); // no number of SizeExchange's own
    }
};

// Of metadata like this one whose definitions and plan are those of an earlier step.
std::uint64_t size_without_news(Bytes metadata)
{
    const MetadataHeader header = header_of(metadata);
    const std::uint64_t rest = std::uint64_t{header.override_bytes} + header.fixed_bytes + header.tail_bytes;
    const std::uint64_t all = rest + header.definitions_bytes + header.plan_bytes;
    const std::uint64_t stored = header.length - metadata_header_size; // compressed: less than all
    return metadata_header_size + (all == 0 ? 0 : rest * stored / all);
}

class AdaptiveWriter final : public LayoutWriter {
public:
    AdaptiveWriter(const LayoutContext& context, Communicator& communicator, std::uint32_t rank)
        : record_(context.record), arrays_(context, Access::read_write),
          side_(context.container.key_value(record_.side)), sizes_(communicator), rank_(rank),
          reach_(context, rank_)
    {
    }
    bool collective() const override { return true; }
    bool meets(std::uint64_t step) const override { return begins_row(step) && step != follower(); }
    void abandon(std::uint64_t step) override
    {
        if (meets(step)) sizes_.fail();
    }
    void finish() override { sizes_.finish(); }

    void store(std::uint64_t step, Bytes metadata) override
    {
        if (meets(step)) begin_rows(step, metadata);
        if (step == follower()) {
            slots_ = next_;
            if (rank_ == 0 && record_.in_place()) put(step, next_row_); // over that of the first
        }
        const std::uint64_t at = slots_.at(step);
        requests_ += reach_.cover(step) + 1;
        arrays_.make_room();
        Array& array = arrays_.of(step, rank_);
        if (metadata.size() <= slots_.size) return array.write(at, metadata);
        ++requests_;
        side_.put(metadata_key(record_, step, rank_), metadata);
        std::byte sealed[metadata_header_size]{};
        store_header(overflow_header(record_, step, rank_, metadata.size()), sealed);
        array.write(at, Bytes(sealed));
    }

private:
    bool begins_row(std::uint64_t step) const
    {
        const std::uint64_t index = step - record_.first_step;
        return row_of(index) == index;
    }
    std::uint64_t follower() const { return record_.first_step + 1; } // of the first: its row is known then

    // Of this step, and at the first also of those after it. What a rank keeps of the others' slots does not
    // grow with their number, except on rank 0 with an object for each.
    void begin_rows(std::uint64_t step, Bytes metadata)
    {
        const bool first = step == record_.first_step;
        if (first) ends_.assign(begins_kept(), 0);
        const std::uint64_t then = first ? size_without_news(metadata) : metadata.size();
        const std::vector<std::uint64_t> all = sizes_.exchange(step, SlotSizes::pack(metadata.size(), then));
        Row row(record_, step, SlotSizes::unpack(all, false, record_.chunk_size), begins());
        slots_ = taken(row);
        if (rank_ == 0) put(step, encode_row(row));
        if (!first) return;
        row = Row(record_, follower(), SlotSizes::unpack(all, true, record_.chunk_size), begins());
        next_ = taken(row);
        if (rank_ != 0) return;
        next_row_ = encode_row(row);
        if (!record_.in_place()) put(follower(), next_row_);
    }

    void put(std::uint64_t first, Bytes row)
    {
        ++requests_;
        side_.put(slots_key(record_, first), row);
    }

    bool of_ranks() const { return record_.objects == Objects::per_writer; }
    std::size_t begins_kept() const { return of_ranks() && rank_ == 0 ? record_.ranks : 1; }
    std::vector<std::uint64_t> begins() const
    {
        if (!of_ranks() || rank_ == 0) return ends_;
        std::vector<std::uint64_t> known(record_.ranks); // those of others are rank 0's matter
        known[rank_] = ends_.front();
        return known;
    }
    Slots taken(const Row& row)
    {
        const Slots mine = row.of(rank_);
        if (begins_kept() == 1)
            ends_.front() = mine.end(row.end());
        else
            ends_ = row.ends();
        return mine;
    }

    const StreamRecord& record_;
    OpenObjects<Array> arrays_;
    KeyValue side_;
    SizeExchange sizes_;
    std::uint32_t rank_;
    ObjectsReach reach_;
    Slots slots_, next_;
    std::vector<std::byte> next_row_; // encoded, on rank 0
    std::vector<std::uint64_t> ends_; // of what was begun so far, in this rank's object, or in each
};

class AdaptiveReader final : public LayoutReader {
public:
    explicit AdaptiveReader(const LayoutContext& context)
        : record_(context.record), arrays_(context),
          side_(context.container.key_value(record_.side, Access::read_only)),
          far_(capabilities_of(context.pool.location()).network)
    {
    }

    bool fetch(std::uint64_t step, StepMetadata& into) override
    {
        const Row* row = find_row(step);
        if (row == nullptr) return false;
        if (awaited_step_ != step) awaited_rank_ = 0;
        awaited_step_ = step;
        const bool looks_first = !is_stored(record_, step) && !(far_ && is_small(*row));
        if (looks_first && !is_there(*row, step, awaited_rank_)) return false;
        std::vector<MetadataPiece> pieces;
        const std::vector<MutableBytes> slots = add_slots(*row, step, into, pieces);
        requests_ += arrays_.read(pieces);
        return collect(step, slots, into);
    }

    void fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepMetadata>& into) override
    {
        try {
            const Row* row = find_row(first);
            if (row == nullptr) return;
            std::vector<StepMetadata> steps(std::min(count, row->end() - first));
            std::vector<std::vector<MutableBytes>> slots;
            std::vector<MetadataPiece> pieces;
            for (std::size_t i = 0; i < steps.size(); ++i)
                slots.push_back(add_slots(*row, first + i, steps[i], pieces));
            requests_ += arrays_.read(pieces);
            for (std::size_t i = 0; i < steps.size(); ++i) {
                if (!collect(first + i, slots[i], steps[i])) return;
                into.push_back(std::move(steps[i]));
            }
        } catch (const Error&) { // the step's own turn tells it
        }
    }

    std::optional<std::vector<std::byte>> raw_metadata(std::uint64_t step, std::uint32_t rank) override
    {
        const Row* row = find_row(step);
        if (row == nullptr) return std::nullopt;
        return metadata_in_slot(*row, step, rank);
    }

private:
    // Bytes of a slot that are read at first, if all of them are too many.
    static constexpr std::uint64_t least_first_guess = 16 << 10;
    // Bytes of a step: from afar fewer are read in vain as fast as a header.
    static constexpr std::uint64_t small_step = 1 << 20;

    static bool is_small(const Row& row)
    {
        return std::accumulate(row.sizes().begin(), row.sizes().end(), std::uint64_t{0}) <= small_step;
    }

    const Row* find_row(std::uint64_t step)
    {
        const std::uint64_t first = record_.first_step + row_of(step - record_.first_step);
        const auto known = rows_.find(first);
        if (known != rows_.end()) return &known->second;
        ++requests_;
        const auto bytes = side_.get(slots_key(record_, first));
        if (!bytes) return nullptr;
        const Row& row = rows_.emplace(first, decode_row(*bytes, first, record_)).first->second;
        expected_.resize(row.sizes().size());
        return &row;
    }

    // Of a slot whose metadata's size is not known: all of it, unless the slots take more than there is.
    std::uint64_t most_at_first(const Row& row, std::uint64_t step, std::span<const std::uint64_t> places)
    {
        const std::uint64_t all = std::accumulate(row.sizes().begin(), row.sizes().end(), std::uint64_t{0});
        const bool known = expected_.front() != 0 || all <= MetadataArrays::much;
        const bool one = record_.objects != Objects::per_writer;
        if (known || (one && arrays_.there(step, 0, places.front(), all) >= all / 2)) return UINT64_MAX;
        return std::max(MetadataArrays::much / record_.ranks, least_first_guess);
    }

    bool is_there(const Row& row, std::uint64_t step, std::uint32_t rank)
    {
        std::byte slot[metadata_header_size]{};
        const MetadataPiece piece{step, rank, row.of(rank).at(step), slot};
        requests_ += arrays_.read({&piece, 1});
        MetadataHeader header;
        return inspect_metadata(slot, header) != MetadataState::absent;
    }

    // The memory for the slots of a step, as far as metadata is expected in them. What to read into it is
    // added to the pieces. Slots with a small gap between them are one piece.
    std::vector<MutableBytes> add_slots(const Row& row, std::uint64_t step, StepMetadata& into,
                                        std::vector<MetadataPiece>& pieces)
    {
        struct Run {
            std::uint32_t rank; // the first
            std::uint64_t at, offset, length;
        };
        std::vector<Run> runs;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> parts; // of the memory: offset and length
        const std::vector<std::uint64_t> places = row.places(step);
        const std::uint64_t first_guess = most_at_first(row, step, places);
        for (std::uint32_t rank = 0; rank < record_.ranks; ++rank) {
            const std::uint64_t at = places[rank], size = row.sizes()[rank];
            const std::uint64_t length = std::min(size, expected_[rank] == 0 ? first_guess : expected_[rank]);
            Run* const last = runs.empty() || record_.objects == Objects::per_writer ? nullptr : &runs.back();
            if (last != nullptr && at - (last->at + last->length) < least_gap)
                last->length = at + length - last->at;
            else
                runs.push_back(
                    {rank, at, runs.empty() ? 0 : runs.back().offset + runs.back().length, length});
            const Run& run = runs.back();
            parts.emplace_back(run.offset + at - run.at, length);
        }
        into.use(spares_, runs.back().offset + runs.back().length);
        into.step = step;
        const MutableBytes memory(into.bytes);
        for (const Run& run : runs)
            pieces.push_back({step, run.rank, run.at, memory.subspan(run.offset, run.length)});
        std::vector<MutableBytes> slots;
        for (const auto& [offset, length] : parts) {
            slots.push_back(memory.subspan(offset, length));
            std::fill_n(slots.back().begin(), metadata_header_size, std::byte{0}); // not read beyond the end
        }
        return slots;
    }

    // False: the metadata of a rank is not there.
    bool collect(std::uint64_t step, std::span<const MutableBytes> slots, StepMetadata& into)
    {
        into.by_rank.resize(record_.ranks);
        for (std::uint32_t rank = 0; rank < record_.ranks; ++rank) {
            MetadataHeader header;
            const MetadataState state = inspect_metadata(slots[rank], header);
            if (state == MetadataState::absent) {
                awaited_rank_ = rank;
                return false;
            }
            if (state == MetadataState::whole && header.magic == metadata_magic) {
                require_metadata(state, header, record_.generation, step, rank);
                into.by_rank[rank] = slots[rank].first(header.length);
            } else { // larger than expected, elsewhere, or damaged
                std::vector<std::byte> metadata =
                    find_metadata(step, rank).value_or(std::vector<std::byte>());
                open_metadata(metadata, record_.generation, step, rank);
                into.set(rank, std::move(metadata));
            }
            expected_[rank] = expected_after(into.of(rank).size());
        }
        into.opened = true;
        return true;
    }

    // Metadata that changes in size mostly does so by little.
    static std::uint64_t expected_after(std::uint64_t size) { return (size + size / 64 + 127) / 64 * 64; }

    // nullopt: there is none. Damaged bytes are given as they are.
    std::optional<std::vector<std::byte>> metadata_in_slot(const Row& row, std::uint64_t step,
                                                           std::uint32_t rank)
    {
        const std::uint64_t at = row.of(rank).at(step);
        std::vector<std::byte> slot(arrays_.there(step, rank, at, row.sizes()[rank]));
        const MetadataPiece piece{step, rank, at, slot};
        requests_ += arrays_.read({&piece, 1});
        MetadataHeader header;
        const MetadataState state = inspect_metadata(slot, header);
        if (state == MetadataState::absent) return std::nullopt;
        if (header.magic == overflow_magic && state != MetadataState::header_damaged) {
            ++requests_;
            return overflowed_metadata(side_, record_, step, rank);
        }
        if (state != MetadataState::header_damaged)
            slot.resize(std::min<std::uint64_t>(slot.size(), header.length));
        return slot;
    }

    const StreamRecord& record_;
    MetadataArrays arrays_;
    KeyValue side_;
    std::map<std::uint64_t, Row> rows_; // by their first steps; few
    std::vector<std::uint64_t>
        expected_; // bytes of each rank's next metadata; 0: not known; empty: no row yet
    bool far_;     // behind a network
    std::uint64_t awaited_step_ = no_step;
    std::uint32_t awaited_rank_ = 0; // the first without metadata, when last looked
    std::shared_ptr<SpareBuffers> spares_ = std::make_shared<SpareBuffers>();
};

void trim_array_adaptive(const LayoutContext& context, std::uint64_t end)
{
    const StreamRecord& record = context.record;
    const std::uint64_t first = record.first_step + row_of(end - 1 - record.first_step);
    const auto bytes = context.container.key_value(record.side).get(slots_key(record, first));
    if (!bytes) return;
    const Row row = decode_row(*bytes, first, record);
    const std::uint32_t objects = record.objects == Objects::per_writer ? record.ranks : 1;
    for (std::uint32_t rank = 0; rank < objects; ++rank)
        shorten(context.container.open_array(record.metadata_of(end, rank), {1, record.chunk_size}),
                row.of(rank).step_at(end));
}

} // namespace

const Layout& array_adaptive_layout()
{
    static const Layout layout = {
        .name = "array-adaptive",
        .number = 5,
        .places = MetadataPlaces::rows,
        .chunk_size = 256 << 10,
        .least_chunk_size = metadata_header_size, // of metadata that lies elsewhere
        .chooses_chunks = true,
        .writer = &make_layout_writer<AdaptiveWriter>,
        .reader = &make_layout_reader<AdaptiveReader>,
        .trim = &trim_array_adaptive,
    };
    return layout;
}

} // namespace stepstore::steps

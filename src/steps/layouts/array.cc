// The layout `array`: one array object, dense. The steps lie one after the other, and in each the metadata in
// rank order.
//
// 1. All ranks exchange the sizes of their metadata (allgather). So each knows the place of its own: after
//    the steps before and the ranks before. A rank that has failed says so instead of a size, and all give
//    the step up.
// 2. Rank 0 puts base and sizes under "Step<N>" into the stream's key-value object. Each rank writes its
//    metadata. The order does not matter.
// 3. A step is there when its sizes are there and every rank's metadata is whole in its place. Metadata
//    carries a header and a checksum, and places are never written twice. So a reader can tell, and the
//    writers need no second exchange.
//
// With Steps=snapshot every step lies at the beginning, under the key "Sizes".
//
// A rank's metadata may lie on two targets, so a reader can meet it half-written. The next step tells it from
// damage: its sizes are put only after an allgather that every rank enters with the metadata before stored.
// Where there is no next step, and the stream is not closed, the step is not there yet.
#include "base/record.h"
#include "location/find/location.h"
#include "steps/layouts/metadata_objects.h"
#include "steps/layouts/size_exchange.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <utility>

namespace stepstore::steps {

namespace {

constexpr std::uint32_t sizes_magic = 0x5a535353; // "SSSZ"

std::string sizes_key(const StreamRecord& record, std::uint64_t step)
{
    return step_key(record, step, "", "Sizes");
}

struct Sizes {
    std::vector<std::uint64_t> places;  // of the ranks' metadata, each in its object
    std::vector<std::uint64_t> offsets; // of the metadata one after the other; ranks + 1
};

// Where the metadata of the next step lies. With an object for each step, or all steps in one place, it
// begins at 0. With one for each rank, after what that rank has stored.
class Places {
public:
    explicit Places(const StreamRecord& record) : record_(record), next_(record.ranks) {}
    // Of a step with these sizes; the step after it follows.
    std::vector<std::uint64_t> take(std::span<const std::uint64_t> sizes)
    {
        std::vector<std::uint64_t> places = next_;
        if (record_.objects == Objects::per_writer) {
            for (std::size_t rank = 0; rank < sizes.size() && !record_.in_place(); ++rank)
                next_[rank] += sizes[rank];
            return places;
        }
        std::uint64_t at = record_.begins_at_0() ? 0 : end_;
        for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
            places[rank] = at;
            at += sizes[rank];
        }
        end_ = at;
        return places;
    }

private:
    const StreamRecord& record_;
    std::vector<std::uint64_t> next_; // of each rank, per-writer
    std::uint64_t end_ = 0;
};

std::vector<std::byte> encode_sizes(std::uint64_t step, std::span<const std::uint64_t> places,
                                    std::span<const std::uint64_t> sizes, Objects objects)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(sizes_magic);
    to.fixed(step);
    to.fixed(places.front());
    for (const std::uint64_t size : sizes)
        to.varint(size);
    if (objects == Objects::per_writer)
        for (const std::uint64_t place : places.subspan(1))
            to.varint(place);
    append_checksum(bytes);
    return bytes;
}

Sizes decode_sizes(Bytes bytes, std::uint64_t step, const StreamRecord& record)
{
    const std::string what = "the record of the sizes of the metadata of step " + std::to_string(step);
    const auto body = unseal_end(bytes);
    if (!body)
        throw Error(-DER_CSUM,
                    what + " is damaged: its checksum does not match; this step cannot be read, others can");
    WireReader from(*body, what);
    if (from.fixed<std::uint32_t>() != sizes_magic || from.fixed<std::uint64_t>() != step)
        from.fail("does not begin with its magic number");
    Sizes sizes;
    sizes.places.push_back(from.fixed<std::uint64_t>());
    std::uint64_t sum = 0;
    for (std::uint32_t rank = 0; rank < record.ranks; ++rank) {
        sizes.offsets.push_back(sum);
        if (__builtin_add_overflow(sum, from.varint(), &sum) || sum > static_cast<std::uint64_t>(INT64_MAX))
            from.fail("gives impossible sizes");
    }
    sizes.offsets.push_back(sum);
    for (std::uint32_t rank = 1; rank < record.ranks; ++rank)
        sizes.places.push_back(record.objects == Objects::per_writer
                                   ? from.varint()
                                   : sizes.places.front() + sizes.offsets[rank]);
    for (std::uint32_t rank = 0; rank < record.ranks; ++rank)
        if (sizes.places[rank] > static_cast<std::uint64_t>(INT64_MAX) - sum)
            from.fail("gives impossible places");
    if (!from.at_end()) from.fail("has bytes left over");
    return sizes;
}

class ArrayWriter final : public LayoutWriter {
public:
    ArrayWriter(const LayoutContext& context, Communicator& communicator, std::uint32_t rank)
        : record_(context.record), arrays_(context, Access::read_write),
          sizes_(context.container.key_value(record_.side)), exchange_(communicator), rank_(rank),
          places_(record_), reach_(context, rank_)
    {
        if (rank_ == 0 && capabilities_of(context.pool.location()).network)
            queue_ = context.pool.event_queue();
    }
    bool collective() const override { return true; }
    void abandon(std::uint64_t /*step*/) override { exchange_.fail(); }
    void finish() override { exchange_.finish(); }

    void store(std::uint64_t step, Bytes metadata) override
    {
        const std::vector<std::uint64_t> sizes = exchange_.exchange(step, metadata.size());
        const std::vector<std::uint64_t> places = places_.take(sizes);
        requests_ += reach_.cover(step) + 1;
        arrays_.make_room();
        Array& array = arrays_.of(step, rank_);
        if (rank_ != 0) return array.write(places[rank_], metadata);
        ++requests_;
        const std::string key = sizes_key(record_, step);
        const std::vector<std::byte> record = encode_sizes(step, places, sizes, record_.objects);
        if (!queue_) {
            array.write(places[rank_], metadata);
            return sizes_.put(key, record);
        }
        Pending told = sizes_.put(*queue_, key, record); // under way together
        array.write(places[rank_], metadata);
        told.wait();
    }

private:
    const StreamRecord& record_;
    OpenObjects<Array> arrays_;
    KeyValue sizes_;
    std::optional<EventQueue> queue_; // where a round trip costs more than a thread
    SizeExchange exchange_;
    std::uint32_t rank_;
    Places places_;
    ObjectsReach reach_;
};

class ArrayReader final : public LayoutReader {
public:
    explicit ArrayReader(const LayoutContext& context)
        : record_(context.record), arrays_(context),
          sizes_(context.container.key_value(record_.side, Access::read_only)),
          queue_(context.pool.event_queue()), together_(sizes_.asks_for_many())
    {
    }

    bool fetch(std::uint64_t step, StepMetadata& into) override
    {
        if (!find_sizes(step)) return false;
        if (!has_room(step, known_)) {
            if (!must_be_whole(step)) return false;
            if (!has_room(step, known_)) // they were not just stored
                throw Error(-DER_CSUM, "the metadata of step " + std::to_string(step) + " should take " +
                                           std::to_string(known_.offsets.back()) +
                                           " bytes, and their objects end before: this step cannot be read, "
                                           "others can");
        }
        std::vector<MetadataPiece> pieces;
        add_metadata(step, known_, into, pieces);
        requests_ += arrays_.read(pieces);
        for (std::uint32_t rank = 0; rank < record_.ranks; ++rank) {
            MetadataHeader header;
            MetadataState state = inspect_metadata(into.of(rank), header);
            if (state != MetadataState::whole) {
                if (!must_be_whole(step)) return false;
                reread(into, rank);
                state = inspect_metadata(into.of(rank), header);
            }
            require_metadata(state, header, record_.generation, step, rank);
        }
        into.opened = true;
        return true;
    }

    void fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepMetadata>& into) override
    {
        if (std::exchange(not_there_, no_step) == first) return;
        try {
            std::vector<Sizes> sizes = get_sizes(first, count);
            for (std::size_t i = 0; i < sizes.size(); ++i)
                if (!has_room(first + i, sizes[i])) sizes.resize(i);
            std::vector<StepMetadata> steps(sizes.size());
            std::vector<MetadataPiece> pieces;
            for (std::size_t i = 0; i < steps.size(); ++i)
                add_metadata(first + i, sizes[i], steps[i], pieces);
            requests_ += arrays_.read(pieces);
            for (StepMetadata& fetched : steps) {
                for (std::uint32_t rank = 0; rank < record_.ranks; ++rank)
                    open_metadata(fetched.of(rank), record_.generation, fetched.step, rank);
                fetched.opened = true;
                into.push_back(std::move(fetched));
            }
        } catch (const Error&) { // not whole yet, or damaged: the step's own turn tells it
        }
    }

    std::optional<std::vector<std::byte>> raw_metadata(std::uint64_t step, std::uint32_t rank) override
    {
        if (!find_sizes(step)) return std::nullopt;
        const std::uint64_t size = known_.offsets[rank + 1] - known_.offsets[rank];
        std::vector<std::byte> metadata(arrays_.there(step, rank, known_.places[rank], size));
        const MetadataPiece piece{step, rank, known_.places[rank], metadata};
        requests_ += arrays_.read({&piece, 1});
        MetadataHeader header;
        if (inspect_metadata(metadata, header) == MetadataState::absent) return std::nullopt;
        return metadata;
    }

private:
    // With them it looks whether the next step has begun, where that is no further request.
    bool find_sizes(std::uint64_t step)
    {
        if (known_step_ == step) return true;
        ++requests_;
        const std::string key = sizes_key(record_, step), next = sizes_key(record_, step + 1);
        const std::array<std::string_view, 2> keys = {key, next};
        std::vector<std::optional<std::vector<std::byte>>> found;
        try {
            found = sizes_.get_many(std::span(keys).first(together_ ? 2 : 1));
        } catch (const Error& error) {
            if (error.code() != -DER_CSUM) throw;
            found.push_back(sizes_.get(key)); // the next one may be the damaged one
        }
        const auto& bytes = found.front();
        not_there_ = found.size() == 2 && !found.back() ? step + 1 : no_step;
        if (!bytes) return false;
        room_for_sizes_ = bytes->size() + bytes->size() / 8 + 64;
        known_ = decode_sizes(*bytes, step, record_);
        known_step_ = step;
        return true;
    }

    // Whether the objects reach as far as the sizes say. Those of little are not looked at.
    bool has_room(std::uint64_t step, const Sizes& sizes)
    {
        const std::uint64_t all = sizes.offsets.back();
        if (all <= MetadataArrays::much) return true;
        if (record_.objects != Objects::per_writer)
            return arrays_.there(step, 0, sizes.places.front(), all) == all;
        for (std::uint32_t rank = 0; rank < record_.ranks; ++rank) {
            const std::uint64_t one = sizes.offsets[rank + 1] - sizes.offsets[rank];
            if (one <= MetadataArrays::much / record_.ranks) continue;
            const std::uint64_t reach = std::max(one, MetadataArrays::much + 1);
            if (arrays_.there(step, rank, sizes.places[rank], reach) < one) return false;
        }
        return true;
    }

    // Whether every rank has stored its metadata of the step, by what came after.
    bool must_be_whole(std::uint64_t step)
    {
        if (is_stored(record_, step)) return true;
        ++requests_;
        return sizes_.get(sizes_key(record_, step + 1)).has_value();
    }

    // Those of a row of steps, in flight together, up to the first that is not there, or that takes more room
    // than the last one known.
    std::vector<Sizes> get_sizes(std::uint64_t first, std::uint64_t count)
    {
        struct Request {
            std::string key;
            std::vector<std::byte> value;
            std::size_t size;
            Pending pending;
        };
        std::deque<Request> requests; // addresses stay
        for (std::uint64_t i = 0; i < count; ++i) {
            Request& one =
                requests.emplace_back(sizes_key(record_, first + i), std::vector<std::byte>(room_for_sizes_),
                                      room_for_sizes_, Pending{});
            one.pending = sizes_.get_into(queue_, one.key, one.value.data(), &one.size);
            ++requests_;
        }
        for (Request& one : requests) {
            try {
                one.pending.wait();
            } catch (const Error& error) {
                if (error.code() != -DER_REC2BIG) throw;
            }
        }
        std::vector<Sizes> found;
        for (const Request& one : requests) {
            if (one.size == 0 || one.size > one.value.size()) break;
            found.push_back(decode_sizes(Bytes(one.value).first(one.size), first + found.size(), record_));
        }
        return found;
    }

    static MetadataPiece piece_of(const Sizes& sizes, StepMetadata& into, std::uint32_t rank)
    {
        return {into.step, rank, sizes.places[rank],
                MutableBytes(into.bytes)
                    .subspan(sizes.offsets[rank], sizes.offsets[rank + 1] - sizes.offsets[rank])};
    }

    // Ranks whose metadata lies one after the other are one piece.
    void add_metadata(std::uint64_t step, const Sizes& sizes, StepMetadata& into,
                      std::vector<MetadataPiece>& pieces) const
    {
        into.use(spares_, sizes.offsets.back());
        into.step = step;
        for (std::uint32_t rank = 0; rank < record_.ranks; ++rank) {
            const MutableBytes metadata = piece_of(sizes, into, rank).memory;
            const std::size_t head = std::min(metadata.size(), metadata_header_size);
            std::fill_n(metadata.begin(), head, std::byte{0}); // beyond the end nothing is read
            into.by_rank.emplace_back(metadata);
        }
        if (record_.objects != Objects::per_writer)
            pieces.push_back(
                {step, 0, sizes.places.front(), MutableBytes(into.bytes).first(sizes.offsets.back())});
        else
            for (std::uint32_t rank = 0; rank < record_.ranks; ++rank)
                pieces.push_back(piece_of(sizes, into, rank));
    }

    // The rank may have stored its metadata between the first read and the look at the next step.
    void reread(StepMetadata& into, std::uint32_t rank)
    {
        const MetadataPiece piece = piece_of(known_, into, rank);
        requests_ += arrays_.read({&piece, 1});
    }

    const StreamRecord& record_; // the reader keeps it up to date
    MetadataArrays arrays_;
    KeyValue sizes_;
    EventQueue queue_;
    bool together_; // it reads two keys with one request
    std::size_t room_for_sizes_ = 256;
    std::uint64_t known_step_ = no_step;
    std::uint64_t not_there_ = no_step; // the step after it, when it was found
    Sizes known_;
    std::shared_ptr<SpareBuffers> spares_ = std::make_shared<SpareBuffers>();
};

void trim_array(const LayoutContext& context, std::uint64_t end)
{
    const auto bytes =
        context.container.key_value(context.record.side).get(sizes_key(context.record, end - 1));
    if (!bytes) return;
    const Sizes last = decode_sizes(*bytes, end - 1, context.record);
    const bool of_ranks = context.record.objects == Objects::per_writer;
    for (std::uint32_t rank = of_ranks ? 0 : context.record.ranks - 1; rank < context.record.ranks; ++rank)
        shorten(context.container.open_array(context.record.metadata_of(end, rank),
                                             {1, context.record.chunk_size}),
                last.places[rank] + last.offsets[rank + 1] - last.offsets[rank]);
}

} // namespace

const Layout& array_layout()
{
    static const Layout layout = {
        .name = "array",
        .number = 3,
        .places = MetadataPlaces::dense,
        .writer = &make_layout_writer<ArrayWriter>,
        .reader = &make_layout_reader<ArrayReader>,
        .trim = &trim_array,
    };
    return layout;
}

} // namespace stepstore::steps

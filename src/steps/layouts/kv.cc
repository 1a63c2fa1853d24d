// The layout `kv`: a key "Step<N>-Rank<R>" for the metadata of each rank and step: in the side object, or in
// key-value objects of steps or ranks.
//
// 1. A rank stores its metadata with one put, which is atomic; no rank waits for another.
// 2. A step is there when all ranks' keys are. A reader that polls asks for one key, the first that it has
//    not seen.
// Keys are never written twice (a stream's object is fresh), so a key that is there stays as it is. With
// Steps=snapshot each step is put over the one before, under keys without its number.
#include "steps/layouts/metadata_objects.h"

#include <deque>
#include <optional>

namespace stepstore::steps {

namespace {

// One object for all is the side object.
class KvObjects {
public:
    KvObjects(const LayoutContext& context, Access access) : objects_(context, access)
    {
        if (context.record.objects == Objects::single)
            side_ = context.container.key_value(context.record.side, access);
    }
    KeyValue& of(std::uint64_t step, std::uint32_t rank) { return side_ ? *side_ : objects_.of(step, rank); }
    void make_room() { objects_.make_room(); }

private:
    OpenObjects<KeyValue> objects_;
    std::optional<KeyValue> side_;
};

class KvWriter final : public LayoutWriter {
public:
    KvWriter(const LayoutContext& context, Communicator& /*communicator*/, std::uint32_t rank)
        : record_(context.record), key_values_(context, Access::read_write), rank_(rank),
          reach_(context, rank_)
    {
    }
    void store(std::uint64_t step, Bytes metadata) override
    {
        requests_ += reach_.cover(step) + 1;
        key_values_.make_room();
        key_values_.of(step, rank_).put(metadata_key(record_, step, rank_), metadata);
    }

private:
    const StreamRecord& record_;
    KvObjects key_values_;
    std::uint32_t rank_;
    ObjectsReach reach_;
};

class KvReader final : public LayoutReader {
public:
    explicit KvReader(const LayoutContext& context)
        : record_(context.record), key_values_(context, Access::read_only),
          queue_(context.pool.event_queue()), collector_(context)
    {
    }

    bool fetch(std::uint64_t step, StepMetadata& into) override
    {
        collector_.begin(step);
        key_values_.make_room();
        if (collector_.missing() < collector_.in_sight() && !get(step, collector_.missing())) return false;
        do {
            get_missing({&collector_, 1}, step);
            if (collector_.missing() < collector_.in_sight()) return false;
        } while (collector_.look_further());
        collector_.finish(into);
        return true;
    }

    void fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepMetadata>& into) override
    {
        if (collector_.in_sight() < collector_.ranks()) return; // no step was seen whole
        key_values_.make_room();
        std::vector<MetadataCollector> steps = collector_.others(first, count);
        try {
            get_missing(steps, first);
            for (MetadataCollector& one : steps) {
                if (one.missing() < one.ranks()) return;
                collector_.expect_like(one);
                one.finish(into.emplace_back());
            }
        } catch (const Error&) { // the step's own turn tells it
        }
    }

    std::optional<std::vector<std::byte>> raw_metadata(std::uint64_t step, std::uint32_t rank) override
    {
        ++requests_;
        return key_values_.of(step, rank).get(metadata_key(record_, step, rank));
    }

private:
    bool get(std::uint64_t step, std::uint32_t rank)
    {
        ++requests_;
        const auto size =
            key_values_.of(step, rank).get_into(metadata_key(record_, step, rank), collector_.slot(rank));
        if (!size || *size == 0) return false;
        accept(collector_, step, rank, *size);
        return true;
    }

    void accept(MetadataCollector& collector, std::uint64_t step, std::uint32_t rank, std::size_t size)
    {
        if (size <= collector.slot(rank).size()) {
            open_metadata(collector.slot(rank).first(size), record_.generation, step, rank);
            return collector.set(rank, size);
        }
        std::vector<std::byte> metadata = fetch_metadata(step, rank);
        open_metadata(metadata, record_.generation, step, rank);
        collector.set(rank, std::move(metadata));
    }

    // What is missing of the steps from `first` on, in flight together.
    void get_missing(std::span<MetadataCollector> collectors, std::uint64_t first)
    {
        struct Request {
            std::size_t step; // from the first on
            std::uint32_t rank;
            std::string key;
            std::size_t size;
            Pending pending;
        };
        std::deque<Request> requests; // addresses stay
        const auto get = [&](std::size_t i, std::uint32_t rank) {
            const std::uint64_t step = first + i;
            const MutableBytes slot = collectors[i].slot(rank);
            Request& request =
                requests.emplace_back(i, rank, metadata_key(record_, step, rank), slot.size(), Pending{});
            request.pending =
                key_values_.of(step, rank).get_into(queue_, request.key, slot.data(), &request.size);
            ++requests_;
        };
        for (std::size_t i = 0; i < collectors.size(); ++i)
            for (std::uint32_t rank = collectors[i].missing(); rank < collectors[i].in_sight(); ++rank)
                if (!collectors[i].has(rank)) get(i, rank);
        for (Request& request : requests) {
            try {
                request.pending.wait();
            } catch (const Error& error) {
                if (error.code() != -DER_REC2BIG) throw; // its size is known now
            }
        }
        for (const Request& request : requests)
            if (request.size != 0)
                accept(collectors[request.step], first + request.step, request.rank, request.size);
    }

    const StreamRecord& record_;
    KvObjects key_values_;
    EventQueue queue_;
    MetadataCollector collector_;
};

void trim_kv(const LayoutContext& context, std::uint64_t end)
{
    if (context.record.objects != Objects::per_writer) return; // trim_steps does it
    for (std::uint32_t rank = 0; rank < context.record.ranks; ++rank) {
        KeyValue keys = context.container.key_value(context.record.metadata_of(end, rank));
        trim_keys(keys, end);
    }
}

} // namespace

const Layout& kv_layout()
{
    static const Layout layout = {
        .name = "kv",
        .number = 2,
        .places = MetadataPlaces::values,
        .metadata_type = ObjectType::key_value,
        .aggregates = true,
        .writer = &make_layout_writer<KvWriter>,
        .reader = &make_layout_reader<KvReader>,
        .trim = &trim_kv,
    };
    return layout;
}

} // namespace stepstore::steps

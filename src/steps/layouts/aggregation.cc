#include "steps/layouts/aggregation.h"

#include "base/wire.h"
#include "steps/layouts/hand_over.h"
#include "steps/metadata/bundle.h"

#include <algorithm>
#include <utility>

namespace stepstore::steps {

namespace {

std::uint32_t ranks_in(const StreamRecord& record, std::uint32_t row)
{
    return std::min(record.ranks_per_aggregator, record.ranks - row * record.ranks_per_aggregator);
}

// What the layout works on. It refers to itself, so it stays where it is.
struct Rows {
    explicit Rows(const LayoutContext& context)
        : record(record_of_rows(context.record)),
          as_ranks{context.pool, context.container, record, context.expected_size}
    {
    }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    StreamRecord record;
    LayoutContext as_ranks;
};

// A rank hands over how many copies it has, their lengths, the copies, and the metadata.
void put_together(std::span<const std::vector<std::byte>> copies, Bytes metadata,
                  std::vector<std::byte>& into)
{
    into.clear();
    WireWriter to(into);
    to.varint(copies.size());
    for (const auto& copy : copies)
        to.varint(copy.size());
    for (const auto& copy : copies)
        to.bytes(copy);
    to.bytes(metadata);
}

struct OfRank {
    std::vector<Bytes> copies;
    Bytes metadata;
};

OfRank taken_apart(Bytes from_rank)
{
    WireReader from(from_rank, "what a rank handed over to its aggregator");
    OfRank found;
    std::vector<std::uint64_t> lengths(from.counted(1));
    for (std::uint64_t& length : lengths)
        length = from.varint();
    for (const std::uint64_t length : lengths)
        found.copies.push_back(from.bytes(length));
    found.metadata = from.bytes(from.left());
    return found;
}

class AggregatingWriter final : public LayoutWriter {
public:
    AggregatingWriter(const LayoutContext& context, Communicator& communicator)
        : record_(context.record),
          row_(static_cast<std::uint32_t>(communicator.rank()) / context.record.ranks_per_aggregator),
          hand_over_(communicator, {static_cast<int>(row_ * record_.ranks_per_aggregator),
                                    static_cast<int>(ranks_in(record_, row_))}),
          takes_copies_(layout_of(record_).rows_of_copies > 0 && !record_.begins_at_0())
    {
        if (!hand_over_.is_first()) return;
        rows_.emplace(context);
        bundles_ = layout_of(record_).writer(rows_->as_ranks, communicator, row_);
        side_ = context.container.key_value(record_.side);
    }
    bool collective() const override { return true; }
    bool meets(std::uint64_t /*step*/) const override { return ranks_in(record_, row_) > 1; }

    bool store_copy(Bytes copy) override
    {
        // As much as a slot has room for from each rank.
        const std::uint64_t least =
            bundle_overhead(record_.ranks_per_aggregator) / record_.ranks_per_aggregator + 1;
        if (!takes_copies_ || copy.size() + least > record_.chunk_size) return false;
        copies_.emplace_back(copy.begin(), copy.end());
        return true;
    }

    void store(std::uint64_t step, Bytes metadata) override
    {
        put_together(copies_, metadata, mine_);
        copies_.clear();
        hand_over_.store(step, mine_, [&](const HandedOver& all) { store_all(step, all); });
    }

    void abandon(std::uint64_t step) override
    {
        copies_.clear();
        hand_over_.abandon(step);
    }
    void finish() override { hand_over_.finish(); }

private:
    // The copies before the metadata that refers to them.
    void store_all(std::uint64_t step, const HandedOver& all)
    {
        std::vector<OfRank> of_ranks;
        std::vector<Bytes> metadata;
        std::size_t most = 0; // copies
        for (std::size_t i = 0; i < all.ranks(); ++i) {
            of_ranks.push_back(taken_apart(all.of(i)));
            metadata.push_back(of_ranks.back().metadata);
            most = std::max(most, of_ranks.back().copies.size());
        }
        for (std::size_t number = 0; number < most; ++number) {
            std::vector<Bytes> copies;
            for (const OfRank& one : of_ranks)
                copies.push_back(number < one.copies.size() ? one.copies[number] : Bytes());
            store_copies(step, copies);
        }
        bundles_->store(step, bundle_of(record_.generation, step, row_, metadata));
        requests_ = bundles_->requests();
    }

    void store_copies(std::uint64_t step, std::span<const Bytes> copies)
    {
        if (bundles_->store_copy(bundle_of(record_.generation, step, row_, copies))) return;
        for (const Bytes copy : copies)
            if (!copy.empty()) side_->put(copy_key(header_of(copy)), copy);
    }

    const StreamRecord& record_;
    std::uint32_t row_;
    HandOver hand_over_;
    bool takes_copies_;
    std::vector<std::vector<std::byte>> copies_; // for the step that is next
    std::vector<std::byte> mine_;
    // Of the aggregator.
    std::optional<Rows> rows_;
    std::unique_ptr<LayoutWriter> bundles_;
    std::optional<KeyValue> side_;
};

class AggregatingReader final : public LayoutReader {
public:
    explicit AggregatingReader(const LayoutContext& context)
        : record_(context.record), rows_(context), bundles_(layout_of(record_).reader(rows_.as_ranks))
    {
    }

    bool fetch(std::uint64_t step, StepMetadata& into) override
    {
        bring_up_to_date();
        StepMetadata found;
        if (!fetch_bundles(step, found)) return false;
        unbundle(found);
        into = std::move(found);
        return true;
    }

    void fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepMetadata>& into) override
    {
        bring_up_to_date();
        std::vector<StepMetadata> found;
        bundles_->fetch_ahead(first, count, found);
        requests_ = bundles_->requests();
        try {
            for (StepMetadata& one : found) {
                unbundle(one);
                into.push_back(std::move(one));
            }
        } catch (const Error&) { // the step's own turn tells it
        }
    }

    // Of a bundle that is damaged, all of it.
    std::optional<std::vector<std::byte>> raw_metadata(std::uint64_t step, std::uint32_t rank) override
    {
        bring_up_to_date();
        const std::uint32_t row = rank / record_.ranks_per_aggregator;
        if (!known_ || known_->step != step || known_->row != row) {
            known_.reset();
            auto bundle = bundles_->raw_metadata(step, row);
            requests_ = bundles_->requests();
            if (!bundle) return std::nullopt;
            MetadataHeader header;
            if (inspect_metadata(*bundle, header) != MetadataState::whole) return bundle;
            known_ = Known{step, row, header, std::move(*bundle)};
        }
        const Bytes metadata = metadata_of(known_->bundle, known_->header, row)[rank - first_of(row)];
        return std::vector<std::byte>(metadata.begin(), metadata.end());
    }

    std::vector<std::vector<std::byte>> copies(std::uint32_t rank) override
    {
        const std::uint32_t row = rank / record_.ranks_per_aggregator;
        std::vector<std::vector<std::byte>> found;
        for (const std::vector<std::byte>& bundle : bundles_->copies(row)) {
            MetadataHeader header;
            if (inspect_metadata(bundle, header) != MetadataState::whole) continue;
            const Bytes copy = metadata_of(bundle, header, row)[rank - first_of(row)];
            found.emplace_back(copy.begin(), copy.end());
        }
        return found;
    }

    bool published(std::uint64_t step) override
    {
        bring_up_to_date();
        return bundles_->published(step);
    }

private:
    std::uint32_t first_of(std::uint32_t row) const { return row * record_.ranks_per_aggregator; }

    // What changes in a record while a stream is written.
    void bring_up_to_date()
    {
        rows_.record.closed = record_.closed;
        rows_.record.steps = record_.steps;
    }

    std::string name_of(std::uint64_t step, std::uint32_t row) const
    {
        const std::uint32_t first = first_of(row), ranks = ranks_in(record_, row);
        if (ranks == 1) return step_rank(step, first);
        return "step " + std::to_string(step) + ", ranks " + std::to_string(first) + " to " +
               std::to_string(first + ranks - 1);
    }

    std::vector<Bytes> metadata_of(Bytes bundle, const MetadataHeader& header, std::uint32_t row) const
    {
        return metadata_in(bundle, header, ranks_in(record_, row), [&] { return name_of(header.step, row); });
    }

    // The layout names rows as if they were ranks. So which are damaged is looked for again.
    bool fetch_bundles(std::uint64_t step, StepMetadata& found)
    {
        try {
            const bool there = bundles_->fetch(step, found);
            requests_ = bundles_->requests();
            return there;
        } catch (const Error& error) {
            if (error.code() == -DER_CSUM || error.code() == -DER_DF_INVAL) name_damage(step);
            throw;
        }
    }

    void name_damage(std::uint64_t step)
    {
        for (std::uint32_t row = 0; row < rows_.record.ranks; ++row) {
            const auto bundle = bundles_->find_metadata(step, row);
            if (!bundle) return;
            MetadataHeader header;
            const MetadataState state = inspect_metadata(*bundle, header);
            require_metadata(state, header, record_.generation, step, row, name_of(step, row));
        }
    }

    // Puts ranks in the place of rows. The payloads were verified with those of the bundles.
    void unbundle(StepMetadata& found) const
    {
        std::vector<Bytes> by_rank;
        for (std::uint32_t row = 0; row < found.ranks(); ++row) {
            const Bytes bundle = found.of(row);
            for (const Bytes metadata : metadata_of(bundle, header_of(bundle), row)) {
                require_metadata(MetadataState::whole, header_of(metadata), record_.generation, found.step,
                                 static_cast<std::uint32_t>(by_rank.size()));
                by_rank.push_back(metadata);
            }
        }
        found.by_rank = std::move(by_rank);
    }

    struct Known { // a whole one
        std::uint64_t step;
        std::uint32_t row;
        MetadataHeader header;
        std::vector<std::byte> bundle;
    };
    const StreamRecord& record_;
    Rows rows_;
    std::unique_ptr<LayoutReader> bundles_;
    std::optional<Known> known_;
};

} // namespace

std::uint32_t usual_ranks_per_aggregator(std::uint32_t ranks, std::uint32_t of_a_machine)
{
    constexpr std::uint32_t many = 1024, together = 16, few = 8;
    if (ranks < many) return 1;
    if (of_a_machine <= together) return together / of_a_machine * of_a_machine;
    for (std::uint32_t part = together; part >= few; --part)
        if (of_a_machine % part == 0) return part;
    return together;
}

StreamRecord record_of_rows(const StreamRecord& record)
{
    const std::uint32_t together = record.ranks_per_aggregator;
    const auto rows_of = [&](std::uint32_t ranks) {
        return ranks / together + (ranks % together != 0 ? 1 : 0);
    };
    StreamRecord rows = record;
    rows.ranks = rows_of(record.ranks);
    rows.ranks_per_object = rows_of(record.ranks_per_object);
    rows.ranks_per_aggregator = 0;
    rows.chunk_size = record.chunk_size * std::min(together, record.ranks);
    return rows;
}

std::unique_ptr<LayoutWriter> aggregating_writer(const LayoutContext& context, Communicator& communicator)
{
    return std::make_unique<AggregatingWriter>(context, communicator);
}

std::unique_ptr<LayoutReader> aggregating_reader(const LayoutContext& context)
{
    return std::make_unique<AggregatingReader>(context);
}

} // namespace stepstore::steps

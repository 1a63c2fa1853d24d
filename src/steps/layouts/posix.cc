// The layout `posix`: the baseline of the references. Rank 0 gathers all metadata of a step and appends it to
// one file; data lies in files per writer rank (data_files.h). All below the pool's directory:
// files/<container>/<generation>/{metadata,index,blocks.<rank>,sums.<rank>}.
//
// 1. All ranks hand their metadata over to rank 0 (hand_over.h).
// 2. Rank 0 appends the metadata to `metadata`. Then it appends one entry of 64 bytes with its own checksum
//    to `index`. Entry N is step N, counted from the first step of the segment.
// 3. A step is there when its entry is there, whole. An entry at the end that is cut off is still being
//    written, or its writer died.
//
// In a pool that survives power failures every rank syncs its data before it hands over its metadata. Rank 0
// syncs `metadata` before it writes the entry, and the entry before it tells that the step is stored.
#include "base/record.h"
#include "base/second_look.h"
#include "base/system_error.h"
#include "base/time_source.h"
#include "steps/file.h"
#include "steps/layouts/data_files.h"
#include "steps/layouts/hand_over.h"
#include "steps/layouts/layout.h"
#include "steps/pool_directory.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::uint32_t index_magic = 0x58495353; // "SSIX"
constexpr std::size_t entry_size = 64;

struct IndexEntry {
    std::uint32_t ranks = 0;
    std::uint64_t generation = 0;
    std::uint64_t step = 0;
    std::uint64_t offset = 0; // in `metadata`: the sizes of the metadata, then the metadata
    std::uint64_t length = 0;
    std::uint64_t sizes_checksum = 0;
};

void store_entry(const IndexEntry& entry, std::byte* to)
{
    store_little(to, index_magic);
    store_little(to + 4, entry.ranks);
    store_little(to + 8, entry.generation);
    store_little(to + 16, entry.step);
    store_little(to + 24, entry.offset);
    store_little(to + 32, entry.length);
    store_little(to + 40, entry.sizes_checksum);
    store_little(to + 48, std::uint64_t{0});
    seal_end({to, entry_size});
}

bool load_entry(const std::byte* from, IndexEntry& entry)
{
    if (load_little<std::uint32_t>(from) != index_magic || !unseal_end({from, entry_size})) return false;
    entry.ranks = load_little<std::uint32_t>(from + 4);
    entry.generation = load_little<std::uint64_t>(from + 8);
    entry.step = load_little<std::uint64_t>(from + 16);
    entry.offset = load_little<std::uint64_t>(from + 24);
    entry.length = load_little<std::uint64_t>(from + 32);
    entry.sizes_checksum = load_little<std::uint64_t>(from + 40);
    return true;
}

class PosixWriter final : public LayoutWriter {
public:
    PosixWriter(const LayoutContext& context, Communicator& communicator, std::uint32_t /*rank*/)
        : record_(context.record), hand_over_(communicator, {0, communicator.size()})
    {
        if (!hand_over_.is_first()) return;
        power_ = survives_power_failure(context.pool.location());
        const RootedPath directory = segment_directory(context.pool.location(), record_);
        metadata_ = File::create(directory / "metadata");
        index_ = File::create(directory / "index");
        if (power_) sync_directory(directory);
    }
    bool collective() const override { return true; }
    void abandon(std::uint64_t step) override { hand_over_.abandon(step); }
    void store(std::uint64_t step, Bytes metadata) override
    {
        hand_over_.store(step, metadata, [&](const HandedOver& all) { append(step, all); });
    }
    void finish() override { hand_over_.finish(); }

private:
    void append(std::uint64_t step, const HandedOver& all)
    {
        std::vector<std::byte> sizes(8 * std::size_t{record_.ranks});
        for (std::size_t rank = 0; rank < record_.ranks; ++rank)
            store_little(sizes.data() + 8 * rank, all.size(rank));
        IndexEntry entry{record_.ranks,  record_.generation, step, end_, sizes.size() + all.bytes.size(),
                         checksum(sizes)};
        metadata_->write(end_, sizes);
        metadata_->write(end_ + sizes.size(), all.bytes);
        if (power_) metadata_->sync();
        std::byte bytes[entry_size];
        store_entry(entry, bytes);
        index_->write((step - record_.first_step) * entry_size, bytes);
        if (power_) index_->sync();
        requests_ += 3;
        end_ += entry.length;
    }

    const StreamRecord& record_;
    HandOver hand_over_;
    bool power_ = false; // of rank 0: what is written is synced before it is acknowledged
    std::optional<File> metadata_, index_;
    std::uint64_t end_ = 0;
};

class PosixReader final : public LayoutReader {
public:
    explicit PosixReader(const LayoutContext& context)
        : record_(context.record), directory_(segment_directory(context.pool.location(), record_))
    {
    }

    bool fetch(std::uint64_t step, StepMetadata& into) override
    {
        IndexEntry entry;
        if (!fetch_unopened(step, into, entry)) return false;
        for (std::uint32_t rank = 0; rank < record_.ranks; ++rank) {
            MetadataHeader header;
            const MetadataState state = inspect_twice(into, rank, entry, header);
            require_metadata(state, header, record_.generation, step, rank);
        }
        into.opened = true;
        return true;
    }

    std::optional<std::vector<std::byte>> raw_metadata(std::uint64_t step, std::uint32_t rank) override
    {
        StepMetadata fetched;
        IndexEntry entry;
        if (!fetch_unopened(step, fetched, entry)) return std::nullopt;
        MetadataHeader header;
        inspect_twice(fetched, rank, entry, header);
        const Bytes metadata = fetched.of(rank);
        return std::vector<std::byte>(metadata.begin(), metadata.end());
    }

private:
    bool fetch_unopened(std::uint64_t step, StepMetadata& into, IndexEntry& entry)
    {
        if (!find_entry(step, entry)) return false;
        const std::size_t table = 8 * std::size_t{record_.ranks};
        const std::uint64_t size = metadata_->size();
        const bool inside = entry.offset <= size && entry.length <= size - entry.offset;
        into.use(spares_, inside ? entry.length : 0);
        const MutableBytes bytes = MutableBytes(into.bytes).first(inside ? entry.length : 0);
        ++requests_;
        bool whole = inside && bytes.size() >= table && metadata_->read(entry.offset, bytes) == bytes.size();
        const bool right = right_at_second_look(
            [&] { return !whole || checksum(Bytes(bytes).first(table)) == entry.sizes_checksum; },
            [&] { whole = metadata_->read_again(entry.offset, bytes) == bytes.size(); });
        if (!whole || !right)
            throw Error(-DER_CSUM, "the metadata of step " + std::to_string(step) + " in " +
                                       metadata_->path() +
                                       " is damaged or cut off: this step cannot be read, others can");
        into.step = step;
        std::vector<std::uint64_t> sizes;
        std::uint64_t sum = 0;
        bool fit = true;
        for (std::size_t rank = 0; rank < record_.ranks; ++rank) {
            sizes.push_back(load_little<std::uint64_t>(bytes.data() + 8 * rank));
            fit = fit && !__builtin_add_overflow(sum, sizes.back(), &sum);
        }
        if (!fit || sum != bytes.size() - table)
            throw Error(-DER_CSUM, "the sizes of the metadata of step " + std::to_string(step) + " in " +
                                       metadata_->path() +
                                       " do not add up: this step cannot be read, others can");
        into.divide(sizes, table);
        return true;
    }

    // base/second_look.h. entry: of the step.
    MetadataState inspect_twice(StepMetadata& fetched, std::uint32_t rank, const IndexEntry& entry,
                                MetadataHeader& header) const
    {
        const Bytes one = fetched.of(rank);
        const auto at = static_cast<std::uint64_t>(one.data() - fetched.bytes.data());
        const MutableBytes bytes = MutableBytes(fetched.bytes).subspan(at, one.size());
        MetadataState state = MetadataState::absent;
        right_at_second_look(
            [&] {
                state = inspect_metadata(bytes, header);
                return state == MetadataState::whole;
            },
            [&] { metadata_->read_again(entry.offset + at, bytes); });
        return state;
    }

    bool find_entry(std::uint64_t step, IndexEntry& entry)
    {
        if (!index_) index_ = File::open(directory_ / "index");
        if (!metadata_) metadata_ = File::open(directory_ / "metadata");
        if (!index_ || !metadata_) return false;
        std::byte bytes[entry_size];
        // At the end an entry may be being written. It goes in one write: one that stays as it is is damaged.
        for (int attempt = 0; attempt < 20; ++attempt) {
            if (attempt > 0) sleep_for(std::chrono::milliseconds(1));
            ++requests_;
            const std::uint64_t at = (step - record_.first_step) * entry_size;
            const std::size_t got = attempt > 0 ? index_->read_again(at, bytes) : index_->read(at, bytes);
            if (got < entry_size) return false;
            if (load_entry(bytes, entry) && entry.step == step && entry.generation == record_.generation &&
                entry.ranks == record_.ranks)
                return true;
            // Zeros: a step that was given up.
            if (std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) return false;
            if (attempt > 0 && (index_->size() > at + entry_size || record_.closed)) break;
        }
        throw Error(-DER_CSUM, "the entry of step " + std::to_string(step) + " in " + index_->path() +
                                   " is damaged: this step cannot be read, others can");
    }

    const StreamRecord& record_; // the reader keeps it up to date
    RootedPath directory_;
    std::optional<File> index_, metadata_;
    std::shared_ptr<SpareBuffers> spares_ = std::make_shared<SpareBuffers>();
};

void trim_posix(const LayoutContext& context, std::uint64_t end)
{
    const RootedPath directory = segment_directory(context.pool.location(), context.record);
    auto index = File::open_to_write(directory / "index");
    auto metadata = File::open_to_write(directory / "metadata");
    if (!index || !metadata) return;
    const std::uint64_t entries = (end - context.record.first_step) * entry_size;
    IndexEntry last;
    std::byte bytes[entry_size];
    const bool whole = index->read(entries - entry_size, bytes) == entry_size && load_entry(bytes, last);
    index->shorten(entries);
    if (whole) metadata->shorten(last.offset + last.length);
}

} // namespace

const Layout& posix_layout()
{
    static const Layout layout = {
        .name = "posix",
        .number = 1,
        .places = MetadataPlaces::files,
        .data = &data_in_files,
        .one_object_because = "it keeps metadata in files",
        .writer = &make_layout_writer<PosixWriter>,
        .reader = &make_layout_reader<PosixReader>,
        .trim = &trim_posix,
    };
    return layout;
}

} // namespace stepstore::steps

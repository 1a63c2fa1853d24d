// The layout `posix`: the baseline of the references. Rank 0 gathers all blobs of a step and appends them to one file;
// data lies in a file per writer rank. All below the pool's directory:
// files/<container>/<generation>/{metadata,index,data.<rank>}.
//
// 1. All ranks hand their blobs to rank 0 (gather); a rank that has failed hands over nothing, and rank 0 gives the
// step up.
// 2. Rank 0 appends the blobs to `metadata`, then one entry of 64 bytes with its own checksum to `index`: entry N is
// step N.
// 3. A step is there when its entry is there, whole. An entry at the end that is not whole is still being written (or
// its writer died).
#include "base/checksum.h"
#include "steps/file.h"
#include "steps/layouts/layout.h"
#include "stepstore/admin.h"

#include <algorithm>
#include <filesystem>

namespace stepstore::steps {

namespace {

constexpr std::uint32_t index_magic = 0x58495353; // "SSIX"
constexpr std::size_t entry_size = 64;

struct IndexEntry {
    std::uint32_t ranks = 0;
    std::uint64_t generation = 0;
    std::uint64_t step = 0;
    std::uint64_t offset = 0; // in `metadata`: the sizes of the blobs, then the blobs
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
    store_little(to + 56, checksum(Bytes(to, 56)));
}

bool load_entry(const std::byte* from, IndexEntry& entry)
{
    if (load_little<std::uint32_t>(from) != index_magic ||
        load_little<std::uint64_t>(from + 56) != checksum(Bytes(from, 56)))
        return false;
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
    PosixWriter(const LayoutContext& context, Communicator& communicator)
        : record_(context.record), communicator_(communicator)
    {
        if (communicator.rank() != 0) return;
        const std::string directory = posix_path(context.pool.location(), record_);
        metadata_ = File::create(directory + "/metadata");
        index_ = File::create(directory + "/index");
    }
    bool collective() const override { return true; }
    void abandon(std::uint64_t step) override { hand_over(step, {}); }
    void store(std::uint64_t step, Bytes blob) override { hand_over(step, blob); }

private:
    void hand_over(std::uint64_t step, Bytes blob)
    {
        communicator_.gather(blob, gathered_, offsets_, 0);
        if (communicator_.rank() != 0 || blob.empty()) return;
        for (std::size_t rank = 0; rank < record_.ranks; ++rank)
            if (offsets_[rank] == offsets_[rank + 1])
                throw Error(-DER_CANCELED,
                            step_rank(step, static_cast<std::uint32_t>(rank)) +
                                ": this rank failed, so the step was given up; the steps before it are kept");
        append(step);
    }

    void append(std::uint64_t step)
    {
        std::vector<std::byte> sizes(8 * std::size_t{record_.ranks});
        for (std::size_t rank = 0; rank < record_.ranks; ++rank)
            store_little(sizes.data() + 8 * rank, std::uint64_t{offsets_[rank + 1] - offsets_[rank]});
        IndexEntry entry{record_.ranks,  record_.generation, step, end_, sizes.size() + gathered_.size(),
                         checksum(sizes)};
        metadata_->write(end_, sizes);
        metadata_->write(end_ + sizes.size(), gathered_);
        std::byte bytes[entry_size];
        store_entry(entry, bytes);
        index_->write(step * entry_size, bytes);
        requests_ += 3;
        end_ += entry.length;
    }

    const StreamRecord& record_;
    Communicator& communicator_;
    std::optional<File> metadata_, index_;
    std::uint64_t end_ = 0;
    std::vector<std::byte> gathered_;
    std::vector<std::uint64_t> offsets_;
};

class PosixReader final : public LayoutReader {
public:
    explicit PosixReader(const LayoutContext& context)
        : record_(context.record), directory_(posix_path(context.pool.location(), record_))
    {
    }

    bool fetch(std::uint64_t step, StepBlobs& into) override
    {
        IndexEntry entry;
        if (!find_entry(step, entry)) return false;
        const std::size_t table = 8 * std::size_t{record_.ranks};
        const std::uint64_t size = metadata_->size();
        const bool inside = entry.offset <= size && entry.length <= size - entry.offset;
        std::vector<std::byte> bytes(inside ? entry.length : 0);
        ++requests_;
        if (!inside || metadata_->read(entry.offset, bytes) != bytes.size() || bytes.size() < table ||
            checksum(Bytes(bytes).first(table)) != entry.sizes_checksum)
            throw Error(-DER_CSUM, "the metadata of step " + std::to_string(step) + " in " + metadata_->path() +
                                       " is damaged or cut off: this step cannot be read, others can");
        into.step = step;
        into.offsets.assign(1, 0);
        for (std::size_t rank = 0; rank < record_.ranks; ++rank)
            into.offsets.push_back(into.offsets.back() + load_little<std::uint64_t>(bytes.data() + 8 * rank));
        if (into.offsets.back() != bytes.size() - table || !std::ranges::is_sorted(into.offsets))
            throw Error(-DER_CSUM, "the sizes of the blobs of step " + std::to_string(step) + " in " +
                                       metadata_->path() + " do not add up: this step cannot be read, others can");
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(table));
        into.bytes = std::move(bytes);
        return true;
    }

    std::vector<std::byte> fetch_blob(std::uint64_t step, std::uint32_t rank) override
    {
        auto blob = raw_blob(step, rank);
        if (!blob) throw Error(-DER_NONEXIST, "the metadata blob of " + step_rank(step, rank) + " is not there");
        return std::move(*blob);
    }

    std::optional<std::vector<std::byte>> raw_blob(std::uint64_t step, std::uint32_t rank) override
    {
        StepBlobs blobs;
        if (!fetch(step, blobs)) return std::nullopt;
        const Bytes blob = blobs.of(rank);
        return std::vector<std::byte>(blob.begin(), blob.end());
    }

private:
    bool find_entry(std::uint64_t step, IndexEntry& entry)
    {
        if (!index_) index_ = File::open(directory_ + "/index");
        if (!metadata_) metadata_ = File::open(directory_ + "/metadata");
        if (!index_ || !metadata_) return false;
        std::byte bytes[entry_size];
        ++requests_;
        if (index_->read(step * entry_size, bytes) < entry_size) return false;
        if (load_entry(bytes, entry) && entry.step == step && entry.generation == record_.generation &&
            entry.ranks == record_.ranks)
            return true;
        // Not whole: at the end it is being written; before the end it is damaged. Zeros: a step that was given up.
        if (std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) return false;
        const bool last = index_->size() <= (step + 1) * entry_size && !(record_.closed && step < record_.steps);
        if (last) return false;
        throw Error(-DER_CSUM, "the entry of step " + std::to_string(step) + " in " + index_->path() +
                                   " is damaged: this step cannot be read, others can");
    }

    const StreamRecord& record_; // the reader keeps it up to date
    std::string directory_;
    std::optional<File> index_, metadata_;
};

} // namespace

std::unique_ptr<LayoutWriter> make_posix_writer(const LayoutContext& context, Communicator& communicator)
{
    return std::make_unique<PosixWriter>(context, communicator);
}

std::unique_ptr<LayoutReader> make_posix_reader(const LayoutContext& context)
{
    return std::make_unique<PosixReader>(context);
}

std::string posix_directory(const std::string& container, std::uint64_t generation)
{
    return "files/" + container + "/" + std::to_string(generation);
}

std::optional<std::string> pool_directory(const std::string& pool)
{
    if (pool.starts_with("daos://")) return std::nullopt;
    std::size_t size = 0;
    stepstore_pool_path(pool.c_str(), nullptr, &size);
    std::string path(size + 1, '\0');
    size = path.size();
    if (const int code = stepstore_pool_path(pool.c_str(), path.data(), &size); code != 0)
        throw Error(code, stepstore_last_message());
    path.resize(std::strlen(path.c_str()));
    return path;
}

std::string posix_path(const std::string& pool, const StreamRecord& record)
{
    const auto directory = pool_directory(pool);
    if (!directory)
        throw Error(-DER_NOSYS, "the layout posix keeps files in the pool's directory, and " + pool +
                                    " has none: use Layout=kv, array or array-aligned");
    return *directory + "/" + record.directory;
}

void remove_posix_files(const std::string& pool, const StreamRecord& record)
{
    const std::string path = posix_path(pool, record);
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) throw Error(-DER_IO, "cannot remove " + path + ": " + error.message());
}

} // namespace stepstore::steps

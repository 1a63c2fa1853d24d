#include "steps/layouts/data_files.h"

#include "base/memory_pieces.h"
#include "base/record.h"
#include "base/second_look.h"
#include "base/system_error.h"
#include "location/find/location.h"
#include "steps/file.h"
#include "steps/pool_directory.h"

#include <algorithm>
#include <map>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t piece_size = 64 << 10;
// read or written at once, with its checksums while it is in the cache
constexpr std::uint64_t run_size = 512 << 10;
constexpr std::uint32_t sum_magic = 0x53445353; // "SSDS"
constexpr std::size_t sum_size = 32;

struct Piece {
    std::uint64_t begin = 0; // in the blocks' file
    std::uint32_t length = 0;
    std::uint64_t sum = 0;
    std::uint64_t end() const { return begin + length; }
};

void store_sum(const Piece& piece, std::byte* to)
{
    store_little(to, piece.begin);
    store_little(to + 8, piece.length);
    store_little(to + 12, sum_magic);
    store_little(to + 16, piece.sum);
    seal_end({to, sum_size});
}

bool load_sum(const std::byte* from, Piece& piece)
{
    piece = {load_little<std::uint64_t>(from), load_little<std::uint32_t>(from + 8),
             load_little<std::uint64_t>(from + 16)};
    return load_little<std::uint32_t>(from + 12) == sum_magic && piece.length > 0 &&
           piece.length <= piece_size && unseal_end({from, sum_size});
}

RootedPath data_file(const RootedPath& directory, const char* name, std::uint32_t rank)
{
    return directory / (name + ("." + std::to_string(rank)));
}

// The files are made with the first block: a rank that writes none has none, and nobody asks for them.
class FileDataWriter final : public DataWriter {
public:
    FileDataWriter(const RootedPath& directory, std::uint32_t rank, bool power)
        : directory_(directory), rank_(rank), power_(power)
    {
    }

    void write(std::span<const Range> ranges, std::span<const Bytes> memory) override
    {
        if (ranges.empty()) return;
        if (!sums_) make_files();
        MemoryPieces from(memory), again(memory);
        entries_.clear();
        for (const Range& range : ranges)
            for (std::uint64_t done = 0; done < range.length; done += run_size)
                write_run(range.index + done, std::min(run_size, range.length - done), from, again);
        sums_->write(sums_end_, entries_);
        sums_end_ += entries_.size();
        dirty_ = true;
    }

    void make_durable() override
    {
        if (!power_ || !dirty_) return;
        blocks_->sync();
        sums_->sync();
        dirty_ = false;
    }

private:
    void make_files()
    {
        blocks_ = File::create(data_file(directory_, "blocks", rank_));
        sums_ = File::create(data_file(directory_, "sums", rank_));
        if (power_) sync_directory(directory_);
    }

    void write_run(std::uint64_t begin, std::uint64_t length, MemoryPieces& from, MemoryPieces& again)
    {
        for (std::uint64_t done = 0; done < length; done += piece_size)
            add_entry(begin + done, std::min(piece_size, length - done), again);
        for (std::uint64_t done = 0; done < length;) {
            const Bytes part = from.take(length - done);
            blocks_->write(begin + done, part);
            done += part.size();
        }
    }

    void add_entry(std::uint64_t begin, std::uint64_t length, MemoryPieces& from)
    {
        const Piece piece{begin, static_cast<std::uint32_t>(length), from.take_checksum(length)};
        entries_.resize(entries_.size() + sum_size);
        store_sum(piece, entries_.data() + entries_.size() - sum_size);
    }

    RootedPath directory_;
    std::uint32_t rank_;
    std::optional<File> blocks_, sums_; // both or none
    bool power_;
    bool dirty_ = false;
    std::uint64_t sums_end_ = 0;
    std::vector<std::byte> entries_;
};

// The files of one rank, for reading.
class RankFiles {
public:
    RankFiles(const RootedPath& directory, std::uint32_t rank)
        : rank_(rank), checked_(true), blocks_(File::open(data_file(directory, "blocks", rank))),
          sums_(std::nullopt)
    {
        if (blocks_)
            sums_ = File::open(data_file(directory, "sums", rank));
        else
            checked_ = false, blocks_ = File::open(data_file(directory, "data", rank));
        if (!blocks_ || (checked_ && !sums_))
            throw Error(-DER_CSUM, "a data file of writer rank " + std::to_string(rank) + " is missing: " +
                                       data_file(directory, blocks_ ? "sums" : "blocks", rank));
    }

    std::uint64_t size() const { return blocks_->size(); }

    void read(const Range& range, MutableBytes into)
    {
        if (!checked_) return require(range.index, into);
        const std::uint64_t end = range.index + range.length;
        for (std::uint64_t at = range.index; at < end;) {
            const Piece& piece = piece_at(at);
            if (piece.begin == at && piece.end() <= end) {
                at = read_whole(at, end, into.subspan(at - range.index));
                continue;
            }
            const std::uint64_t until = std::min(end, piece.end());
            const Bytes bytes = buffered(piece);
            std::ranges::copy(bytes.subspan(at - piece.begin, until - at), into.data() + (at - range.index));
            at = until;
        }
    }

private:
    void require(std::uint64_t at, MutableBytes into) const
    {
        const std::size_t got = blocks_->read(at, into);
        if (got < into.size()) missing_data(rank_, into.size() - got);
    }

    // Whole pieces that follow each other, in place. Returns where they end.
    std::uint64_t read_whole(std::uint64_t begin, std::uint64_t end, MutableBytes into)
    {
        auto next = pieces_.find(begin);
        std::uint64_t until = begin;
        for (; next != pieces_.end() && next->first == until && next->second.end() <= end &&
               until - begin < run_size;
             ++next)
            until = next->second.end();
        require(begin, into.first(until - begin));
        for (auto one = pieces_.find(begin); one != next; ++one)
            verify(one->second, into.subspan(one->first - begin, one->second.length));
        return until;
    }

    // A piece of which a part is wanted: the next part is often of the same one.
    Bytes buffered(const Piece& piece)
    {
        if (buffered_ != piece.begin || buffer_.size() != piece.length) {
            buffered_ = no_piece;
            buffer_.resize(piece.length);
            require(piece.begin, buffer_);
            verify(piece, buffer_);
            buffered_ = piece.begin;
        }
        return buffer_;
    }

    void verify(const Piece& piece, MutableBytes bytes) const
    {
        if (!right_at_second_look([&] { return checksum(bytes) == piece.sum; },
                                  [&] { blocks_->read_again(piece.begin, bytes); }))
            damaged(piece.begin, "their checksum does not match");
    }

    const Piece& piece_at(std::uint64_t at)
    {
        if (const Piece* found = find(at)) return *found;
        load(&File::read); // the writer goes on
        if (const Piece* found = find(at)) return *found;
        loaded_ = 0; // or an entry was wrong
        load(&File::read_again);
        if (const Piece* found = find(at)) return *found;
        if (const std::uint64_t size = blocks_->size(); at >= size) missing_data(rank_, at + 1 - size);
        damaged(at, "their checksums in " + sums_->path() + " are missing or damaged");
    }

    const Piece* find(std::uint64_t at) const
    {
        auto behind = pieces_.upper_bound(at);
        if (behind == pieces_.begin()) return nullptr;
        const Piece& piece = std::prev(behind)->second;
        return at < piece.end() ? &piece : nullptr;
    }

    // The entries after those that are known. One that is damaged is left out: reads of its piece say so.
    void load(std::size_t (File::*read)(std::uint64_t, MutableBytes) const)
    {
        std::vector<std::byte> bytes(run_size);
        while (const std::size_t whole = (*sums_.*read)(loaded_, bytes) / sum_size) {
            for (std::size_t i = 0; i < whole; ++i) {
                Piece piece;
                if (load_sum(bytes.data() + i * sum_size, piece))
                    pieces_.insert_or_assign(piece.begin, piece);
            }
            loaded_ += whole * sum_size;
        }
    }

    [[noreturn]] void damaged(std::uint64_t at, const std::string& why) const
    {
        throw Error(-DER_CSUM, "bytes of " + blocks_->path() + " from " + std::to_string(at) +
                                   " on (data of writer rank " + std::to_string(rank_) + ") are damaged: " +
                                   why + "; `stepstore pool check` says what can be saved");
    }

    static constexpr std::uint64_t no_piece = UINT64_MAX;
    std::uint32_t rank_;
    bool checked_;
    std::optional<File> blocks_, sums_;
    std::map<std::uint64_t, Piece> pieces_;
    std::uint64_t loaded_ = 0; // of `sums`, bytes
    std::vector<std::byte> buffer_;
    std::uint64_t buffered_ = no_piece; // the piece in the buffer
};

class FileDataReader final : public DataReader {
public:
    explicit FileDataReader(const RootedPath& directory) : directory_(directory) {}

    void read(std::span<DataRequest> requests) override
    {
        // One memory piece per range: DataReads makes them so.
        for (const DataRequest& request : requests)
            for (std::size_t i = 0; i < request.ranges.size(); ++i)
                files(request.place.rank).read(request.ranges[i], request.memory[i]);
    }

    std::uint64_t size(std::uint32_t rank) override { return files(rank).size(); }

private:
    RankFiles& files(std::uint32_t rank)
    {
        const auto found = files_.find(rank);
        if (found != files_.end()) return found->second;
        return files_.try_emplace(rank, directory_, rank).first->second;
    }

    RootedPath directory_;
    std::map<std::uint32_t, RankFiles> files_;
};

std::unique_ptr<DataWriter> make_file_data_writer(const LayoutContext& context, std::uint32_t rank)
{
    const std::string& pool = context.pool.location();
    return std::make_unique<FileDataWriter>(segment_directory(pool, context.record), rank,
                                            survives_power_failure(pool));
}

std::unique_ptr<DataReader> make_file_data_reader(const LayoutContext& context)
{
    return std::make_unique<FileDataReader>(segment_directory(context.pool.location(), context.record));
}

// The entries of what is cut off stay: they are few, and nothing asks for them.
void trim_file_data(const LayoutContext& context, std::uint32_t rank, std::uint64_t end)
{
    const RootedPath directory = segment_directory(context.pool.location(), context.record);
    for (const char* name : {"blocks", "data"})
        if (auto file = File::open_to_write(data_file(directory, name, rank))) file->shorten(end);
}

std::string directory_name(const std::string& container, std::uint64_t generation)
{
    return "files/" + container + "/" + std::to_string(generation);
}

void make_segment_directory(const std::string& pool, const StreamRecord& segment)
{
    RootedPath one = segment_directory(pool, segment);
    if (const int error = make_directories(one); error != 0)
        throw system_error(error, one, "cannot make the directory");
    if (!survives_power_failure(pool)) return;
    while (one.below() != ".") // up to the pool's own: which of them were there nobody knows
        sync_directory(one = one.parent());
}

} // namespace

const DataStore data_in_files = {
    .in_chunks = false, // no gaps between what their checksums are of
    .in_snapshots = false,
    .checks_itself = true,
    .format = 2,
    .writer = &make_file_data_writer,
    .reader = &make_file_data_reader,
    .trim = &trim_file_data,
    .directory = &directory_name,
    .prepare = &make_segment_directory,
};

RootedPath stream_directory(const std::string& pool, const std::string& directory)
{
    require_segment_directory(directory, pool);
    const auto root = pool_directory(pool);
    if (!root) throw Error(-DER_NOSYS, pool + " has no directory, so it has no files of streams");
    return *root / directory;
}

bool is_data_file(std::string_view name)
{
    if (name == "metadata" || name == "index") return true;
    for (const std::string_view kind : {"blocks.", "sums.", "data."})
        if (name.starts_with(kind) && name.size() > kind.size())
            return name.find_first_not_of("0123456789", kind.size()) == std::string_view::npos;
    return false;
}

std::vector<std::string> data_files_in(const RootedPath& directory)
{
    std::vector<std::string> names = names_in(directory);
    std::erase_if(names, [](const std::string& name) { return !is_data_file(name); });
    return names;
}

RootedPath segment_directory(const std::string& pool, const StreamRecord& segment)
{
    require_directory(pool, layout_of(segment));
    return stream_directory(pool, segment.directory);
}

void require_directory(const std::string& pool, const Layout& layout)
{
    if (!layout.data->directory || capabilities_of(pool).directory) return;
    throw Error(-DER_NOSYS, "the layout " + std::string(layout.name) +
                                " keeps files in the pool's directory, and " + pool +
                                " has no directory: use another layout, such as " +
                                std::string(layout_named("").name));
}

void remove_data_files(const std::string& pool, const StreamRecord& segment)
{
    const RootedPath directory = segment_directory(pool, segment);
    if (const int error = remove_tree(directory); error != 0)
        throw system_error(error, directory, "cannot remove it");
}

} // namespace stepstore::steps

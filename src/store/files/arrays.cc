// The arrays of a container: each is a file of its cells.
#include "store/files/container.h"

#include "base/system_error.h"
#include "store/failure.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace stepstore::store::files {

namespace {

constexpr std::uint64_t farthest = std::uint64_t{1} << 63;

// Takes the pieces of memory that cover the next `length` bytes.
template <class Memory>
class Pieces {
public:
    explicit Pieces(std::span<const Memory> memory) : memory_(memory) {}
    std::vector<Memory> take(std::uint64_t length)
    {
        std::vector<Memory> taken;
        while (length > 0) {
            const Memory rest = memory_.front().subspan(used_);
            const Memory piece = rest.first(std::min<std::uint64_t>(rest.size(), length));
            if (!piece.empty()) taken.push_back(piece);
            length -= piece.size();
            used_ += piece.size();
            if (used_ < memory_.front().size()) continue;
            memory_ = memory_.subspan(1);
            used_ = 0;
        }
        return taken;
    }

private:
    std::span<const Memory> memory_;
    std::size_t used_ = 0;
};

struct ByteSpan {
    std::uint64_t begin, end;
};

// In bytes. DER_INVAL, DER_OVERFLOW.
ByteSpan bytes_of(const Range& range, const ArrayAttributes& attributes, const std::string& array)
{
    std::uint64_t chunk = 0;
    if (attributes.cell_size == 0 || attributes.chunk_size == 0)
        fail(DER_INVAL, array + ": the cell size and the chunk size must be at least 1");
    if (__builtin_mul_overflow(attributes.cell_size, attributes.chunk_size, &chunk) || chunk > farthest)
        fail(DER_OVERFLOW, array + ": a chunk is beyond 2^63 bytes");
    std::uint64_t last = 0;
    std::uint64_t end = 0;
    if (__builtin_add_overflow(range.index, range.length, &last) ||
        __builtin_mul_overflow(last, attributes.cell_size, &end) || end > farthest) {
        fail(DER_OVERFLOW, array + ": cells " + std::to_string(range.index) + " + " +
                               std::to_string(range.length) + " of " + std::to_string(attributes.cell_size) +
                               " bytes reach beyond 2^63 bytes");
    }
    return {range.index * attributes.cell_size, end};
}

template <class Memory>
void require_same_size(std::span<const Range> ranges, std::span<const Memory> memory,
                       const ArrayAttributes& attributes, const std::string& array)
{
    std::uint64_t wanted = 0;
    for (const Range& range : ranges) {
        const ByteSpan bytes = bytes_of(range, attributes, array);
        if (__builtin_add_overflow(wanted, bytes.end - bytes.begin, &wanted))
            fail(DER_OVERFLOW, array + ": the ranges are beyond 2^64 bytes");
    }
    std::uint64_t given = 0;
    for (const Memory& piece : memory)
        given += piece.size();
    if (wanted != given) {
        fail(DER_IO_INVAL, array + ": the ranges have " + std::to_string(wanted) +
                               " bytes, and the memory has " + std::to_string(given));
    }
}

} // namespace

std::shared_ptr<const OpenArray> FilesContainer::array(const ObjectId& oid, bool for_update)
{
    for (;;) {
        auto opened = objects_.open(oid, for_update);
        // Where others may have removed it, the file says so. On a file system that is shared, an update does
        // not ask: that would be one more request, and nobody removes what is being written.
        if (!opened || (for_update && !place_->local()) || !unlinked(opened->fd.get(), named(oid)))
            return opened;
        objects_.forget(oid);
    }
}

namespace {

// A part of a file, and the memory that it goes to.
struct ReadPiece {
    std::uint64_t begin;
    MutableBytes memory;
    std::uint64_t end() const { return begin + memory.size(); }
};

// Parts that one call reads, in the order of the file.
struct ReadRun {
    std::vector<ReadPiece> pieces;
    std::uint64_t begin() const { return pieces.front().begin; }
    std::uint64_t length() const { return pieces.back().end() - begin(); }
};

std::vector<ReadRun> runs_of(std::span<const Range> ranges, std::span<const MutableBytes> memory,
                             const ArrayAttributes& attributes, const std::string& name, bool here)
{
    std::vector<ReadRun> runs;
    Pieces<MutableBytes> pieces(memory);
    for (const Range& range : ranges) {
        const ByteSpan bytes = bytes_of(range, attributes, name);
        std::uint64_t at = bytes.begin;
        for (const MutableBytes& piece : pieces.take(bytes.end - bytes.begin)) {
            const ReadRun* last = runs.empty() ? nullptr : &runs.back();
            const bool near = last != nullptr && at >= last->pieces.back().end() &&
                              at - last->pieces.back().end() <= (here ? joined_gap_here : joined_gap) &&
                              at - last->begin() + piece.size() <= most_joined;
            if (!near) runs.emplace_back();
            runs.back().pieces.push_back({at, piece});
            at += piece.size();
        }
    }
    return runs;
}

// How many bytes of it there were. unwanted: memory for what lies between the pieces.
std::uint64_t read_run(const Place& place, int fd, const ReadRun& run, const std::string& name,
                       std::vector<std::byte>& unwanted)
{
    place.forget_cached(fd, run.begin(), run.length());
    std::vector<MutableBytes> memory;
    std::uint64_t at = run.begin();
    for (const ReadPiece& piece : run.pieces) {
        if (const std::uint64_t gap = piece.begin - at; gap > 0) {
            unwanted.resize(joined_gap); // of all gaps
            memory.push_back(MutableBytes(unwanted).first(gap));
        }
        memory.push_back(piece.memory);
        at = piece.end();
    }
    const std::int64_t got = read_all(fd, memory, run.begin());
    if (got < 0) fail_errno("pool " + place.path() + ", " + name, "cannot read the array");
    return static_cast<std::uint64_t>(got);
}

} // namespace

void FilesContainer::array_create(const ObjectId& oid, const ArrayAttributes& attributes)
{
    pool_->require_write("array_create");
    bytes_of({0, 0}, attributes, named(oid));
    bool made = false;
    objects_.make(oid, attributes, &made);
    if (!made) {
        fail(DER_EXIST, "pool " + place_->path() + ": array " + text(oid) +
                            " has attributes already: open it, or destroy it first");
    }
}

std::optional<ArrayAttributes> FilesContainer::array_attributes(const ObjectId& oid, Epoch epoch)
{
    require_latest(epoch);
    const auto entry = objects_.find(oid);
    if (!entry) return objects_.require_there(), std::nullopt;
    return entry->attributes;
}

void FilesContainer::array_write(const ObjectId& oid, const ArrayAttributes& attributes,
                                 std::span<const Range> ranges, std::span<const Bytes> memory)
{
    pool_->require_write("array_write");
    const std::string name = named(oid);
    require_same_size(ranges, memory, attributes, name);
    if (memory.empty()) return;
    const auto opened = array(oid, true);
    Pieces<Bytes> pieces(memory);
    for (std::size_t next = 0; next < ranges.size();) {
        ByteSpan bytes = bytes_of(ranges[next++], attributes, name);
        // What lies together goes in one call.
        for (; next < ranges.size(); ++next) {
            const ByteSpan more = bytes_of(ranges[next], attributes, name);
            if (more.begin != bytes.end) break;
            bytes.end = more.end;
        }
        if (bytes.begin == bytes.end) continue;
        if (const int error = write_all(opened->fd.get(), pieces.take(bytes.end - bytes.begin), bytes.begin);
            error != 0)
            throw system_error(error, "pool " + place_->path() + ", " + name, "cannot write the array");
    }
    place_->reach_readers(opened->fd.get(), name);
}

ReadResult FilesContainer::array_read(const ObjectId& oid, const ArrayAttributes& attributes,
                                      std::span<const Range> ranges, std::span<const MutableBytes> memory,
                                      Epoch epoch, Verify, Ends ends)
{
    require_latest(epoch);
    const std::string name = named(oid);
    require_same_size(ranges, memory, attributes, name);
    // Who does not ask where the array ends sees from the bytes themselves what they are. Those of an array
    // that was removed meanwhile are no worse than none.
    const auto opened = ends == Ends::untold ? objects_.open(oid, false) : array(oid, false);
    ReadResult result;
    bool whole = true;
    bool fresh = place_->local(); // what the machine knows of the file's length
    std::vector<std::byte> unwanted;
    for (const ReadRun& run : runs_of(ranges, memory, attributes, name, place_->local())) {
        std::uint64_t done = opened ? read_run(*place_, opened->fd.get(), run, name, unwanted) : 0;
        // The file may be longer by now on its server.
        if (opened && done < run.length() && !fresh) {
            fresh = true;
            if (fresh_size_of(opened->fd.get(), name) > run.begin() + done)
                done = read_run(*place_, opened->fd.get(), run, name, unwanted);
        }
        whole = whole && done == run.length();
        for (const ReadPiece& piece : run.pieces) {
            const std::uint64_t at = piece.begin - run.begin();
            const std::size_t there = std::min<std::uint64_t>(done - std::min(at, done), piece.memory.size());
            std::ranges::fill(piece.memory.subspan(there), std::byte{0});
            result.bytes += there;
        }
    }
    if (whole || ends == Ends::untold) return result;
    const std::uint64_t size = opened ? fresh_size_of(opened->fd.get(), name) / attributes.cell_size : 0;
    for (const Range& range : ranges) {
        const std::uint64_t end = range.index + range.length;
        if (end > size) result.cells_short += end - std::max(size, range.index);
    }
    return result;
}

std::uint64_t FilesContainer::array_size(const ObjectId& oid, const ArrayAttributes& attributes, Epoch epoch)
{
    require_latest(epoch);
    bytes_of({0, 0}, attributes, named(oid));
    const auto opened = array(oid, false);
    return opened ? fresh_size_of(opened->fd.get(), named(oid)) / attributes.cell_size : 0;
}

ArrayStatus FilesContainer::array_status(const ObjectId& oid, const ArrayAttributes& attributes, Epoch epoch)
{
    return {array_size(oid, attributes, epoch), last_update(oid, epoch)};
}

void FilesContainer::array_set_size(const ObjectId& oid, const ArrayAttributes& attributes,
                                    std::uint64_t cells)
{
    pool_->require_write("array_set_size");
    const ByteSpan bytes = bytes_of({0, cells}, attributes, named(oid));
    const auto opened = array(oid, true);
    if (const int error = resize_file(opened->fd.get(), bytes.end); error != 0)
        throw system_error(error, "pool " + place_->path() + ", " + named(oid),
                           "cannot set the size of the array");
    place_->reach_readers(opened->fd.get(), named(oid));
}

void FilesContainer::array_punch(const ObjectId& oid, const ArrayAttributes& attributes,
                                 std::span<const Range> ranges)
{
    pool_->require_write("array_punch");
    const std::string name = named(oid);
    for (const Range& range : ranges)
        bytes_of(range, attributes, name);
    const auto opened = array(oid, true);
    std::uint64_t size = size_of(opened->fd.get(), name);
    bool shorter = false;
    for (const Range& range : ranges) {
        const ByteSpan bytes = bytes_of(range, attributes, name);
        if (bytes.begin >= std::min(bytes.end, size)) continue;
        if (bytes.end >= size) { // the array ends before it then, as what is not stored does not count
            size = bytes.begin;
            shorter = true;
            continue;
        }
        const std::uint64_t length = bytes.end - bytes.begin;
        const int error = punch_hole(opened->fd.get(), bytes.begin, length);
        if (error == EOPNOTSUPP) {
            const std::vector<std::byte> zeros(std::min<std::uint64_t>(length, 1 << 20));
            for (std::uint64_t done = 0; done < length; done += zeros.size()) {
                const Bytes piece = Bytes(zeros).first(std::min<std::uint64_t>(zeros.size(), length - done));
                const int failed = write_all(opened->fd.get(), {piece}, bytes.begin + done);
                if (failed != 0) throw system_error(failed, name, "cannot write zeros into the array");
            }
        } else if (error != 0) {
            throw system_error(error, name, "cannot punch a hole into the array");
        }
    }
    if (const int error = shorter ? resize_file(opened->fd.get(), size) : 0; error != 0)
        throw system_error(error, "pool " + place_->path() + ", " + name, "cannot shorten the array");
    place_->reach_readers(opened->fd.get(), name);
}

Epoch FilesContainer::last_update(const ObjectId& oid, Epoch epoch)
{
    require_latest(epoch);
    const auto opened = array(oid, false);
    struct stat status {};
    if (!opened) return 0;
    if (fstat(opened->fd.get(), &status) != 0) fail_errno(named(oid), "cannot look at the array");
    return static_cast<Epoch>(status.st_mtim.tv_sec) * 1'000'000'000 +
           static_cast<Epoch>(status.st_mtim.tv_nsec);
}

} // namespace stepstore::store::files

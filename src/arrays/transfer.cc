#include "arrays/transfer.h"

#include "base/second_look.h"

#include <daos_errno.h>

namespace stepstore::arrays {

std::uint64_t checksums_size(const DataLayout& layout, std::uint64_t block_bytes)
{
    if (!layout.checksum) return 0;
    return (block_bytes + layout.chunk_size - 1) / layout.chunk_size * checksum_bytes;
}

std::uint64_t checksums_at(std::uint64_t offset, std::uint64_t block_bytes)
{
    return offset + (block_bytes + 63) / 64 * 64;
}

void Requests::add(Pending pending, std::function<void(Pending&)> done)
{
    under_way_.push_back({std::move(done), std::move(pending)});
    if (under_way_.size() >= most) finish_oldest();
}

void Requests::finish_oldest()
{
    One oldest = std::move(under_way_.front());
    under_way_.pop_front();
    oldest.pending.wait();
    if (oldest.done) oldest.done(oldest.pending);
}

void Requests::finish()
{
    while (!under_way_.empty())
        finish_oldest();
}

namespace {

// Parts of a block from this size on go to and from the program's memory without a copy.
constexpr std::uint64_t direct_from = 64 << 10;

// A block's bytes come in order, in pieces of the program's memory, and go into requests.
class BlockWriter {
public:
    BlockWriter(Requests& requests, Array& object, std::uint64_t offset, const DataLayout& layout,
                std::uint64_t request_size, std::uint64_t block_bytes)
        : requests_(requests), object_(object), at_(offset), layout_(layout), request_size_(request_size),
          sums_at_(checksums_at(offset, block_bytes))
    {
    }

    void add(Bytes run)
    {
        if (layout_.checksum) sum(run);
        while (!run.empty()) {
            const Bytes part = run.first(std::min<std::uint64_t>(run.size(), request_size_ - filled_));
            run = run.subspan(part.size());
            if (part.size() >= direct_from)
                pieces_.push_back(part);
            else
                copy(part);
            filled_ += part.size();
            if (filled_ == request_size_) flush();
        }
    }

    void finish()
    {
        flush();
        if (!layout_.checksum) return;
        if (summed_ > 0) end_sum();
        const auto sums = std::make_shared<std::vector<std::byte>>(std::move(sums_));
        launch(sums_at_, {Bytes(*sums)}, sums);
    }

private:
    void copy(Bytes part)
    {
        if (!staging_) staging_ = std::make_shared<std::vector<std::byte>>();
        if (staging_->capacity() == 0)
            staging_->reserve(request_size_); // does not move: pieces point into it
        const std::size_t at = staging_->size();
        staging_->insert(staging_->end(), part.begin(), part.end());
        const std::byte* begin = staging_->data() + at;
        if (!pieces_.empty() && pieces_.back().data() + pieces_.back().size() == begin)
            pieces_.back() = {pieces_.back().data(), pieces_.back().size() + part.size()};
        else
            pieces_.emplace_back(begin, part.size());
    }

    void flush()
    {
        if (filled_ == 0) return;
        launch(at_, pieces_, staging_);
        at_ += filled_;
        filled_ = 0;
        pieces_.clear();
        staging_.reset();
    }

    void launch(std::uint64_t at, std::vector<Bytes> pieces, std::shared_ptr<std::vector<std::byte>> kept)
    {
        Range range{at, 0};
        for (const Bytes& one : pieces)
            range.length += one.size();
        Pending pending = object_.write(requests_.queue(), {&range, 1}, pieces);
        requests_.add(std::move(pending), [kept = std::move(kept)](Pending&) {});
    }

    void sum(Bytes run)
    {
        while (!run.empty()) {
            const Bytes part = run.first(std::min<std::uint64_t>(run.size(), layout_.chunk_size - summed_));
            run = run.subspan(part.size());
            if (!stream_) stream_ = std::make_unique<ChecksumStream>();
            stream_->update(part);
            summed_ += part.size();
            if (summed_ == layout_.chunk_size) end_sum();
        }
    }
    void end_sum()
    {
        sums_.resize(sums_.size() + checksum_bytes);
        store_little(sums_.data() + sums_.size() - checksum_bytes, stream_->digest());
        stream_.reset();
        summed_ = 0;
    }

    Requests& requests_;
    Array& object_;
    std::uint64_t at_;
    const DataLayout& layout_;
    std::uint64_t request_size_;
    std::uint64_t sums_at_;
    std::uint64_t filled_ = 0;
    std::vector<Bytes> pieces_;
    std::shared_ptr<std::vector<std::byte>> staging_;
    std::uint64_t summed_ = 0; // bytes of the current part
    std::unique_ptr<ChecksumStream> stream_;
    std::vector<std::byte> sums_;
};

// What belongs to one part of a block: where in the block, and the program's memory.
struct Piece {
    std::uint64_t at = 0;
    std::byte* memory = nullptr;
    std::uint64_t bytes = 0;
};

// Parts of a stored block come in order. Each request reads one window of it, or exactly the parts.
class BlockReader {
public:
    BlockReader(Requests& requests, const std::shared_ptr<const Array>& object, const StoredBlock& block,
                const DataLayout& layout, const TransferOptions& options, std::uint64_t block_bytes,
                bool windows, std::string what)
        : requests_(requests), object_(object), offset_(block.offset), chunk_(layout.chunk_size),
          block_bytes_(block_bytes), verify_(layout.checksum && options.verify), windows_(windows || verify_),
          what_(std::make_shared<std::string>(std::move(what)))
    {
        // A window of whole parts that have a checksum.
        request_size_ = verify_ ? std::max(options.request_size / chunk_, std::uint64_t{1}) * chunk_
                                : options.request_size;
    }

    // Of those whose checksums will be needed.
    void read_checksums(std::uint64_t begin, std::uint64_t end)
    {
        if (!verify_) return;
        first_sum_ = begin / chunk_;
        const std::uint64_t count = (end + chunk_ - 1) / chunk_ - first_sum_;
        sums_ = std::make_shared<std::vector<std::byte>>(count * checksum_bytes);
        require(*object_, checksums_at(offset_, block_bytes_) + first_sum_ * checksum_bytes, *sums_, *what_);
    }

    void add(std::uint64_t at, std::byte* memory, std::uint64_t bytes)
    {
        while (bytes > 0) {
            if (!pieces_.empty() && !fits(at)) flush();
            if (pieces_.empty()) begin_ = verify_ ? at / chunk_ * chunk_ : at;
            const std::uint64_t room = windows_ ? begin_ + request_size_ - at : request_size_ - wanted_;
            const std::uint64_t part = std::min(bytes, room);
            pieces_.push_back({at, memory, part});
            end_ = at + part;
            wanted_ += part;
            at += part;
            memory += part;
            bytes -= part;
        }
    }

    void flush()
    {
        if (pieces_.empty()) return;
        if (verify_) end_ = std::min((end_ + chunk_ - 1) / chunk_ * chunk_, block_bytes_);
        if (pieces_.size() == 1 && pieces_.front().bytes == end_ - begin_)
            read_directly();
        else if (windows_)
            read_window();
        else
            read_pieces();
        pieces_.clear();
        wanted_ = 0;
    }

    static void require(const Array& object, std::uint64_t at, MutableBytes into, const std::string& what)
    {
        if (object.read(at, into).cells_short > 0) missing(what);
    }

    [[noreturn]] static void missing(const std::string& what)
    {
        throw Error(-DER_CSUM, what + " is not whole: its object ends before it; `stepstore pool check` says "
                                      "what can be saved");
    }

private:
    static constexpr std::size_t most_pieces = 1024; // of a request without a window

    bool fits(std::uint64_t at) const
    {
        if (windows_) return at < begin_ + request_size_;
        return wanted_ < request_size_ && pieces_.size() < most_pieces;
    }

    // Compares the parts of a window with their checksums.
    struct Verifier {
        std::shared_ptr<const Array> object;
        std::uint64_t offset;
        std::uint64_t sums_offset;
        std::shared_ptr<std::vector<std::byte>> sums; // null: nothing to compare
        std::shared_ptr<std::string> what;
        std::uint64_t first_sum = 0;
        std::uint64_t chunk = 0;

        void operator()(Pending& pending, std::uint64_t begin, MutableBytes window) const
        {
            if (pending.cells_short() > 0) missing(*what);
            if (!sums) return;
            for (std::uint64_t at = 0; at < window.size(); at += chunk)
                verify(begin + at, window.subspan(at, std::min<std::uint64_t>(chunk, window.size() - at)));
        }

        // begin: in the block. The second look is into other memory: a program may have given its own twice.
        void verify(std::uint64_t begin, MutableBytes part) const
        {
            const std::uint64_t sum_at = (begin / chunk - first_sum) * checksum_bytes;
            const MutableBytes sum = MutableBytes(*sums).subspan(sum_at, checksum_bytes);
            MutableBytes found = part;
            std::vector<std::byte> again;
            const bool right = right_at_second_look(
                [&] { return checksum(found) == load_little<std::uint64_t>(sum.data()); },
                [&] {
                    again.resize(part.size());
                    found = again;
                    require(*object, offset + begin, found, *what);
                    require(*object, sums_offset + begin / chunk * checksum_bytes, sum, *what);
                });
            if (!right)
                throw Error(-DER_CSUM, *what + " is damaged: the checksum of its bytes from " +
                                           std::to_string(begin) + " to " +
                                           std::to_string(begin + part.size()) +
                                           " does not match; write the array again");
            if (!again.empty()) std::ranges::copy(found, part.begin());
        }
    };
    Verifier verifier() const
    {
        return {object_,    offset_, checksums_at(offset_, block_bytes_), verify_ ? sums_ : nullptr, what_,
                first_sum_, chunk_};
    }

    void read_directly()
    {
        const Range range{offset_ + begin_, end_ - begin_};
        const MutableBytes memory(pieces_.front().memory, pieces_.front().bytes);
        Pending pending = object_->read(requests_.queue(), {&range, 1}, {&memory, 1});
        requests_.add(std::move(pending), [verify = verifier(), begin = begin_, memory](Pending& done) {
            verify(done, begin, memory);
        });
    }

    void read_window()
    {
        const Range range{offset_ + begin_, end_ - begin_};
        const std::shared_ptr<std::byte[]> window(new std::byte[range.length]); // not filled with zeroes
        const MutableBytes memory(window.get(), range.length);
        Pending pending = object_->read(requests_.queue(), {&range, 1}, {&memory, 1});
        requests_.add(std::move(pending), [verify = verifier(), begin = begin_, memory, window,
                                           pieces = std::move(pieces_)](Pending& done) {
            verify(done, begin, memory);
            for (const Piece& one : pieces)
                std::memcpy(one.memory, memory.data() + (one.at - begin), one.bytes);
        });
    }

    void read_pieces()
    {
        std::vector<Range> ranges;
        std::vector<MutableBytes> memory;
        for (const Piece& one : pieces_) {
            if (!ranges.empty() && ranges.back().index + ranges.back().length == offset_ + one.at)
                ranges.back().length += one.bytes;
            else
                ranges.push_back({offset_ + one.at, one.bytes});
            memory.emplace_back(one.memory, one.bytes);
        }
        Pending pending = object_->read(requests_.queue(), ranges, memory);
        requests_.add(std::move(pending), [what = what_](Pending& done) {
            if (done.cells_short() > 0) missing(*what);
        });
    }

    Requests& requests_;
    std::shared_ptr<const Array> object_;
    std::uint64_t offset_;
    std::uint64_t chunk_;
    std::uint64_t block_bytes_;
    bool verify_;
    bool windows_; // read what lies between the parts too
    std::shared_ptr<std::string> what_;
    std::uint64_t request_size_ = 0;
    std::shared_ptr<std::vector<std::byte>> sums_;
    std::uint64_t first_sum_ = 0;
    std::vector<Piece> pieces_;
    std::uint64_t begin_ = 0; // of the window, in the block
    std::uint64_t end_ = 0;
    std::uint64_t wanted_ = 0; // bytes of the pieces
};

// Whether to read everything between the parts: where they are short, and not much lies between them.
bool worth_a_window(const RunLength& run, std::uint64_t wanted, std::uint64_t span)
{
    constexpr std::uint64_t long_run = 16 << 10;
    constexpr std::uint64_t dense = 16;
    return run.bytes < long_run && span / dense < wanted;
}

} // namespace

void write_block(Requests& requests, Array& object, std::uint64_t offset, const DataLayout& layout,
                 const TransferOptions& options, unsigned dimensions, const Extents& count,
                 std::uint64_t element_size, const Memory& memory)
{
    SharedBox box{.dimensions = dimensions, .count = count, .element_size = element_size};
    box.first = packed_strides(count, dimensions, element_size);
    box.second = memory.strides;
    const std::uint64_t bytes = volume(count, dimensions) * element_size;
    BlockWriter writer(requests, object, offset, layout, options.request_size, bytes);
    each_run(box, [&](std::uint64_t, std::uint64_t at, std::uint64_t length) {
        writer.add({memory.first + at, length});
    });
    writer.finish();
}

void read_block(Requests& requests, const std::shared_ptr<const Array>& object, const StoredBlock& block,
                const DataLayout& layout, const TransferOptions& options, unsigned dimensions, const Box& box,
                std::uint64_t element_size, const Memory& memory, const std::string& what)
{
    const auto both = intersection(block.box, box, dimensions);
    if (!both) return;
    SharedBox shared{.dimensions = dimensions, .count = both->count, .element_size = element_size};
    shared.first = packed_strides(block.box.count, dimensions, element_size);
    shared.second = memory.strides;
    Extents last = both->count;
    for (unsigned d = 0; d < dimensions; ++d) {
        shared.first_at += (both->start[d] - block.box.start[d]) * shared.first[d];
        shared.second_at += (both->start[d] - box.start[d]) * shared.second[d];
        --last[d];
    }
    const std::uint64_t block_bytes = volume(block.box.count, dimensions) * element_size;
    const std::uint64_t span = position(last, shared.first, dimensions) + element_size;
    const std::uint64_t wanted = volume(both->count, dimensions) * element_size;
    BlockReader reader(requests, object, block, layout, options, block_bytes,
                       worth_a_window(run_of(shared), wanted, span), what);
    reader.read_checksums(shared.first_at, shared.first_at + span);
    each_run(shared, [&](std::uint64_t at, std::uint64_t into, std::uint64_t bytes) {
        reader.add(at, memory.first + into, bytes);
    });
    reader.flush();
}

} // namespace stepstore::arrays

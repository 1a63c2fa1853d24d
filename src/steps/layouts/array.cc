// The layout `array`: one array object, dense. The steps lie one after the other, and in each the blobs in
// rank order.
//
// 1. All ranks exchange the sizes of their blobs (allgather). So each knows the place of its own blob: behind
//    the steps before and the ranks before. A rank that has failed says so instead of a size, and all give
//    the step up.
// 2. Rank 0 puts base and sizes under "Step<N>" into the stream's key-value object. Each rank writes its
//    blob. The order does not matter.
// 3. A step is there when its sizes are there and every rank's blob is whole in its place. Blobs carry a
//    header and a checksum, and places are never written twice. So a reader can tell, and the writers need no
//    second exchange.
//
// A blob may lie on two targets, so a reader can meet a half-written one. The next step tells it from damage:
// its sizes are put only after an allgather that every rank enters with the blob before stored. Where there
// is no next step, and the stream is not closed, the step is not there yet.
#include "base/record.h"
#include "steps/layouts/layout.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t failed_size = UINT64_MAX;       // of a rank that gives up this step
constexpr std::uint64_t finished_size = UINT64_MAX - 1; // of one that writes no more
constexpr std::uint32_t sizes_magic = 0x5a535353;       // "SSSZ"

std::string sizes_key(std::uint64_t step)
{
    return "Step" + std::to_string(step);
}

struct Sizes {
    std::uint64_t base = 0;
    std::vector<std::uint64_t> offsets; // from base; ranks + 1
};

std::vector<std::byte> encode_sizes(std::uint64_t step, std::uint64_t base,
                                    std::span<const std::uint64_t> sizes)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(sizes_magic);
    to.fixed(step);
    to.fixed(base);
    for (const std::uint64_t size : sizes)
        to.varint(size);
    append_checksum(bytes);
    return bytes;
}

Sizes decode_sizes(Bytes bytes, std::uint64_t step, std::uint32_t ranks)
{
    const std::string what = "the record of the blobs' sizes of step " + std::to_string(step);
    const auto body = unseal_end(bytes);
    if (!body)
        throw Error(-DER_CSUM,
                    what + " is damaged: its checksum does not match; this step cannot be read, others can");
    WireReader from(*body, what);
    if (from.fixed<std::uint32_t>() != sizes_magic || from.fixed<std::uint64_t>() != step)
        from.fail("does not begin with its magic number");
    Sizes sizes;
    sizes.base = from.fixed<std::uint64_t>();
    std::uint64_t sum = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        sizes.offsets.push_back(sum);
        if (__builtin_add_overflow(sum, from.varint(), &sum) || sum > static_cast<std::uint64_t>(INT64_MAX))
            from.fail("gives impossible sizes");
    }
    sizes.offsets.push_back(sum);
    if (!from.at_end()) from.fail("has bytes left over");
    return sizes;
}

class ArrayWriter final : public LayoutWriter {
public:
    ArrayWriter(const LayoutContext& context, Communicator& communicator)
        : array_(context.container.open_array(context.record.metadata, {1, context.record.chunk_size},
                                              Access::read_write)),
          sizes_(context.container.key_value(context.record.side)), communicator_(communicator)
    {
    }
    bool collective() const override { return true; }
    void abandon(std::uint64_t step) override { exchange(step, failed_size); }
    void finish() override
    {
        while (std::ranges::any_of(communicator_.allgather(finished_size),
                                   [](std::uint64_t size) { return size != finished_size; }))
            ;
    }

    void store(std::uint64_t step, Bytes blob) override
    {
        const std::vector<std::uint64_t> sizes = exchange(step, blob.size());
        const auto rank = static_cast<std::size_t>(communicator_.rank());
        std::uint64_t at = base_, sum = 0;
        for (std::size_t r = 0; r < sizes.size(); ++r) {
            if (r < rank) at += sizes[r];
            sum += sizes[r];
        }
        const std::uint64_t base = base_;
        base_ += sum;
        ++requests_;
        array_.write(at, blob);
        if (rank != 0) return;
        ++requests_;
        sizes_.put(sizes_key(step), encode_sizes(step, base, sizes));
    }

private:
    std::vector<std::uint64_t> exchange(std::uint64_t step, std::uint64_t mine)
    {
        std::vector<std::uint64_t> sizes = communicator_.allgather(mine);
        for (std::size_t rank = 0; rank < sizes.size(); ++rank)
            if (sizes[rank] >= finished_size && mine != failed_size)
                throw Error(-DER_CANCELED,
                            step_rank(step, static_cast<std::uint32_t>(rank)) + ": this rank " +
                                (sizes[rank] == failed_size
                                     ? "failed"
                                     : "can store no further step, because an earlier one failed") +
                                ", so no rank stores this step; the steps before it are kept");
        return sizes;
    }

    Array array_;
    KeyValue sizes_;
    Communicator& communicator_;
    std::uint64_t base_ = 0;
};

class ArrayReader final : public LayoutReader {
public:
    explicit ArrayReader(const LayoutContext& context)
        : record_(context.record),
          array_(context.container.open_array(record_.metadata, {1, record_.chunk_size}, Access::read_only)),
          sizes_(context.container.key_value(record_.side, Access::read_only))
    {
    }

    bool fetch(std::uint64_t step, StepBlobs& into) override
    {
        if (!find_sizes(step)) return false;
        into.step = step;
        into.offsets = known_.offsets;
        into.bytes.assign(known_.offsets.back(), std::byte{0});
        ++requests_;
        array_.read(known_.base, into.bytes);
        for (std::uint32_t rank = 0; rank < record_.ranks; ++rank) {
            BlobHeader header;
            if (inspect_blob(into.of(rank), header) != BlobState::whole) {
                if (!must_be_whole(step)) return false;
                reread(into, rank);
            }
            open_blob(into.of(rank), record_.generation, step, rank);
        }
        return true;
    }

    std::optional<std::vector<std::byte>> raw_blob(std::uint64_t step, std::uint32_t rank) override
    {
        if (!find_sizes(step)) return std::nullopt;
        std::vector<std::byte> blob(known_.offsets[rank + 1] - known_.offsets[rank]);
        ++requests_;
        array_.read(known_.base + known_.offsets[rank], blob);
        BlobHeader header;
        if (inspect_blob(blob, header) == BlobState::absent) return std::nullopt;
        return blob;
    }

private:
    bool find_sizes(std::uint64_t step)
    {
        if (known_step_ == step) return true;
        ++requests_;
        const auto bytes = sizes_.get(sizes_key(step));
        if (!bytes) return false;
        known_ = decode_sizes(*bytes, step, record_.ranks);
        known_step_ = step;
        return true;
    }

    // Whether every rank has stored its blob of the step, by what came after.
    bool must_be_whole(std::uint64_t step)
    {
        ++requests_;
        if (sizes_.get(sizes_key(step + 1))) return true;
        return record_.closed && step < record_.steps;
    }

    // The rank may have stored its blob between the first read and the look at the next step.
    void reread(StepBlobs& into, std::uint32_t rank)
    {
        ++requests_;
        array_.read(known_.base + known_.offsets[rank],
                    MutableBytes(into.bytes)
                        .subspan(into.offsets[rank], into.offsets[rank + 1] - into.offsets[rank]));
    }

    const StreamRecord& record_; // the reader keeps it up to date
    Array array_;
    KeyValue sizes_;
    std::uint64_t known_step_ = no_step;
    Sizes known_;
};

void trim_array(const LayoutContext& context, std::uint64_t end)
{
    const auto bytes = context.container.key_value(context.record.side).get(sizes_key(end - 1));
    if (!bytes) return;
    const Sizes last = decode_sizes(*bytes, end - 1, context.record.ranks);
    shorten(context.container.open_array(context.record.metadata, {1, context.record.chunk_size}),
            last.base + last.offsets.back());
}

} // namespace

const Layout& array_layout()
{
    static const Layout layout = {
        .name = "array",
        .number = 3,
        .writer = &make_layout_writer<ArrayWriter>,
        .reader = &make_layout_reader<ArrayReader>,
        .trim = &trim_array,
    };
    return layout;
}

} // namespace stepstore::steps

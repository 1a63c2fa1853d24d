#include "steps/layouts/data_store.h"

#include <map>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t least_part = 1 << 20; // bytes that are worth a thread
constexpr std::uint64_t most_parts = 4;

std::uint64_t bytes_of(const DataRequest& request)
{
    std::uint64_t bytes = 0;
    for (const Range& range : request.ranges)
        bytes += range.length;
    return bytes;
}

// A large request as several of about the same size, cut where chunks of the array end. They are in flight
// together, since one processor limits a copy out of the page cache.
void split(const DataRequest& whole, std::uint64_t chunk, std::vector<DataRequest>& parts)
{
    const std::uint64_t bytes = bytes_of(whole);
    const std::uint64_t wanted = bytes / std::clamp<std::uint64_t>(bytes / least_part, 1, most_parts);
    std::uint64_t filled = wanted; // of the last part
    for (std::size_t i = 0; i < whole.ranges.size(); ++i) {
        Range left = whole.ranges[i];
        MutableBytes memory = whole.memory[i]; // one piece per range: DataReads makes them so
        while (left.length > 0) {
            if (filled >= wanted) {
                parts.push_back({whole.place, {}, {}});
                filled = 0;
            }
            std::uint64_t length = left.length;
            if (length > wanted - filled) { // up to the end of the chunk in which the part is full
                const std::uint64_t end = (left.index + (wanted - filled) + chunk - 1) / chunk * chunk;
                length = std::min(length, end - left.index);
            }
            parts.back().ranges.push_back({left.index, length});
            parts.back().memory.push_back(memory.first(length));
            left = {left.index + length, left.length - length};
            memory = memory.subspan(length);
            filled += length;
        }
    }
}

class ArrayDataWriter final : public DataWriter {
public:
    ArrayDataWriter(const LayoutContext& context, std::uint32_t rank)
        : array_(context.container.open_array(context.record.data_of(rank),
                                              {1, context.record.data_chunk_size}, Access::read_write))
    {
    }
    void write(std::span<const Range> ranges, std::span<const Bytes> memory) override
    {
        array_.write(ranges, memory);
    }

private:
    Array array_;
};

class ArrayDataReader final : public DataReader {
public:
    explicit ArrayDataReader(const LayoutContext& context)
        : container_(context.container), record_(context.record), queue_(context.pool.event_queue())
    {
    }

    void read(std::span<DataRequest> requests) override
    {
        if (requests.size() == 1 && bytes_of(requests.front()) < 2 * least_part) {
            const DataRequest& request = requests.front();
            const ReadResult result = array(request.place.rank).read(request.ranges, spans(request));
            if (result.cells_short > 0) explain(request);
            return;
        }
        std::vector<DataRequest> parts;
        for (const DataRequest& request : requests)
            split(request, record_.data_chunk_size, parts);
        std::vector<Pending> pending;
        pending.reserve(parts.size());
        for (const DataRequest& part : parts)
            pending.push_back(array(part.place.rank).read(queue_, part.ranges, spans(part)));
        for (Pending& one : pending)
            one.wait();
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (!pending[i].tells_cells_short() || pending[i].cells_short() > 0) explain(parts[i]);
    }

    std::uint64_t size(std::uint32_t rank) override { return array(rank).size(); }

private:
    static std::span<const MutableBytes> spans(const DataRequest& request) { return request.memory; }

    // Throws when the request reaches beyond the end of the array. A size is asked for once per growth.
    void explain(const DataRequest& request)
    {
        std::uint64_t end = 0;
        for (const Range& range : request.ranges)
            end = std::max(end, range.index + range.length);
        std::uint64_t& known = sizes_[request.place.rank];
        if (end <= known) return;
        known = array(request.place.rank).size();
        if (end > known) missing_data(request.place.rank, end - known);
    }

    Array& array(std::uint32_t rank)
    {
        const auto found = arrays_.find(rank);
        if (found != arrays_.end()) return found->second;
        return arrays_
            .emplace(rank, container_.open_array(record_.data_of(rank), {1, record_.data_chunk_size},
                                                 Access::read_only))
            .first->second;
    }

    const Container& container_;
    const StreamRecord record_; // its own: a reader's other threads bring the stream's up to date meanwhile
    EventQueue queue_;
    std::map<std::uint32_t, Array> arrays_;
    std::map<std::uint32_t, std::uint64_t> sizes_;
};

std::unique_ptr<DataWriter> make_array_data_writer(const LayoutContext& context, std::uint32_t rank)
{
    return std::make_unique<ArrayDataWriter>(context, rank);
}

std::unique_ptr<DataReader> make_array_data_reader(const LayoutContext& context)
{
    return std::make_unique<ArrayDataReader>(context);
}

void trim_array_data(const LayoutContext& context, std::uint32_t rank, std::uint64_t end)
{
    shorten(context.container.open_array(context.record.data_of(rank), {1, context.record.data_chunk_size}),
            end);
}

} // namespace

void missing_data(std::uint32_t rank, std::uint64_t bytes)
{
    throw Error(-DER_CSUM,
                std::to_string(bytes) + " bytes of the data of writer rank " + std::to_string(rank) +
                    " are missing: its data object ends before the blocks that the metadata describes; "
                    "`stepstore pool check` says what can be saved");
}

const DataStore data_in_arrays = {
    .in_chunks = true,
    .in_snapshots = true,
    .checks_itself = false,
    .format = 1,
    .writer = &make_array_data_writer,
    .reader = &make_array_data_reader,
    .trim = &trim_array_data,
};

} // namespace stepstore::steps

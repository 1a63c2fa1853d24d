#include "steps/write/append.h"

#include "steps/read/step_source.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

std::string text_of(Order order)
{
    return order == Order::row_major ? "row-major" : "column-major";
}

void require_same(const OpenedStream& old, const WriterOptions& options)
{
    const StreamRecord& is = old.record;
    const auto refuse = [&](const std::string& what, const std::string& wanted, const std::string& has) {
        throw Error(-DER_INVAL, "cannot append to the stream " + old.location.text() + " with " + what + " " +
                                    wanted + ": the stream has " + has +
                                    ", which stays; leave the parameter away, or write " + "another stream");
    };
    const auto size = [&](const std::string& what, std::uint64_t wanted, std::uint64_t has) {
        if (wanted != 0 && wanted != has) refuse(what, std::to_string(wanted), std::to_string(has));
    };
    const auto text = [&](const std::string& what, const std::string& wanted, const std::string& has) {
        if (!wanted.empty() && wanted != has) refuse(what, wanted, has);
    };
    const bool asks_layout = options.layout_given || options.layout != WriterOptions().layout;
    if (asks_layout && options.layout != is.layout)
        refuse("the layout", std::string(name_of(options.layout)), std::string(name_of(is.layout)));
    if (options.order != is.order) refuse("arrays in the order", text_of(options.order), text_of(is.order));
    size("ChunkSize", options.chunk_size, is.chunk_size);
    size("DataChunkSize", options.data_chunk_size, is.data_chunk_size);
    text("ObjectClass", options.object_class, is.object_class);
    text("DataObjectClass", options.data_object_class, is.data_object_class);
}

// ADIOS2's BP5's rule.
std::uint64_t steps_to_keep(std::int64_t append_after, std::uint64_t there)
{
    if (append_after >= 0) return std::min(static_cast<std::uint64_t>(append_after), there);
    const std::uint64_t removed = 0 - static_cast<std::uint64_t>(append_after) - 1;
    return there - std::min(removed, there);
}

// Reads a stream from one process, for what a writer has to know of it.
struct Look {
    explicit Look(const OpenedStream& opened)
        : communicator(self_communicator()), stream(opened, Gets::async),
          source(stream, options, *communicator, profile)
    {
    }
    static ReaderOptions at_random()
    {
        ReaderOptions options;
        options.mode = ReadMode::random_access;
        return options;
    }
    ReaderOptions options = at_random();
    std::shared_ptr<Communicator> communicator;
    Profile profile;
    OpenStream stream;
    StepSource source;
};

} // namespace

Append plan_append(const OpenedStream& old, Container& container, const WriterOptions& options, int ranks)
{
    require_same(old, options);
    Look look(old);
    const std::uint64_t there = look.source.count();
    const std::uint64_t keep = steps_to_keep(options.append_after, there);
    look.source.learn_definitions(keep);

    Append plan;
    plan.known = look.source.dictionary().variables();
    StreamRecord& record = plan.record;
    record = old.record;
    std::vector<Segment> segments = std::move(record.earlier);
    segments.push_back(last_segment(old.record, there));
    record.earlier.clear();
    for (Segment& one : segments) {
        one.end_step = std::min(one.end_step, keep);
        (one.first_step < one.end_step ? record.earlier : record.dropped).push_back(one);
    }
    record.ranks = static_cast<std::uint32_t>(ranks);
    record.first_step = keep;
    record.closed = false;
    record.steps = 0;
    assign_objects(container, record);
    return plan;
}

void reclaim(const Pool& pool, const Container& container, const StreamRecord& record)
{
    for (const Segment& one : record.dropped)
        destroy_segment_objects(container, pool.location(), segment_record(record, one));
    if (record.earlier.empty()) return;
    // Only the last of them may have been longer: those before were trimmed when it was begun.
    const StreamRecord last = segment_record(record, record.earlier.back());
    const LayoutContext context{pool, container, last};
    trim_layout(context, last.steps);
    const auto layout = make_layout_reader(context);
    for (std::uint32_t rank = 0; rank < last.ranks; ++rank) {
        try {
            const std::vector<std::byte> blob = layout->fetch_blob(last.steps - 1, rank);
            const BlobHeader header = open_blob(blob, last.generation, last.steps - 1, rank);
            trim_data(context, rank, header.data_base + header.data_length);
        } catch (const Error& error) {
            // A damaged blob does not say where its data ends: then the space stays taken.
            if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL && error.code() != -DER_NONEXIST)
                throw;
        }
    }
}

} // namespace stepstore::steps

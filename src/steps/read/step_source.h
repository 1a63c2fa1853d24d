// Where a reader's steps come from: finds them in the stream, waits for them, hands them to the other ranks,
// reads ahead.
#pragma once

#include "steps/layouts/data_store.h"
#include "steps/layouts/layout.h"
#include "steps/profile/profile.h"
#include "steps/stream/options.h"
#include "steps/stream/stream.h"
#include "steps/stream/writer_lease.h"

#include <algorithm>
#include <deque>
#include <map>

namespace stepstore::steps {

// The stream as this process has it open.
class OpenStream {
public:
    OpenStream(OpenedStream opened, Gets gets);
    const Location& location() const { return opened_.location; }
    const StreamRecord& record() const { return opened_.record; }
    const Container& container() const { return container_; }
    bool is_snapshot() const { return opened_.snapshot != 0; }
    // One segment's record, kept up to date, always in the same place.
    const StreamRecord&
    segment_of(std::uint64_t step) const; // for steps that are not there yet, the last one
    const StreamRecord& segment(std::uint64_t generation) const;
    LayoutContext context(const StreamRecord& segment) const { return {pool_, container_, segment, gets_}; }
    // Sees what the writers have done: closed the stream, or appended to it. -DER_STALE: another stream took
    // its place, or steps that this reader has seen were cut off.
    void refresh();
    // Whether what this reader has seen is still there: what was read before this call is then whole. Throws
    // -DER_STALE otherwise.
    void require_current();
    // Another rank's look, which it made before.
    void take_record(StreamRecord&& record);
    // The steps before `end` were seen.
    void note_seen(std::uint64_t end) { seen_ = std::max(seen_, end); }
    WriterWatch& writer();

private:
    StreamRecord look();
    OpenedStream opened_;
    Gets gets_;
    Pool pool_;
    Container container_;
    Catalogue catalogue_;
    std::map<std::uint64_t, StreamRecord> segments_; // by generation
    std::uint64_t seen_ = 0;
    std::optional<WriterWatch> writer_;
};

// The data of all segments.
class StreamDataReader {
public:
    explicit StreamDataReader(const OpenStream& stream) : stream_(stream) {}
    void read(std::span<DataRequest> requests);

private:
    const OpenStream& stream_;
    std::map<std::uint64_t, std::unique_ptr<DataReader>> readers_; // by generation
};

class StepSource {
public:
    StepSource(OpenStream& stream, const ReaderOptions& options, Communicator& communicator,
               Profile& profile);

    // Stream mode: the next step. nullptr and a status when there is none.
    std::shared_ptr<const InstalledStep> next(double timeout_seconds, StepStatus& status);
    // Random access: any step, kept for a while. -DER_NONEXIST: not there.
    std::shared_ptr<const InstalledStep> load(std::uint64_t step);
    // How many whole steps there are now.
    std::uint64_t count();
    // The first step from `step` on that is not gone.
    std::uint64_t first_kept(std::uint64_t step);
    // Random access: everything that was defined up to the last of the first `steps`.
    void learn_definitions(std::uint64_t steps);
    // The dead writer, after StepStatus::writer_died (with delegated reads: on rank 0).
    const std::string& dead_writer() const { return dead_writer_; }
    const Dictionary& dictionary() const { return *dictionary_; }

private:
    // What it takes to read one segment.
    struct Part {
        const StreamRecord& record;
        std::unique_ptr<LayoutReader> layout; // of ranks that read
        std::optional<KeyValue> side;
        Decoder decoder;
    };
    Part& part_of(const StreamRecord& segment);
    LayoutReader& reader_of(Part& part);
    bool fetch(Part& part, std::uint64_t step, StepBlobs& blobs);
    void fetch_ahead(Part& part, std::uint64_t count, std::vector<StepBlobs>& found);
    std::uint64_t usual_budget(std::size_t bytes) const; // of a step
    std::uint64_t steps_to_ask_for(std::size_t bytes, std::uint64_t budget) const;
    void forget();
    StepStatus delegate(double timeout_seconds);
    StepStatus look_for_all(double timeout_seconds);
    bool delegated() const;
    StepStatus acquire(double timeout_seconds, std::vector<std::byte>* message);
    Error skip_gone(const Error& error);
    StepStatus wait_for(std::uint64_t step, double timeout_seconds, StepBlobs& blobs, bool& at_once);
    void install_found(Part& part, StepBlobs&& blobs, std::vector<std::byte>* message);
    void read_ahead(std::size_t bytes, std::vector<std::byte>* message);
    StepStatus install_message(Bytes message);
    void tell_record(std::vector<std::byte>& message);
    std::vector<std::byte> fetch_blob(Part& part, std::uint64_t step, std::uint32_t rank, BlobPart which);

    OpenStream& stream_;
    const ReaderOptions& options_;
    Communicator& communicator_;
    Profile& profile_;
    std::shared_ptr<Dictionary> dictionary_ = std::make_shared<Dictionary>();
    std::map<std::uint64_t, Part> parts_; // by generation; in stream mode only the last one used
    std::uint64_t next_step_ = 0;         // the same on all ranks, as is what the decoders hold
    const std::uint64_t own_until_;       // the first step that ranks do not read for themselves
    std::uint64_t told_generation_;       // of the record that the other ranks have
    bool told_closed_;
    std::vector<std::byte> message_; // of rank 0 to the others; its memory is used again
    std::shared_ptr<SpareBuffers> spares_ = std::make_shared<SpareBuffers>();
    std::deque<std::shared_ptr<const InstalledStep>> ahead_;
    std::uint64_t hoped_for_ = 1; // steps ahead in a stream that is being written, by how many there were
    std::deque<std::shared_ptr<const InstalledStep>> loaded_; // random access: most recently used last
    std::uint64_t counted_ = 0;
    std::string dead_writer_;
};

} // namespace stepstore::steps

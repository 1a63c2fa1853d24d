// Where a reader's steps come from: finds them in the stream, waits for them, hands them to the other ranks,
// reads ahead.
// Threads: one at a time, as the Reader. Errors: -DER_NONEXIST, -DER_EP_OLD for a step that is gone,
// -DER_CSUM and -DER_DF_INVAL for damage.
#pragma once

#include "steps/profile/profile.h"
#include "steps/read/open_stream.h"
#include "steps/read/pause.h"
#include "steps/stream/options.h"

#include <deque>
#include <map>

namespace stepstore::steps {

class StepSource {
public:
    // one_machine: all ranks are on one.
    StepSource(OpenStream& stream, const ReaderOptions& options, Communicator& communicator, Profile& profile,
               bool one_machine);

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
    bool fetch(Part& part, std::uint64_t step, StepMetadata& fetched);
    void fetch_ahead(Part& part, std::uint64_t count, std::vector<StepMetadata>& found);
    std::uint64_t usual_budget(std::size_t bytes) const; // of a step
    std::uint64_t steps_to_ask_for(std::size_t bytes, std::uint64_t budget) const;
    void forget();
    StepStatus delegate(double timeout_seconds);
    StepStatus look_for_all(double timeout_seconds);
    bool delegated() const;
    StepStatus acquire(double timeout_seconds, std::vector<std::byte>* message);
    Error skip_gone(const Error& error);
    StepStatus wait_for(std::uint64_t step, double timeout_seconds, StepMetadata& fetched, bool& at_once);
    void install_found(Part& part, StepMetadata&& fetched, std::vector<std::byte>* message);
    void read_ahead(std::size_t bytes, std::vector<std::byte>* message);
    StepStatus install_message(Bytes message);
    void tell_record(std::vector<std::byte>& message);
    std::vector<std::byte> fetch_metadata(Part& part, std::uint64_t step, std::uint32_t rank,
                                          MetadataPart which);

    OpenStream& stream_;
    const ReaderOptions& options_;
    Communicator& communicator_;
    Profile& profile_;
    std::shared_ptr<Dictionary> dictionary_ = std::make_shared<Dictionary>();
    std::map<std::uint64_t, Part> parts_; // by generation; in stream mode only the last one used
    std::uint64_t next_step_ = 0;         // the same on all ranks, as is what the decoders hold
    const bool near_;                     // the steps lie on the machine of all ranks
    const std::uint64_t own_until_;       // the first step that ranks do not read for themselves
    std::uint64_t told_generation_;       // of the record that the other ranks have
    bool told_closed_;
    Pause pause_;
    std::vector<std::byte> message_; // of rank 0 to the others; its memory is used again
    std::shared_ptr<SpareBuffers> spares_ = std::make_shared<SpareBuffers>();
    std::deque<std::shared_ptr<const InstalledStep>> ahead_;
    std::uint64_t hoped_for_ = 1; // steps ahead in a stream that is being written, by how many there were
    std::deque<std::shared_ptr<const InstalledStep>> loaded_; // random access: most recently used last
    std::uint64_t counted_ = 0;
    std::string dead_writer_;
};

} // namespace stepstore::steps

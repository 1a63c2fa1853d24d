// Where a reader's steps come from: finds them in the stream, waits for them, hands them to the other ranks, reads
// ahead.
#pragma once

#include "steps/layouts/layout.h"
#include "steps/profile.h"
#include "steps/reader.h"
#include "steps/stream.h"

#include <deque>

namespace stepstore::steps {

// The stream as this process has it open.
class OpenStream {
public:
    OpenStream(OpenedStream opened, Gets gets);
    const Location& location() const { return opened_.location; }
    const StreamRecord& record() const { return opened_.record; }
    LayoutContext context() const { return {pool_, container_, opened_.record, gets_}; }
    const Container& container() const { return container_; }
    // Looks whether the writer has closed it. -DER_STALE: it is another stream by now.
    void refresh();
    // Whether it is still the same stream: what was read before this call is then whole. Throws -DER_STALE otherwise.
    void require_current();

private:
    std::optional<StreamRecord> look();
    OpenedStream opened_;
    Gets gets_;
    Pool pool_;
    Container container_;
    Catalogue catalogue_;
};

class StepSource {
public:
    StepSource(OpenStream& stream, const ReaderOptions& options, Communicator& communicator, Profile& profile);

    // Stream mode: the next step. nullptr and a status when there is none.
    std::shared_ptr<const InstalledStep> next(double timeout_seconds, StepStatus& status);
    // Random access: any step, kept for a while. -DER_NONEXIST: not there.
    std::shared_ptr<const InstalledStep> load(std::uint64_t step);
    // How many whole steps there are now.
    std::uint64_t count();
    const Dictionary& dictionary() const { return decoder_.dictionary(); }

private:
    bool delegated() const { return options_.readers == Readers::delegate && communicator_.size() > 1; }
    StepStatus acquire(double timeout_seconds, std::vector<std::byte>* message);
    StepStatus wait_for(std::uint64_t step, double timeout_seconds, StepBlobs& blobs, bool& at_once);
    void install_found(StepBlobs&& blobs, std::vector<std::byte>* message);
    void read_ahead(std::size_t bytes, std::vector<std::byte>* message);
    void install_message(Bytes message);
    std::vector<std::byte> fetch_blob(std::uint64_t step, std::uint32_t rank, BlobPart part);
    LayoutReader& layout();

    OpenStream& stream_;
    const ReaderOptions& options_;
    Communicator& communicator_;
    Profile& profile_;
    std::unique_ptr<LayoutReader> layout_; // of ranks that read
    std::optional<KeyValue> side_;         // once a copy was needed
    Decoder decoder_;
    std::uint64_t next_step_ = 0; // the same on all ranks, as is what the decoder holds
    std::deque<std::shared_ptr<const InstalledStep>> ahead_;
    std::deque<std::shared_ptr<const InstalledStep>> loaded_; // random access: most recently used last
    std::uint64_t counted_ = 0;
};

} // namespace stepstore::steps

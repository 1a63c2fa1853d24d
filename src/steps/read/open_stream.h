// A stream that is open for reading: its segments as they are now, whether what was read is still there, and
// the data of all segments.
// Threads: one at a time, as the Reader. Errors: -DER_STALE for a stream that was replaced, -DER_NO_PERM, and
// those of the store.
#pragma once

#include "steps/layouts/data_store.h"
#include "steps/layouts/layout.h"
#include "steps/profile/profile_record.h"
#include "steps/stream/stream.h"
#include "steps/stream/stream_list.h"
#include "steps/stream/writer_lease.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace stepstore::steps {

// The stream as this process has it open.
class OpenStream {
public:
    explicit OpenStream(OpenedStream opened);
    const Location& location() const { return opened_.location; }
    const StreamRecord& record() const { return opened_.record; }
    const Container& container() const { return container_; }
    bool is_snapshot() const { return opened_.snapshot != 0; }
    // One segment's record, kept up to date, always in the same place.
    const StreamRecord&
    segment_of(std::uint64_t step) const; // for steps that are not there yet, the last one
    const StreamRecord& segment(std::uint64_t generation) const;
    LayoutContext context(const StreamRecord& segment) const { return {pool_, container_, segment}; }
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
    LeaseWatch& writer();
    // Of what writers announce: each part of a step, the end of the stream.
    std::optional<KeyWatch> watch() const { return list_.watch(opened_.location.stream); }
    // The profile of readers, where the pool has no directory for it. -DER_NO_PERM, -DER_STALE.
    void keep_readers_profile(std::string_view json) const;
    // What the stream itself holds; empty: nothing.
    std::string kept_profile(ProfileSide side) const;

private:
    StreamRecord look();
    OpenedStream opened_;
    Pool pool_;
    Container container_;
    StreamList list_;
    std::map<std::uint64_t, StreamRecord> segments_; // by generation
    std::uint64_t seen_ = 0;
    std::optional<LeaseWatch> writer_;
};

// The data of all segments. Only open() looks at the stream: read() may run beside other uses of that.
class StreamDataReader {
public:
    explicit StreamDataReader(const OpenStream& stream) : stream_(stream) {}
    // Before read(), with the same requests.
    void open(std::span<const DataRequest> requests);
    void read(std::span<DataRequest> requests);

private:
    const OpenStream& stream_;
    std::map<std::uint64_t, std::unique_ptr<DataReader>> readers_; // by generation
};

} // namespace stepstore::steps

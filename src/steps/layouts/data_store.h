// Where the data blocks lie: an array object per writer rank, or files (data_files.h). Appended step by step.
// Threads: one at a time for each DataWriter or DataReader. Errors: those of the store; -DER_CSUM for data
// that are not there.
#pragma once

#include "steps/layouts/layout.h"

namespace stepstore::steps {

class DataWriter {
public:
    virtual ~DataWriter() = default;
    // Ranges in bytes of this rank's array; the memory pieces have the same total size.
    virtual void write(std::span<const Range> ranges, std::span<const Bytes> memory) = 0;
    // What was written survives what the pool's durability promises. Writing to objects promises it already.
    virtual void make_durable() {}
};

// One array object, or file: the data of a rank of a segment.
struct DataPlace {
    std::uint64_t generation = 0; // of the segment
    std::uint32_t rank = 0;
    friend auto operator<=>(const DataPlace&, const DataPlace&) = default;
};

struct DataRequest {
    DataPlace place;
    std::vector<Range> ranges;
    std::vector<MutableBytes> memory;
};

class DataReader {
public:
    virtual ~DataReader() = default;
    // -DER_CSUM when there are fewer bytes than asked for; the message names the rank.
    virtual void read(std::span<DataRequest> requests) = 0;
    virtual std::uint64_t size(std::uint32_t rank) = 0; // bytes
};

// A reader's failure: so many bytes past the end of a rank's data.
[[noreturn]] void missing_data(std::uint32_t rank, std::uint64_t bytes);

// One way to keep data blocks. A layout names the one that it uses.
struct DataStore {
    bool in_chunks;       // a step's data may begin where a chunk does, after a gap
    bool in_snapshots;    // a snapshot of the container keeps it
    bool checks_itself;   // what is read was verified, in any pool
    std::uint32_t format; // of the records of streams whose data lies here
    std::unique_ptr<DataWriter> (*writer)(const LayoutContext&, std::uint32_t rank);
    std::unique_ptr<DataReader> (*reader)(const LayoutContext&);
    // Frees the space after the first `end` bytes of a rank's data. Nobody writes the segment any more.
    void (*trim)(const LayoutContext&, std::uint32_t rank, std::uint64_t end);
    // Of stores that keep files: a segment's directory below the pool's, which prepare() makes.
    std::string (*directory)(const std::string& container, std::uint64_t generation) = nullptr;
    void (*prepare)(const std::string& pool, const StreamRecord& segment) = nullptr;
};

} // namespace stepstore::steps

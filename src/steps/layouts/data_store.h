// Where the data blocks lie: an array object per writer rank (files with the layout posix, data_files.h),
// appended step by step.
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

// A reader's failure: so many bytes behind the end of a rank's data.
[[noreturn]] void missing_data(std::uint32_t rank, std::uint64_t bytes);

std::unique_ptr<DataWriter> make_data_writer(const LayoutContext& context, std::uint32_t rank);
std::unique_ptr<DataReader> make_data_reader(const LayoutContext& context);

// Frees the space behind the first `end` bytes of a rank's data. Nobody writes the segment any more.
void trim_data(const LayoutContext& context, std::uint32_t rank, std::uint64_t end);

} // namespace stepstore::steps

// The experiment of the first reference: ranks write metadata in every step, other ranks read
// all of them, and each rank takes the time of its part. It is the same for every engine, and on any
// Communicator: it knows no MPI, and takes its time from base/.
// Threads: one for each rank. Errors: those of the engine, and std::runtime_error for wrong data.
#pragma once

#include "comm/communicator.h"
#include "layouts/metadata.h"
#include "steps/profile/profile.h"
#include "steps/stream/options.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::bench {

// What an engine is asked to do. One object per rank; all ranks make the same calls.
class StepWriter {
public:
    virtual ~StepWriter() = default;
    virtual void begin_step(std::string_view metadata) = 0; // puts it too; the metadata stays until end_step
    virtual void end_step() = 0;                            // stabilisation
    virtual void close() = 0;
    virtual steps::Costs costs() const { return {}; } // so far, where the engine tells
};

class StepReader {
public:
    virtual ~StepReader() = default;
    virtual bool begin_step() = 0; // acquisition; false: there is no further step
    virtual std::string_view
    metadata(std::uint32_t writer) = 0; // of the open step, valid until the next call
    virtual void end_step() = 0;
    virtual void close() = 0;
    virtual steps::Costs costs() const { return {}; }
};

struct Experiment {
    std::uint64_t steps = 0;
    std::uint32_t writers = 0;
    MetadataSizes sizes;
    bool together = false; // the ranks wait for each other before each step
};

struct StepTime {
    double begin = 0, seconds = 0;           // of end_step or begin_step; begin: by a clock that all share
    double first = 0, second = 0, third = 0; // encode, store; or read, broadcast, install
};

// What one rank has measured.
struct RankTimes {
    double open = 0, close = 0; // seconds
    std::uint64_t metadata_bytes = 0;
    std::vector<StepTime> steps;
};

// Is called on rank 0 with the stream open, before the first step and after the last; the others wait.
using Look = std::function<void()>;

RankTimes write_steps(const Experiment& experiment, Communicator& ranks,
                      const std::function<std::unique_ptr<StepWriter>()>& open, const Look& look);
// Compares all metadata with what was written, on one rank and outside of what is timed. Throws
// std::runtime_error where they differ, or where the number of steps is another.
RankTimes read_steps(const Experiment& experiment, Communicator& ranks,
                     const std::function<std::unique_ptr<StepReader>()>& open, const Look& look);

// The timestep engine.
std::unique_ptr<StepWriter> open_writer(const std::string& location, const steps::WriterOptions& options,
                                        std::shared_ptr<Communicator> ranks);
// timeout: seconds to wait for a step.
std::unique_ptr<StepReader> open_reader(const std::string& location, const steps::ReaderOptions& options,
                                        double timeout, std::shared_ptr<Communicator> ranks);

} // namespace stepstore::bench

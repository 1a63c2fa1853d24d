// What a rank spent its time on, in the references' terms. Times are seconds of wall clock.
// Threads: one at a time. Errors: none.
#pragma once

#include "base/time_source.h"
#include "steps/profile/region.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

struct Costs {
    // Stabilisation: from the creation of a step's metadata to its being stored (writers).
    double encode = 0; // of it: making the metadata
    double store = 0;  // of it: the layout's exchange and storing
    // Of store, on rank 0: the container's snapshot and its entry (StepMode::snapshot).
    double snapshot = 0;
    // Acquisition: from storage to every reader rank (readers).
    double read = 0;      // of it: fetching the metadata (rank 0 with delegated reads)
    double broadcast = 0; // of it: handing them to the other ranks, waiting for rank 0 included
    double install = 0;   // of it: making them ready for use
    // Polling for a step that was not there, no part of acquisition (readers). Waiting for what is at work
    // beside the program (writers, async_write).
    double wait = 0;
    double hidden = 0;     // of data and store: beside the program, which did not wait for it (writers)
    double data = 0;       // data blocks: putting or getting them
    double statistics = 0; // min/max (writers)
    std::uint64_t metadata_bytes = 0;
    std::uint64_t metadata_requests = 0;
    std::uint64_t data_bytes = 0;
    std::uint64_t data_requests = 0;

    double stabilisation() const { return encode + store; }
    double acquisition() const { return read + broadcast + install; }
    void add(const Costs& other);
};

// One rank's costs: their sums, and how they went over the steps, in rows of equally many steps. When there
// are `most_rows`, two become one: the memory does not grow with the number of steps.
class Profile : public Costs {
public:
    static constexpr std::size_t most_rows = 32;
    struct Row {
        std::uint64_t first = 0;
        std::uint64_t steps = 0;
        Costs costs;
    };

    std::uint64_t steps() const { return steps_; }
    // A step has ended: what was added since the step before is this step's.
    void end_step(std::uint64_t step);
    const std::vector<Row>& rows() const { return rows_; }
    // {"rank":0,"steps":..,"stabilisation_seconds":..,"encode_seconds":..,"store_seconds":..,
    //  "snapshot_seconds":..,"acquisition_seconds":..,"read_seconds":..,
    //  "broadcast_seconds":..,"install_seconds":..,"wait_seconds":..,"hidden_seconds":..,"data_seconds":..,
    //  "statistics_seconds":..,"metadata_bytes":..,"metadata_requests":..,"data_bytes":..,"data_requests":..,
    //  "rows":{"step":[first of each row],"steps":[..],"stabilisation_seconds":[..], ... as above}}
    // Of rows, what is 0 in all of them is left out.
    std::string json(int rank) const;

private:
    std::uint64_t steps_ = 0;
    Costs before_; // of the steps that ended
    std::vector<Row> rows_;
};

// Adds the time of its own life to a counter, and is a region of that name for Caliper.
class Stopwatch {
public:
    explicit Stopwatch(double& seconds, const char* region = "stepstore")
        : seconds_(seconds), region_(region), begin_(SteadyClock::now())
    {
    }
    ~Stopwatch() { seconds_ += std::chrono::duration<double>(SteadyClock::now() - begin_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    double& seconds_;
    Region region_;
    SteadyClock::time_point begin_;
};

} // namespace stepstore::steps

// What a rank spent its time on, in the references' terms. Times are seconds of wall clock, summed over the steps.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

struct Profile {
    std::uint64_t steps = 0;
    // Stabilisation: from the creation of a step's metadata to its being stored (writers).
    double encode = 0; // of it: making the blob
    double store = 0;  // of it: the layout's exchange and storing
    // Acquisition: from storage to every reader rank (readers).
    double read = 0;       // of it: fetching the blobs (rank 0 with delegated reads)
    double broadcast = 0;  // of it: handing them to the other ranks, waiting for rank 0 included
    double install = 0;    // of it: making them ready for use
    double wait = 0;       // polling for a step that was not there; no part of acquisition
    double data = 0;       // data blocks: putting or getting them
    double statistics = 0; // min/max (writers)
    std::uint64_t metadata_bytes = 0;
    std::uint64_t metadata_requests = 0;
    std::uint64_t data_bytes = 0;
    std::uint64_t data_requests = 0;

    double stabilisation() const { return encode + store; }
    double acquisition() const { return read + broadcast + install; }
    void add(const Profile& other);
    // {"rank":0,"steps":..,"stabilisation_seconds":..,"encode_seconds":..,"store_seconds":..,"acquisition_seconds":..,"read_seconds":..,
    //  "broadcast_seconds":..,"install_seconds":..,"wait_seconds":..,"data_seconds":..,"statistics_seconds":..,
    //  "metadata_bytes":..,"metadata_requests":..,"data_bytes":..,"data_requests":..}
    std::string json(int rank) const;
};

// What is kept in the stream: {"version":1,"layout":..,"ranks":[one object per rank]}
std::string profile_record(std::string_view layout, const std::vector<std::string>& ranks);

// Adds the time of its own life to a counter.
class Stopwatch {
public:
    explicit Stopwatch(double& seconds) : seconds_(seconds), begin_(std::chrono::steady_clock::now()) {}
    ~Stopwatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    double& seconds_;
    std::chrono::steady_clock::time_point begin_;
};

} // namespace stepstore::steps

// Which requests the timestep engine makes in a step that needs nothing new (no definitions, no connection),
// by MetadataPlaces: what src/steps/layouts does, without doing it. tests/cli/test_advise.py compares it with
// the engine itself on a simulated cluster.
// Threads: any; no state is shared. Errors: as job_of() has them, for a job that cannot be estimated.
#pragma once

#include "estimate/file_requests.h"
#include "estimate/replay.h"
#include "job_description.h"
#include "steps/layouts/adaptive_rows.h"
#include "steps/layouts/layout.h"
#include "store/placement.h"

#include <map>
#include <string>
#include <vector>

namespace stepstore::sim {

// What is left open in a job's options, decided as the engine decides it.
struct Choices {
    steps::MetadataPlaces places = steps::MetadataPlaces::other;
    steps::Objects objects = steps::Objects::single;
    std::uint32_t ranks_per_object = 0; // per_machine; 0: all, as the simulated ranks are of one machine
    std::uint32_t ranks_per_aggregator = 1;
    bool in_place = false; // Steps=snapshot
    std::uint64_t chunk = 0;
    std::uint64_t rows_of_copies = 0; // Layout
    std::uint64_t groups = 0;         // targets of an object
    bool delegated = true;            // reader rank 0 reads for all
};

// Refused: a layout that cannot be estimated, an object class that the cluster is too small for.
Choices choices_of(const Machine& machine, const Job& job);

// A reader fetches a step, and then others ahead, in some rounds.
struct Fetch {
    std::uint64_t step = 0;
    std::vector<std::uint64_t> ahead; // steps of each round
    std::uint64_t steps() const;
};

class Requests {
public:
    Requests(const Machine& machine, const Job& job, const Choices& choices);
    // Of each writer in one step: a rank, or the first of a row with an aggregator.
    std::vector<Calls> of_writers(std::uint64_t step) const;
    std::uint32_t writers() const { return ranks_; }
    std::uint64_t node_of(std::uint32_t writer) const;
    // Of one reader.
    Calls of_reader(const Fetch& fetch) const;
    // Of what a writer stores.
    std::uint64_t metadata_size(std::uint64_t step, std::uint32_t writer) const;
    std::uint64_t step_size(std::uint64_t step) const;
    // The first step after those that are read together at most.
    std::uint64_t end_of_row(std::uint64_t step) const;

private:
    struct Piece { // of an array
        std::uint64_t object, at, bytes;
    };
    struct Slot {
        std::uint64_t at = 0, bytes = 0;
    };
    store::Placement placement(std::uint64_t object) const;
    std::uint64_t object_of(std::uint64_t step, std::uint32_t rank) const;
    std::string key_of(std::uint64_t step, std::uint32_t rank) const;

    Call put(std::uint64_t object, const std::string& key, std::uint64_t bytes) const;
    Call get(std::uint64_t object, const std::string& key, std::uint64_t room, std::uint64_t bytes,
             bool waits) const;
    Call access(const std::vector<Piece>& pieces, bool writes, std::uint64_t overwritten) const;
    void read(const std::vector<Piece>& pieces, Calls& calls) const;
    void read_files(const std::map<std::uint64_t, std::vector<Piece>>& files, Calls& calls) const;
    void read_file(std::uint64_t object, const std::vector<Piece>& pieces, Calls& calls) const;
    void put_into(std::uint64_t object, const std::string& key, std::uint64_t bytes, Calls& calls) const;
    double wait_for_locks(std::uint32_t rank, const Piece& piece, SharedParts& shared) const;

    std::vector<Slot> slots(std::uint64_t step) const; // of array layouts
    std::vector<Slot> adaptive_slots(std::uint64_t step) const;
    steps::Row row_with(std::uint64_t step) const;
    bool overflows(std::uint64_t step, std::uint32_t rank, const Slot& slot) const;
    std::uint64_t room_before(std::uint64_t step, std::uint32_t rank) const;
    void get_unknown(std::uint64_t object, const std::string& key, std::uint64_t size, Calls& calls) const;
    void fetch_step(std::uint64_t step, Calls& calls) const;
    void fetch_ahead(std::uint64_t first, std::uint64_t count, Calls& calls) const;
    void get_snapshots(std::uint64_t first, std::uint64_t count, Calls& calls) const;
    void get_sizes(std::uint64_t first, std::uint64_t count, Calls& calls) const;
    void get_metadata(std::uint64_t first, std::uint64_t count, Calls& calls) const;
    void read_slots(std::uint64_t first, std::uint64_t count, Calls& calls) const;

    const Machine& machine_;
    const Job& job_;
    const Choices& choices_;
    const FileRequests files_;
    const steps::StreamRecord record_; // what places depend on. Its ranks are the writers
    const std::uint32_t ranks_;
    const std::uint64_t chunk_;
};

} // namespace stepstore::sim

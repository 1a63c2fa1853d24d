// The times of a run and the output of each rank: the line at its end, and the file of the setting `timings`.
#pragma once

#include "simulation.h"

#include <mpi.h>
#include <string>
#include <vector>

namespace gray_scott::amr {

class Report {
public:
    Report(const Settings& settings, std::string engine, MPI_Comm comm);

    void add_computing(double seconds) { computing_ += seconds; }
    // Collective. seconds: of this rank, for the output.
    void add_output(int step, double seconds, const Simulation& simulation, const std::vector<Box>& boxes);
    // Prints a line and writes the file, on rank 0. Throws std::runtime_error.
    void end() const;

private:
    struct Part { // of an output, or what one of so many ranks would have of it
        std::vector<double> boxes, cells;
        std::vector<double> changed; // boxes that were not in the output before
    };
    struct Output {
        int step = 0;
        std::size_t leaves = 0;
        std::vector<int> leaves_of_level;
        std::vector<double> seconds;
        Part written;
        std::vector<Part> parts; // by the setting `parts`
    };
    Part part_of(const Mesh& mesh, int ranks, std::vector<std::vector<Box>>& before) const;
    void write_file() const;

    Settings settings_;
    std::string engine_;
    MPI_Comm comm_;
    int rank_ = 0, ranks_ = 1;
    double computing_ = 0;
    std::vector<Output> outputs_;                       // on rank 0
    std::vector<std::vector<std::vector<Box>>> before_; // by number of ranks and rank, of the output before
};

} // namespace gray_scott::amr

// Writes the boxes of a rank with ADIOS2. A step has a global array of each field for each level. Each rank
// also has two tables with a row for each of its boxes, as codes with adaptive refinement write them. They
// say where the boxes lie, and the means of U and V in them.
#pragma once

#include "fields.h"
#include "simulation.h"

#include <adios2.h>

namespace gray_scott::amr {

class Output {
public:
    Output(const Settings& settings, adios2::IO io);

    // The seconds from BeginStep until EndStep is done. The ranks begin together: waiting for one that
    // computes longer is no output.
    double write(int step, Simulation& simulation, const std::vector<Box>& boxes);
    void close() { engine_.Close(); }

private:
    struct Level {
        adios2::Variable<double> u, v;
        std::vector<adios2::Variable<float>> derived;
    };
    void define_level(int level);
    void define_attributes();
    void take(Simulation& simulation, const std::vector<Box>& boxes);
    void put_box(const Box& box, std::size_t at);
    void put_tables(std::size_t boxes);

    Settings settings_;
    adios2::IO io_;
    adios2::Engine engine_;
    std::vector<Level> levels_;
    adios2::Variable<std::int32_t> step_, places_; // a row: level, begin and count in blocks
    adios2::Variable<double> means_;               // a row: of U, of V
    // Valid until EndStep, of all boxes.
    Fields fields_;
    std::vector<std::int32_t> place_rows_;
    std::vector<double> mean_rows_;
};

} // namespace gray_scott::amr

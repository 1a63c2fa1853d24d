// The settings of a run with adaptive refinement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gray_scott::amr {

struct Settings {
    int L = 128;             // finest cells along each edge of the cube
    int levels = 3;          // of refinement; each has cells of half the edge of those of the level before
    int block = 8;           // cells along each edge of a block
    int max_box = 2;         // blocks along each edge of a box that is written, at most
    int seeds = 1;           // places where V begins: the middle, and others by chance
    int steps = 400;         // time steps to compute
    int plotgap = 20;        // time steps between two outputs
    int regrid = 10;         // time steps between two adaptations of the mesh
    double threshold = 0.01; // V's difference between cells: above it a block is refined
    double F = 0.02;         // feed rate of U
    double k = 0.048;        // removal rate of V
    double Du = 0.2;         // diffusion of U
    double Dv = 0.1;         // diffusion of V
    double dt = 1.0;         // length of a time step
    std::uint64_t seed = 1;  // of the places
    std::string output = "gray-scott-amr.bp"; // the name given to ADIOS2's Open; empty: nothing is written
    std::string adios_config = "adios2.xml";
    std::string timings; // a JSON file for the times and boxes of every output; empty: none
    std::vector<int>
        parts; // numbers of ranks, such as 64,1024: what each of them would write is reported too
};

// Throws std::invalid_argument, which names the setting and what is valid.
Settings read_settings(int argc, char** argv);

} // namespace gray_scott::amr

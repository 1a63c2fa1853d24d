// The settings of a run: a file of lines `name = value`, and after it `name=value` on the command
// line.
#pragma once

#include <cstdint>
#include <string>

namespace gray_scott {

struct Settings {
    int L = 64;       // cells along each edge of the cube
    int steps = 200;  // time steps to compute
    int plotgap = 10; // time steps between two outputs
    double F = 0.02;  // feed rate of U
    double k = 0.048; // removal rate of V
    double Du = 0.2;  // diffusion of U
    double Dv = 0.1;  // diffusion of V
    double dt = 1.0;  // length of a time step
    // amplitude; the same for any number of ranks, and the same in every run with the same seed
    double noise = 0.0;
    std::uint64_t seed = 1;               // of the noise
    std::string output = "gray-scott.bp"; // the name given to ADIOS2's Open
    std::string adios_config = "adios2.xml";
    int restart = 0;     // 1: begin with the last output that is there, and append to it
    std::string timings; // a JSON file for the times of every output; empty: none
};

// Throws std::invalid_argument, which names the setting and what is valid.
Settings read_settings(int argc, char** argv);

} // namespace gray_scott

// The Gray-Scott reaction-diffusion model on a periodic cube, cut into one box per rank:
//   - du/dt = Du lap(u) - u v^2 + F (1 - u) + noise
//   - dv/dt = Dv lap(v) + u v^2 - (F + k) v
//
// Every cell is computed with the same operations in the same order. So the fields are the same bit for bit
// with any number of ranks.
#pragma once

#include "settings.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <vector>

namespace gray_scott {

class Simulation {
public:
    Simulation(const Settings& settings, MPI_Comm comm);
    ~Simulation();
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    void step(); // one time step
    // Begins with what a run had after so many time steps: this rank's box of the fields.
    void restart(std::uint64_t steps, const std::vector<double>& u, const std::vector<double>& v);

    // This rank's box in the cube, in the order of the arrays (row-major).
    const std::array<std::size_t, 3>& start() const { return start_; }
    const std::array<std::size_t, 3>& count() const { return count_; }
    // The fields without their ghost cells, packed.
    void copy_u(std::vector<double>& to) const { copy_field(u_, to); }
    void copy_v(std::vector<double>& to) const { copy_field(v_, to); }

private:
    std::size_t at(std::size_t x, std::size_t y, std::size_t z) const
    {
        return (x * (count_[1] + 2) + y) * (count_[2] + 2) + z;
    }
    void place_seed_cube();
    void make_faces();
    void exchange_ghosts(std::vector<double>& field) const;
    double noise_at(std::size_t x, std::size_t y, std::size_t z) const;
    void take_field(std::vector<double>& field, const std::vector<double>& from) const;
    void copy_field(const std::vector<double>& field, std::vector<double>& to) const;

    Settings settings_;
    MPI_Comm cart_ = MPI_COMM_NULL;
    std::array<std::size_t, 3> start_{};
    std::array<std::size_t, 3> count_{};
    std::array<std::array<int, 2>, 3> neighbours_{}; // per dimension: before, after
    // Per dimension: the faces to send before and after, the ghost faces to receive from before and after.
    std::array<std::array<MPI_Datatype, 4>, 3> faces_{};
    std::vector<double> u_, v_, next_u_, next_v_; // each with one ghost cell on every side
    std::uint64_t steps_done_ = 0;
};

} // namespace gray_scott

// The Gray-Scott reaction-diffusion model (../simulation.h) on a mesh that follows V's fronts.
//
// A block of the finest level is computed with the same operations, in the same order, as the cells of the
// uniform simulation. Coarser blocks have cells of twice the edge for each level, and the same time step. The
// value of a cell does not depend on the rank that computes it. So the fields and the mesh are the same bit
// for bit with any number of ranks. Fluxes across faces between two levels are not matched: the model
// conserves nothing.
#pragma once

#include "boxes.h"
#include "cells.h"
#include "fields.h"
#include "mesh.h"
#include "settings.h"

#include <mpi.h>
#include <vector>

namespace gray_scott::amr {

class Simulation {
public:
    Simulation(const Settings& settings, MPI_Comm comm);

    void step();            // one time step; before it, adapts the mesh if that is due
    void exchange_ghosts(); // collective

    const Mesh& mesh() const { return mesh_; }
    // This rank's boxes.
    std::vector<Box> boxes() const { return boxes_of(mesh_, first_, last_, settings_.max_box); }
    std::size_t cells_of(const Box& box) const;
    // The fields of a box, to `at` and what follows it. The ghosts are up to date.
    void copy(const Box& box, Fields& to, std::size_t at) const;

private:
    void begin();
    void place_seeds(const Block& block, Cells& cells) const;
    std::vector<Flag> flags();
    void adapt();
    void take_mesh(Mesh mesh, std::vector<Cells> cells);
    void compute(const Block& block, const Cells& now, Cells& next) const;
    int owner(const Mesh& mesh, std::size_t leaf) const { return mesh.owner_of(leaf, ranks_); }

    Settings settings_;
    MPI_Comm comm_;
    int rank_ = 0, ranks_ = 1;
    Mesh mesh_;
    std::vector<std::array<double, 3>> seeds_; // the middles, in finest cells
    std::size_t first_ = 0, last_ = 0;         // this rank's leaves
    std::vector<Cells> cells_, next_;          // of each of them
    std::vector<GhostTransfer> transfers_;     // that this rank sends or receives
    std::vector<std::size_t> expected_;        // numbers from each rank in an exchange of ghosts
    int steps_done_ = 0;
};

} // namespace gray_scott::amr

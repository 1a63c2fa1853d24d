// The cells of a block, with one ghost cell on every side, and the transfer of values between blocks.
#pragma once

#include "mesh.h"

#include <array>
#include <cstddef>
#include <vector>

namespace gray_scott::amr {

// U and V of a block. Cells are counted from 1; 0 and edge + 1 are ghosts. Ghosts at the block's own edges
// and corners are never used.
struct Cells {
    explicit Cells(int cells = 0)
        : edge(static_cast<std::size_t>(cells)), u((edge + 2) * (edge + 2) * (edge + 2), 1.0), v(u.size())
    {
    }
    std::size_t row() const { return edge + 2; }
    std::size_t plane() const { return row() * row(); }
    std::size_t at(std::size_t x, std::size_t y, std::size_t z) const { return x * plane() + y * row() + z; }

    std::size_t edge;
    std::vector<double> u, v;
};

// The ghosts of one face, or of a quarter of it, from one neighbour.
struct GhostTransfer {
    std::size_t to = 0, from = 0; // leaves
    int face = 0;                 // of `to`
    int step = 0;                 // level of `from` less that of `to`
    std::array<std::size_t, 2> quarter{};
};

// All that the mesh needs, in an order that is the same on every rank.
std::vector<GhostTransfer> ghost_transfers(const Mesh& mesh, std::size_t first, std::size_t last);

// How many numbers a transfer sends.
std::size_t size_of(const GhostTransfer& transfer, std::size_t edge);
// Appends the values that `to` needs to the numbers; takes them from there.
void pack(const GhostTransfer& transfer, const Cells& from, std::vector<double>& numbers);
const double* unpack(const GhostTransfer& transfer, Cells& to, const double* numbers);

// ---- cells of a new mesh: from the same block, from its parent, or from its children

// How many numbers come from each old block.
std::size_t size_of(Origin origin, std::size_t edge);
// number: of the child among eight. Parents give a child cells on a plane through their own with limited
// slopes; children give the mean of eight cells.
void pack(Origin origin, std::size_t number, const Cells& from, std::vector<double>& numbers);
const double* unpack(Origin origin, std::size_t number, Cells& to, const double* numbers);

} // namespace gray_scott::amr

#include "cells.h"

#include <algorithm>
#include <cmath>

namespace gray_scott::amr {
namespace {

// A layer of cells that is parallel to a face: place() gives the index of one of them.
class Layer {
public:
    Layer(const Cells& cells, int face, std::size_t depth)
    {
        const std::array<std::size_t, 3> strides = {cells.plane(), cells.row(), 1};
        const auto dimension = static_cast<std::size_t>(face) / 2;
        begin_ = depth * strides[dimension];
        first_ = strides[dimension == 0 ? 1 : 0];
        second_ = strides[dimension == 2 ? 1 : 2];
    }
    std::size_t place(std::size_t a, std::size_t b) const { return begin_ + a * first_ + b * second_; }

private:
    std::size_t begin_, first_, second_;
};

std::array<std::size_t, 2> along_face(int face, const std::array<int, 3>& at)
{
    const int dimension = face / 2;
    return {static_cast<std::size_t>(at[dimension == 0 ? 1 : 0] % 2),
            static_cast<std::size_t>(at[dimension == 2 ? 1 : 2] % 2)};
}

// The neighbour's layer that touches the face, and one after it.
std::size_t touching(const Cells& neighbour, int face, std::size_t behind = 0)
{
    return face % 2 == 0 ? neighbour.edge - behind : 1 + behind;
}

template <class Work>
void for_cells(std::size_t edge, Work work)
{
    for (std::size_t a = 0; a < edge; ++a)
        for (std::size_t b = 0; b < edge; ++b)
            work(a, b);
}

template <class Work>
void for_all(std::size_t edge, Work work)
{
    for (std::size_t x = 0; x < edge; ++x)
        for (std::size_t y = 0; y < edge; ++y)
            for (std::size_t z = 0; z < edge; ++z)
                work(x, y, z);
}

double limited(double before, double middle, double after)
{
    const double left = middle - before, right = after - middle;
    if (left * right <= 0) return 0;
    return std::abs(left) < std::abs(right) ? left : right;
}

// The octant of a block where a child lies.
std::array<std::size_t, 3> octant(std::size_t number, std::size_t edge)
{
    const std::size_t half = edge / 2;
    return {(number >> 2 & 1) * half, (number >> 1 & 1) * half, (number & 1) * half};
}

} // namespace

std::vector<GhostTransfer> ghost_transfers(const Mesh& mesh, std::size_t first, std::size_t last)
{
    std::vector<GhostTransfer> found;
    const auto mine = [&](std::size_t leaf) { return leaf >= first && leaf < last; };
    for (std::size_t to = 0; to < mesh.size(); ++to)
        for (int face = 0; face < 6; ++face) {
            const Block& block = mesh.leaves()[to];
            const auto beside = neighbours_of(mesh, block, face);
            for (int i = 0; i < beside.count; ++i) {
                const std::size_t from = beside.leaves[static_cast<std::size_t>(i)];
                if (!mine(to) && !mine(from)) continue;
                const int step = beside.level - block.level;
                // The smaller of the two blocks says which quarter of the larger one's face it touches.
                const Block& smaller = step > 0 ? mesh.leaves()[from] : block;
                found.push_back({to, from, face, step, along_face(face, smaller.at)});
            }
        }
    return found;
}

std::size_t size_of(const GhostTransfer& transfer, std::size_t edge)
{
    const std::size_t along = transfer.step == 0 ? edge : edge / 2;
    return 2 * along * along;
}

void pack(const GhostTransfer& transfer, const Cells& from, std::vector<double>& numbers)
{
    const std::size_t edge = from.edge;
    const Layer layer(from, transfer.face, touching(from, transfer.face));
    if (transfer.step > 0) {
        // The mean of the eight finer cells whose common middle is that of the ghost.
        const Layer behind(from, transfer.face, touching(from, transfer.face, 1));
        for (const auto* field : {&from.u, &from.v})
            for_cells(edge / 2, [&](std::size_t a, std::size_t b) {
                double sum = 0;
                for (const Layer* one : {&layer, &behind})
                    for_cells(2, [&](std::size_t i, std::size_t j) {
                        sum += (*field)[one->place(2 * a + i + 1, 2 * b + j + 1)];
                    });
                numbers.push_back(sum / 8);
            });
        return;
    }
    const std::size_t along = transfer.step == 0 ? edge : edge / 2;
    const std::size_t begin_a = transfer.step == 0 ? 1 : transfer.quarter[0] * along + 1;
    const std::size_t begin_b = transfer.step == 0 ? 1 : transfer.quarter[1] * along + 1;
    for (const auto* field : {&from.u, &from.v})
        for_cells(along, [&](std::size_t a, std::size_t b) {
            numbers.push_back((*field)[layer.place(begin_a + a, begin_b + b)]);
        });
}

const double* unpack(const GhostTransfer& transfer, Cells& to, const double* numbers)
{
    const std::size_t edge = to.edge;
    const bool lower = transfer.face % 2 == 0;
    const Layer ghosts(to, transfer.face, lower ? 0 : edge + 1);
    const Layer inside(to, transfer.face, lower ? 1 : edge);
    for (auto* field : {&to.u, &to.v}) {
        auto& values = *field;
        if (transfer.step < 0) {
            // The ghost's middle lies at a third of the way from the coarse cell's to the own cell's.
            const double* const coarse = numbers;
            for_cells(edge, [&](std::size_t a, std::size_t b) {
                const double theirs = coarse[a / 2 * (edge / 2) + b / 2];
                values[ghosts.place(a + 1, b + 1)] = (values[inside.place(a + 1, b + 1)] + 2 * theirs) / 3;
            });
            numbers += edge * edge / 4;
            continue;
        }
        const std::size_t along = transfer.step == 0 ? edge : edge / 2;
        const std::size_t begin_a = transfer.step == 0 ? 1 : transfer.quarter[0] * along + 1;
        const std::size_t begin_b = transfer.step == 0 ? 1 : transfer.quarter[1] * along + 1;
        for_cells(along, [&](std::size_t a, std::size_t b) {
            values[ghosts.place(begin_a + a, begin_b + b)] = *numbers++;
        });
    }
    return numbers;
}

std::size_t size_of(Origin origin, std::size_t edge)
{
    const std::size_t along = origin == Origin::children ? edge / 2 : edge;
    return 2 * along * along * along;
}

void pack(Origin origin, std::size_t number, const Cells& from, std::vector<double>& numbers)
{
    const std::size_t edge = from.edge;
    const auto [ox, oy, oz] = octant(number, edge);
    const std::array<std::size_t, 3> strides = {from.plane(), from.row(), 1};
    for (const auto* field : {&from.u, &from.v}) {
        const auto& f = *field;
        if (origin == Origin::same)
            for_all(edge,
                    [&](auto x, auto y, auto z) { numbers.push_back(f[from.at(x + 1, y + 1, z + 1)]); });
        else if (origin == Origin::children)
            for_all(edge / 2, [&](auto x, auto y, auto z) {
                double sum = 0;
                for_all(2, [&](auto i, auto j, auto k) {
                    sum += f[from.at(2 * x + i + 1, 2 * y + j + 1, 2 * z + k + 1)];
                });
                numbers.push_back(sum / 8);
            });
        else
            for_all(edge, [&](auto x, auto y, auto z) {
                const auto i = from.at(ox + x / 2 + 1, oy + y / 2 + 1, oz + z / 2 + 1);
                const std::array<bool, 3> upper = {x % 2 == 1, y % 2 == 1, z % 2 == 1};
                double value = f[i];
                for (std::size_t d = 0; d < 3; ++d)
                    value += (upper[d] ? 0.25 : -0.25) * limited(f[i - strides[d]], f[i], f[i + strides[d]]);
                numbers.push_back(value);
            });
    }
}

const double* unpack(Origin origin, std::size_t number, Cells& to, const double* numbers)
{
    const bool children = origin == Origin::children;
    const auto begin = children ? octant(number, to.edge) : std::array<std::size_t, 3>{};
    for (auto* field : {&to.u, &to.v})
        for_all(children ? to.edge / 2 : to.edge, [&](auto x, auto y, auto z) {
            (*field)[to.at(begin[0] + x + 1, begin[1] + y + 1, begin[2] + z + 1)] = *numbers++;
        });
    return numbers;
}

} // namespace gray_scott::amr

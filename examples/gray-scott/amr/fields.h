// The output of the cells: U and V as computed, and derived fields in single precision.
#pragma once

#include "cells.h"
#include "settings.h"

#include <array>
#include <vector>

namespace gray_scott::amr {

// The speed of the reaction, u v^2, and how U and V flow: -D times the gradient, in finest cells.
inline constexpr std::array<const char*, 7> derived_names = {"reaction", "flux_U/x", "flux_U/y", "flux_U/z",
                                                             "flux_V/x", "flux_V/y", "flux_V/z"};
inline constexpr std::size_t cell_bytes = 2 * sizeof(double) + derived_names.size() * sizeof(float);

// The fields of several boxes, one after the other, each row-major and without ghosts.
struct Fields {
    void resize(std::size_t cells);

    std::vector<double> u, v;
    std::array<std::vector<float>, derived_names.size()> derived;
};

// A row of cells along z: `count` of the block's from `from` on, to `to` in the fields. The ghosts are up to
// date. length: of a cell, in finest cells.
void copy_row(const Settings& settings, const Cells& cells, std::size_t from, std::size_t count,
              double length, Fields& fields, std::size_t to);

} // namespace gray_scott::amr

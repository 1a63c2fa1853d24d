#include "simulation.h"

#include "hashed_unit.h"

#include <algorithm>

namespace gray_scott {
namespace {

enum Face { send_before, send_after, ghost_before, ghost_after };

} // namespace

Simulation::Simulation(const Settings& settings, MPI_Comm comm) : settings_(settings)
{
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    std::array<int, 3> parts{};
    MPI_Dims_create(ranks, 3, parts.data());
    const std::array<int, 3> periodic = {1, 1, 1};
    MPI_Cart_create(comm, 3, parts.data(), periodic.data(), 0, &cart_);
    int rank = 0;
    MPI_Comm_rank(cart_, &rank);
    std::array<int, 3> place{};
    MPI_Cart_coords(cart_, rank, 3, place.data());
    const auto edge = static_cast<std::size_t>(settings.L);
    for (std::size_t d = 0; d < 3; ++d) {
        // The first ranks along a dimension take one more cell if the edge does not divide evenly.
        const auto part = static_cast<std::size_t>(parts[d]);
        const auto mine = static_cast<std::size_t>(place[d]);
        count_[d] = edge / part + (mine < edge % part ? 1 : 0);
        start_[d] = mine * (edge / part) + std::min(mine, edge % part);
        MPI_Cart_shift(cart_, static_cast<int>(d), 1, &neighbours_[d][0], &neighbours_[d][1]);
    }
    const auto cells = (count_[0] + 2) * (count_[1] + 2) * (count_[2] + 2);
    u_.assign(cells, 1.0);
    v_.assign(cells, 0.0);
    next_u_ = u_;
    next_v_ = v_;
    make_faces();
    place_seed_cube();
}

Simulation::~Simulation()
{
    for (auto& dimension : faces_)
        for (auto& face : dimension)
            MPI_Type_free(&face);
    MPI_Comm_free(&cart_);
}

void Simulation::place_seed_cube()
{
    const auto middle = static_cast<std::size_t>(settings_.L) / 2;
    const auto half = std::min<std::size_t>(6, middle / 2);
    auto inside = [&](std::size_t d, std::size_t local) {
        const auto global = start_[d] + local;
        return global >= middle - half && global < middle + half;
    };
    for (std::size_t x = 0; x < count_[0]; ++x)
        for (std::size_t y = 0; y < count_[1]; ++y)
            for (std::size_t z = 0; z < count_[2]; ++z) {
                if (!inside(0, x) || !inside(1, y) || !inside(2, z)) continue;
                u_[at(x + 1, y + 1, z + 1)] = 0.25;
                v_[at(x + 1, y + 1, z + 1)] = 0.33;
            }
}

void Simulation::make_faces()
{
    std::array<int, 3> sizes{};
    for (std::size_t d = 0; d < 3; ++d)
        sizes[d] = static_cast<int>(count_[d]) + 2;
    for (std::size_t d = 0; d < 3; ++d) {
        auto subsizes = sizes;
        subsizes[d] = 1;
        const auto last = static_cast<int>(count_[d]);
        const std::array<int, 4> layers = {1, last, 0, last + 1};
        for (std::size_t face = 0; face < 4; ++face) {
            std::array<int, 3> starts{};
            starts[d] = layers[face];
            MPI_Type_create_subarray(3, sizes.data(), subsizes.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE,
                                     &faces_[d][face]);
            MPI_Type_commit(&faces_[d][face]);
        }
    }
}

void Simulation::exchange_ghosts(std::vector<double>& field) const
{
    for (std::size_t d = 0; d < 3; ++d) {
        const auto [before, after] = neighbours_[d];
        const auto& faces = faces_[d];
        MPI_Sendrecv(field.data(), 1, faces[send_after], after, 0, field.data(), 1, faces[ghost_before],
                     before, 0, cart_, MPI_STATUS_IGNORE);
        MPI_Sendrecv(field.data(), 1, faces[send_before], before, 1, field.data(), 1, faces[ghost_after],
                     after, 1, cart_, MPI_STATUS_IGNORE);
    }
}

double Simulation::noise_at(std::size_t x, std::size_t y, std::size_t z) const
{
    const auto edge = static_cast<std::uint64_t>(settings_.L);
    const auto cell = ((start_[0] + x) * edge + start_[1] + y) * edge + start_[2] + z;
    const auto counter = cell + (steps_done_ + (settings_.seed << 32)) * edge * edge * edge;
    return settings_.noise * (2 * hashed_unit(counter) - 1);
}

void Simulation::step()
{
    exchange_ghosts(u_);
    exchange_ghosts(v_);
    const auto& s = settings_;
    const auto row = count_[2] + 2;
    const auto plane = (count_[1] + 2) * row;
    for (std::size_t x = 0; x < count_[0]; ++x)
        for (std::size_t y = 0; y < count_[1]; ++y)
            for (std::size_t z = 0; z < count_[2]; ++z) {
                const auto i = at(x + 1, y + 1, z + 1);
                auto laplacian = [&](const std::vector<double>& f) {
                    return (f[i - plane] + f[i + plane] + f[i - row] + f[i + row] + f[i - 1] + f[i + 1] -
                            6.0 * f[i]) /
                           6.0;
                };
                const double reaction = u_[i] * v_[i] * v_[i];
                double du = s.Du * laplacian(u_) - reaction + s.F * (1.0 - u_[i]);
                const double dv = s.Dv * laplacian(v_) + reaction - (s.F + s.k) * v_[i];
                if (s.noise > 0.0) du += noise_at(x, y, z);
                next_u_[i] = u_[i] + s.dt * du;
                next_v_[i] = v_[i] + s.dt * dv;
            }
    u_.swap(next_u_);
    v_.swap(next_v_);
    ++steps_done_;
}

void Simulation::restart(std::uint64_t steps, const std::vector<double>& u, const std::vector<double>& v)
{
    take_field(u_, u);
    take_field(v_, v);
    steps_done_ = steps;
}

void Simulation::take_field(std::vector<double>& field, const std::vector<double>& from) const
{
    const auto* row = from.data();
    for (std::size_t x = 0; x < count_[0]; ++x)
        for (std::size_t y = 0; y < count_[1]; ++y, row += count_[2])
            std::copy_n(row, count_[2], field.data() + at(x + 1, y + 1, 1));
}

void Simulation::copy_field(const std::vector<double>& field, std::vector<double>& to) const
{
    to.resize(count_[0] * count_[1] * count_[2]);
    auto* out = to.data();
    for (std::size_t x = 0; x < count_[0]; ++x)
        for (std::size_t y = 0; y < count_[1]; ++y) {
            const auto* from = field.data() + at(x + 1, y + 1, 1);
            out = std::copy_n(from, count_[2], out);
        }
}

} // namespace gray_scott

#include "simulation.h"

#include "../hashed_unit.h"
#include "exchange.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gray_scott::amr {
namespace {

std::vector<std::array<double, 3>> middles(const Settings& settings)
{
    std::vector<std::array<double, 3>> found(static_cast<std::size_t>(settings.seeds));
    const int middle = settings.L / 2;
    for (std::size_t i = 0; i < found.size(); ++i)
        for (std::size_t d = 0; d < 3; ++d)
            found[i][d] =
                i == 0 ? middle : std::floor(settings.L * hashed_unit(3 * i + d + (settings.seed << 32)));
    return found;
}

// How much of [begin, begin + length) lies within `half` of the middle, around the cube's ends.
double covered(double begin, double length, double middle, double half, double along)
{
    double most = 0;
    for (const double shift : {-along, 0.0, along}) {
        const double lower = std::max(begin, middle + shift - half);
        const double upper = std::min(begin + length, middle + shift + half);
        most = std::max(most, (upper - lower) / length);
    }
    return most;
}

int roots_of(const Settings& settings)
{
    return settings.L / (settings.block << (settings.levels - 1));
}

} // namespace

Simulation::Simulation(const Settings& settings, MPI_Comm comm)
    : settings_(settings), comm_(comm), mesh_(roots_of(settings), settings.levels), seeds_(middles(settings))
{
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
    begin();
}

// The mesh is adapted to the seeds level by level. Each time they are placed anew, as sharp as it allows.
void Simulation::begin()
{
    for (int round = 0;; ++round) {
        const auto first = mesh_.first_of(rank_, ranks_), last = mesh_.first_of(rank_ + 1, ranks_);
        std::vector<Cells> cells(last - first, Cells(settings_.block));
        for (std::size_t i = 0; i < cells.size(); ++i)
            place_seeds(mesh_.leaves()[first + i], cells[i]);
        take_mesh(mesh_, std::move(cells));
        exchange_ghosts();
        if (round + 1 == settings_.levels) return;
        std::vector<Ancestry> ancestry;
        mesh_ = mesh_.adapted(flags(), ancestry);
    }
}

void Simulation::place_seeds(const Block& block, Cells& cells) const
{
    const double length = 1 << (settings_.levels - 1 - block.level); // of a cell, in finest cells
    const double half = std::min(6, settings_.L / 4);
    const auto touches = [&](const std::array<double, 3>& middle) {
        for (std::size_t d = 0; d < 3; ++d) {
            const double edge = length * settings_.block;
            if (covered(block.at[d] * edge, edge, middle[d], half, settings_.L) <= 0) return false;
        }
        return true;
    };
    for (const auto& middle : seeds_) {
        if (!touches(middle)) continue;
        for (std::size_t x = 0; x < cells.edge; ++x)
            for (std::size_t y = 0; y < cells.edge; ++y)
                for (std::size_t z = 0; z < cells.edge; ++z) {
                    const std::array<std::size_t, 3> local = {x, y, z};
                    double part = 1;
                    for (std::size_t d = 0; d < 3 && part > 0; ++d) {
                        const auto cell = static_cast<double>(block.at[d]) * settings_.block +
                                          static_cast<double>(local[d]);
                        part *= std::max(0.0, covered(cell * length, length, middle[d], half, settings_.L));
                    }
                    if (part == 0) continue;
                    const auto i = cells.at(x + 1, y + 1, z + 1);
                    cells.u[i] = part == 1 ? 0.25 : std::min(cells.u[i], 1 - 0.75 * part);
                    cells.v[i] = std::max(cells.v[i], 0.33 * part);
                }
    }
}

// The flag of each block of the mesh. The ghosts are up to date.
std::vector<Flag> Simulation::flags()
{
    std::vector<signed char> mine, all(mesh_.size());
    for (const Cells& cells : cells_) {
        double steepest = 0;
        for (std::size_t x = 1; x <= cells.edge; ++x)
            for (std::size_t y = 1; y <= cells.edge; ++y)
                for (std::size_t z = 1; z <= cells.edge; ++z)
                    for (const std::size_t stride : {cells.plane(), cells.row(), std::size_t{1}}) {
                        const auto i = cells.at(x, y, z);
                        steepest =
                            std::max(steepest, std::abs(cells.v[i + stride] - cells.v[i - stride]) / 2);
                    }
        // Far below the threshold, so that no block goes back and forth.
        const Flag flag = steepest >= settings_.threshold      ? Flag::refine
                          : steepest < settings_.threshold / 8 ? Flag::coarsen
                                                               : Flag::keep;
        mine.push_back(static_cast<signed char>(flag));
    }
    std::vector<int> counts, begins;
    for (int rank = 0; rank < ranks_; ++rank) {
        begins.push_back(static_cast<int>(mesh_.first_of(rank, ranks_)));
        counts.push_back(static_cast<int>(mesh_.first_of(rank + 1, ranks_)) - begins.back());
    }
    MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_SIGNED_CHAR, all.data(), counts.data(),
                   begins.data(), MPI_SIGNED_CHAR, comm_);
    std::vector<Flag> flags;
    for (const signed char one : all)
        flags.push_back(static_cast<Flag>(one));
    return flags;
}

void Simulation::adapt()
{
    exchange_ghosts();
    std::vector<Ancestry> ancestry;
    Mesh next = mesh_.adapted(flags(), ancestry);
    std::vector<std::vector<double>> outgoing(static_cast<std::size_t>(ranks_));
    std::vector<std::size_t> expected(static_cast<std::size_t>(ranks_));
    // The old leaves of each new leaf, in the same order for packing and unpacking.
    const auto for_pieces = [&](auto work) {
        std::size_t child = 0;
        for (std::size_t leaf = 0; leaf < next.size(); ++leaf) {
            const auto [origin, from] = ancestry[leaf];
            const bool another = origin == Origin::parent && leaf > 0 && ancestry[leaf - 1].from == from;
            child = another ? child + 1 : 0;
            if (origin == Origin::children)
                for (std::size_t number = 0; number < 8; ++number)
                    work(leaf, from + number, origin, number);
            else
                work(leaf, from, origin, child);
        }
    };
    const auto edge = static_cast<std::size_t>(settings_.block);
    for_pieces([&](std::size_t leaf, std::size_t from, Origin origin, std::size_t number) {
        const auto receiver = static_cast<std::size_t>(owner(next, leaf));
        if (from >= first_ && from < last_) pack(origin, number, cells_[from - first_], outgoing[receiver]);
        if (static_cast<int>(receiver) == rank_)
            expected[static_cast<std::size_t>(owner(mesh_, from))] += size_of(origin, edge);
    });
    const auto incoming = exchange(comm_, std::move(outgoing), expected);
    std::vector<const double*> at;
    for (const auto& numbers : incoming)
        at.push_back(numbers.data());
    const auto first = next.first_of(rank_, ranks_);
    std::vector<Cells> cells(next.first_of(rank_ + 1, ranks_) - first, Cells(settings_.block));
    for_pieces([&](std::size_t leaf, std::size_t from, Origin origin, std::size_t number) {
        if (owner(next, leaf) != rank_) return;
        auto& numbers = at[static_cast<std::size_t>(owner(mesh_, from))];
        numbers = unpack(origin, number, cells[leaf - first], numbers);
    });
    take_mesh(std::move(next), std::move(cells));
}

void Simulation::take_mesh(Mesh mesh, std::vector<Cells> cells)
{
    mesh_ = std::move(mesh);
    cells_ = std::move(cells);
    next_ = cells_;
    first_ = mesh_.first_of(rank_, ranks_);
    last_ = mesh_.first_of(rank_ + 1, ranks_);
    transfers_ = ghost_transfers(mesh_, first_, last_);
    expected_.assign(static_cast<std::size_t>(ranks_), 0);
    for (const auto& one : transfers_)
        if (owner(mesh_, one.to) == rank_)
            expected_[static_cast<std::size_t>(owner(mesh_, one.from))] +=
                size_of(one, static_cast<std::size_t>(settings_.block));
}

void Simulation::exchange_ghosts()
{
    std::vector<std::vector<double>> outgoing(static_cast<std::size_t>(ranks_));
    for (const auto& one : transfers_)
        if (one.from >= first_ && one.from < last_)
            pack(one, cells_[one.from - first_], outgoing[static_cast<std::size_t>(owner(mesh_, one.to))]);
    const auto incoming = exchange(comm_, std::move(outgoing), expected_);
    std::vector<const double*> at;
    for (const auto& numbers : incoming)
        at.push_back(numbers.data());
    for (const auto& one : transfers_)
        if (one.to >= first_ && one.to < last_) {
            auto& numbers = at[static_cast<std::size_t>(owner(mesh_, one.from))];
            numbers = unpack(one, cells_[one.to - first_], numbers);
        }
}

void Simulation::compute(const Block& block, const Cells& now, Cells& next) const
{
    const auto& s = settings_;
    const auto plane = now.plane(), row = now.row();
    const double scale = std::ldexp(1.0, 2 * (block.level - (s.levels - 1))); // the square of a cell's edge
    for (std::size_t x = 1; x <= now.edge; ++x)
        for (std::size_t y = 1; y <= now.edge; ++y)
            for (std::size_t z = 1; z <= now.edge; ++z) {
                const auto i = now.at(x, y, z);
                auto laplacian = [&](const std::vector<double>& f) {
                    return (f[i - plane] + f[i + plane] + f[i - row] + f[i + row] + f[i - 1] + f[i + 1] -
                            6.0 * f[i]) /
                           6.0 * scale;
                };
                const double reaction = now.u[i] * now.v[i] * now.v[i];
                const double du = s.Du * laplacian(now.u) - reaction + s.F * (1.0 - now.u[i]);
                const double dv = s.Dv * laplacian(now.v) + reaction - (s.F + s.k) * now.v[i];
                next.u[i] = now.u[i] + s.dt * du;
                next.v[i] = now.v[i] + s.dt * dv;
            }
}

void Simulation::step()
{
    if (steps_done_ > 0 && steps_done_ % settings_.regrid == 0) adapt();
    exchange_ghosts();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        compute(mesh_.leaves()[first_ + i], cells_[i], next_[i]);
        std::swap(cells_[i], next_[i]);
    }
    ++steps_done_;
}

std::size_t Simulation::cells_of(const Box& box) const
{
    std::size_t cells = 1;
    for (const int count : box.count)
        cells *= static_cast<std::size_t>(count * settings_.block);
    return cells;
}

void Simulation::copy(const Box& box, Fields& to, std::size_t at) const
{
    const auto edge = static_cast<std::size_t>(settings_.block);
    const std::size_t row = static_cast<std::size_t>(box.count[2]) * edge;
    const std::size_t plane = static_cast<std::size_t>(box.count[1]) * edge * row;
    const double length = 1 << (settings_.levels - 1 - box.level);
    for (int bx = 0; bx < box.count[0]; ++bx)
        for (int by = 0; by < box.count[1]; ++by)
            for (int bz = 0; bz < box.count[2]; ++bz) {
                const auto leaf =
                    mesh_.find(box.level, {box.start[0] + bx, box.start[1] + by, box.start[2] + bz});
                const Cells& cells = cells_[leaf - first_];
                const std::size_t first = at + static_cast<std::size_t>(bx) * edge * plane +
                                          static_cast<std::size_t>(by) * edge * row +
                                          static_cast<std::size_t>(bz) * edge;
                for (std::size_t x = 0; x < edge; ++x)
                    for (std::size_t y = 0; y < edge; ++y)
                        copy_row(settings_, cells, cells.at(x + 1, y + 1, 1), edge, length, to,
                                 first + x * plane + y * row);
            }
}

} // namespace gray_scott::amr

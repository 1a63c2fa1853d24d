#include "report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <stdexcept>

namespace gray_scott::amr {
namespace {

bool same(const Box& one, const Box& other)
{
    return one.level == other.level && one.start == other.start && one.count == other.count;
}

template <class Numbers>
void write_list(std::ofstream& file, const char* name, const Numbers& numbers)
{
    file << '"' << name << "\": [";
    const char* comma = "";
    for (const auto& one : numbers) {
        file << comma << one;
        comma = ", ";
    }
    file << "]";
}

double mean(const std::vector<double>& values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

} // namespace

Report::Report(const Settings& settings, std::string engine, MPI_Comm comm)
    : settings_(settings), engine_(std::move(engine)), comm_(comm), before_(settings.parts.size() + 1)
{
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
}

// Every rank knows the mesh, so rank 0 can tell what each of any number of ranks has of it.
Report::Part Report::part_of(const Mesh& mesh, int ranks, std::vector<std::vector<Box>>& before) const
{
    Part part;
    before.resize(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
        const auto first = mesh.first_of(rank, ranks), last = mesh.first_of(rank + 1, ranks);
        auto boxes = boxes_of(mesh, first, last, settings_.max_box);
        auto& old = before[static_cast<std::size_t>(rank)];
        const auto changed = std::ranges::count_if(boxes, [&](const Box& box) {
            return std::ranges::none_of(old, [&](const Box& other) { return same(box, other); });
        });
        const double cells =
            static_cast<double>(last - first) * settings_.block * settings_.block * settings_.block;
        part.boxes.push_back(static_cast<double>(boxes.size()));
        part.changed.push_back(static_cast<double>(changed));
        part.cells.push_back(cells);
        old = std::move(boxes);
    }
    return part;
}

void Report::add_output(int step, double seconds, const Simulation& simulation, const std::vector<Box>& boxes)
{
    std::vector<double> all(static_cast<std::size_t>(rank_ == 0 ? ranks_ : 0));
    MPI_Gather(&seconds, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, comm_);
    if (rank_ != 0) return;
    const Mesh& mesh = simulation.mesh();
    Output output{step, mesh.size(), std::vector<int>(static_cast<std::size_t>(settings_.levels)),
                  all,  {},          {}};
    for (const Block& block : mesh.leaves())
        ++output.leaves_of_level[static_cast<std::size_t>(block.level)];
    output.written = part_of(mesh, ranks_, before_[0]);
    if (static_cast<std::size_t>(output.written.boxes[0]) != boxes.size())
        throw std::logic_error("rank 0 wrote other boxes than it reports");
    for (std::size_t i = 0; i < settings_.parts.size(); ++i)
        output.parts.push_back(part_of(mesh, settings_.parts[i], before_[i + 1]));
    outputs_.push_back(std::move(output));
}

void Report::end() const
{
    if (rank_ != 0) return;
    double seconds = 0, boxes = 0;
    for (const Output& one : outputs_) {
        seconds += mean(one.seconds);
        boxes += mean(one.written.boxes);
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, outputs_.size()));
    std::printf("gray-scott-amr: %d ranks, %d levels up to %d^3 cells, %d steps, %zu outputs through %s: "
                "computing %.2f s, %.2f ms and %.1f boxes of a rank per output, %zu blocks at the end\n",
                ranks_, settings_.levels, settings_.L, settings_.steps, outputs_.size(), engine_.c_str(),
                computing_, 1e3 * seconds / count, boxes / count,
                outputs_.empty() ? 0 : outputs_.back().leaves);
    if (!settings_.timings.empty()) write_file();
}

void Report::write_file() const
{
    std::ofstream file(settings_.timings);
    file.precision(12);
    file << "{\"ranks\": " << ranks_ << ", \"engine\": \"" << engine_
         << "\", \"computing_seconds\": " << computing_ << ", \"cell_bytes\": " << cell_bytes
         << ", \"outputs\": [";
    const auto write_part = [&](const Part& part) {
        write_list(file, "boxes", part.boxes);
        file << ", ";
        write_list(file, "changed", part.changed);
        file << ", ";
        write_list(file, "cells", part.cells);
    };
    const char* comma = "";
    for (const Output& one : outputs_) {
        file << comma << "\n {\"step\": " << one.step << ", \"blocks\": " << one.leaves << ", ";
        write_list(file, "blocks_of_level", one.leaves_of_level);
        file << ", ";
        write_list(file, "seconds", one.seconds);
        file << ",\n  ";
        write_part(one.written);
        file << ", \"parts\": {";
        const char* between = "";
        for (std::size_t i = 0; i < one.parts.size(); ++i) {
            file << between << "\n   \"" << settings_.parts[i] << "\": {";
            write_part(one.parts[i]);
            file << "}";
            between = ",";
        }
        file << "}}";
        comma = ",";
    }
    file << "\n]}\n";
    file.close();
    if (!file) throw std::runtime_error("cannot write " + settings_.timings);
}

} // namespace gray_scott::amr

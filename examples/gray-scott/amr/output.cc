#include "output.h"

#include <chrono>
#include <numeric>

namespace gray_scott::amr {
namespace {

constexpr std::size_t place_columns = 7, mean_columns = 2;

double mean(const std::vector<double>& field, std::size_t at, std::size_t cells)
{
    const auto begin = field.begin() + static_cast<std::ptrdiff_t>(at);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(cells), 0.0) /
           static_cast<double>(cells);
}

} // namespace

Output::Output(const Settings& settings, adios2::IO io) : settings_(settings), io_(io)
{
    for (int level = 0; level < settings.levels; ++level)
        define_level(level);
    step_ = io_.DefineVariable<std::int32_t>("step");
    places_ = io_.DefineVariable<std::int32_t>("boxes", {}, {}, {0, place_columns});
    means_ = io_.DefineVariable<double>("means", {}, {}, {0, mean_columns});
    define_attributes();
    engine_ = io_.Open(settings.output, adios2::Mode::Write);
}

void Output::define_level(int level)
{
    const auto along = static_cast<std::size_t>(settings_.L >> (settings_.levels - 1 - level));
    const std::string folder = "level" + std::to_string(level) + "/";
    const adios2::Dims shape(3, along), zero(3, 0);
    Level& made = levels_.emplace_back();
    made.u = io_.DefineVariable<double>(folder + "U", shape, zero, zero);
    made.v = io_.DefineVariable<double>(folder + "V", shape, zero, zero);
    for (const char* const name : derived_names)
        made.derived.push_back(io_.DefineVariable<float>(folder + name, shape, zero, zero));
}

void Output::define_attributes()
{
    const Settings& s = settings_;
    io_.DefineAttribute<std::string>("model", "Gray-Scott with adaptive mesh refinement");
    for (const auto& [name, value] : {std::pair{"F", s.F},
                                      {"k", s.k},
                                      {"Du", s.Du},
                                      {"Dv", s.Dv},
                                      {"dt", s.dt},
                                      {"threshold", s.threshold}})
        io_.DefineAttribute<double>(name, value);
    for (const auto& [name, value] : {std::pair{"L", s.L}, {"levels", s.levels}, {"block", s.block}})
        io_.DefineAttribute<std::int32_t>(name, value);
}

double Output::write(int step, Simulation& simulation, const std::vector<Box>& boxes)
{
    take(simulation, boxes);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    engine_.BeginStep();
    engine_.Put(step_, step);
    std::size_t at = 0;
    for (const Box& box : boxes) {
        put_box(box, at);
        at += simulation.cells_of(box);
    }
    put_tables(boxes.size());
    engine_.EndStep();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Output::take(Simulation& simulation, const std::vector<Box>& boxes)
{
    std::size_t cells = 0;
    for (const Box& box : boxes)
        cells += simulation.cells_of(box);
    fields_.resize(cells);
    place_rows_.clear();
    mean_rows_.clear();
    simulation.exchange_ghosts();
    std::size_t at = 0;
    for (const Box& box : boxes) {
        simulation.copy(box, fields_, at);
        place_rows_.push_back(box.level);
        place_rows_.insert(place_rows_.end(), box.start.begin(), box.start.end());
        place_rows_.insert(place_rows_.end(), box.count.begin(), box.count.end());
        const std::size_t count = simulation.cells_of(box);
        mean_rows_.insert(mean_rows_.end(), {mean(fields_.u, at, count), mean(fields_.v, at, count)});
        at += count;
    }
}

void Output::put_box(const Box& box, std::size_t at)
{
    adios2::Box<adios2::Dims> selection;
    for (std::size_t d = 0; d < 3; ++d) {
        selection.first.push_back(static_cast<std::size_t>(box.start[d] * settings_.block));
        selection.second.push_back(static_cast<std::size_t>(box.count[d] * settings_.block));
    }
    Level& level = levels_[static_cast<std::size_t>(box.level)];
    const auto put = [&](auto& variable, const auto& values) {
        variable.SetSelection(selection);
        engine_.Put(variable, values.data() + at);
    };
    put(level.u, fields_.u);
    put(level.v, fields_.v);
    for (std::size_t i = 0; i < level.derived.size(); ++i)
        put(level.derived[i], fields_.derived[i]);
}

void Output::put_tables(std::size_t boxes)
{
    places_.SetSelection({{}, {boxes, place_columns}});
    means_.SetSelection({{}, {boxes, mean_columns}});
    engine_.Put(places_, place_rows_.data());
    engine_.Put(means_, mean_rows_.data());
}

} // namespace gray_scott::amr

// PROGRAM write|check ENGINE LOCATION CASE [RANKS]: writes two steps through ADIOS2, of kinds that its Python
// interface cannot write. Or it reads them step by step, and compares every value and every definition. RANKS
// is how many have written what is checked. The program writes on as many ranks as it runs on.
#include "stepstore/adios2.h"

#include <adios2.h>
#ifdef ADIOS2_HAS_MPI
#include <mpi.h>
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using adios2::Dims;
constexpr auto sync = adios2::Mode::Sync;

void expect(bool condition, const std::string& what)
{
    if (!condition) throw std::runtime_error("not as it was written: " + what);
}

struct Part { // of all ranks
    std::size_t rank, ranks, step;
};

// ---- structs
struct Cell {
    std::int8_t kind;
    double place[3];
    std::uint16_t links[2];
    float mass;
    long double weight;
};
struct Other { // with the name of the first
    std::int64_t number;
    float half;
};

struct Field {
    const char* name;
    std::size_t offset;
    adios2::DataType type;
    std::size_t count;
};
const std::vector<Field> fields_of_cell{{"kind", offsetof(Cell, kind), adios2::DataType::Int8, 1},
                                        {"place", offsetof(Cell, place), adios2::DataType::Double, 3},
                                        {"links", offsetof(Cell, links), adios2::DataType::UInt16, 2},
                                        {"mass", offsetof(Cell, mass), adios2::DataType::Float, 1},
                                        {"weight", offsetof(Cell, weight), adios2::DataType::LongDouble, 1}};
const std::vector<Field> fields_of_other{{"number", offsetof(Other, number), adios2::DataType::Int64, 1},
                                         {"half", offsetof(Other, half), adios2::DataType::Float, 1}};

// Leaves what pads a long double to its size as it is.
template <class T>
void put_value(T& to, T value)
{
    std::memcpy(static_cast<void*>(&to), &value, std::is_same_v<T, long double> ? 10 : sizeof(T));
}

template <class T>
void fill(T& to, std::size_t at, std::size_t step)
{
    const auto number = static_cast<float>(at + 1000 * step);
    std::memset(static_cast<void*>(&to), 0x5A, sizeof to); // what belongs to no field is copied too
    if constexpr (std::is_same_v<T, Cell>) {
        to.kind = static_cast<std::int8_t>(at);
        for (int d = 0; d < 3; ++d)
            to.place[d] = number + 0.25 * d;
        to.links[0] = static_cast<std::uint16_t>(at);
        to.links[1] = static_cast<std::uint16_t>(step);
        to.mass = number / 2;
        put_value(to.weight, 1.0L / 3 + number);
    } else {
        to.number = static_cast<std::int64_t>(at);
        to.half = number / 2;
    }
}

// Elements `first` and following of an array, which say where they stand.
template <class T>
std::vector<T> numbered(std::size_t first, std::size_t count, std::size_t step)
{
    std::vector<T> all(count);
    for (std::size_t i = 0; i < count; ++i) {
        if constexpr (std::is_arithmetic_v<T>) {
            all[i] = static_cast<T>(static_cast<T>(1) / 3 + static_cast<T>(first + i + 1000 * step));
        } else {
            fill(all[i], first + i, step);
        }
    }
    return all;
}

adios2::StructDefinition define(adios2::IO& io, std::size_t size, const std::vector<Field>& fields)
{
    auto definition = io.DefineStruct("cell", size);
    for (const auto& field : fields)
        definition.AddField(field.name, field.offset, field.type, field.count);
    return definition;
}

template <class T>
void check_struct(adios2::IO& io, adios2::Engine& engine, const std::string& name, const Dims& shape,
                  std::size_t step, const std::vector<Field>& fields)
{
    auto variable = io.InquireStructVariable(name);
    expect(static_cast<bool>(variable), name + " is there");
    expect(variable.Shape() == shape && variable.ShapeID() == adios2::ShapeID::GlobalArray,
           "shape of " + name);
    auto definition = variable.GetWriteStructDef();
    expect(definition.StructName() == "cell" && definition.StructSize() == sizeof(T) &&
               definition.Fields() == fields.size(),
           "struct of " + name);
    for (std::size_t i = 0; i < fields.size(); ++i)
        expect(definition.Name(i) == fields[i].name && definition.Offset(i) == fields[i].offset &&
                   definition.Type(i) == fields[i].type && definition.ElementCount(i) == fields[i].count,
               "field " + std::string(fields[i].name) + " of " + name);
    variable.SetReadStructDef(definition);
    variable.SetSelection({Dims(shape.size(), 0), shape});
    const auto expected = numbered<T>(0, shape.at(0) * (shape.size() > 1 ? shape[1] : 1), step);
    std::vector<T> got(expected.size());
    engine.Get(variable, got.data(), sync);
    expect(std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)) == 0, "values of " + name);
}

void write_structs(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    if (part.step == 0) {
        auto cell = define(io, sizeof(Cell), fields_of_cell);
        io.DefineStructVariable("cells", cell, {2 * part.ranks, 6}, {0, 0}, {1, 6});
        io.DefineStructVariable("rare", cell, {part.ranks}, {part.rank}, {1});
        auto other = define(io, sizeof(Other), fields_of_other);
        io.DefineStructVariable("others", other, {3 * part.ranks}, {3 * part.rank}, {3});
    }
    const std::size_t columns = 6 + part.step; // it grows
    auto cells = io.InquireStructVariable("cells");
    cells.SetShape({2 * part.ranks, columns});
    for (std::size_t row = 2 * part.rank; row < 2 * part.rank + 2; ++row) {
        cells.SetSelection({{row, 0}, {1, columns}});
        engine.Put(cells, numbered<Cell>(row * columns, columns, part.step).data(), sync);
    }
    auto others = io.InquireStructVariable("others");
    engine.Put(others, numbered<Other>(3 * part.rank, 3, part.step).data(), sync);
    if (part.step == 0) return;
    auto rare = io.InquireStructVariable("rare");
    engine.Put(rare, numbered<Cell>(part.rank, 1, part.step).data(), sync);
}

void check_structs(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    check_struct<Cell>(io, engine, "cells", {2 * part.ranks, 6 + part.step}, part.step, fields_of_cell);
    check_struct<Other>(io, engine, "others", {3 * part.ranks}, part.step, fields_of_other);
    expect(static_cast<bool>(io.InquireStructVariable("rare")) == (part.step == 1), "steps of rare");
    if (part.step == 1) check_struct<Cell>(io, engine, "rare", {part.ranks}, part.step, fields_of_cell);
}

// What ADIOS2 writes and does not read.
void write_local_structs(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    if (part.step == 0) {
        auto other = define(io, sizeof(Other), fields_of_other);
        io.DefineStructVariable("parts", other, {}, {}, {3});
    }
    auto parts = io.InquireStructVariable("parts");
    engine.Put(parts, numbered<Other>(0, 3, part.step).data(), sync);
}

void write_joined_structs(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    if (part.step == 0) {
        auto other = define(io, sizeof(Other), fields_of_other);
        io.DefineStructVariable("pairs", other, {adios2::JoinedDim}, {}, {3});
    }
    auto joined = io.InquireStructVariable("pairs");
    for (std::size_t block = 0; block < 2; ++block)
        engine.Put(joined, numbered<Other>(3 * (2 * part.rank + block), 3, part.step).data(), sync);
}

void check_joined_structs(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    check_struct<Other>(io, engine, "pairs", {6 * part.ranks}, part.step, fields_of_other);
}

void write_letters(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    if (part.step == 0) {
        auto letters = define(
            io, 2, {{"first", 0, adios2::DataType::Char, 1}, {"second", 1, adios2::DataType::Int8, 1}});
        io.DefineStructVariable("letters", letters, {part.ranks}, {part.rank}, {1});
    }
    auto letters = io.InquireStructVariable("letters");
    engine.Put(letters, "ab", sync);
}

// ---- joined arrays
constexpr std::size_t columns = 3;

// In the first step a rank has one block, then one and an empty one.
std::size_t rows_of(std::size_t block, std::size_t step)
{
    return block == 0 ? 2 + step : block == 1 ? 0 : 1;
}
std::size_t blocks_in(std::size_t step)
{
    return step == 0 ? 1 : 3;
}
std::size_t rows_in(std::size_t step)
{
    std::size_t rows = 0;
    for (std::size_t block = 0; block < blocks_in(step); ++block)
        rows += rows_of(block, step);
    return rows;
}

template <class T>
void write_joined(adios2::IO& io, adios2::Engine& engine, const std::string& name, const Part& part)
{
    auto rows = io.InquireVariable<T>(name + " by rows");
    auto line = io.InquireVariable<T>(name);
    if (!rows) {
        rows = io.DefineVariable<T>(name + " by rows", {adios2::JoinedDim, columns}, {}, {1, columns});
        line = io.DefineVariable<T>(name, {adios2::JoinedDim}, {}, {1});
    }
    std::size_t first = part.rank * rows_in(part.step);
    for (std::size_t block = 0; block < blocks_in(part.step); ++block) {
        const auto count = rows_of(block, part.step);
        rows.SetSelection({{}, {count, columns}});
        engine.Put(rows, numbered<T>(first * columns, count * columns, part.step).data(), sync);
        line.SetSelection({{}, {count}});
        engine.Put(line, numbered<T>(first, count, part.step).data(), sync);
        first += count;
    }
}

// All of it. BP files show joined arrays as global ones.
template <class T>
void get_box(adios2::Engine& engine, adios2::Variable<T>& variable, const Dims& shape, T* to)
{
    const adios2::Box<Dims> all{Dims(shape.size(), 0), shape};
    if (variable.ShapeID() == adios2::ShapeID::JoinedArray) {
        engine.Get(variable, to, adios2::Selection::BoundingBox(all), sync);
    } else {
        variable.SetSelection(all);
        engine.Get(variable, to, sync);
    }
}

template <class T>
void check_array(adios2::IO& io, adios2::Engine& engine, const std::string& name, const Dims& shape,
                 std::size_t step)
{
    auto variable = io.InquireVariable<T>(name);
    expect(static_cast<bool>(variable), name + " is there");
    expect(variable.Shape() == shape, "shape of " + name);
    const auto expected = numbered<T>(0, shape.at(0) * (shape.size() > 1 ? shape[1] : 1), step);
    std::vector<T> got(expected.size());
    get_box(engine, variable, shape, got.data());
    expect(got == expected, "values of " + name);
}

template <class T>
void check_joined(adios2::IO& io, adios2::Engine& engine, const std::string& name, const Part& part)
{
    const auto rows = part.ranks * rows_in(part.step);
    check_array<T>(io, engine, name + " by rows", {rows, columns}, part.step);
    check_array<T>(io, engine, name, {rows}, part.step);
}

void write_joined_arrays(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    write_joined<double>(io, engine, "float64", part);
    write_joined<std::int16_t>(io, engine, "int16", part);
    // By the second dimension: a column of two for each rank, then two.
    auto second = io.InquireVariable<double>("by columns");
    if (!second) second = io.DefineVariable<double>("by columns", {2, adios2::JoinedDim}, {}, {2, 1});
    for (std::size_t block = 0; block <= part.step; ++block)
        engine.Put(second, numbered<double>(10 * (part.rank * (part.step + 1) + block), 2, 0).data(), sync);
}

void check_joined_arrays(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    check_joined<double>(io, engine, "float64", part);
    check_joined<std::int16_t>(io, engine, "int16", part);
    auto second = io.InquireVariable<double>("by columns");
    const std::size_t width = part.ranks * (part.step + 1);
    expect(second.Shape() == Dims{2, width}, "shape of by columns");
    std::vector<double> got(2 * width);
    get_box(engine, second, {2, width}, got.data());
    for (std::size_t column = 0; column < width; ++column)
        for (std::size_t row = 0; row < 2; ++row)
            expect(got[row * width + column] == numbered<double>(10 * column + row, 1, 0)[0], "by columns");
}

// ---- long double
using Long = long double;

void write_long_doubles(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    write_joined<Long>(io, engine, "joined", part);
    auto global = io.InquireVariable<Long>("global");
    auto local = io.InquireVariable<Long>("local");
    auto value = io.InquireVariable<Long>("value");
    auto own = io.InquireVariable<Long>("own");
    if (!global) {
        global = io.DefineVariable<Long>("global", {2 * part.ranks, 4}, {2 * part.rank, 0}, {2, 4});
        local = io.DefineVariable<Long>("local", {}, {}, {5});
        value = io.DefineVariable<Long>("value");
        own = io.DefineVariable<Long>("own", {adios2::LocalValueDim});
        const auto list = numbered<Long>(0, 3, 0);
        io.DefineAttribute<Long>("list", list.data(), list.size());
        io.DefineAttribute<Long>("one", list[1]);
        io.DefineAttribute<Long>("none", std::numeric_limits<Long>::quiet_NaN());
        io.DefineAttribute<double>("_FillValue", std::numeric_limits<double>::quiet_NaN(), "global");
        io.DefineAttribute<double>("minus", -0.0);
    }
    engine.Put(global, numbered<Long>(8 * part.rank, 8, part.step).data(), sync);
    engine.Put(local, numbered<Long>(5 * part.rank, 5, part.step).data(), sync);
    engine.Put(value, numbered<Long>(7, 1, part.step).data(), sync);
    engine.Put(own, numbered<Long>(part.rank, 1, part.step).data(), sync);
}

void check_long_doubles(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    check_joined<Long>(io, engine, "joined", part);
    check_array<Long>(io, engine, "global", {2 * part.ranks, 4}, part.step);
    check_array<Long>(io, engine, "own", {part.ranks}, part.step);
    auto local = io.InquireVariable<Long>("local");
    for (std::size_t block = 0; block < part.ranks; ++block) {
        std::vector<Long> got(5);
        local.SetBlockSelection(block);
        engine.Get(local, got.data(), sync);
        expect(got == numbered<Long>(5 * block, 5, part.step), "values of local");
    }
    Long value = 0;
    engine.Get("value", value, sync);
    expect(value == numbered<Long>(7, 1, part.step)[0], "value");
    const auto list = numbered<Long>(0, 3, 0);
    expect(io.InquireAttribute<Long>("list").Data() == list, "the attribute list");
    expect(io.InquireAttribute<Long>("one").Data() == std::vector<Long>{list[1]}, "the attribute one");
    const auto none = io.InquireAttribute<Long>("none").Data().at(0);
    expect(none != none, "the attribute none");
    const auto fill = io.InquireAttribute<double>("global/_FillValue").Data().at(0);
    expect(fill != fill, "the attribute _FillValue");
    expect(std::signbit(io.InquireAttribute<double>("minus").Data().at(0)), "the attribute minus");
}

// ---- strings
std::string text_of(std::size_t rank, std::size_t step)
{
    return "rank " + std::to_string(rank) + std::string(step, '!');
}

void write_strings(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    if (part.step == 0) io.DefineVariable<std::string>("own text", {adios2::LocalValueDim});
    engine.Put("own text", text_of(part.rank, part.step), sync);
}

void check_strings(adios2::IO& io, adios2::Engine& engine, const Part& part)
{
    auto own = io.InquireVariable<std::string>("own text");
    expect(static_cast<bool>(own), "own text is there");
    for (std::size_t rank = 0; rank < part.ranks; ++rank) {
        std::string got;
        own.SetBlockSelection(rank);
        engine.Get(own, &got, sync);
        expect(got == text_of(rank, part.step), "own text");
    }
}

struct Kind {
    void (*write)(adios2::IO&, adios2::Engine&, const Part&);
    void (*check)(adios2::IO&, adios2::Engine&, const Part&) = nullptr; // none: it cannot be read
};
const Kind structs{write_structs, check_structs}, joined_structs{write_joined_structs, check_joined_structs},
    joined_arrays{write_joined_arrays, check_joined_arrays},
    long_doubles{write_long_doubles, check_long_doubles};
const std::map<std::string, std::vector<Kind>> cases{
    {"structs", {structs}}, // apart from others: BP5 crashes on more of them in a file
    {"joined structs", {joined_structs}},
    {"numbers", {joined_arrays, long_doubles}},
    {"strings", {{write_strings, check_strings}}},
    {"local structs", {{write_local_structs}}},
    {"letters", {{write_letters}}}};

void run(const std::vector<std::string>& arguments)
{
    const auto& kinds = cases.at(arguments.at(3));
    Part part{0, 1, 0};
#ifdef ADIOS2_HAS_MPI
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    part = {static_cast<std::size_t>(rank), static_cast<std::size_t>(ranks), 0};
    adios2::ADIOS adios(MPI_COMM_WORLD);
#else
    adios2::ADIOS adios;
#endif
    if (arguments.size() > 4) part.ranks = std::stoul(arguments[4]);
    auto io = adios.DeclareIO("io");
    io.SetEngine(arguments.at(1));
    const bool writes = arguments.at(0) == "write";
    auto engine = io.Open(arguments.at(2), writes ? adios2::Mode::Write : adios2::Mode::Read);
    for (; part.step < 2; ++part.step) {
        expect(engine.BeginStep() == adios2::StepStatus::OK, "step " + std::to_string(part.step));
        for (const Kind& kind : kinds)
            (writes ? kind.write : kind.check)(io, engine, part);
        engine.EndStep();
    }
    if (!writes) expect(engine.BeginStep() == adios2::StepStatus::EndOfStream, "the end");
    engine.Close();
}

} // namespace

int main(int argc, char** argv)
{
#ifdef ADIOS2_HAS_MPI
    MPI_Init(&argc, &argv);
#endif
    int status = 0;
    try {
        const std::vector<std::string> arguments(argv + 1, argv + argc);
        if (arguments.at(1) == "Stepstore" && stepstore_adios2_register() != 0)
            throw std::runtime_error(stepstore_adios2_last_error());
        run(arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        status = 1;
    }
#ifdef ADIOS2_HAS_MPI
    MPI_Finalize();
#endif
    return status;
}

// Streams made up from a seed through real ADIOS2, compared with a plain in-memory model.
//
// STEPSTORE_TEST_SEED=N runs that stream alone, as a failure names it; STEPSTORE_TEST_STREAMS=N so many of
// them.
#include "features.h"
#include "support/random_stream.h"

#include <cstring>
#include <optional>

namespace {

using namespace plugin_test;
using namespace stepstore::testing;

constexpr std::byte untouched{0xA5};

// Calls visit(std::type_identity<T>{}) with ADIOS2's C++ type.
template <class Visit>
void with_type(Type type, Visit&& visit)
{
    switch (type) {
    case Type::int8: return visit(std::type_identity<std::int8_t>{});
    case Type::int16: return visit(std::type_identity<std::int16_t>{});
    case Type::int32: return visit(std::type_identity<std::int32_t>{});
    case Type::int64: return visit(std::type_identity<std::int64_t>{});
    case Type::uint8: return visit(std::type_identity<std::uint8_t>{});
    case Type::uint16: return visit(std::type_identity<std::uint16_t>{});
    case Type::uint32: return visit(std::type_identity<std::uint32_t>{});
    case Type::uint64: return visit(std::type_identity<std::uint64_t>{});
    case Type::float32: return visit(std::type_identity<float>{});
    case Type::float64: return visit(std::type_identity<double>{});
    case Type::float128: return visit(std::type_identity<long double>{});
    case Type::complex64: return visit(std::type_identity<std::complex<float>>{});
    case Type::complex128: return visit(std::type_identity<std::complex<double>>{});
    case Type::string: return visit(std::type_identity<std::string>{});
    case Type::character: return visit(std::type_identity<char>{});
    case Type::structure: return; // not made here
    }
}

std::string text_of(const std::vector<std::byte>& data)
{
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

Dims sizes(const stepstore::steps::Dims& dims)
{
    return {dims.begin(), dims.end()};
}

class RandomWriter {
public:
    // least: deferred blocks of so many bytes stay the program's until the step ends
    RandomWriter(adios2::IO& io, const RandomStream& stream, std::size_t least)
        : io_(io), stream_(stream), least_deferred_(least)
    {
    }
    void put_step(adios2::Engine& engine, std::size_t step)
    {
        kept_.clear();
        for (const auto& entry : stream_.steps[step])
            for (const auto& block : entry.blocks)
                if (block.rank == run.rank) {
                    const auto& variable = stream_.variables[entry.variable];
                    with_type(variable.type, [&]<class T>(std::type_identity<T>) {
                        put<T>(engine, variable, entry, block);
                    });
                }
        for (const auto& [name, text] : stream_.attributes[step])
            io_.DefineAttribute<std::string>(name, text, "", "/", true);
    }

private:
    template <class T>
    void put(adios2::Engine& engine, const RandomVariable& variable, const RandomEntry& entry,
             const RandomBlock& block)
    {
        const auto mode = block.sync ? adios2::Mode::Sync : adios2::Mode::Deferred;
        auto shape = sizes(entry.shape);
        if (variable.kind == ShapeKind::joined_array) shape[variable.joined] = adios2::JoinedDim;
        if (variable.kind == ShapeKind::local_value) shape = {adios2::LocalValueDim};
        const bool joined = variable.kind == ShapeKind::joined_array;
        const auto start = joined ? Dims() : sizes(block.start);
        auto target = io_.InquireVariable<T>(variable.name);
        if (!target) target = io_.DefineVariable<T>(variable.name, shape, start, sizes(block.count));
        if constexpr (std::is_same_v<T, std::string>) {
            engine.Put(target, text_of(block.data), mode);
        } else if (block.count.empty()) {
            T value;
            std::memcpy(static_cast<void*>(&value), block.data.data(), sizeof value);
            engine.Put(target, value, mode);
        } else {
            if (!shape.empty()) target.SetShape(shape);
            target.SetSelection({start, sizes(block.count)});
            auto& copy = kept_.emplace_back(block.data);
            copy.push_back({}); // never null
            engine.Put(target, reinterpret_cast<const T*>(copy.data()), mode);
            if (block.sync || block.data.size() < least_deferred_)
                std::fill(copy.begin(), copy.end(), untouched);
        }
    }

    adios2::IO& io_;
    const RandomStream& stream_;
    const std::size_t least_deferred_;
    std::vector<std::vector<std::byte>> kept_; // what was put deferred
};

class RandomReader {
public:
    RandomReader(adios2::IO& io, adios2::Engine& engine, const RandomStream& stream, bool at_random,
                 std::uint64_t seed)
        : io_(io), engine_(engine), stream_(stream), at_random_(at_random), random_(seed)
    {
    }
    void check_step(std::size_t step)
    {
        if (!at_random_) EXPECT_EQ(io_.AvailableVariables(true).size(), stream_.steps[step].size());
        for (const auto& entry : stream_.steps[step]) {
            const auto& variable = stream_.variables[entry.variable];
            with_type(variable.type,
                      [&]<class T>(std::type_identity<T>) { check<T>(variable, entry, step); });
        }
        engine_.PerformGets();
        for (auto& get : gets_)
            if (without_padding(get, *get.memory) != without_padding(get, get.expected))
                fail(__FILE__, __LINE__, get.what + ", step " + std::to_string(step));
        gets_.clear();
        for (const auto& [name, text] : stream_.attributes[at_random_ ? stream_.steps.size() - 1 : step]) {
            auto attribute = io_.InquireAttribute<std::string>(name);
            EXPECT(attribute && attribute.Data() == std::vector<std::string>{text});
        }
    }

private:
    struct Get {
        std::string what;
        std::unique_ptr<std::vector<std::byte>> memory;
        std::vector<std::byte> expected;
        bool padded; // long double: 10 bytes of 16 are the value's
    };
    static const std::vector<std::byte>& without_padding(const Get& get, std::vector<std::byte>& data)
    {
        for (std::size_t i = 0; get.padded && i < data.size(); ++i)
            if (i % 16 >= 10) data[i] = {};
        return data;
    }

    // Counted among the steps that have the variable.
    std::size_t relative_step(const RandomEntry& entry, std::size_t step) const
    {
        std::size_t before = 0;
        for (std::size_t i = 0; i < step; ++i)
            for (const auto& other : stream_.steps[i])
                before += other.variable == entry.variable ? 1 : 0;
        return before;
    }

    template <class T>
    adios2::Variable<T> variable_of(const RandomVariable& variable, const RandomEntry& entry,
                                    std::size_t step)
    {
        auto found = io_.InquireVariable<T>(variable.name);
        EXPECT(found);
        if (at_random_) found.SetStepSelection({relative_step(entry, step), 1});
        return found;
    }

    struct Wanted {
        std::optional<std::size_t> block;
        std::optional<Box> box;
    };

    template <class T>
    void check(const RandomVariable& variable, const RandomEntry& entry, std::size_t step)
    {
        if constexpr (std::is_same_v<T, std::string>) {
            const bool local = variable.kind == ShapeKind::local_value;
            for (std::size_t i = 0; i < (local ? entry.blocks.size() : 1); ++i) {
                auto target = variable_of<T>(variable, entry, step);
                if (local) target.SetBlockSelection(i);
                std::string text;
                engine_.Get(target, &text, adios2::Mode::Sync);
                EXPECT_EQ(text, ::text_of(entry.blocks[i].data));
            }
        } else {
            if (variable.kind == ShapeKind::global_value)
                return get<T>(variable, entry, step, {}, entry.blocks.front().data);
            if (variable.kind == ShapeKind::local_value) {
                std::vector<std::byte> all;
                for (const auto& block : entry.blocks)
                    all.insert(all.end(), block.data.begin(), block.data.end());
                return get<T>(variable, entry, step, {{}, Box{{0}, {entry.blocks.size()}}}, all);
            }
            check_array<T>(variable, entry, step);
        }
    }

    template <class T>
    void check_array(const RandomVariable& variable, const RandomEntry& entry, std::size_t step)
    {
        const bool local = variable.kind == ShapeKind::local_array;
        if (!local && !at_random_)
            EXPECT(io_.InquireVariable<T>(variable.name).Shape() == sizes(entry.shape));
        EXPECT_EQ(engine_
                      .BlocksInfo(io_.InquireVariable<T>(variable.name),
                                  at_random_ ? relative_step(entry, step) : step)
                      .size(),
                  entry.blocks.size());
        for (int i = 0; i < 3 && !local; ++i) {
            const Box box = random_box(random_, entry.shape);
            get<T>(variable, entry, step, {{}, box}, expected_box(stream_, entry, box, untouched));
        }
        for (std::size_t i = 0; i < entry.blocks.size(); ++i) {
            const Box all{stepstore::steps::Dims(entry.blocks[i].count.size(), 0), entry.blocks[i].count};
            const Box box = random_box(random_, entry.blocks[i].count);
            // A box of a global array is one of the whole array, also where a block is selected. Whole blocks
            // are read where ADIOS2 says no less than their size.
            if (!local && !at_random_)
                get<T>(variable, entry, step, {i, {}}, expected_in_block(stream_, entry, i, all));
            if (local) get<T>(variable, entry, step, {i, all}, expected_in_block(stream_, entry, i, all));
            if (local) get<T>(variable, entry, step, {i, box}, expected_in_block(stream_, entry, i, box));
        }
    }

    // By a Selection, or by setting the same in the variable.
    template <class T>
    void get(const RandomVariable& variable, const RandomEntry& entry, std::size_t step, const Wanted& wanted,
             std::vector<std::byte> expected)
    {
        const auto mode = random_.one_in(2) ? adios2::Mode::Sync : adios2::Mode::Deferred;
        auto memory = std::make_unique<std::vector<std::byte>>(expected.size(), untouched);
        T nothing{};
        T* to = memory->empty() ? &nothing : reinterpret_cast<T*>(memory->data());
        auto target = variable_of<T>(variable, entry, step);
        // A block's size is not what a box that was set before leaves in the variable.
        if (random_.one_in(2) || (wanted.block && !wanted.box)) {
            auto selection = adios2::Selection::All();
            if (wanted.block) selection.SetBlock(*wanted.block);
            if (wanted.box) selection.SetBoundingBox(sizes(wanted.box->start), sizes(wanted.box->count));
            if (at_random_) selection.SetSteps(relative_step(entry, step), 1);
            engine_.Get(target, to, selection, mode);
        } else {
            target.SetBlockSelection(wanted.block.value_or(0));
            if (wanted.box) target.SetSelection({sizes(wanted.box->start), sizes(wanted.box->count)});
            engine_.Get(target, to, mode);
        }
        gets_.push_back({variable.name + " (" + variable_text(variable) + ") " + text_of(wanted),
                         std::move(memory), std::move(expected), variable.type == Type::float128});
    }

    static std::string text_of(const Wanted& wanted)
    {
        std::string text = wanted.block ? "block " + std::to_string(*wanted.block) + " " : "";
        if (!wanted.box) return text + "all";
        for (std::size_t d = 0; d < wanted.box->start.size(); ++d)
            text += std::to_string(wanted.box->start[d]) + "+" + std::to_string(wanted.box->count[d]) + " ";
        return text;
    }
    static std::string variable_text(const RandomVariable& variable)
    {
        return "type " + std::to_string(static_cast<int>(variable.type)) + ", kind " +
               std::to_string(static_cast<int>(variable.kind));
    }

    adios2::IO& io_;
    adios2::Engine& engine_;
    const RandomStream& stream_;
    bool at_random_;
    Random random_;
    std::vector<Get> gets_;
};

void write(const RandomStream& stream, const std::string& name, const adios2::Params& parameters)
{
    const Group group(stream.ranks);
    if (group.member()) {
        auto adios = make_adios(group.comm());
        auto io = make_io(adios, "out", name, parameters);
        const auto least = parameters.find("MinDeferredSize");
        RandomWriter writer(io, stream, least == parameters.end() ? 4 << 20 : std::stoul(least->second));
        group.hand_over(name);
        auto engine = open(io, name, adios2::Mode::Write);
        for (std::size_t step = 0; step < stream.steps.size(); ++step) {
            engine.BeginStep();
            writer.put_step(engine, step);
            engine.EndStep();
        }
        engine.Close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void read(const RandomStream& stream, const std::string& name, int readers, bool at_random,
          adios2::Params parameters)
{
    const Group group(readers);
    if (group.member()) {
        auto adios = make_adios(group.comm());
        parameters["Reading"] = at_random ? "random" : "stream";
        auto io = make_io(adios, "in", name, parameters);
        group.hand_over(name);
        auto engine = open(io, name, at_random ? adios2::Mode::ReadRandomAccess : adios2::Mode::Read);
        EXPECT_EQ(engine.Steps(), stream.steps.size());
        RandomReader reader(io, engine, stream, at_random,
                            stream.seed + static_cast<std::uint64_t>(run.rank));
        for (std::size_t i = 0; i < stream.steps.size(); ++i) {
            if (!at_random) EXPECT(engine.BeginStep() == adios2::StepStatus::OK);
            reader.check_step(at_random ? stream.steps.size() - 1 - i : i);
            if (!at_random) engine.EndStep();
        }
        engine.Close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void round_trip(std::uint64_t seed)
{
    RandomLimits limits;
    limits.most_ranks = run.ranks;
    const auto stream = make_random_stream(seed, limits);
    Random random(~seed);
    const std::vector<std::string> layouts = {"posix", "kv", "array", "array-aligned"};
    const adios2::Params order = {{"ArrayOrder", stream.order == Order::row_major ? "row" : "column"}};
    adios2::Params parameters = order;
    parameters["Layout"] = random.of(layouts);
    if (random.one_in(2)) parameters["MinDeferredSize"] = std::to_string(random.below(2000));
    const auto name = "random-" + std::to_string(seed);
    if (run.rank == 0) // seen only when it fails, or with ctest -V
        std::printf("STEPSTORE_TEST_SEED=%llu: %d writers, %zu steps, %zu variables, %s\n",
                    static_cast<unsigned long long>(seed), stream.ranks, stream.steps.size(),
                    stream.variables.size(), parameters["Layout"].c_str());
    std::fflush(stdout);
    write(stream, name, parameters);
    read(stream, name, static_cast<int>(random.between(1, static_cast<std::uint64_t>(run.ranks))), false,
         order);
    read(stream, name, static_cast<int>(random.between(1, static_cast<std::uint64_t>(run.ranks))), true,
         order);
}

std::optional<std::uint64_t> number_in(const char* name)
{
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional<std::uint64_t>(std::stoull(text));
}

CASE(random_streams)
{
    if (const auto seed = number_in("STEPSTORE_TEST_SEED")) return round_trip(*seed);
    const auto streams = number_in("STEPSTORE_TEST_STREAMS").value_or(40);
    for (std::uint64_t seed = 1; seed <= streams; ++seed)
        round_trip(seed);
}

} // namespace

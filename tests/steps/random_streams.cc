// Streams made up from a seed, in every layout, written and read in every way, compared with a plain
// in-memory model.
//
// STEPSTORE_TEST_SEED=N runs that stream alone, as a failure names it; STEPSTORE_TEST_STREAMS=N so many of
// them.
#include "steps/model.h"
#include "support/random_stream.h"
#include "support/temporary.h"
#include "support/thread_group.h"

namespace stepstore::steps::testing {
namespace {

using namespace stepstore::testing;

constexpr std::byte untouched{0xA5};

template <class T>
void expect_extremes(const std::vector<std::byte>& data, const MinMax& range)
{
    std::vector<T> values(data.size() / sizeof(T));
    std::memcpy(static_cast<void*>(values.data()), data.data(), data.size());
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    EXPECT_EQ(range.min.as<T>(), *low);
    EXPECT_EQ(range.max.as<T>(), *high);
}

void expect_extremes(Type type, const std::vector<std::byte>& data, const MinMax& range)
{
    switch (type) {
    case Type::int8: return expect_extremes<std::int8_t>(data, range);
    case Type::int16: return expect_extremes<std::int16_t>(data, range);
    case Type::int32: return expect_extremes<std::int32_t>(data, range);
    case Type::int64: return expect_extremes<std::int64_t>(data, range);
    case Type::uint8: return expect_extremes<std::uint8_t>(data, range);
    case Type::uint16: return expect_extremes<std::uint16_t>(data, range);
    case Type::uint32: return expect_extremes<std::uint32_t>(data, range);
    case Type::uint64: return expect_extremes<std::uint64_t>(data, range);
    case Type::float32: return expect_extremes<float>(data, range);
    case Type::float64: return expect_extremes<double>(data, range);
    case Type::float128: return expect_extremes<long double>(data, range);
    case Type::character: return expect_extremes<char>(data, range);
    default: ADD_FAILURE() << "a range of " << name_of(type);
    }
}

std::string text_of(const std::vector<std::byte>& data)
{
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

class RandomWriter {
public:
    RandomWriter(const RandomStream& stream, const std::string& location, const WriterOptions& options,
                 std::shared_ptr<Communicator> communicator)
        : stream_(stream), rank_(communicator->rank()), least_deferred_(options.min_deferred_size),
          random_(stream.seed * 31 + static_cast<std::uint64_t>(rank_)),
          writer_(location, options, communicator)
    {
    }
    void write()
    {
        for (std::size_t step = 0; step < stream_.steps.size(); ++step) {
            writer_.begin_step();
            for (const auto& entry : stream_.steps[step])
                for (const auto& block : entry.blocks)
                    if (block.rank == rank_) put(stream_.variables[entry.variable], entry, block);
            if (random_.one_in(4)) writer_.perform_puts();
            for (const auto& [name, text] : stream_.attributes[step])
                writer_.attribute(name, std::span(&text, 1));
            writer_.end_step();
        }
        writer_.close();
    }

private:
    void put(const RandomVariable& variable, const RandomEntry& entry, const RandomBlock& block)
    {
        const auto id = writer_.define(variable.name, variable.type, variable.kind);
        if (variable.type == Type::string) return writer_.put_string(id, text_of(block.data));
        if (is_value(variable.kind)) return writer_.put_value(id, block.data.data());
        Dims shape = entry.shape;
        const bool joined = variable.kind == ShapeKind::joined_array;
        if (joined) shape[variable.joined] = joined_dimension;
        const Dims start = joined ? Dims() : block.start;
        if (random_.one_in(5)) {
            const auto span = writer_.put_span(id, shape, start, block.count);
            ASSERT_EQ(span.size(), block.data.size());
            std::copy(block.data.begin(), block.data.end(), span.begin());
            return;
        }
        const auto mode = block.sync ? Mode::sync : Mode::deferred;
        if (!block.sync && block.data.size() >= least_deferred_)
            return writer_.put(id, shape, start, block.count, block.data.data(), mode);
        auto copy = block.data; // the put is done with its memory on return
        copy.push_back({});     // never null
        writer_.put(id, shape, start, block.count, copy.data(), mode);
        std::fill(copy.begin(), copy.end(), untouched);
    }

    const RandomStream& stream_;
    int rank_;
    std::uint64_t least_deferred_;
    Random random_;
    Writer writer_;
};

class RandomReader {
public:
    RandomReader(const RandomStream& stream, Reader& reader, std::uint64_t seed)
        : stream_(stream), reader_(reader), random_(seed)
    {
    }
    void check_step(std::uint64_t step)
    {
        SCOPED_TRACE("step " + std::to_string(step));
        const auto& entries = stream_.steps[step];
        EXPECT_EQ(reader_.variables(step).size(), entries.size());
        for (const auto& entry : entries)
            check(entry, step);
        reader_.perform_gets();
        for (const auto& get : gets_)
            EXPECT_EQ(*get.memory, get.expected) << get.what << ", step " << step;
        gets_.clear();
        EXPECT_EQ(reader_.attribute_names(step).size(), stream_.attributes[step].size());
        for (const auto& [name, text] : stream_.attributes[step]) {
            const auto attribute = reader_.attribute(name, step);
            ASSERT_TRUE(attribute) << name;
            EXPECT_EQ(attribute->strings, std::vector<std::string>{text});
        }
    }

private:
    struct Get {
        std::string what;
        std::unique_ptr<std::vector<std::byte>> memory;
        std::vector<std::byte> expected;
    };

    void check(const RandomEntry& entry, std::uint64_t step)
    {
        const auto& variable = stream_.variables[entry.variable];
        SCOPED_TRACE(variable.name + ", " + std::string(name_of(variable.type)) + " " +
                     std::string(name_of(variable.kind)));
        const auto id = reader_.find(variable.name);
        ASSERT_TRUE(id);
        ASSERT_TRUE(reader_.has(*id, step));
        if (is_value(variable.kind)) return check_value(entry, *id, step);
        if (variable.kind != ShapeKind::local_array) {
            EXPECT_EQ(reader_.shape(*id, step), entry.shape);
        }
        check_blocks(entry, *id, step);
        if (variable.kind == ShapeKind::local_array) return;
        for (int i = 0; i < 3; ++i) {
            const Box box = random_box(random_, entry.shape);
            start_get(variable.name + " box " + to_text(box.start) + " " + to_text(box.count),
                      expected_box(stream_, entry, box, untouched), [&](std::byte* memory, Mode mode) {
                          reader_.get(*id, box.start, box.count, memory, mode, step);
                      });
        }
    }

    void check_value(const RandomEntry& entry, VariableId id, std::uint64_t step)
    {
        const auto& variable = stream_.variables[entry.variable];
        const bool local = variable.kind == ShapeKind::local_value;
        if (local) {
            EXPECT_EQ(reader_.shape(id, step), Dims{entry.blocks.size()});
        }
        for (std::size_t i = 0; i < (local ? entry.blocks.size() : 1); ++i) {
            const auto& expected = entry.blocks[i].data;
            if (variable.type == Type::string) {
                EXPECT_EQ(reader_.get_string(id, i, step), text_of(expected));
                continue;
            }
            std::vector<std::byte> value(expected.size());
            reader_.get_value(id, value.data(), i, step);
            EXPECT_EQ(value, expected);
        }
    }

    void check_blocks(const RandomEntry& entry, VariableId id, std::uint64_t step)
    {
        const auto& variable = stream_.variables[entry.variable];
        const auto blocks = reader_.blocks(id, step);
        ASSERT_EQ(blocks.size(), entry.blocks.size());
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const auto& expected = entry.blocks[i];
            EXPECT_EQ(blocks[i].writer_rank, static_cast<std::uint32_t>(expected.rank));
            EXPECT_EQ(blocks[i].count, expected.count);
            EXPECT_EQ(blocks[i].start, expected.start);
            const bool ranged = has_minmax(variable.type) && !expected.data.empty();
            ASSERT_EQ(blocks[i].minmax.has_value(), ranged);
            if (ranged) expect_extremes(variable.type, expected.data, *blocks[i].minmax);
            const Box box = random_box(random_, expected.count);
            start_get(variable.name + " block " + std::to_string(i),
                      expected_in_block(stream_, entry, i, box), [&](std::byte* memory, Mode mode) {
                          reader_.get_block(id, i, box.start, box.count, memory, mode, step);
                      });
        }
    }

    template <class Start>
    void start_get(const std::string& what, std::vector<std::byte> expected, Start&& start)
    {
        auto memory = std::make_unique<std::vector<std::byte>>(expected.size(), untouched);
        std::byte nothing{};
        start(memory->empty() ? &nothing : memory->data(), random_.one_in(2) ? Mode::sync : Mode::deferred);
        gets_.push_back({what, std::move(memory), std::move(expected)});
    }

    const RandomStream& stream_;
    Reader& reader_;
    Random random_;
    std::vector<Get> gets_;
};

WriterOptions random_writer_options(Random& random, const RandomStream& stream)
{
    WriterOptions options;
    const Design& design = designs.at(all_designs[random.below(all_designs.size())]);
    options.layout = design.layout;
    options.objects = design.objects;
    options.order = stream.order;
    options.targets = static_cast<unsigned>(random.between(1, 8));
    if (random.one_in(2)) options.chunk_size = std::uint64_t{4096} << random.below(5);
    if (random.one_in(2)) options.data_chunk_size = std::uint64_t{4096} << random.below(5);
    if (random.one_in(2)) options.min_deferred_size = random.below(2000);
    if (random.one_in(3))
        options.compression.method = compression_method_named(random.of(compression_method_names()));
    return options;
}

ReaderOptions random_reader_options(Random& random)
{
    ReaderOptions options;
    options.mode = random.one_in(3) ? ReadMode::random_access : ReadMode::stream;
    options.readers = random.one_in(2) ? Readers::everyone : Readers::delegate;
    if (random.one_in(2)) options.read_ahead = random.below(20000);
    return options;
}

void read(const RandomStream& stream, Reader& reader, ReadMode mode, std::uint64_t seed)
{
    RandomReader checks(stream, reader, seed);
    if (mode == ReadMode::random_access) {
        Random random(seed);
        ASSERT_EQ(reader.steps(), stream.steps.size());
        for (int i = 0; i < 6; ++i)
            checks.check_step(random.below(stream.steps.size()));
        return;
    }
    for (std::uint64_t step = 0; step < stream.steps.size(); ++step) {
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        ASSERT_EQ(reader.current_step(), step);
        checks.check_step(step);
        reader.end_step();
    }
    EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
}

void round_trip(std::uint64_t seed)
{
    const RandomStream stream = make_random_stream(seed);
    Random random(~seed);
    const TemporaryDirectory directory;
    const std::string location = stepstore::testing::new_stream(directory);
    const WriterOptions options = random_writer_options(random, stream);
    SCOPED_TRACE("STEPSTORE_TEST_SEED=" + std::to_string(seed) + ": " + std::to_string(stream.ranks) +
                 " writers, " + name_of(Design{options.layout, *options.objects}));
    run_ranks(stream.ranks, [&](std::shared_ptr<Communicator> communicator) {
        RandomWriter(stream, location, options, communicator).write();
    });
    for (int time = 0; time < 2; ++time) {
        const ReaderOptions how = random_reader_options(random);
        run_ranks(static_cast<int>(random.between(1, 4)), [&](std::shared_ptr<Communicator> communicator) {
            Reader reader(location, how, communicator);
            read(stream, reader, how.mode, seed + static_cast<std::uint64_t>(communicator->rank()));
        });
    }
}

std::optional<std::uint64_t> number_in(const char* name)
{
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional<std::uint64_t>(std::stoull(text));
}

TEST(RandomStreams, AreReadAsTheModelSays)
{
    if (const auto seed = number_in("STEPSTORE_TEST_SEED")) return round_trip(*seed);
    const std::uint64_t streams = number_in("STEPSTORE_TEST_STREAMS").value_or(150);
    for (std::uint64_t seed = 1; seed <= streams && !HasFailure(); ++seed) {
        try {
            round_trip(seed);
        } catch (const std::exception& error) {
            ADD_FAILURE() << "STEPSTORE_TEST_SEED=" << seed << ": " << error.what();
        }
    }
}

} // namespace
} // namespace stepstore::steps::testing

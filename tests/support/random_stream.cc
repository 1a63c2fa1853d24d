#include "support/random_stream.h"

#include <complex>

namespace stepstore::testing {
namespace {

const std::vector<Type> types = {Type::int8,       Type::int16,   Type::int32,    Type::int64,
                                 Type::uint8,      Type::uint16,  Type::uint32,   Type::uint64,
                                 Type::float32,    Type::float64, Type::float128, Type::complex64,
                                 Type::complex128, Type::string,  Type::character};

template <class T>
void append(std::vector<std::byte>& data, const T& value)
{
    std::byte bytes[sizeof(T)] = {};
    std::memcpy(bytes, &value, sizeof value);
    data.insert(data.end(), bytes, bytes + sizeof bytes);
}

template <class T>
T real(Random& random)
{
    return static_cast<T>(static_cast<std::int64_t>(random.below(2000001)) - 1000000) / T(8);
}

void append_element(std::vector<std::byte>& data, Type type, Random& random)
{
    const std::uint64_t bits = random.below(UINT64_MAX);
    switch (type) {
    case Type::float32: return append(data, real<float>(random));
    case Type::float64: return append(data, real<double>(random));
    case Type::float128: {
        // The bytes that pad a long double are not the value's.
        long double value;
        std::memset(static_cast<void*>(&value), 0, sizeof value);
        value = real<long double>(random);
        std::byte bytes[sizeof value] = {};
        std::memcpy(bytes, &value, 10);
        data.insert(data.end(), bytes, bytes + sizeof bytes);
        return;
    }
    case Type::complex64: return append(data, std::complex<float>(real<float>(random), real<float>(random)));
    case Type::complex128:
        return append(data, std::complex<double>(real<double>(random), real<double>(random)));
    default: {
        std::byte bytes[sizeof bits];
        std::memcpy(bytes, &bits, sizeof bits);
        data.insert(data.end(), bytes, bytes + element_size(type));
    }
    }
}

std::vector<std::byte> random_data(Random& random, Type type, std::uint64_t elements)
{
    std::vector<std::byte> data;
    if (type == Type::string) {
        const auto length = random.one_in(5) ? random.below(3000) : random.below(20);
        for (std::uint64_t i = 0; i < length; ++i)
            data.push_back(static_cast<std::byte>('a' + random.below(26)));
        return data;
    }
    for (std::uint64_t i = 0; i < elements; ++i)
        append_element(data, type, random);
    return data;
}

Dims random_shape(Random& random, std::size_t dimensions, bool empty)
{
    static const std::uint64_t most[] = {0, 400, 40, 12, 6};
    Dims shape;
    for (std::size_t i = 0; i < dimensions; ++i)
        shape.push_back(random.between(empty && random.one_in(12) ? 0 : 1, most[dimensions]));
    return shape;
}

// Cuts the box at random places, so that the parts cover it and do not overlap.
void cut(Random& random, const Box& box, std::size_t depth, std::vector<Box>& parts)
{
    const auto dimension = random.below(box.count.size());
    if (depth == 0 || box.count[dimension] < 2 || random.one_in(6)) {
        parts.push_back(box);
        return;
    }
    const auto at = random.between(1, box.count[dimension] - 1);
    Box left = box;
    Box right = box;
    left.count[dimension] = at;
    right.start[dimension] += at;
    right.count[dimension] -= at;
    cut(random, left, depth - 1, parts);
    cut(random, right, depth - 1, parts);
}

RandomBlock make_block(Random& random, const RandomVariable& variable, int rank, Dims start, Dims count)
{
    RandomBlock block{rank, std::move(start), std::move(count), {}, random.one_in(2)};
    block.data = random_data(random, variable.type, element_count(block.count));
    return block;
}

void sort_by_rank(RandomEntry& entry)
{
    std::stable_sort(entry.blocks.begin(), entry.blocks.end(),
                     [](const RandomBlock& a, const RandomBlock& b) { return a.rank < b.rank; });
}

void fill_global_array(Random& random, const RandomVariable& variable, int ranks, const RandomLimits& limits,
                       RandomEntry& entry)
{
    entry.shape = random_shape(random, variable.dimensions, limits.empty_blocks);
    std::vector<Box> parts;
    cut(random, {Dims(variable.dimensions, 0), entry.shape}, random.below(4), parts);
    const bool holes = random.one_in(4);
    for (const auto& part : parts) {
        if (holes && random.one_in(3) && parts.size() > 1 && !entry.blocks.empty()) continue;
        const auto rank = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
        entry.blocks.push_back(make_block(random, variable, rank, part.start, part.count));
    }
    sort_by_rank(entry);
}

void fill_local_array(Random& random, const RandomVariable& variable, int ranks, const RandomLimits& limits,
                      RandomEntry& entry)
{
    for (int rank = 0; rank < ranks; ++rank)
        for (std::uint64_t i = random.below(3); i > 0; --i)
            entry.blocks.push_back(make_block(
                random, variable, rank, {}, random_shape(random, variable.dimensions, limits.empty_blocks)));
}

void fill_joined_array(Random& random, const RandomVariable& variable, int ranks, const RandomLimits& limits,
                       RandomEntry& entry)
{
    entry.shape = random_shape(random, variable.dimensions, false);
    std::uint64_t length = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        for (std::uint64_t i = random.below(3); i > 0; --i) {
            Dims start(variable.dimensions, 0);
            Dims count = entry.shape;
            start[variable.joined] = length;
            count[variable.joined] = random.between(limits.empty_blocks && random.one_in(8) ? 0 : 1, 7);
            length += count[variable.joined];
            entry.blocks.push_back(make_block(random, variable, rank, start, count));
        }
    }
    entry.shape[variable.joined] = length;
}

void fill_value(Random& random, const RandomVariable& variable, int ranks, RandomEntry& entry)
{
    for (int rank = 0; rank < ranks; ++rank)
        if (!random.one_in(3)) entry.blocks.push_back(make_block(random, variable, rank, {}, {}));
}

RandomVariable random_variable(Random& random, std::size_t number)
{
    static const std::vector<ShapeKind> kinds = {ShapeKind::global_array, ShapeKind::global_array,
                                                 ShapeKind::global_value, ShapeKind::local_value,
                                                 ShapeKind::local_array,  ShapeKind::joined_array};
    RandomVariable variable{"v" + std::to_string(number), random.of(types), random.of(kinds), 0};
    if (variable.type == Type::string)
        variable.kind = random.one_in(2) ? ShapeKind::global_value : ShapeKind::local_value;
    if (variable.kind != ShapeKind::global_value && variable.kind != ShapeKind::local_value) {
        variable.dimensions = random.between(1, 4);
        variable.joined = random.below(variable.dimensions);
    }
    return variable;
}

// Calls visit(index) for every index of a box, the last dimension fastest.
template <class Visit>
void for_each_index(const Dims& count, Visit&& visit)
{
    if (element_count(count) == 0) return;
    Dims index(count.size(), 0);
    for (;;) {
        visit(index);
        std::size_t d = count.size();
        while (d > 0 && ++index[d - 1] == count[d - 1])
            index[--d] = 0;
        if (d == 0) return;
    }
}

std::uint64_t position(const Dims& index, const Dims& count, Order order)
{
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < count.size(); ++i) {
        const auto d = order == Order::row_major ? i : count.size() - 1 - i;
        at = at * count[d] + index[d];
    }
    return at;
}

} // namespace

std::size_t element_size(Type type)
{
    switch (type) {
    case Type::int8:
    case Type::uint8:
    case Type::string:
    case Type::character: return 1;
    case Type::int16:
    case Type::uint16: return 2;
    case Type::int32:
    case Type::uint32:
    case Type::float32: return 4;
    case Type::int64:
    case Type::uint64:
    case Type::float64:
    case Type::complex64: return 8;
    case Type::float128:
    case Type::complex128: return 16;
    case Type::structure: break; // not made here
    }
    return 0;
}

std::uint64_t element_count(const Dims& count)
{
    std::uint64_t product = 1;
    for (const auto extent : count)
        product *= extent;
    return product;
}

Box random_box(Random& random, const Dims& shape)
{
    Box box{Dims(shape.size(), 0), shape};
    if (random.one_in(5)) return box;
    const bool cell = random.one_in(5);
    const bool empty = random.one_in(15);
    for (std::size_t d = 0; d < shape.size(); ++d) {
        box.start[d] = random.below(shape[d]);
        box.count[d] = shape[d] == 0 ? 0 : cell ? 1 : random.between(empty ? 0 : 1, shape[d] - box.start[d]);
    }
    return box;
}

std::vector<std::byte> expected_box(const RandomStream& stream, const RandomEntry& entry, const Box& box,
                                    std::byte untouched)
{
    const auto size = element_size(stream.variables[entry.variable].type);
    std::vector<std::byte> memory(element_count(box.count) * size, untouched);
    for_each_index(box.count, [&](const Dims& index) {
        for (const auto& block : entry.blocks) {
            Dims inside(index.size());
            bool covered = true;
            for (std::size_t d = 0; d < index.size(); ++d) {
                const auto global = box.start[d] + index[d];
                covered = covered && global >= block.start[d] && global < block.start[d] + block.count[d];
                inside[d] = global - block.start[d];
            }
            if (covered)
                std::memcpy(memory.data() + position(index, box.count, stream.order) * size,
                            block.data.data() + position(inside, block.count, stream.order) * size, size);
        }
    });
    return memory;
}

std::vector<std::byte> expected_in_block(const RandomStream& stream, const RandomEntry& entry,
                                         std::size_t number, const Box& box)
{
    const auto size = element_size(stream.variables[entry.variable].type);
    const auto& block = entry.blocks[number];
    std::vector<std::byte> memory(element_count(box.count) * size);
    for_each_index(box.count, [&](const Dims& index) {
        Dims inside(index);
        for (std::size_t d = 0; d < index.size(); ++d)
            inside[d] += box.start[d];
        std::memcpy(memory.data() + position(index, box.count, stream.order) * size,
                    block.data.data() + position(inside, block.count, stream.order) * size, size);
    });
    return memory;
}

RandomStream make_random_stream(std::uint64_t seed, const RandomLimits& limits)
{
    Random random(seed);
    RandomStream stream;
    stream.seed = seed;
    stream.ranks = static_cast<int>(random.between(1, static_cast<std::uint64_t>(limits.most_ranks)));
    if (limits.column_major && random.one_in(3)) stream.order = Order::column_major;
    const auto variables = random.between(1, 12);
    for (std::size_t i = 0; i < variables; ++i)
        stream.variables.push_back(random_variable(random, i));
    std::map<std::string, std::string> attributes;
    for (auto step = random.between(1, 6); step > 0; --step) {
        auto& entries = stream.steps.emplace_back();
        for (std::size_t i = 0; i < variables; ++i) {
            if (random.one_in(4)) continue;
            RandomEntry entry{i, {}, {}};
            const auto& variable = stream.variables[i];
            switch (variable.kind) {
            case ShapeKind::global_array:
                fill_global_array(random, variable, stream.ranks, limits, entry);
                break;
            case ShapeKind::local_array:
                fill_local_array(random, variable, stream.ranks, limits, entry);
                break;
            case ShapeKind::joined_array:
                fill_joined_array(random, variable, stream.ranks, limits, entry);
                break;
            default: fill_value(random, variable, stream.ranks, entry);
            }
            if (!entry.blocks.empty()) entries.push_back(std::move(entry));
        }
        if (random.one_in(2))
            attributes["a" + std::to_string(random.below(4))] = "text " + std::to_string(random.below(99));
        stream.attributes.push_back(attributes);
    }
    return stream;
}

} // namespace stepstore::testing

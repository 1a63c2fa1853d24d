// A stream of steps made from a seed. Its variables have any type and shape, and are cut into blocks among
// ranks in any way. They come, go and change shape from step to step. A plain in-memory model says what a
// reader must get. The model uses nothing of what it checks: it finds an element by its index.
#pragma once

#include "steps/types.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

namespace stepstore::testing {

using steps::Dims;
using steps::Order;
using steps::ShapeKind;
using steps::Type;

// Fewer than n, from 0.
class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : engine_() % n; }
    std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <class T>
    const T& of(const std::vector<T>& choices)
    {
        return choices[below(choices.size())];
    }

private:
    std::mt19937_64 engine_; // the same on every machine, unlike the distributions
};

struct RandomVariable {
    std::string name;
    Type type;
    ShapeKind kind;
    std::size_t dimensions;
    std::size_t joined = 0; // which dimension
};

struct RandomBlock {
    int rank = 0;
    Dims start; // in the global box, also for joined arrays; empty for local arrays and values
    Dims count;
    std::vector<std::byte> data; // the elements, packed; of a string its text
    bool sync = false;
};

struct Box {
    Dims start, count;
};

// A variable in one step.
struct RandomEntry {
    std::size_t variable = 0;
    Dims shape;                      // empty for local arrays and values
    std::vector<RandomBlock> blocks; // by rank
};

struct RandomStream {
    std::uint64_t seed = 0;
    int ranks = 1;
    Order order = Order::row_major;
    std::vector<RandomVariable> variables;
    std::vector<std::vector<RandomEntry>> steps;
    std::vector<std::map<std::string, std::string>> attributes; // as they are in each step
};

struct RandomLimits {
    int most_ranks = 4;
    bool column_major = true;
    bool empty_blocks = true;
};
RandomStream make_random_stream(std::uint64_t seed, const RandomLimits& limits = {});
// A box within `shape`, now and then empty, one cell or all.
Box random_box(Random& random, const Dims& shape);

std::size_t element_size(Type type);
std::uint64_t element_count(const Dims& count);
// What a get of the box must give, starting from memory filled with `untouched`.
std::vector<std::byte> expected_box(const RandomStream& stream, const RandomEntry& entry, const Box& box,
                                    std::byte untouched);
std::vector<std::byte> expected_in_block(const RandomStream& stream, const RandomEntry& entry,
                                         std::size_t block, const Box& box);

} // namespace stepstore::testing

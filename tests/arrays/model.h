// Arrays whose every element says where it stands, decompositions at random, and what a box of one must hold.
#pragma once

#include "arrays/arrays.h"
#include "arrays/cover.h"
#include "support/location.h"
#include "support/thread_group.h"

#include <gtest/gtest.h>

#include <daos_errno.h>

#include <cstring>
#include <numeric>
#include <random>

namespace stepstore::arrays::testing {

using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

inline Numbers numbers(const Extents& extents, unsigned dimensions)
{
    return {extents.begin(), extents.begin() + dimensions};
}
inline Numbers backwards(Numbers numbers)
{
    std::ranges::reverse(numbers);
    return numbers;
}

// A number from 0 to n - 1.
inline unsigned below(std::mt19937& random, std::uint64_t n)
{
    return static_cast<unsigned>(random() % n);
}

// The whole of `shape` cut into `parts` boxes, some of which may be empty.
inline std::vector<Box> decomposition(const Extents& shape, unsigned dimensions, std::size_t parts,
                                      std::mt19937& random)
{
    std::vector<Box> boxes{{.start = {}, .count = shape}};
    while (boxes.size() < parts) {
        const std::size_t which = below(random, boxes.size());
        const unsigned d = below(random, dimensions);
        Box first = boxes[which];
        Box second = first;
        const std::uint64_t cut = below(random, first.count[d] + 1);
        first.count[d] = cut;
        second.start[d] += cut;
        second.count[d] -= cut;
        boxes[which] = first;
        boxes.push_back(second);
    }
    std::ranges::shuffle(boxes, random);
    return boxes;
}

inline Box random_box(const Extents& shape, unsigned dimensions, std::mt19937& random)
{
    Box box;
    for (unsigned d = 0; d < dimensions; ++d) {
        box.start[d] = below(random, shape[d]);
        box.count[d] = 1 + below(random, shape[d] - box.start[d]);
    }
    return box;
}

// An element at a row-major position: its bytes differ from those of all others, and by `version`.
inline void fill_element(std::byte* to, std::uint64_t size, std::uint64_t at, std::uint64_t version)
{
    const std::uint64_t value = at * 0x9E3779B97F4A7C15U + version;
    for (std::uint64_t i = 0; i < size; ++i)
        to[i] = static_cast<std::byte>(value >> (i % 8 * 8));
}

// What the memory of a box holds, contiguous, in either order.
inline std::vector<std::byte> content(const Extents& shape, const Box& box, unsigned dimensions,
                                      std::uint64_t size, Order order, std::uint64_t version = 0)
{
    std::vector<std::byte> bytes(volume(box.count, dimensions) * size);
    Extents at{};
    for (std::uint64_t i = 0; i * size < bytes.size(); ++i) {
        std::uint64_t position = 0;
        for (unsigned d = 0; d < dimensions; ++d)
            position = position * shape[d] + box.start[d] + at[d];
        fill_element(bytes.data() + i * size, size, position, version);
        for (unsigned j = 0; j < dimensions; ++j) { // the fastest dimension of the order first
            const unsigned d = order == Order::row_major ? dimensions - 1 - j : j;
            if (++at[d] < box.count[d]) break;
            at[d] = 0;
        }
    }
    return bytes;
}

// Expects an error of this code, whose text has all of `parts` in it.
template <class Work>
void expect_error(int code, const std::vector<std::string>& parts, Work work)
{
    try {
        work();
        ADD_FAILURE() << "no error, expected " << code << " with '" << (parts.empty() ? "" : parts[0]) << "'";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        for (const std::string& part : parts)
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
                << "'" << part << "' is not in: " << error.what();
    }
}

class ArraysTest : public ::testing::Test {
protected:
    TemporaryDirectory directory;
    std::string location = stepstore::testing::new_pool(directory);

    std::unique_ptr<Store> open(Mode mode, const OpenOptions& options = {}) const
    {
        return std::make_unique<Store>(location, mode, self_communicator(), options);
    }
    // A vector of numbers, by one rank.
    void write_vector(Store& store, const std::string& name, const std::vector<double>& values) const
    {
        store.write({.name = name,
                     .type = {Kind::real64},
                     .shape = {static_cast<std::int64_t>(values.size())},
                     .data = values.data()});
    }
    std::vector<double> read_vector(Store& store, const std::string& name) const
    {
        std::vector<double> values(store.inquire(name).shape.at(0));
        store.read({.name = name, .type = {Kind::real64}, .dimensions = 1, .data = values.data()});
        return values;
    }
};

} // namespace stepstore::arrays::testing

// The metadata of the experiment: how large each rank's is, and what it holds.
// Threads: MetadataSizes may be shared, a MetadataText is for one. Errors: std::runtime_error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::bench {

// How many bytes each rank writes in each step. The same text gives the same sizes, on every rank.
class MetadataSizes {
public:
    static constexpr std::uint64_t least_size = 16; // the mark
    static constexpr std::uint64_t most_size = std::uint64_t{64} << 20;

    // SIZE: all alike. LEAST..MOST: spread evenly between them. @FILE: a size in each line, taken in turn,
    // rank after rank and step after step; so as many lines as ranks give each rank a size of its own. Sizes
    // take k and M. Throws std::runtime_error, one line, for anything else.
    explicit MetadataSizes(const std::string& text);

    std::uint64_t at(std::uint64_t step, std::uint32_t rank, std::uint32_t ranks) const;
    std::uint64_t most() const { return most_; }
    double mean() const;

private:
    std::uint64_t least_ = 0, most_ = 0;
    std::vector<std::uint64_t> listed_;
};

// Text of any size that differs from rank to rank and from step to step, and does not compress well. For one
// thread.
class MetadataText {
public:
    explicit MetadataText(std::uint64_t most);
    // Valid until the next call.
    std::string_view text(std::uint64_t step, std::uint32_t rank, std::uint64_t size);

private:
    static std::shared_ptr<const std::string> source(std::uint64_t bytes);
    std::shared_ptr<const std::string> source_;
    std::string text_;
};

} // namespace stepstore::bench

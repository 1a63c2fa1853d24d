#include "layouts/metadata.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <stdexcept>

namespace stepstore::bench {

namespace {

constexpr std::uint64_t turned =
    4096; // a rank's metadata begins by so many bytes at most later in the source

// A number that its argument decides, and that looks like chance.
std::uint64_t scattered(std::uint64_t value)
{
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

[[noreturn]] void refuse(const std::string& text)
{
    throw std::runtime_error("'" + text + "' is no size of metadata: give bytes from " +
                             std::to_string(MetadataSizes::least_size) + " to " +
                             std::to_string(MetadataSizes::most_size >> 20) + "M, also with k or M");
}

std::uint64_t size_of(const std::string& text)
{
    std::uint64_t size = 0;
    const char* const last = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), last, size);
    const bool unit = error == std::errc{} && end + 1 == last && (*end == 'k' || *end == 'M');
    if (error != std::errc{} || (end != last && !unit) || size > MetadataSizes::most_size) refuse(text);
    if (unit) size <<= *end == 'k' ? 10 : 20;
    if (size < MetadataSizes::least_size || size > MetadataSizes::most_size) refuse(text);
    return size;
}

std::vector<std::uint64_t> sizes_in(const std::string& file)
{
    std::ifstream from(file);
    if (!from) throw std::runtime_error("cannot read the sizes of metadata from " + file);
    std::vector<std::uint64_t> sizes;
    for (std::string word; from >> word;)
        sizes.push_back(size_of(word));
    if (sizes.empty()) throw std::runtime_error(file + " has no size of metadata: give one in each line");
    return sizes;
}

} // namespace

MetadataSizes::MetadataSizes(const std::string& text)
{
    const std::size_t dots = text.find("..");
    if (text.starts_with("@")) {
        listed_ = sizes_in(text.substr(1));
        least_ = std::ranges::min(listed_);
        most_ = std::ranges::max(listed_);
    } else if (dots != std::string::npos) {
        least_ = size_of(text.substr(0, dots));
        most_ = size_of(text.substr(dots + 2));
        if (most_ < least_) throw std::runtime_error("'" + text + "': give the smaller size first");
    } else {
        least_ = most_ = size_of(text);
    }
}

std::uint64_t MetadataSizes::at(std::uint64_t step, std::uint32_t rank, std::uint32_t ranks) const
{
    const std::uint64_t number = step * ranks + rank;
    if (!listed_.empty()) return listed_[number % listed_.size()];
    return least_ + scattered(number) % (most_ - least_ + 1);
}

double MetadataSizes::mean() const
{
    if (listed_.empty()) return static_cast<double>(least_ + most_) / 2;
    return static_cast<double>(std::accumulate(listed_.begin(), listed_.end(), std::uint64_t{0})) /
           static_cast<double>(listed_.size());
}

// The same for all: the ranks of a simulation are in one process.
std::shared_ptr<const std::string> MetadataText::source(std::uint64_t bytes)
{
    static std::weak_ptr<const std::string> last;
    auto there = last.lock();
    if (there && there->size() >= bytes) return there;
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < text.size(); ++i)
        text[i] = static_cast<char>('0' + scattered(i) % 64);
    there = std::make_shared<const std::string>(std::move(text));
    last = there;
    return there;
}

MetadataText::MetadataText(std::uint64_t most) : source_(source(most + turned))
{
    text_.reserve(most);
}

std::string_view MetadataText::text(std::uint64_t step, std::uint32_t rank, std::uint64_t size)
{
    text_.assign(*source_, scattered(rank + step * 64) % turned, size);
    char mark[MetadataSizes::least_size + 1];
    std::snprintf(mark, sizeof mark, "%010llx%06x", static_cast<unsigned long long>(step & 0xffffffffff),
                  rank & 0xffffff);
    text_.replace(0, MetadataSizes::least_size, mark, MetadataSizes::least_size);
    return text_;
}

} // namespace stepstore::bench

#include "damage/index_pages.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

namespace stepstore::testing {

namespace {

constexpr std::uint16_t branch_flag = 1, big_value_flag = 1;

class Pages {
public:
    explicit Pages(std::string content)
        : content_(std::move(content)), kinds_(content_.size() / index_page_size)
    {
        if (kinds_.size() < 2) return;
        kinds_[0] = kinds_[1] = PageKind::meta;
        const std::size_t newest =
            at<std::uint64_t>(144) >= at<std::uint64_t>(index_page_size + 144) ? 0 : index_page_size;
        walk(at<std::uint64_t>(newest + 80), true);
        walk(at<std::uint64_t>(newest + 128), false);
    }
    std::vector<PageKind> kinds() && { return std::move(kinds_); }

private:
    template <class T>
    T at(std::size_t offset) const
    {
        T value;
        std::memcpy(&value, content_.data() + offset, sizeof value);
        return value;
    }
    void walk(std::uint64_t page, bool free_list)
    {
        if (page >= kinds_.size()) return;
        const std::size_t begin = page * index_page_size;
        const bool branch = (at<std::uint16_t>(begin + 10) & branch_flag) != 0;
        kinds_[page] = free_list ? PageKind::free_list : branch ? PageKind::branch : PageKind::leaf;
        const std::size_t slots = (at<std::uint16_t>(begin + 12) - 16U) / 2;
        for (std::size_t slot = 0; slot < slots; ++slot) {
            const std::size_t node = begin + at<std::uint16_t>(begin + 16 + 2 * slot);
            const std::uint32_t low = at<std::uint32_t>(node);
            const std::uint16_t flags = at<std::uint16_t>(node + 4);
            if (branch) {
                walk(low | std::uint64_t{flags} << 32, free_list);
            } else if ((flags & big_value_flag) != 0) {
                const auto first = at<std::uint64_t>(node + 8 + at<std::uint16_t>(node + 6));
                for (std::size_t i = 0; i < (low + 16 + index_page_size - 1) / index_page_size; ++i)
                    if (first + i < kinds_.size()) kinds_[first + i] = PageKind::large_value;
            }
        }
    }

    std::string content_;
    std::vector<PageKind> kinds_;
};

} // namespace

std::vector<PageKind> page_kinds(const std::string& file)
{
    std::ifstream in(file, std::ios::binary);
    return Pages(std::string(std::istreambuf_iterator<char>(in), {})).kinds();
}

} // namespace stepstore::testing

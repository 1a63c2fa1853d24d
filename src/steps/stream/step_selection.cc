#include "steps/stream/step_selection.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>
#include <charconv>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t no_end = UINT64_MAX;

[[noreturn]] void refuse(std::string_view text, const std::string& why)
{
    throw Error(-DER_INVAL,
                "SelectSteps='" + std::string(text) + "' " + why +
                    ": give ranges first:last:stride, separated by spaces, such as '0 6 3 2', '1:5', '2:n' "
                    "or '0:n:3 10:n:5'");
}

} // namespace

StepSelection::StepSelection(std::string_view text) : text_(text)
{
    const auto number = [&](std::string_view part) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (error != std::errc{} || end != part.data() + part.size() || value == no_end)
            refuse(text, "has '" + std::string(part) + "' in place of a step's number");
        return value;
    };
    std::size_t at = 0;
    while ((at = text.find_first_not_of(' ', at)) != std::string_view::npos) {
        const std::string_view item = text.substr(at, text.find(' ', at) - at);
        at += item.size();
        std::vector<std::string_view> parts;
        for (std::size_t begin = 0; begin <= item.size();) {
            const std::size_t end = std::min(item.find(':', begin), item.size());
            parts.push_back(item.substr(begin, end - begin));
            begin = end + 1;
        }
        if (parts.size() > 3)
            refuse(text, "has a range of more than three parts, '" + std::string(item) + "'");
        Range range{number(parts[0]), 0, 1};
        range.last = parts.size() < 2                     ? range.first
                     : parts[1] == "n" || parts[1] == "N" ? no_end
                                                          : number(parts[1]);
        if (parts.size() == 3) range.stride = number(parts[2]);
        if (range.stride == 0) refuse(text, "has a stride of 0, in '" + std::string(item) + "'");
        if (range.last < range.first)
            refuse(text, "has a range that ends before it begins, '" + std::string(item) + "'");
        last_ = std::max(last_, range.last);
        ranges_.push_back(range);
    }
}

bool StepSelection::has(std::uint64_t step) const
{
    return ranges_.empty() || std::ranges::any_of(ranges_, [&](const Range& one) {
               return step >= one.first && step <= one.last && (step - one.first) % one.stride == 0;
           });
}

void StepSelection::look_up_to(std::uint64_t step) const
{
    for (; looked_ < step && looked_ <= last_; ++looked_)
        if (has(looked_)) chosen_.push_back(looked_);
}

std::uint64_t StepSelection::count(std::uint64_t steps) const
{
    if (all()) return steps;
    look_up_to(steps);
    return static_cast<std::uint64_t>(std::ranges::lower_bound(chosen_, steps) - chosen_.begin());
}

std::uint64_t StepSelection::step(std::uint64_t shown) const
{
    if (all()) return shown;
    return shown < chosen_.size() ? chosen_[shown] : no_end;
}

} // namespace stepstore::steps

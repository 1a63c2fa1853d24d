// Which steps of a stream a reader shows: ADIOS2's BP5's SelectSteps.
// Threads: one at a time, since it remembers what it counted. Errors: -DER_INVAL of the constructor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

// "0 6 3 2", "1:5", "2:n", "0:n:2", "0:n:3 10:n:5": ranges first:last:stride. The last step belongs to the
// range, and n means without end. Ranges add up. Steps are shown in their order, counted from 0. Nothing: all
// steps.
class StepSelection {
public:
    StepSelection() = default;
    explicit StepSelection(std::string_view text); // -DER_INVAL, naming SelectSteps, for anything else

    bool all() const { return ranges_.empty(); }
    bool has(std::uint64_t step) const;
    // How many of the first `steps` steps are shown.
    std::uint64_t count(std::uint64_t steps) const;
    // The number in the stream of the step that is shown as `shown`; UINT64_MAX: there is none.
    std::uint64_t step(std::uint64_t shown) const;
    // As what a step of the stream is shown: how many before it are.
    std::uint64_t shown(std::uint64_t step) const { return count(step); }
    const std::string& text() const { return text_; }

private:
    struct Range {
        std::uint64_t first, last, stride;
    };
    void look_up_to(std::uint64_t step) const;

    std::string text_;
    std::vector<Range> ranges_;
    std::uint64_t last_ = 0;                    // no later step is selected
    mutable std::vector<std::uint64_t> chosen_; // of the steps before looked_
    mutable std::uint64_t looked_ = 0;
};

} // namespace stepstore::steps

// A pool that is damaged, what is asked of it, and what is changed in it: all through the public client.
#pragma once

#include "stepstore/client.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::testing {

inline constexpr unsigned shapes = 3; // of pools

// What a shape is made of, and the epochs of its snapshots.
struct Reference {
    unsigned shape = 0;
    std::uint64_t first = 0, second = 0;
    unsigned keys() const { return shape == 1 ? 1600 : 250; } // 1,600 on one target: an index of three levels
    unsigned targets() const { return shape == 2 ? 3 : 1; }
};

// Makes the pool at `path` and closes it.
Reference make_pool(const std::string& path, unsigned shape);

// The answer where an error reports damage.
inline const std::string error_answer = "error";

// A pool as one process has it open, as far as it can be opened.
class OpenedPool {
public:
    OpenedPool(const std::string& path, const Reference& reference);
    // One answer to each question, always the same questions in the same order.
    std::vector<std::string> answers();
    // Updates of both containers. How many of them gave an error.
    int update();

    struct Question {
        std::string name;
        bool of_one_record; // else an update that failed leaves it half changed
    };
    const std::vector<Question>& questions() const { return questions_; } // of the last answers()

private:
    Pool& opened_pool();
    Container& opened_container();
    void ask(const std::string& name, bool of_one_record, const std::function<std::string()>& question);
    void ask_at(const std::string& at, const std::function<Container()>& container);
    void ask_stream();

    std::string path_;
    Reference reference_;
    std::optional<Pool> pool_;
    std::optional<Container> container_;
    std::vector<Question> questions_;
    std::vector<std::string> answers_;
};

} // namespace stepstore::testing

// What a process remembers of a target between updates. It may be out of date, which does no harm: an update
// that relies on it has it verified by the cluster, and is refused where it does not hold.
// Threads: any. Errors: none.
#pragma once

#include "store/rados/index.h"

#include <array>
#include <atomic>
#include <mutex>

namespace stepstore::store::rados {

// Epochs of this process: of the real-time clock, and greater than all that it gave or saw.
class Clock {
public:
    static Epoch next(Epoch at_least = 0);
    static void saw(Epoch epoch);
    static Epoch now(); // as next(), but gives none

private:
    static std::atomic<Epoch> last_;
};

class Remembered : NotCopied {
public:
    // False: nothing is remembered of it.
    bool recall(const std::string& key, Raw& raw);
    void remember(const std::string& key, const Raw& raw);

    // All entries of a scope, and its guard then.
    struct Scope {
        Raw guard;
        std::map<std::string, Raw> entries;
    };
    bool recall_scope(const std::string& scope, Scope& found);
    void remember_scope(const std::string& scope, Scope known);
    void forget_scope(const std::string& scope);

    // Whether an update may suppose that a key or scope of which it knows nothing is not there. Where that
    // was wrong lately, it looks first.
    bool may_guess(const std::string& key);
    void guessed_wrong(const std::string& key);

    // The epoch up to which updates need not raise the target's limit.
    std::atomic<Epoch> limit{0};

private:
    std::atomic<std::uint8_t>& score(const std::string& key);

    std::mutex guard_; // guards the next three
    std::map<std::string, Raw> cells_;
    std::map<std::string, Scope> scopes_;
    std::size_t bytes_ = 0;
    std::array<std::atomic<std::uint8_t>, 1024> scores_{};
};

} // namespace stepstore::store::rados

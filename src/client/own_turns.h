// Turns that a process took and does not hold any more, so that it knows its own again. A turn is an entry in
// a store that names its process, and a random number that no other turn has. If the call that put or removed
// it is in doubt (in_doubt.h), the entry may be there, or come, and nobody holds it. Its process lives, so
// others wait. The process itself need not.
#pragma once

#include "base/own_state.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <set>

namespace stepstore {

template <OwnState kind>
class OwnTurn {
public:
    OwnTurn()
    {
        std::random_device device;
        number_ = (std::uint64_t{device()} << 32 | device()) >> 2;
    }
    ~OwnTurn()
    {
        if (!may_be_there_) return;
        Turns& left = all();
        const std::lock_guard lock(left.guard);
        left.numbers.insert(number_);
    }
    OwnTurn(const OwnTurn&) = delete;
    OwnTurn& operator=(const OwnTurn&) = delete;

    std::uint64_t number() const { return number_; }
    void is_put() { may_be_there_ = true; }   // before the call
    void is_gone() { may_be_there_ = false; } // after one that succeeded
    // Of an entry that names this process: nobody holds it.
    static bool is_left_over(std::uint64_t number)
    {
        Turns& left = all();
        const std::lock_guard lock(left.guard);
        return left.numbers.contains(number);
    }

private:
    struct Turns {
        std::mutex guard; // of `kind`: guards numbers
        std::set<std::uint64_t> numbers;
    };
    static Turns& all()
    {
        static auto* const turns = new PerProcess<kind, Turns>([] { return std::make_unique<Turns>(); });
        return **turns; // never destroyed: turns end at any time
    }

    std::uint64_t number_;
    bool may_be_there_ = false;
};

} // namespace stepstore

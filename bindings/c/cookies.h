// Handles of a C interface: numbers that are never given out twice, so a stale or foreign one is refused.
// Threads: any, under ForkLock::handles. Errors: -DER_NO_HDL.
#pragma once

#include "base/fork.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace stepstore {

template <class T>
class Cookies {
public:
    // kind: in each number, so that no two tables share one. what: for messages.
    Cookies(std::uint8_t kind, const char* what) : next_((std::uint64_t{kind} << 56) + 1), what_(what) {}

    std::uint64_t insert(std::shared_ptr<T> one)
    {
        const std::lock_guard lock(held_over_fork(ForkLock::handles));
        open_.emplace(next_, std::move(one));
        return next_++;
    }
    // -DER_NO_HDL: it is not open.
    std::shared_ptr<T> get(std::uint64_t cookie)
    {
        const std::lock_guard lock(held_over_fork(ForkLock::handles));
        return find(cookie)->second;
    }
    std::shared_ptr<T> take(std::uint64_t cookie)
    {
        const std::lock_guard lock(held_over_fork(ForkLock::handles));
        const auto found = find(cookie);
        std::shared_ptr<T> one = std::move(found->second);
        open_.erase(found);
        return one;
    }

private:
    auto find(std::uint64_t cookie)
    {
        const auto found = open_.find(cookie);
        if (found == open_.end())
            throw Error(-DER_NO_HDL, "the handle " + std::to_string(cookie) + " is not " + what_ +
                                         ": it was closed, or never opened");
        return found;
    }

    // All guarded by ForkLock::handles.
    std::unordered_map<std::uint64_t, std::shared_ptr<T>> open_;
    std::uint64_t next_;
    const char* what_;
};

} // namespace stepstore

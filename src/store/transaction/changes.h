// What a transaction is going to put and erase on one target, in the order of the keys, with a way back.
// Threads: of one call at a time. Errors: std::bad_alloc.
#pragma once

#include "base/not_copied.h"
#include "store/backend.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace stepstore::store {

using OwnedBytes = std::vector<std::byte>;
inline OwnedBytes owned(Bytes bytes)
{
    return {bytes.begin(), bytes.end()};
}
struct LessBytes {
    using is_transparent = void;
    bool operator()(Bytes a, Bytes b) const { return std::ranges::lexicographical_compare(a, b); }
};

class Changes : NotCopied {
public:
    using Value = std::optional<OwnedBytes>; // nullopt: erased
    using All = std::map<OwnedBytes, Value, LessBytes>;

    // The caller fills what this returns before the next call.
    MutableBytes put(Bytes key, std::size_t length) { return set(key, OwnedBytes(length)).emplace(length); }
    void erase(Bytes key) { set(key, std::nullopt).reset(); }
    const Value* find(Bytes key) const
    {
        const auto found = all_.find(key);
        return found == all_.end() ? nullptr : &found->second;
    }
    const All& all() const { return all_; }
    std::uint64_t bytes() const { return bytes_; }

    // All that was changed since a mark is taken back. Marks of a run lie within those of its operation.
    std::size_t mark() const { return journal_.size(); }
    void take_back(std::size_t mark)
    {
        for (; journal_.size() > mark; journal_.pop_back()) {
            auto& [key, before] = journal_.back();
            const auto found = all_.find(key);
            bytes_ -= size_of(found->first, found->second);
            if (!before) {
                all_.erase(found);
                continue;
            }
            found->second = std::move(*before);
            bytes_ += size_of(found->first, found->second);
        }
    }
    void keep() { journal_.clear(); } // no way back any more
    void clear()
    {
        all_.clear();
        journal_.clear();
        bytes_ = 0;
    }

private:
    static std::uint64_t size_of(const OwnedBytes& key, const Value& value)
    {
        return key.size() + (value ? value->size() : 0);
    }
    Value& set(Bytes given, Value value)
    {
        OwnedBytes key = owned(given); // it may lie in what is replaced
        const auto [at, is_new] = all_.try_emplace(key);
        if (!is_new) bytes_ -= size_of(at->first, at->second);
        journal_.emplace_back(std::move(key),
                              is_new ? std::optional<Value>() : std::optional(std::move(at->second)));
        at->second = std::move(value);
        bytes_ += size_of(at->first, at->second);
        return at->second;
    }

    All all_;
    std::vector<std::pair<OwnedBytes, std::optional<Value>>> journal_;
    std::uint64_t bytes_ = 0;
};

} // namespace stepstore::store

// The contents of large values that a simulation does not keep. Of each it keeps the length and a mark, the
// bytes that it begins with. Who wrote it can make the rest from the mark.
// Threads: the actors of the simulation, of which one runs at a time. Errors: none; nullptr for a value that
// is not kept.
#pragma once

#include "stepstore/client.h"

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace stepstore::sim {

class Contents {
public:
    using Mark = std::array<std::byte, 16>;
    struct Value {
        std::uint64_t length = 0;
        Mark mark{};
    };
    static Mark mark_of(const void* bytes)
    {
        Mark mark;
        std::memcpy(mark.data(), bytes, mark.size());
        return mark;
    }

    // From now on values of at least so many bytes that begin an array object are kept so.
    void keep_marks(std::uint64_t from) { from_ = from; }
    bool takes(std::uint64_t first, std::uint64_t bytes) const
    {
        return first == 0 && bytes >= std::max<std::uint64_t>(from_, sizeof(Mark)) && from_ != 0;
    }
    void put(std::uint64_t container, const ObjectId& object, const Value& value)
    {
        values_.insert_or_assign({container, object}, value);
    }
    const Value* find(std::uint64_t container, const ObjectId& object) const
    {
        const auto found = values_.find({container, object});
        return found == values_.end() ? nullptr : &found->second;
    }

private:
    std::uint64_t from_ = 0; // 0: none are
    std::map<std::pair<std::uint64_t, ObjectId>, Value> values_;
};

} // namespace stepstore::sim

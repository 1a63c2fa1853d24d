// Objects in general: values under a dkey and an akey.
//
// The value of a single akey is a record of the object's key-value records (akey_key.h). For an array that
// record holds its description: the size of its records, and the number of a chunk. Its extents lie in that
// chunk as those of an array object do (array/array.h). A chunk belongs to one array for ever, so an array
// that is removed and made again has another one. All of a dkey lies on the targets of the dkey's group, and
// so an update or a fetch is one transaction there.
//
// Removing an array takes the description away, and with it as many extents as one transaction takes. What
// is left of them follows. Nothing leads to them any more, so readers never meet a part of an array. Where
// the process dies in between, a check finds them, and removes them with repair.
//
// Threads: of one call. Errors: those of store.h.
#pragma once

#include "store/akey_key.h"
#include "store/array/array.h"
#include "store/key_value/list.h"
#include "store/key_value/place.h"
#include "store/store.h"

#include <list>
#include <optional>
#include <utility>

namespace stepstore::store {

// What lies under the akey of an array.
struct ArrayDescription {
    std::uint64_t record_size = 0; // bytes
    std::uint64_t chunk = 0;       // at most INT64_MAX
    friend bool operator==(const ArrayDescription&, const ArrayDescription&) = default;
};
inline constexpr std::size_t description_size = 16;
std::array<std::byte, description_size> encoded(const ArrayDescription& description);
// nullptr: it is one. Else what is wrong with the record.
const char* parse_description(const Record& record, ArrayDescription& description);

// An akey of a dkey, on its targets.
struct AkeyPlace : NotCopied {
    AkeyPlace(const ObjectAccess& object, Bytes dkey, Bytes akey, AkeyType type)
        : key(dkey, akey, type), place(object, key, object.placement.group_of(dkey))
    {
    }
    AkeyKey key;
    KeyPlace place;
};

// All keys of a dkey.
inline Walked of_dkey(const DkeyBeginning& beginning, unsigned group)
{
    return {.prefix = beginning.whole(), .place = beginning.stored(), .group = group};
}

// What a call is about, mostly one akey, which then takes no allocation. They stay where they are.
template <class T>
class Few : NotCopied {
public:
    template <class... Arguments>
    void add(Arguments&&... arguments)
    {
        if (!first_)
            first_.emplace(std::forward<Arguments>(arguments)...);
        else
            others_.emplace_back(std::forward<Arguments>(arguments)...);
    }
    void for_each(FunctionRef<void(T&)> each)
    {
        if (first_) each(*first_);
        for (T& one : others_)
            each(one);
    }

private:
    std::optional<T> first_;
    std::list<T> others_;
};

// An array's shape: records of this size, in one chunk that no range leaves. DER_OVERFLOW.
ArrayShape shape_of_records(const ObjectAccess& object, std::uint64_t record_size,
                            std::span<const Range> ranges);

} // namespace stepstore::store

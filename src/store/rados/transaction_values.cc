// What a body sees of a value: it lies in the index, or spilled, in an extent.
#include "store/rados/transaction.h"

#include <algorithm>

namespace stepstore::store::rados {

// The spilled value that the body needs now, and those that it will need as far as that is known. These are
// the keys that it has named. In a walk they are what follows, and more of that each time.
std::vector<SpilledValue> Transaction::to_read(const ExtentRef& extent, const std::string& key, bool walks)
{
    constexpr std::uint64_t most_bytes = 16 << 20; // besides the first
    constexpr std::size_t most_ahead = 256;
    std::vector<SpilledValue> values{{extent}};
    std::uint64_t bytes = 0;
    const auto add = [&](const Raw& raw) {
        const ExtentRef other = spilled_extent(raw);
        const bool is_new = other.length != 0 && !spilled_.contains({other.file, other.offset});
        bytes += is_new ? other.length : 0;
        if (is_new && bytes <= most_bytes) values.push_back({other});
        return bytes < most_bytes;
    };
    if (walks) {
        ahead_ = key > last_walked_ ? std::min(2 * ahead_ + 1, most_ahead) : 0;
        last_walked_ = key;
        auto at = cells_.upper_bound(key);
        for (std::size_t left = ahead_; left != 0 && at != cells_.end(); ++at, --left)
            if (at->first >= position_span_.end || !add(at->second.raw)) break;
        return values;
    }
    const auto add_asked = [&](auto from, auto to) {
        for (; from != to; ++from)
            if (const auto found = cells_.find(*from); *from != key && found != cells_.end())
                if (!add(found->second.raw)) return false;
        return true;
    };
    const auto after = asked_.upper_bound(key);
    if (add_asked(after, asked_.end())) add_asked(asked_.begin(), after);
    return values;
}

// Of what was read at this version; 0: it is remembered.
Bytes Transaction::value_of(const Raw& raw, std::uint64_t version, const std::string& key, bool walks)
{
    const Bytes all = as_bytes(*kept_.emplace_back(raw)); // the cell may be read anew meanwhile
    if (all.size() < header_size) return {};              // damaged, as one that is lost
    if (!is_spilled(raw)) return all.subspan(header_size);
    const ExtentRef extent = spilled_extent(raw);
    const std::pair place(extent.file, extent.offset);
    if (const auto found = spilled_.find(place); found != spilled_.end()) return as_bytes(found->second);
    bool lost = extent.length == 0;
    if (!lost) {
        std::vector<SpilledValue> values = to_read(extent, key, walks);
        extents_.read_spilled(values);
        lost = values[0].lost;
        // Others that are gone may have been replaced, and may never be asked for.
        for (SpilledValue& one : values)
            if (!one.lost)
                spilled_.emplace(std::pair(one.extent.file, one.extent.offset), std::move(one.bytes));
    }
    if (lost && (version == 0 || !lost_twice_(extent))) throw Again{this};
    return as_bytes(spilled_[place]);
}

ExtentRef Transaction::value_extent() const
{
    if (!placed_ || changes_.contains(position_)) return {};
    const auto found = cells_.find(position_);
    return found == cells_.end() ? ExtentRef{} : spilled_extent(found->second.raw);
}

} // namespace stepstore::store::rados

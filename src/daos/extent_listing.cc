#include "daos/extent_listing.h"

#include <algorithm>
#include <cstring>

namespace stepstore::daos {
namespace {

constexpr std::uint64_t end_of_arrays = std::uint64_t{1} << 63; // in records; no index is above it

// The last `count` extents before record `end`, ascending; fewer if there are no more. The store lists
// extents ascending only. So this looks for a beginning after which there are a few more than wanted. Each
// look reads a number of extents that `count` bounds, and there are at most 64.
std::vector<store::StoredExtent> last_before(const StoredArray& array, std::uint64_t end, std::size_t count,
                                             std::uint64_t& record_size)
{
    std::size_t most = 2 * count + 32;
    std::vector<store::StoredExtent> found;
    std::uint64_t begin = 0;      // after which there are too many
    std::uint64_t too_late = end; // after which there are too few
    for (std::uint64_t from = 0;;) {
        found.clear();
        record_size = array.list({from, end - from}, [&](const store::StoredExtent& extent) {
            found.push_back(extent);
            return found.size() <= most;
        });
        // The first may begin before `from`. Then it is not among the last ones.
        if (found.size() <= most && (found.size() > count || from == 0)) break;
        (found.size() > most ? begin : too_late) = from;
        if (too_late - begin < 2) { // others change the array meanwhile
            begin = 0;
            most = SIZE_MAX;
        }
        from = most == SIZE_MAX ? 0 : begin + (too_late - begin) / 2;
    }
    if (found.size() > count) found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(count));
    return found;
}

// In da_buf: the record at which the listing goes on, or before which; 8 bytes, little-endian.
std::uint64_t place_in(const daos_anchor_t& anchor)
{
    std::array<std::byte, 8> bytes;
    std::memcpy(bytes.data(), anchor.da_buf, bytes.size());
    const auto at = load_little<std::uint64_t>(bytes.data());
    if (anchor.da_type != DAOS_ANCHOR_TYPE_KEY || at > end_of_arrays)
        invalid("the anchor does not belong to a listing of records: set it to zeroes to begin one");
    return at;
}

void keep_place(std::uint64_t at, bool done, daos_anchor_t& anchor)
{
    std::array<std::byte, 8> bytes;
    store_little(bytes.data(), at);
    std::memcpy(anchor.da_buf, bytes.data(), bytes.size());
    anchor.da_type = done ? DAOS_ANCHOR_TYPE_EOF : DAOS_ANCHOR_TYPE_KEY;
}

// What was listed, in the caller's memory.
class Entries {
public:
    Entries(std::uint32_t room, daos_recx_t* recxs, daos_epoch_range_t* eprs)
        : room_(room), recxs_(recxs), eprs_(eprs)
    {
    }

    bool append(const store::StoredExtent& extent)
    {
        if (count_ == room_) return false;
        recxs_[count_] = {extent.records.index, extent.records.length};
        if (eprs_) eprs_[count_] = {.epr_lo = extent.birth, .epr_hi = DAOS_EPOCH_MAX};
        ++count_;
        return true;
    }
    std::uint32_t count() const { return count_; }
    daos_recx_t& last() { return recxs_[count_ - 1]; }

private:
    std::uint32_t room_;
    std::uint32_t count_ = 0;
    daos_recx_t* recxs_;
    daos_epoch_range_t* eprs_;
};

} // namespace

std::uint64_t StoredArray::list(const store::Range& within,
                                FunctionRef<bool(const store::StoredExtent&)> each) const
{
    return object.run(epoch, [&](store::Container& in) {
        return in.extent_list(object.oid(), dkey, akey, within, each, epoch);
    });
}

std::optional<store::Range> StoredArray::first() const
{
    std::optional<store::Range> found;
    list({0, end_of_arrays}, [&](const store::StoredExtent& extent) {
        found = extent.records;
        return false;
    });
    return found;
}

std::optional<store::Range> StoredArray::last() const
{
    std::uint64_t record_size = 0;
    const auto found = last_before(*this, end_of_arrays, 1, record_size);
    return found.empty() ? std::nullopt : std::optional(found.back().records);
}

void require_extent_listing(const std::uint32_t* nr, const daos_recx_t* recxs, const daos_anchor_t* anchor)
{
    require(nr, "nr");
    require(recxs, "recxs");
    require(anchor, "anchor");
    if (*nr == 0) invalid("the call has no room for a range of records: give room for at least one");
}

void list_extents(const StoredArray& array, bool ascending, daos_size_t* size, std::uint32_t* nr,
                  daos_recx_t* recxs, daos_epoch_range_t* eprs, daos_anchor_t* anchor)
{
    const std::uint32_t room = *nr;
    const bool begins = anchor->da_type == DAOS_ANCHOR_TYPE_ZERO;
    if (anchor->da_type == DAOS_ANCHOR_TYPE_EOF) {
        *nr = 0;
        return;
    }
    const std::uint64_t at = begins ? (ascending ? 0 : end_of_arrays) : place_in(*anchor);
    Entries entries(room, recxs, eprs);
    std::uint64_t record_size = 0;
    if (ascending) {
        bool more = false;
        record_size = array.list({at, end_of_arrays - at}, [&](const store::StoredExtent& extent) {
            more = !entries.append(extent);
            return !more;
        });
        const std::uint64_t next = entries.count() > 0 ? entries.last().rx_idx + entries.last().rx_nr : at;
        keep_place(next, !more, *anchor);
    } else {
        auto found = last_before(array, at, room, record_size);
        std::ranges::reverse(found);
        for (const auto& extent : found)
            entries.append(extent);
        const std::uint64_t next = found.empty() ? 0 : found.back().records.index;
        keep_place(next, next == 0 || found.size() < room, *anchor);
    }
    *nr = entries.count();
    if (size) *size = record_size;
}

} // namespace stepstore::daos

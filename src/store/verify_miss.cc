#include "store/verify_miss.h"

#include "store/pool_core.h"
#include "store/record.h"
#include "store/sealed.h"

#include <algorithm>
#include <vector>

namespace stepstore::store {

namespace {

// A record and the key under which it is intact, copied out of the transaction.
struct Misplaced {
    explicit Misplaced(const Entry& entry)
        : found(entry.key.begin(), entry.key.end()), key(found), value(entry.value.begin(), entry.value.end())
    {
    }
    // Tries each value of each byte of the key, and then each size of it.
    bool find_key() { return find_byte() || find_size(); }
    std::vector<std::byte> found, key, value;

private:
    bool find_byte()
    {
        for (std::byte& byte : key) {
            const std::byte as_found = byte;
            for (unsigned other = 1; other < 256; ++other) {
                byte = as_found ^ static_cast<std::byte>(other);
                if (damage_of({key, value}) == nullptr) return true;
            }
            byte = as_found;
        }
        return false;
    }
    // Key and value lie one after the other, so that with another size of the key the value begins
    // elsewhere. Of a key that was longer, the end of the value is missing: a payload then fails its own
    // checksum.
    bool find_size()
    {
        std::vector<std::byte> both = found;
        both.insert(both.end(), value.begin(), value.end());
        std::vector<std::byte> moved(value.size());
        for (std::size_t size = 1; size <= std::min(both.size(), KeyBuffer::capacity); ++size) {
            const auto begin = both.begin() + static_cast<std::ptrdiff_t>(size);
            key.assign(both.begin(), begin);
            const std::size_t there = std::min(moved.size(), both.size() - size);
            std::ranges::fill(
                std::ranges::copy_n(begin, static_cast<std::ptrdiff_t>(there), moved.begin()).out,
                moved.end(), std::byte{});
            if (damage_of({key, moved}) != nullptr) continue;
            value = moved;
            return true;
        }
        return false;
    }
};

// The first entry not less than `key`. The position is at the entry before it, if there is one. This saves
// the search of seek(), and costs nearly nothing after the last key, where most new keys go.
bool seek_behind(ReadTransaction& transaction, bool before, Bytes key, Entry& entry)
{
    return before ? transaction.next(entry) : transaction.seek(key, entry);
}

} // namespace

const char* damage_of(const Entry& entry)
{
    const auto space = static_cast<Space>(entry.key[0]);
    if (space == Space::live || space == Space::history) {
        Record record;
        const char* reason = parse_record(entry.key, entry.value, record);
        return reason == was_damaged ? nullptr : reason;
    }
    if (static_cast<MetaSpace>(space) < MetaSpace::header || static_cast<MetaSpace>(space) > MetaSpace::last)
        return "no record of a pool has such a key";
    Bytes body;
    return unseal(entry.key, entry.value, body) ? nullptr : "its checksum does not match";
}

const char* damage_at_miss(ReadTransaction& transaction, Bytes key)
{
    if (transaction.capabilities().verifies_keys) return nullptr;
    Entry entry;
    const bool before = transaction.seek_last(key, entry);
    const char* reason = before ? damage_of(entry) : nullptr;
    if (reason != nullptr) return reason;
    return seek_behind(transaction, before, key, entry) ? damage_of(entry) : nullptr;
}

const char* damage_before(ReadTransaction& transaction, Bytes key)
{
    if (transaction.capabilities().verifies_keys) return nullptr;
    Entry entry;
    return transaction.seek_last(key, entry) ? damage_of(entry) : nullptr;
}

bool put_back(WriteTransaction& transaction, Bytes key)
{
    if (transaction.capabilities().verifies_keys) return false;
    std::vector<Misplaced> found;
    Entry entry;
    const bool before = transaction.seek_last(key, entry);
    if (before && damage_of(entry) != nullptr) found.emplace_back(entry);
    if (seek_behind(transaction, before, key, entry) && damage_of(entry) != nullptr)
        found.emplace_back(entry);
    bool any = false;
    for (Misplaced& one : found) {
        Bytes other;
        if (!one.find_key() || transaction.get(one.key, other)) continue;
        transaction.erase(one.found);
        transaction.put(one.key, one.value);
        any = true;
    }
    return any;
}

} // namespace stepstore::store

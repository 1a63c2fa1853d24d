// The index of a target: the omap of one RADOS object. How keys and values lie there, and reads of many of
// them in one operation, which shows them all at one moment.
// Threads: an Index may be shared, a Fetch and a Cover are of one transaction. Errors: DER_CSUM for damage,
// and those of the cluster.
#pragma once

#include "store/backend.h"
#include "store/rados/cluster.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stepstore::store::rados {

// ---- keys of the omap (docs/format.md). The first byte says whose they are.
inline constexpr char record_space = 'k';  // key 00: a record of the store
inline constexpr char guard_space = 'G';   // scope: changes with each update within the scope
inline constexpr char limit_key[] = "L";   // no update here has had a greater epoch
inline constexpr char lock_key[] = "T";    // who alone may update, for a moment
inline constexpr char lane_space = 'P';    // client lane: what it has published
inline constexpr char dropped_space = 'D'; // client number: extents that nothing refers to any more
inline constexpr char counter_space = 'N'; // process: its counters
inline constexpr char client_space = 'C';  // meta only: client: the connection it lives with
inline constexpr char next_client_key[] = "I";

// The zero makes "not less than a key" one "greater than".
inline std::string stored_key(std::string_view key)
{
    return std::string(1, record_space).append(key).append(1, '\0');
}
inline std::string_view key_of(std::string_view stored)
{
    return stored.size() < 2 ? std::string_view() : stored.substr(1, stored.size() - 2);
}
inline std::string guard_key(std::string_view scope)
{
    return std::string(1, guard_space).append(scope);
}
// After every key.
inline const std::string& behind_all()
{
    static const std::string key(ReadTransaction::max_key + 1, '\xff');
    return key;
}
// The first key after all that begin with `prefix`.
std::string behind(std::string_view prefix);

inline std::string big(std::uint64_t number, std::size_t bytes)
{
    std::string text(bytes, '\0');
    for (std::size_t at = bytes; at-- > 0; number >>= 8)
        text[at] = static_cast<char>(number & 0xff);
    return text;
}
inline std::uint64_t from_big(std::string_view text)
{
    std::uint64_t number = 0;
    for (const char one : text)
        number = number << 8 | static_cast<unsigned char>(one);
    return number;
}

// Numbers that the cluster compares. It takes bytes as signed (omap_cmp with LT and GT), so each is a digit
// below 64, the highest one first.
inline constexpr std::size_t digits = 11;
inline std::string ordered(std::uint64_t number)
{
    std::string text(digits, '\0');
    for (std::size_t at = digits; at-- > 0; number >>= 6)
        text[at] = static_cast<char>(number & 63);
    return text;
}
inline std::uint64_t from_ordered(std::string_view text)
{
    std::uint64_t number = 0;
    for (const char one : text)
        number = number << 6 | static_cast<unsigned char>(one);
    return number;
}

// ---- values. Each begins with the stamp of the update that wrote it, which no other update has: its epoch,
// and a number of its own, both as digits. Then one byte: whether the rest is the value, or where it lies as
// an extent.
inline constexpr std::size_t stamp_size = 2 * digits, header_size = stamp_size + 1;
inline constexpr char inline_value = 0, spilled_value = 1;
using Raw = std::shared_ptr<const std::string>; // nullptr: there is no such key

inline Epoch epoch_of(std::string_view stamped)
{
    return from_ordered(stamped.substr(0, digits));
}
inline bool is_spilled(const Raw& raw)
{
    return raw && raw->size() > stamp_size && (*raw)[stamp_size] == spilled_value;
}
std::string encode(const ExtentRef& extent);
ExtentRef decode_extent(std::string_view text); // -DER_CSUM
// Where a spilled value lies; length 0: it is not spilled, or its bytes are none that an update writes.
ExtentRef spilled_extent(const Raw& raw);
inline constexpr std::uint64_t largest_value = 256 << 20;

// What one read asks for, and gets.
struct Fetch {
    struct Scan {
        std::string from;        // a record's key: the first one not less than it, and on
        std::string prefix;      // only keys that begin with it
        std::uint64_t most = 16; // entries
        std::map<std::string, Buffer> got = {};
        bool more = false;
        int code = 0;
    };
    std::set<std::string> keys; // of the omap
    std::vector<Scan> scans;
    std::map<std::string, Buffer> got;
    int code = 0;

    bool has(const std::string& key) const { return got.contains(key); }
    Raw raw(const std::string& key) const
    {
        const auto found = got.find(key);
        return found == got.end() ? nullptr : std::make_shared<const std::string>(to_string(found->second));
    }
};

class Index : NotCopied {
public:
    Index(Io& io, std::string object, std::string where)
        : io(io), object(std::move(object)), where(std::move(where))
    {
    }
    // The version of the index at which all of it was read.
    std::uint64_t fetch(Fetch& what);
    [[noreturn]] void failed(int code, const std::string& tried) const;

    Io& io;
    const std::string object;
    const std::string where; // "pool rados://..., target 3"
};

// The keys that are known: which entries there are between `from` and `to`, and that there are no others.
class Cover {
public:
    void add(std::string from, std::string to);
    // The end of the known stretch that holds the place of `key`; nullptr: not known there.
    const std::string* end_at(const std::string& key) const;
    // The begin of the known stretch that reaches up to `key`; nullptr: not known there.
    const std::string* begin_before(const std::string& key) const;
    void clear() { spans_.clear(); }

private:
    std::map<std::string, std::string> spans_; // do not touch each other
};

} // namespace stepstore::store::rados

#include "blobs/entry.h"

#include "base/bytes.h"
#include "base/checksum.h"

#include <daos_errno.h>

#include <chrono>
#include <cstring>

namespace stepstore::blobs {

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62; // of a value: any part of it has an int64_t

std::uint64_t now()
{
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count());
}

std::vector<std::byte> begun(Kind kind, std::size_t size)
{
    std::vector<std::byte> entry(size);
    entry[0] = static_cast<std::byte>(kind);
    store_little(&entry[1], now());
    return entry;
}

} // namespace

std::vector<std::byte> small_entry(Bytes value)
{
    std::vector<std::byte> entry = begun(Kind::small, entry_head + value.size());
    if (!value.empty()) std::memcpy(&entry[entry_head], value.data(), value.size());
    return entry;
}

std::vector<std::byte> array_entry_of(std::uint64_t number, std::uint64_t bytes,
                                      const std::optional<Bytes>& sums)
{
    std::vector<std::byte> entry = sums ? begun(Kind::summed, summed_entry) : begun(Kind::array, array_entry);
    store_little(&entry[entry_head], number);
    store_little(&entry[entry_head + sizeof number], bytes);
    if (sums) store_little(&entry[array_entry], checksum(*sums));
    return entry;
}

std::vector<std::byte> folder_entry()
{
    return begun(Kind::folder, entry_head);
}

std::vector<std::byte> touched(Bytes entry)
{
    std::vector<std::byte> fresh(entry.begin(), entry.end());
    store_little(&fresh[1], now());
    return fresh;
}

bool decode_entry(Bytes entry, Entry& into) noexcept
{
    if (entry.size() < entry_head || entry[0] < static_cast<std::byte>(Kind::small) ||
        entry[0] > static_cast<std::byte>(Kind::summed))
        return false;
    into.kind = static_cast<Kind>(entry[0]);
    into.modified = load_little<std::uint64_t>(&entry[1]);
    into.value = entry.subspan(entry_head);
    if (!into.in_array()) return true;
    if (entry.size() != (into.kind == Kind::summed ? summed_entry : array_entry)) return false;
    into.number = load_little<std::uint64_t>(&entry[entry_head]);
    into.bytes = load_little<std::uint64_t>(&entry[entry_head + sizeof into.number]);
    if (into.kind == Kind::summed) into.sum = load_little<std::uint64_t>(&entry[array_entry]);
    into.value = {};
    return into.bytes <= most_bytes;
}

void refuse_entry(Bytes entry, const std::string& where)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string kind;
    if (!entry.empty()) {
        const auto byte = std::to_integer<unsigned>(entry[0]);
        kind = {digits[byte >> 4], digits[byte & 15]};
    }
    throw Error(-DER_INVAL, where + ": its entry has the kind " + kind + " and " +
                                std::to_string(entry.size()) +
                                " bytes, which this version of stepstore does not know: read it with a newer "
                                "one");
}

} // namespace stepstore::blobs

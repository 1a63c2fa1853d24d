#include "store/keys.h"

#include "base/checksum.h"

namespace stepstore::store {

KeyBuffer& KeyBuffer::add_escaped(Bytes bytes)
{
    for (const std::byte byte : bytes) {
        bytes_[size_++] = byte;
        if (byte == std::byte{0}) bytes_[size_++] = std::byte{0xff};
    }
    bytes_[size_++] = std::byte{0};
    bytes_[size_++] = std::byte{0};
    return *this;
}

bool KeyBuffer::make_successor()
{
    while (size_ > 0) {
        auto& last = bytes_[size_ - 1];
        if (last != std::byte{0xff}) {
            last = static_cast<std::byte>(static_cast<unsigned>(last) + 1);
            return true;
        }
        --size_;
    }
    return false;
}

StoredKey::StoredKey(Bytes key) : size(key.size())
{
    if (key.size() <= max_short_key)
        std::memcpy(bytes.data(), key.data(), key.size());
    else
        *this = StoredKey(key.first(max_short_key), key);
}

StoredKey::StoredKey(Bytes shown, Bytes key) : size(max_stored_key)
{
    std::memcpy(bytes.data(), shown.data(), max_short_key);
    ChecksumStream salted;
    salted.update(as_bytes("stepstore"));
    salted.update(key);
    store_big(bytes.data() + max_short_key, checksum(key));
    store_big(bytes.data() + max_short_key + 8, salted.digest());
}

bool parse_key(Bytes key, ParsedKey& parsed)
{
    if (key.size() < kind_prefix_size) return false;
    const auto space = static_cast<Space>(key[0]);
    if (space != Space::live && space != Space::history) return false;
    const auto kind = static_cast<Kind>(key[object_prefix_size]);
    parsed.space = space;
    parsed.container = load_big<std::uint32_t>(key.data() + 1);
    parsed.oid = {load_big<std::uint64_t>(key.data() + 5), load_big<std::uint64_t>(key.data() + 13)};
    parsed.kind = kind;
    parsed.place = key.subspan(kind_prefix_size);
    parsed.death = 0;
    if (space == Space::history) {
        if (parsed.place.size() < 8) return false;
        parsed.death = load_big<std::uint64_t>(key.data() + key.size() - 8);
        parsed.place = parsed.place.first(parsed.place.size() - 8);
    }
    switch (kind) {
    case Kind::attributes:
    case Kind::removal: return parsed.place.empty();
    case Kind::keyvalue:
        if (space == Space::live) return !parsed.place.empty() && parsed.place.size() <= max_stored_key;
        return parsed.place.size() > 2;
    case Kind::array:
        if (parsed.place.size() != 16) return false;
        parsed.chunk = load_big<std::uint64_t>(parsed.place.data());
        parsed.end = load_big<std::uint64_t>(parsed.place.data() + 8);
        return true;
    }
    return false;
}

bool unescape(Bytes place, KeyBuffer& stored)
{
    stored.truncate(0);
    for (std::size_t i = 0; i < place.size(); ++i) {
        if (place[i] != std::byte{0}) {
            if (stored.size() == max_stored_key) return false;
            stored.add(static_cast<std::uint8_t>(place[i]));
            continue;
        }
        if (i + 1 == place.size()) return false;
        if (place[i + 1] == std::byte{0}) return i + 2 == place.size() && stored.size() > 0;
        if (place[i + 1] != std::byte{0xff} || stored.size() == max_stored_key) return false;
        stored.add(std::uint8_t{0});
        ++i;
    }
    return false;
}

} // namespace stepstore::store

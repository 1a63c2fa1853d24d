#include "store/akey_key.h"

#include "base/checksum.h"
#include "store/failure.h"

#include <algorithm>

namespace stepstore::store {

namespace {

// 0 and 1 become 1 1 and 1 2. So no zero byte is left, and the order stays. 1 3 begins a digest.
constexpr std::byte escape{1};
constexpr std::byte digest_follows{3};
constexpr std::byte end_of_dkey{0};

constexpr std::size_t most_stored = 62; // bytes of an escaped dkey that is stored as it is
constexpr std::size_t kept_of_long = 36;
constexpr std::size_t digest_size = 24;
static_assert(kept_of_long + 2 + digest_size == most_stored && most_stored < max_short_key);

// The types of the object ids of libdaos (daos_obj.h) whose keys are of another form.
constexpr unsigned first_flat_type = 8, last_flat_type = 13; // key-value objects and arrays
constexpr unsigned type_shift = 56;

void add_escaped_dkey(ShortBytes& to, Bytes dkey)
{
    if (std::ranges::none_of(dkey, [](std::byte byte) { return byte <= escape; })) return to.add(dkey);
    for (const std::byte byte : dkey) {
        if (byte > escape) {
            to.add(Bytes(&byte, 1));
        } else {
            const std::byte pair[] = {escape, byte == std::byte{0} ? std::byte{1} : std::byte{2}};
            to.add(Bytes(pair));
        }
    }
}

// 144 bits of which 128 are a digest, 6 in a byte, so that none of them is 0 or 1.
void add_digest(KeyBuffer& to, Bytes bytes)
{
    ChecksumStream salted;
    salted.update(as_bytes("dkey"));
    salted.update(bytes);
    const std::uint64_t sums[] = {checksum(bytes), salted.digest(), 0};
    std::size_t bit = 0;
    for (std::size_t at = 0; at < digest_size; ++at, bit += 6) {
        const std::size_t word = bit / 64;
        std::uint64_t six = sums[word] >> (bit % 64);
        if (bit % 64 > 58) six |= sums[word + 1] << (64 - bit % 64);
        to.add(static_cast<std::uint8_t>(0x40 | (six & 0x3f)));
    }
}

} // namespace

bool has_akeys(const ObjectId& oid)
{
    const auto type = static_cast<unsigned>(oid.hi >> type_shift);
    return type < first_flat_type || type > last_flat_type;
}

void ShortBytes::add(Bytes bytes)
{
    if (large_.empty() && size_ + bytes.size() <= small_.size()) {
        if (!bytes.empty()) std::memcpy(small_.data() + size_, bytes.data(), bytes.size());
        size_ += bytes.size();
        return;
    }
    if (large_.empty()) large_.assign(small_.begin(), small_.begin() + static_cast<std::ptrdiff_t>(size_));
    large_.insert(large_.end(), bytes.begin(), bytes.end());
}

DkeyBeginning::DkeyBeginning(Bytes dkey)
{
    add_escaped_dkey(whole_, dkey);
    const Bytes escaped = whole_.view();
    if (escaped.size() > most_stored) {
        stored_.add(escaped.first(kept_of_long)).add(static_cast<std::uint8_t>(escape));
        stored_.add(static_cast<std::uint8_t>(digest_follows));
        add_digest(stored_, dkey);
    } else {
        stored_.add(escaped);
    }
    stored_.add(static_cast<std::uint8_t>(end_of_dkey));
    whole_.add(end_of_dkey);
}

AkeyKey::AkeyKey(Bytes dkey, Bytes akey, AkeyType type)
{
    add_escaped_dkey(whole_, dkey);
    const bool is_short = whole_.view().size() <= most_stored;
    whole_.add(end_of_dkey);
    whole_.add(akey);
    whole_.add(static_cast<std::byte>(type));
    const Bytes whole = whole_.view();
    if (is_short && whole.size() <= max_short_key) {
        stored_ = StoredKey(whole);
        return;
    }
    const DkeyBeginning beginning(dkey);
    ShortBytes shown; // what is stored of it before its digest
    shown.add(beginning.stored());
    shown.add(whole.subspan(beginning.whole().size()));
    while (shown.view().size() < max_short_key)
        shown.add(std::byte{0});
    stored_ = StoredKey(shown.view().first(max_short_key), whole);
}

bool dkey_of(Bytes whole, std::vector<std::byte>& dkey)
{
    dkey.clear();
    for (std::size_t at = 0; at < whole.size(); ++at) {
        if (whole[at] == end_of_dkey) return !dkey.empty();
        if (whole[at] != escape) {
            dkey.push_back(whole[at]);
            continue;
        }
        if (++at == whole.size() || whole[at] == std::byte{0} || whole[at] > std::byte{2}) return false;
        dkey.push_back(whole[at] == std::byte{1} ? std::byte{0} : std::byte{1});
    }
    return false;
}

bool split(Bytes whole, SplitKey& key)
{
    if (!dkey_of(whole, key.dkey)) return false;
    const auto end = std::ranges::find(whole, end_of_dkey);
    const Bytes rest = whole.subspan(static_cast<std::size_t>(end - whole.begin()) + 1);
    if (rest.size() < 2 || rest.back() > static_cast<std::byte>(AkeyType::array)) return false;
    key.akey = rest.first(rest.size() - 1);
    key.type = static_cast<AkeyType>(rest.back());
    return true;
}

std::string key_text(const ObjectId& oid, Bytes whole)
{
    SplitKey key;
    if (!has_akeys(oid) || !split(whole, key)) return "key " + quoted(whole);
    return "dkey " + quoted(key.dkey) + ", akey " + quoted(key.akey);
}

} // namespace stepstore::store

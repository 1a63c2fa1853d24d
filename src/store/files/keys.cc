#include "store/files/keys.h"

#include "base/checksum.h"
#include "base/found_twice.h"
#include "base/record.h"
#include "base/system_error.h"
#include "store/failure.h"
#include "store/files/packed.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <functional>
#include <map>
#include <set>
#include <unistd.h>

namespace stepstore::store::files {

namespace {

constexpr std::uint32_t value_magic = 0x56465353; // "SSFV"
constexpr std::size_t longest_name = 150;
constexpr std::uint64_t worth_cutting = 4096; // bytes of a version that was replaced
constexpr char hashed = '~';
constexpr const char* removed_note = "removed";

bool is_plain(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string hexadecimal(std::uint64_t number)
{
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4)
        digits += "0123456789abcdef"[number >> shift & 15];
    return digits;
}

int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// ESTALE is what NFS says of a file that is gone.
bool is_gone(int error)
{
    return error == ENOENT || error == ESTALE;
}

} // namespace

std::string name_of_key(Bytes key)
{
    std::string name;
    for (const std::byte byte : key) {
        const auto c = static_cast<char>(byte);
        if (is_plain(c)) {
            name += c;
        } else {
            name += '%';
            name += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
            name += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
        }
        if (name.size() > longest_name)
            return hashed + hexadecimal(checksum(key)) + hexadecimal(checksum(key, 1));
    }
    return name;
}

std::optional<std::vector<std::byte>> key_of_name(std::string_view name)
{
    if (name.empty() || name.size() > longest_name) return std::nullopt;
    std::vector<std::byte> key;
    for (std::size_t at = 0; at < name.size(); ++at) {
        if (is_plain(name[at])) {
            key.push_back(static_cast<std::byte>(name[at]));
            continue;
        }
        if (name[at] != '%' || name.size() - at < 3) return std::nullopt;
        const int high = digit_of(name[at + 1]);
        const int low = digit_of(name[at + 2]);
        if (high < 0 || low < 0 || is_plain(static_cast<char>(high << 4 | low))) return std::nullopt;
        key.push_back(static_cast<std::byte>(high << 4 | low));
        at += 2;
    }
    return key;
}

unsigned bucket_number(std::string_view name)
{
    return static_cast<unsigned>(checksum(as_bytes(name)) % buckets);
}

std::string bucket_of_name(std::string_view name)
{
    const unsigned bucket = bucket_number(name);
    return {"0123456789abcdef"[bucket >> 4], "0123456789abcdef"[bucket & 15]};
}

bool parse_version(std::string_view file, std::string_view& name, std::uint64_t& number)
{
    const std::size_t at = file.rfind('@');
    if (at == std::string_view::npos || at == 0) return false;
    name = file.substr(0, at);
    const std::string_view digits = file.substr(at + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() && number > 0 &&
           digits.front() != '0';
}

std::optional<StoredValue> decode_value(Bytes file)
{
    try {
        const Bytes body = unseal_frame(file, value_magic, format_version, "a value").body;
        WireReader from(body, "a value");
        const Bytes key = from.bytes(from.fixed<std::uint32_t>());
        const Bytes value = body.subspan(sizeof(std::uint32_t) + key.size());
        return StoredValue{{key.begin(), key.end()}, {value.begin(), value.end()}};
    } catch (const Error& error) {
        if (error.code() == -DER_DF_INCOMPT) throw;
        return std::nullopt;
    }
}

bool holds_value(Bytes file, std::string_view name, std::optional<StoredValue>& value)
{
    value.reset();
    if (is_sound([&] { value = decode_value(file); }) && value && name_of_key(value->key) != name)
        value.reset();
    return value.has_value();
}

std::optional<StoredValue> read_value(const RootedPath& file, std::string_view name, int& error)
{
    std::optional<StoredValue> stored;
    const auto bytes = read_file(file, [&](Bytes found) { return holds_value(found, name, stored); });
    error = bytes ? 0 : errno;
    if (bytes && !stored) decode_value(*bytes); // it may be of another version, which this tells
    return stored;
}

// The numbers of a key's versions, ascending.
struct Keys::Versions {
    bool directory = false; // the bucket is there
    std::vector<std::uint64_t> numbers;
    bool removed = false; // the greatest is a note
    // Version 0, looked for where there is no other: where it lies. lost: its file is not there.
    std::optional<PackedKey> packed;
    bool lost = false;

    std::uint64_t greatest() const { return numbers.empty() ? 0 : numbers.back(); }
    bool there() const { return numbers.empty() ? packed.has_value() : !removed; }
};

Keys::Versions Keys::look(const RootedPath& bucket, const std::string& name) const
{
    Versions versions;
    versions.directory = for_each_name(bucket, [&](const char* file, NameKind kind) {
        std::string_view of;
        std::uint64_t number = 0;
        if (!parse_version(file, of, number) || of != name) return;
        versions.numbers.push_back(number);
        if (number >= std::ranges::max(versions.numbers)) versions.removed = kind == NameKind::note;
    });
    std::ranges::sort(versions.numbers);
    if (!packed_ || !versions.numbers.empty()) return versions;
    if (const auto file = packed_file())
        versions.packed = file->find(name);
    else
        versions.lost = true;
    return versions;
}

std::optional<PackedFile> Keys::packed_file() const
{
    return PackedFile::open(directory_, "pool " + place_.path() + ", " + what_);
}

// The value of version 0. nullopt: it is damaged, or its file is gone.
std::optional<StoredValue> Keys::read_packed(const Versions& versions, Bytes key) const
{
    const auto file = packed_file();
    auto stored = file ? file->read(*versions.packed) : std::nullopt;
    if (stored && !std::ranges::equal(stored->key, key)) stored.reset();
    return stored;
}

void Keys::require_packed() const
{
    fail_damaged("pool " + place_.path() + ", " + what_ + ": the file " + (directory_ / packed_name) +
                 " with its keys is not there");
}

void Keys::damaged(Bytes key) const
{
    fail_damaged("pool " + place_.path() + ", " + what_ + ", key " + quoted(key) +
                 ": the file of its value is damaged");
}

// The value of the greatest version, which it looks up anew while others replace it. nullopt: there is none.
std::optional<StoredValue> Keys::read(const RootedPath& bucket, const std::string& name, Bytes key,
                                      Versions& versions) const
{
    FoundTwice<std::uint64_t> is_damaged;
    for (int round = 0; round < most_replaced; ++round) {
        if (round > 0) versions = look(bucket, name);
        if (!versions.there()) return std::nullopt;
        if (versions.greatest() == 0) {
            auto stored = read_packed(versions, key);
            if (stored) return stored;
            if (is_damaged(0)) damaged(key);
            continue;
        }
        const RootedPath file = bucket / (name + "@" + std::to_string(versions.greatest()));
        int error = 0;
        auto stored = read_value(file, name, error);
        if (error != 0 && !is_gone(error))
            throw system_error(error, file, "cannot read the value" + owner_of(file));
        if (stored && std::ranges::equal(stored->key, key)) return stored;
        if (is_damaged(versions.greatest())) damaged(key);
    }
    fail(DER_AGAIN, "pool " + place_.path() + ", " + what_ + ", key " + quoted(key) +
                        ": its value was replaced again and again while it was read: try again");
}

void Keys::retire(const RootedPath& bucket, const std::string& name, const Versions& versions) const
{
    const auto version = [&](std::uint64_t number) { return bucket / (name + "@" + std::to_string(number)); };
    if (versions.numbers.empty()) return;
    if (!versions.removed) {
        const Descriptor last = open_file(version(versions.greatest()), O_WRONLY);
        if (last && size_of(last.get(), bucket) > worth_cutting) resize_file(last.get(), 0);
    }
    for (const std::uint64_t number : versions.numbers) {
        if (number + kept > versions.greatest() + 1) break;
        const RootedPath old = version(number);
        if (links_of(old) != 1) break; // pinned, or another process removes it
        if (number > 1 && remove(old) != 0) break;
    }
}

// Step 2. False: begin again.
bool Keys::pin(const RootedPath& bucket, const std::string& name, const Versions& versions,
               const RootedPath& to) const
{
    const RootedPath last = bucket / (name + "@" + std::to_string(versions.greatest()));
    const int error = link_file(last, to);
    if (is_gone(error)) return false;
    if (error != 0) throw system_error(error, last, "cannot link the file");
    return look(bucket, name).greatest() == versions.greatest();
}

Keys::Done Keys::update(const Update& update, bool make) const
{
    const Place::InUse in_use(place_, Place::Use::update);
    const std::string name = name_of_key(update.key);
    const RootedPath bucket = directory_ / bucket_of_name(name);
    const std::string where = "pool " + place_.path() + ", " + what_ + ", key " + quoted(update.key);
    const Condition wanted = update.condition.what;
    const bool compares = wanted == Condition::must_equal;
    // Also to remove a key: it says that this process updates.
    const RootedPath draft = place_.temporary();
    const RootedPath pinned = place_.temporary();
    bool written = false;
    // Leaves no temporary names, however the update ends.
    struct Forget {
        const RootedPath& draft;
        const RootedPath& pinned;
        const bool& written;
        ~Forget()
        {
            remove(pinned);
            if (written) remove(draft);
        }
    } const forget{draft, pinned, written};
    FoundTwice<std::uint64_t> is_damaged;
    for (bool again = false;; again = true) {
        if (again) remove(pinned);
        const Versions versions = look(bucket, name);
        const bool there = versions.there();
        if (versions.lost) {
            if (update.still_here()) require_packed();
            return Done::moved;
        }
        if (!versions.directory && !make && !there) return Done::moved;
        if (wanted == Condition::must_not_exist && there) fail(DER_EXIST, where + ": it is there already");
        if (wanted == Condition::must_exist && !there) fail(DER_NONEXIST, where + ": it is not there");
        if (compares && !there) fail(DER_MISMATCH, where + ": it is not there, and a value is required");
        if (!update.value && !there) {
            if (update.replaced != nullptr) update.replaced->size.reset();
            return Done::absent;
        }
        if (versions.greatest() > 0 && !pin(bucket, name, versions, pinned)) continue;
        if (there && (compares || update.replaced != nullptr)) {
            auto old = versions.greatest() == 0 ? read_packed(versions, update.key) : std::nullopt;
            int error = 0;
            if (versions.greatest() > 0) old = read_value(pinned, name, error);
            if (old && !std::ranges::equal(old->key, update.key)) old.reset();
            if (!old && !is_damaged(versions.greatest())) continue; // it was replaced meanwhile
            if (compares && !old) damaged(update.key);              // else it may be replaced
            if (compares && !std::ranges::equal(old->value, update.condition.value))
                fail(DER_MISMATCH, where + ": it has another value");
            if (update.replaced != nullptr) {
                update.replaced->size = old ? old->value.size() : 0;
                if (old && old->value.size() <= update.replaced->into.size())
                    std::ranges::copy(old->value, update.replaced->into.begin());
            }
        } else if (update.replaced != nullptr) {
            update.replaced->size.reset();
        }
        if (update.value && !written) {
            written = true;
            write(update, draft);
        }
        const RootedPath place = bucket / (name + "@" + std::to_string(versions.greatest() + 1));
        const Descriptor names = place_.open_names(bucket);
        const int error = update.value ? link_file(draft, place) : make_note(place, removed_note);
        if (error == EEXIST) continue;
        if (error == ENOENT && !versions.directory) {
            if (!update.still_here()) return Done::moved;
            if (const int failed = make_directories(bucket); failed != 0)
                throw system_error(failed, where, "cannot make a directory for it");
            continue;
        }
        if (error == ENOENT) return Done::moved;
        if (error != 0) throw system_error(error, where, "cannot give the value its name");
        place_.sync_names(names, bucket);
        if (!update.still_here()) return Done::moved;
        retire(bucket, name, versions);
        return Done::yes;
    }
}

void Keys::write(const Update& update, const RootedPath& draft) const
{
    std::vector<std::byte> head(value_head);
    store_little(head.data(), value_magic);
    store_little(head.data() + 4, format_version);
    store_little(head.data() + 8, format_version);
    store_little(head.data() + 20, static_cast<std::uint32_t>(update.key.size()));
    ChecksumStream sum;
    sum.update(Bytes(head).subspan(20));
    sum.update(update.key);
    sum.update(*update.value);
    store_little(head.data() + 12, sum.digest());
    place_.make(draft, {head, update.key, *update.value});
}

Keys::Got Keys::get(Bytes key, MutableBytes into) const
{
    const std::string name = name_of_key(key);
    const RootedPath bucket = directory_ / bucket_of_name(name);
    Versions versions = look(bucket, name);
    Got got;
    const auto stored = read(bucket, name, key, versions);
    got.lost = versions.lost;
    if (!stored) return got;
    got.there = true;
    got.size = stored->value.size();
    if (got.size <= into.size()) std::ranges::copy(stored->value, into.begin());
    return got;
}

// One key of a bucket, in the order of a listing.
struct Keys::Seen {
    std::string name;
    std::uint64_t greatest = 0;
    bool removed = false;
    PackedKey packed; // if `greatest` is 0
};

bool Keys::list(ListPosition& position, FunctionRef<bool(Bytes)> each, const KeyFilter& filter,
                FunctionRef<bool()> still_here) const
{
    constexpr std::size_t order_size = 16;
    if (position.length != 0 && position.length != order_size) {
        fail(DER_INVAL, "pool " + place_.path() + ", " + what_ +
                            ": the position of the listing is damaged or belongs to another listing: begin "
                            "the listing again");
    }
    using Order = std::pair<std::uint64_t, std::uint64_t>;
    const auto order_of = [](const std::string& name) -> Order {
        return {checksum(as_bytes(name), 2), checksum(as_bytes(name), 3)};
    };
    std::set<std::string> there; // buckets
    const bool directory = for_each_name(directory_, [&](const char* name, NameKind kind) {
        if (kind == NameKind::directory) there.emplace(name);
    });
    const auto packed = packed_ ? packed_file() : std::nullopt;
    if (!directory || (packed_ && !packed)) {
        if (!still_here()) return false;
        if (packed_) require_packed();
    }
    std::set<std::string, std::less<>> parts; // that were given
    for (; position.target < buckets; ++position.target, position.length = 0) {
        const std::string bucket_name{"0123456789abcdef"[position.target >> 4],
                                      "0123456789abcdef"[position.target & 15]};
        const RootedPath bucket = directory_ / bucket_name;
        Order after{};
        if (position.length != 0)
            after = {load_big<std::uint64_t>(position.key.data()), load_big<std::uint64_t>(&position.key[8])};
        std::map<Order, Seen> keys;
        const auto see = [&](const char* file, NameKind kind) {
            std::string_view of;
            std::uint64_t number = 0;
            if (!parse_version(file, of, number)) return;
            std::string name(of);
            const Order order = order_of(name);
            if (position.length != 0 && order <= after) return;
            Seen& seen = keys[order];
            if (number <= seen.greatest) return;
            seen = {std::move(name), number, kind == NameKind::note, {}};
        };
        // Whatever it shows: the object may have been removed, or its keys packed. If it was opened before
        // that and listed after it, it is empty.
        if (there.contains(bucket_name)) {
            for_each_name(bucket, see);
            if (!still_here()) return false;
        }
        for (PackedKey& key : packed ? packed->keys(position.target) : std::vector<PackedKey>{}) {
            const Order order = order_of(key.name);
            if (position.length == 0 || order > after)
                keys.try_emplace(order, Seen{key.name, 0, false, std::move(key)});
        }
        for (const auto& [order, seen] : keys) {
            const auto stand_here = [&, order = order] {
                position.length = order_size;
                store_big(position.key.data(), order.first);
                store_big(&position.key[8], order.second);
            };
            if (seen.removed) continue;
            auto key = key_of_name(seen.name);
            if (!key) { // a long one, which only its file has
                auto stored = seen.greatest == 0 ? packed->read(seen.packed) : std::nullopt;
                const auto read = [&](std::uint64_t version) {
                    int error = 0;
                    return read_value(bucket / (seen.name + "@" + std::to_string(version)), seen.name, error);
                };
                if (seen.greatest > 0) stored = read(seen.greatest);
                if (!stored && seen.greatest > 0) { // it was replaced meanwhile
                    const Versions versions = look(bucket, seen.name);
                    if (versions.numbers.empty() && !still_here()) return false;
                    if (!versions.there()) continue;
                    stored = read(versions.greatest());
                }
                if (!stored) {
                    stand_here();
                    fail(DER_CSUM, "pool " + place_.path() + ", " + what_ + ": the file " +
                                       (bucket / seen.name) +
                                       " of a key is damaged: the listing can go on after this key; run a "
                                       "check of the pool");
                }
                key = std::move(stored->key);
            }
            Bytes shown = *key;
            if (shown.size() < filter.prefix.size() ||
                compare(shown.first(filter.prefix.size()), filter.prefix) != 0)
                continue;
            if (filter.delimiter != '\0') {
                const Bytes rest = shown.subspan(filter.prefix.size());
                const auto cut = std::ranges::find(rest, static_cast<std::byte>(filter.delimiter));
                if (cut != rest.end())
                    shown =
                        shown.first(filter.prefix.size() + static_cast<std::size_t>(cut - rest.begin()) + 1);
            }
            const bool whole = shown.size() == key->size();
            const std::string_view part = whole ? std::string_view() : as_text(shown);
            if (whole || !parts.contains(part)) {
                if (!each(shown)) return true;
                if (!whole) parts.emplace(part);
            }
            stand_here();
        }
    }
    position.done = true;
    return true;
}

std::optional<bool> Keys::any(FunctionRef<bool()> still_here) const
{
    bool found = false;
    ListPosition position;
    const bool whole = list(
        position,
        [&](Bytes) {
            found = true;
            return false;
        },
        {}, still_here);
    return whole ? std::optional(found) : std::nullopt;
}

} // namespace stepstore::store::files

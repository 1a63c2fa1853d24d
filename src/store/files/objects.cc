#include "store/files/objects.h"

#include "base/checksum.h"
#include "base/fork.h"
#include "base/system_error.h"
#include "base/text.h"
#include "store/failure.h"
#include "store/files/packed.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <mutex>
#include <sys/resource.h>

namespace stepstore::store::files {

namespace {

std::string checksum_text(std::string_view text)
{
    std::string digits;
    std::uint64_t sum = checksum(as_bytes(text));
    for (int digit = 0; digit < 16; ++digit, sum >>= 4)
        digits += "0123456789abcdef"[sum & 15];
    return digits;
}

bool is_data_name(std::string_view name)
{
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos || slash == 0) return false;
    const auto host = name.substr(0, slash);
    const auto token = name.substr(slash + 1);
    const auto plain = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
               c == '_';
    };
    const auto hexadecimal = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return std::ranges::all_of(host, plain) && token.size() == 32 && std::ranges::all_of(token, hexadecimal);
}

bool take_number(std::string_view& text, std::uint64_t& number)
{
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return true;
}

bool take(std::string_view& text, char c)
{
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

} // namespace

std::string encode_entry(const ObjectEntry& entry)
{
    std::string text = entry.data;
    if (entry.attributes) {
        text += ' ' + std::to_string(entry.attributes->cell_size) + ' ' +
                std::to_string(entry.attributes->chunk_size);
    }
    if (entry.packed) text += std::string(" ") + packed_name;
    return text + ' ' + checksum_text(text);
}

std::optional<ObjectEntry> decode_entry(std::string_view text)
{
    const std::size_t last = text.rfind(' ');
    if (last == std::string_view::npos || text.substr(last + 1) != checksum_text(text.substr(0, last)))
        return std::nullopt;
    text = text.substr(0, last);
    ObjectEntry entry;
    const std::string_view data = text.substr(0, text.find(' '));
    if (!is_data_name(data)) return std::nullopt;
    entry.data = data;
    text.remove_prefix(data.size());
    if (text.empty()) return entry;
    if (text.substr(1) == packed_name) {
        entry.packed = true;
        return entry;
    }
    ArrayAttributes attributes{0, 0};
    const bool good = take(text, ' ') && take_number(text, attributes.cell_size) && take(text, ' ') &&
                      take_number(text, attributes.chunk_size) && text.empty();
    if (!good || attributes.cell_size == 0 || attributes.chunk_size == 0) return std::nullopt;
    entry.attributes = attributes;
    return entry;
}

std::optional<ObjectId> object_of_name(std::string_view name)
{
    const std::string_view whole = name;
    ObjectId oid;
    if (!take_number(name, oid.hi) || !take(name, '.') || !take_number(name, oid.lo) || !name.empty())
        return std::nullopt;
    if (text(oid) != whole) return std::nullopt;
    return oid;
}

namespace {

std::atomic<std::size_t> open_arrays = 0; // a forked child has those of its parent

// Of all containers. The other half is for the program.
std::size_t most_of_process()
{
    rlimit files{};
    return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur / 2 : 0;
}

} // namespace

OpenArray::OpenArray(ObjectEntry of, Descriptor opened, bool for_update)
    : entry(std::move(of)), fd(std::move(opened)), writable(for_update)
{
    ++open_arrays;
}

OpenArray::~OpenArray()
{
    --open_arrays;
}

std::size_t OpenArray::of_process()
{
    return open_arrays;
}

Objects::Objects(std::shared_ptr<Place> place, const Uuid& container)
    : place_(std::move(place)), directory_(place_->container(container))
{
}

RootedPath Objects::entry_of(const ObjectId& oid) const
{
    const std::string name = text(oid);
    const auto group = static_cast<unsigned>(checksum(as_bytes(name)) & 255);
    return directory_ / "objects" /
           std::string{"0123456789abcdef"[group >> 4], "0123456789abcdef"[group & 15]} / name;
}

void Objects::require_there() const
{
    if (exists(directory_ / "about")) return;
    place_->require_current();
    fail(DER_NONEXIST, "pool " + place_->path() + ": this container was destroyed; close the handle");
}

std::optional<ObjectEntry> Objects::find(const ObjectId& oid) const
{
    const auto note = read_note(entry_of(oid));
    if (!note) {
        if (errno != ENOENT && errno != EINVAL)
            fail_errno("pool " + place_->path() + ", object " + text(oid), "cannot read its entry");
        if (errno == ENOENT) return std::nullopt;
    }
    auto entry = note ? decode_entry(*note) : std::nullopt;
    if (!entry) {
        fail_damaged("pool " + place_->path() + ": the entry of object " + text(oid) + " (" + entry_of(oid) +
                     ") is damaged");
    }
    return entry;
}

std::optional<ObjectEntry> Objects::known(const ObjectId& oid)
{
    {
        const std::lock_guard lock(held_over_fork(ForkLock::containers));
        if (const auto found = known_.find(oid); found != known_.end()) return found->second;
    }
    auto entry = find(oid);
    if (!entry) return entry;
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    if (known_.size() >= most_known) known_.clear();
    known_[oid] = *entry;
    return entry;
}

void Objects::forget(const ObjectId& oid)
{
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    known_.erase(oid);
    open_.erase(oid);
}

ObjectEntry Objects::make(const ObjectId& oid, const std::optional<ArrayAttributes>& attributes, bool* made)
{
    if (made != nullptr) *made = false;
    const RootedPath place = entry_of(oid);
    for (;;) {
        if (const auto there = find(oid)) return *there;
        const ObjectEntry entry{place_->host() + "/" + random_token(), attributes, false};
        int error = make_note(place, encode_entry(entry));
        if (error == ENOENT) {
            require_there();
            error = make_directories(place.parent());
            if (error == 0) continue;
        }
        if (error == EEXIST) continue;
        if (error != 0) {
            throw system_error(error, "pool " + place_->path() + ", object " + text(oid),
                               "cannot make its entry");
        }
        place_->sync_names(place.parent());
        if (made != nullptr) *made = true;
        return entry;
    }
}

bool Objects::remove(const ObjectId& oid)
{
    const Place::InUse in_use(*place_, Place::Use::update);
    forget(oid);
    const RootedPath away = place_->gone();
    if (const int error = rename_file(entry_of(oid), away); error != 0) {
        if (error == ENOENT) return require_there(), false;
        throw system_error(error, "pool " + place_->path() + ", object " + text(oid),
                           "cannot remove its entry");
    }
    place_->sync_names(entry_of(oid).parent());
    const auto note = read_note(away);
    const auto entry = note ? decode_entry(*note) : std::nullopt;
    if (entry) place_->remove_at_once(data(*entry));
    stepstore::remove(away);
    return true;
}

std::shared_ptr<const OpenArray> Objects::open(const ObjectId& oid, bool for_update)
{
    {
        const std::lock_guard lock(held_over_fork(ForkLock::containers));
        const auto found = open_.find(oid);
        if (found != open_.end() && (found->second->writable || !for_update)) return found->second;
    }
    for (;;) {
        auto entry = for_update ? make(oid, std::nullopt) : known(oid);
        if (!entry) return require_there(), nullptr;
        const RootedPath file = data(*entry);
        Descriptor fd = open_file(file, for_update ? O_RDWR | O_CREAT : O_RDONLY);
        if (!fd && errno == ENOENT && for_update) {
            require_there();
            if (const int error = make_directories(file.parent()); error != 0)
                throw system_error(error, file, "cannot make the directory of an array");
            continue;
        }
        if (!fd && errno == ENOENT) {
            // It may have been removed, and made anew, since it was read.
            const auto now = find(oid);
            if (now && !(*now == *entry)) {
                forget(oid);
                continue;
            }
            return nullptr;
        }
        if (!fd) fail_errno(file, "cannot open the file of an array" + owner_of(file));
        auto opened = std::make_shared<const OpenArray>(*entry, std::move(fd), for_update);
        const std::lock_guard lock(held_over_fork(ForkLock::containers));
        if (open_.size() >= most_open || OpenArray::of_process() > most_of_process()) open_.clear();
        open_[oid] = opened;
        return opened;
    }
}

std::vector<ObjectId> Objects::all() const
{
    require_there();
    std::vector<ObjectId> found;
    for_each_name(directory_ / "objects", [&](const char* group, NameKind kind) {
        if (kind != NameKind::directory) return;
        for_each_name(directory_ / "objects" / group, [&](const char* name, NameKind) {
            if (const auto oid = object_of_name(name)) found.push_back(*oid);
        });
    });
    std::ranges::sort(found);
    return found;
}

} // namespace stepstore::store::files

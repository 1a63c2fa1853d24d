#include "store/files/place.h"

#include "base/clock.h"
#include "base/file_calls.h"
#include "base/fork.h"
#include "base/record.h"
#include "base/second_look.h"
#include "base/system_error.h"
#include "location/location.h"
#include "store/failure.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <mutex>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace stepstore::store::files {

namespace {

constexpr std::uint32_t header_magic = 0x48465353; // "SSFH"
constexpr std::uint32_t owner_magic = 0x4f465353;  // "SSFO"

// File systems of which the machine has the only copy of a file in its cache. All others count as shared. In
// a simulation the file system stands for a shared one.
bool belongs_to_machine(const RootedPath& root)
{
    if (file_calls_are_watched()) return false;
    constexpr std::uint64_t xfs = 0x58465342, zfs = 0x2fc12fc1;
    constexpr std::uint64_t local[] = {EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC,     TMPFS_MAGIC, RAMFS_MAGIC,
                                       F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, xfs,         zfs};
    struct statfs about {};
    if (fstatfs(root.root(), &about) != 0) return false;
    return std::ranges::find(local, static_cast<std::uint64_t>(about.f_type) & 0xffffffff) != std::end(local);
}

// As part of a path: what else a host's name may have becomes '_'.
std::string host_for_path()
{
    std::string host = this_machine().host;
    std::ranges::replace_if(
        host,
        [](char c) {
            return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-');
        },
        '_');
    host.resize(std::min<std::size_t>(host.size(), 64));
    return host.empty() ? "_" : host;
}

} // namespace

std::string random_token()
{
    std::uint8_t bytes[16];
    std::size_t done = 0;
    while (done < sizeof bytes) {
        const ssize_t got = getrandom(&bytes[done], sizeof bytes - done, 0);
        if (got < 0 && errno != EINTR) fail_errno("a random number", "cannot ask the system for it");
        if (got > 0) done += static_cast<std::size_t>(got);
    }
    std::string token;
    for (const std::uint8_t byte : bytes) {
        token += "0123456789abcdef"[byte >> 4];
        token += "0123456789abcdef"[byte & 15];
    }
    return token;
}

std::vector<std::byte> encode_header(const Header& header)
{
    std::vector<std::byte> record(frame_size_of<std::uint32_t>);
    WireWriter to(record);
    to.bytes(std::as_bytes(std::span(header.uuid)));
    to.fixed(header.created);
    to.fixed(static_cast<std::uint8_t>(header.durability));
    to.text(header.label);
    seal_frame(record, header_magic, format_version);
    return record;
}

Header decode_header(Bytes bytes, const std::string& path)
{
    const std::string what = "pool " + path + ", the file " + files_header;
    WireReader from(unseal_frame(bytes, header_magic, format_version, what).body, what);
    Header header;
    const Bytes uuid = from.bytes(header.uuid.size());
    std::memcpy(header.uuid.data(), uuid.data(), uuid.size());
    header.created = from.fixed<std::uint64_t>();
    const auto durability = from.fixed<std::uint8_t>();
    if (durability > static_cast<std::uint8_t>(Durability::power)) from.fail("names no durability");
    header.durability = static_cast<Durability>(durability);
    header.label = from.text();
    return header;
}

std::optional<std::vector<std::byte>> read_file(const RootedPath& file)
{
    return read_file(file, [](Bytes) { return true; });
}

std::optional<std::vector<std::byte>> read_file(const RootedPath& file, FunctionRef<bool(Bytes)> is_right)
{
    const Descriptor fd = open_file(file, O_RDONLY);
    if (!fd) return std::nullopt;
    std::vector<std::byte> bytes;
    std::int64_t got = 0;
    const auto read = [&](std::uint64_t size) {
        bytes.resize(size);
        got = read_all(fd.get(), bytes, 0);
        bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
    };
    read(size_of(fd.get(), file));
    right_at_second_look([&] { return got < 0 || is_right(bytes); },
                         [&] {
                             const std::uint64_t size = fresh_size_of(fd.get(), file);
                             drop_cached(fd.get(), 0, size);
                             read(size);
                         });
    if (got < 0) return std::nullopt;
    return bytes;
}

std::optional<Header> read_header(const std::string& path)
{
    const RootedPath directory = RootedPath::directory(path);
    if (!directory) {
        if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
        fail_errno("pool " + path, "cannot open the directory" + owner_of(path));
    }
    const auto bytes = read_file(directory / files_header,
                                 [&](Bytes found) { return is_sound([&] { decode_header(found, path); }); });
    if (bytes) return decode_header(*bytes, path);
    if (errno == ENOENT) return std::nullopt;
    fail_errno("pool " + path,
               "cannot read the file " + std::string(files_header) + owner_of(directory / files_header));
}

std::vector<std::byte> encode_owner(const ProcessIdentity& process)
{
    std::vector<std::byte> record(frame_size_of<std::uint32_t>);
    WireWriter to(record);
    write_process(to, process);
    seal_frame(record, owner_magic, format_version);
    return record;
}

std::optional<ProcessIdentity> decode_owner(Bytes bytes)
{
    try {
        const std::string what = "the owner of temporary files";
        WireReader from(unseal_frame(bytes, owner_magic, format_version, what).body, what);
        return read_process(from);
    } catch (const Error&) {
        return std::nullopt;
    }
}

Place::Place(std::string path, Header header)
    : path_(std::move(path)), header_(std::move(header)),
      root_(RootedPath::directory(path_ + "/" + uuid_text(header_.uuid.data()))), host_(host_for_path())
{
    if (!root_) {
        if (errno == EACCES) fail_errno("pool " + path_, "cannot open the pool's directory");
        fail(DER_DF_INVAL, "pool " + path_ + ": its directory " + uuid_text(header_.uuid.data()) +
                               " is missing: put it back from a copy");
    }
    local_ = belongs_to_machine(root_);
    begin_nudges();
}

Place::~Place()
{
    if (nudges_.generation != process_generation()) (void)nudges_.nudger.release(); // the parent's
    if (temporary_.generation != process_generation()) return; // there is none, or it is the parent's
    remove(temporary_.directory / owner_name);
    remove(temporary_.directory); // what it still holds is for a repair
}

bool Place::is_current() const
{
    try {
        const auto now = read_header(path_);
        return now && now->uuid == header_.uuid;
    } catch (const Error&) {
        return true; // it cannot be read, and so it is there
    }
}

void Place::require_current() const
{
    if (!is_current()) fail(DER_STALE, "pool " + path_ + " was destroyed: close the handle");
}

void Place::begin_nudges() const
{
    if (nudges_.generation == process_generation()) return;
    (void)nudges_.nudger.release(); // the parent's
    nudges_.generation = process_generation();
    if (!file_calls_are_watched() && Nudger::may_help(root_.root()))
        nudges_.nudger = std::make_unique<Nudger>(path_);
}

RootedPath Place::temporary() const
{
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    if (temporary_.generation != process_generation()) {
        begin_nudges();
        const RootedPath directory = root_ / "temporary" / random_token();
        if (const int error = make_directories(directory); error != 0)
            throw system_error(error, "pool " + path_, "cannot make a directory for temporary files");
        make(directory / owner_name, {encode_owner(this_process())});
        for (const Compacting& other : compacting()) {
            if (other.dead) continue;
            remove(directory / owner_name);
            remove(directory);
            fail(DER_BUSY, "pool " + path_ + " is being compacted by " + other.owner +
                               ": try again when that has ended; if it was killed, remove " + other.mark);
        }
        temporary_ = {process_generation(), directory, 0};
    }
    return temporary_.directory / std::to_string(++temporary_.next);
}

std::vector<Place::Compacting> Place::compacting() const
{
    std::vector<Compacting> found;
    const RootedPath marks = root_ / compacting_name;
    for_each_name(marks, [&](const char* name, NameKind) {
        const auto bytes = read_file(marks / name);
        const auto owner = bytes ? decode_owner(*bytes) : std::nullopt;
        if (owner)
            found.push_back({marks / name, owner->text(), life_of(*owner) == Life::dead});
        else if (bytes || errno != ENOENT) // else it has ended meanwhile
            found.push_back({marks / name, "a process whose mark is damaged", false});
    });
    return found;
}

bool Place::is_compacted() const
{
    return std::ranges::any_of(compacting(), [](const Compacting& one) { return !one.dead; });
}

Place::InUse::InUse(const Place& place, Use use) : place_(place), use_(use), generation_(process_generation())
{
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    Uses& uses = place.uses_;
    if (uses.generation != generation_) uses = {generation_, 0, false}; // threads of the parent
    if (uses.compacts || (use == Use::compact && uses.updates > 0)) {
        fail(DER_BUSY, "pool " + place.path() + ": another thread of this process " +
                           (uses.compacts ? "compacts it" : "updates it") +
                           ": try again when that has ended");
    }
    if (use == Use::compact)
        uses.compacts = true;
    else
        ++uses.updates;
}

Place::InUse::~InUse()
{
    if (generation_ != process_generation()) return;
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    if (use_ == Use::compact)
        place_.uses_.compacts = false;
    else
        --place_.uses_.updates;
}

RootedPath Place::gone() const
{
    temporary(); // to remove is to update
    const RootedPath directory = root_ / "gone";
    if (const int error = make_directories(directory); error != 0)
        throw system_error(error, "pool " + path_, "cannot make the directory gone");
    return directory / random_token();
}

void Place::make(const RootedPath& file, const std::vector<Bytes>& pieces) const
{
    const Descriptor fd = open_file(file, O_WRONLY | O_CREAT | O_EXCL);
    if (!fd) fail_errno(file, "cannot make the file" + owner_of(file.parent()));
    const int error = write_all(fd.get(), pieces, 0);
    if (error != 0) {
        remove(file);
        throw system_error(error, file, "cannot write the file");
    }
    reach_readers(fd.get(), file);
}

void Place::reach_readers(int fd, const std::string& where) const
{
    if (local_ && header_.durability == Durability::process) return;
    const FileCallRuns runs;
    if (fdatasync(fd) != 0) fail_errno(where, "cannot sync the file");
    note_on_open(FileCall::sync, fd);
}

void Place::sync_names(const RootedPath& directory) const
{
    if (local_ && header_.durability == Durability::process) return;
    sync_directory(directory);
}

Descriptor Place::open_names(const RootedPath& directory) const
{
    if (local_ && header_.durability == Durability::process) return {};
    return open_file(directory, O_RDONLY | O_DIRECTORY);
}

void Place::sync_names(const Descriptor& opened, const RootedPath& directory) const
{
    if (opened) return sync_directory(opened, directory);
    sync_names(directory); // it was not there
}

void Place::forget_cached(int fd, std::uint64_t offset, std::uint64_t length) const
{
    if (!local_) drop_cached(fd, offset, length);
}

bool Place::remove_at_once(const RootedPath& tree) const
{
    const RootedPath away = gone();
    if (const int error = rename_file(tree, away); error != 0) {
        if (error == ENOENT) return false;
        throw system_error(error, tree, "cannot move it away to remove it");
    }
    if (const int error = remove_tree(away); error != 0 && error != ENOENT)
        throw system_error(error, away, "cannot remove it");
    return true;
}

void Place::opened(const Uuid& uuid)
{
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    open_.insert(uuid);
}

void Place::closed(const Uuid& uuid) noexcept
{
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    open_.erase(open_.find(uuid));
}

bool Place::is_open(const Uuid& uuid) const
{
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    return open_.contains(uuid);
}

} // namespace stepstore::store::files

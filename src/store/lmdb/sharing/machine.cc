#include "store/lmdb/sharing/machine.h"

#include "base/checksum.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/format.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace stepstore::store::lmdb {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* note_begin = "stepstore machine 1";
constexpr int signs_per_timeout = 3;
constexpr auto look_interval = 50ms;
constexpr auto settling = 200ms; // that a file needs at most to be seen by others

// Of which only one machine can have one: ext2 to ext4, xfs, btrfs, tmpfs, ramfs, f2fs, zfs, overlay,
// bcachefs, jfs, reiserfs, nilfs, vfat, exfat, ntfs.
constexpr std::uint64_t local_systems[] = {0xEF53,     0x58465342, 0x9123683E, 0x01021994, 0x858458F6,
                                           0xF2F52010, 0x2FC12FC1, 0x794C7630, 0xCA451A4E, 0x3153464A,
                                           0x52654973, 0x3434,     0x4D44,     0x2011BAB0, 0x7366746E};
constexpr std::pair<std::uint64_t, const char*> shared_systems[] = {
    {0x6969, "NFS"},        {0x517B, "SMB"},      {0xFF534D42, "SMB (CIFS)"}, {0xFE534D42, "SMB"},
    {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"},     {0x00C36400, "CephFS"},
    {0x65735546, "FUSE"},   {0x01021997, "9P"},   {0x01161970, "GFS2"},       {0x7461636F, "OCFS2"}};

std::string shared_file_system_of(const RootedPath& pool)
{
    if (pretends_machine()) return "a file system of a test";
    struct statfs status {};
    if (fstatfs(pool.root(), &status) != 0) return {};
    return shared_file_system(static_cast<std::uint64_t>(status.f_type));
}

std::chrono::milliseconds timeout_of_environment()
{
    constexpr double usual = 60, longest = 86'400; // seconds
    const char* text = std::getenv("STEPSTORE_MACHINE_TIMEOUT_SECS");
    char* end = nullptr;
    const double given = text != nullptr ? std::strtod(text, &end) : usual;
    const bool number = text == nullptr || (end != text && *end == '\0' && given >= 0 && given <= longest);
    if (!number)
        throw Error(-DER_INVAL,
                    std::string("STEPSTORE_MACHINE_TIMEOUT_SECS is '") + text + "': give 0 to 86400 seconds");
    return std::chrono::milliseconds(static_cast<std::int64_t>(given * 1000));
}

std::uint64_t now_ms()
{
    return nanoseconds(CLOCK_REALTIME) / 1'000'000;
}

std::int64_t steady_ms()
{
    return static_cast<std::int64_t>(nanoseconds(CLOCK_MONOTONIC) / 1'000'000);
}

} // namespace

std::string shared_file_system(std::uint64_t type)
{
    const std::uint64_t magic = type & 0xFFFFFFFF; // some kernels tell it with its sign
    if (std::ranges::find(local_systems, magic) != std::end(local_systems)) return {};
    for (const auto& [known, name] : shared_systems)
        if (known == magic) return name;
    char text[64];
    std::snprintf(text, sizeof text, "a file system of the unknown type %#llx",
                  static_cast<unsigned long long>(magic));
    return text;
}

bool MachineClaim::is_name(const std::string& file)
{
    const std::string begin = std::string(name) + ".";
    return file == name ||
           (file.starts_with(begin) && file.find_first_not_of("0123456789", begin.size()) == file.npos);
}

MachineClaim::MachineClaim(const RootedPath& pool) : MachineClaim(pool, shared_file_system_of(pool))
{
}

MachineClaim::MachineClaim(RootedPath pool, std::string file_system)
    : pool_(std::move(pool)), file_system_(std::move(file_system)),
      mine_(needed() ? this_machine() : Machine()), timeout_(needed() ? timeout_of_environment() : 0ms)
{
}

MachineClaim::~MachineClaim()
{
    if (!signs_.joinable()) return;
    signs_.request_stop();
    signs_.join();
}

// ---- the file

// Of the same length whenever it is written anew, so that it is replaced in one write.
std::string MachineClaim::encoded() const
{
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "process %llu\nsign %020llu\ntimeout %llu\n",
                  static_cast<unsigned long long>(getpid()), static_cast<unsigned long long>(now_ms()),
                  static_cast<unsigned long long>(timeout_.count()));
    std::string text = std::string(note_begin) + "\nhost " + mine_.host + "\nid " + mine_.id + "\nboot " +
                       mine_.boot + "\n" + numbers;
    return with_checksum(text);
}

// One that cannot be read is that of a machine of which nothing is known but its signs: the bytes change or
// not.
MachineClaim::Note MachineClaim::decode(const std::string& text)
{
    Note note;
    note.machine.host = "an unknown machine (its note is damaged)";
    const std::size_t end = text.rfind("checksum ");
    if (end == std::string::npos || !text.starts_with(note_begin)) return note;
    const std::string body = text.substr(0, end);
    if (text != with_checksum(body)) return note;
    const auto number = [&](std::string_view word) { return number_of(body, word).value_or(0); };
    note.machine = {std::string(value_of(body, "host").value_or("")),
                    std::string(value_of(body, "id").value_or("")),
                    std::string(value_of(body, "boot").value_or(""))};
    note.process = number("process");
    note.sign_ms = number("sign");
    note.timeout_ms = number("timeout");
    note.readable = true;
    return note;
}

std::optional<std::string> MachineClaim::read() const
{
    const RootedPath place = pool_ / name;
    const Descriptor fd = open_file(place, O_RDONLY);
    if (!fd && errno == ENOENT) return std::nullopt;
    if (!fd)
        fail_errno("pool " + pool_, "cannot read which machine writes it from " + place + owner_of(place));
    auto text = read_text(fd.get());
    if (!text) fail_errno("pool " + pool_, "cannot read " + place);
    return text;
}

// False: another one was faster.
bool MachineClaim::put_in_place(bool replace)
{
    static std::atomic<unsigned> count{0};
    const RootedPath fresh =
        pool_ / (std::string(name) + "." + std::to_string(getpid()) + std::to_string(count++) +
                 std::to_string(checksum(as_bytes(mine_.boot))));
    const std::string text = encoded();
    {
        const Descriptor fd = open_file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
        int error = fd ? write_all(fd.get(), {as_bytes(text)}, 0) : errno;
        if (error == 0 && fsync(fd.get()) != 0) error = errno;
        if (error != 0) {
            remove(fresh);
            fail(error, "pool " + pool_,
                 "cannot write the note of this machine to " + fresh + owner_of(pool_));
        }
    }
    if (!replace) {
        const int error = link_file(fresh, pool_ / name);
        if (error == 0 || error == EEXIST) {
            remove(fresh);
            return error == 0;
        }
    } // else, or where there are no links
    if (const int error = rename_file(fresh, pool_ / name); error != 0) {
        remove(fresh);
        fail(error, "pool " + pool_, "cannot put the note of this machine in place" + owner_of(pool_));
    }
    std::this_thread::sleep_for(settling);
    const auto there = read();
    return there && decode(*there).machine.same_as(mine_);
}

// ---- whether another one lives

void MachineClaim::refuse(const Note& other) const
{
    throw Error(
        -DER_BUSY,
        "pool " + pool_ + " is being written by machine " + other.machine.host + " (process " +
            std::to_string(other.process) + "), and this is " + mine_.host +
            ": a local pool belongs to one machine at a time. Run all processes on one machine, give each "
            "machine a pool of its own, or use a cluster (rados://CEPHPOOL or daos://POOL/CONTAINER). If the "
            "first machine died, this one may take over after STEPSTORE_MACHINE_TIMEOUT_SECS (60; 0: at "
            "once) without a sign of life");
}

// Returns when the machine that wrote this is dead or does not write any more.
void MachineClaim::wait_until_over(const std::string& text) const
{
    const Note other = decode(text);
    if (timeout_ == 0ms || mine_.was_restarted_since(other.machine)) return;
    const std::uint64_t now = now_ms();
    const std::uint64_t age = std::max(now, other.sign_ms) - std::min(now, other.sign_ms);
    if (other.readable && age < other.timeout_ms * 2 / signs_per_timeout) refuse(other);
    const std::chrono::milliseconds its_own(
        std::min<std::uint64_t>(other.timeout_ms, 86'400'000)); // at most a day
    const auto patience = std::max(timeout_, its_own);
    const auto begin = Clock::now();
    while (Clock::now() - begin < patience) {
        std::this_thread::sleep_for(look_interval);
        stop_if_asked("pool " + static_cast<const std::string&>(pool_));
        const auto current = read();
        if (!current) return;
        if (*current != text) refuse(decode(*current));
    }
}

void MachineClaim::require_no_other() const
{
    if (!needed()) return;
    const auto text = read();
    if (text && !decode(*text).machine.same_as(mine_)) wait_until_over(*text);
}

// ---- this one

void MachineClaim::claim()
{
    if (!needed() || claimed()) return;
    const std::lock_guard lock(claiming_);
    if (claimed()) return;
    for (;;) {
        const auto text = read();
        if (text && decode(*text).machine.same_as(mine_)) break;
        if (text) wait_until_over(*text);
        if (!put_in_place(text.has_value())) continue;
        std::fprintf(
            stderr,
            "stepstore: pool %s lies on %s, which several machines may share: only %s can write it now, and "
            "it may be slow; use a directory on a local disk if you can\n",
            static_cast<const std::string&>(pool_).c_str(), file_system_.c_str(), mine_.host.c_str());
        break;
    }
    signed_ms_ = steady_ms();
    lost_ = false;
    claimed_.store(true, std::memory_order_release);
    if (timeout_ > 0ms) signs_ = std::jthread([this](const std::stop_token& stop) { give_signs(stop); });
}

// False: the file is another machine's, or gone. Where it was replaced in between, the sign goes to the old
// one.
bool MachineClaim::give_sign()
{
    const Descriptor fd = open_file(pool_ / name, O_RDWR);
    if (!fd && errno == ENOENT) return false;
    if (!fd) return true; // it may be over by the next sign
    const auto text = read_text(fd.get());
    if (!text) return true;
    const Note there = decode(*text);
    if (there.readable && !there.machine.same_as(mine_)) return false;
    const std::string fresh = encoded();
    if (write_all(fd.get(), {as_bytes(fresh)}, 0) == 0 &&
        ftruncate(fd.get(), static_cast<off_t>(fresh.size())) == 0)
        signed_ms_ = steady_ms();
    return true;
}

void MachineClaim::give_signs(const std::stop_token& stop)
{
    std::unique_lock lock(waiting_);
    while (
        !stopped_.wait_for(lock, stop, timeout_ / signs_per_timeout, [&] { return stop.stop_requested(); })) {
        if (stop.stop_requested()) return;
        if (give_sign()) continue;
        lost_ = true;
        return;
    }
}

void MachineClaim::require_held()
{
    if (!claimed()) return;
    if (!lost_ && timeout_ > 0ms && steady_ms() - signed_ms_ > timeout_.count() && !give_sign()) lost_ = true;
    if (!lost_) return;
    throw Error(-DER_STALE,
                "pool " + pool_ + " was taken over by another machine, to which " + mine_.host +
                    " seemed dead (no sign of life for longer than STEPSTORE_MACHINE_TIMEOUT_SECS), or its "
                    "file " +
                    name + " was removed: what this process writes is not kept any more");
}

void MachineClaim::give_back() noexcept
{
    if (!needed()) return;
    try {
        const auto text = read();
        if (text && decode(*text).machine.same_as(mine_)) remove(pool_ / name);
    } catch (...) { // then it counts as dead after the time-out
    }
}

} // namespace stepstore::store::lmdb

#include "base/files.h"

#include "base/file_calls.h"
#include "base/nudge.h"
#include "base/system_error.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace stepstore {

namespace {

// Bytes a call; the kernel's own limit is just below 2 GiB.
constexpr std::size_t call_limit = std::size_t{1} << 30;

struct stat status_of(int fd, const std::string& where)
{
    const FileCallRuns runs;
    struct stat status {};
    if (fstat(fd, &status) != 0) fail_errno(where, "cannot look at the file");
    return status;
}

// Takes `done` bytes off the front of the pieces, from piece `first` on.
void advance(std::vector<iovec>& pieces, std::size_t& first, std::size_t done)
{
    while (first < pieces.size() && done >= pieces[first].iov_len) {
        done -= pieces[first].iov_len;
        ++first;
    }
    if (first == pieces.size()) return;
    pieces[first].iov_base = static_cast<std::byte*>(pieces[first].iov_base) + done;
    pieces[first].iov_len -= done;
}

// ELOOP for a link, also where the system's word for it is another one.
int open_part(int parent, const std::string& part, int flags, unsigned mode)
{
    const int fd = openat(parent, part.c_str(), flags | O_NOFOLLOW, mode);
    if (fd >= 0 || errno != ENOTDIR) return fd;
    struct stat status {};
    const bool link =
        fstatat(parent, part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
    errno = link ? ELOOP : ENOTDIR;
    return -1;
}

// Part by part, for kernels (before 5.6) and containers without openat2.
int open_by_parts(int root, const std::string& below, int flags, unsigned mode)
{
    Descriptor directory;
    std::size_t at = 0;
    for (;;) {
        const std::size_t end = below.find('/', at);
        const std::string part = below.substr(at, end - at);
        if (part.empty() || part == "..") {
            errno = EINVAL;
            return -1;
        }
        const int parent = directory ? directory.get() : root;
        if (end == std::string::npos) return open_part(parent, part, flags, mode);
        Descriptor next(open_part(parent, part, O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
        if (!next) return -1;
        directory = std::move(next);
        at = end + 1;
    }
}

int open_below(int root, const std::string& below, int flags, unsigned mode)
{
    static std::atomic<bool> lacking{false};
    if (!lacking.load(std::memory_order_relaxed)) {
        open_how how{};
        how.flags = static_cast<std::uint64_t>(flags);
        how.mode = (flags & O_CREAT) != 0 ? mode : 0;
        how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
        const long fd = syscall(SYS_openat2, root, below.c_str(), &how, sizeof how);
        if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(fd);
        if (errno == ENOSYS) lacking = true; // EPERM: perhaps a filter of system calls, else it comes again
    }
    return open_by_parts(root, below, flags, mode);
}

// The directory in which a place lies, for calls that take a descriptor and a name. Empty and errno on
// failure.
Descriptor open_parent(const RootedPath& place)
{
    return open_file(place.parent(), O_PATH | O_DIRECTORY);
}

int result_of(int done)
{
    return done == 0 ? 0 : errno;
}

// Of a call that makes or removes a name: the errno of its result, after it was noted.
int noted(FileCall::Kind kind, const RootedPath& place, int error)
{
    note_file_call(error == 0 ? kind : FileCall::look, place);
    return error;
}

int noted_as(const RootedPath& from, const RootedPath& to, int error)
{
    if (error != 0) return noted(FileCall::look, to, error);
    note_named(from, to);
    return 0;
}

void note_open(const Descriptor& fd, const RootedPath& place, int flags)
{
    if ((flags & O_PATH) != 0) return;
    if (!fd) return note_file_call(FileCall::look, place);
    note_opened((flags & O_EXCL) != 0 ? FileCall::make : FileCall::open, place, fd.get());
}

} // namespace

Descriptor::~Descriptor()
{
    if (fd_ >= 0) close(fd_);
}

// ---- places

RootedPath RootedPath::directory(const std::string& path)
{
    RootedPath place;
    Descriptor root = open_file(path, O_PATH | O_DIRECTORY);
    if (!root) return place;
    place.root_ = std::make_shared<const Descriptor>(std::move(root));
    place.root_length_ = path.size();
    place.path_ = path;
    return place;
}

RootedPath RootedPath::operator/(const std::string& name) const
{
    RootedPath place = *this;
    place.path_ += '/';
    place.path_ += name;
    return place;
}

RootedPath RootedPath::parent() const
{
    RootedPath place = *this;
    place.path_.resize(std::max(root_length_, path_.rfind('/')));
    return place;
}

Descriptor open_file(const std::string& path, int flags, unsigned mode)
{
    const FileCallRuns runs;
    int fd;
    do
        fd = open(path.c_str(), flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return Descriptor(fd);
}

// Without waiting, as an open of a pipe would for its other end. Only where another program holds a lease on
// the file does the system wait.
Descriptor open_file(const RootedPath& place, int flags, unsigned mode)
{
    const FileCallRuns runs;
    int more = O_CLOEXEC | ((flags & O_PATH) != 0 ? 0 : O_NONBLOCK | O_NOCTTY);
    const std::string below = place.below();
    int result;
    do {
        result = open_below(place.root(), below, flags | more, mode);
        if (result < 0 && errno == EAGAIN) more &= ~O_NONBLOCK;
    } while (result < 0 && (errno == EINTR || errno == EAGAIN));
    Descriptor fd(result);
    note_open(fd, place, flags);
    if (!fd || (flags & O_PATH) != 0) return fd;
    struct stat status {};
    const bool looked = fstat(fd.get(), &status) == 0;
    if (looked && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return fd;
    if (looked) errno = EINVAL;
    return {};
}

DirectoryPath::DirectoryPath(const RootedPath& directory) : fd_(open_file(directory, O_PATH | O_DIRECTORY))
{
    if (!fd_) fail_errno(directory, "cannot open the directory" + owner_of(directory));
    path_ = "/proc/self/fd/" + std::to_string(fd_.get());
    if (access(path_.c_str(), F_OK) != 0) path_ = directory; // a container without /proc
}

Descriptor open_lock_file(const RootedPath& place, bool make)
{
    const Descriptor directory = open_parent(place);
    struct stat around {};
    if (!directory || fstat(directory.get(), &around) != 0) return {};
    const bool group = (around.st_mode & S_IWGRP) != 0;
    const bool others = (around.st_mode & S_IWOTH) != 0;
    const unsigned mode = 0600U | (group ? 0060U : 0U) | (others ? 0006U : 0U);
    Descriptor fd = open_file(place, O_RDWR | (make ? O_CREAT : 0), mode);
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0) return {};
    const bool ours = status.st_uid == geteuid() || geteuid() == 0;
    // Where that fails it stays as it was.
    if (ours && (status.st_mode & 0777) != mode) (void)!fchmod(fd.get(), mode);
    return fd;
}

namespace {

// All of the pieces. The number of bytes until a call moved none; -1 and errno on failure.
template <class Memory>
std::int64_t move_all(ssize_t (*call)(int, const iovec*, int, off_t), FileCall::Kind kind, int fd,
                      const std::vector<Memory>& pieces, std::uint64_t offset)
{
    std::vector<iovec> rest;
    rest.reserve(pieces.size());
    for (const Memory& piece : pieces) {
        // No call may take more than the limit, so no piece is longer than it.
        for (std::size_t at = 0; at < piece.size(); at += call_limit) {
            const std::size_t length = std::min(call_limit, piece.size() - at);
            rest.push_back({const_cast<std::byte*>(piece.data() + at), length});
        }
    }
    std::int64_t moved = 0;
    std::size_t first = 0;
    while (first < rest.size()) {
        std::size_t count = 0;
        std::size_t bytes = 0;
        while (first + count < rest.size() && count < IOV_MAX &&
               bytes + rest[first + count].iov_len <= call_limit)
            bytes += rest[first + count++].iov_len;
        const ssize_t done =
            call(fd, rest.data() + first, static_cast<int>(count), static_cast<off_t>(offset) + moved);
        if (done < 0) {
            if (errno == EINTR) continue;
            return -1;
        }
        note_on_open(kind, fd, offset + static_cast<std::uint64_t>(moved), static_cast<std::uint64_t>(done));
        if (done == 0) break;
        moved += done;
        advance(rest, first, static_cast<std::size_t>(done));
    }
    return moved;
}

template <class Memory>
std::int64_t bytes_in(const std::vector<Memory>& pieces)
{
    std::int64_t bytes = 0;
    for (const Memory& piece : pieces)
        bytes += std::ssize(piece);
    return bytes;
}

} // namespace

int write_all(int fd, const std::vector<Bytes>& pieces, std::uint64_t offset)
{
    const FileCallRuns runs;
    const std::int64_t written = move_all(pwritev, FileCall::write, fd, pieces, offset);
    if (written < 0) return errno;
    return written < bytes_in(pieces) ? ENOSPC : 0;
}

std::int64_t read_all(int fd, const std::vector<MutableBytes>& into, std::uint64_t offset)
{
    const FileCallRuns runs;
    return move_all(preadv, FileCall::read, fd, into, offset);
}

std::int64_t read_all(int fd, MutableBytes into, std::uint64_t offset)
{
    const FileCallRuns runs;
    std::size_t done = 0;
    while (done < into.size()) {
        const std::size_t length = std::min(call_limit, into.size() - done);
        const ssize_t got = pread(fd, into.data() + done, length, static_cast<off_t>(offset + done));
        if (got < 0) {
            if (errno == EINTR) continue;
            return -1;
        }
        note_on_open(FileCall::read, fd, offset + done, static_cast<std::uint64_t>(got));
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return static_cast<std::int64_t>(done);
}

void drop_cached(int fd, std::uint64_t offset, std::uint64_t length)
{
    // Whole pages, as parts of them are kept.
    constexpr std::uint64_t page = 1 << 16; // of any machine
    const std::uint64_t begin = offset / page * page;
    const std::uint64_t end = (offset + length + page - 1) / page * page;
    (void)posix_fadvise(fd, static_cast<off_t>(begin), static_cast<off_t>(end - begin), POSIX_FADV_DONTNEED);
    note_on_open(FileCall::forget, fd, begin, end - begin);
}

std::optional<std::string> read_text(int fd, std::size_t most)
{
    std::string text(most, '\0');
    const std::int64_t length = read_all(fd, std::as_writable_bytes(std::span(text)), 0);
    if (length < 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(length));
    return text;
}

void make_file(const RootedPath& place, Bytes content)
{
    const Descriptor fd = open_file(place, O_WRONLY | O_CREAT | O_EXCL);
    if (!fd) fail_errno(place, "cannot make the file");
    if (const int error = write_all(fd.get(), {content}, 0); error != 0)
        throw system_error(error, place, "cannot write the file");
    if (fsync(fd.get()) != 0) fail_errno(place, "cannot sync the file");
}

int resize_file(int fd, std::uint64_t bytes)
{
    const FileCallRuns runs;
    while (ftruncate(fd, static_cast<off_t>(bytes)) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

int punch_hole(int fd, std::uint64_t offset, std::uint64_t length)
{
    const FileCallRuns runs;
    while (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                     static_cast<off_t>(length)) != 0)
        if (errno != EINTR) return errno == ENOSYS ? EOPNOTSUPP : errno;
    return 0;
}

std::optional<int> lock_bytes(int fd, int command, int kind, std::uint64_t at, std::uint64_t length)
{
    struct flock lock {};
    lock.l_type = static_cast<short>(kind);
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(at);
    lock.l_len = static_cast<off_t>(length);
    while (fcntl(fd, command, &lock) != 0)
        if (errno != EINTR) return std::nullopt;
    return lock.l_type;
}

bool try_lock(int fd, Lock kind, const std::string& where)
{
    if (lock_bytes(fd, F_OFD_SETLK, kind == Lock::shared ? F_RDLCK : F_WRLCK)) return true;
    if (errno != EAGAIN && errno != EACCES) fail_errno(where, "cannot lock the file");
    return false;
}

std::uint64_t size_of(int fd, const std::string& where)
{
    return static_cast<std::uint64_t>(status_of(fd, where).st_size);
}

std::uint64_t allocated_of(int fd, const std::string& where)
{
    constexpr std::uint64_t block = 512; // bytes, everywhere
    return static_cast<std::uint64_t>(status_of(fd, where).st_blocks) * block;
}

bool unlinked(int fd, const std::string& where)
{
    return status_of(fd, where).st_nlink == 0;
}

bool same_file(int one, int other, const std::string& where)
{
    const struct stat first = status_of(one, where);
    const struct stat second = status_of(other, where);
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool lies_at(int fd, const RootedPath& place)
{
    struct stat named {};
    struct stat open {};
    return fstatat(place.root(), place.below().c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(fd, &open) == 0 && named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

// What the server of the file system says now, and not what this machine remembers.
std::uint64_t links_of(const RootedPath& place)
{
    const FileCallRuns runs;
    struct statx now {};
    constexpr int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC;
    note_file_call(FileCall::look, place);
    return statx(place.root(), place.below().c_str(), flags, STATX_NLINK, &now) == 0 ? now.stx_nlink : 0;
}

std::uint64_t fresh_size_of(int fd, const std::string& where)
{
    const FileCallRuns runs;
    struct statx now {};
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &now) != 0)
        fail_errno(where, "cannot look at the file");
    note_on_open(FileCall::size, fd);
    return now.stx_size;
}

bool exists(const RootedPath& place)
{
    const FileCallRuns runs;
    struct stat status {};
    note_file_call(FileCall::look, place);
    return fstatat(place.root(), place.below().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool can_write(const RootedPath& place)
{
    const FileCallRuns runs;
    note_file_call(FileCall::look, place);
    // Of a link, whatever it leads to: who opens it hears that it is one.
    return faccessat(place.root(), place.below().c_str(), W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

int make_directory(const RootedPath& place)
{
    const FileCallRuns runs;
    const Descriptor parent = open_parent(place);
    return parent ? noted(FileCall::make, place, result_of(mkdirat(parent.get(), place.name().c_str(), 0777)))
                  : errno;
}

int make_directories(const RootedPath& place)
{
    if (place.below() != ".") {
        if (const int error = make_directories(place.parent()); error != 0) return error;
        if (const int error = make_directory(place); error != 0 && error != EEXIST) return error;
    }
    return open_file(place, O_PATH | O_DIRECTORY) ? 0 : errno;
}

int rename_file(const RootedPath& from, const RootedPath& to)
{
    const FileCallRuns runs;
    const Descriptor source = open_parent(from);
    const Descriptor target = source ? open_parent(to) : Descriptor();
    if (!target) return errno;
    return noted_as(from, to,
                    result_of(renameat(source.get(), from.name().c_str(), target.get(), to.name().c_str())));
}

int link_file(const RootedPath& from, const RootedPath& to)
{
    const FileCallRuns runs;
    const Descriptor source = open_parent(from);
    const Descriptor target = source ? open_parent(to) : Descriptor();
    if (!target) return errno;
    return noted_as(from, to,
                    result_of(linkat(source.get(), from.name().c_str(), target.get(), to.name().c_str(), 0)));
}

int make_note(const RootedPath& place, const std::string& text)
{
    const FileCallRuns runs;
    const Descriptor parent = open_parent(place);
    return parent ? noted(FileCall::make, place,
                          result_of(symlinkat(text.c_str(), parent.get(), place.name().c_str())))
                  : errno;
}

std::optional<std::string> read_note(const RootedPath& place)
{
    const FileCallRuns runs;
    const Descriptor parent = open_parent(place);
    char text[PATH_MAX];
    const ssize_t length = parent ? readlinkat(parent.get(), place.name().c_str(), text, sizeof text) : -1;
    if (parent) note_file_call(FileCall::look, place);
    if (length < 0) return std::nullopt;
    return std::string(text, static_cast<std::size_t>(length));
}

int remove(const RootedPath& place)
{
    const FileCallRuns runs;
    const Descriptor parent = open_parent(place);
    if (!parent) return errno;
    const std::string name = place.name();
    const int error = noted(FileCall::remove, place, result_of(unlinkat(parent.get(), name.c_str(), 0)));
    if (error != EISDIR && error != EPERM) return error; // EPERM: what some file systems say of a directory
    return noted(FileCall::remove, place, result_of(unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR)));
}

int remove_tree(const RootedPath& place)
{
    const int error = remove(place);
    if (error != ENOTEMPTY && error != EEXIST) return error == ENOENT ? 0 : error;
    for (const std::string& name : names_in(place))
        if (const int below = remove_tree(place / name); below != 0) return below;
    return remove(place);
}

namespace {

NameKind kind_of(int directory, const dirent& entry)
{
    unsigned char type = entry.d_type;
    if (type == DT_UNKNOWN) {
        struct stat status {};
        if (fstatat(directory, static_cast<const char*>(entry.d_name), &status, AT_SYMLINK_NOFOLLOW) == 0)
            type = static_cast<unsigned char>(IFTODT(status.st_mode));
    }
    return type == DT_REG   ? NameKind::file
           : type == DT_LNK ? NameKind::note
           : type == DT_DIR ? NameKind::directory
                            : NameKind::other;
}

void read_directory(Descriptor fd, const RootedPath& directory,
                    FunctionRef<void(int directory, const dirent&)> each)
{
    const FileCallRuns runs;
    DIR* stream = fd ? fdopendir(fd.get()) : nullptr;
    if (stream == nullptr) {
        const int error = errno;
        throw system_error(error, directory,
                           "cannot list the directory" + (error == EACCES ? owner_of(directory) : ""));
    }
    fd.release(); // the stream's now
    const std::unique_ptr<DIR, int (*)(DIR*)> closed(stream, &closedir);
    std::uint64_t names = 0;
    errno = 0;
    while (const dirent* entry = readdir(stream)) {
        const std::string_view name(static_cast<const char*>(entry->d_name));
        if (name != "." && name != "..") each(dirfd(stream), *entry);
        ++names;
        errno = 0;
    }
    note_file_call(FileCall::list, directory, names);
    if (errno != 0) fail_errno(directory, "cannot list the directory");
}

std::vector<std::string> read_names(Descriptor fd, const RootedPath& directory)
{
    std::vector<std::string> names;
    read_directory(std::move(fd), directory,
                   [&](int, const dirent& entry) { names.emplace_back(entry.d_name); });
    std::ranges::sort(names);
    return names;
}

// A file system that cannot sync directories counts as one that need not.
void sync_names(const Descriptor& fd, const std::string& directory)
{
    const FileCallRuns runs;
    if (!fd) fail_errno(directory, "cannot open the directory");
    if (fsync(fd.get()) != 0 && errno != EINVAL) fail_errno(directory, "cannot sync the directory");
    note_on_open(FileCall::sync_names, fd.get());
}

} // namespace

std::vector<std::string> names_in(const RootedPath& directory)
{
    return read_names(open_file(directory, O_RDONLY | O_DIRECTORY), directory);
}

bool for_each_name(const RootedPath& directory, FunctionRef<void(const char*, NameKind)> each)
{
    Descriptor fd = open_file(directory, O_RDONLY | O_DIRECTORY);
    if (!fd && errno == ENOENT) return false;
    read_directory(std::move(fd), directory, [&](int at, const dirent& entry) {
        each(static_cast<const char*>(entry.d_name), kind_of(at, entry));
    });
    return true;
}

void sync_directory(const RootedPath& directory)
{
    sync_names(open_file(directory, O_RDONLY | O_DIRECTORY), directory);
}

void sync_directory(const Descriptor& fd, const std::string& directory)
{
    sync_names(fd, directory);
}

void sync_directory(const std::string& directory)
{
    sync_names(open_file(directory, O_RDONLY | O_DIRECTORY), directory);
}

void sync_tree(const RootedPath& place)
{
    Descriptor fd = open_file(place, O_RDONLY);
    if (!fd) {
        // a pipe, a socket
        const bool nothing = errno == ENOENT || errno == ELOOP || errno == EINVAL || errno == ENXIO;
        if (nothing) return;
        fail_errno(place, "cannot open it to sync it" + owner_of(place));
    }
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) fail_errno(place, "cannot look at the file");
    if (!S_ISDIR(status.st_mode)) {
        if (fsync(fd.get()) != 0) fail_errno(place, "cannot sync the file");
        return;
    }
    sync_names(fd, place);
    for (const std::string& name : read_names(std::move(fd), place)) // closed then, however deep it goes
        sync_tree(place / name);
}

} // namespace stepstore

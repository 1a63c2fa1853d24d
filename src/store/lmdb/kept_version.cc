#include "store/lmdb/kept_version.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/fork.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

constexpr off_t announcement_at = off_t{1} << 61;
static_assert(sizeof(off_t) == 8);
constexpr char kept_magic[8] = {'S', 'T', 'K', 'E', 'P', 'T', '1', '\n'};

// Whether somebody else's lock is in the way of one of this kind on this byte. Locks of this process that
// belong to no open file count as somebody else's.
bool in_the_way(int fd, short kind, off_t at)
{
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = at;
    lock.l_len = 1;
    while (fcntl(fd, F_OFD_GETLK, &lock) != 0) {
        if (errno != EINTR) return false;
    }
    return lock.l_type != F_UNLCK;
}

} // namespace

std::array<std::byte, KeptVersion::size> KeptVersion::encoded() const
{
    std::array<std::byte, size> bytes{};
    std::memcpy(bytes.data(), kept_magic, sizeof kept_magic);
    std::size_t at = sizeof kept_magic;
    for (const std::uint64_t word : {version, index, process, slot}) {
        store_little(bytes.data() + at, word);
        at += sizeof word;
    }
    store_little(bytes.data() + at, checksum(Bytes(bytes).first(at)));
    return bytes;
}

std::optional<KeptVersion> KeptVersion::decode(const std::array<std::byte, size>& bytes)
{
    const auto word = [&](std::size_t number) {
        return load_little<std::uint64_t>(bytes.data() + sizeof kept_magic + number * 8);
    };
    if (std::memcmp(bytes.data(), kept_magic, sizeof kept_magic) != 0) return std::nullopt;
    if (word(4) != checksum(Bytes(bytes).first(size - 8))) return std::nullopt;
    return KeptVersion{word(0), word(1), word(2), word(3)};
}

bool held_for_writing(int fd)
{
    return in_the_way(fd, F_RDLCK, 0);
}

bool take_for_writing(int fd)
{
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    int result;
    do
        result = fcntl(fd, F_SETLK, &lock);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

bool announced(int data)
{
    return in_the_way(data, F_WRLCK, announcement_at);
}

KeptFile KeptFile::open(const Place& path, int data)
{
    KeptFile file;
    Descriptor fd = open_file(path, O_RDONLY);
    std::array<std::byte, KeptVersion::size> bytes;
    struct stat status {};
    if (!fd || read_all(fd.get(), bytes, 0) != static_cast<std::int64_t>(bytes.size())) return file;
    const auto said = KeptVersion::decode(bytes);
    if (!said || fstat(data, &status) != 0 || status.st_ino != said->index) return file;
    file.said_ = *said;
    file.fd_ = std::move(fd);
    return file;
}

bool KeptFile::living() const
{
    return fd_ && held_for_writing(fd_.get());
}

// The lock is looked at before the name: each alone says that the keep was in force until then.
bool KeptView::in_force() const
{
    if (!file_.living()) return false;
    struct stat named {};
    struct stat open {};
    return fstatat(path_.root(), path_.below().c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(file_.fd_.get(), &open) == 0 && named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

bool KeptView::keeps(std::uint64_t version)
{
    if (!in_force()) {
        file_ = KeptFile::open(path_, data_);
        if (!in_force()) {
            file_ = {};
            return false;
        }
    }
    return file_.said().version <= version;
}

namespace {

// A lock of the open file: other threads of this process may announce themselves as well.
bool lock_announcement(int fd, short kind)
{
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = announcement_at;
    lock.l_len = 1;
    while (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        if (errno != EINTR) return false;
    }
    return true;
}

} // namespace

Announcement::Announcement(const Place& data)
    : fd_(open_file(data, O_RDONLY)), generation_(process_generation())
{
    if (!fd_) return;
    close_in_children(fd_.get());
    lock_announcement(fd_.get(), F_RDLCK);
}

Announcement::~Announcement()
{
    if (!fd_) return;
    if (generation_ != process_generation()) {
        fd_.release(); // closed already
        return;
    }
    lock_announcement(fd_.get(), F_UNLCK); // also where a fork was faster than close_in_children
    forget_in_children(fd_.get());
}

} // namespace stepstore::store::lmdb

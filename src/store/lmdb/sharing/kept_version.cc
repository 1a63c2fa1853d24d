#include "store/lmdb/sharing/kept_version.h"

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

constexpr std::uint64_t announcement_at = std::uint64_t{1} << 61;
static_assert(sizeof(off_t) == 8);
constexpr char kept_magic[8] = {'S', 'T', 'K', 'E', 'P', 'T', '1', '\n'};

// Whether somebody else's lock is in the way of one of this kind on this byte. Locks of this process that
// belong to no open file count as somebody else's.
bool in_the_way(int fd, int kind, std::uint64_t at)
{
    return lock_bytes(fd, F_OFD_GETLK, kind, at, 1).value_or(F_UNLCK) != F_UNLCK;
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
    return lock_bytes(fd, F_SETLK, F_WRLCK, 0, 1).has_value();
}

bool announced(int data)
{
    return in_the_way(data, F_WRLCK, announcement_at);
}

KeptFile KeptFile::open(const RootedPath& path, int data)
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

// A lock of the open file: other threads of this process may announce themselves as well.
Announcement::Announcement(const RootedPath& data)
    : fd_(open_file(data, O_RDONLY)), generation_(process_generation())
{
    if (!fd_) return;
    close_in_children(fd_.get());
    lock_bytes(fd_.get(), F_OFD_SETLK, F_RDLCK, announcement_at, 1);
}

Announcement::~Announcement()
{
    if (!fd_) return;
    if (generation_ != process_generation()) {
        fd_.release(); // closed already
        return;
    }
    // Also where a fork was faster than close_in_children.
    lock_bytes(fd_.get(), F_OFD_SETLK, F_UNLCK, announcement_at, 1);
    forget_in_children(fd_.get());
}

} // namespace stepstore::store::lmdb

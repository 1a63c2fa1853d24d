#include "store/lmdb/sharing/write_again.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

constexpr std::size_t block = 4096; // what direct reads and writes begin and end at

// Linux keeps at most so many pages of a file as one unit.
std::size_t piece_size()
{
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) * 2048;
}

struct Freed {
    void operator()(char* memory) const { std::free(memory); }
};

class Comparison {
public:
    Comparison(const Descriptor& cached, const Descriptor& direct, bool may_write)
        : cached_(cached.get()), direct_(direct.get()), may_write_(may_write), memory_(aligned()),
          medium_(aligned())
    {
    }

    // The piece that begins at `at`.
    bool settle(off_t at)
    {
        if (!memory_ || !medium_) return fail(ENOMEM);
        const ssize_t stored = pread(direct_, medium_.get(), piece_, at); // first: it writes what waits
        const ssize_t length = pread(cached_, memory_.get(), piece_, at);
        if (stored < 0 || length < 0) return false;
        if (stored != length) return fail(EBUSY); // it has just become longer or shorter
        const auto end = static_cast<std::size_t>(length);
        std::size_t from = differing(0, end);
        if (from == end) return true;
        if (!may_write_) return fail(EBUSY);
        int error = 0;
        while (error == 0 && from < end) {
            std::size_t to = from;
            while (to < end && differs(to, end))
                to += block;
            to = std::min(to, end);
            if (!write(direct_, from, to, at)) error = errno;
            from = differing(to, end);
        }
        // Where the system could not drop its memory, it has written there first, as usual: see (2).
        if (pread(direct_, medium_.get(), piece_, at) != length && error == 0) error = EIO;
        for (from = differing(0, end); from < end; from = differing(from + block, end)) {
            if (error == 0) error = EIO;
            (void)write(cached_, from, std::min(from + block, end), at); // back into memory
        }
        return error == 0 || fail(error);
    }
    std::size_t piece() const { return piece_; }

private:
    std::unique_ptr<char, Freed> aligned() const
    {
        return std::unique_ptr<char, Freed>(static_cast<char*>(std::aligned_alloc(block, piece_)));
    }
    static bool fail(int error)
    {
        errno = error;
        return false;
    }
    std::size_t differing(std::size_t from, std::size_t end) const // the first block; `end`: none
    {
        while (from < end && !differs(from, end))
            from += block;
        return std::min(from, end);
    }
    bool differs(std::size_t from, std::size_t end) const
    {
        return std::memcmp(memory_.get() + from, medium_.get() + from, std::min(block, end - from)) != 0;
    }
    bool write(int fd, std::size_t from, std::size_t to, off_t at) const
    {
        const ssize_t written = pwrite(fd, memory_.get() + from, to - from, at + static_cast<off_t>(from));
        if (written < 0) return false;
        // The system cuts writes short where space ends.
        return static_cast<std::size_t>(written) == to - from || fail(ENOSPC);
    }

    const std::size_t piece_ = piece_size();
    const int cached_;
    const int direct_;
    const bool may_write_;
    const std::unique_ptr<char, Freed> memory_;
    const std::unique_ptr<char, Freed> medium_;
};

} // namespace

bool write_again(const RootedPath& path, bool may_write, std::atomic<off_t>& first)
{
    const int access = may_write ? O_RDWR : O_RDONLY;
    const Descriptor cached = open_file(path, access);
    const Descriptor direct = open_file(path, access | O_DIRECT);
    if (!cached || !direct) return false;
    Comparison both(cached, direct, may_write);
    const auto piece = static_cast<off_t>(both.piece());
    const off_t tried = first.load(); // while there is no room, this one tells it, and no other need be read
    if (tried != 0 && !both.settle(tried - tried % piece)) return false;
    for (off_t at = 0;; at += piece) {
        const off_t data = lseek(cached.get(), at, SEEK_DATA);
        if (data < 0) return errno == ENXIO; // none up to the file's end
        at = data - data % piece;
        if (both.settle(at)) continue;
        first = at;
        return false;
    }
}

} // namespace stepstore::store::lmdb

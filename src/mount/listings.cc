// Directories are listed.
#include "mount/mount.h"

#include <array>
#include <vector>

namespace stepstore::mounting {
namespace {

// All names as of the beginning: what is made or removed meanwhile moves none. Their kinds and numbers are
// not told: each would be a request.
struct Listing {
    std::mutex mutex;
    bool filled = false;
    std::vector<std::string> names;
};

Listing* listing_of(const fuse_file_info* file)
{
    return reinterpret_cast<Listing*>(file->fh);
}

int fill(Mount& mount, const Object& directory, Listing& listing)
{
    listing.names = {".", ".."};
    std::array<dirent, 64> entries;
    daos_anchor_t anchor{};
    while (!daos_anchor_is_eof(&anchor)) {
        auto count = static_cast<std::uint32_t>(entries.size());
        const int error = dfs_readdir(mount.fs, directory.get(), &anchor, &count, entries.data());
        if (error != 0) return error;
        for (std::uint32_t i = 0; i < count; ++i)
            listing.names.emplace_back(entries[i].d_name);
    }
    listing.filled = true;
    return 0;
}

void do_opendir(fuse_req_t request, fuse_ino_t, fuse_file_info* file)
{
    answer(request, [&](Mount&) {
        auto listing = std::make_unique<Listing>();
        file->fh = reinterpret_cast<std::uint64_t>(listing.get());
        if (fuse_reply_open(request, file) == 0) (void)listing.release();
        return replied;
    });
}

// What fits of the names from `offset` on: a number of names.
size_t take(fuse_req_t request, const Listing& listing, off_t offset, std::vector<char>& bytes)
{
    struct stat unknown {};
    unknown.st_ino = UINT32_MAX;
    size_t used = 0;
    for (auto next = static_cast<size_t>(offset); next < listing.names.size(); ++next) {
        const size_t room = bytes.size() - used;
        const size_t needed =
            fuse_add_direntry(request, bytes.data() + used, room, listing.names[next].c_str(), &unknown,
                              static_cast<off_t>(next + 1));
        if (needed > room) break;
        used += needed;
    }
    return used;
}

void do_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* file)
{
    answer(request, [&](Mount& mount) {
        std::vector<char> bytes(size);
        size_t used = 0;
        {
            Listing& listing = *listing_of(file);
            const std::lock_guard lock(listing.mutex);
            if (offset == 0 || !listing.filled)
                if (const int error = fill(mount, object_of(mount, number), listing)) return error;
            used = take(request, listing, offset, bytes);
        }
        fuse_reply_buf(request, bytes.data(), used);
        return replied;
    });
}

void do_releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* file)
{
    delete listing_of(file);
    fuse_reply_err(request, 0);
}

} // namespace

void add_listings(fuse_lowlevel_ops& table)
{
    table.opendir = do_opendir;
    table.readdir = do_readdir;
    table.releasedir = do_releasedir;
}

} // namespace stepstore::mounting

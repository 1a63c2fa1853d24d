// dfs_: listing directories.
#include "dfs/file_system.h"
#include "dfs/request.h"

#include <cstring>

using namespace stepstore::dfs;

namespace {

constexpr std::uint32_t names_at_once = 512; // of which each takes memory for the longest

void require_listed_name(const std::string& name)
{
    if (!is_name(name))
        fail(EIO, "the directory is damaged: it has the entry " + quoted(name) + ", which is no name");
}

// Entries into dirs, and what stat() says of them if it was asked for.
void list(const ::dfs& fs, const dfs_obj& of, daos_anchor_t& anchor, std::uint32_t& count, dirent* entries,
          struct stat* statuses)
{
    std::uint32_t given = 0;
    while (given < count && !daos_anchor_is_eof(&anchor)) {
        const auto names =
            next_keys(fs.th, of.handle.get(), nullptr, std::min(count - given, names_at_once), anchor);
        for (const std::string& name : names) {
            require_listed_name(name);
            if (statuses) {
                const auto entry = fetch(fs.th, {of.handle.get(), name});
                if (!entry) continue; // removed meanwhile
                fill_stat(fs, entry->inode, statuses[given]);
            }
            dirent& to = entries[given++];
            to = {};
            to.d_type = DT_UNKNOWN;
            std::memcpy(to.d_name, name.c_str(), name.size() + 1);
        }
    }
    count = given;
}

} // namespace

extern "C" {

int dfs_readdir(dfs_t* dfs, dfs_obj_t* obj, daos_anchor_t* anchor, uint32_t* nr, struct dirent* dirs)
{
    return run("dfs_readdir", [&] {
        const ::dfs& fs = file_system(dfs);
        const dfs_obj& of = listed_directory(obj);
        require(nr, "nr");
        if (*nr == 0) return;
        require(dirs, "dirs");
        require(anchor, "anchor");
        list(fs, of, *anchor, *nr, dirs, nullptr);
    });
}

int dfs_readdirplus(dfs_t* dfs, dfs_obj_t* obj, daos_anchor_t* anchor, uint32_t* nr, struct dirent* dirs,
                    struct stat* stbufs)
{
    return run("dfs_readdirplus", [&] {
        const ::dfs& fs = file_system(dfs);
        const dfs_obj& of = listed_directory(obj);
        require(nr, "nr");
        if (*nr == 0) return;
        require(dirs, "dirs");
        require(stbufs, "stbufs");
        require(anchor, "anchor");
        list(fs, of, *anchor, *nr, dirs, stbufs);
    });
}

int dfs_iterate(dfs_t* dfs, dfs_obj_t* obj, daos_anchor_t* anchor, uint32_t* nr, size_t size,
                dfs_filler_cb_t op, void* arg)
{
    int stopped = 0;
    const int code = run("dfs_iterate", [&] {
        const ::dfs& fs = file_system(dfs);
        const dfs_obj& of = listed_directory(obj);
        require(nr, "nr");
        if (*nr == 0 || size == 0) return;
        require(anchor, "anchor");
        std::uint32_t given = 0;
        while (given < *nr && size >= DFS_MAX_NAME && !daos_anchor_is_eof(anchor)) {
            const auto room = std::min<std::size_t>(size / DFS_MAX_NAME, names_at_once);
            const auto most = std::min<std::uint32_t>(*nr - given, static_cast<std::uint32_t>(room));
            for (const std::string& name : next_keys(fs.th, of.handle.get(), nullptr, most, *anchor)) {
                require_listed_name(name);
                ++given;
                size -= name.size();
                if (op) stopped = op(dfs, obj, name.c_str(), arg);
                if (stopped != 0) return;
            }
        }
        if (given == 0 && !daos_anchor_is_eof(anchor))
            fail(EINVAL, "size is less than the longest name has: give at least 255");
        *nr = given;
    });
    return code != 0 ? code : stopped;
}

int dfs_dir_anchor_set(dfs_obj_t* obj, const char name[], daos_anchor_t* anchor)
{
    return run("dfs_dir_anchor_set", [&] {
        const dfs_obj& of = object(obj);
        if (!S_ISDIR(of.mode)) fail(EINVAL, "obj is no directory");
        require(anchor, "anchor");
        const std::string given = name_of(name);
        daos_key_t key = key_of(given);
        require_done(daos_obj_key2anchor(of.handle.get(), DAOS_TX_NONE, &key, nullptr, anchor, nullptr),
                     [&] { return "looking for the place of " + quoted(given) + " in a listing"; });
    });
}

int dfs_obj_anchor_split(dfs_obj_t* obj, uint32_t* nr, daos_anchor_t* anchors)
{
    return run("dfs_obj_anchor_split", [&] {
        require(nr, "nr");
        if (!S_ISDIR(object(obj).mode)) fail(EINVAL, "obj is no directory");
        if (anchors && *nr == 0) fail(EINVAL, "there is room for no anchor");
        if (anchors) anchors[0] = {};
        *nr = 1;
    });
}

int dfs_obj_anchor_set(dfs_obj_t* obj, uint32_t index, daos_anchor_t* anchor)
{
    return run("dfs_obj_anchor_set", [&] {
        require(anchor, "anchor");
        if (!S_ISDIR(object(obj).mode)) fail(EINVAL, "obj is no directory");
        if (index != 0) fail(EINVAL, "the listing has one part, of index 0");
        *anchor = {};
    });
}

} // extern "C"

// dfs_: extended attributes.
#include "dfs/file_system.h"
#include "dfs/request.h"

#include <cstring>
#include <sys/xattr.h>

using namespace stepstore::dfs;

namespace {

std::string akey_of(const char* name)
{
    require(name, "name");
    const std::size_t length = strnlen(name, DFS_MAX_XATTR_NAME + 1);
    if (length == 0 || length > DFS_MAX_XATTR_NAME)
        fail(EINVAL, "the name of an attribute has 1 to " + std::to_string(DFS_MAX_XATTR_NAME) + " bytes");
    return std::string(attribute_prefix) + std::string(name, length);
}

// In the same request as the attribute.
struct Changed {
    timespec time = now();
    void add_to(Request& request) const
    {
        request.array(inode_akey);
        request.range(at::changed, &time.tv_sec, sizeof time.tv_sec);
        request.range(at::changed_nanoseconds, &time.tv_nsec, sizeof time.tv_nsec);
    }
};

} // namespace

extern "C" {

int dfs_setxattr(dfs_t* dfs, dfs_obj_t* obj, const char* name, const void* value, daos_size_t size, int flags)
{
    return run("dfs_setxattr", [&] {
        const ::dfs& fs = writable(dfs);
        const dfs_obj& of = object(obj);
        const std::string akey = akey_of(name);
        require(value, "value");
        if (size == 0 || size > DFS_MAX_XATTR_LEN)
            fail(EINVAL, "an attribute has 1 to " + std::to_string(DFS_MAX_XATTR_LEN) +
                             " bytes: DAOS's layout has none without bytes");
        if (flags != 0 && flags != XATTR_CREATE && flags != XATTR_REPLACE)
            fail(EINVAL, "the flags are not 0, XATTR_CREATE or XATTR_REPLACE");
        const Home home = home_of(fs, of, DAOS_OO_RW);
        const Changed changed;
        Request request;
        request.single(akey, value, size);
        changed.add_to(request);
        request.iods()[0].iod_flags = flags == XATTR_CREATE    ? DAOS_COND_AKEY_INSERT
                                      : flags == XATTR_REPLACE ? DAOS_COND_AKEY_UPDATE
                                                               : 0;
        const int code =
            request.update(home.handle.get(), DAOS_COND_DKEY_UPDATE | DAOS_COND_PER_AKEY, home.name);
        require_done(code,
                     [&] { return "setting the attribute " + quoted(name) + " of " + quoted(of.at->name); });
    });
}

int dfs_getxattr(dfs_t* dfs, dfs_obj_t* obj, const char* name, void* value, daos_size_t* size)
{
    return run("dfs_getxattr", [&] {
        const ::dfs& fs = file_system(dfs);
        const dfs_obj& of = object(obj);
        const std::string akey = akey_of(name);
        require(size, "size");
        const Home home = home_of(fs, of, DAOS_OO_RO);
        Request request;
        request.single(akey, value, value ? *size : 0);
        request.iods()[0].iod_size = DAOS_REC_ANY;
        const int code = request.fetch(home.handle.get(), fs.th, DAOS_COND_AKEY_FETCH, home.name);
        if (code == -DER_NONEXIST) fail(ENODATA, quoted(of.at->name) + " has no attribute " + quoted(name));
        if (code == -DER_REC2BIG) *size = request.iods()[0].iod_size;
        require_done(code,
                     [&] { return "reading the attribute " + quoted(name) + " of " + quoted(of.at->name); });
        *size = request.iods()[0].iod_size;
    });
}

int dfs_removexattr(dfs_t* dfs, dfs_obj_t* obj, const char* name)
{
    return run("dfs_removexattr", [&] {
        const ::dfs& fs = writable(dfs);
        const dfs_obj& of = object(obj);
        const std::string akey = akey_of(name);
        const Home home = home_of(fs, of, DAOS_OO_RW);
        daos_key_t dkey = key_of(home.name);
        daos_key_t removed = key_of(akey);
        const int code = daos_obj_punch_akeys(home.handle.get(), DAOS_TX_NONE, DAOS_COND_PUNCH, &dkey, 1,
                                              &removed, nullptr);
        if (code == -DER_NONEXIST) fail(ENODATA, quoted(of.at->name) + " has no attribute " + quoted(name));
        require_done(code,
                     [&] { return "removing the attribute " + quoted(name) + " of " + quoted(of.at->name); });
        const Changed changed;
        const Field fields[] = {
            {at::changed, &changed.time.tv_sec, sizeof changed.time.tv_sec},
            {at::changed_nanoseconds, &changed.time.tv_nsec, sizeof changed.time.tv_nsec}};
        update(home.place(), fields);
    });
}

int dfs_listxattr(dfs_t* dfs, dfs_obj_t* obj, char* list, daos_size_t* size)
{
    return run("dfs_listxattr", [&] {
        const ::dfs& fs = file_system(dfs);
        const dfs_obj& of = object(obj);
        require(size, "size");
        const Home home = home_of(fs, of, DAOS_OO_RO);
        const std::string_view dkey = home.name;
        std::size_t room = list ? *size : 0;
        std::size_t needed = 0;
        daos_anchor_t anchor{};
        while (!daos_anchor_is_eof(&anchor))
            for (const std::string& akey : next_keys(fs.th, home.handle.get(), &dkey, 64, anchor)) {
                if (!akey.starts_with(attribute_prefix)) continue;
                const std::size_t length = akey.size() - attribute_prefix.size() + 1;
                needed += length;
                if (length > room) continue;
                std::memcpy(list, akey.c_str() + attribute_prefix.size(), length);
                list += length;
                room -= length;
            }
        *size = needed;
    });
}

} // extern "C"

#include "dfs/file_system.h"

#include <limits>
#include <random>

namespace stepstore::dfs {
namespace {

std::uint64_t random_number()
{
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
}

} // namespace

::dfs& file_system(::dfs_t* dfs)
{
    require(dfs, "dfs");
    if (!is_live(Kind::file_system, dfs))
        fail(EINVAL, "dfs is no mounted file system: it was unmounted, or is something else");
    return *dfs;
}

::dfs& writable(::dfs_t* dfs)
{
    if (file_system(dfs).access != O_RDWR)
        fail(EPERM, "the file system is mounted for reading: mount it with O_RDWR");
    return *dfs;
}

dfs_obj& object(dfs_obj_t* obj)
{
    require(obj, "obj");
    if (!is_live(Kind::object, obj))
        fail(EINVAL, "obj is no open object: it was released, or is something else");
    if (!is_live(Kind::file_system, obj->fs))
        fail(EINVAL, "the file system of obj was unmounted: nothing is left but dfs_release()");
    return *obj;
}

dfs_obj& file(dfs_obj_t* obj)
{
    if (!S_ISREG(object(obj).mode)) fail(EINVAL, "the object " + quoted(obj->at->name) + " is no file");
    return *obj;
}

dfs_obj& directory(::dfs& fs, dfs_obj_t* obj_or_root)
{
    if (!obj_or_root) return fs.root;
    if (!S_ISDIR(object(obj_or_root).mode))
        fail(ENOTDIR, "the object " + quoted(obj_or_root->at->name) + " is no directory");
    return *obj_or_root;
}

const dfs_obj& listed_directory(dfs_obj_t* obj)
{
    if (!obj || !S_ISDIR(object(obj).mode)) fail(ENOTDIR, "obj is no directory");
    return *obj;
}

unsigned mode_of(int flags)
{
    switch (flags & O_ACCMODE) {
    case O_RDONLY: return DAOS_OO_RO;
    case O_WRONLY:
    case O_RDWR: return DAOS_OO_RW;
    default: fail(EINVAL, "the flags have none of O_RDONLY, O_WRONLY and O_RDWR");
    }
}

daos_obj_id_t new_oid(::dfs& fs, daos_oclass_id_t oclass, bool of_file)
{
    daos_obj_id_t oid{};
    {
        Numbers& numbers = *fs.numbers;
        const std::lock_guard lock(numbers.mutex);
        // One number of the container for 2^32 objects, which begin anywhere.
        if (!numbers.begun || numbers.hi == numbers.last_hi) {
            if (fs.is_copy) // its container does not know which numbers its objects have
                numbers.lo = random_number() | std::uint64_t{1} << 63;
            else
                require_done(daos_cont_alloc_oids(fs.container, 1, &numbers.lo, nullptr),
                             "taking a number for new objects");
            numbers.hi = numbers.last_hi = static_cast<std::uint32_t>(random_number());
            numbers.begun = true;
        }
        const auto next = [&] {
            daos_obj_id_t position{numbers.lo, numbers.hi};
            daos_obj_oid_cycle(&position);
            numbers.hi = static_cast<std::uint32_t>(position.hi);
        };
        next();
        while (numbers.lo == 0 && numbers.hi <= root_hi) // those are the superblock's and the root's
            next();
        oid = {numbers.lo, numbers.hi};
    }
    require_done(daos_obj_generate_oid(fs.container, &oid,
                                       of_file ? DAOS_OT_ARRAY_BYTE : DAOS_OT_MULTI_HASHED, oclass,
                                       of_file ? fs.file_hints : fs.directory_hints, 0),
                 "making the id of a new object");
    return oid;
}

std::shared_ptr<const Level> level(daos_obj_id_t oid, std::string name, std::shared_ptr<const Level> up)
{
    return std::make_shared<const Level>(Level{oid, std::move(name), std::move(up)});
}

Home home_of(const ::dfs& fs, const dfs_obj& obj, unsigned mode)
{
    const daos_obj_id_t parent = obj.at->up ? obj.at->up->oid : fs.superblock_oid;
    return {Handle::object(fs.container, parent, mode), obj.at->name};
}

std::uint64_t chunk_size_of(const ::dfs& fs, const Inode& inode)
{
    return inode.chunk_size != 0 ? inode.chunk_size : fs.attributes.da_chunk_size;
}

std::unique_ptr<dfs_obj> open_entry(::dfs& fs, const Entry& entry, std::shared_ptr<const Level> at, int flags)
{
    auto opened = std::make_unique<dfs_obj>();
    opened->fs = &fs;
    opened->at = std::move(at);
    opened->mode = entry.inode.mode;
    opened->flags = flags;
    opened->link = entry.link;
    const unsigned mode = mode_of(flags);
    if (entry.inode.is_file()) {
        opened->handle =
            Handle::array(fs.container, entry.inode.oid, fs.th, mode, chunk_size_of(fs, entry.inode));
        if ((flags & O_TRUNC) != 0) {
            if (fs.access != O_RDWR || (flags & O_ACCMODE) == O_RDONLY)
                fail(EPERM, "O_TRUNC without leave to write: mount the file system, and open the file, with "
                            "O_RDWR");
            require_done(daos_array_set_size(opened->handle.get(), DAOS_TX_NONE, 0, nullptr),
                         "emptying the file " + quoted(opened->at->name));
        }
    } else if (entry.inode.is_directory()) {
        opened->handle = Handle::object(fs.container, entry.inode.oid, mode);
        opened->object_class = entry.inode.object_class;
        opened->chunk_size = entry.inode.chunk_size;
    }
    return opened;
}

namespace {

bool is_later(const timespec& a, const timespec& b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

// The time of the object's latest write counts, unless the time was set by hand after it.
void set_times(const Inode& inode, daos_epoch_t written, struct stat& status)
{
    status.st_mtim = inode.modified;
    status.st_ctim = inode.changed;
    if (written != 0) {
        timespec time{};
        require_done(daos_hlc2timespec(written, &time), "reading the time of an epoch");
        if (is_later(time, status.st_ctim)) status.st_ctim = time;
        if (written != inode.epoch) status.st_mtim = time;
    }
    status.st_atim = is_later(status.st_ctim, status.st_mtim) ? status.st_ctim : status.st_mtim;
}

} // namespace

void fill_stat(const ::dfs& fs, const Inode& inode, struct stat& status, std::uint64_t* epoch, bool with_size)
{
    status = {};
    daos_epoch_t written = 0;
    if (inode.is_directory()) {
        const Handle handle = Handle::object(fs.container, inode.oid, DAOS_OO_RO);
        require_done(daos_obj_query_max_epoch(handle.get(), fs.th, &written, nullptr),
                     "reading the time of a directory");
        status.st_size = at::end;
    } else if (inode.is_file()) {
        status.st_blksize = static_cast<blksize_t>(chunk_size_of(fs, inode));
        if (with_size) {
            const Handle handle =
                Handle::array(fs.container, inode.oid, fs.th, DAOS_OO_RO, chunk_size_of(fs, inode));
            daos_array_stbuf_t found{};
            require_done(daos_array_stat(handle.get(), fs.th, &found, nullptr), "reading the size of a file");
            written = found.st_max_epoch;
            status.st_size = static_cast<off_t>(found.st_size);
            status.st_blocks = static_cast<blkcnt_t>((found.st_size + 511) / 512);
        }
    } else {
        status.st_size = static_cast<off_t>(inode.size);
    }
    set_times(inode, written, status);
    if (epoch) *epoch = written;
    status.st_nlink = 1;
    status.st_mode = inode.mode;
    status.st_uid = inode.user;
    status.st_gid = inode.group;
}

} // namespace stepstore::dfs

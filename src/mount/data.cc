// The data of files.
#include "mount/mounted.h"

#include <cerrno>

namespace stepstore::mounting {
namespace {

void keep(Object& opened, fuse_file_info* file)
{
    // What is appended goes to the end that the file has then, which the kernel does not know: so it keeps no
    // copy of it.
    if ((file->flags & O_APPEND) != 0) file->direct_io = 1;
    file->fh = reinterpret_cast<uint64_t>(opened.give_up());
}

int do_create(const char* path, mode_t mode, fuse_file_info* file)
{
    Object made;
    if (const int error = make(path, (mode & ~static_cast<mode_t>(S_IFMT)) | S_IFREG, file->flags, nullptr,
                               made))
        return answer(error);
    keep(made, file);
    return 0;
}

int do_open(const char* path, fuse_file_info* file)
{
    Object opened;
    mode_t mode = 0;
    if (const int error = look_up(path, opened, &mode)) return answer(error);
    if (!S_ISREG(mode)) return S_ISDIR(mode) ? -EISDIR : -ELOOP;
    if ((file->flags & O_TRUNC) != 0)
        if (const int error = dfs_punch(mounted().fs, opened.get(), 0, DFS_MAX_FSIZE)) return answer(error);
    keep(opened, file);
    return 0;
}

int do_release(const char*, fuse_file_info* file)
{
    return answer(dfs_release(object_of(file)));
}

struct Memory {
    d_iov_t piece{};
    d_sg_list_t list{1, 0, &piece};
    Memory(void* bytes, size_t size) { d_iov_set(&piece, bytes, size); }
};

int do_read(const char*, char* bytes, size_t size, off_t at, fuse_file_info* file)
{
    Memory memory(bytes, size);
    daos_size_t read = 0;
    const int error = dfs_read(mounted().fs, object_of(file), &memory.list, static_cast<daos_off_t>(at), &read,
                               nullptr);
    return error != 0 ? answer(error) : static_cast<int>(read);
}

int do_write(const char*, const char* bytes, size_t size, off_t at, fuse_file_info* file)
{
    Mounted& to = mounted();
    dfs_obj_t* const object = object_of(file);
    Memory memory(const_cast<char*>(bytes), size); // a write only reads it
    auto offset = static_cast<daos_off_t>(at);
    std::unique_lock<std::mutex> lock(to.appending, std::defer_lock);
    if ((file->flags & O_APPEND) != 0 && !file->writepage) {
        lock.lock();
        if (const int error = dfs_get_size(to.fs, object, &offset)) return answer(error);
        if (size > static_cast<daos_size_t>(INT64_MAX) - offset) return -EFBIG;
    }
    const int error = dfs_write(to.fs, object, &memory.list, offset, nullptr);
    return error != 0 ? answer(error) : static_cast<int>(size);
}

int do_fsync(const char*, int, fuse_file_info*)
{
    return answer(dfs_sync(mounted().fs));
}

int do_truncate(const char* path, off_t size, fuse_file_info* file)
{
    Object found;
    mode_t mode = S_IFREG;
    if (!object_of(file))
        if (const int error = look_up(path, found, &mode)) return answer(error);
    if (!S_ISREG(mode)) return S_ISDIR(mode) ? -EISDIR : -EINVAL;
    return answer(dfs_punch(mounted().fs, object_of(file) ? object_of(file) : found.get(),
                            static_cast<daos_off_t>(size), DFS_MAX_FSIZE));
}

} // namespace

void add_data(fuse_operations& table)
{
    table.create = do_create;
    table.open = do_open;
    table.release = do_release;
    table.read = do_read;
    table.write = do_write;
    table.fsync = do_fsync;
    table.fsyncdir = do_fsync;
    table.truncate = do_truncate;
}

} // namespace stepstore::mounting

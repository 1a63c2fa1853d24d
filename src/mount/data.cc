// The data of files.
#include "mount/mount.h"

namespace stepstore::mounting {
namespace {

// Of an open file: its object stays as it was opened.
struct File {
    Node& node;
    Object object;
};

File& file_of(const fuse_file_info* file)
{
    return *reinterpret_cast<File*>(file->fh);
}

void close(Mount& mount, File* file)
{
    const std::unique_ptr<File> closed(file);
    const std::lock_guard lock(mount.hiding);
    const auto [directory, name] = mount.nodes.close(closed->node);
    if (directory) dfs_remove(mount.fs, directory.get(), name.c_str(), false, nullptr);
}

std::unique_ptr<File> open(Mount& mount, Node& node, const Object& object, fuse_file_info* file)
{
    auto opened = std::make_unique<File>(File{node, object});
    {
        const std::lock_guard lock(mount.hiding);
        mount.nodes.open(node);
    }
    file->fh = reinterpret_cast<std::uint64_t>(opened.get());
    // What is appended goes to the end that the file has then. The kernel does not know it, and keeps no
    // copy.
    if ((file->flags & O_APPEND) != 0) file->direct_io = 1;
    return opened;
}

void do_create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* file)
{
    answer(request, [&](Mount& mount) {
        const mode_t whole = (mode & ~static_cast<mode_t>(S_IFMT)) | S_IFREG;
        Object made;
        struct stat status;
        fuse_entry_param entry;
        if (const int error = make(request, parent, name, whole, file->flags, nullptr, made, status))
            return error;
        if (const int error = entry_of(mount, made, whole, &status, entry)) return error;
        Node& node = *reinterpret_cast<Node*>(entry.ino);
        File* const opened = open(mount, node, made, file).release();
        if (fuse_reply_create(request, &entry, file) != 0) {
            close(mount, opened);
            mount.nodes.forget(node, 1);
        }
        return replied;
    });
}

void do_open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file)
{
    answer(request, [&](Mount& mount) {
        Node& node = node_of(mount, number);
        const Object object = mount.nodes.object(node);
        if ((file->flags & O_TRUNC) != 0)
            if (const int error = dfs_punch(mount.fs, object.get(), 0, DFS_MAX_FSIZE)) return error;
        File* const opened = open(mount, node, object, file).release();
        if (fuse_reply_open(request, file) != 0) close(mount, opened);
        return replied;
    });
}

void do_release(fuse_req_t request, fuse_ino_t, fuse_file_info* file)
{
    close(mount_of(request), &file_of(file));
    fuse_reply_err(request, 0);
}

struct Memory {
    d_iov_t piece{};
    d_sg_list_t list{1, 0, &piece};
    Memory(void* bytes, size_t size) { d_iov_set(&piece, bytes, size); }
};

void do_read(fuse_req_t request, fuse_ino_t, size_t size, off_t at, fuse_file_info* file)
{
    answer(request, [&](Mount& mount) {
        const std::unique_ptr<char[]> bytes(new char[size]);
        Memory memory(bytes.get(), size);
        daos_size_t read = 0;
        const int error = dfs_read(mount.fs, file_of(file).object.get(), &memory.list,
                                   static_cast<daos_off_t>(at), &read, nullptr);
        if (error != 0) return error;
        fuse_reply_buf(request, bytes.get(), read);
        return replied;
    });
}

void do_write(fuse_req_t request, fuse_ino_t, const char* bytes, size_t size, off_t at, fuse_file_info* file)
{
    answer(request, [&](Mount& mount) {
        dfs_obj_t* const object = file_of(file).object.get();
        Memory memory(const_cast<char*>(bytes), size); // a write only reads it
        auto offset = static_cast<daos_off_t>(at);
        std::unique_lock<std::mutex> lock(mount.appending, std::defer_lock);
        if ((file->flags & O_APPEND) != 0 && !file->writepage) {
            lock.lock();
            if (const int error = dfs_get_size(mount.fs, object, &offset)) return error;
            if (size > static_cast<daos_size_t>(INT64_MAX) - offset) return EFBIG;
        }
        if (const int error = dfs_write(mount.fs, object, &memory.list, offset, nullptr)) return error;
        fuse_reply_write(request, size);
        return replied;
    });
}

void do_fsync(fuse_req_t request, fuse_ino_t, int, fuse_file_info*)
{
    answer(request, [](Mount& mount) { return dfs_sync(mount.fs); });
}

} // namespace

void add_data(fuse_lowlevel_ops& table)
{
    table.create = do_create;
    table.open = do_open;
    table.release = do_release;
    table.read = do_read;
    table.write = do_write;
    table.fsync = do_fsync;
    table.fsyncdir = do_fsync;
}

} // namespace stepstore::mounting

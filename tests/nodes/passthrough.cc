// A file system that shows a directory, as a client of a parallel file system shows its server. The kernel of
// each machine caches what it is told to, and no machine hears of another's changes. Mounts of one directory
// on two machines are coherent without options, and as bad as can be with all of them.
//
//   passthrough DIRECTORY MOUNTPOINT COUNTS OPTION...
//   writeback         what is written reaches the directory by a sync, at the close, or when the kernel likes
//   keep              what was read is kept when a file is opened again
//   timeout=SECONDS   names and attributes are believed so long
//   negative=SECONDS  so is the absence of a name
//   listings          a directory that was listed is not asked again; with `keep` by no later listing either
// COUNTS becomes a table of the requests since the start: 24 bytes of a name, then the number in 8.
//
// Several threads answer requests. Nodes are guarded by one lock; all else is the kernel's. A request that
// fails gives the errno of the directory's file system. Locks are the machine's own: nothing is passed on.
#define FUSE_USE_VERSION 312

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

struct Options {
    bool writeback = false, keep = false, listings = false;
    double timeout = 0, negative = 0;
};
Options options;

// ---- counts

enum Request {
    LOOKUP,
    GETATTR,
    SETATTR,
    OPEN,
    CREATE,
    READ,
    WRITE,
    FLUSH,
    FSYNC,
    RELEASE,
    OPENDIR,
    READDIR,
    LINK,
    RENAME,
    UNLINK,
    MKDIR,
    RMDIR,
    SYMLINK,
    READLINK,
    OTHER,
    REQUESTS
};
constexpr std::array<const char*, REQUESTS> NAMES{
    "lookup",  "getattr", "setattr", "open",   "create", "read",  "write", "flush",   "fsync",    "release",
    "opendir", "readdir", "link",    "rename", "unlink", "mkdir", "rmdir", "symlink", "readlink", "other"};

struct Count {
    char name[24];
    std::atomic<uint64_t> number;
};
static_assert(sizeof(Count) == 32);
Count* counts = nullptr;

void count(Request request)
{
    counts[request].number.fetch_add(1, std::memory_order_relaxed);
}

bool open_counts(const char* path)
{
    constexpr auto size = sizeof(Count) * REQUESTS;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) return false;
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return false;
    counts = static_cast<Count*>(at);
    for (size_t i = 0; i < REQUESTS; i++)
        strncpy(counts[i].name, NAMES[i], sizeof counts[i].name - 1);
    return true;
}

// ---- nodes

// A file that the kernel knows. Its descriptor (O_PATH) keeps the number of the inode from being used again.
struct Node {
    int fd = -1;
    dev_t device = 0;
    ino_t inode = 0;
    uint64_t lookups = 0; // that the kernel has not forgotten
    fuse_ino_t parent = 0;
    std::string name; // there, the last that was looked up
};
std::mutex nodes_lock;
std::map<std::pair<dev_t, ino_t>, std::unique_ptr<Node>> nodes; // guarded by nodes_lock
Node root;
rlim_t many_nodes = 0;

Node& node_of(fuse_ino_t number)
{
    return number == FUSE_ROOT_ID ? root : *reinterpret_cast<Node*>(number);
}

std::string path_of(fuse_ino_t number)
{
    return "/proc/self/fd/" + std::to_string(node_of(number).fd);
}

void forget_one(fuse_ino_t number, uint64_t lookups)
{
    if (number == FUSE_ROOT_ID) return;
    std::lock_guard guard(nodes_lock);
    Node& node = node_of(number);
    node.lookups -= lookups;
    if (node.lookups == 0) {
        close(node.fd);
        nodes.erase({node.device, node.inode});
    }
}

// The name's node and attributes, for an answer. An errno if there is none.
int find(fuse_ino_t parent, const char* name, fuse_entry_param& entry)
{
    entry = {};
    entry.attr_timeout = entry.entry_timeout = options.timeout;
    int fd = openat(node_of(parent).fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno;
    if (fstat(fd, &entry.attr) != 0) {
        int error = errno;
        close(fd);
        return error;
    }
    std::lock_guard guard(nodes_lock);
    auto& node = nodes[{entry.attr.st_dev, entry.attr.st_ino}];
    if (node)
        close(fd);
    else
        node = std::make_unique<Node>(Node{fd, entry.attr.st_dev, entry.attr.st_ino, 0, 0, {}});
    node->lookups++;
    node->parent = parent;
    node->name = name;
    entry.ino = reinterpret_cast<fuse_ino_t>(node.get());
    return 0;
}

// The kernel keeps a name as long as it has memory, also of a file that another machine has removed. So that
// descriptors do not run out, it is told to drop such names once there are many nodes. Then it forgets them.
void drop_removed(fuse_session* session)
{
    std::vector<std::pair<fuse_ino_t, std::string>> removed;
    {
        std::lock_guard guard(nodes_lock);
        if (nodes.size() < many_nodes) return;
        for (const auto& [inode, node] : nodes) {
            struct stat found = {};
            if (fstat(node->fd, &found) == 0 && found.st_nlink == 0)
                removed.emplace_back(node->parent, node->name);
        }
    }
    for (const auto& [parent, name] : removed) // may wait for a request, so without the lock
        fuse_lowlevel_notify_inval_entry(session, parent, name.data(), name.size());
}

void reply_found(fuse_req_t request, fuse_ino_t parent, const char* name)
{
    fuse_entry_param entry;
    if (int error = find(parent, name, entry))
        fuse_reply_err(request, error);
    else
        fuse_reply_entry(request, &entry);
}

// What was made belongs to whom the request is of.
void give(fuse_req_t request, fuse_ino_t parent, const char* name)
{
    const fuse_ctx* of = fuse_req_ctx(request);
    if (of->uid != 0 || of->gid != 0)
        (void)!fchownat(node_of(parent).fd, name, of->uid, of->gid, AT_SYMLINK_NOFOLLOW);
}

// The result of a system call that made a name.
void reply_made(fuse_req_t request, int result, fuse_ino_t parent, const char* name)
{
    if (result < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    give(request, parent, name);
    reply_found(request, parent, name);
}

void reply_result(fuse_req_t request, int result)
{
    fuse_reply_err(request, result < 0 ? errno : 0);
}

// ---- names

void do_lookup(fuse_req_t request, fuse_ino_t parent, const char* name)
{
    count(LOOKUP);
    fuse_entry_param entry;
    int error = find(parent, name, entry);
    if (error == ENOENT && options.negative > 0) {
        entry.ino = 0;
        entry.entry_timeout = options.negative;
        error = 0;
    }
    if (error)
        fuse_reply_err(request, error);
    else
        fuse_reply_entry(request, &entry);
}

void do_forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups)
{
    forget_one(number, lookups);
    fuse_reply_none(request);
}

void do_forget_multi(fuse_req_t request, size_t many, fuse_forget_data* forgotten)
{
    for (size_t i = 0; i < many; i++)
        forget_one(forgotten[i].ino, forgotten[i].nlookup);
    fuse_reply_none(request);
}

void do_mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode)
{
    count(MKDIR);
    reply_made(request, mkdirat(node_of(parent).fd, name, mode), parent, name);
}

void do_mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device)
{
    count(CREATE);
    reply_made(request, mknodat(node_of(parent).fd, name, mode, device), parent, name);
}

void do_symlink(fuse_req_t request, const char* to, fuse_ino_t parent, const char* name)
{
    count(SYMLINK);
    reply_made(request, symlinkat(to, node_of(parent).fd, name), parent, name);
}

void do_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char* name)
{
    count(LINK);
    if (linkat(AT_FDCWD, path_of(number).c_str(), node_of(parent).fd, name, AT_SYMLINK_FOLLOW) != 0)
        fuse_reply_err(request, errno);
    else
        reply_found(request, parent, name);
}

void do_unlink(fuse_req_t request, fuse_ino_t parent, const char* name)
{
    count(UNLINK);
    reply_result(request, unlinkat(node_of(parent).fd, name, 0));
}

void do_rmdir(fuse_req_t request, fuse_ino_t parent, const char* name)
{
    count(RMDIR);
    reply_result(request, unlinkat(node_of(parent).fd, name, AT_REMOVEDIR));
}

void do_rename(fuse_req_t request, fuse_ino_t from, const char* name, fuse_ino_t to, const char* new_name,
               unsigned flags)
{
    count(RENAME);
    reply_result(request, renameat2(node_of(from).fd, name, node_of(to).fd, new_name, flags));
}

void do_readlink(fuse_req_t request, fuse_ino_t number)
{
    count(READLINK);
    std::array<char, PATH_MAX + 1> to{};
    if (readlinkat(node_of(number).fd, "", to.data(), PATH_MAX) < 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_readlink(request, to.data());
}

// ---- attributes

void reply_attributes(fuse_req_t request, fuse_ino_t number)
{
    struct stat found = {};
    if (fstat(node_of(number).fd, &found) != 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_attr(request, &found, options.timeout);
}

void do_getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info* /*file*/)
{
    count(GETATTR);
    reply_attributes(request, number);
}

timespec time_to_set(int set, int given, int now, timespec at)
{
    if (set & now) return {0, UTIME_NOW};
    return set & given ? at : timespec{0, UTIME_OMIT};
}

int set_attributes(fuse_ino_t number, const struct stat& to, int set)
{
    const std::string path = path_of(number);
    if (set & FUSE_SET_ATTR_MODE && chmod(path.c_str(), to.st_mode) != 0) return -1;
    if (set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
        const auto user = set & FUSE_SET_ATTR_UID ? to.st_uid : static_cast<uid_t>(-1);
        const auto group = set & FUSE_SET_ATTR_GID ? to.st_gid : static_cast<gid_t>(-1);
        if (fchownat(node_of(number).fd, "", user, group, AT_EMPTY_PATH) != 0) return -1;
    }
    if (set & FUSE_SET_ATTR_SIZE && truncate(path.c_str(), to.st_size) != 0) return -1;
    const timespec times[2] = {
        time_to_set(set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, to.st_atim),
        time_to_set(set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, to.st_mtim),
    };
    if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT) return 0;
    return utimensat(AT_FDCWD, path.c_str(), times, 0);
}

void do_setattr(fuse_req_t request, fuse_ino_t number, struct stat* to, int set, fuse_file_info* /*file*/)
{
    count(SETATTR);
    if (set_attributes(number, *to, set) != 0)
        fuse_reply_err(request, errno);
    else
        reply_attributes(request, number);
}

void do_statfs(fuse_req_t request, fuse_ino_t number)
{
    count(OTHER);
    struct statvfs found = {};
    if (fstatvfs(node_of(number).fd, &found) != 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_statfs(request, &found);
}

// ---- files

int fd_of(const fuse_file_info* file)
{
    return static_cast<int>(file->fh);
}

// With what a file is opened in the directory. The kernel that writes back reads the rest of a page that a
// program writes a part of, and puts what is appended at its place itself.
int flags_of(int flags)
{
    flags &= ~(O_DIRECT | O_NOFOLLOW);
    if (options.writeback) {
        if ((flags & O_ACCMODE) == O_WRONLY) flags = (flags & ~O_ACCMODE) | O_RDWR;
        flags &= ~O_APPEND;
    }
    return flags | O_CLOEXEC;
}

void do_open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file)
{
    count(OPEN);
    int fd = open(path_of(number).c_str(), flags_of(file->flags) & ~O_CREAT);
    if (fd < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    file->fh = static_cast<uint64_t>(fd);
    file->keep_cache = options.keep;
    if (fuse_reply_open(request, file) != 0) close(fd);
}

void do_create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* file)
{
    count(CREATE);
    int fd = openat(node_of(parent).fd, name, flags_of(file->flags) | O_CREAT, mode);
    if (fd < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    give(request, parent, name);
    fuse_entry_param entry;
    if (int error = find(parent, name, entry)) {
        close(fd);
        fuse_reply_err(request, error);
        return;
    }
    file->fh = static_cast<uint64_t>(fd);
    file->keep_cache = options.keep;
    if (fuse_reply_create(request, &entry, file) != 0) {
        close(fd);
        forget_one(entry.ino, 1);
    }
}

void do_read(fuse_req_t request, fuse_ino_t /*number*/, size_t size, off_t at, fuse_file_info* file)
{
    count(READ);
    fuse_bufvec bytes = FUSE_BUFVEC_INIT(size);
    bytes.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
    bytes.buf[0].fd = fd_of(file);
    bytes.buf[0].pos = at;
    fuse_reply_data(request, &bytes, FUSE_BUF_SPLICE_MOVE);
}

void do_write(fuse_req_t request, fuse_ino_t /*number*/, const char* bytes, size_t size, off_t at,
              fuse_file_info* file)
{
    count(WRITE);
    ssize_t written = pwrite(fd_of(file), bytes, size, at);
    if (written < 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_write(request, static_cast<size_t>(written));
}

// At each close of a descriptor: a failure of the directory's file system to write shows here.
void do_flush(fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* file)
{
    count(FLUSH);
    int fd = dup(fd_of(file));
    reply_result(request, fd < 0 ? -1 : close(fd));
}

void do_release(fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* file)
{
    count(RELEASE);
    close(fd_of(file));
    fuse_reply_err(request, 0);
}

void do_fsync(fuse_req_t request, fuse_ino_t /*number*/, int data_only, fuse_file_info* file)
{
    count(FSYNC);
    reply_result(request, data_only ? fdatasync(fd_of(file)) : fsync(fd_of(file)));
}

void do_fallocate(fuse_req_t request, fuse_ino_t /*number*/, int mode, off_t at, off_t size,
                  fuse_file_info* file)
{
    count(OTHER);
    reply_result(request, fallocate(fd_of(file), mode, at, size));
}

void do_lseek(fuse_req_t request, fuse_ino_t /*number*/, off_t at, int whence, fuse_file_info* file)
{
    count(OTHER);
    off_t found = lseek(fd_of(file), at, whence);
    if (found < 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_lseek(request, found);
}

// ---- listings

DIR* directory_of(const fuse_file_info* file)
{
    return reinterpret_cast<DIR*>(file->fh);
}

void do_opendir(fuse_req_t request, fuse_ino_t number, fuse_file_info* file)
{
    count(OPENDIR);
    int fd = openat(node_of(number).fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* directory = fd < 0 ? nullptr : fdopendir(fd);
    if (directory == nullptr) {
        int error = errno;
        if (fd >= 0) close(fd);
        fuse_reply_err(request, error);
        return;
    }
    file->fh = reinterpret_cast<uint64_t>(directory);
    file->cache_readdir = options.listings;
    file->keep_cache = options.listings && options.keep;
    if (fuse_reply_open(request, file) != 0) closedir(directory);
}

void do_readdir(fuse_req_t request, fuse_ino_t /*number*/, size_t size, off_t at, fuse_file_info* file)
{
    count(READDIR);
    std::vector<char> answer(size);
    size_t used = 0;
    DIR* directory = directory_of(file);
    seekdir(directory, at);
    errno = 0;
    while (const dirent* entry = readdir(directory)) {
        struct stat kind = {};
        kind.st_ino = entry->d_ino;
        kind.st_mode = static_cast<mode_t>(entry->d_type) << 12;
        const size_t needs = fuse_add_direntry(request, answer.data() + used, size - used, entry->d_name,
                                               &kind, telldir(directory));
        if (needs > size - used) break;
        used += needs;
    }
    if (errno != 0 && used == 0)
        fuse_reply_err(request, errno);
    else
        fuse_reply_buf(request, answer.data(), used);
}

void do_releasedir(fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* file)
{
    closedir(directory_of(file));
    fuse_reply_err(request, 0);
}

void do_fsyncdir(fuse_req_t request, fuse_ino_t /*number*/, int /*data_only*/, fuse_file_info* file)
{
    count(FSYNC);
    reply_result(request, fsync(dirfd(directory_of(file))));
}

// ---- the session

void do_init(void* /*data*/, fuse_conn_info* connection)
{
    if (options.writeback) connection->want |= connection->capable & FUSE_CAP_WRITEBACK_CACHE;
    // Pages that are kept stay when a newer time of change is seen.
    if (options.keep) connection->want &= ~static_cast<unsigned>(FUSE_CAP_AUTO_INVAL_DATA);
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS);
}

fuse_lowlevel_ops operations()
{
    fuse_lowlevel_ops ops = {};
    ops.init = do_init;
    ops.lookup = do_lookup;
    ops.forget = do_forget;
    ops.forget_multi = do_forget_multi;
    ops.mkdir = do_mkdir;
    ops.mknod = do_mknod;
    ops.symlink = do_symlink;
    ops.link = do_link;
    ops.unlink = do_unlink;
    ops.rmdir = do_rmdir;
    ops.rename = do_rename;
    ops.readlink = do_readlink;
    ops.getattr = do_getattr;
    ops.setattr = do_setattr;
    ops.statfs = do_statfs;
    ops.open = do_open;
    ops.create = do_create;
    ops.read = do_read;
    ops.write = do_write;
    ops.flush = do_flush;
    ops.release = do_release;
    ops.fsync = do_fsync;
    ops.fallocate = do_fallocate;
    ops.lseek = do_lseek;
    ops.opendir = do_opendir;
    ops.readdir = do_readdir;
    ops.releasedir = do_releasedir;
    ops.fsyncdir = do_fsyncdir;
    return ops;
}

bool understood(std::string_view option)
{
    const auto seconds = [&option](std::string_view name, double& to) {
        if (!option.starts_with(name)) return false;
        char* end = nullptr;
        to = strtod(option.data() + name.size(), &end);
        return end != option.data() + name.size() && *end == '\0' && to >= 0;
    };
    if (option == "writeback") return options.writeback = true;
    if (option == "keep") return options.keep = true;
    if (option == "listings") return options.listings = true;
    return seconds("timeout=", options.timeout) || seconds("negative=", options.negative);
}

int serve(const char* mountpoint)
{
    char program[] = "passthrough", flag[] = "-o",
         what[] = "allow_other,default_permissions,fsname=passthrough,subtype=passthrough";
    std::array<char*, 4> words{program, flag, what, nullptr};
    fuse_args args = FUSE_ARGS_INIT(3, words.data());
    const fuse_lowlevel_ops ops = operations();
    fuse_session* session = fuse_session_new(&args, &ops, sizeof ops, nullptr);
    if (session == nullptr) return 1;
    int status = 1;
    if (fuse_set_signal_handlers(session) == 0) {
        if (fuse_session_mount(session, mountpoint) == 0) {
            std::jthread sweeper([session](const std::stop_token& stop) {
                while (!stop.stop_requested()) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(200));
                    drop_removed(session);
                }
            });
            fuse_loop_config* threads = fuse_loop_cfg_create();
            status = fuse_session_loop_mt(session, threads);
            fuse_loop_cfg_destroy(threads);
            sweeper = {}; // before the session ends
            fuse_session_unmount(session);
        }
        fuse_remove_signal_handlers(session);
    }
    fuse_session_destroy(session);
    fuse_opt_free_args(&args);
    return status == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: passthrough DIRECTORY MOUNTPOINT COUNTS OPTION...\n");
        return 2;
    }
    for (int i = 4; i < argc; i++) {
        if (!understood(argv[i])) {
            fprintf(stderr, "passthrough: no option %s\n", argv[i]);
            return 2;
        }
    }
    umask(0);
    // A descriptor for each file that the kernel knows.
    rlimit files = {};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    many_nodes = files.rlim_cur / 2;
    root.fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root.fd < 0 || !open_counts(argv[3])) {
        fprintf(stderr, "passthrough: %s and %s: %s\n", argv[1], argv[3], strerror(errno));
        return 1;
    }
    return serve(argv[2]);
}

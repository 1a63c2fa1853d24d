// File systems in containers (daos_fs.h) for Python: mounted ones, what is open in them, and how an errno
// becomes an OSError.
// Threads: they may share all. Fork: a child goes on with what its parent has open, as with libdfs.
// Errors: OSError with the errno and the sentence of libdfs, and the path; -DER_NO_HDL once it is closed.
#pragma once

#include "common.h"

#include "base/not_copied.h"

#include <cerrno>
#include <daos_fs.h>

namespace stepstore::python {

// What a call gave: an errno, and what libdfs says of it.
struct Outcome {
    int number = 0;
    std::string text;
};

inline Outcome outcome_of(int number)
{
    if (number == 0) return {};
    return {number, dfs_last_message()};
}

[[noreturn]] void raise_os_error(const Outcome& outcome, std::string_view path);

inline void require_done(const Outcome& outcome, std::string_view path)
{
    if (outcome.number != 0) raise_os_error(outcome, path);
}

// A mounted file system, with dfs_init() for it.
class Mounted : NotCopied {
public:
    // epoch: of a snapshot, or 0. The errno of failed() is set if it is not mounted.
    Mounted(const std::string& pool, const std::string& container, bool read_only, std::uint64_t epoch)
    {
        failed_ = outcome_of(dfs_init());
        if (failed_.number != 0) return;
        begun_ = true;
        const char* const label = container.c_str();
        failed_ = outcome_of(
            epoch != 0
                ? dfs_connect_snap(pool.c_str(), nullptr, label, O_RDONLY, epoch, nullptr, &fs_)
                : dfs_connect(pool.c_str(), nullptr, label, read_only ? O_RDONLY : O_RDWR, nullptr, &fs_));
    }
    ~Mounted()
    {
        if (fs_) dfs_disconnect(fs_);
        if (begun_) dfs_fini();
    }
    dfs_t* get() const { return fs_; }
    const Outcome& failed() const { return failed_; }

private:
    dfs_t* fs_ = nullptr;
    bool begun_ = false;
    Outcome failed_;
};

// An open file, directory or link, released before its file system ends.
class Opened : NotCopied {
public:
    explicit Opened(dfs_t* fs) : fs_(fs) {}
    // status: for a directory libdfs looks at all its entries.
    Opened(dfs_t* fs, const std::string& path, int flags, struct stat* status = nullptr) : fs_(fs)
    {
        failed_ = dfs_lookup(fs, path.c_str(), flags, &object_, &mode_, status);
    }
    ~Opened()
    {
        if (object_) dfs_release(object_);
    }
    int failed() const { return failed_; } // as by the call; only of the second constructor
    dfs_obj_t* get() const { return object_; }
    dfs_obj_t** place() { return &object_; }
    dfs_t* fs() const { return fs_; }
    mode_t mode() const { return mode_; }

private:
    dfs_t* fs_;
    dfs_obj_t* object_ = nullptr;
    mode_t mode_ = 0;
    int failed_ = 0;
};

using Shared = std::shared_ptr<Mounted>;

struct OpenFile {
    Shared file_system; // ends after the file
    std::unique_ptr<Opened> opened;
};

using FileSystemHandle = Closable<Shared>;
using FileHandle = Closable<OpenFile>;

inline int nofollow(bool follow)
{
    return follow ? 0 : O_NOFOLLOW;
}

// Runs `body`, which returns an Outcome, on the file system.
template <class Body>
void run(FileSystemHandle& self, const std::string& path, Body&& body)
{
    if (path.find('\0') != std::string::npos) raise_os_error({EINVAL, "the path has a zero byte"}, path);
    const Outcome outcome = self.use([&](const Shared& it) -> Outcome { return body(it->get()); });
    require_done(outcome, path);
}

// The directory of a path opened for writing, and the last name.
template <class Body>
Outcome in_parent(dfs_t* fs, const std::string& path, Body&& body)
{
    const auto end = path.find_last_not_of('/');
    if (end == std::string::npos) return {EBUSY, "the root of a file system is neither made nor removed"};
    const std::string whole = path.substr(0, end + 1);
    const auto slash = whole.find_last_of('/');
    const std::string name = whole.substr(slash + 1);
    const Opened above(fs, whole.substr(0, slash + 1), O_RDWR);
    if (above.failed() != 0) return outcome_of(above.failed());
    if (!S_ISDIR(above.mode())) return {ENOTDIR, "'" + whole.substr(0, slash) + "' is no directory"};
    return body(above.get(), name.c_str());
}

FileHandle open_file(FileSystemHandle& self, const nb::bytes& path, int flags, unsigned mode);
nb::list list_directory(FileSystemHandle& self, const nb::bytes& path);
nb::tuple to_tuple(const struct stat& status); // mode, size, modified, changed, user, group
void bind_file(nb::module_& module);

} // namespace stepstore::python

// A mount: what the kernel asks, answered by libdfs.
//
// Other mounts and programs change the container. So names and attributes of files are asked for anew each
// time (time-outs of 0), and the kernel drops pages of a file at each opening and when its size or time has
// changed. Of a directory its mode and times are believed for a second. The time is that of the latest
// entry, for which libdfs looks at all of them. The kernel wants it with each step of each path. A change by
// this mount sets the time to now, which is some microseconds after the entry's.
//
// libdfs empties a file whose name is removed. A file that is open in this mount is therefore renamed to
// `.fuse_hidden-` and the number of its object, and removed with its last close.
//
// Threads: several answer requests. A fork comes before all of it (main.cc). Errors: an errno for the kernel;
// nothing is thrown through libfuse, which is C.
#pragma once

#include "mount/nodes.h"

#include <cerrno>
#include <exception>

#define FUSE_USE_VERSION 31
#include <fuse_lowlevel.h>

namespace stepstore::mounting {

struct Mount {
    Mount(dfs_t* of, bool only_read, Object root) : fs(of), read_only(only_read), nodes(std::move(root)) {}

    dfs_t* const fs;
    const bool read_only;
    Nodes nodes;
    std::mutex appending; // from a look at the size of a file to the write at it
    std::mutex hiding;    // from a look whether a file is open to its removal
    void (*ready)() = nullptr;

    int flags() const { return (read_only ? O_RDONLY : O_RDWR) | O_NOFOLLOW; }
};

inline Mount& mount_of(fuse_req_t request)
{
    return *static_cast<Mount*>(fuse_req_userdata(request));
}

inline Node& node_of(Mount& mount, fuse_ino_t number)
{
    return number == FUSE_ROOT_ID ? mount.nodes.root() : *reinterpret_cast<Node*>(number);
}

// The object of a directory or file, where it was last seen.
inline Object object_of(Mount& mount, fuse_ino_t number)
{
    return mount.nodes.object(node_of(mount, number));
}

// A line for the user: on stderr as long as somebody reads it, and in the system's log after that.
void say(const char* line);
void say_to_log(); // from now on

// Of damage the reason is said. ESTALE: what the kernel knows has another name by now, or none; it then looks
// the path up again.
void reply_error(fuse_req_t request, int error);
inline int stale(int error)
{
    return error == ENOENT ? ESTALE : error;
}

// Answers a request. body: gives `replied`, or an errno. Once the answer is out, the kernel may close or
// forget what the request was about: nothing of it is touched any more.
constexpr int replied = -1;
template <class Body>
void answer(fuse_req_t request, Body body) noexcept
{
    int error = ENOMEM;
    try {
        error = body(mount_of(request));
    } catch (const std::exception&) { // of memory
    }
    if (error != replied) reply_error(request, error);
}

// An entry of a directory, opened. mode: of the object.
int look_up(Mount& mount, const Object& directory, const char* name, Object& found, mode_t& mode);

// What stat() tells of a node, and for how many seconds.
int attributes(Mount& mount, Node& node, struct stat& status, double& seconds);
// The same of a new object, or of one that libdfs has told of.
void complete(const Node& node, struct stat& status);

// The answer with an object that was looked up or made. status: if it is known.
int entry_of(Mount& mount, const Object& object, mode_t mode, const struct stat* status,
             fuse_entry_param& entry);

// A new object with the owner of the request. kind_and_mode: as st_mode. flags: with those of open().
int make(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t kind_and_mode, int flags,
         const char* target, Object& made, struct stat& status);

// The parts of the table of operations.
void add_names(fuse_lowlevel_ops& table);
void add_removals(fuse_lowlevel_ops& table);
void add_listings(fuse_lowlevel_ops& table);
void add_data(fuse_lowlevel_ops& table);
void add_attributes(fuse_lowlevel_ops& table);
void add_extended_attributes(fuse_lowlevel_ops& table);

} // namespace stepstore::mounting

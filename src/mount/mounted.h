// The file system that a mount shows, and what its operations share.
//
// Threads: several answer requests at once; an Object belongs to one. A fork comes before all of it (main.cc).
// Errors: functions give 0 or a positive errno. Nothing throws: libfuse is C.
#pragma once

#include <daos.h>
#include <daos_fs.h>
#include <mutex>

#define FUSE_USE_VERSION 31
#include <fuse.h>

namespace stepstore::mounting {

struct Mounted {
    dfs_t* fs = nullptr;
    bool read_only = false;
    std::mutex appending; // of the size of a file, and of the write at it
    void (*ready)() = nullptr;
};

// Of the request that this thread answers.
Mounted& mounted();

// A line for the user: on stderr as long as somebody reads it, and in the system's log after that.
void say(const char* line);
void say_to_log(); // from now on

// What an operation gives to libfuse. Of damage the reason is said.
int answer(int error);

class Object {
public:
    Object() = default;
    explicit Object(dfs_obj_t* opened) : object_(opened) {}
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object()
    {
        if (object_) dfs_release(object_);
    }
    dfs_obj_t* get() const { return object_; }
    dfs_obj_t** out() { return &object_; }
    dfs_obj_t* give_up()
    {
        dfs_obj_t* const given = object_;
        object_ = nullptr;
        return given;
    }

private:
    dfs_obj_t* object_ = nullptr;
};

// The object that libfuse keeps with an open file; none without one.
inline dfs_obj_t* object_of(const fuse_file_info* file)
{
    return file ? reinterpret_cast<dfs_obj_t*>(file->fh) : nullptr;
}

// The object of a path, links not followed, for changes unless the mount is read-only. mode, status: optional.
// file: if it is given and open, ESTALE if the path shows another one by now, or none.
int look_up(const char* path, Object& object, mode_t* mode = nullptr, struct stat* status = nullptr,
            const fuse_file_info* file = nullptr);

// A path as an open directory, and a name in it.
struct Place {
    Object directory;
    mode_t mode = 0;
    const char* name = nullptr; // in the path
};
int find_place(const char* path, Place& place);

// A new object with the owner of the request. kind_and_mode: as st_mode. flags: with those of open().
int make(const char* path, mode_t kind_and_mode, int flags, const char* target, Object& object);

// The parts of the table of operations.
void add_names(fuse_operations& table);
void add_data(fuse_operations& table);
void add_attributes(fuse_operations& table);

} // namespace stepstore::mounting

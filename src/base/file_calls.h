// What this process asks of file systems by base/files.h, for a simulation of another one (admin.h).
// Threads: any. A watcher may be called by others for a moment after it was replaced. Errors: none.
#pragma once

#include <cstdint>
#include <string>

namespace stepstore {

// As struct stepstore_file_call (stepstore/admin.h), which says what they mean.
struct FileCall {
    enum Kind : int { look, open, make, remove, list, size, read, write, forget, sync, sync_names };
    Kind kind;
    int fd;
    const char* path;
    const char* from;
    std::uint64_t at, bytes;
};
using FileWatcher = void (*)(const FileCall&);

// From now on, for the whole process; nullptr: nobody.
void watch_file_calls(FileWatcher watcher);
bool file_calls_are_watched();
// These do nothing if nobody watches, and keep errno.
void note_file_call(FileCall::Kind kind, const std::string& path, std::uint64_t bytes = 0);
void note_opened(FileCall::Kind kind, const std::string& path, int fd);
void note_named(const std::string& from, const std::string& to);
// Of a file that is open.
void note_on_open(FileCall::Kind kind, int fd, std::uint64_t at = 0, std::uint64_t bytes = 0);

} // namespace stepstore

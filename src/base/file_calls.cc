#include "base/file_calls.h"

#include <atomic>
#include <cerrno>

namespace stepstore {

namespace {

std::atomic<FileWatcher> watching = nullptr;

void note(const FileCall& call)
{
    const FileWatcher watcher = watching;
    if (watcher == nullptr) return; // since just now
    const int error = errno;
    watcher(call);
    errno = error;
}

} // namespace

void watch_file_calls(FileWatcher watcher)
{
    watching = watcher;
}

bool file_calls_are_watched()
{
    return watching != nullptr;
}

void note_file_call(FileCall::Kind kind, const std::string& path, std::uint64_t bytes)
{
    if (watching != nullptr) note({kind, -1, path.c_str(), nullptr, 0, bytes});
}

void note_opened(FileCall::Kind kind, const std::string& path, int fd)
{
    if (watching != nullptr) note({kind, fd, path.c_str(), nullptr, 0, 0});
}

void note_named(const std::string& from, const std::string& to)
{
    if (watching != nullptr) note({FileCall::make, -1, to.c_str(), from.c_str(), 0, 0});
}

void note_on_open(FileCall::Kind kind, int fd, std::uint64_t at, std::uint64_t bytes)
{
    if (watching != nullptr) note({kind, fd, nullptr, nullptr, at, bytes});
}

} // namespace stepstore

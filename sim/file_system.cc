#include "file_system.h"

#include "queue.h"

namespace stepstore::sim {

void FileSystem::write(std::size_t bytes)
{
    spend(machine_.file_request + static_cast<double>(bytes) / machine_.file_write_bandwidth);
}

void FileSystem::sync()
{
    spend(machine_.file_sync);
}

void FileSystem::read(const std::string& path, std::uint64_t at, std::size_t bytes, std::uint64_t size)
{
    Window& window = windows_[path];
    const std::uint64_t end = std::min(at + bytes, size);
    if (window.begin <= at && end <= window.end) return;
    const std::uint64_t until = std::min(size, std::max(end, at + machine_.file_read_ahead));
    window = {at, std::max(at, until)};
    spend(machine_.file_request +
          static_cast<double>(window.end - window.begin) / machine_.file_read_bandwidth);
}

} // namespace stepstore::sim

// A file system in memory that is soon full. Only root can mount one.
#pragma once

#include "support/temporary.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace stepstore::testing {

class SmallDisk {
public:
    explicit SmallDisk(const std::string& size = "24m")
    {
        std::filesystem::create_directory(path_);
        usable_ = geteuid() == 0 && run("mount -t tmpfs -o size=" + size + ",nr_inodes=4k tmpfs " + path_);
    }
    ~SmallDisk()
    {
        if (usable_) run("umount -l " + path_);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    bool usable() const { return usable_; }
    const std::string& path() const { return path_; }
    // Takes all the space that there is, to the last page. inodes: and then all names that could be made, as
    // on a full file system of several machines. False: it could not.
    bool fill(bool inodes) const
    {
        std::filesystem::create_directory(filler_);
        const std::string page(4096, 'x');
        for (int number = 0;; ++number) {
            const std::string name = filler_ + "/" + std::to_string(number);
            const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            if (fd < 0) return errno == ENOSPC;
            while (number == 0 && write(fd, page.data(), page.size()) > 0) {
            }
            const bool full = number > 0 || errno == ENOSPC;
            close(fd);
            if (!full || !inodes) return full;
        }
    }
    void free() const { std::filesystem::remove_all(filler_); }

private:
    static bool run(const std::string& command)
    {
        return std::system((command + " 2>/dev/null").c_str()) == 0;
    }

    TemporaryDirectory directory_;
    const std::string path_ = directory_ / "disk", filler_ = path_ + "/filler";
    bool usable_ = false;
};

} // namespace stepstore::testing

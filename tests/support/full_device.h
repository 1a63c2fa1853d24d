// A file system whose device has no room for what is new, as on thin disks and network file systems: write()
// succeeds, only a sync fails. What the system holds in memory is dropped when it is mounted again.
//
// The device itself must not lie. Where space ends within a request, the loop devices of some kernels write
// the part that fits, and report the whole as done (seen with Linux 6.18). So a request is one page here,
// which is written or is not.
#pragma once

#include "support/temporary.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace stepstore::testing {

class FullDevice {
public:
    FullDevice()
    {
        if (geteuid() != 0) return; // only root can mount a file system
        std::filesystem::create_directory(disk_);
        std::filesystem::create_directory(device_);
        const std::string size = std::to_string(image_size);
        usable_ = run("mount -t tmpfs -o size=200m tmpfs " + device_) &&
                  run("truncate -s " + size + " " + image_ + " && mkfs.ext4 -q -b 4096 -m 0 " + image_ +
                      " && fallocate -l " + size + " " + image_) &&
                  mount();
    }
    ~FullDevice()
    {
        if (geteuid() != 0) return;
        run("umount " + disk_);
        run("umount " + device_);
    }
    FullDevice(const FullDevice&) = delete;
    FullDevice& operator=(const FullDevice&) = delete;

    bool usable() const { return usable_; } // false: there is no tmpfs, ext4 or loop device, or no root
    const std::string& disk() const { return disk_; }
    const TemporaryDirectory& beside() const { return directory_; } // a directory that always has room
    bool mount_again() const { return run("umount " + disk_) && mount(); }
    // All that is free takes no room on the device, and other data takes what is left.
    bool take_all_room() const
    {
        if (!mount_again() || !run("fstrim " + disk_)) return false;
        std::ofstream(device_ + "/ballast") << std::string(2 * image_size, 'x');
        return true;
    }
    // What the system does by itself from time to time, and sooner on a busy machine. Its failures are told
    // to those who have the files open.
    void write_back() const
    {
        const int fd = open(disk_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)syncfs(fd);
        close(fd);
    }
    void give_room() const { std::filesystem::remove(device_ + "/ballast"); }

private:
    static bool run(const std::string& command)
    {
        return std::system((command + " 2>/dev/null").c_str()) == 0;
    }
    bool mount() const
    {
        return run("mount -o loop " + image_ + " " + disk_ +
                   " && echo 4 > /sys/block/$(basename $(findmnt -n -o SOURCE " + disk_ +
                   "))/queue/max_sectors_kb");
    }

    static constexpr std::size_t image_size = 160 << 20;
    TemporaryDirectory directory_;
    const std::string device_ = directory_ / "device", image_ = device_ + "/image",
                      disk_ = directory_ / "disk";
    bool usable_ = false;
};

} // namespace stepstore::testing

// One plain file per process, pwrite and pread at fixed places. durability=power: fdatasync after every
// pwrite.
#include "subject.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <unistd.h>

namespace stepstore::bench {

namespace {

class FileSubject final : public Subject {
public:
    FileSubject(const Case& one, const std::string& path)
        : Subject(one), fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666))
    {
        if (fd_ < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
    }
    ~FileSubject() override { close(fd_); }
    FileSubject(const FileSubject&) = delete;
    FileSubject& operator=(const FileSubject&) = delete;

    void run(std::uint64_t place) override
    {
        const auto offset = static_cast<off_t>(place * case_.size);
        const ssize_t done = reads(case_) ? pread(fd_, buffer_.data(), buffer_.size(), offset)
                                          : pwrite(fd_, buffer_.data(), buffer_.size(), offset);
        if (done != static_cast<ssize_t>(buffer_.size()))
            throw std::runtime_error(std::string("plain file: ") + std::strerror(errno));
        if (case_.power && !reads(case_) && fdatasync(fd_) != 0)
            throw std::runtime_error(std::string("plain file: fdatasync: ") + std::strerror(errno));
    }

private:
    int fd_;
};

} // namespace

std::unique_ptr<Subject> open_file(const Case& one, const std::string& directory, unsigned process)
{
    return std::make_unique<FileSubject>(one, directory + "/file-" + std::to_string(process));
}

} // namespace stepstore::bench

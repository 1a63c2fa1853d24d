// A machine that has old bytes of files: the first read of a place gives wrong ones, later reads right ones.
// It is played by the file itself, which is changed, and mended at the end of the first call that reads it.
//
// Threads: the calls may come from any; the test itself is one. An OldBytes lives before all pools that are
// opened (stepstore_watch_file_calls); these count their file systems as shared ones.
#pragma once

#include "base/file_calls.h"
#include "stepstore/admin.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

// Not there in tests of rooms below the C API. Those above have two copies of base: their own, and the
// library's.
extern "C" __attribute__((weak)) void stepstore_watch_file_calls(stepstore_file_call_cb each);

namespace stepstore::testing {

class OldBytes {
public:
    OldBytes()
    {
        living() = this;
        watch_file_calls(&OldBytes::note);
        if (stepstore_watch_file_calls != nullptr) stepstore_watch_file_calls(&OldBytes::note_library);
    }
    ~OldBytes()
    {
        if (stepstore_watch_file_calls != nullptr) stepstore_watch_file_calls(nullptr);
        watch_file_calls(nullptr);
        living() = nullptr;
    }
    OldBytes(const OldBytes&) = delete;
    OldBytes& operator=(const OldBytes&) = delete;

    // mended: by the first read. Otherwise by mend() alone.
    void spoil(const std::filesystem::path& file, std::uint64_t at, bool mended)
    {
        const std::lock_guard lock(guard_);
        file_ = open(file.c_str(), O_RDWR | O_CLOEXEC);
        ASSERT_GE(file_, 0) << file;
        ASSERT_EQ(fstat(file_, &status_), 0);
        at_ = at;
        mended_by_read_ = mended;
        reads_ = 0;
        flip();
    }
    // How many reads there were of the wrong byte.
    int mend()
    {
        const std::lock_guard lock(guard_);
        if (file_ >= 0) flip();
        return reads_;
    }

private:
    static OldBytes*& living()
    {
        static OldBytes* one = nullptr;
        return one;
    }
    static void note(const FileCall& call)
    {
        if (call.kind == FileCall::read) living()->was_read(call.fd, call.at, call.bytes);
    }
    static void note_library(const stepstore_file_call* call)
    {
        if (call->kind == STEPSTORE_FILE_READ) living()->was_read(call->fd, call->at, call->bytes);
    }
    void was_read(int fd, std::uint64_t at, std::uint64_t bytes)
    {
        const std::lock_guard lock(guard_);
        struct stat read {};
        if (file_ < 0 || at_ < at || at_ >= at + bytes || fstat(fd, &read) != 0 ||
            read.st_ino != status_.st_ino || read.st_dev != status_.st_dev)
            return;
        ++reads_;
        if (mended_by_read_) flip();
    }
    // Closes the file when it is as it was.
    void flip()
    {
        char byte = 0;
        const auto at = static_cast<off_t>(at_);
        EXPECT_EQ(pread(file_, &byte, 1, at), 1);
        byte = static_cast<char>(byte ^ 0x10);
        EXPECT_EQ(pwrite(file_, &byte, 1, at), 1);
        is_wrong_ = !is_wrong_;
        if (is_wrong_) return;
        close(file_);
        file_ = -1;
    }

    std::mutex guard_; // of all that follows
    int file_ = -1;    // -1: all bytes are right
    struct stat status_ {};
    std::uint64_t at_ = 0;
    bool mended_by_read_ = false, is_wrong_ = false;
    int reads_ = 0;
};

// Spoils bytes of the files of a pool, one at a time, once as old bytes and once for good. read: opens the
// pool, and reads all that is in it. It gives the code of the error that it met, and fails if what it read is
// wrong. Old bytes are no error. Bytes that stay wrong are damage, or were not needed. least: so many bytes
// of arrays must have been read at each of the two.
inline void expect_second_looks(OldBytes& old, const std::filesystem::path& pool, int rounds, int least,
                                const std::function<int()>& read)
{
    ASSERT_EQ(read(), 0);
    std::mt19937_64 random(7);
    std::map<bool, int> of_arrays, damaged;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(pool)) {
        if (!entry.is_regular_file() || entry.is_symlink() || entry.file_size() == 0) continue;
        if (entry.path().parent_path().filename().string().size() > 30) continue; // the writer's owner file
        const bool value = entry.path().filename().string().find('@') != std::string::npos;
        for (int round = 0; round < rounds; ++round) {
            const std::uint64_t at = random() % entry.file_size();
            SCOPED_TRACE(entry.path().string() + " at " + std::to_string(at));
            for (const bool mended : {true, false}) {
                old.spoil(entry.path(), at, mended);
                const int code = read();
                const int reads = old.mend();
                if (!value && reads > 0) ++of_arrays[mended];
                if (mended) {
                    EXPECT_EQ(code, 0) << "damage was said of old bytes";
                } else if (code != 0) {
                    ++damaged[value];
                    EXPECT_GE(reads, 2) << "damage was said after one look: " << code;
                }
                if (::testing::Test::HasFailure()) return;
            }
        }
    }
    EXPECT_GE(of_arrays[true], least);
    EXPECT_GE(damaged[false], least);
    EXPECT_GT(damaged[true], 0);
}

} // namespace stepstore::testing

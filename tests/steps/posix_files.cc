// The files of the layout posix: what a power failure leaves of them, and damage to any of their bytes. The
// program's own fdatasync, fsync and pwritev stand in front of the system's and note what has reached the
// disk.
#include "steps/check/check.h"
#include "steps/layouts/data_files.h"
#include "steps/layouts/layout.h"
#include "steps/model.h"
#include "steps/stream/stream.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <sys/uio.h>

namespace fs = std::filesystem;

namespace stepstore::steps::testing {

namespace {

using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

std::string content(const fs::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void put_content(const fs::path& path, const std::string& bytes)
{
    std::ofstream(path, std::ios::binary) << bytes;
}

// A disk that keeps of a pool's files only what was synced: of a file the bytes, of a directory the names.
class Disk {
public:
    void watch(const fs::path& pool)
    {
        const std::lock_guard lock(guard_);
        pool_ = pool;
        files_.clear();
        names_.clear();
        syncs_ = early_entries_ = 0;
    }

    void synced(int descriptor)
    {
        const fs::path path = path_of(descriptor);
        const std::lock_guard lock(guard_);
        if (!is_ours(path)) return;
        if (path != pool_) ++syncs_;
        if (!fs::is_directory(path)) {
            files_[path] = content(path);
            return;
        }
        names_[path].clear();
        for (const auto& entry : fs::directory_iterator(path))
            names_[path].insert(entry.path());
    }

    // An entry of the index must not reach the disk before what it speaks of.
    void writing(int descriptor)
    {
        const fs::path path = path_of(descriptor);
        const std::lock_guard lock(guard_);
        if (!is_ours(path) || path.filename() != "index") return;
        for (const auto& entry : fs::directory_iterator(path.parent_path()))
            if (entry.path().filename() != "index" && files_[entry.path()] != content(entry.path()))
                ++early_entries_;
    }

    // The pool as the power failure leaves it. What lies beside files/ promises the same by tests of its own.
    void restore(const fs::path& to)
    {
        const std::lock_guard lock(guard_);
        fs::remove_all(to);
        fs::create_directory(to);
        for (const auto& entry : fs::directory_iterator(pool_))
            if (entry.path().filename() != "files")
                fs::copy(entry, to / entry.path().filename(), fs::copy_options::recursive);
        restore_names(pool_, to, true);
    }

    int syncs() const { return syncs_; }
    int early_entries() const { return early_entries_; }

private:
    static fs::path path_of(int descriptor)
    {
        std::error_code error;
        return fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
    }
    bool is_ours(const fs::path& path) const
    {
        return !pool_.empty() && (path == pool_ || path.string().starts_with((pool_ / "files").string()));
    }
    void restore_names(const fs::path& from, const fs::path& to, bool top)
    {
        for (const fs::path& name : names_[from]) {
            if (top && name.filename() != "files") continue;
            const fs::path target = to / name.filename();
            if (!fs::is_directory(name)) {
                put_content(target, files_[name]);
                continue;
            }
            fs::create_directory(target);
            restore_names(name, target, false);
        }
    }

    std::mutex guard_;
    fs::path pool_;
    std::map<fs::path, std::string> files_;
    std::map<fs::path, std::set<fs::path>> names_;
    int syncs_ = 0, early_entries_ = 0; // below files/
};

Disk& disk()
{
    static Disk* const one = new Disk; // outlives everything that syncs
    return *one;
}

template <class Call>
Call* next(const char* name)
{
    return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" [[gnu::visibility("default")]] int fdatasync(int fd)
{
    disk().synced(fd);
    return next<int(int)>("fdatasync")(fd);
}

extern "C" [[gnu::visibility("default")]] int fsync(int fd)
{
    disk().synced(fd);
    return next<int(int)>("fsync")(fd);
}

extern "C" [[gnu::visibility("default")]] ssize_t pwritev(int fd, const iovec* pieces, int count, off_t at)
{
    disk().writing(fd);
    return next<ssize_t(int, const iovec*, int, off_t)>("pwritev")(fd, pieces, count, at);
}

namespace {

class PosixFiles : public ::testing::Test {
protected:
    static constexpr std::uint64_t steps = 5;

    WriterOptions options_with(Durability durability) const
    {
        WriterOptions options = options_of("posix");
        options.durability = durability;
        return options;
    }

    // after: on rank 0, when all ranks have ended the step.
    void write(Durability durability, bool close = true, const std::function<void(std::uint64_t)>& after = {})
    {
        disk().watch(location);
        run_ranks(model.ranks, [&](std::shared_ptr<Communicator> communicator) {
            Writer writer(location, options_with(durability), communicator);
            for (std::uint64_t step = 0; step < steps; ++step) {
                model.write_step(writer, communicator->rank());
                communicator->barrier();
                if (after && communicator->rank() == 0) after(step);
                communicator->barrier();
            }
            if (close) writer.close();
            communicator->barrier();
        });
    }

    fs::path files() const
    {
        const OpenedStream opened = find_stream(location);
        return std::string(segment_directory(opened.location.pool, opened.record));
    }

    // Throws for damage; wrong data is a failure of the test.
    void read(const std::string& where, std::uint64_t number)
    {
        Reader reader(where, {}, self_communicator());
        for (std::uint64_t step = 0; step < number; ++step) {
            ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
            model.check_step(reader, step);
            if (HasFatalFailure()) return;
            reader.end_step();
        }
    }

    // Flips a bit of one byte: a read of everything must say so, and so must the check.
    void expect_found(const fs::path& file, std::size_t at)
    {
        SCOPED_TRACE(file.filename().string() + " byte " + std::to_string(at));
        const std::string before = content(file);
        std::string damaged = before;
        damaged.at(at) = static_cast<char>(damaged.at(at) ^ 0x10);
        put_content(file, damaged);
        try {
            read(location, steps);
            ADD_FAILURE() << "the read did not see it";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_CSUM) << error.what();
        }
        EXPECT_TRUE(check_streams(location, true).damaged());
        put_content(file, before);
    }

    TemporaryDirectory directory;
    std::string location = directory / "pool";
    Model model{3, 2048};
};

TEST_F(PosixFiles, WhatWasAcknowledgedSurvivesAPowerFailure)
{
    write(Durability::power, true, [&](std::uint64_t step) {
        const std::string image = directory / ("image" + std::to_string(step));
        disk().restore(image);
        read(image, step + 1);
        EXPECT_FALSE(check_streams(image, true).damaged());
    });
    const std::string image = directory / "closed";
    disk().restore(image);
    read(image, steps);
    EXPECT_FALSE(check_streams(image, true).damaged());
    EXPECT_EQ(disk().early_entries(), 0) << "an entry was written before what it speaks of was synced";
}

TEST_F(PosixFiles, AppendedStepsSurviveToo)
{
    write(Durability::power);
    WriterOptions options;
    options.append = true;
    Model alone{1, 2048};
    {
        Writer writer(location, options, self_communicator());
        alone.write_step(writer, 0);
        const std::string image = directory / "image";
        disk().restore(image);
        Reader reader(image, {}, self_communicator());
        for (std::uint64_t step = 0; step <= steps; ++step) {
            ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
            (step < steps ? model : alone).check_step(reader, step);
            reader.end_step();
        }
        writer.close();
    }
}

TEST_F(PosixFiles, WithoutThatPromiseNothingIsSynced)
{
    write(Durability::process);
    EXPECT_EQ(disk().syncs(), 0);
}

TEST_F(PosixFiles, ASyncOfThePoolTakesThemAlong)
{
    write(Durability::process);
    Pool::connect(location).sync();
    const std::string image = directory / "image";
    disk().restore(image);
    read(image, steps);
    EXPECT_FALSE(check_streams(image, true).damaged());
}

TEST_F(PosixFiles, AFlippedBitInAnyFileIsFound)
{
    write(Durability::process);
    std::mt19937_64 random(1);
    std::map<std::string, int> kinds;
    for (const auto& entry : fs::directory_iterator(files())) {
        const std::size_t size = fs::file_size(entry);
        for (int i = 0; i < 17; ++i)
            expect_found(entry, random() % size);
        ++kinds[entry.path().stem()];
    }
    EXPECT_EQ(kinds, (std::map<std::string, int>{{"blocks", 3}, {"index", 1}, {"metadata", 1}, {"sums", 3}}));
}

// The last entry of a stream that nobody closed might be one that is being written.
TEST_F(PosixFiles, ADamagedLastEntryIsNotTakenForAnUnfinishedOne)
{
    write(Durability::process, false);
    const fs::path index = files() / "index";
    for (std::size_t at = fs::file_size(index) - 64; at < fs::file_size(index); at += 9)
        expect_found(index, at);
    fs::resize_file(index, fs::file_size(index) - 1);
    read(location, steps - 1);
    EXPECT_FALSE(check_streams(location, true).damaged());
}

TEST_F(PosixFiles, ChecksumsThatAreGoneAreDamage)
{
    write(Durability::process);
    const fs::path sums = files() / "sums.1";
    const std::string before = content(sums);
    put_content(sums, before.substr(0, before.size() - 32));
    EXPECT_THROW(read(location, steps), Error);
    EXPECT_TRUE(check_streams(location, true).damaged());
    fs::remove(sums);
    EXPECT_THROW(read(location, steps), Error);
    EXPECT_TRUE(check_streams(location, true).damaged());
}

TEST_F(PosixFiles, StreamsOfVersion1HaveNoneAndAreRead)
{
    write(Durability::process);
    const fs::path there = files();
    for (int rank = 0; rank < model.ranks; ++rank) {
        fs::rename(there / ("blocks." + std::to_string(rank)), there / ("data." + std::to_string(rank)));
        fs::remove(there / ("sums." + std::to_string(rank)));
    }
    read(location, steps);
    EXPECT_FALSE(check_streams(location, true).damaged());
}

// Blocks of all sizes around a piece, read whole and in boxes that begin and end anywhere.
TEST_F(PosixFiles, PartsOfBlocksAreVerifiedAndRead)
{
    const std::vector<std::uint64_t> sizes{1, 100, 65535, 65536, 65537, 200'000, 1'000'003};
    std::vector<std::vector<std::uint8_t>> blocks;
    std::mt19937_64 random(2);
    Writer writer(location, options_with(Durability::process), self_communicator());
    writer.begin_step();
    const auto id = writer.define("bytes", Type::uint8, ShapeKind::local_array);
    for (const std::uint64_t size : sizes) {
        auto& block = blocks.emplace_back(size);
        for (auto& byte : block)
            byte = static_cast<std::uint8_t>(random());
        writer.put(id, {}, {}, Dims{size}, block.data(), size % 2 == 0 ? Mode::sync : Mode::deferred);
    }
    writer.end_step();
    Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
    for (int i = 0; i < 300; ++i) {
        const std::size_t number = random() % sizes.size();
        const std::uint64_t start = random() % sizes[number];
        const std::uint64_t count = 1 + random() % (sizes[number] - start);
        std::vector<std::uint8_t> part(count);
        reader.get_block(0, number, Dims{start}, Dims{count}, part.data(), Mode::sync);
        ASSERT_TRUE(std::ranges::equal(part, std::span(blocks[number]).subspan(start, count)))
            << number << " " << start;
    }
}

} // namespace

} // namespace stepstore::steps::testing

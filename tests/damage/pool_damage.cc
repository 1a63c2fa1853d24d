// One byte of one file of a pool is changed, before a process opens the pool or while it has it open. Then it
// reads all there is, checks the pool, updates it and reads again: each answer is the right one or an error,
// and the process lives.
//
//   STEPSTORE_DAMAGES   how many (300)
//   STEPSTORE_SEED      of all choices (1); printed
//   STEPSTORE_DAMAGE    this one alone, by the number that a failure prints
//   STEPSTORE_KIND      only files and pages of this kind, such as "branch page"
//   STEPSTORE_KEEP      a directory that a pool which failed is copied to, as it was before it was opened
#include "damage/index_pages.h"
#include "damage/reference_pool.h"
#include "stepstore/admin.h"
#include "support/processes.h"
#include "support/temporary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>

namespace stepstore::testing {
namespace {

namespace fs = std::filesystem;

constexpr unsigned seconds_until_hung = 60; // on a machine that does much else
constexpr std::size_t most_kinds = 32;

std::uint64_t setting(const char* name, std::uint64_t otherwise)
{
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// A file of a pool, by what it is.
struct PoolFile {
    std::string name; // in the pool's directory
    std::string kind;
    unsigned weight;             // of this kind among all
    std::vector<PageKind> pages; // of an index
    std::size_t size;
};

std::vector<PoolFile> files_of(const fs::path& pool)
{
    std::vector<PoolFile> files;
    for (const auto& entry : fs::recursive_directory_iterator(pool)) {
        if (!entry.is_regular_file() || entry.file_size() == 0) continue;
        PoolFile file{fs::relative(entry.path(), pool).string(), "other file", 2, {}, entry.file_size()};
        const std::string& name = file.name;
        if (name.ends_with("/data.mdb")) {
            file.kind = name.starts_with("meta") ? "index of meta" : "index of a target";
            file.weight = name.starts_with("meta") ? 15 : 45;
            file.pages = page_kinds(entry.path().string());
        } else if (name.ends_with("/lock.mdb")) {
            file.kind = "lock.mdb", file.weight = 4;
        } else if (name.ends_with(".ext")) {
            file.kind = "extents", file.weight = 12;
        } else if (name.starts_with("files/")) {
            file.kind = "files of layout posix", file.weight = 10;
        } else if (name == "shared" || name == "stepstore.pool" || name == "lock") {
            file.kind = name, file.weight = 4;
        }
        files.push_back(std::move(file));
    }
    std::ranges::sort(files, {}, &PoolFile::name); // extents: in the order in which they were made
    return files;
}

struct Damage {
    unsigned shape = 0;
    bool while_open = false;
    std::string file, kind;
    std::size_t offset = 0;
    unsigned char change = 0; // old byte xor new byte

    void apply(const fs::path& pool) const
    {
        const int fd = open((pool / file).c_str(), O_RDWR | O_CLOEXEC);
        unsigned char byte = 0;
        if (fd < 0 || pread(fd, &byte, 1, static_cast<off_t>(offset)) != 1) std::abort();
        byte ^= change;
        if (pwrite(fd, &byte, 1, static_cast<off_t>(offset)) != 1) std::abort();
        close(fd);
    }
};

// A pool as it was made, and what is right before and after the updates.
struct Original {
    Original(const TemporaryDirectory& directory, unsigned shape)
        : path(directory / ("original" + std::to_string(shape))), reference(make_pool(path, shape)),
          files(files_of(path))
    {
        const std::string copy = directory / "updated";
        fs::copy(path, copy, fs::copy_options::recursive);
        OpenedPool pool(copy, reference);
        before = pool.answers();
        EXPECT_EQ(pool.update(), 0);
        after = pool.answers();
        EXPECT_EQ(std::ranges::count(before, error_answer) + std::ranges::count(after, error_answer), 0);
    }
    Damage choose(std::mt19937_64& random) const
    {
        std::map<std::string, std::vector<const PoolFile*>> by_kind;
        unsigned sum = 0;
        for (const PoolFile& file : files) {
            auto& same = by_kind[file.kind];
            if (same.empty()) sum += file.weight;
            same.push_back(&file);
        }
        auto at = random() % sum;
        const auto kind = std::ranges::find_if(by_kind, [&](const auto& one) {
            const unsigned weight = one.second.front()->weight;
            if (at < weight) return true;
            at -= weight;
            return false;
        });
        const PoolFile& file = *kind->second[random() % kind->second.size()];
        Damage damage{reference.shape, random() % 2 == 0, file.name, file.kind, random() % file.size, 0};
        // Most of an index's damages go to pages that are in use.
        for (int tries = 0; !file.pages.empty() && tries < 3; ++tries) {
            if (file.pages[damage.offset / index_page_size] != PageKind::unused) break;
            damage.offset = random() % file.size;
        }
        if (!file.pages.empty()) {
            if (random() % 4 == 0) { // headers of pages, and what says where the records are
                damage.offset = damage.offset / index_page_size * index_page_size + random() % 200;
            }
            damage.kind +=
                std::string(", ") +
                page_kind_names[static_cast<unsigned>(file.pages[damage.offset / index_page_size])];
        }
        damage.change =
            static_cast<unsigned char>(random() % 2 == 0 ? 1U << random() % 8 : random() % 255 + 1);
        return damage;
    }

    std::string path;
    Reference reference;
    std::vector<PoolFile> files;
    std::vector<std::string> before, after;
};

// What a process that uses a damaged pool tells, also when it dies.
struct Told {
    enum Phase : int { opening, reading, checking, updating, reading_again, checking_again, done };
    static constexpr const char* phase_names[] = {"opening",       "reading",        "checking", "updating",
                                                  "reading again", "checking again", "done"};
    Phase phase;
    int wrong, errors, findings;
    char first[400];

    void report(const std::string& what)
    {
        if (wrong++ == 0) std::strncpy(first, what.c_str(), sizeof first - 1);
    }
};

int check_pool(const std::string& path)
{
    int damages = 0;
    const int result = stepstore_pool_check(
        path.c_str(), true, false,
        [](const stepstore_finding* finding, void* count) {
            *static_cast<int*>(count) += finding->severity == STEPSTORE_DAMAGE;
            return 0;
        },
        &damages, nullptr);
    return result != 0 ? 1 : damages;
}

void compare(Told& told, OpenedPool& pool, const Original& original, int failed_updates, bool updated)
{
    const std::vector<std::string> answers = pool.answers();
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const std::string& right = updated ? original.after[i] : original.before[i];
        const auto& question = pool.questions()[i];
        told.errors += answers[i] == error_answer;
        if (answers[i] == error_answer || answers[i] == right) continue;
        if (failed_updates != 0 && (answers[i] == original.before[i] || !question.of_one_record)) continue;
        told.report(question.name + (updated ? " (after updates)" : "") + " is <" + answers[i] +
                    "> instead of <" + right + ">");
    }
}

// The life of a process with the pool at `path`. In a child.
int use(const Original& original, const Damage& damage, const std::string& path, Told& told)
{
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(seconds_until_hung);
    try {
        OpenedPool pool(path, original.reference);
        told.phase = Told::reading;
        if (damage.while_open) {
            pool.answers();
            damage.apply(path);
        }
        compare(told, pool, original, 0, false);
        told.phase = Told::checking;
        told.findings = check_pool(path);
        told.phase = Told::updating;
        const int failed = pool.update();
        told.phase = Told::reading_again;
        compare(told, pool, original, failed, true);
        told.phase = Told::checking_again;
        check_pool(path);
    } catch (const std::exception& error) {
        told.report(std::string("an exception that names no DER_* code: ") + error.what());
    }
    told.phase = Told::done;
    return 0;
}

// Shared by the processes that try damages.
struct Tally {
    struct Row {
        char kind[60];
        std::atomic<unsigned> damages, wrong, crashes, hung, detected, harmless, unnamed;
    };
    std::array<Row, most_kinds> rows;
    std::atomic<unsigned> failures;

    Row& row_of(const std::string& kind)
    {
        for (Row& row : rows) {
            if (row.kind[0] == 0) std::strncpy(row.kind, kind.c_str(), sizeof row.kind - 1);
            if (kind == row.kind) return row;
        }
        std::abort();
    }
};

template <class T>
T* shared_memory()
{
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) T{};
}

class PoolDamage : public ::testing::Test {
protected:
    PoolDamage()
    {
        if (access("/dev/shm", W_OK) == 0 && std::getenv("TMPDIR") == nullptr)
            setenv("TMPDIR", "/dev/shm", 1);
        directory = std::make_unique<TemporaryDirectory>();
        for (unsigned shape = 0; shape < shapes; ++shape)
            originals.push_back(std::make_unique<Original>(*directory, shape)),
                fs::remove_all(*directory / "updated");
        for (const auto& original : originals) // all rows there are, before processes share them
            for (const PoolFile& file : original->files)
                for (const char* page : page_kind_names)
                    tally->row_of(file.pages.empty() ? file.kind : file.kind + ", " + page);
    }

    void attempt(std::uint64_t number, const std::string& path, Told& told)
    {
        std::mt19937_64 random(seed * 1'000'003 + number);
        const Original& original = *originals[random() % shapes];
        Damage damage = original.choose(random);
        for (int tries = 0; damage.kind.find(kind) == std::string::npos && tries < 10'000; ++tries)
            damage = original.choose(random);
        fs::remove_all(path);
        fs::copy(original.path, path, fs::copy_options::recursive);
        if (!damage.while_open) damage.apply(path);
        told = {};
        const int end = run_in_child([&] { return use(original, damage, path, told); });
        Tally::Row& row = tally->row_of(damage.kind);
        ++row.damages;
        const bool hung = end == -SIGALRM;
        if (end != 0 && !hung) ++row.crashes;
        if (hung) ++row.hung;
        if (told.wrong != 0) ++row.wrong;
        const bool failed = end != 0 || told.wrong != 0;
        if (!failed) ++(told.errors + told.findings != 0 ? row.detected : row.harmless);
        if (!failed && told.errors != 0 && told.findings == 0) ++row.unnamed;
        if (!failed) return;
        ++tally->failures;
        std::fprintf(stderr, "damage %llu: shape %u, %s, %s (%s), byte %zu, xor 0x%02x: %s%s%s\n",
                     static_cast<unsigned long long>(number), damage.shape,
                     damage.while_open ? "while it was open" : "before it was opened", damage.file.c_str(),
                     damage.kind.c_str(), damage.offset, damage.change,
                     end == 0 ? ""
                     : hung   ? "hung while "
                              : "died while ",
                     end == 0 ? "" : Told::phase_names[told.phase],
                     told.wrong == 0 ? "" : (std::string(" ") + told.first).c_str());
        keep(number, original, damage);
    }
    void keep(std::uint64_t number, const Original& original, const Damage& damage) const
    {
        const char* kept = std::getenv("STEPSTORE_KEEP");
        if (kept == nullptr) return;
        const fs::path copy = fs::path(kept) / ("damage-" + std::to_string(number));
        fs::remove_all(copy);
        fs::copy(original.path, copy, fs::copy_options::recursive);
        damage.apply(copy);
    }
    void print() const
    {
        unsigned damages = 0, wrong = 0, crashes = 0, hung = 0, detected = 0, harmless = 0;
        std::printf("%-38s %8s %6s %8s %5s %9s %9s %s\n", "", "damages", "wrong", "crashes", "hung",
                    "detected", "harmless", "(not named by check)");
        for (const Tally::Row& row : tally->rows) {
            if (row.damages == 0) continue;
            std::printf("%-38s %8u %6u %8u %5u %9u %9u (%u)\n", row.kind, row.damages.load(),
                        row.wrong.load(), row.crashes.load(), row.hung.load(), row.detected.load(),
                        row.harmless.load(), row.unnamed.load());
            damages += row.damages, wrong += row.wrong, crashes += row.crashes, hung += row.hung;
            detected += row.detected, harmless += row.harmless;
        }
        std::printf("%u damages (seed %llu): %u wrong, %u crashes, %u hung, %u detected, %u harmless\n",
                    damages, static_cast<unsigned long long>(seed), wrong, crashes, hung, detected, harmless);
    }

    const std::uint64_t seed = setting("STEPSTORE_SEED", 1);
    const std::string kind = std::getenv("STEPSTORE_KIND") == nullptr ? "" : std::getenv("STEPSTORE_KIND");
    std::unique_ptr<TemporaryDirectory> directory;
    std::vector<std::unique_ptr<Original>> originals;
    Tally* tally = shared_memory<Tally>();
};

TEST_F(PoolDamage, NothingIsReadWrongAndNobodyDies)
{
    const std::uint64_t one = setting("STEPSTORE_DAMAGE", UINT64_MAX);
    const std::uint64_t first = one == UINT64_MAX ? 0 : one;
    const std::uint64_t end = one == UINT64_MAX ? setting("STEPSTORE_DAMAGES", 300) : one + 1;
    constexpr unsigned workers = 2;
    std::vector<pid_t> children;
    for (unsigned worker = 0; worker < workers; ++worker) {
        children.push_back(start_child([&, worker] {
            Told* told = shared_memory<Told>();
            const std::string path = *directory / ("damaged" + std::to_string(worker));
            for (std::uint64_t number = first + worker; number < end; number += workers)
                attempt(number, path, *told);
            return 0;
        }));
    }
    for (const pid_t child : children)
        EXPECT_EQ(end_of(child), 0);
    print();
    EXPECT_EQ(tally->failures, 0U) << "STEPSTORE_SEED=" << seed << " STEPSTORE_DAMAGE=N tries damage N alone";
}

} // namespace
} // namespace stepstore::testing

// stepstore-bench-arrays: array objects by class, chunk size and number, next to each other.
#include "workers.h"

#include "common/command_line.h"
#include "stepstore/client.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace stepstore::bench {

namespace {

constexpr double mib = 1 << 20;

struct Options {
    std::vector<std::uint64_t> processes = {1, 4};
    std::vector<std::uint64_t> blocks = {4 << 10, 16 << 10, 64 << 10, 256 << 10,
                                         1 << 20, 4 << 20,  16 << 20, 64 << 20};
    std::vector<std::uint64_t> chunks = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
    std::vector<std::string> classes = {"S1", "S2", "S4", "SX"};
    std::uint64_t bytes = 64 << 20; // that a process writes in one measurement, at most
    unsigned rounds = 3;
    std::string directory;
    bool json = false;
};

Options parse_options(int argc, char** argv)
{
    Options options;
    std::uint64_t rounds = options.rounds;
    CommandLine line(
        "stepstore bench arrays", "[OPTIONS]",
        "Writes blocks to array objects and reads them back, step after step as a stream does. It compares\n"
        "object classes, chunk sizes and numbers of objects (one for each process, or one for all), for\n"
        "each size of block and number of processes. It prints the times of writing and reading, with 1.00\n"
        "for the fastest variant. The rule for a stream's data objects rests on these times.");
    line.numbers("processes", "numbers of processes (default: 1,4)", options.processes, 256);
    line.numbers(
        "blocks",
        "bytes that a process writes at once, also with k or M (default: 4k,16k,64k,256k,1M,4M,16M,64M)",
        options.blocks);
    line.numbers("chunks", "bytes of a chunk, also with k or M (default: 64k,256k,1M,4M,16M,64M)",
                 options.chunks);
    line.words("classes", "CLASS,...", "object classes (default: S1,S2,S4,SX)", options.classes);
    line.bytes("bytes",
               "at most so many bytes of a process in one measurement, in 1 to 200 blocks, also with k or M "
               "(default: 64M)",
               options.bytes);
    line.number("rounds", "rounds; the median counts (default: 3)", rounds, 1, 1000);
    line.text("directory", "DIR",
              "where the pool goes (default: a new directory in $TMPDIR or /tmp); removed at the end",
              options.directory);
    line.flag("json", "print a list of objects, with MiB/s, instead of tables", [&] { options.json = true; });
    line.example("Compare two object classes for blocks of 1 MiB",
                 "stepstore bench arrays --classes S1,SX --blocks 1M");
    const auto rest = line.parse(argc, argv);
    if (!rest.empty()) line.refuse("unknown argument '" + rest.front() + "'");
    options.rounds = static_cast<unsigned>(rounds);
    return options;
}

struct Result {
    Variant variant;
    std::uint64_t processes = 0;
    std::uint64_t block = 0;
    double bytes = 0; // of one measurement, all processes
    Times times;      // medians
    double ratio = 0; // of write and read, to the fastest variant
};

std::vector<Variant> variants(const Options& options, std::uint64_t processes)
{
    std::vector<Variant> all;
    for (const bool shared : {false, true}) {
        if (shared && processes == 1) continue; // it is the same
        for (const std::string& name : options.classes)
            for (const std::uint64_t chunk : options.chunks)
                all.push_back({name, chunk, shared});
    }
    return all;
}

std::vector<Result> compare(const std::string& pool, std::uint64_t processes, std::uint64_t block,
                            const Options& options)
{
    constexpr std::uint64_t most_steps = 200;
    const std::uint64_t steps = std::clamp<std::uint64_t>(options.bytes / block, 1, most_steps);
    const std::vector<Variant> all = variants(options, processes);
    std::vector<std::vector<double>> writes(all.size()), reads(all.size());
    ArrayWorkers workers(pool, static_cast<unsigned>(processes), block, steps);
    for (unsigned round = 0; round <= options.rounds; ++round) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::size_t one = (i + round * all.size() / (options.rounds + 1)) % all.size();
            const Times times = workers.measure(all[one]);
            if (round == 0) continue; // it opens targets and fills caches
            writes[one].push_back(times.write);
            reads[one].push_back(times.read);
        }
    }
    std::vector<Result> results;
    double best = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Times times{median(writes[i]), median(reads[i])};
        const double bytes = static_cast<double>(processes * block * steps);
        results.push_back({all[i], processes, block, bytes, times, times.write + times.read});
        best = i == 0 ? results.back().ratio : std::min(best, results.back().ratio);
    }
    for (Result& result : results)
        result.ratio /= best;
    return results;
}

// Of one number of processes and objects: a row for each class and chunk size, a column for each size of
// block.
void print_table(const std::vector<Result>& results, const Options& options, std::uint64_t processes,
                 bool shared)
{
    std::printf("%llu process%s, %s: time to write and read, / that of the fastest\n%-12s",
                static_cast<unsigned long long>(processes), processes == 1 ? "" : "es",
                shared ? "one object for all" : "an object each", "class/chunk");
    for (const std::uint64_t block : options.blocks)
        std::printf(" %8s", size_name(block).c_str());
    std::printf("\n");
    for (const std::string& name : options.classes) {
        for (const std::uint64_t chunk : options.chunks) {
            std::printf("%-12s", (name + "/" + size_name(chunk)).c_str());
            for (const Result& one : results)
                if (one.processes == processes && one.variant.shared == shared &&
                    one.variant.object_class == name && one.variant.chunk == chunk)
                    std::printf(" %8.2f", one.ratio);
            std::printf("\n");
        }
    }
    std::printf("\n");
}

void print_json(const std::vector<Result>& results)
{
    const char* separator = "[\n";
    for (const Result& one : results) {
        std::printf(
            "%s  {\"processes\": %llu, \"block\": %llu, \"object_class\": \"%s\", \"chunk\": %llu, "
            "\"objects\": \"%s\", \"write\": %.1f, \"read\": %.1f, \"unit\": \"MiB/s\", \"ratio\": %.3f}",
            separator, static_cast<unsigned long long>(one.processes),
            static_cast<unsigned long long>(one.block), one.variant.object_class.c_str(),
            static_cast<unsigned long long>(one.variant.chunk), one.variant.shared ? "one" : "each",
            one.bytes / mib / one.times.write, one.bytes / mib / one.times.read, one.ratio);
        separator = ",\n";
    }
    std::printf("\n]\n");
}

void run(const Options& options)
{
    const Directory directory(options.directory);
    const std::string pool = directory.name + "/pool";
    Pool::create(pool);
    (void)Pool::connect(pool).create_container("bench");
    std::vector<Result> results;
    for (const std::uint64_t processes : options.processes) {
        for (const std::uint64_t block : options.blocks) {
            std::fprintf(stderr, "\r\033[K%llu processes, blocks of %s ",
                         static_cast<unsigned long long>(processes), size_name(block).c_str());
            const auto more = compare(pool, processes, block, options);
            results.insert(results.end(), more.begin(), more.end());
        }
    }
    std::fprintf(stderr, "\r\033[K");
    if (options.json) return print_json(results);
    for (const std::uint64_t processes : options.processes)
        for (const bool shared : {false, true})
            if (!shared || processes > 1) print_table(results, options, processes, shared);
}

} // namespace

} // namespace stepstore::bench

int main(int argc, char** argv)
{
    std::signal(SIGPIPE, SIG_IGN);
    try {
        stepstore::bench::run(stepstore::bench::parse_options(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "\nstepstore-bench-arrays: %s\n", error.what());
        return 1;
    }
    return 0;
}

// stepstore-bench-store: the object store next to raw LMDB and next to plain files.
#include "options.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <unistd.h>

namespace stepstore::bench {

namespace {

struct Result {
    Case measured;
    double ours = 0, lmdb = 0, file = 0; // us per operation
};

const char* name_of(Operation operation)
{
    switch (operation) {
    case Operation::kv_put: return "kv_put";
    case Operation::kv_get: return "kv_get";
    case Operation::array_write: return "array_write";
    case Operation::array_read: return "array_read";
    }
    return "";
}

std::string size_name(std::size_t size)
{
    if (size >= 1 << 20) return std::to_string(size >> 20) + "MiB";
    return size >= 1024 ? std::to_string(size >> 10) + "KiB" : std::to_string(size) + "B";
}

std::string name_of(const Case& one)
{
    return std::string(name_of(one.operation)) + "/" + size_name(one.size) + "/" +
           std::to_string(one.processes) + "p/" + (one.power ? "power" : "process");
}

std::vector<Case> all_cases(const Options& options)
{
    std::vector<Case> cases;
    for (const bool power : {false, true}) {
        for (const unsigned processes : {1U, 4U}) {
            for (const Operation operation :
                 {Operation::kv_put, Operation::kv_get, Operation::array_write, Operation::array_read}) {
                for (const std::size_t size :
                     {std::size_t{100}, std::size_t{5} << 10, std::size_t{56} << 10, std::size_t{1} << 20}) {
                    const Case one{operation, size, processes, power, options.skew, options.verify};
                    if (name_of(one).find(options.only) != std::string::npos) cases.push_back(one);
                }
            }
        }
    }
    return cases;
}

double median(std::vector<double> values)
{
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Result measure(const Case& one, const Options& options, const std::string& directory)
{
    std::filesystem::create_directories(directory);
    struct Removal {
        const std::string& directory;
        ~Removal()
        {
            std::error_code ignored;
            std::filesystem::remove_all(directory, ignored);
        }
    } removal{directory};
    Workers ours(one, Peer::stepstore, directory, options.length);
    Workers lmdb(one, Peer::lmdb, directory, options.length);
    Workers file(one, Peer::file, directory, options.length);
    Workers* all[] = {&ours, &lmdb, &file};
    std::vector<double> times[3];
    for (Workers* each : all)
        each->round(); // not counted: it fills caches and files
    for (unsigned round = 0; round < options.rounds; ++round) {
        for (unsigned step = 0; step < 3; ++step) { // each takes every place in the order
            const unsigned subject = (step + round) % 3;
            times[subject].push_back(all[subject]->round());
        }
    }
    return {one, median(times[0]), median(times[1]), median(times[2])};
}

void print_table(const std::vector<Result>& results)
{
    std::printf("%-32s %12s %12s %7s %12s %7s\n", "case (us per operation)", "Stepstore", "raw LMDB", "ratio",
                "plain file", "ratio");
    for (const Result& result : results) {
        std::printf("%-32s %12.2f %12.2f %7.2f %12.2f %7.2f\n", name_of(result.measured).c_str(), result.ours,
                    result.lmdb, result.ours / result.lmdb, result.file, result.ours / result.file);
    }
}

void print_json(const std::vector<Result>& results)
{
    const char* separator = "[\n";
    for (const Result& result : results) {
        const Case& one = result.measured;
        for (const bool lmdb : {true, false}) {
            const double peer = lmdb ? result.lmdb : result.file;
            std::printf("%s  {\"case\": \"%s/%s\", \"ours\": %.3f, \"peer\": %.3f, \"unit\": \"us\", "
                        "\"ratio\": %.3f, \"operation\": \"%s\", "
                        "\"size\": %zu, \"processes\": %u, \"durability\": \"%s\", "
                        "\"peer_name\": \"%s\"}",
                        separator, name_of(one).c_str(), lmdb ? "lmdb" : "file", result.ours, peer,
                        result.ours / peer, name_of(one.operation), one.size, one.processes,
                        one.power ? "power" : "process",
                        lmdb        ? "raw LMDB"
                        : one.power ? "pwrite/pread, fdatasync"
                                    : "pwrite/pread");
            separator = ",\n";
        }
    }
    std::printf("%s\n", results.empty() ? "[]" : "\n]");
}

std::string working_directory(const Options& options)
{
    if (!options.directory.empty()) return options.directory + "/stepstore-bench-" + std::to_string(getpid());
    std::string name = (std::filesystem::temp_directory_path() / "stepstore-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a directory " + name);
    return name;
}

int run(const Options& options)
{
    const std::vector<Case> cases = all_cases(options);
    if (cases.empty()) {
        std::fprintf(stderr, "stepstore-bench-store: no case has '%s' in its name; names are like %s\n",
                     options.only.c_str(), name_of(all_cases({}).front()).c_str());
        return 2;
    }
    const std::string directory = working_directory(options);
    std::vector<Result> results;
    for (const Case& one : cases) {
        std::fprintf(stderr, "\r\033[K%zu of %zu: %s ", results.size() + 1, cases.size(),
                     name_of(one).c_str());
        results.push_back(measure(one, options, directory));
    }
    std::fprintf(stderr, "\r\033[K");
    if (options.json)
        print_json(results);
    else
        print_table(results);
    return 0;
}

} // namespace

} // namespace stepstore::bench

int main(int argc, char** argv)
{
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return stepstore::bench::run(stepstore::bench::parse_options(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "\nstepstore-bench-store: %s\n", error.what());
        return 1;
    }
}

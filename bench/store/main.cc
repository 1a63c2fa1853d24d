// stepstore-bench-store: the object store next to raw LMDB and next to plain files.
#include "workers.h"

#include "common/command_line.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

namespace stepstore::bench {

namespace {

struct Options {
    unsigned rounds = 5;
    RoundLength length;
    std::string directory; // empty: a temporary one
    std::string location;  // on a Ceph cluster; empty: none
    std::string only;      // part of the names of the cases to run
    unsigned skew = 0;     // Case::skew
    bool verify = true;    // Case::verify
    bool json = false;
};

// Prints what is wrong and ends the process with 2 on options it does not know, with 0 after --help.
Options parse_options(int argc, char** argv)
{
    Options options;
    std::uint64_t rounds = options.rounds, skew = options.skew;
    CommandLine line(
        "stepstore bench store", "[OPTIONS]",
        "Measures kv_put, kv_get, array_write and array_read at 100 B, 5 KiB, 56 KiB and 1 MiB, with 1 and\n"
        "4 processes and both durability levels. The peers are raw LMDB, and pwrite/pread on one file per\n"
        "process. All take turns. Prints the medians in microseconds per operation. ratio = ours / peer:\n"
        "below 1 is faster than the peer.\n"
        "With --location, of a pool on Ceph: next to bare librados, and to a local pool with the same\n"
        "promise, durability=power.");
    line.number("rounds", "rounds per case and subject (default: 5)", rounds, 1, 1000);
    line.seconds("seconds", "seconds of a round (default: 0.1)", options.length.seconds);
    line.number("operations", "operations of each process in a round, instead of --seconds",
                options.length.operations);
    line.text("directory", "DIR",
              "where the files go (default: a new directory in $TMPDIR or /tmp); removed at the end",
              options.directory);
    line.text("location", "rados://POOL[/NAMESPACE]",
              "measure on Ceph, in namespaces of its own whose names begin so; removed at the end",
              options.location);
    line.text("case", "TEXT",
              "only cases with this in their name, such as kv_put, 5KiB, 4p, power, or kv_put/5KiB/4p/power",
              options.only);
    line.number(
        "skew",
        "byte of a cache line at which the caller's memory begins, 0 to 63 (default: 0). malloc gives 16 for "
        "large blocks; some processors copy from there at less than half the speed",
        skew, 0, 63);
    line.flag("no-verify", "read arrays without comparing large payloads with their checksums",
              [&] { options.verify = false; });
    line.flag("quick", "3 rounds of 0.02 s", [&] {
        rounds = 3;
        options.length.seconds = 0.02;
    });
    line.flag("json", "print a list of objects instead of a table", [&] { options.json = true; });
    line.example("Compare small key-values with raw LMDB, in short rounds",
                 "stepstore bench store --quick --case kv_put/100B");
    line.example("Measure on a disk of its own, as JSON for a program",
                 "stepstore bench store --directory /mnt/disk --json");
    const auto rest = line.parse(argc, argv);
    if (!rest.empty()) line.refuse("unknown argument '" + rest.front() + "'");
    options.rounds = static_cast<unsigned>(rounds);
    options.skew = static_cast<unsigned>(skew);
    return options;
}

// Ours, and what it is compared with: names for a table and for programs.
struct Side {
    Peer peer;
    bool on_ceph;
    const char* title;
    const char* key;
};

using Sides = std::array<Side, 3>;
constexpr Sides local_sides{{{Peer::stepstore, false, "Stepstore", ""},
                             {Peer::lmdb, false, "raw LMDB", "lmdb"},
                             {Peer::file, false, "plain file", "file"}}};
constexpr Sides ceph_sides{{{Peer::stepstore, true, "on Ceph", ""},
                            {Peer::librados, true, "librados", "librados"},
                            {Peer::stepstore, false, "local pool", "local"}}};

struct Result {
    Case measured;
    std::array<double, 3> times; // us per operation, of each side
};

// What every name of the benchmark on the cluster begins with.
Location own_location(const std::string& given)
{
    constexpr std::string_view scheme = "rados://";
    const std::string rest = given.starts_with(scheme) ? given.substr(scheme.size()) : "";
    const auto slash = std::min(rest.find('/'), rest.size());
    const std::string pool = rest.substr(0, slash);
    const std::string name_space = slash < rest.size() ? rest.substr(slash + 1) + "-" : "";
    if (pool.empty() || name_space.find('/') != std::string::npos)
        throw std::runtime_error("--location " + given +
                                 ": not of the form rados://POOL or rados://POOL/NAMESPACE");
    return {"", pool, name_space + "bench-" + std::to_string(getpid())};
}

const char* name_of(Operation operation)
{
    constexpr const char* names[] = {"kv_put", "kv_get", "array_write", "array_read"};
    return names[static_cast<std::size_t>(operation)];
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
        if (!power && !options.location.empty()) continue; // the cluster knows nothing less
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

Result measure(const Case& one, const Options& options, const Sides& sides)
{
    const Directory directory(options.directory);
    const auto start = [&](const Side& side) {
        Location location{directory.name, "", ""};
        if (side.on_ceph) location = own_location(options.location);
        if (side.peer == Peer::librados) location.name_space += "-librados";
        return std::make_unique<CaseWorkers>(one, side.peer, location, options.length);
    };
    // The last ends first: its processes have inherited the others' pipes.
    const auto first = start(sides[0]), second = start(sides[1]), third = start(sides[2]);
    CaseWorkers* all[] = {first.get(), second.get(), third.get()};
    std::vector<double> times[3];
    for (CaseWorkers* each : all)
        each->round(); // not counted: it fills caches and files
    for (unsigned round = 0; round < options.rounds; ++round) {
        for (unsigned step = 0; step < 3; ++step) { // each takes every place in the order
            const unsigned subject = (step + round) % 3;
            times[subject].push_back(all[subject]->round());
        }
    }
    return {one, {median(times[0]), median(times[1]), median(times[2])}};
}

void print_table(const std::vector<Result>& results, const Sides& sides)
{
    std::printf("%-32s %12s %12s %7s %12s %7s\n", "case (us per operation)", sides[0].title, sides[1].title,
                "ratio", sides[2].title, "ratio");
    for (const Result& result : results) {
        const auto& [ours, first, second] = result.times;
        std::printf("%-32s %12.2f %12.2f %7.2f %12.2f %7.2f\n", name_of(result.measured).c_str(), ours, first,
                    ours / first, second, ours / second);
    }
}

void print_json(const std::vector<Result>& results, const Sides& sides)
{
    const char* separator = "[\n";
    for (const Result& result : results) {
        const Case& one = result.measured;
        for (const std::size_t side : {1, 2}) {
            const double ours = result.times[0], peer = result.times[side];
            const bool file = sides[side].peer == Peer::file;
            std::printf("%s  {\"case\": \"%s/%s\", \"ours\": %.3f, \"peer\": %.3f, \"unit\": \"us\", "
                        "\"ratio\": %.3f, \"operation\": \"%s\", "
                        "\"size\": %zu, \"processes\": %u, \"durability\": \"%s\", "
                        "\"peer_name\": \"%s\"}",
                        separator, name_of(one).c_str(), sides[side].key, ours, peer, ours / peer,
                        name_of(one.operation), one.size, one.processes, one.power ? "power" : "process",
                        !file       ? sides[side].title
                        : one.power ? "pwrite/pread, fdatasync"
                                    : "pwrite/pread");
            separator = ",\n";
        }
    }
    std::printf("%s\n", results.empty() ? "[]" : "\n]");
}

int run(const Options& options)
{
    const std::vector<Case> cases = all_cases(options);
    if (cases.empty()) {
        std::fprintf(stderr, "stepstore-bench-store: no case has '%s' in its name; names are like %s\n",
                     options.only.c_str(),
                     options.location.empty() ? "kv_put/100B/1p/process" : "kv_put/100B/1p/power");
        return 2;
    }
    const Sides& sides = options.location.empty() ? local_sides : ceph_sides;
    std::vector<Result> results;
    for (const Case& one : cases) {
        std::fprintf(stderr, "\r\033[K%zu of %zu: %s ", results.size() + 1, cases.size(),
                     name_of(one).c_str());
        results.push_back(measure(one, options, sides));
    }
    std::fprintf(stderr, "\r\033[K");
    if (options.json)
        print_json(results, sides);
    else
        print_table(results, sides);
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

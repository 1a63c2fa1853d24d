#include "options.h"

#include "common/command_line.h"

namespace stepstore::bench {

Options parse_options(int argc, char** argv)
{
    Options options;
    std::uint64_t rounds = options.rounds, skew = options.skew;
    CommandLine line(
        "stepstore-bench-store", "[OPTIONS]",
        "Measures kv_put, kv_get, array_write and array_read at 100 B, 5 KiB, 56 KiB and 1 MiB, with 1 and\n"
        "4 processes and both durability levels. The peers are raw LMDB, and pwrite/pread on one file per\n"
        "process. All take turns. Prints the medians in microseconds per operation. ratio = ours / peer:\n"
        "below 1 is faster than the peer.");
    line.number("rounds", "rounds per case and subject (default 5)", rounds, 1, 1000);
    line.seconds("seconds", "length of a round (default 0.1)", options.length.seconds);
    line.number("operations", "operations of each process in a round, instead of --seconds",
                options.length.operations);
    line.text("directory", "DIR",
              "where the files go (default: a new directory in $TMPDIR or /tmp); removed at the end",
              options.directory);
    line.text("case", "TEXT",
              "only cases with this in their name, such as kv_put, 5KiB, 4p, power, or kv_put/5KiB/4p/power",
              options.only);
    line.number(
        "skew",
        "place in a cache line where the caller's memory begins, 0 to 63 (default 0). malloc gives 16 for "
        "large blocks; some processors copy from there at less than half the speed",
        skew, 0, 63);
    line.flag("no-verify", "read arrays without comparing large payloads with their checksums",
              [&] { options.verify = false; });
    line.flag("quick", "3 rounds of 0.02 s", [&] {
        rounds = 3;
        options.length.seconds = 0.02;
    });
    line.flag("json", "print a list of objects instead of a table", [&] { options.json = true; });
    const auto rest = line.parse(argc, argv);
    if (!rest.empty()) line.refuse("unknown argument '" + rest.front() + "'");
    options.rounds = static_cast<unsigned>(rounds);
    options.skew = static_cast<unsigned>(skew);
    return options;
}

} // namespace stepstore::bench

#include "options.h"

#include "common/command_line.h"

namespace stepstore::bench {

ArrayOptions parse_array_options(int argc, char** argv)
{
    ArrayOptions options;
    std::uint64_t rounds = options.rounds;
    CommandLine line(
        "stepstore-bench-arrays", "[OPTIONS]",
        "Writes blocks to array objects and reads them back, step after step as a stream does. It compares\n"
        "object classes, chunk sizes and numbers of objects (one for each process, or one for all), for\n"
        "each size of block and number of processes. It prints the times of writing and reading, with 1.00\n"
        "for the fastest variant. The rule for a stream's data objects rests on these times.");
    line.numbers("processes", "numbers of processes (default 1,4)", options.processes, 256);
    line.numbers(
        "blocks",
        "bytes that a process writes at once, also with k or M (default 4k,16k,64k,256k,1M,4M,16M,64M)",
        options.blocks);
    line.numbers("chunks", "chunk sizes (default 64k,256k,1M,4M,16M,64M)", options.chunks);
    line.words("classes", "object classes (default S1,S2,S4,SX)", options.classes);
    line.number("bytes",
                "at most so many bytes of a process in one measurement, in 1 to 200 blocks (default 64M)",
                options.bytes);
    line.number("rounds", "rounds; the median counts (default 3)", rounds, 1, 1000);
    line.text("directory", "DIR",
              "where the pool goes (default: a new directory in $TMPDIR or /tmp); removed at the end",
              options.directory);
    line.flag("json", "print a list of objects, with MiB/s, instead of tables", [&] { options.json = true; });
    const auto rest = line.parse(argc, argv);
    if (!rest.empty()) line.refuse("unknown argument '" + rest.front() + "'");
    options.rounds = static_cast<unsigned>(rounds);
    return options;
}

} // namespace stepstore::bench

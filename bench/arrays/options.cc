#include "options.h"

#include "common/command_line.h"

namespace stepstore::bench {

ArrayOptions parse_array_options(int argc, char** argv)
{
    ArrayOptions options;
    std::uint64_t rounds = options.rounds;
    CommandLine line(
        "stepstore-bench-arrays", "[OPTIONS]",
        "Writes blocks to array objects and reads them back, step after step as a stream does, by object\n"
        "class, chunk size and number of objects (one for each process, or one for all), with every size of\n"
        "block and number of processes. Prints for each of these the time of writing and reading, 1.00 for\n"
        "the fastest variant: what the rule for a stream's data objects rests on.");
    line.numbers("processes", "(default 1,4)", options.processes, 256);
    line.numbers(
        "blocks",
        "bytes that a process writes at once; k and M are taken (default 4k,16k,64k,256k,1M,4M,16M,64M)",
        options.blocks);
    line.numbers("chunks", "chunk sizes (default 64k,256k,1M,4M,16M,64M)", options.chunks);
    line.words("classes", "object classes (default S1,S2,S4,SX)", options.classes);
    line.number("bytes",
                "that a process writes in one measurement, at most, in 1 to 200 blocks (default 64M)",
                options.bytes);
    line.number("rounds", "of which the median counts (default 3)", rounds, 1, 1000);
    line.text("directory", "DIR",
              "where the pool goes (default: a new directory in $TMPDIR or /tmp); removed at the end",
              options.directory);
    line.flag("json", "a list of objects, with MiB/s, instead of tables", [&] { options.json = true; });
    const auto rest = line.parse(argc, argv);
    if (!rest.empty()) line.refuse("what is " + rest.front() + "?");
    options.rounds = static_cast<unsigned>(rounds);
    return options;
}

} // namespace stepstore::bench

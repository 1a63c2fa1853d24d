#include "options.h"

#include "common/command_line.h"

namespace stepstore::bench {

Options parse_options(int argc, char** argv)
{
    Options options;
    CommandLine line(
        "stepstore-bench-steps", "write|read|last [OPTIONS]     (an MPI program)",
        "Writes a stream of steps with ADIOS2, or reads one. A step has two variables U and V of doubles;\n"
        "each rank has a slab of both. read: reads step by step, each rank its own slab. last: opens the\n"
        "stream at random and gets U of the last step. What is read is compared with what was written.\n"
        "Prints the seconds of the slowest rank and the bytes of all ranks and steps as JSON. `stepstore\n"
        "bench data` and `stepstore bench open` run it with BP5 and Stepstore in turn.");
    line.text("engine", "NAME", "ADIOS2's engine: BP5 (default), Plugin, ...", options.engine);
    line.text("parameters", "N=V,...", "the engine's parameters", options.parameters);
    line.text("name", "NAME", "name given to Open (default: steps)", options.name);
    line.number("bytes", "bytes of a rank in one step, a multiple of 16, also with k or M (default: 1M)",
                options.bytes);
    line.number("steps", "number of steps (default: 10)", options.steps);
    const auto task = line.parse(argc, argv);
    if (task.size() != 1) line.refuse("give one task: write, read or last");
    if (task[0] == "read")
        options.task = Task::read;
    else if (task[0] == "last")
        options.task = Task::last;
    else if (task[0] != "write")
        line.refuse("there is no task '" + task[0] + "': give write, read or last");
    if (options.bytes % 16 != 0) line.refuse("--bytes must be a multiple of 16");
    return options;
}

} // namespace stepstore::bench

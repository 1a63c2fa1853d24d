#include "options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>

namespace stepstore::bench {

namespace {

constexpr const char* help =
    "Usage: stepstore-bench-steps write|read|last [OPTIONS]     (an MPI program)\n"
    "\n"
    "Writes a stream of steps with ADIOS2, or reads one: two variables U and V of doubles. Each rank has a\n"
    "slab of both. read: step by step, each rank its own slab. last: opens the stream at random and gets U\n"
    "of the last step. What is read is compared with what was written. Prints the seconds of the slowest\n"
    "rank and the bytes of all ranks and steps as JSON. `stepstore bench data` and `stepstore bench open`\n"
    "run it with BP5 and Stepstore in turn.\n"
    "\n"
    "  --engine NAME          ADIOS2's engine: BP5 (default), Plugin, ...\n"
    "  --parameters N=V,...   the engine's parameters\n"
    "  --name NAME            what is opened (default: steps)\n"
    "  --bytes B              of a rank in one step, a multiple of 16; k and M are taken (default: 1M)\n"
    "  --steps N              (default: 10)\n"
    "  --help                 this text\n";

[[noreturn]] void refuse(const std::string& what)
{
    std::fprintf(stderr, "stepstore-bench-steps: %s; try --help\n", what.c_str());
    std::exit(2);
}

std::uint64_t number(const char* option, const char* text)
{
    char* end = nullptr;
    errno = 0;
    std::uint64_t value = std::strtoull(text, &end, 10);
    if (*end == 'k' || *end == 'M') value *= *end++ == 'k' ? 1 << 10 : 1 << 20;
    if (errno != 0 || end == text || *end != '\0' || value == 0 || value > std::uint64_t{1} << 40 ||
        *text == '-')
        refuse(std::string("--") + option + " " + text + ": a number greater than 0 is wanted");
    return value;
}

Task task_named(const char* name)
{
    if (std::strcmp(name, "write") == 0) return Task::write;
    if (std::strcmp(name, "read") == 0) return Task::read;
    if (std::strcmp(name, "last") == 0) return Task::last;
    refuse(std::string("there is no task '") + name + "'");
}

} // namespace

Options parse_options(int argc, char** argv)
{
    static const option known[] = {
        {"engine", required_argument, nullptr, 'e'},
        {"parameters", required_argument, nullptr, 'p'},
        {"name", required_argument, nullptr, 'n'},
        {"bytes", required_argument, nullptr, 'b'},
        {"steps", required_argument, nullptr, 's'},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    };
    Options options;
    for (int found; (found = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
        case 'e': options.engine = optarg; break;
        case 'p': options.parameters = optarg; break;
        case 'n': options.name = optarg; break;
        case 'b': options.bytes = number("bytes", optarg); break;
        case 's': options.steps = number("steps", optarg); break;
        case 'h': std::fputs(help, stdout); std::exit(0);
        default: std::exit(2);
        }
    }
    if (optind + 1 != argc) refuse("one task is wanted: write, read or last");
    options.task = task_named(argv[optind]);
    if (options.bytes % 16 != 0) refuse("--bytes is no multiple of 16");
    return options;
}

} // namespace stepstore::bench

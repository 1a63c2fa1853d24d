#include "options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>

namespace stepstore::bench {

namespace {

constexpr const char* help =
    "Usage: stepstore-bench-store [OPTIONS]\n"
    "\n"
    "Measures kv_put, kv_get, array_write and array_read at 100 B, 5 KiB, 56 KiB and 1 MiB. It does so with\n"
    "1 and 4 processes and both durability levels. In turn it measures raw LMDB, and pwrite/pread on one\n"
    "file per process. It prints the medians in microseconds per operation. ratio = ours / peer: below 1 is\n"
    "faster than the peer.\n"
    "\n"
    "  --rounds N       rounds per case and subject (default 5)\n"
    "  --seconds S      length of a round (default 0.1)\n"
    "  --operations N   operations of each process in a round, instead of a time\n"
    "  --directory DIR  where the files go; removed at the end (default: a new one in $TMPDIR or /tmp)\n"
    "  --case TEXT      only cases with this in their name, such as kv_put, 5KiB, 4p, power, or all of\n"
    "                   them: kv_put/5KiB/4p/power\n"
    "  --skew BYTES     where in a cache line the caller's memory begins, 0 to 63 (default 0). malloc gives\n"
    "                   16 for large blocks, where some processors copy at less than half the speed\n"
    "  --no-verify      arrays are read without comparing large payloads with their checksums\n"
    "  --quick          3 rounds of 0.02 s\n"
    "  --json           a list of objects instead of a table\n"
    "  --help           this text\n";

[[noreturn]] void refuse(const char* option, const char* value, const char* wanted)
{
    std::fprintf(stderr, "stepstore-bench-store: --%s %s: %s is wanted\n", option, value, wanted);
    std::exit(2);
}

double positive(const char* option, const char* text, bool whole)
{
    char* end = nullptr;
    errno = 0;
    const double value = whole ? static_cast<double>(std::strtoul(text, &end, 10)) : std::strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !(value > 0) || value > 1e9 || *text == '-')
        refuse(option, text, whole ? "a whole number greater than 0" : "a number greater than 0");
    return value;
}

unsigned below_cache_line(const char* option, const char* text)
{
    char* end = nullptr;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (end == text || *end != '\0' || value > 63 || *text == '-')
        refuse(option, text, "a whole number from 0 to 63");
    return static_cast<unsigned>(value);
}

} // namespace

Options parse_options(int argc, char** argv)
{
    static const option known[] = {
        {"rounds", required_argument, nullptr, 'r'},
        {"seconds", required_argument, nullptr, 's'},
        {"operations", required_argument, nullptr, 'o'},
        {"directory", required_argument, nullptr, 'd'},
        {"case", required_argument, nullptr, 'c'},
        {"skew", required_argument, nullptr, 'k'},
        {"no-verify", no_argument, nullptr, 'v'},
        {"quick", no_argument, nullptr, 'q'},
        {"json", no_argument, nullptr, 'j'},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    };
    Options options;
    for (int found; (found = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
        case 'r': options.rounds = static_cast<unsigned>(positive("rounds", optarg, true)); break;
        case 's': options.length.seconds = positive("seconds", optarg, false); break;
        case 'o':
            options.length.operations = static_cast<std::uint64_t>(positive("operations", optarg, true));
            break;
        case 'd': options.directory = optarg; break;
        case 'c': options.only = optarg; break;
        case 'k': options.skew = below_cache_line("skew", optarg); break;
        case 'v': options.verify = false; break;
        case 'j': options.json = true; break;
        case 'q':
            options.rounds = 3;
            options.length.seconds = 0.02;
            break;
        case 'h': std::fputs(help, stdout); std::exit(0);
        default: std::fputs("Try --help.\n", stderr); std::exit(2);
        }
    }
    if (optind < argc) {
        std::fprintf(stderr, "stepstore-bench-store: what is %s? Try --help.\n", argv[optind]);
        std::exit(2);
    }
    return options;
}

} // namespace stepstore::bench

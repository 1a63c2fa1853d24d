#include "options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>

namespace stepstore::bench {

namespace {

constexpr const char* help =
    "Usage: stepstore-bench-arrays [OPTIONS]\n"
    "\n"
    "Writes blocks to array objects and reads them back, step after step as a stream does. Varies the\n"
    "object class, the chunk size and the number of objects (one for each process, or one for all), with\n"
    "every size of block and number of processes.\n"
    "Prints for each of these the time of writing and reading; 1.00 is the fastest variant. The rule for a\n"
    "stream's data objects rests on this.\n"
    "\n"
    "  --processes N,...  (default 1,4)\n"
    "  --blocks B,...     bytes that a process writes at once; k and M are taken\n"
    "                     (default 4k,16k,64k,256k,1M,4M,16M,64M)\n"
    "  --chunks B,...     chunk sizes (default 64k,256k,1M,4M,16M,64M)\n"
    "  --classes C,...    object classes (default S1,S2,S4,SX)\n"
    "  --bytes B          that a process writes at most in one measurement, in 1 to 200 blocks (default\n"
    "                     64M)\n"
    "  --rounds N         of which the median counts (default 3)\n"
    "  --directory DIR    where the pool goes; removed at the end (default: a new one in $TMPDIR or /tmp)\n"
    "  --json             a list of objects, with MiB/s, instead of tables\n"
    "  --help             this text\n";

[[noreturn]] void refuse(const char* option, const char* text, const char* wanted)
{
    std::fprintf(stderr, "stepstore-bench-arrays: --%s %s: %s\n", option, text, wanted);
    std::exit(2);
}

std::vector<std::string> words(const char* text)
{
    std::vector<std::string> list(1);
    for (; *text != '\0'; ++text) {
        if (*text == ',')
            list.emplace_back();
        else
            list.back() += *text;
    }
    return list;
}

std::vector<std::uint64_t> numbers(const char* option, const char* text, std::uint64_t most)
{
    std::vector<std::uint64_t> list;
    for (const std::string& word : words(text)) {
        char* end = nullptr;
        errno = 0;
        std::uint64_t value = std::strtoull(word.c_str(), &end, 10);
        const bool number = end != word.c_str() && word.front() != '-';
        if (*end == 'k' || *end == 'M') value *= *end++ == 'k' ? 1 << 10 : 1 << 20;
        if (errno != 0 || !number || *end != '\0' || value == 0 || value > most)
            refuse(option, text, "numbers greater than 0 are wanted, separated by commas");
        list.push_back(value);
    }
    return list;
}

} // namespace

ArrayOptions parse_array_options(int argc, char** argv)
{
    static const option known[] = {
        {"processes", required_argument, nullptr, 'p'},
        {"blocks", required_argument, nullptr, 'b'},
        {"chunks", required_argument, nullptr, 'c'},
        {"classes", required_argument, nullptr, 'o'},
        {"bytes", required_argument, nullptr, 't'},
        {"rounds", required_argument, nullptr, 'r'},
        {"directory", required_argument, nullptr, 'd'},
        {"json", no_argument, nullptr, 'j'},
        {"help", no_argument, nullptr, 'h'},
        {nullptr, 0, nullptr, 0},
    };
    constexpr std::uint64_t largest = std::uint64_t{1} << 40;
    ArrayOptions options;
    for (int found; (found = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
        case 'p': options.processes = numbers("processes", optarg, 256); break;
        case 'b': options.blocks = numbers("blocks", optarg, largest); break;
        case 'c': options.chunks = numbers("chunks", optarg, largest); break;
        case 'o': options.classes = words(optarg); break;
        case 't': options.bytes = numbers("bytes", optarg, largest).front(); break;
        case 'r': options.rounds = static_cast<unsigned>(numbers("rounds", optarg, 1000).front()); break;
        case 'd': options.directory = optarg; break;
        case 'j': options.json = true; break;
        case 'h': std::fputs(help, stdout); std::exit(0);
        default: std::fputs("Try --help.\n", stderr); std::exit(2);
        }
    }
    if (optind < argc) {
        std::fprintf(stderr, "stepstore-bench-arrays: what is %s? Try --help.\n", argv[optind]);
        std::exit(2);
    }
    return options;
}

} // namespace stepstore::bench

// stepstore-bench-fieldstore: the field catalogue and store by themselves, without FDB: what their choices
// cost.
//
// Every process archives its own fields (a number of its own; steps, parameters, levels) and flushes after
// each step. Then new processes retrieve them in another order. Then one process lists all. Bandwidth is
// global: bytes by the time from the first beginning to the last end.
#include "common/command_line.h"
#include "common/processes.h"
#include "common/workers.h"
#include "fields/catalogue.h"
#include "fields/listing.h"
#include "fields/session.h"
#include "fields/store_reader.h"
#include "fields/store_writer.h"

#include <daos_errno.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <malloc.h>
#include <random>
#include <unistd.h>

namespace stepstore::bench {

namespace {

using namespace stepstore::fields;

struct Case {
    std::string directory = std::filesystem::temp_directory_path().string();
    int processes = 1;
    int steps = 10;
    int params = 10;
    int levels = 20;
    std::uint64_t size = 1 << 20;
    bool in_collocation = false; // number and levelist, as the references found best for DAOS
    std::string durability = "process";
    Options options; // of the fields
};

// Ends the program for --help (status 0) and for wrong usage (2).
Case parse(int count, char** arguments)
{
    Case one;
    std::uint64_t processes = 1, steps = 10, params = 10, levels = 20;
    std::string schema = "element";
    std::vector<std::string> settings;
    CommandLine line(
        "stepstore bench fieldstore", "[OPTIONS]",
        "Measures the field catalogue and store by themselves, without FDB. Every process archives its own\n"
        "fields and flushes after each step. Then new processes retrieve them in random order, and one\n"
        "process lists all. Prints seconds, microseconds per field and MiB/s of all processes together.");
    line.number("processes", "processes that archive, and then retrieve (default: 1)", processes, 1, 256);
    line.number("steps", "steps of a process (default: 10)", steps, 1, 1'000'000);
    line.number("params", "parameters in a step (default: 10)", params, 1, 1'000'000);
    line.number("levels", "levels of a parameter (default: 20)", levels, 1, 1'000'000);
    line.bytes("size", "bytes of a field, also with k or M (default: 1M)", one.size, 1,
               std::uint64_t{1} << 32);
    line.choice("schema", {"element", "collocation"},
                "the key that the number and the level are in (default: element)", schema);
    line.choice("durability", {"process", "power"},
                "what flushed fields survive: the end of the process, or of power (default: process)",
                one.durability);
    line.text("directory", "DIR",
              "where the pool goes (default: a new directory in $TMPDIR or /tmp); removed at the end",
              one.directory);
    line.words("set", "NAME=VALUE,...",
               "settings of fields: packBelow, packSize, chunkSize, inFlight (bytes, also "
               "with KiB, MiB or GiB), dataClass, indexClass, verify, asynchronous (true or false)",
               settings);
    line.example("Archive small fields in memory, from four processes",
                 "stepstore bench fieldstore --directory /dev/shm --size 1500 --processes 4");
    line.example("Give each field an array of its own, and check none when it is read",
                 "stepstore bench fieldstore --set packBelow=0,verify=false");
    if (!line.parse(count, arguments).empty()) line.refuse("give options only");
    one.processes = static_cast<int>(processes);
    one.steps = static_cast<int>(steps);
    one.params = static_cast<int>(params);
    one.levels = static_cast<int>(levels);
    one.in_collocation = schema == "collocation";
    std::map<std::string, std::string> named;
    for (const std::string& setting : settings) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos) line.refuse("--set " + setting + ": give NAME=VALUE");
        named[setting.substr(0, equals)] = setting.substr(equals + 1);
    }
    try {
        one.options = parse_options(named);
    } catch (const std::exception& error) {
        line.refuse(error.what());
    }
    return one;
}

const Key dataset = {
    {"class", "od"}, {"expver", "0001"}, {"stream", "enfo"}, {"date", "20261122"}, {"time", "0000"}};

struct Names {
    Key collocation;
    Key element;
};

Names names_of(const Case& one, int number, int step, int param, int level)
{
    Names names{{{"type", "pf"}, {"levtype", "pl"}}, {{"step", std::to_string(step)}}};
    Key& where = one.in_collocation ? names.collocation : names.element;
    where.add("number", std::to_string(number));
    where.add("levelist", std::to_string(level));
    names.element.add("param", std::to_string(param));
    return names;
}

// Seconds from the first beginning to the last end of what `prepare` gives each of so many processes.
double measured(int processes, const std::function<Task(int)>& prepare)
{
    std::vector<Prepare> all;
    for (int process = 0; process < processes; ++process)
        all.push_back([&prepare, process] { return prepare(process); });
    double taken = 0;
    run(all, [&](const Shared& shared) { taken = seconds(shared, 0, all.size()); });
    return taken;
}

void write_fields(const Case& one, const Options& options, const std::shared_ptr<Dataset>& to, int number,
                  const std::vector<std::byte>& data)
{
    StoreWriter store(to, options.writer);
    CatalogueWriter catalogue(to);
    for (int step = 0; step < one.steps; ++step) {
        for (int param = 0; param < one.params; ++param)
            for (int level = 0; level < one.levels; ++level) {
                const Names names = names_of(one, number, step, param, level);
                catalogue.archive(names.collocation, names.element, store.archive(data));
            }
        store.flush(false);
        catalogue.flush();
    }
}

void read_fields(const Case& one, const std::string& pool, int number)
{
    const auto from = Session::open(pool, Access::read_only)->find(dataset);
    const StoreReader store(from);
    CatalogueReader reader(from);
    std::vector<std::array<int, 3>> order;
    for (int step = 0; step < one.steps; ++step)
        for (int param = 0; param < one.params; ++param)
            for (int level = 0; level < one.levels; ++level)
                order.push_back({step, param, level});
    std::shuffle(order.begin(), order.end(), std::mt19937(7));
    std::vector<std::byte> memory(one.size);
    for (const auto& [step, param, level] : order) {
        const Names names = names_of(one, number, step, param, level);
        const auto entry = reader.find(names.collocation, names.element);
        if (!entry) throw std::runtime_error("a field is missing: " + names.element.text());
        store.read(std::get<FieldLocation>(entry->location), memory);
    }
}

void report(const char* what, const Case& one, double seconds, bool bytes)
{
    const double fields = static_cast<double>(one.processes) * one.steps * one.params * one.levels;
    std::printf("%-6s %8.3f s %9.2f us a field", what, seconds, seconds * 1e6 / fields);
    if (bytes) std::printf(" %9.1f MiB/s", fields * static_cast<double>(one.size) / (1 << 20) / seconds);
    std::printf("\n");
    std::fflush(stdout);
}

void measure(const Case& one)
{
    const Options& options = one.options;
    const Directory directory(one.directory);
    const std::string pool = directory.name + "/pool";
    PoolOptions made;
    made.durability = one.durability == "power" ? Durability::power : Durability::process;
    Pool::create(pool, made);
    const double write = measured(one.processes, [&](int number) {
        const auto to = Session::open(pool, Access::read_write)->create(dataset, options.dataset);
        return [&one, &options, to, number, data = std::vector<std::byte>(one.size, std::byte{0x5a})](
                   Shared&) { write_fields(one, options, to, number, data); };
    });
    report("write", one, write, true);
    const double read = measured(one.processes, [&](int number) {
        return [&one, &pool, number](Shared&) { read_fields(one, pool, number); };
    });
    report("read", one, read, true);
    const double list = measured(1, [&](int) {
        return [&](Shared&) {
            Listing listing(Session::open(pool, Access::read_only)->find(dataset), {});
            int count = 0;
            for (ListedField field; listing.next(field);)
                ++count;
            if (count != one.processes * one.steps * one.params * one.levels)
                throw std::runtime_error("the listing is not complete");
        };
    });
    report("list", one, list, false);
}

} // namespace

} // namespace stepstore::bench

int main(int count, char** arguments)
{
    // The children shall open the pool as fresh processes do. In a heap with large free blocks LMDB's tables
    // (2 MiB for each target) are cleared by hand. That takes ten times as long as the rest of opening.
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    try {
        stepstore::bench::measure(stepstore::bench::parse(count, arguments));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "stepstore bench fieldstore: %s\n", error.what());
        return 1;
    }
    return 0;
}

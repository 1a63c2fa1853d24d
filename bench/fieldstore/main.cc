// stepstore-bench-fieldstore: the field catalogue and store by themselves, without FDB: what their choices
// cost.
//
// Every process archives its own fields (a number of its own; steps, parameters, levels) and flushes after
// each step. Then new processes retrieve them in another order. Then one process lists all. Bandwidth is
// global: bytes by the time from the first beginning to the last end.
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
    std::size_t size = 1 << 20;
    bool in_collocation = false; // number and levelist, as the references found best for DAOS
    std::string durability = "process";
    Options options; // of the fields
};

constexpr const char* help =
    "usage: stepstore bench fieldstore [name=value...]\n  directory processes steps params levels size "
    "schema=element|collocation durability=process|power\n  and the settings of fields: packBelow "
    "packSize chunkSize dataClass indexClass verify asynchronous inFlight\n";

[[noreturn]] void usage(const std::string& wrong)
{
    std::fprintf(stderr, "%s\n%s", wrong.c_str(), help);
    std::exit(2);
}

// Throws for what is no number, and for a setting that there is not.
Case read(int count, char** arguments)
{
    Case one;
    std::map<std::string, std::string> settings;
    const std::map<std::string, int*> numbers = {{"processes", &one.processes},
                                                 {"steps", &one.steps},
                                                 {"params", &one.params},
                                                 {"levels", &one.levels}};
    for (int i = 1; i < count; ++i) {
        const std::string text = arguments[i];
        if (text == "--help") {
            std::fputs(help, stdout);
            std::exit(0);
        }
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) usage("'" + text + "': give name=value");
        const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
        if (name == "directory")
            one.directory = value;
        else if (const auto number = numbers.find(name); number != numbers.end())
            *number->second = std::stoi(value);
        else if (name == "size")
            one.size = std::stoul(value);
        else if (name == "schema")
            one.in_collocation = value == "collocation";
        else if (name == "durability")
            one.durability = value;
        else
            settings[name] = value;
    }
    one.options = parse_options(settings);
    return one;
}

Case parse(int count, char** arguments)
{
    try {
        return read(count, arguments);
    } catch (const std::exception& error) {
        usage(error.what());
    }
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
        std::fprintf(stderr, "stepstore-bench-fieldstore: %s\n", error.what());
        return 1;
    }
    return 0;
}

// stepstore-bench-fields: one measurement of fields through FDB's C++ interface, on the engine that
// FDB_CONFIG names, as JSON. The command `stepstore bench fields` makes the plan, runs it on several engines
// in turn, and compares.
#include "from_plan.h"
#include "tasks.h"

#include "common/command_line.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace stepstore::bench {

namespace {

// Ends the program for --help (status 0) and for wrong usage (2).
Work parse(int count, char** arguments, std::string& task)
{
    Work work;
    std::uint64_t processes = 1, first = 0;
    std::string plan, archive = "key";
    CommandLine line(
        "stepstore-bench-fields", "TASK --plan FILE [OPTIONS]",
        "Measures fields through FDB's C++ interface, on the engine that FDB_CONFIG names. It holds FDB's\n"
        "configuration. Prints seconds, fields and bytes as JSON. `stepstore bench fields` makes the plan,\n"
        "and runs this on several engines in turn.\n"
        "Tasks: write, read (one by one), read-many (a step at a time), list, first (one field, in a new\n"
        "process), contention (reads beside writes of others), operational (readers follow writers).");
    line.text("plan", "FILE", "the message and the values of the keys, one key in a line; required", plan);
    line.number("processes", "processes; as many read as write if a task has both (default: 1)", processes, 1,
                32);
    line.number("first", "position in the plan of the first process's number (default: 0)", first, 0,
                1'000'000);
    line.choice("archive", {"key", "message"},
                "archive bytes under a key, or messages whose keys FDB decodes (default: key)", archive);
    line.text("copies", "FILE", "messages to answer reads from, if FDB_CONFIG says `engine: plan`",
              work.copies);
    line.example("Archive the fields of a plan from four processes",
                 "stepstore-bench-fields write --plan plan --processes 4");
    line.example("Retrieve them in four new processes",
                 "stepstore-bench-fields read --plan plan --processes 4");
    const auto tasks = line.parse(count, arguments);
    const std::vector<std::string> known = {"write", "read",       "read-many",   "list",
                                            "first", "contention", "operational", "first-itself"};
    if (tasks.size() != 1) line.refuse("give one task");
    task = tasks[0];
    if (std::find(known.begin(), known.end(), task) == known.end())
        line.refuse("there is no task '" + task + "'");
    if (plan.empty()) line.refuse("give --plan FILE");
    work.plan = Plan::read(plan);
    work.processes = static_cast<int>(processes);
    work.first = static_cast<int>(first);
    work.decode = archive == "message";
    if (work.plan.steps().size() > max_steps)
        line.refuse("the plan has more steps than " + std::to_string(max_steps));
    const int numbers = work.first + work.processes * (task == "contention" ? 2 : 1);
    if (task != "first-itself" && numbers > static_cast<int>(work.plan.numbers().size()))
        line.refuse("the plan has fewer numbers than " + std::to_string(numbers));
    return work;
}

std::size_t fields_of_a_process(const Work& work)
{
    return work.plan.steps().size() * static_cast<std::size_t>(work.plan.fields_of_a_step());
}

void print(const char* what, double taken, std::size_t fields, const Work& work, bool more)
{
    std::printf("\"%s\": {\"seconds\": %.9f, \"fields\": %zu, \"bytes\": %zu}%s", what, taken, fields,
                fields * work.plan.message.size(), more ? ", " : "");
}

using Make = Prepare (*)(const Work&, int);

// One task in all processes, from number `first` on.
void separate(const Work& work, const char* what, Make make)
{
    std::vector<Prepare> all;
    for (int process = 0; process < work.processes; ++process)
        all.push_back(make(work, work.first + process));
    run(all, [&](const Shared& shared) {
        print(what, seconds(shared, 0, all.size()), all.size() * fields_of_a_process(work), work, false);
    });
}

void list(const Work& work)
{
    const std::size_t fields = static_cast<std::size_t>(work.processes) * fields_of_a_process(work);
    run({lister(work, fields)},
        [&](const Shared& shared) { print("list", seconds(shared, 0, 1), fields, work, false); });
}

// lag: of each step, from its last flush to its last field's being with a reader; the median over steps.
void print_lag(const Shared& shared, const Work& work)
{
    std::vector<std::int64_t> lags;
    for (std::size_t step = 0; step < work.plan.steps().size(); ++step)
        lags.push_back(shared.read[step] - shared.written[step]);
    const auto middle = lags.begin() + static_cast<std::ptrdiff_t>(lags.size() / 2);
    std::nth_element(lags.begin(), middle, lags.end());
    std::printf("\"lag\": %.9f", static_cast<double>(*middle) * 1e-9);
}

// As many writers as readers, all at once. contention: numbers from `first` on are there and are read, the
// next ones are written. operational: the readers follow the writers.
void both(const Work& work, bool contention)
{
    std::vector<Prepare> all;
    for (int process = 0; process < work.processes; ++process)
        all.push_back(writer(work, work.first + (contention ? work.processes : 0) + process));
    for (int process = 0; process < work.processes; ++process)
        all.push_back(contention ? one_by_one(work, work.first + process) : slicing_reader(work, process));
    const auto half = static_cast<std::size_t>(work.processes);
    run(all, [&](const Shared& shared) {
        print("write", seconds(shared, 0, half), half * fields_of_a_process(work), work, true);
        print("read", seconds(shared, half, half), half * fields_of_a_process(work), work, !contention);
        if (!contention) print_lag(shared, work);
    });
}

// Time to the first field in a new process: from before the program is loaded, and from when FDB is there to
// be used.
void first(int count, char** arguments)
{
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
    const std::int64_t begin = now();
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        std::string task = "first-itself";
        std::vector<char*> words(arguments, arguments + count);
        words.back() = task.data(); // getopt_long has put the options before it
        words.push_back(nullptr);
        execv("/proc/self/exe", words.data());
        _exit(127);
    }
    close(ends[1]);
    std::int64_t times[2] = {0, 0}; // FDB is started, the field is there
    const bool told = read(ends[0], times, sizeof times) == static_cast<ssize_t>(sizeof times);
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    if (!told || status != 0) throw std::runtime_error("the process that retrieves one field failed");
    std::printf("\"process\": %.9f, \"fdb\": %.9f", static_cast<double>(times[1] - begin) * 1e-9,
                static_cast<double>(times[1] - times[0]) * 1e-9);
}

void first_itself(const Work& work)
{
    start_fdb();
    const auto retrieve = first_retrieve(work);
    std::int64_t times[2] = {now(), 0};
    retrieve();
    times[1] = now();
    if (write(1, times, sizeof times) != static_cast<ssize_t>(sizeof times))
        throw std::runtime_error("cannot write the results: nobody reads them");
}

void measure(int count, char** arguments)
{
    std::string task;
    const Work work = parse(count, arguments, task);
    if (!work.copies.empty()) serve(work);
    if (task == "first-itself") {
        first_itself(work);
        return;
    }
    std::printf("{");
    if (task == "write")
        separate(work, "write", writer);
    else if (task == "read")
        separate(work, "read", one_by_one);
    else if (task == "read-many")
        separate(work, "read", step_by_step);
    else if (task == "list")
        list(work);
    else if (task == "first")
        first(count, arguments);
    else
        both(work, task == "contention");
    std::printf("}\n");
}

} // namespace

} // namespace stepstore::bench

int main(int count, char** arguments)
{
    try {
        stepstore::bench::measure(count, arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "stepstore-bench-fields: %s\n", error.what());
        return 1;
    }
    return 0;
}

// What the processes do, through FDB's C++ interface. FDB finds its configuration in the environment
// (FDB_CONFIG), so the same code runs on every engine.
// Threads: FDB starts its own; each task runs in one. Errors: std::runtime_error, or what FDB throws.
#pragma once

#include "plan.h"

#include "common/processes.h"

namespace stepstore::bench {

struct Work {
    Plan plan;
    int first = 0;       // position of the first process's number
    int processes = 1;   // each with a number of its own; writers and readers where there are both
    bool decode = false; // archive messages, whose keys FDB decodes, instead of keys with bytes
    std::string copies;  // a file, where FDB_CONFIG says `engine: plan`: see from_plan.h
};

// To be called once in every process that is to use FDB, and before no fork.
void start_fdb();

// Archives all fields of a number, and flushes after each step, which readers beside it may wait for.
Prepare writer(const Work& work, int number);
// Retrieves all fields of a number: one by one, or a step at a time.
Prepare one_by_one(const Work& work, int number);
Prepare step_by_step(const Work& work, int number);
// Lists the dataset, in which there are `fields`.
Prepare lister(const Work& work, std::size_t fields);
// The operational pattern: readers beside `writer`. A reader waits until all writers have flushed a step,
// then takes some of its parameters, of all numbers and levels.
Prepare slicing_reader(const Work& work, int reader);

// Retrieves one field and checks it; FDB is made then, the memory before.
std::function<void()> first_retrieve(const Work& work);

} // namespace stepstore::bench

// How FDB's engine for files ("toc") uses a file system: what a process touches for each field. No contents.
//
// A writing process has a data file and an index file of its own. It collects fields in a buffer, which
// it writes when it is full. A flush writes the rest, then the step's index, and appends a record to the
// table of contents that all processes share; each is synced before the next. A reading process reads the
// whole table of contents once. For each field it searches the records, from the newest on, for one that
// may have it; then it opens that index, once for each step, and reads the field from the data file.
//
// Threads: the actors of the simulation, of which one runs at a time. Errors: none.
#pragma once

#include "file_system.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stepstore::sim {

class FdbFiles {
public:
    struct Work {
        std::uint64_t number; // of the writing process whose fields they are
        std::uint64_t steps, fields_of_a_step, size;
        std::function<void(std::uint64_t step)> ended; // a step
    };
    FdbFiles(const Machine& machine, FileSystem& files);
    void write(std::size_t node, const Work& work);
    void read(std::size_t node, const Work& work);

private:
    struct Record {
        std::uint64_t number, step;
    };
    void begin_writing(std::size_t node);
    void flush(std::size_t node, const Work& work, std::uint64_t step);
    std::vector<std::uint64_t> load(std::size_t node, const Work& work);

    const Machine& machine_;
    FileSystem& files_;
    std::vector<Record> records_; // of the table of contents, in the order of appending
};

} // namespace stepstore::sim

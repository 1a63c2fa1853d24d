#include "fdb_files.h"

namespace stepstore::sim {

namespace {

const std::string toc = "toc";
constexpr std::uint64_t piece = 4 << 20; // of the table of contents, as it is read

std::string data_of(std::uint64_t number)
{
    return "data." + std::to_string(number);
}

std::string index_of(std::uint64_t number)
{
    return "index." + std::to_string(number);
}

} // namespace

FdbFiles::FdbFiles(const Machine& machine, FileSystem& files) : machine_(machine), files_(files)
{
    files_.stripe(toc, 1);
}

// The directory and the table of contents are made or found, the schema read; data and index file are made.
void FdbFiles::begin_writing(std::size_t node)
{
    constexpr int requests = 6;
    for (int i = 0; i < requests; ++i)
        files_.metadata(node);
}

void FdbFiles::flush(std::size_t node, const Work& work, std::uint64_t step)
{
    files_.sync();
    const std::uint64_t bytes = work.fields_of_a_step * machine_.toc_entry;
    files_.write(node, index_of(work.number), step * bytes, bytes);
    files_.sync();
    files_.metadata(node); // open the table of contents
    const std::uint64_t at = records_.size() * machine_.toc_record;
    records_.push_back({work.number, step});
    files_.write(node, toc, at, machine_.toc_record);
    files_.sync();
    files_.metadata(node); // close it
    files_.metadata(node); // the index's size, where the next one begins
}

void FdbFiles::write(std::size_t node, const Work& work)
{
    begin_writing(node);
    const std::string data = data_of(work.number);
    std::uint64_t at = 0;
    for (std::uint64_t step = 0; step < work.steps; ++step) {
        for (std::uint64_t left = work.fields_of_a_step * work.size; left > 0;) {
            const std::uint64_t part = std::min(left, machine_.toc_buffer);
            files_.write(node, data, at, part);
            at += part;
            left -= part;
        }
        flush(node, work, step);
        work.ended(step);
    }
}

// Of each step of the process: how many records are searched before its own.
std::vector<std::uint64_t> FdbFiles::load(std::size_t node, const Work& work)
{
    files_.metadata(node);
    const std::uint64_t size = records_.size() * machine_.toc_record;
    const std::size_t count = records_.size();
    for (std::uint64_t at = 0; at < size; at += piece)
        files_.read(node, toc, at, piece, size);
    files_.metadata(node);
    spend(static_cast<double>(count) * machine_.toc_load);
    std::vector<std::uint64_t> searched(work.steps);
    for (std::size_t i = 0; i < count; ++i)
        if (records_[i].number == work.number) searched[records_[i].step] = count - i;
    return searched;
}

void FdbFiles::read(std::size_t node, const Work& work)
{
    const std::vector<std::uint64_t> searched = load(node, work);
    const std::string data = data_of(work.number), index = index_of(work.number);
    const std::uint64_t size = work.steps * work.fields_of_a_step * work.size;
    const std::uint64_t index_bytes = work.fields_of_a_step * machine_.toc_entry;
    for (std::uint64_t step = 0; step < work.steps; ++step) {
        spend(static_cast<double>(work.fields_of_a_step * searched[step]) * machine_.toc_search);
        files_.metadata(node);
        files_.read(node, index, step * index_bytes, index_bytes, work.steps * index_bytes);
        files_.metadata(node);
        for (std::uint64_t field = 0; field < work.fields_of_a_step; ++field)
            files_.read(node, data, (step * work.fields_of_a_step + field) * work.size, work.size, size);
        work.ended(step);
    }
}

} // namespace stepstore::sim

#include "workers.h"

#include "stepstore/client.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace stepstore::bench {

namespace {

struct Command {
    char object_class[8];
    std::uint64_t chunk;
    std::uint64_t first_object;
    bool shared;
};

// One process's part of one measurement.
class Part {
public:
    Part(const Container& container, const Command& command, unsigned process, unsigned processes,
         std::uint64_t block)
        : array_(
              container.open_array(container.object_id(command.first_object + (command.shared ? 0 : process),
                                                       0, ObjectType::array_bytes, command.object_class),
                                   {1, command.chunk})),
          // As a stream's: a block of at least a chunk begins at a chunk's start.
          room_(block < command.chunk ? block : (block + command.chunk - 1) / command.chunk * command.chunk),
          first_(command.shared ? process : 0), stride_(command.shared ? processes : 1)
    {
    }
    std::uint64_t place(std::uint64_t step) const { return (first_ + step * stride_) * room_; }
    Array& array() { return array_; }

private:
    Array array_;
    std::uint64_t room_, first_, stride_;
};

double seconds_since(std::chrono::steady_clock::time_point begin)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double write_blocks(Part& part, std::vector<std::byte>& memory, std::uint64_t steps)
{
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t step = 0; step < steps; ++step) {
        memory.front() = memory.back() = static_cast<std::byte>(step);
        part.array().write(part.place(step), memory);
    }
    return seconds_since(begin);
}

double read_blocks(Part& part, std::vector<std::byte>& memory, std::uint64_t steps)
{
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t step = 0; step < steps; ++step) {
        part.array().read(part.place(step), memory);
        const auto mark = static_cast<std::byte>(step);
        if (memory.front() != mark || memory.back() != mark)
            throw std::runtime_error("a block does not hold what was written");
    }
    return seconds_since(begin);
}

} // namespace

// The last process only destroys what the others have written. A process that gives back space keeps some of
// it for its own next writes, and a stream that only grows never has such space.
ArrayWorkers::ArrayWorkers(const std::string& pool, unsigned processes, std::uint64_t block,
                           std::uint64_t steps)
    : pool_(pool), processes_(processes), block_(block), steps_(steps)
{
    for (unsigned process = 0; process <= processes; ++process)
        workers_.start("process " + std::to_string(process),
                       [&](int commands, int results) { serve(process, commands, results); });
    (void)workers_.results(0, processes + 1); // ready
}

void ArrayWorkers::serve(unsigned process, int commands, int results) const
{
    const Pool pool = Pool::connect(pool_);
    const Container container = pool.open_container("bench");
    std::vector<std::byte> memory(block_);
    for (std::size_t at = 0; at < memory.size(); ++at)
        memory[at] = static_cast<std::byte>(at * 131 + at / 977 + process);
    double result = 0;
    Command command;
    while (send(results, &result, sizeof result) && receive(commands, &command, sizeof command)) {
        if (process == processes_) {
            for (unsigned one = 0; one < (command.shared ? 1 : processes_); ++one)
                Part(container, command, one, processes_, block_).array().destroy();
            continue;
        }
        Part part(container, command, process, processes_, block_);
        result = write_blocks(part, memory, steps_);
        char go = 0;
        if (!send(results, &result, sizeof result) || !receive(commands, &go, 1)) return;
        result = read_blocks(part, memory, steps_);
    }
}

Times ArrayWorkers::measure(const Variant& variant)
{
    Command command{};
    if (variant.object_class.size() >= sizeof command.object_class)
        throw std::runtime_error("object class " + variant.object_class + ": its name is too long");
    variant.object_class.copy(command.object_class, sizeof command.object_class - 1);
    command.chunk = variant.chunk;
    command.shared = variant.shared;
    command.first_object = objects_ += processes_;
    Times times;
    workers_.tell(0, processes_, &command, sizeof command);
    times.write = std::ranges::max(workers_.results(0, processes_));
    workers_.tell(0, processes_, "r", 1);
    times.read = std::ranges::max(workers_.results(0, processes_));
    workers_.tell(processes_, processes_ + 1, &command, sizeof command);
    (void)workers_.results(processes_, processes_ + 1); // cleaned
    return times;
}

} // namespace stepstore::bench

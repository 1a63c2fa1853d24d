#include "base/process.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace stepstore {

namespace {

std::string host_name()
{
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "an unknown host";
}

// Differs after a restart of the machine, and between containers.
std::string machine_identity()
{
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    std::error_code error;
    const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
    return (boot.empty() ? host_name() : boot) + "/" + space;
}

struct ProcessState {
    char state = 0;
    std::uint64_t threads = 0;
    std::uint64_t started = 0;
};

std::optional<ProcessState> state_of(std::uint64_t process)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    // Its second field is a name in parentheses, which may hold anything. The fields are counted from 1: proc(5).
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    constexpr int state_field = 3, threads_field = 20, start_field = 22;
    std::istringstream rest(line.substr(name_end + 1));
    ProcessState result;
    std::string field;
    for (int number = state_field; rest >> field; ++number) {
        if (number == state_field) result.state = field[0];
        if (number == threads_field) result.threads = std::stoull(field);
        if (number == start_field) {
            result.started = std::stoull(field);
            return result;
        }
    }
    return std::nullopt;
}

} // namespace

ProcessIdentity this_process()
{
    ProcessIdentity mine;
    mine.host = host_name();
    mine.machine = machine_identity();
    mine.process = static_cast<std::uint64_t>(::getpid());
    if (const auto state = state_of(mine.process)) mine.started = state->started;
    return mine;
}

Life life_of(const ProcessIdentity& process)
{
    if (process.machine != machine_identity()) return Life::elsewhere;
    const auto state = state_of(process.process);
    if (!state || state->started != process.started) return Life::dead;
    // Killed, but nobody has asked for its exit status yet. (One whose first thread alone has ended has others.)
    const bool ended = (state->state == 'Z' || state->state == 'X') && state->threads <= 1;
    return ended ? Life::dead : Life::alive;
}

} // namespace stepstore

#include "base/process.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace stepstore {

namespace {

constexpr const char* test_machine = "STEPSTORE_TEST_MACHINE";

std::string host_name()
{
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "an unknown host";
}

std::string word_in(const char* file)
{
    std::string word;
    std::ifstream(file) >> word;
    return word;
}

// Differs after a restart of the machine, and between containers.
std::string machine_identity()
{
    const std::string boot = word_in("/proc/sys/kernel/random/boot_id");
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
    const int fd = ::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    char text[2048]; // more than 52 numbers and a name of 63 bytes
    const ssize_t length = ::read(fd, text, sizeof text);
    ::close(fd);
    std::string_view rest(text, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    // Its second field is a name in parentheses, which may hold anything. The fields are counted from 1:
    // proc(5).
    const std::size_t name_end = rest.rfind(')');
    if (name_end == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(name_end + 1);
    constexpr std::size_t first = 3, threads = 20 - first, started = 22 - first;
    std::string_view fields[started + 1];
    for (std::string_view& field : fields) {
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        field = rest.substr(0, rest.find(' '));
        rest.remove_prefix(field.size());
    }
    ProcessState state{fields[0].empty() ? '\0' : fields[0].front(), 0, 0};
    const auto read_number = [](std::string_view field, std::uint64_t& into) {
        return std::from_chars(field.data(), field.data() + field.size(), into).ec == std::errc();
    };
    if (!read_number(fields[threads], state.threads) || !read_number(fields[started], state.started))
        return std::nullopt;
    return state;
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

bool pretends_machine()
{
    return std::getenv(test_machine) != nullptr;
}

Machine this_machine()
{
    if (pretends_machine()) {
        const std::string boot = std::getenv(test_machine);
        const std::string name = boot.substr(0, boot.find('/'));
        return {name, name, boot};
    }
    Machine mine;
    mine.host = host_name();
    mine.id = word_in("/etc/machine-id");
    mine.boot = word_in("/proc/sys/kernel/random/boot_id");
    if (mine.boot.empty()) mine.boot = mine.id + "/" + mine.host;
    return mine;
}

ProcessSight look_at(std::uint64_t process)
{
    if (process == 0 || process > INT_MAX) return {}; // these have another meaning to kill(2)
    const auto state = state_of(process);
    // Processes of other users may be hidden in /proc; a signal that is not sent still tells whether there is
    // one.
    if (!state) return {::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM, false, std::nullopt};
    // One whose first thread alone has ended has others.
    const bool ended = (state->state == 'Z' || state->state == 'X') && state->threads <= 1;
    return {!ended, state->state == 'T' || state->state == 't', state->started};
}

Life life_of(const ProcessIdentity& process)
{
    if (process.machine != machine_identity()) return Life::elsewhere;
    const ProcessSight seen = look_at(process.process);
    return seen.alive && seen.started.value_or(process.started) == process.started ? Life::alive : Life::dead;
}

} // namespace stepstore

#include "location/find/group.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/files.h"
#include "base/not_copied.h"
#include "base/nudge.h"
#include "base/process.h"
#include "base/record.h"
#include "base/system_error.h"
#include "comm/collective.h"
#include "location/find/location.h"

#include <algorithm>
#include <cerrno>
#include <daos_errno.h>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <unistd.h>

namespace stepstore {

namespace {

namespace fs = std::filesystem;

std::uint32_t most_ranks_of_a_machine(Communicator& communicator)
{
    if (communicator.size() == 1) return 1;
    std::map<std::uint64_t, std::uint32_t> ranks;
    std::uint32_t most = 0;
    for (const std::uint64_t machine : communicator.allgather(checksum(as_bytes(this_machine().boot))))
        most = std::max(most, ++ranks[machine]);
    return most;
}

// The directory itself, or the nearest one above it that is there.
fs::path nearest_directory(const std::string& path)
{
    std::error_code ignored;
    fs::path at = fs::absolute(path).lexically_normal();
    while (!fs::is_directory(at, ignored) && at != at.root_path())
        at = at.parent_path();
    return at;
}

// A file that rank 0 makes for a moment, with a content that nobody can guess.
struct Probe {
    std::string path;
    std::string content;
};

Probe make_probe(const fs::path& directory)
{
    std::random_device random;
    Probe probe;
    for (int word = 0; word < 4; ++word)
        probe.content += std::to_string(random()) + ".";
    probe.path = (directory / (probe_prefix + probe.content.substr(0, 24))).string();
    const Descriptor fd = open_file(probe.path, O_WRONLY | O_CREAT | O_EXCL);
    if (!fd) fail_errno(probe.path, "cannot make a file to see whether all machines share the directory");
    const int error = write_all(fd.get(), {as_bytes(probe.content)}, 0);
    if (error == 0 && fsync(fd.get()) == 0) return probe;
    unlink(probe.path.c_str());
    throw system_error(error, probe.path,
                       "cannot write a file to see whether all machines share the directory");
}

std::string second_name(const Probe& probe)
{
    return probe.path + ".2";
}

// Where that may help: by a file of its own in the same directory.
class RankNudges : NotCopied {
public:
    explicit RankNudges(const Probe& probe) : path_(probe.path + ".3")
    {
        const Descriptor fd = open_file(probe.path, O_RDONLY);
        if (!fd || !Nudger::may_help(fd.get())) return;
        if (!open_file(path_, O_WRONLY | O_CREAT | O_EXCL)) return;
        nudger_.emplace(path_);
        runs_.emplace();
    }
    ~RankNudges()
    {
        if (!nudger_) return;
        nudger_.reset();
        unlink(path_.c_str());
    }

private:
    const std::string path_;
    std::optional<Nudger> nudger_;
    std::optional<FileCallRuns> runs_; // all the time
};

// Whether a listing of the directory has the second name.
bool is_listed(const Probe& probe)
{
    const fs::path name = second_name(probe);
    std::error_code unreadable;
    for (fs::directory_iterator entry(name.parent_path(), unreadable), end; !unreadable && entry != end;
         entry.increment(unreadable))
        if (entry->path().filename() == name.filename()) return true;
    return false;
}

bool sees(const Probe& probe, const Descriptor& fd)
{
    const auto text = fd ? read_text(fd.get()) : std::nullopt;
    return text && *text == probe.content;
}

std::string more_of(const Probe& probe)
{
    return probe.content + " and more";
}

void lengthen(const Probe& probe)
{
    const Descriptor fd = open_file(probe.path, O_WRONLY);
    int error = fd ? write_all(fd.get(), {as_bytes(more_of(probe))}, 0) : errno;
    if (error == 0 && fsync(fd.get()) != 0) error = errno;
    if (error != 0) throw system_error(error, probe.path, "cannot write the file");
}

// As arrays of pools in files are read (store/files/container.cc): by a descriptor that was open before.
bool sees_more(const Probe& probe, const Descriptor& fd)
{
    const std::string wanted = more_of(probe);
    std::string text(wanted.size(), ' ');
    (void)fresh_size_of(fd.get(), probe.path);
    (void)posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
    const std::int64_t got = read_all(fd.get(), std::as_writable_bytes(std::span(text)), 0);
    return got == static_cast<std::int64_t>(wanted.size()) && text == wanted;
}

} // namespace

PlaceOfGroup place_of_group(Communicator& communicator, const std::string& location)
{
    const std::uint32_t most = most_ranks_of_a_machine(communicator);
    const bool several_machines = most < static_cast<std::uint32_t>(communicator.size());
    if (!capabilities_of(location).directory || !several_machines) return {location, most, nullptr};
    Probe probe; // rank 0's
    const std::vector<std::byte> word = on_root(communicator, [&] {
        std::vector<std::byte> bytes;
        WireWriter to(bytes);
        const LocationParts parts = parse_location(location);
        std::string rest;
        const FoundPool found = find_pool(location, rest);
        const bool one_machine =
            found.pool_exists ? capabilities_of(found.pool).one_machine : !parts.label.empty();
        if (!one_machine) probe = make_probe(nearest_directory(parse_location(found.pool).path));
        to.text(probe.path);
        to.text(probe.content);
        // All mean the same, in whichever directory they run.
        const std::string whole = absolute_location(location, fs::current_path().string());
        const bool fresh = !found.pool_exists && parts.form.scheme.empty();
        to.text((fresh && !one_machine ? std::string(shared_form.scheme) : "") + whole);
        to.text(this_machine().host);
        return bytes;
    });
    WireReader from(word, "rank 0's message about the location");
    Probe told;
    told.path = from.text();
    told.content = from.text();
    const std::string where(from.text());
    const std::string host(from.text());
    if (told.path.empty()) require_one_machine(communicator, location);
    struct Remove {
        const Probe& probe;
        ~Remove()
        {
            if (probe.path.empty()) return;
            unlink(second_name(probe).c_str());
            unlink(probe.path.c_str());
        }
    } const remove{probe};
    const auto nudges = probe.path.empty() ? nullptr : std::make_shared<const RankNudges>(probe);
    const std::string directory = told.path.substr(0, told.path.rfind('/'));
    Descriptor opened;
    all_together(communicator, [&] {
        opened = open_file(told.path, O_RDONLY);
        if (sees(told, opened)) return;
        throw Error(-DER_INVAL, "'" + location + "' cannot be written together: what rank 0 on " + host +
                                    " wrote into " + directory + " is not there for rank " +
                                    std::to_string(communicator.rank()) + " on " + this_machine().host +
                                    ". The machines do not share this directory, or do not see each other's "
                                    "files at once (docs/nodes.md). Choose a directory that they share. "
                                    "Nothing was left behind");
    });
    // A name that another rank has made already does not tell a rank that it could make none.
    all_together(communicator, [&] {
        if (access(directory.c_str(), W_OK) == 0) return;
        fail_errno("'" + location + "' cannot be written together",
                   "rank " + std::to_string(communicator.rank()) + " on " + this_machine().host +
                       " cannot write into " + directory);
    });
    // What pools in files rest on: of all who make a name one succeeds, and then all find it.
    std::uint64_t made = 0;
    all_together(communicator, [&] {
        if (link(told.path.c_str(), second_name(told).c_str()) == 0)
            made = 1;
        else if (errno != EEXIST)
            fail_errno("'" + location + "' cannot be written together: " + directory,
                       "cannot link a file, which pools in files need (docs/nodes.md, rule 1)");
    });
    const auto all = communicator.allgather(made);
    all_together(communicator, [&] {
        const auto makers = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
        if (makers == 1 && is_listed(told)) return;
        throw Error(-DER_INVAL,
                    "'" + location + "' cannot be written together: the file system of " + directory +
                        (makers != 1 ? " let " + std::to_string(makers) +
                                           " ranks make one name (docs/nodes.md, rule 1)"
                                     : " does not show rank " + std::to_string(communicator.rank()) + " on " +
                                           this_machine().host +
                                           " a name that another rank has made (docs/nodes.md, "
                                           "rule 4: mount options)"));
    });
    all_together(communicator, [&] {
        if (communicator.rank() == 0) lengthen(told);
    });
    all_together(communicator, [&] {
        if (sees_more(told, opened)) return;
        throw Error(-DER_INVAL, "'" + location + "' cannot be written together: the file system of " +
                                    directory + " does not show rank " + std::to_string(communicator.rank()) +
                                    " on " + this_machine().host +
                                    " what another machine has added to a file (docs/nodes.md, rule 6: mount "
                                    "options)");
    });
    return {where, most, nudges};
}

} // namespace stepstore

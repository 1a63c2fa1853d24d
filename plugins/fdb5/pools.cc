#include "pools.h"

#include "failure.h"
#include "keys.h"

#include "location/location.h"

#include "eckit/filesystem/FileSpaceStrategies.h"
#include "eckit/filesystem/PathName.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <set>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace stepstore::fdb_plugin {
namespace {

namespace fs = std::filesystem;
using Strategy = const eckit::PathName& (*)(const std::vector<eckit::PathName>&);

// FDB's handlers, by its names; nullptr: the first pool.
const std::map<std::string, Strategy>& strategies()
{
    using Of = eckit::FileSpaceStrategies;
    static const std::map<std::string, Strategy> all = {
        {"Default", nullptr},
        {"First", nullptr},
        {"LeastUsed", &Of::leastUsed},
        {"LeastUsedPercent", &Of::leastUsedPercent},
        {"PureRandom", &Of::pureRandom},
        {"Random", &Of::pureRandom},
        {"RoundRobin", &Of::roundRobin},
        {"WeightedRandom", &Of::weightedRandom},
        {"WeightedRandomPercent", &Of::weightedRandomPercent},
    };
    return all;
}

[[noreturn]] void refuse_section(const std::string& message)
{
    refuse("configuration, section 'stepstore': " + message);
}

// "~fdb/..." and paths relative to the working directory become absolute, for they go into URIs: one spelling
// for one pool. What follows local: is a label only if nothing follows it in turn.
std::string absolute(const fdb5::Config& config, const std::string& pool)
{
    const LocationParts parts = translated([&] { return parse_location(pool); });
    if (!parts.is_path() || (!parts.label.empty() && parts.rest.empty())) return pool;
    const std::string scheme(parts.form.scheme);
    if (parts.path.starts_with('~')) return scheme + config.expandPath(parts.path).asString();
    if (parts.path.starts_with('/')) return scheme + parts.path;
    return scheme + eckit::PathName(parts.path).fullName().asString();
}

// A pool in files has two spellings, PATH and shared:PATH. Other locations stay as they are.
std::string without_form(const std::string& pool)
{
    return pool.starts_with(shared_form.scheme) ? pool.substr(shared_form.scheme.size()) : pool;
}

// Whether several machines may use the pool.
bool is_in_files(const std::string& pool)
{
    std::error_code ignored;
    return pool.starts_with(shared_form.scheme) || fs::exists(fs::path(pool) / files_header, ignored);
}

ConfiguredPool pool_of(const eckit::LocalConfiguration& entry)
{
    static const std::set<std::string> known = {"path", "regex",    "visit",   "writable",
                                                "list", "retrieve", "archive", "wipe"};
    for (const auto& key : entry.keys()) {
        if (!known.contains(key)) {
            refuse_section("a pool of 'pools' has no key '" + key +
                           "'. Its keys are path, regex, list, retrieve, archive, wipe, visit (list and "
                           "retrieve) and writable (archive and wipe)");
        }
    }
    ConfiguredPool pool;
    pool.location = entry.getString("path", "");
    pool.regex = eckit::Regex(entry.getString("regex", ".*"));
    const bool visit = entry.getBool("visit", true);
    const bool writable = entry.getBool("writable", true);
    const auto flag = [&](const char* name, bool usual, fdb5::ControlIdentifier identifier) {
        if (!entry.getBool(name, usual)) pool.off |= identifier;
    };
    flag("list", visit, fdb5::ControlIdentifier::List);
    flag("retrieve", visit, fdb5::ControlIdentifier::Retrieve);
    flag("archive", writable, fdb5::ControlIdentifier::Archive);
    flag("wipe", writable, fdb5::ControlIdentifier::Wipe);
    return pool;
}

// Where the pool is, or will be.
eckit::PathName directory_of(const std::string& location)
{
    fs::path path = location;
    std::error_code ignored; // "/" is there
    while (path.has_relative_path() && !fs::is_directory(path, ignored))
        path = path.parent_path();
    return path.string();
}

} // namespace

Pools::Pools(const fdb5::Config& config, const eckit::LocalConfiguration& section)
{
    const auto plain = [&](const std::string& location) {
        pools_.emplace_back();
        pools_.back().location = location;
    };
    if (section.has("pool") == section.has("pools"))
        refuse_section("write either 'pool', or 'pools' with at least one pool");
    if (section.has("pool"))
        plain(section.getString("pool"));
    else if (section.isStringList("pools"))
        std::ranges::for_each(section.getStringVector("pools"), plain);
    else if (section.isSubConfigurationList("pools"))
        for (const auto& entry : section.getSubConfigurations("pools"))
            pools_.push_back(pool_of(entry));
    else
        refuse_section("'pools' must be a list of names, or of entries that each have a 'path'");
    if (pools_.empty() || std::ranges::any_of(pools_, [](const auto& pool) { return pool.location.empty(); }))
        refuse_section("write either 'pool', or 'pools' with at least one pool, each with a name");
    for (auto& pool : pools_)
        pool.location = absolute(config, pool.location);
    handler_ = section.getString("handler", handler_);
    const auto strategy = strategies().find(handler_);
    if (strategy == strategies().end()) {
        std::string names;
        for (const auto& one : strategies())
            names += (names.empty() ? "" : ", ") + one.first;
        refuse_section("'handler' is '" + handler_ + "': give one of " + names);
    }
    for (const auto& pool : pools_) {
        if (strategy->second == nullptr) continue;
        if (is_in_files(pool.location)) {
            refuse_section("handler " + handler_ +
                           " needs a lock that machines do not share, so no pool may be one in files, and " +
                           pool.location + " is: take the handler Default, and a 'regex' for each pool");
        }
        if (!pool.location.starts_with('/')) {
            refuse_section("handler " + handler_ + " compares disks, so each pool must be a directory, and " +
                           pool.location + " is not one");
        }
    }
}

const ConfiguredPool* Pools::find(const std::string& location) const
{
    const auto found = std::ranges::find_if(pools_, [&](const ConfiguredPool& pool) {
        return without_form(pool.location) == without_form(location);
    });
    return found == pools_.end() ? nullptr : &*found;
}

const std::string& Pools::choose(const fields::Key& dataset) const
{
    std::vector<const ConfiguredPool*> open;
    std::vector<eckit::PathName> directories;
    for (const auto& pool : pools_) {
        if (pool.allows(fdb5::ControlIdentifier::Archive) && pool.regex.match(fingerprint(dataset))) {
            open.push_back(&pool);
            directories.push_back(directory_of(pool.location));
        }
    }
    if (open.empty()) {
        refuse("no pool of the configuration takes the new dataset " + dataset.text() +
               ": each has 'archive: false', or a 'regex' that does not match " + fingerprint(dataset));
    }
    const Strategy strategy = strategies().at(handler_);
    if (strategy == nullptr) return open.front()->location;
    const auto chosen =
        std::ranges::find(directories, &strategy(directories), [](const auto& one) { return &one; });
    return open.at(static_cast<std::size_t>(chosen - directories.begin()))->location;
}

Pools::FolderLock Pools::lock_folder() const
{
    if (strategies().at(handler_) == nullptr) return nullptr;
    // The folder of the first pool, which is the same for all who have this list, also before there is a
    // pool.
    const fs::path folder = fs::path(pools_.front().location).parent_path();
    std::error_code ignored; // what opens it says what is wrong
    fs::create_directories(folder, ignored);
    const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) refuse("cannot open " + folder.string() + " to choose a pool: " + std::strerror(errno));
    const FolderLock lock(new int(file), [](const int* open) {
        ::close(*open); // lets go of the lock
        delete open;
    });
    constexpr auto pause = std::chrono::milliseconds(5);
    constexpr auto longest = std::chrono::seconds(30);
    const auto until = std::chrono::steady_clock::now() + longest;
    while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            refuse("cannot lock " + folder.string() + " to choose a pool: " + std::strerror(errno));
        if (std::chrono::steady_clock::now() > until) {
            refuse("cannot lock " + folder.string() +
                   " to choose a pool: another process has held the lock for 30 seconds ('lslocks' names "
                   "it): archive again when it has ended");
        }
        std::this_thread::sleep_for(pause);
    }
    return lock;
}

bool same_pool(const std::string& pool, const std::string& other)
{
    if (pool == other) return true;
    const std::string path = without_form(pool);
    if (!path.starts_with('/')) // a label, or a pool of a DAOS system
        return false;
    std::error_code pool_error, other_error;
    const fs::path one = fs::weakly_canonical(path, pool_error);
    const fs::path two = fs::weakly_canonical(fs::absolute(without_form(other)), other_error);
    return !pool_error && !other_error && one / "" == two / "";
}

} // namespace stepstore::fdb_plugin

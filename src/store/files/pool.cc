// Making a pool: 1. its directories are made under a fresh id. 2. The header is written beside them, and
// linked to the name stepstore.files: of several makers one succeeds. The others remove what they have made.
// Destroying it: 1. The header is moved into the directory of the id. From then on there is no pool. If it
// was another pool's, made meanwhile, it is put back. 2. The directory is removed.
//
// Making a container: 1. its directory is made with all that it begins with, and moved to its id. 2. Its
// label is put if it is absent: then the container is there. Destroying it: 1. its label is removed if it is
// still its own, 2. its directory is moved away, and then removed. Killed in between: what was not made
// whole, or not removed whole, is removed by a repair.
#include "store/builtin.h"

#include "base/clock.h"
#include "base/fork.h"
#include "base/interrupt.h"
#include "base/system_error.h"
#include "base/text.h"
#include "location/location.h"
#include "store/failure.h"
#include "store/files/check.h"
#include "store/files/compact.h"
#include "store/files/container.h"
#include "store/pool_core.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <sys/statvfs.h>
#include <unistd.h>

namespace stepstore::store::files {

namespace {

constexpr const char* subdirectories[] = {"names", "containers", "temporary", "gone"};

Keys names_of(const Place& place)
{
    return {place, place.root() / "names", "the names of containers"};
}

// nullopt: there is no such container, or it is being made or destroyed.
std::optional<About> read_about(const Place& place, const Uuid& uuid)
{
    const RootedPath file = place.container(uuid) / "about";
    const std::string what = "pool " + place.path() + ", container " + text(uuid);
    const auto bytes =
        read_file(file, [&](Bytes found) { return is_sound([&] { decode_about(found, what); }); });
    if (!bytes) {
        if (errno == ENOENT) return std::nullopt;
        fail_errno(file, "cannot read the record of a container" + owner_of(file));
    }
    About about = decode_about(*bytes, what);
    if (about.uuid != uuid)
        fail_damaged("pool " + place.path() + ": the record of container " + text(uuid) +
                     " is another one's");
    if (about.label.empty()) return about;
    Uuid named{};
    const auto got = names_of(place).get(as_bytes(about.label), std::as_writable_bytes(std::span(named)));
    if (!got.there || got.size != named.size() || named != uuid) return std::nullopt;
    return about;
}

class FilesPool final : public Pool, public std::enable_shared_from_this<FilesPool> {
public:
    FilesPool(std::shared_ptr<Place> place, Access access)
        : Pool(place->path(), access), place_(std::move(place))
    {
    }

    PoolInfo query() override
    {
        place_->require_current();
        PoolInfo info;
        info.uuid = uuid();
        info.label = place_->header().label;
        info.path = path();
        info.backend = files::name;
        info.format_version = format_version;
        info.durability = place_->header().durability;
        info.targets.resize(1);
        struct statvfs space {};
        if (fstatvfs(place_->root().root(), &space) != 0 && ::statvfs(path().c_str(), &space) != 0)
            fail_errno("pool " + path(), "cannot ask for the space of the file system");
        info.space_total = space.f_blocks * space.f_frsize;
        info.space_free = space.f_bavail * space.f_frsize;
        info.containers = containers().size();
        return info;
    }

    const Uuid& uuid() const override { return place_->header().uuid; }
    unsigned targets() const override { return 1; }

    std::unique_ptr<UserAttributes> user_attributes() override { refuse_user_attributes(path()); }

    std::vector<ContainerInfo> containers() override
    {
        std::vector<ContainerInfo> all;
        for_each_name(place_->root() / "containers", [&](const char* name, NameKind) {
            const auto uuid = parse_uuid(name);
            const auto about = uuid ? read_about(*place_, *uuid) : std::nullopt;
            if (about) all.push_back({about->uuid, about->label, about->created, 0, 0});
        });
        if (all.empty()) place_->require_current();
        std::ranges::sort(all, {}, &ContainerInfo::created);
        return all;
    }

    ContainerInfo create_container(const Uuid& uuid, std::string_view label, Bytes properties) override
    {
        require_write("creating a container");
        place_->require_current();
        const std::string pool = "pool " + path();
        require_label(pool + ": the container label", label);
        const auto refuse_label = [&] {
            fail(DER_EXIST, pool + ": there is a container '" + std::string(label) +
                                "' already: open it, or choose another label");
        };
        const Keys names = names_of(*place_);
        Uuid before{}; // what the label names
        bool named = false;
        if (!label.empty()) {
            named = names.get(as_bytes(label), std::as_writable_bytes(std::span(before))).there;
            if (named && exists(place_->container(before))) refuse_label();
        }
        const About about{
            uuid, std::string(label), nanoseconds(CLOCK_REALTIME), {properties.begin(), properties.end()}};
        const RootedPath made = place_->temporary();
        if (const int error = make_directory(made); error != 0)
            throw system_error(error, pool, "cannot make the directory of a container");
        place_->make(made / "about", {encode_about(about)});
        place_->sync_names(made);
        // A directory that has something in it is never replaced.
        if (const int error = rename_file(made, place_->container(uuid)); error != 0) {
            remove_tree(made);
            if (error == ENOTEMPTY || error == EEXIST)
                fail(DER_EXIST, pool + ": there is a container " + text(uuid) +
                                    " already: open it, or choose another uuid");
            throw system_error(error, pool, "cannot make a container");
        }
        place_->sync_names(place_->root() / "containers");
        if (label.empty()) return {uuid, "", about.created, 0, 0};
        try {
            // What it named was removed as unfinished, while its maker did not run.
            const Precondition fresh = named ? Precondition::equals(std::as_bytes(std::span(before)))
                                             : Precondition(Condition::must_not_exist);
            names.update(
                {as_bytes(label), std::as_bytes(std::span(uuid)), fresh, nullptr, [] { return true; }}, true);
        } catch (const Error& error) {
            place_->remove_at_once(place_->container(uuid));
            if (error.code() == -DER_EXIST || error.code() == -DER_MISMATCH) refuse_label();
            throw;
        }
        return {uuid, about.label, about.created, 0, 0};
    }

    std::shared_ptr<Container> open_container(std::string_view name) override
    {
        const auto about = find(name);
        if (!about) {
            place_->require_current();
            fail(DER_NONEXIST, "pool " + path() + " has no container " + quoted(as_bytes(name)) +
                                   ": create it, or list the pool's containers");
        }
        return std::make_shared<FilesContainer>(shared_from_this(), place_, *about);
    }

    void destroy_container(std::string_view name, bool force) override
    {
        require_write("destroying a container");
        const auto about = find(name);
        if (!about) {
            fail(DER_NONEXIST,
                 "pool " + path() + " has no container " + quoted(as_bytes(name)) + " to destroy");
        }
        if (!force && place_->is_open(about->uuid)) {
            fail(DER_BUSY, "pool " + path() + ": container " + quoted(as_bytes(name)) +
                               " is open in this process: close it first, or destroy it by force");
        }
        if (!about->label.empty()) {
            const Precondition own = Precondition::equals(std::as_bytes(std::span(about->uuid)));
            try {
                names_of(*place_).update(
                    {as_bytes(about->label), std::nullopt, own, nullptr, [] { return true; }}, false);
            } catch (const Error& error) {
                if (error.code() != -DER_MISMATCH) throw; // another process was faster
            }
        }
        place_->remove_at_once(place_->container(about->uuid));
    }

    std::vector<Compaction> compact() override
    {
        require_write("compact");
        const Usage before = usage_of(*place_);
        compact_files(*place_);
        const Usage after = usage_of(*place_);
        return {{before.keys.bytes, after.keys.bytes, before.arrays.bytes, after.arrays.bytes,
                 before.keys.files + before.arrays.files, after.keys.files + after.arrays.files}};
    }

    void measure(PoolInfo& info) override
    {
        const Usage usage = usage_of(*place_);
        info.targets.resize(1);
        info.targets.front().index_bytes = usage.keys.bytes;
        info.targets.front().bulk_bytes = usage.arrays.bytes;
        info.files = usage.keys.files + usage.arrays.files;
    }

    // All that this machine has written to the file system: which of it belongs to the pool, nobody notes.
    void sync(bool) override
    {
        const Descriptor fd = open_file(place_->root(), O_RDONLY | O_DIRECTORY);
        if (!fd) fail_errno("pool " + path(), "cannot open the directory");
        if (syncfs(fd.get()) != 0) fail_errno("pool " + path(), "cannot sync the file system");
    }

private:
    std::optional<About> find(std::string_view name)
    {
        auto uuid = parse_uuid(name);
        if (!uuid) {
            Uuid named{};
            if (name.empty()) return std::nullopt;
            const auto got = names_of(*place_).get(as_bytes(name), std::as_writable_bytes(std::span(named)));
            if (!got.there || got.size != named.size()) return std::nullopt;
            uuid = named;
        }
        return read_about(*place_, *uuid);
    }

    const std::shared_ptr<Place> place_;
};

// Those of this process, by path; guarded by ForkLock::pools.
std::map<std::string, std::weak_ptr<Place>>& registry()
{
    static auto* places = new std::map<std::string, std::weak_ptr<Place>>; // outlives static destructors
    return *places;
}

void remove_all_of(const std::string& path, const Uuid& uuid)
{
    const RootedPath directory = RootedPath::directory(path);
    if (!directory) return;
    if (const int error = remove_tree(directory / text(uuid)); error != 0 && error != ENOENT)
        throw system_error(error, "pool " + path, "cannot remove the pool's directory");
}

} // namespace

Found look(const std::string& path)
{
    const RootedPath directory = RootedPath::directory(path);
    return directory && exists(directory / files_header) ? Found::pool : Found::nothing;
}

std::shared_ptr<Pool> create(const std::string& path, const PoolOptions& options)
{
    const std::string pool = "pool " + path;
    // options.targets says nothing here: the file system has its own servers.
    if (!options.target_directories.empty())
        fail(DER_NOTSUPPORTED, pool + ": a pool in files lies in one directory: give no others for targets");
    Header header;
    header.uuid = random_uuid();
    header.created = nanoseconds(CLOCK_REALTIME);
    header.durability = options.durability;
    header.label = options.label;
    if (header.label.empty()) {
        header.label = path.substr(path.rfind('/') + 1);
        try {
            require_label(pool, header.label);
        } catch (const Error&) {
            header.label.clear();
        }
    }
    const std::lock_guard lock(held_over_fork(ForkLock::pools));
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) throw system_error(error.value(), pool, "cannot make its directory");
    const RootedPath directory = RootedPath::directory(path);
    if (!directory) fail_errno(pool, "cannot open its directory" + owner_of(path));
    const std::string id = text(header.uuid);
    const auto drop = [&] { remove_tree(directory / id); };
    try {
        for (const char* below : subdirectories)
            if (const int failed = make_directories(directory / id / below); failed != 0)
                throw system_error(failed, pool, "cannot make its directories" + owner_of(path));
        auto place = std::make_shared<Place>(path, header);
        const RootedPath draft = directory / id / "header";
        place->make(draft, {encode_header(header)});
        place->sync_names(directory / id);
        const int failed = link_file(draft, directory / files_header);
        if (failed == EEXIST) {
            fail(DER_EXIST,
                 "there is a pool at " + path + " already (files): open it, or choose another path");
        }
        if (failed != 0) throw system_error(failed, pool, "cannot make it");
        remove(draft); // before the sync, so that those who look at the header need not wait
        place->sync_names(directory);
        registry()[path] = place;
        return std::make_shared<FilesPool>(std::move(place), Access::read_write);
    } catch (...) {
        drop();
        throw;
    }
}

std::shared_ptr<Pool> open(const std::string& path, Access access)
{
    const std::lock_guard lock(held_over_fork(ForkLock::pools));
    const auto header = read_header(path);
    if (!header)
        fail(DER_NONEXIST,
             "there is no pool in files at " + path + ": create it first (stepstore pool create)");
    auto place = registry()[path].lock();
    if (!place || place->header().uuid != header->uuid) {
        place = std::make_shared<Place>(path, *header);
        registry()[path] = place;
    }
    if (access == Access::read_write && !can_write(place->root() / "containers")) {
        fail(DER_NO_PERM, "pool " + path + " cannot be written by this user" + owner_of(path) +
                              ": open it read-only, or ask its owner for permission");
    }
    return std::make_shared<FilesPool>(std::move(place), access);
}

void destroy(const std::string& path)
{
    const std::lock_guard lock(held_over_fork(ForkLock::pools));
    const auto header = read_header(path);
    if (!header) fail(DER_NONEXIST, "there is no pool at " + path + " to destroy");
    if (auto place = registry()[path].lock(); place && place.use_count() > 1)
        fail(DER_BUSY, "pool " + path + " is open in this process: close it first");
    registry().erase(path);
    const RootedPath directory = RootedPath::directory(path);
    if (!directory) fail_errno("pool " + path, "cannot open the directory");
    const RootedPath away = directory / text(header->uuid) / random_token();
    if (const int error = rename_file(directory / files_header, away); error != 0) {
        if (error == ENOENT) fail(DER_NONEXIST, "there is no pool at " + path + " to destroy");
        throw system_error(error, "pool " + path, "cannot destroy it" + owner_of(path));
    }
    const auto moved = read_file(away);
    if (moved && decode_header(*moved, path).uuid != header->uuid) {
        link_file(away, directory / files_header);
        fail(DER_NONEXIST, "pool " + path + " was destroyed by another process meanwhile, and made anew");
    }
    // What the pool's users keep as files beside its objects (the layout posix, profiles).
    (void)rename_file(directory / "files", directory / text(header->uuid) / "files");
    remove_all_of(path, header->uuid);
    ::rmdir(path.c_str()); // where nothing else lies in it
}

CheckReport check(const std::string& path, const CheckOptions& options)
{
    CheckReport report;
    try {
        const auto header = read_header(path);
        if (!header) fail(DER_NONEXIST, "there is no pool at " + path + " to check");
        check_files(Place(path, *header), options, report);
    } catch (const Error& refused) {
        if (!says_damage(refused) || refused.code() == -DER_NONEXIST) throw;
        report.findings.push_back({CheckFinding::Severity::damage, "pool " + path, refused.what(),
                                   "the rest could not be checked: put the named files back from a copy"});
    }
    return report;
}

} // namespace stepstore::store::files

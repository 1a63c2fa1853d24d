#include "store/check/check.h"

#include "store/failure.h"
#include "store/versioned.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace stepstore::store {

bool CheckReport::damaged() const
{
    return std::ranges::any_of(
        findings, [](const CheckFinding& one) { return one.severity == CheckFinding::Severity::damage; });
}

namespace {

// A snapshot that comes after them, and goes, takes their marks along. It harms no creator that is still at
// work: that one is refused, and marks anew.
void drop_unfinished_snapshots(const std::string& path, const std::set<std::uint32_t>& containers,
                               CheckReport& report)
{
    for (const std::uint32_t id : containers) {
        VersionedContainer container(VersionedPool::open(path, Access::read_write), id, "container");
        container.destroy_snapshot(container.create_snapshot(""));
        report.findings.push_back({CheckFinding::Severity::info,
                                   "pool " + path + ", container number " + std::to_string(id),
                                   "the marks of snapshots that were never finished were removed", ""});
    }
}

void drop_unfinished_containers(const std::string& path, const std::set<std::uint32_t>& numbers,
                                CheckReport& report)
{
    if (numbers.empty()) return;
    const auto core = PoolCore::acquire(path, Access::read_write);
    for (const std::uint32_t id : numbers) {
        if (!abandon_container(*core, id)) continue; // its maker was at work
        report.findings.push_back({CheckFinding::Severity::info,
                                   "pool " + path + ", container number " + std::to_string(id),
                                   "the marks of a container that was never finished were removed", ""});
    }
}

void finish_removals(const std::string& path, const std::set<std::pair<std::uint32_t, ObjectId>>& objects,
                     CheckReport& report)
{
    for (const auto& [id, oid] : objects) {
        VersionedContainer container(VersionedPool::open(path, Access::read_write), id, "container");
        try {
            if (!container.finish_removal(oid)) continue; // its process was at work
        } catch (const Error& refused) {                  // damage is found by itself
            if (!says_damage(refused)) throw;
            continue;
        }
        report.findings.push_back(
            {CheckFinding::Severity::info,
             "pool " + path + ", container number " + std::to_string(id) + ", object " + text(oid),
             "its removal, which was begun before, was finished", ""});
    }
}

void clear_left_over(const std::string& path,
                     const std::set<std::tuple<std::uint32_t, ObjectId, std::uint64_t>>& chunks,
                     CheckReport& report)
{
    for (const auto& [id, oid, chunk] : chunks) {
        VersionedContainer container(VersionedPool::open(path, Access::read_write), id, "container");
        container.clear_left_over(oid, chunk);
        report.findings.push_back(
            {CheckFinding::Severity::info,
             "pool " + path + ", container number " + std::to_string(id) + ", object " + text(oid),
             "extents of an array whose akey was punched were removed", ""});
    }
}

} // namespace

CheckReport VersionedPool::check(const std::string& path, const CheckOptions& options)
{
    CheckReport report;
    const Backend& backend = backend_of(path, " to check: 'stepstore pool list' shows the pools");
    if (options.repair) {
        // What destructions left is finished by opening for writing; a damaged pool may refuse that.
        try {
            const auto core = PoolCore::acquire(path, Access::read_write);
            finish_destructions(*core);
            settle_all(*core);
        } catch (const Error& refused) {
            if (!says_damage(refused)) throw;
        }
    }
    try {
        const auto storage = backend.open(path);
        if (options.repair) storage->claim();
        Check check(*storage, options, report);
        check.run();
        if (options.repair) {
            drop_unfinished_containers(path, check.unfinished_containers(), report);
            drop_unfinished_snapshots(path, check.unfinished_snapshots(), report);
            finish_removals(path, check.unfinished_removals(), report);
            clear_left_over(path, check.left_over(), report);
        }
    } catch (const Error& refused) {
        if (!says_damage(refused)) throw;
        report.findings.push_back({CheckFinding::Severity::damage, "pool " + path, refused.what(),
                                   "the rest could not be checked: put the named files back from a copy"});
    }
    return report;
}

void Check::run()
{
    try {
        check_meta();
    } catch (const Error& error) {
        if (!says_damage(error)) throw;
        find(Severity::damage, pool_ + ", metadata", error.what(),
             "the rest of the metadata could not be checked: put it back from a copy; the targets are "
             "checked below");
    }
    report_.containers = meta_.containers.size();
    for (unsigned index = 0; index < storage_.targets(); ++index) {
        try {
            check_target(index);
            if (options_.data) check_bulk_data(index);
        } catch (const Error& error) {
            if (!says_damage(error)) throw;
            find(Severity::damage, target_name(index), error.what(),
                 "the rest of this target could not be checked; the other targets are checked");
        }
    }
    report_.objects = objects_.size();
}

void Check::find(Severity severity, std::string where, std::string what, std::string advice)
{
    report_.findings.push_back({severity, std::move(where), std::move(what), std::move(advice)});
}

std::string Check::container_name(std::uint32_t id) const
{
    const auto found = meta_.containers.find(id);
    if (found == meta_.containers.end()) return "container number " + std::to_string(id);
    return "container " + (found->second.label.empty() ? text(found->second.uuid) : found->second.label);
}

std::string Check::record_name(unsigned index, Bytes key) const
{
    ParsedKey parsed;
    if (!parse_key(key, parsed)) return target_name(index) + ", record " + quoted(key);
    std::string name =
        target_name(index) + ", " + container_name(parsed.container) + ", object " + text(parsed.oid) + ", ";
    switch (parsed.kind) {
    case Kind::attributes: name += "array attributes"; break;
    case Kind::removal: name += "latest removal"; break;
    case Kind::keyvalue: {
        KeyBuffer stored;
        const bool history = parsed.space == Space::history && unescape(parsed.place, stored);
        name += "key " + quoted(history ? stored.view() : parsed.place);
        break;
    }
    case Kind::array:
        name += "chunk " + std::to_string(parsed.chunk) + ", extent that ends at byte " +
                std::to_string(parsed.end);
        break;
    }
    if (parsed.space == Space::history) name += ", version replaced at epoch " + std::to_string(parsed.death);
    return name;
}

bool Check::confirmed(FunctionRef<bool()> wrong)
{
    for (int look = 0; look < 3; ++look) {
        if (look != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (!wrong()) return false;
    }
    return true;
}

bool Check::container_known(std::uint32_t id)
{
    MetaView now;
    read_meta(now, false);
    return now.containers.contains(id) || now.destroying.contains(id);
}

} // namespace stepstore::store

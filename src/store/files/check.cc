#include "store/files/check.h"

#include "base/system_error.h"
#include "base/text.h"
#include "store/failure.h"
#include "store/files/container.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <set>
#include <sys/stat.h>

namespace stepstore::store::files {

namespace {

using Severity = CheckFinding::Severity;

// Bytes that a tree takes.
std::uint64_t taken_by(const RootedPath& tree)
{
    const Descriptor fd = open_file(tree, O_RDONLY);
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0) return 0;
    constexpr std::uint64_t block = 512;
    std::uint64_t bytes = static_cast<std::uint64_t>(status.st_blocks) * block;
    if (!S_ISDIR(status.st_mode)) return bytes;
    for_each_name(tree, [&](const char* name, NameKind kind) {
        if (kind == NameKind::file || kind == NameKind::directory) bytes += taken_by(tree / name);
    });
    return bytes;
}

// The names of the keys in a directory of keys, with the numbers of their versions.
struct KeyVersions {
    std::set<std::uint64_t> numbers;
    bool removed = false; // the greatest is a note
};
using KeysOfBucket = std::map<std::string, KeyVersions>;

// strange: called with each name that is no version.
KeysOfBucket keys_of_bucket(const RootedPath& bucket, FunctionRef<void(const char*)> strange)
{
    KeysOfBucket keys;
    for_each_name(bucket, [&](const char* file, NameKind kind) {
        std::string_view name;
        std::uint64_t number = 0;
        const bool good = (kind == NameKind::file || kind == NameKind::note) &&
                          parse_version(file, name, number) && bucket_of_name(name) == bucket.name();
        if (!good) return strange(file);
        KeyVersions& versions = keys[std::string(name)];
        if (versions.numbers.empty() || number > *versions.numbers.rbegin())
            versions.removed = kind == NameKind::note;
        versions.numbers.insert(number);
    });
    return keys;
}

void for_each_bucket(const RootedPath& keys, FunctionRef<void(const RootedPath& bucket)> each)
{
    std::vector<std::string> names;
    for_each_name(keys, [&](const char* name, NameKind kind) {
        if (kind == NameKind::directory) names.emplace_back(name);
    });
    std::ranges::sort(names);
    for (const std::string& name : names)
        each(keys / name);
}

class FilesCheck {
public:
    FilesCheck(const Place& place, const CheckOptions& options, CheckReport& report)
        : place_(place), options_(options), report_(report), pool_("pool " + place.path())
    {
    }

    void run()
    {
        keys(place_.root() / "names", pool_ + ", the names of containers");
        for_each_name(place_.root() / "containers", [&](const char* name, NameKind) {
            if (const auto uuid = parse_uuid(name)) container(*uuid);
        });
        for_each_name(place_.root() / "gone", [&](const char* name, NameKind) {
            reclaim(place_.root() / "gone" / name, pool_, "what was destroyed is not removed yet");
        });
        for_each_name(place_.root() / "temporary",
                      [&](const char* name, NameKind) { temporary(place_.root() / "temporary" / name); });
    }

private:
    void find(Severity severity, std::string where, std::string what, std::string advice = {})
    {
        report_.findings.push_back({severity, std::move(where), std::move(what), std::move(advice)});
    }

    // Space that nothing refers to.
    void reclaim(const RootedPath& tree, const std::string& where, const std::string& what)
    {
        const std::uint64_t bytes = taken_by(tree);
        report_.reclaimable_bytes += bytes;
        find(Severity::reclaimable, where, what + " (" + tree + ", " + std::to_string(bytes) + " bytes)",
             options_.repair ? "removed" : "a repair removes it");
        if (options_.repair && remove_tree(tree) == 0) report_.reclaimed_bytes += bytes;
    }

    void temporary(const RootedPath& directory)
    {
        const auto bytes = read_file(directory / owner_name);
        const auto owner = bytes ? decode_owner(*bytes) : std::nullopt;
        if (!owner) {
            if (options_.repair) remove(directory); // of a process that died, or begins now: if it is empty
            return;
        }
        switch (life_of(*owner)) {
        case Life::dead:
            return reclaim(directory, pool_, "temporary files of " + owner->text() + ", which is dead");
        case Life::alive: return find(Severity::info, pool_, owner->text() + " writes to the pool");
        case Life::elsewhere:
            return find(Severity::info, pool_,
                        "temporary files of " + owner->text() + ", which cannot be seen from here",
                        "if it has ended, check the pool on its host, or remove " + directory);
        }
    }

    void container(const Uuid& uuid)
    {
        const RootedPath directory = place_.container(uuid);
        const auto bytes = read_file(directory / "about");
        std::string name = "container " + text(uuid);
        try {
            if (!bytes && errno == ENOENT)
                return reclaim(directory, pool_ + ", " + name, "a container without its record");
            if (!bytes) fail_errno(directory / "about", "cannot read the file");
            const About about = decode_about(*bytes, pool_ + ", " + name);
            if (!about.label.empty()) name = "container " + about.label;
            Uuid named{};
            const Keys names(place_, place_.root() / "names", "the names of containers");
            if (!about.label.empty()) {
                const auto got = names.get(as_bytes(about.label), std::as_writable_bytes(std::span(named)));
                if (!got.there || named != uuid) {
                    return reclaim(directory, pool_ + ", " + name,
                                   "a container that was not finished, or was destroyed");
                }
            }
        } catch (const Error& error) {
            if (!says_damage(error)) throw;
            find(Severity::damage, pool_ + ", " + name, error.what(),
                 "put the file about of the container back from a copy");
        }
        ++report_.containers;
        keys(directory / "numbers", pool_ + ", " + name + ", the numbers of objects");
        objects(directory, pool_ + ", " + name);
    }

    void objects(const RootedPath& directory, const std::string& where)
    {
        std::set<std::string> used;
        for_each_bucket(directory / "objects", [&](const RootedPath& group) {
            for (const std::string& name : names_in(group)) {
                const auto oid = object_of_name(name);
                const auto note = read_note(group / name);
                const auto entry = note ? decode_entry(*note) : std::nullopt;
                if (!oid || !entry) {
                    if (!note && errno == ENOENT) continue; // removed meanwhile
                    find(Severity::damage, where + ", object " + name, "its entry is damaged",
                         "its data lie below " + (directory / "data"));
                    continue;
                }
                used.insert(entry->data);
                ++report_.objects;
                object(directory / "data" / entry->data, where + ", object " + name);
            }
        });
        for_each_bucket(directory / "data", [&](const RootedPath& host) {
            for (const std::string& name : names_in(host)) {
                if (used.contains(host.name() + "/" + name)) continue;
                if (made_meanwhile(directory, host.name() + "/" + name)) continue;
                reclaim(host / name, where, "data that no object has");
            }
        });
    }

    // Whether an object has these data that was made after the entries were read.
    static bool made_meanwhile(const RootedPath& directory, const std::string& data)
    {
        bool found = false;
        for_each_bucket(directory / "objects", [&](const RootedPath& group) {
            for (const std::string& name : names_in(group)) {
                const auto note = read_note(group / name);
                const auto entry = note ? decode_entry(*note) : std::nullopt;
                found = found || (entry && entry->data == data);
            }
        });
        return found;
    }

    void object(const RootedPath& data, const std::string& where)
    {
        const Descriptor fd = open_file(data, O_RDONLY);
        struct stat status {};
        if (!fd || fstat(fd.get(), &status) != 0) return; // nothing was written yet
        if (S_ISDIR(status.st_mode)) return keys(data, where);
        ++report_.records;
        report_.bytes += static_cast<std::uint64_t>(status.st_size);
    }

    void keys(const RootedPath& directory, const std::string& where)
    {
        for_each_bucket(directory, [&](const RootedPath& bucket) {
            const auto strange = [&](const char* name) {
                find(Severity::info, where, "a file that is no version of a key: " + (bucket / name),
                     "nothing reads it; remove it");
            };
            for (const auto& [name, versions] : keys_of_bucket(bucket, strange)) {
                if (versions.removed) continue;
                ++report_.records;
                if (options_.data) value(bucket, name, where);
            }
        });
    }

    // Reads the newest value of a key, which may be replaced meanwhile: damage has to be found twice.
    void value(const RootedPath& bucket, const std::string& name, const std::string& where)
    {
        std::uint64_t failed = 0;
        for (;;) {
            const KeysOfBucket now = keys_of_bucket(bucket, [](const char*) {});
            const auto found = now.find(name);
            if (found == now.end() || found->second.removed) return;
            const std::uint64_t newest = *found->second.numbers.rbegin();
            const RootedPath file = bucket / (name + "@" + std::to_string(newest));
            const auto bytes = read_file(file);
            const auto stored = bytes ? decode_value(*bytes) : std::nullopt;
            if (stored && name_of_key(stored->key) == name) {
                report_.bytes += stored->value.size();
                return;
            }
            if (failed == newest) {
                const auto key = key_of_name(name);
                return find(Severity::damage, where + (key ? ", key " + quoted(*key) : ""),
                            "the file of its value is damaged: " + file,
                            "put the file back from a copy, or put the value again");
            }
            failed = newest;
        }
    }

    const Place& place_;
    const CheckOptions& options_;
    CheckReport& report_;
    const std::string pool_;
};

void compact_keys(const RootedPath& directory)
{
    for_each_bucket(directory, [&](const RootedPath& bucket) {
        for (const auto& [name, versions] : keys_of_bucket(bucket, [](const char*) {})) {
            const std::uint64_t newest = *versions.numbers.rbegin();
            for (const std::uint64_t number : versions.numbers) { // ascending
                if (number == newest && !versions.removed) break;
                remove(bucket / (name + "@" + std::to_string(number)));
            }
        }
    });
}

} // namespace

void check_files(const Place& place, const CheckOptions& options, CheckReport& report)
{
    FilesCheck(place, options, report).run();
}

CompactedFiles compact_files(const Place& place)
{
    const std::string pool = "pool " + place.path();
    const ProcessIdentity mine = this_process();
    for_each_name(place.root() / "temporary", [&](const char* name, NameKind) {
        const auto bytes = read_file(place.root() / "temporary" / name / owner_name);
        const auto owner = bytes ? decode_owner(*bytes) : std::nullopt;
        if (!owner || *owner == mine || life_of(*owner) == Life::dead) return;
        fail(DER_BUSY,
             pool + ": " + owner->text() +
                 " writes to it, or has left temporary files: end it, and if it has ended, remove " +
                 (place.root() / "temporary" / name));
    });
    CompactedFiles done;
    done.before = taken_by(place.root());
    compact_keys(place.root() / "names");
    for_each_name(place.root() / "containers", [&](const char* name, NameKind) {
        const RootedPath container = place.root() / "containers" / name;
        compact_keys(container / "numbers");
        for_each_bucket(container / "data", [&](const RootedPath& host) {
            for (const std::string& data : names_in(host)) {
                const Descriptor directory = open_file(host / data, O_RDONLY | O_DIRECTORY);
                if (directory) compact_keys(host / data);
            }
        });
    });
    done.after = taken_by(place.root());
    return done;
}

} // namespace stepstore::store::files

#include "store/files/check.h"

#include "base/system_error.h"
#include "base/text.h"
#include "store/failure.h"
#include "store/files/compact.h"
#include "store/files/container.h"
#include "store/files/packed.h"
#include "store/files/walk.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>

namespace stepstore::store::files {

namespace {

using Severity = CheckFinding::Severity;

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
        marks();
    }

private:
    void find(Severity severity, std::string where, std::string what, std::string advice = {})
    {
        report_.findings.push_back({severity, std::move(where), std::move(what), std::move(advice)});
    }

    // Space that nothing refers to.
    void reclaim(const RootedPath& tree, const std::string& where, const std::string& what)
    {
        const std::uint64_t bytes = taken_by(tree).bytes;
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
                        "if it has ended, check the pool on its host; after a restart of that host, remove " +
                            directory);
        }
    }

    // Who compacts the pool, or did when it was killed.
    void marks()
    {
        for (const auto& one : place_.compacting()) {
            if (one.dead) {
                reclaim(one.mark, pool_, "the mark of a process that compacted the pool, and is dead");
                continue;
            }
            find(Severity::info, pool_, one.owner + " compacts the pool",
                 "if it has ended, remove " + one.mark + ": nothing is updated until then");
        }
    }

    void container(const Uuid& uuid)
    {
        const RootedPath directory = place_.container(uuid);
        std::string name = "container " + text(uuid);
        const auto bytes = read_file(directory / "about", [&](Bytes found) {
            return is_sound([&] { decode_about(found, pool_ + ", " + name); });
        });
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
                object(directory / "data" / entry->data, where + ", object " + name, entry->packed);
            }
        });
        for_each_bucket(directory / "data", [&](const RootedPath& host) {
            for (const std::string& name : names_in(host)) {
                if (used.contains(host.name() + "/" + name)) continue;
                // In this order: who compacts gives data their entry, and then removes the mark.
                if (place_.is_compacted() || made_meanwhile(directory, host.name() + "/" + name)) continue;
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

    void object(const RootedPath& data, const std::string& where, bool packed)
    {
        const Descriptor fd = open_file(data, O_RDONLY);
        struct stat status {};
        if (!fd || fstat(fd.get(), &status) != 0) return; // nothing was written yet
        if (S_ISDIR(status.st_mode)) {
            std::set<std::string> newer;
            keys(data, where, &newer);
            if (packed) packed_keys(data, where, newer);
            return;
        }
        ++report_.records;
        report_.bytes += static_cast<std::uint64_t>(status.st_size);
    }

    // found: takes the names that have versions.
    void keys(const RootedPath& directory, const std::string& where, std::set<std::string>* found = nullptr)
    {
        for_each_bucket(directory, [&](const RootedPath& bucket) {
            const auto strange = [&](const char* name) {
                find(Severity::info, where, "a file that is no version of a key: " + (bucket / name),
                     "nothing reads it; remove it");
            };
            for (const auto& [name, versions] : keys_of_bucket(bucket, strange)) {
                if (found != nullptr) found->insert(name);
                if (versions.removed) continue;
                ++report_.records;
                if (options_.data) value(bucket, name, where);
            }
        });
    }

    // The file never changes. So what is damaged in it is damaged, unless the object was removed or compacted
    // again, and all its data with it.
    void packed_keys(const RootedPath& directory, const std::string& where,
                     const std::set<std::string>& newer)
    {
        const std::string advice = "put the file back from a copy, or put the values again";
        try {
            const auto file = PackedFile::open(directory, where);
            if (!file && !exists(directory)) return;
            if (!file) {
                return find(Severity::damage, where,
                            "the file of its keys is missing: " + (directory / packed_name), advice);
            }
            for (unsigned bucket = 0; bucket < buckets; ++bucket) {
                for (const PackedKey& key : file->keys(bucket)) {
                    if (newer.contains(key.name)) continue;
                    ++report_.records;
                    if (!options_.data) continue;
                    const auto stored = file->read(key);
                    if (stored) {
                        report_.bytes += stored->value.size();
                        continue;
                    }
                    const auto shown = key_of_name(key.name);
                    find(Severity::damage, where + (shown ? ", key " + quoted(*shown) : ""),
                         "its value is damaged in the file " + (directory / packed_name), advice);
                }
            }
        } catch (const Error& error) {
            if (!says_damage(error)) throw;
            find(Severity::damage, where, error.what(), advice);
        }
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
            int error = 0;
            const auto stored = read_value(file, name, error);
            if (stored) {
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

} // namespace

void check_files(const Place& place, const CheckOptions& options, CheckReport& report)
{
    FilesCheck(place, options, report).run();
}

} // namespace stepstore::store::files

#include "store/files/compact.h"

#include "base/system_error.h"
#include "store/failure.h"
#include "store/files/objects.h"
#include "store/files/packed.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>

namespace stepstore::store::files {

namespace {

// Its name is never used again. So the mark of a dead process can be removed by all who see it.
class Mark : NotCopied {
public:
    explicit Mark(const Place& place) : place_(place), file_(place.root() / compacting_name / random_token())
    {
        const RootedPath draft = place.temporary();
        place.make(draft, {encode_owner(this_process())});
        int error = 0;
        do { // another one that ends may remove the directory
            error = make_directories(file_.parent());
            if (error == 0) error = link_file(draft, file_);
        } while (error == ENOENT && exists(draft));
        remove(draft);
        if (error != 0) throw system_error(error, file_, "cannot make the file");
        try {
            place.sync_names(file_.parent());
            refuse_others();
        } catch (...) {
            remove(file_);
            throw;
        }
    }
    ~Mark()
    {
        remove(file_);
        remove(file_.parent()); // if it is empty
    }

private:
    void refuse_others() const
    {
        for (const auto& other : place_.compacting()) {
            if (other.mark.name() == file_.name()) continue;
            if (other.dead) {
                remove(other.mark);
                continue;
            }
            fail(DER_BUSY, "pool " + place_.path() + " is being compacted by " + other.owner +
                               ": if that has ended, remove " + other.mark);
        }
        const RootedPath all = place_.root() / "temporary";
        const std::string mine = place_.temporary().parent().name();
        for_each_name(all, [&](const char* name, NameKind) {
            const auto bytes = read_file(all / name / owner_name);
            const auto owner = bytes ? decode_owner(*bytes) : std::nullopt;
            if (!owner || name == mine || life_of(*owner) == Life::dead) return;
            fail(DER_BUSY,
                 "pool " + place_.path() + ": " + owner->text() +
                     " writes to it, or has left temporary files: end it, and if it has ended, remove " +
                     (all / name));
        });
    }

    const Place& place_;
    const RootedPath file_;
};

// What a directory of keys has.
struct KeysFound {
    std::map<std::string, KeysOfBucket> buckets;
    std::uint64_t names = 0, keys = 0; // of versions; that are there
};

KeysFound find_keys(const RootedPath& directory)
{
    KeysFound found;
    for_each_bucket(directory, [&](const RootedPath& bucket) {
        KeysOfBucket& keys = found.buckets[bucket.name()] = keys_of_bucket(bucket, [](const char*) {});
        for (const auto& [name, versions] : keys) {
            found.names += versions.numbers.size();
            found.keys += versions.removed ? 0 : 1;
        }
    });
    return found;
}

void drop_old_names(const RootedPath& directory, const KeysFound& found)
{
    for (const auto& [bucket, keys] : found.buckets) {
        for (const auto& [name, versions] : keys) {
            const std::uint64_t newest = *versions.numbers.rbegin();
            for (const std::uint64_t number : versions.numbers) { // ascending
                if (number == newest && !versions.removed) break;
                remove(directory / bucket / (name + "@" + std::to_string(number)));
            }
        }
    }
}

void drop_old_names(const RootedPath& directory)
{
    drop_old_names(directory, find_keys(directory));
}

class Packing {
public:
    Packing(const Place& place, const RootedPath& container, const RootedPath& entry)
        : place_(place), container_(container), entry_(entry)
    {
    }

    void run()
    {
        const auto note = read_note(entry_);
        const auto entry = note ? decode_entry(*note) : std::nullopt;
        if (!entry || entry->attributes) return; // a check tells of a damaged one
        old_ = container_ / "data" / entry->data;
        if (!open_file(old_, O_RDONLY | O_DIRECTORY)) return; // an array, or an object without data
        const KeysFound found = find_keys(old_);
        auto before = entry->packed ? PackedFile::open(old_, what()) : std::nullopt;
        if (entry->packed && !before)
            fail_damaged(what() + ": the file " + (old_ / packed_name) + " is missing");
        if (before && found.names == 0) return;
        if (!before && found.keys < 2) return drop_old_names(old_, found);
        const RootedPath made = place_.temporary();
        if (const int error = make_directory(made); error != 0)
            throw system_error(error, made, "cannot make the directory");
        try {
            write(made, found, before);
        } catch (...) {
            remove_tree(made);
            throw;
        }
        place_.sync_names(made);
        publish(made);
    }

private:
    std::string what() const { return "pool " + place_.path() + ", object " + entry_.name(); }

    void write(const RootedPath& made, const KeysFound& found, const std::optional<PackedFile>& before) const
    {
        PackedWriter writer(made);
        for (const auto& [bucket, keys] : found.buckets) {
            for (const auto& [name, versions] : keys) {
                if (versions.removed) continue;
                const RootedPath file =
                    old_ / bucket / (name + "@" + std::to_string(*versions.numbers.rbegin()));
                std::optional<StoredValue> stored;
                const auto bytes =
                    read_file(file, [&](Bytes found) { return holds_value(found, name, stored); });
                if (!bytes) fail_errno(file, "cannot read the value" + owner_of(file));
                if (!stored) fail_damaged(what() + ": the file " + file + " of a value is damaged");
                writer.add(name, *bytes);
            }
        }
        for (unsigned bucket = 0; before && bucket < buckets; ++bucket) {
            for (const PackedKey& key : before->keys(bucket)) {
                const auto newer = found.buckets.find(bucket_of_name(key.name));
                if (newer != found.buckets.end() && newer->second.contains(key.name)) continue;
                const auto record = before->record(key);
                if (!record)
                    fail_damaged(what() + ": a value in the file " + (old_ / packed_name) + " is damaged");
                writer.add(key.name, *record);
            }
        }
        writer.finish(place_);
    }

    void publish(const RootedPath& made) const
    {
        const ObjectEntry entry{place_.host() + "/" + random_token(), std::nullopt, true};
        const RootedPath data = container_ / "data" / entry.data;
        if (const int error = make_directories(data.parent()); error != 0)
            throw system_error(error, data.parent(), "cannot make the directory");
        if (const int error = rename_file(made, data); error != 0)
            throw system_error(error, data, "cannot move the packed keys there");
        place_.sync_names(data.parent());
        const RootedPath draft = place_.temporary();
        if (const int error = make_note(draft, encode_entry(entry)); error != 0)
            throw system_error(error, draft, "cannot make the entry of an object");
        if (const int error = rename_file(draft, entry_); error != 0)
            throw system_error(error, entry_, "cannot replace the entry of an object");
        place_.sync_names(entry_.parent());
        place_.remove_at_once(old_);
    }

    const Place& place_;
    const RootedPath& container_;
    const RootedPath entry_;
    RootedPath old_; // data
};

} // namespace

Usage usage_of(const Place& place)
{
    Usage usage{taken_by(place.root()), {}};
    for_each_bucket(place.root() / "containers", [&](const RootedPath& container) {
        for_each_bucket(container / "data", [&](const RootedPath& host) {
            for_each_name(host, [&](const char* name, NameKind kind) {
                if (kind == NameKind::file) usage.arrays += taken_by(host / name);
            });
        });
    });
    usage.keys.bytes -= std::min(usage.keys.bytes, usage.arrays.bytes);
    usage.keys.files -= std::min(usage.keys.files, usage.arrays.files);
    const RootedPath directory = RootedPath::directory(place.path());
    if (directory) usage.arrays += taken_by(directory / "files"); // of the layout posix
    return usage;
}

void compact_files(const Place& place)
{
    const Place::InUse in_use(place, Place::Use::compact);
    const Mark mark(place);
    drop_old_names(place.root() / "names");
    for_each_bucket(place.root() / "containers", [&](const RootedPath& container) {
        drop_old_names(container / "numbers");
        for_each_bucket(container / "objects", [&](const RootedPath& group) {
            for (const std::string& name : names_in(group))
                if (object_of_name(name)) Packing(place, container, group / name).run();
        });
    });
}

} // namespace stepstore::store::files

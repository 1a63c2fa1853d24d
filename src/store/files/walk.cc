#include "store/files/walk.h"

#include "base/files.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <vector>

namespace stepstore::store::files {

Taken taken_by(const RootedPath& tree)
{
    const Descriptor fd = open_file(tree, O_RDONLY);
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0) return {};
    constexpr std::uint64_t block = 512;
    Taken taken{static_cast<std::uint64_t>(status.st_blocks) * block, 1};
    if (!S_ISDIR(status.st_mode)) return taken;
    for_each_name(tree, [&](const char* name, NameKind kind) {
        if (kind == NameKind::file || kind == NameKind::directory)
            taken += taken_by(tree / name);
        else
            taken += {0, 1};
    });
    return taken;
}

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

} // namespace stepstore::store::files

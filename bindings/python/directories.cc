// Listing directories of file systems in containers for Python, with entries that are damaged.
#include "files.h"

#include <cstring>
#include <daos_api.h>

namespace stepstore::python {

namespace {

std::int64_t nanoseconds_of(const timespec& time)
{
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

struct Listed {
    std::string name;
    struct stat status {};
    Outcome failed; // of a damaged one; without a name if that is what is wrong
};

constexpr std::uint32_t page = 256;

// One entry at a time, of a page that has a damaged one.
Outcome list_singly(dfs_t* fs, dfs_obj_t* directory, daos_anchor_t& anchor, std::uint32_t count,
                    std::vector<Listed>& found)
{
    for (std::uint32_t i = 0; i < count && !daos_anchor_is_eof(&anchor); ++i) {
        const daos_anchor_t before = anchor;
        dirent entry{};
        std::uint32_t one = 1;
        Listed& next = found.emplace_back();
        next.failed = outcome_of(dfs_readdir(fs, directory, &anchor, &one, &entry));
        if (next.failed.number != 0) {
            if (std::memcmp(&before, &anchor, sizeof anchor) != 0) continue; // a name that is none
            const Outcome failed = std::move(next.failed);
            found.pop_back();
            return failed;
        }
        if (one == 0) {
            found.pop_back();
            continue;
        }
        next.name = entry.d_name;
        next.failed = outcome_of(dfs_stat(fs, directory, entry.d_name, &next.status));
        if (next.failed.number == ENOENT) found.pop_back(); // removed meanwhile
    }
    return {};
}

Outcome list(dfs_t* fs, const std::string& path, std::vector<Listed>& found)
{
    const Opened directory(fs, path, O_RDONLY);
    if (directory.failed() != 0) return outcome_of(directory.failed());
    std::vector<dirent> entries(page);
    std::vector<struct stat> statuses(page);
    daos_anchor_t anchor{};
    while (!daos_anchor_is_eof(&anchor)) {
        const daos_anchor_t before = anchor;
        std::uint32_t count = page;
        const int number =
            dfs_readdirplus(fs, directory.get(), &anchor, &count, entries.data(), statuses.data());
        if (number == EIO) {
            anchor = before;
            if (Outcome failed = list_singly(fs, directory.get(), anchor, page, found); failed.number != 0)
                return failed;
        } else if (number != 0) {
            return outcome_of(number);
        } else {
            for (std::uint32_t i = 0; i < count; ++i)
                found.push_back({entries[i].d_name, statuses[i], {}});
        }
    }
    return {};
}

} // namespace

nb::tuple to_tuple(const struct stat& status)
{
    return nb::make_tuple(status.st_mode, status.st_size, nanoseconds_of(status.st_mtim),
                          nanoseconds_of(status.st_ctim), status.st_uid, status.st_gid);
}

// (name, status or None, what is wrong or None)
nb::list list_directory(FileSystemHandle& self, const nb::bytes& path)
{
    std::vector<Listed> found;
    run(self, key_of(path), [&, at = key_of(path)](dfs_t* fs) { return list(fs, at, found); });
    nb::list told;
    for (const Listed& one : found) {
        const bool fine = one.failed.number == 0;
        told.append(nb::make_tuple(to_bytes(one.name), fine ? nb::object(to_tuple(one.status)) : nb::none(),
                                   fine ? nb::none() : to_text(one.failed.text)));
    }
    return told;
}

} // namespace stepstore::python

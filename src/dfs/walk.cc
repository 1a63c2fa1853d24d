#include "dfs/walk.h"

namespace stepstore::dfs {
namespace {

constexpr unsigned most_links = 40;

class Walk {
public:
    Walk(::dfs& fs, std::shared_ptr<const Level> from, std::string_view path, bool follow)
        : fs_(fs), here_(std::move(from)), rest_(path), follow_(follow)
    {
        if (is_absolute()) here_ = fs_.root.at;
    }

    Found run()
    {
        for (std::string part = next(); !part.empty(); part = next()) {
            if (part == ".") continue;
            if (part == "..")
                go_up();
            else
                go_down(std::move(part));
        }
        if (entry_) return {here_, std::move(*entry_)};
        return {here_, entry_of_here()};
    }

private:
    bool is_absolute() const { return rest_.starts_with('/'); }

    std::string next()
    {
        const auto begin = std::min(rest_.find_first_not_of('/'), rest_.size());
        const auto end = std::min(rest_.find('/', begin), rest_.size());
        std::string part = rest_.substr(begin, end - begin);
        rest_.erase(0, end);
        return part;
    }
    bool is_last() const { return rest_.find_first_not_of('/') == std::string::npos; }

    void require_directory() const
    {
        if (entry_ && !entry_->inode.is_directory()) fail(ENOTDIR, quoted(here_->name) + " is no directory");
    }

    void go_up()
    {
        require_directory();
        entry_.reset();
        if (!here_->up) {
            if (same(here_->oid, fs_.root.oid())) fail(ENOENT, "the path leaves the file system by '..'");
            fail(ENOTSUP,
                 "the path goes above the directory of a handle from another process: look it up from "
                 "the root");
        }
        here_ = here_->up;
    }

    void go_down(std::string part)
    {
        require_directory();
        if (part.size() > DFS_MAX_NAME) fail(ENAMETOOLONG, quoted(part) + " is longer than 255 bytes");
        const Handle directory = Handle::object(fs_.container, here_->oid, DAOS_OO_RO);
        auto entry = fetch(fs_.th, {directory.get(), part}, With::link);
        if (!entry) fail(ENOENT, "there is no entry " + quoted(part));
        if (entry->inode.is_link() && (follow_ || !is_last())) {
            if (++links_ > most_links)
                fail(ELOOP,
                     "more than " + std::to_string(most_links) + " symbolic links up to " + quoted(part));
            rest_ = entry->link + '/' + rest_;
            entry_.reset();
            if (is_absolute()) here_ = fs_.root.at;
            return;
        }
        here_ = level(entry->inode.oid, std::move(part), here_);
        entry_ = std::move(entry);
    }

    // Of a directory that the path has reached by its end, a "." or a "..".
    Entry entry_of_here() const
    {
        if (same(here_->oid, fs_.root.oid())) {
            auto root = fetch(fs_.th, {fs_.superblock.get(), root_name});
            if (!root) fail(EIO, "the superblock is damaged: it has no entry of the root");
            return std::move(*root);
        }
        if (here_->name.empty() || !here_->up)
            fail(ENOTSUP,
                 "the path ends above the directory of a handle from another process: look it up from "
                 "the root");
        const Handle directory = Handle::object(fs_.container, here_->up->oid, DAOS_OO_RO);
        auto entry = fetch(fs_.th, {directory.get(), here_->name});
        if (!entry || !same(entry->inode.oid, here_->oid))
            fail(ENOENT, "the directory " + quoted(here_->name) + " has been removed or renamed");
        return std::move(*entry);
    }

    ::dfs& fs_;
    std::shared_ptr<const Level> here_;
    std::string rest_;
    bool follow_;
    unsigned links_ = 0;
    std::optional<Entry> entry_; // of here_, if it was looked up
};

} // namespace

Found walk(::dfs& fs, const std::shared_ptr<const Level>& from, std::string_view path, bool follow)
{
    return Walk(fs, from, path, follow).run();
}

Found find(::dfs& fs, dfs_obj& parent, const char* name, bool follow)
{
    if (!name) {
        if (&parent != &fs.root && !same(parent.oid(), fs.root.oid()))
            fail(EINVAL, "without a name the call is for the root, and the parent is another directory");
        return walk(fs, fs.root.at, "", false);
    }
    std::string given = name_of(name);
    auto entry = fetch(fs.th, {parent.handle.get(), given}, With::link);
    if (!entry) fail(ENOENT, "there is no entry " + quoted(given));
    if (follow && entry->inode.is_link()) return walk(fs, parent.at, given, true);
    return {level(entry->inode.oid, std::move(given), parent.at), std::move(*entry)};
}

} // namespace stepstore::dfs

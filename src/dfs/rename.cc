#include "dfs/rename.h"

#include "dfs/settle.h"

namespace stepstore::dfs {
namespace {

constexpr int most_tries = 1000;

bool same_spot(const Spot& a, const Spot& b)
{
    return same(a.directory->oid, b.directory->oid) && a.name == b.name;
}

bool is_empty(const ::dfs& fs, const Inode& directory)
{
    const Handle handle = Handle::object(fs.container, directory.oid, DAOS_OO_RO);
    return !has_entries(DAOS_TX_NONE, handle.get());
}

// The data of an object without a name.
void remove_object(const ::dfs& fs, const Inode& inode)
{
    if (inode.is_link()) return; // its object was never written
    const Handle handle = Handle::object(fs.container, inode.oid, DAOS_OO_RW);
    require_done(daos_obj_punch(handle.get(), DAOS_TX_NONE, 0, nullptr), "removing the data of an object");
}

// above: the directories that it is in; an entry that shows one of them again is damaged.
void remove_contents(const ::dfs& fs, const std::shared_ptr<const Level>& of)
{
    for (const Level* above = of->up.get(); above; above = above->up.get())
        if (same(above->oid, of->oid)) fail(EIO, "the directory " + quoted(of->name) + " is within itself");
    const Handle handle = Handle::object(fs.container, of->oid, DAOS_OO_RW);
    daos_anchor_t anchor{};
    while (!daos_anchor_is_eof(&anchor))
        for (std::string& name : next_keys(DAOS_TX_NONE, handle.get(), nullptr, 64, anchor)) {
            try {
                remove(fs, Spot{of, handle.get(), std::move(name)}, true);
            } catch (const Failure& failure) {
                if (failure.number != ENOENT) throw; // another process was first
            }
        }
}

void require_fits(const ::dfs& fs, const Inode& from, const Inode& to, const std::string& name)
{
    if (to.is_directory() && !from.is_directory()) fail(EISDIR, quoted(name) + " is a directory");
    if (!to.is_directory() && from.is_directory()) fail(ENOTDIR, quoted(name) + " is no directory");
    if (to.is_directory() && !is_empty(fs, to))
        fail(ENOTEMPTY, "the directory " + quoted(name) + " has entries");
}

Mark mark_of(const Spot& spot, Mark::Role role)
{
    return {role, spot.directory->oid, spot.name};
}

std::vector<Attribute> attributes_of(const Spot& spot)
{
    return attributes(DAOS_TX_NONE, spot.place());
}

// Somebody has removed the source of our rename, whose target still has our mark.
void put_back(const Spot& to, const Inode& ours, const std::optional<Entry>& old,
              std::span<const Attribute> own, std::span<const Attribute> attributes_of_old)
{
    const auto now_there = fetch(DAOS_TX_NONE, to.place(), With::mark);
    if (!now_there || !same(now_there->inode.oid, ours.oid)) return;
    if (!old) {
        remove(to.place());
        return;
    }
    put(to.place(), *old, attributes_of_old, &*now_there, own);
    clear_mark(to.place());
}

// Whether another process has finished our rename.
bool was_helped(const Spot& to, const Mark& mark)
{
    const auto target = fetch(DAOS_TX_NONE, to.place(), With::mark);
    return !target || target->mark != mark;
}

} // namespace

void require_not_within(const Inode& moved, const Level& directory, const std::string& name)
{
    if (!moved.is_directory()) return;
    for (const Level* above = &directory; above; above = above->up.get())
        if (same(above->oid, moved.oid))
            fail(EINVAL, "the directory " + quoted(name) + " cannot become an entry of itself");
}

daos_obj_id_t remove(const ::dfs& fs, const Spot& spot, bool force)
{
    Entry entry;
    try {
        entry = settled(fs, spot);
    } catch (const Failure& failure) {
        if (failure.number != EIO || !force) throw;
        if (!remove(spot.place())) fail(ENOENT, "there is no entry " + quoted(spot.name));
        return {};
    }
    const bool is_directory = entry.inode.is_directory();
    if (is_directory && !is_empty(fs, entry.inode)) {
        if (!force) fail(ENOTEMPTY, "the directory " + quoted(spot.name) + " has entries");
        remove_contents(fs, level(entry.inode.oid, spot.name, spot.directory));
    }
    const auto kept = is_directory ? attributes_of(spot) : std::vector<Attribute>();
    if (!remove(spot.place())) fail(ENOENT, "there is no entry " + quoted(spot.name));
    if (is_directory && !is_empty(fs, entry.inode)) {
        put(spot.place(), entry, kept, nullptr, {});
        fail(ENOTEMPTY, "another process makes entries in the directory " + quoted(spot.name));
    }
    remove_object(fs, entry.inode);
    return entry.inode.oid;
}

daos_obj_id_t move(const ::dfs& fs, const Spot& from, const Spot& to, bool may_replace)
{
    for (int tries = 0; tries < most_tries; ++tries) {
        Entry entry = settled(fs, from);
        if (same_spot(from, to) && may_replace) return {};
        require_not_within(entry.inode, *to.directory, from.name);
        auto old = fetch(DAOS_TX_NONE, to.place(), With::all);
        if (old && old->mark) {
            settled(fs, to);
            continue;
        }
        if (old && !may_replace) fail(EEXIST, "the name " + quoted(to.name) + " is taken");
        if (old &&
            same(old->inode.oid, entry.inode.oid)) { // of a program that died in a rename without marks
            if (!remove(from.place())) fail(ENOENT, "there is no entry " + quoted(from.name));
            return {};
        }
        if (old) require_fits(fs, entry.inode, old->inode, to.name);

        if (!set_mark(from.place(), mark_of(to, Mark::Role::source))) continue;
        std::vector<Attribute> own, of_old;
        bool written = false;
        entry.mark = mark_of(from, Mark::Role::target);
        entry.inode.changed = now();
        try {
            own = attributes_of(from);
            if (old) of_old = attributes_of(to);
            written = put(to.place(), entry, own, old ? &*old : nullptr, of_old);
        } catch (...) {
            clear_mark(from.place());
            throw;
        }
        if (!written) { // made or removed meanwhile
            clear_mark(from.place());
            continue;
        }
        if (!remove(from.place()) && !was_helped(to, *entry.mark)) {
            put_back(to, entry.inode, old, own, of_old);
            fail(ENOENT, "there is no entry " + quoted(from.name) + " any more: another process removed it");
        }
        clear_mark(to.place());
        if (!old) return {};
        remove_object(fs, old->inode);
        return old->inode.oid;
    }
    fail(EAGAIN, "other processes change " + quoted(to.name) + " again and again: try later");
}

} // namespace stepstore::dfs

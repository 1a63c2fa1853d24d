// Exchanging two entries (rename.h).
#include "dfs/rename.h"

#include "dfs/settle.h"

#include <cstdio>

namespace stepstore::dfs {
namespace {

// No caller's name has it by chance: the number is of no other object.
std::string spare_name(daos_obj_id_t oid)
{
    char name[64];
    std::snprintf(name, sizeof name, ".exchange-%016llx%016llx", static_cast<unsigned long long>(oid.hi),
                  static_cast<unsigned long long>(oid.lo));
    return name;
}

Entry settled_for_exchange(const ::dfs& fs, const Spot& spot)
{
    try {
        return settled(fs, spot);
    } catch (const Failure& failure) {
        if (failure.number == ENOENT) fail(EINVAL, "there is no entry " + quoted(spot.name) + " to exchange");
        throw;
    }
}

// What moves by an exchange.
struct Moved {
    Entry entry;
    std::vector<Attribute> attributes;
};

Moved moved(const Place& place, Entry entry)
{
    entry.inode.changed = now();
    return {std::move(entry), attributes(DAOS_TX_NONE, place)};
}

// Of an entry that was removed meanwhile: what was to go there is not to be lost.
void put_new(const Place& place, Moved& what)
{
    what.entry.mark.reset();
    put(place, what.entry, what.attributes, nullptr, {});
}

void put_over(const Place& place, Moved& what, const std::optional<Mark>& mark, const Moved& old)
{
    what.entry.mark = mark;
    if (!put(place, what.entry, what.attributes, &old.entry, old.attributes)) put_new(place, what);
}

} // namespace

void settle_exchange(const ::dfs& fs, const Spot& one, const Entry& entry)
{
    const Place spare{one.handle, entry.mark->name};
    auto kept = fetch(DAOS_TX_NONE, spare, With::all);
    if (!kept || !kept->mark || kept->mark->role != Mark::Role::spare) {
        wait_or_clear(one, *entry.mark);
        return;
    }
    const Handle directory = Handle::object(fs.container, kept->mark->directory, DAOS_OO_RW);
    const std::string other_name = kept->mark->name;
    const Place other{directory.get(), other_name};
    if (!same(kept->inode.oid, entry.inode.oid)) { // the first one is done
        const auto there = fetch(DAOS_TX_NONE, other, With::all);
        const bool is_partner = there && there->mark && there->mark->role == Mark::Role::partner;
        if (there && !is_partner) { // something else by now: the spare name is the file's own
            clear_mark(spare);
            clear_mark(one.place());
            return;
        }
        Moved first = moved(spare, *kept);
        if (!there)
            put_new(other, first);
        else if (!same(there->inode.oid, first.entry.inode.oid))
            put_over(other, first, there->mark, moved(other, *there));
    }
    remove(spare);
    clear_mark(other);
    clear_mark(one.place());
}

void exchange(const ::dfs& fs, const Spot& one, const Spot& other, daos_obj_id_t number)
{
    if (same(one.directory->oid, other.directory->oid) && one.name == other.name) {
        settled_for_exchange(fs, one);
        return;
    }
    Moved first = moved(one.place(), settled_for_exchange(fs, one));
    Moved second = moved(other.place(), settled_for_exchange(fs, other));
    require_not_within(first.entry.inode, *other.directory, one.name);
    require_not_within(second.entry.inode, *one.directory, other.name);
    const std::string name = spare_name(number);
    const Place spare{one.handle, name};
    const Mark mark_of_one{Mark::Role::exchange, one.directory->oid, name};
    const Mark mark_of_other{Mark::Role::partner, one.directory->oid, one.name};
    const Mark mark_of_spare{Mark::Role::spare, other.directory->oid, other.name};
    if (!set_mark(other.place(), mark_of_other))
        fail(EAGAIN, "another process renames " + quoted(other.name));
    try {
        if (!set_mark(one.place(), mark_of_one)) fail(EAGAIN, "another process renames " + quoted(one.name));
    } catch (...) {
        clear_mark(other.place());
        throw;
    }
    Moved kept = first;
    kept.entry.mark = mark_of_spare;
    if (!put(spare, kept.entry, kept.attributes, nullptr, {}))
        fail(EIO, "the name " + quoted(name) + ", which an exchange needs, is taken");
    put_over(one.place(), second, mark_of_one, first);
    put_over(other.place(), first, mark_of_other, second);
    remove(spare);
    clear_mark(other.place());
    clear_mark(one.place());
}

} // namespace stepstore::dfs

// Finishing renames and exchanges that another process has begun (rename.h).
#include "dfs/settle.h"

#include <thread>

namespace stepstore::dfs {
namespace {

using namespace std::chrono_literals;
constexpr auto patience = 100ms;
constexpr auto pause = 1ms;
constexpr int most_rounds = 1000; // of others that rename it again and again

struct Other {
    Handle directory;
    std::optional<Entry> entry;
};

// What the mark of an entry tells of.
Other other_of(const ::dfs& fs, const Mark& mark)
{
    Other other{Handle::object(fs.container, mark.directory, DAOS_OO_RW), {}};
    other.entry = fetch(DAOS_TX_NONE, {other.directory.get(), mark.name}, With::mark);
    return other;
}

// Steps 3 and 4 of a rename.
void finish(const Place& source, const Place& target, Mark mark_of_target)
{
    mark_of_target.role = Mark::Role::helped;
    if (!change_mark(target, mark_of_target)) return; // finished meanwhile
    remove(source);
    clear_mark(target);
}

void settle_source(const ::dfs& fs, const Spot& spot, const Entry& entry)
{
    const Other target = other_of(fs, *entry.mark);
    if (target.entry && same(target.entry->inode.oid, entry.inode.oid) && target.entry->mark)
        finish(spot.place(), {target.directory.get(), entry.mark->name}, *target.entry->mark);
    else if (target.entry && same(target.entry->inode.oid, entry.inode.oid))
        remove(spot.place()); // its mark is cleared already
    else
        wait_or_clear(spot, *entry.mark);
}

void settle_target(const ::dfs& fs, const Spot& spot, const Entry& entry)
{
    const Other source = other_of(fs, *entry.mark);
    if (source.entry && same(source.entry->inode.oid, entry.inode.oid))
        finish({source.directory.get(), entry.mark->name}, spot.place(), *entry.mark);
    else
        clear_mark(spot.place());
}

// Of the other one: the first one knows how far it is.
void settle_partner(const ::dfs& fs, const Spot& spot, const Mark& mark)
{
    const Other one = other_of(fs, mark);
    if (!one.entry || !one.entry->mark || one.entry->mark->role != Mark::Role::exchange)
        wait_or_clear(spot, mark);
    else
        settle_exchange(fs, {level(mark.directory, "", nullptr), one.directory.get(), mark.name}, *one.entry);
}

// Of the spare one: by the way of the partner. What nobody knows of any more is a name like others.
void settle_spare(const ::dfs& fs, const Spot& spot, const Mark& mark)
{
    const Other partner = other_of(fs, mark);
    if (partner.entry && partner.entry->mark && partner.entry->mark->role == Mark::Role::partner)
        settle_partner(fs, {level(mark.directory, "", nullptr), partner.directory.get(), mark.name},
                       *partner.entry->mark);
    else
        wait_or_clear(spot, mark);
}

} // namespace

void wait_or_clear(const Spot& spot, const Mark& mark)
{
    const auto end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(pause);
        const auto again = fetch(DAOS_TX_NONE, spot.place(), With::mark);
        if (!again || again->mark != mark) return;
    }
    clear_mark(spot.place());
}

Entry settled(const ::dfs& fs, const Spot& spot)
{
    for (int round = 0; round < most_rounds; ++round) {
        auto entry = fetch(DAOS_TX_NONE, spot.place(), With::all);
        if (!entry) fail(ENOENT, "there is no entry " + quoted(spot.name));
        if (!entry->mark) return std::move(*entry);
        switch (entry->mark->role) {
        case Mark::Role::source: settle_source(fs, spot, *entry); break;
        case Mark::Role::target:
        case Mark::Role::helped: settle_target(fs, spot, *entry); break;
        case Mark::Role::exchange: settle_exchange(fs, spot, *entry); break;
        case Mark::Role::partner: settle_partner(fs, spot, *entry->mark); break;
        case Mark::Role::spare: settle_spare(fs, spot, *entry->mark); break;
        }
    }
    fail(EAGAIN, "other processes rename " + quoted(spot.name) + " again and again: try later");
}

} // namespace stepstore::dfs

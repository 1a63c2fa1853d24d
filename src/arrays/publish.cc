// The publication of what a plan has stored.
#include "arrays/plan.h"

#include "client/in_doubt.h"

#include <daos_errno.h>

namespace stepstore::arrays {

namespace {

constexpr std::size_t tables_merged = 32;      // of one level make one of the next
constexpr std::size_t longest_in_place = 4096; // bytes of a table in the header
constexpr std::size_t most_in_place = 32768;   // of all of them

void drop_table(Header& header, const TableRef& table)
{
    if (table.in_place.empty()) header.dropped_tables.push_back(table.number);
}

void add_table(Header& header, Head& head, std::uint32_t level, std::span<const StoredBlock> blocks)
{
    TableRef ref;
    ref.number = header.next_table;
    ref.level = level;
    ref.blocks = blocks.size();
    std::vector<std::byte> table = encode_table(blocks, header.dimensions);
    std::size_t in_place = table.size();
    for (const TableRef& one : header.tables)
        in_place += one.in_place.size();
    if (table.size() <= longest_in_place && in_place <= most_in_place)
        ref.in_place = std::move(table);
    else
        ref.number = head.put_table(ref.number, table);
    header.next_table = ref.number + 1;
    header.tables.push_back(std::move(ref));
}

// So that an array of many appends has few tables: as in a number, where ten ones make a ten.
void merge_tables(Header& header, Head& head)
{
    while (true) {
        std::size_t last = 0; // tables of the last one's level
        while (last < header.tables.size() &&
               header.tables[header.tables.size() - 1 - last].level == header.tables.back().level)
            ++last;
        if (last < tables_merged) return;
        Header tail = header;
        tail.tables.assign(header.tables.end() - static_cast<std::ptrdiff_t>(last), header.tables.end());
        const auto bytes = head.tables(tail);
        if (!bytes)
            throw Error(-DER_DATA_LOSS,
                        "a table of blocks of " + head.where() + " is missing: write it again");
        const std::vector<StoredBlock> blocks = head.decode_tables(tail, *bytes);
        for (const TableRef& one : tail.tables)
            drop_table(header, one);
        header.tables.resize(header.tables.size() - last);
        add_table(header, head, tail.tables.back().level + 1, blocks);
    }
}

Header new_header(const Plan& plan, const std::optional<Header>& there, Order order)
{
    Header header;
    header.name = plan.head->name();
    header.generation = plan.fresh.first;
    header.type = plan.wish.type;
    header.order = order;
    header.dimensions = plan.wish.dimensions;
    header.shape = plan.wish.shape;
    header.grows_along = plan.wish.along;
    header.layout = plan.layout;
    header.objects = {plan.fresh};
    if (there) {
        header.next_table = there->next_table;
        header.dropped_objects = there->objects;
        header.dropped_class = there->layout.object_class;
        for (const TableRef& one : there->tables)
            drop_table(header, one);
    }
    return header;
}

Header grown_header(const Plan& plan, const std::optional<Header>& there)
{
    const bool same = plan.before ? there && !there->removed && there->version == plan.before->version
                                  : !there || there->removed;
    if (!same)
        throw Error(-DER_STALE, "another program changed " + plan.head->where() +
                                    " meanwhile: nothing was appended; append again");
    Header header = *there;
    header.shape[*plan.wish.along] += plan.wish.shape[*plan.wish.along];
    header.grows_along = plan.wish.along;
    if (plan.fresh.count > 0) add_objects(header.objects, plan.fresh);
    header.dropped_objects.clear();
    header.dropped_class.clear();
    header.dropped_tables.clear();
    return header;
}

// What this session left in doubt is not published any more when a later version is.
void settle(Store::Session& session, Head& head, const Header& header)
{
    const auto found = session.in_doubt.find(head.name());
    if (found == session.in_doubt.end()) return;
    while (!found->second.empty()) {
        const InDoubt& one = found->second.back();
        head.settle(*session.container, header, one.objects, one.object_class);
        found->second.pop_back();
    }
    session.in_doubt.erase(found);
}

} // namespace

void publish(Store::Session& session, Plan& plan)
{
    Head& head = *plan.head;
    Head::Attributes left;
    Header fresh;
    bool put = false; // the header is on its way
    try {
        fresh = head.publish([&](const std::optional<Header>& there) {
            put = false;
            left.clear();
            if (!there || there->removed) session.enter(head.name());
            if (there && there->removed) left = head.stored_attributes(); // by one that died as it removed it
            Header header;
            if (plan.before || (plan.wish.along && there && !there->removed)) {
                header = grown_header(plan, there);
                add_table(header, head, 0, plan.blocks);
                merge_tables(header, head);
            } else {
                header = new_header(plan, there, session.options.order);
                add_table(header, head, 0, plan.blocks);
            }
            put = true;
            return header;
        });
    } catch (const Error& error) {
        plan.in_doubt = put && is_in_doubt(error);
        throw;
    }
    plan.published = true;
    if (plan.wish.along && plan.wish.placement == Placement::one_object)
        session.append_places[head.name()] = {fresh.generation, plan.object, plan.end};
    else
        session.append_places.erase(head.name());
    try {
        head.remove_attributes(left);
        if (plan.fresh.count > 0) head.unpublished().remove(plan.fresh.first);
        head.destroy_dropped(*session.container, fresh);
        settle(session, head, fresh);
    } catch (const Error& error) {
        throw Error(error.code(), std::string("the array is published, but the data of the one before it "
                                              "were not removed: ") +
                                      error.what());
    }
}

void abandon(Store::Session& session, const Plan& plan) noexcept
{
    try { // what is left lies under the mark, for the next writer
        session.append_places.erase(plan.head->name());
        if (plan.fresh.count == 0 || plan.published) return;
        if (plan.in_doubt) {
            session.in_doubt[plan.head->name()].push_back({plan.fresh, plan.layout.object_class});
            return;
        }
        destroy_objects(*session.container, {&plan.fresh, 1}, plan.layout.object_class);
        plan.head->unpublished().remove(plan.fresh.first);
    } catch (...) {
    }
}

} // namespace stepstore::arrays

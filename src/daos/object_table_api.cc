// daos_oit_: the objects of a snapshot. A snapshot does not change, so its table is made when it is opened.
#include "daos/api.h"

#include "daos/call.h"
#include "daos/resources.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::Bytes;
using stepstore::Error;

namespace {

class ObjectTable : public Resource {
public:
    static constexpr Kind handle_kind = Kind::object_table;
    ObjectTable(std::shared_ptr<ContainerResource> container, daos_epoch_t epoch)
        : Resource(handle_kind), container_(std::move(container)), epoch_(epoch),
          objects_(container_->container().objects(epoch))
    {
    }
    std::string name() const override { return "table of objects in " + container_->name(); }
    Resource* opened_from() const noexcept override { return container_.get(); }

    // A part of the table, and the anchor after it.
    struct Page {
        std::span<const store::ObjectId> objects;
        daos_anchor_t after;
    };
    // At most `most` objects from the place of the anchor on.
    Page page(const daos_anchor_t& anchor, std::size_t most) const
    {
        // In da_buf: the last object that was given.
        store::ObjectId last;
        std::memcpy(&last, anchor.da_buf, sizeof last);
        Page page{{}, anchor};
        if (anchor.da_type == DAOS_ANCHOR_TYPE_EOF) return page;
        const auto begin = anchor.da_type == DAOS_ANCHOR_TYPE_ZERO ? objects_.begin()
                                                                   : std::ranges::upper_bound(objects_, last);
        const std::span<const store::ObjectId> rest(begin, objects_.end());
        page.objects = rest.first(std::min(most, rest.size()));
        if (!page.objects.empty()) std::memcpy(page.after.da_buf, &page.objects.back(), sizeof last);
        page.after.da_type = page.objects.size() == rest.size() ? DAOS_ANCHOR_TYPE_EOF : DAOS_ANCHOR_TYPE_KEY;
        return page;
    }

    const std::shared_ptr<ContainerResource>& container() const { return container_; }
    daos_epoch_t epoch() const { return epoch_; }
    bool has(const store::ObjectId& oid) const { return std::ranges::binary_search(objects_, oid); }
    void mark(const store::ObjectId& oid, Bytes marker) const
    {
        container_->container().mark_object(epoch_, oid, marker);
    }
    std::vector<store::ObjectMarker> markers(std::span<const store::ObjectId> of) const
    {
        if (of.empty()) return {};
        return container_->container().object_markers(epoch_, of.front(), of.back());
    }

private:
    std::shared_ptr<ContainerResource> container_;
    const daos_epoch_t epoch_;
    std::vector<store::ObjectId> objects_; // ascending
};

void require_snapshot(const ContainerResource& container, daos_epoch_t epoch)
{
    if (container.container().has_snapshot(epoch)) return;
    throw Error(-DER_NONEXIST, container.name() + " has no snapshot at epoch " + std::to_string(epoch) +
                                   ": daos_cont_list_snap lists its snapshots");
}

daos_obj_id_t id_of(const store::ObjectId& oid)
{
    return {.lo = oid.lo, .hi = oid.hi};
}

std::shared_ptr<ObjectTable> checked_table(daos_handle_t oh, const daos_obj_id_t* oids,
                                           const std::uint32_t* oids_nr, const daos_anchor_t* anchor)
{
    auto table = resource<ObjectTable>(oh);
    require(oids, "oids");
    require(oids_nr, "oids_nr");
    require(anchor, "anchor");
    if (*oids_nr == 0) invalid("the call has no room for an object id: give room for at least one");
    if (anchor->da_type > DAOS_ANCHOR_TYPE_EOF || anchor->da_type == DAOS_ANCHOR_TYPE_HKEY)
        invalid("the anchor does not belong to a listing: set it to zeroes to begin one");
    return table;
}

// Whether the filter takes an object. It gets a marker in any case, of no bytes if there is none.
bool takes(daos_oit_filter_cb* filter, const store::ObjectId& oid, Bytes marker)
{
    std::byte copy[store::longest_object_marker + sizeof(std::uint64_t)] = {};
    if (!marker.empty()) std::memcpy(copy, marker.data(), marker.size());
    d_iov_t iov{copy, marker.size(), marker.size()};
    const int answer = filter(id_of(oid), &iov);
    if (answer < 0) throw Error(answer, "the filter ended the listing with " + std::to_string(answer));
    return answer > 0;
}

int is_unmarked(daos_obj_id_t, d_iov_t* marker)
{
    return marker->iov_len == 0 ? 1 : 0;
}

// The filter runs in the caller's thread. So a page is filtered when its result is told.
auto list_filtered(daos_handle_t oh, daos_obj_id_t* oids, std::uint32_t* oids_nr, daos_anchor_t* anchor,
                   daos_oit_filter_cb* filter)
{
    auto table = checked_table(oh, oids, oids_nr, anchor);
    if (!filter) invalid("the filter is NULL: give one, or call daos_oit_list()");
    return [=, page = table->page(*anchor, *oids_nr)] {
        return [=, markers = table->markers(page.objects)] {
            std::vector<daos_obj_id_t> taken;
            auto next = markers.begin();
            for (const store::ObjectId& oid : page.objects) {
                while (next != markers.end() && next->oid < oid)
                    ++next;
                const bool marked = next != markers.end() && next->oid == oid;
                if (takes(filter, oid, marked ? Bytes(next->marker) : Bytes())) taken.push_back(id_of(oid));
            }
            std::ranges::copy(taken, oids);
            *oids_nr = static_cast<std::uint32_t>(taken.size());
            *anchor = page.after;
        };
    };
}

} // namespace

extern "C" {

int daos_oit_open(daos_handle_t coh, daos_epoch_t epoch, daos_handle_t* oh, daos_event_t* ev)
{
    return call("daos_oit_open", ev, [=] {
        require(oh, "oh");
        return [=, container = resource<ContainerResource>(coh)] {
            require_snapshot(*container, epoch);
            *oh = insert_handle(std::make_shared<ObjectTable>(container, epoch));
        };
    });
}

int daos_oit_close(daos_handle_t oh, daos_event_t* ev)
{
    return call("daos_oit_close", ev, [=] { close_handle(oh, Kind::object_table); });
}

int daos_oit_list(daos_handle_t oh, daos_obj_id_t* oids, uint32_t* oids_nr, daos_anchor_t* anchor,
                  daos_event_t* ev)
{
    return call("daos_oit_list", ev, [=] {
        const auto page = checked_table(oh, oids, oids_nr, anchor)->page(*anchor, *oids_nr);
        std::ranges::transform(page.objects, oids, id_of);
        *oids_nr = static_cast<std::uint32_t>(page.objects.size());
        *anchor = page.after;
    });
}

int daos_oit_mark(daos_handle_t oh, daos_obj_id_t oid, d_iov_t* marker, daos_event_t* ev)
{
    return call("daos_oit_mark", ev, [=] {
        const auto table = resource<ObjectTable>(oh);
        table->container()->require_writable("mark an object");
        std::vector<std::byte> bytes;
        if (marker) {
            require(marker->iov_buf, "the marker");
            if (marker->iov_len == 0 || marker->iov_len > marker->iov_buf_len ||
                marker->iov_len > DAOS_OIT_MARKER_MAX_LEN)
                invalid("a marker has 1 to " + std::to_string(DAOS_OIT_MARKER_MAX_LEN) + " bytes, not " +
                        std::to_string(marker->iov_len) + ": to clear one give NULL");
            const auto* first = static_cast<const std::byte*>(marker->iov_buf);
            bytes.assign(first, first + marker->iov_len);
        }
        const store::ObjectId object{.hi = oid.hi, .lo = oid.lo};
        return [=, bytes = std::move(bytes)] {
            if (!table->has(object))
                throw Error(-DER_NONEXIST, table->name() + ": it has no object " +
                                               stepstore::object_id_text(object.hi, object.lo));
            table->mark(object, bytes);
        };
    });
}

int daos_oit_list_unmarked(daos_handle_t oh, daos_obj_id_t* oids, uint32_t* oids_nr, daos_anchor_t* anchor,
                           daos_event_t* ev)
{
    return call("daos_oit_list_unmarked", ev,
                [=] { return list_filtered(oh, oids, oids_nr, anchor, is_unmarked); });
}

int daos_oit_list_filter(daos_handle_t oh, daos_obj_id_t* oids, uint32_t* oids_nr, daos_anchor_t* anchor,
                         daos_oit_filter_cb filter, daos_event_t* ev)
{
    return call("daos_oit_list_filter", ev, [=] { return list_filtered(oh, oids, oids_nr, anchor, filter); });
}

int daos_cont_snap_oit_create(daos_handle_t coh, daos_epoch_t epoch, char* name, daos_event_t* ev)
{
    return call("daos_cont_snap_oit_create", ev, [=] {
        if (name) throw Error(-DER_NOSYS, "a table of objects has no name: give NULL");
        const auto container = resource<ContainerResource>(coh);
        container->require_writable("make a table of objects");
        // Every snapshot can tell its objects, so this asks for nothing more.
        return [=] { require_snapshot(*container, epoch); };
    });
}

int daos_cont_snap_oit_destroy(daos_handle_t coh, daos_handle_t oh, daos_event_t* ev)
{
    return call("daos_cont_snap_oit_destroy", ev, [=] {
        const auto container = resource<ContainerResource>(coh);
        container->require_writable("remove a table of objects");
        const auto table = resource<ObjectTable>(oh);
        if (table->container()->uuid() != container->uuid())
            invalid("the " + table->name() + " is not one of " + container->name());
        return [=] { container->container().clear_object_markers(table->epoch()); };
    });
}

} // extern "C"

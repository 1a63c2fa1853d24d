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
using stepstore::Error;

namespace {

class ObjectTable : public Resource {
public:
    static constexpr Kind handle_kind = Kind::object_table;
    ObjectTable(std::shared_ptr<ContainerResource> container, daos_epoch_t epoch)
        : Resource(handle_kind), container_(std::move(container)),
          objects_(container_->container().objects(epoch))
    {
    }
    std::string name() const override { return "table of objects in " + container_->name(); }
    Resource* opened_from() const noexcept override { return container_.get(); }

    // Fills `oids` with the objects after `position`, which it moves. How many.
    std::uint32_t list(std::span<daos_obj_id_t> oids, daos_anchor_t& anchor) const
    {
        // In da_buf: the last object that was given.
        store::ObjectId last;
        std::memcpy(&last, anchor.da_buf, sizeof last);
        const auto begin = anchor.da_type == DAOS_ANCHOR_TYPE_ZERO ? objects_.begin()
                                                                   : std::ranges::upper_bound(objects_, last);
        const std::span<const store::ObjectId> rest(begin, objects_.end());
        const auto given = rest.first(std::min(oids.size(), rest.size()));
        for (std::size_t i = 0; i < given.size(); ++i)
            oids[i] = {.lo = given[i].lo, .hi = given[i].hi};
        if (!given.empty()) std::memcpy(anchor.da_buf, &given.back(), sizeof last);
        anchor.da_type = given.size() == rest.size() ? DAOS_ANCHOR_TYPE_EOF : DAOS_ANCHOR_TYPE_KEY;
        return static_cast<std::uint32_t>(given.size());
    }

private:
    std::shared_ptr<ContainerResource> container_;
    std::vector<store::ObjectId> objects_; // ascending
};

} // namespace

extern "C" {

int daos_oit_open(daos_handle_t coh, daos_epoch_t epoch, daos_handle_t* oh, daos_event_t* ev)
{
    return call("daos_oit_open", ev, [=] {
        require(oh, "oh");
        return [=, container = resource<ContainerResource>(coh)] {
            if (!container->container().has_snapshot(epoch))
                throw Error(-DER_NONEXIST, container->name() + " has no snapshot at epoch " +
                                               std::to_string(epoch) +
                                               ": daos_cont_list_snap lists its snapshots");
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
        const auto table = resource<ObjectTable>(oh);
        require(oids, "oids");
        require(oids_nr, "oids_nr");
        require(anchor, "anchor");
        if (*oids_nr == 0) invalid("the call has no room for an object id: give room for at least one");
        if (anchor->da_type > DAOS_ANCHOR_TYPE_EOF || anchor->da_type == DAOS_ANCHOR_TYPE_HKEY)
            invalid("the anchor does not belong to a listing: set it to zeroes to begin one");
        *oids_nr = anchor->da_type == DAOS_ANCHOR_TYPE_EOF ? 0 : table->list({oids, *oids_nr}, *anchor);
    });
}

} // extern "C"

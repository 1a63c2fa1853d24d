// daos_obj_: the calls on dkeys and akeys.
#include "daos/api.h"

#include "daos/call.h"
#include "daos/extent_listing.h"
#include "daos/key_listing.h"
#include "daos/key_query.h"
#include "daos/object_request.h"
#include "daos/resources.h"

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::Bytes;
using stepstore::Error;
using stepstore::FunctionRef;

namespace {

// Of one dkey: these akeys, or without any the dkey itself.
class Punch {
public:
    Punch(const store::ObjectId& oid, const daos_key_t* dkey, unsigned akeys, const daos_key_t* akey,
          bool runs_later)
        : dkey_(oid, Level::dkey, dkey, runs_later), akeys_(akeys), views_(akeys)
    {
        for (unsigned i = 0; i < akeys; ++i) {
            akeys_[i].take(oid, Level::akey, &akey[i], runs_later);
            views_[i] = akeys_[i].view();
        }
    }
    void run(const ObjectResource& object, const Moment& moment, std::uint64_t flags) const
    {
        const bool must_exist = (flags & DAOS_COND_PUNCH) != 0;
        object.run_if(moment, must_exist, [&](store::Container& in, bool conditional) {
            in.akey_punch(object.oid(), dkey_.view(), views_, must_exist && conditional);
        });
    }

private:
    ObjectKey dkey_;
    std::vector<ObjectKey> akeys_;
    std::vector<Bytes> views_;
};

} // namespace

extern "C" {

int daos_obj_update(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey, unsigned int nr,
                    daos_iod_t* iods, d_sg_list_t* sgls, daos_event_t* ev)
{
    return call("daos_obj_update", ev, [=] {
        auto object = resource<ObjectResource>(oh);
        auto moment = object->writing(th);
        auto request =
            std::make_shared<const UpdateRequest>(object->oid(), flags, dkey, nr, iods, sgls, ev != nullptr);
        return [object = std::move(object), request = std::move(request), moment = std::move(moment)] {
            object->run_if(moment, request->has_conditions(), [&](store::Container& in, bool conditional) {
                request->run(in, object->oid(), conditional);
            });
        };
    });
}

int daos_obj_fetch(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey, unsigned int nr,
                   daos_iod_t* iods, d_sg_list_t* sgls, daos_iom_t* ioms, daos_event_t* ev)
{
    return call("daos_obj_fetch", ev, [=] {
        auto object = resource<ObjectResource>(oh);
        const auto epoch = object->reading(th);
        auto request =
            std::make_shared<FetchRequest>(object->oid(), flags, dkey, nr, iods, sgls, ioms, ev != nullptr);
        return [=, object = std::move(object), request = std::move(request)] {
            request->run(*object, epoch);
            return [request] { request->tell(); };
        };
    });
}

int daos_obj_punch_dkeys(daos_handle_t oh, daos_handle_t th, uint64_t flags, unsigned int nr,
                         daos_key_t* dkeys, daos_event_t* ev)
{
    return call("daos_obj_punch_dkeys", ev, [=] {
        auto object = resource<ObjectResource>(oh);
        auto moment = object->writing(th);
        if (nr != 1) invalid("the call removes one dkey: nr is 1, as on a DAOS system");
        auto punch = std::make_shared<const Punch>(object->oid(), dkeys, 0, nullptr, ev != nullptr);
        return [=, object = std::move(object), punch = std::move(punch), moment = std::move(moment)] {
            punch->run(*object, moment, flags);
        };
    });
}

int daos_obj_punch_akeys(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey,
                         unsigned int nr, daos_key_t* akeys, daos_event_t* ev)
{
    return call("daos_obj_punch_akeys", ev, [=] {
        auto object = resource<ObjectResource>(oh);
        auto moment = object->writing(th);
        if (nr == 0) invalid("the call names no akey: give at least one");
        require(akeys, "akeys");
        auto punch = std::make_shared<const Punch>(object->oid(), dkey, nr, akeys, ev != nullptr);
        return [=, object = std::move(object), punch = std::move(punch), moment = std::move(moment)] {
            punch->run(*object, moment, flags);
        };
    });
}

int daos_obj_list_dkey(daos_handle_t oh, daos_handle_t th, uint32_t* nr, daos_key_desc_t* kds,
                       d_sg_list_t* sgl, daos_anchor_t* anchor, daos_event_t* ev)
{
    return call("daos_obj_list_dkey", ev, [=] {
        auto object = resource<ObjectResource>(oh);
        require_listing(nr, kds, sgl, anchor);
        const auto epoch = object->reading(th);
        return [=, object = std::move(object)] {
            const auto walk = [&](store::ListPosition& position, FunctionRef<bool(Bytes)> take) {
                object->run(
                    epoch, [&](store::Container& in) { in.dkey_list(object->oid(), position, take, epoch); });
            };
            list_keys(*object, Level::dkey, is_turned(object->oid(), Level::dkey), walk, nr, kds, sgl,
                      anchor);
        };
    });
}

int daos_obj_list_akey(daos_handle_t oh, daos_handle_t th, daos_key_t* dkey, uint32_t* nr,
                       daos_key_desc_t* kds, d_sg_list_t* sgl, daos_anchor_t* anchor, daos_event_t* ev)
{
    return call("daos_obj_list_akey", ev, [=] {
        auto object = resource<ObjectResource>(oh);
        require_listing(nr, kds, sgl, anchor);
        const auto epoch = object->reading(th);
        auto in_dkey = std::make_shared<const ObjectKey>(object->oid(), Level::dkey, dkey, ev != nullptr);
        return [=, object = std::move(object), in_dkey = std::move(in_dkey)] {
            const auto walk = [&](store::ListPosition& position, FunctionRef<bool(Bytes)> take) {
                const auto each = [&](Bytes akey, store::AkeyType) { return take(akey); };
                object->run(epoch, [&](store::Container& in) {
                    in.akey_list(object->oid(), in_dkey->view(), position, each, epoch);
                });
            };
            list_keys(*object, Level::akey, is_turned(object->oid(), Level::akey), walk, nr, kds, sgl,
                      anchor);
        };
    });
}

int daos_obj_key2anchor(daos_handle_t oh, daos_handle_t th, daos_key_t* dkey, daos_key_t* akey,
                        daos_anchor_t* anchor, daos_event_t* ev)
{
    return call("daos_obj_key2anchor", ev, [=] {
        auto object = resource<ObjectResource>(oh);
        require(anchor, "anchor");
        const auto epoch = object->reading(th);
        auto first = std::make_shared<const ObjectKey>(object->oid(), Level::dkey, dkey, ev != nullptr);
        std::shared_ptr<const ObjectKey> second;
        if (akey) second = std::make_shared<const ObjectKey>(object->oid(), Level::akey, akey, ev != nullptr);
        return [=, object = std::move(object), first = std::move(first), second = std::move(second)] {
            object->run(epoch, [&](store::Container& in) {
                set_anchor(second ? in.akey_position(object->oid(), first->view(), second->view(), epoch)
                                  : in.dkey_position(object->oid(), first->view()),
                           *anchor);
            });
        };
    });
}

int daos_obj_list_recx(daos_handle_t oh, daos_handle_t th, daos_key_t* dkey, daos_key_t* akey,
                       daos_size_t* size, uint32_t* nr, daos_recx_t* recxs, daos_epoch_range_t* eprs,
                       daos_anchor_t* anchor, bool incr_order, daos_event_t* ev)
{
    return call("daos_obj_list_recx", ev, [=] {
        auto object = resource<ObjectResource>(oh);
        require_extent_listing(nr, recxs, anchor);
        const auto epoch = object->reading(th);
        auto in_dkey = std::make_shared<const ObjectKey>(object->oid(), Level::dkey, dkey, ev != nullptr);
        auto in_akey = std::make_shared<const ObjectKey>(object->oid(), Level::akey, akey, ev != nullptr);
        return [=, object = std::move(object), in_dkey = std::move(in_dkey), in_akey = std::move(in_akey)] {
            list_extents({*object, in_dkey->view(), in_akey->view(), epoch}, incr_order, size, nr, recxs,
                         eprs, anchor);
        };
    });
}

int daos_obj_query_key(daos_handle_t oh, daos_handle_t th, uint64_t flags, daos_key_t* dkey, daos_key_t* akey,
                       daos_recx_t* recx, daos_event_t* ev)
{
    return call("daos_obj_query_key", ev, [=] {
        auto object = resource<ObjectResource>(oh);
        const auto epoch = object->reading(th);
        auto query = std::make_shared<KeyQuery>(object->oid(), flags, dkey, akey, recx, ev != nullptr);
        return [=, object = std::move(object), query = std::move(query)] {
            query->run(*object, epoch);
            return [query] { query->tell(); };
        };
    });
}

int daos_obj_query(daos_handle_t oh, struct daos_obj_attr*, d_rank_list_t*, daos_event_t* ev)
{
    return call("daos_obj_query", ev, [=] {
        resource<ObjectResource>(oh);
        throw Error(-DER_NOSYS, "libdaos 2.6 does not tell the attributes of an object: its class is in its "
                                "identifier (daos_obj_id2class)");
    });
}

} // extern "C"

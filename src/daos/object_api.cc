// daos_obj_: ids, and the calls on objects of any type.
#include "daos/api.h"

#include "daos/call.h"
#include "daos/object_class.h"
#include "daos/resources.h"

using namespace stepstore::daos;
namespace store = stepstore::store;

extern "C" {

int daos_obj_generate_oid(daos_handle_t coh, daos_obj_id_t* oid, enum daos_otype_t type, daos_oclass_id_t cid,
                          daos_oclass_hints_t hints, uint32_t)
{
    const unsigned number = number_of(type);
    return call("daos_obj_generate_oid", [&] {
        require(oid, "oid");
        const auto container = resource<ContainerResource>(coh);
        const auto factor = container->redundancy_factor();
        const unsigned targets = container->pool().targets();
        const auto oclass = cid == OC_UNKNOWN ? default_class(number, hints, factor, targets) : cid;
        *oid = complete_oid(*oid, number, oclass, factor, targets);
    });
}

int daos_obj_open(daos_handle_t coh, daos_obj_id_t oid, unsigned int mode, daos_handle_t* oh,
                  daos_event_t* ev)
{
    return call("daos_obj_open", ev, [=] {
        require(oh, "oh");
        *oh = insert_handle(std::make_shared<ObjectResource>(resource<ContainerResource>(coh), oid, mode));
    });
}

int daos_obj_close(daos_handle_t oh, daos_event_t* ev)
{
    // As in libdaos also a key-value object or an array.
    return call("daos_obj_close", ev, [=] {
        const auto found = find_handle(oh);
        const bool is_object = dynamic_cast<const ObjectResource*>(found.get()) != nullptr;
        close_handle(oh, is_object ? found->kind() : Kind::object);
    });
}

int daos_obj_punch(daos_handle_t oh, daos_handle_t th, uint64_t, daos_event_t* ev)
{
    return call("daos_obj_punch", ev, [=] { return punch<ObjectResource>(oh, th); });
}

int daos_obj_query_max_epoch(daos_handle_t oh, daos_handle_t th, daos_epoch_t* epoch, daos_event_t* ev)
{
    return call("daos_obj_query_max_epoch", ev, [=] {
        require(epoch, "epoch");
        auto object = resource<ObjectResource>(oh);
        return [=, at = object->reading(th)] {
            *epoch = object->run(at, [&](store::Container& in) { return in.last_update(object->oid(), at); });
        };
    });
}

#undef daos_obj_generate_oid
#pragma GCC visibility push(default)
// The call's name before it knew object types; libdaos exports both.
int daos_obj_generate_oid(daos_handle_t, daos_obj_id_t*, enum daos_otype_t, daos_oclass_id_t,
                          daos_oclass_hints_t, uint32_t)
    __attribute__((weak, alias("daos_obj_generate_oid2")));
#pragma GCC visibility pop

} // extern "C"

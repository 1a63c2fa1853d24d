// The calls daos_array_*: array objects.
#include "daos/api.h"

#include "daos/array_request.h"
#include "daos/call.h"
#include "daos/global_handle.h"
#include "daos/resources.h"

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::Error;

namespace {

void require_type(daos_obj_id_t oid, bool right, const char* what)
{
    if (!right) invalid("an object of type " + std::to_string(type_number(oid)) + " is not an array " + what);
}

std::shared_ptr<ArrayResource> open_with(std::shared_ptr<ContainerResource> container, daos_obj_id_t oid,
                                         unsigned mode, daos_size_t cell_size, daos_size_t chunk_size)
{
    if (cell_size == 0) invalid("the cell size is 0: give at least 1 byte");
    if (chunk_size == 0) invalid("the chunk size is 0: give at least 1 cell");
    return std::make_shared<ArrayResource>(std::move(container), oid, mode,
                                           store::ArrayAttributes{cell_size, chunk_size});
}

} // namespace

extern "C" {

int daos_array_create(daos_handle_t coh, daos_obj_id_t oid, daos_handle_t th, daos_size_t cell_size,
                      daos_size_t chunk_size, daos_handle_t* oh, daos_event_t* ev)
{
    return call("daos_array_create", ev, [=] {
        require(oh, "oh");
        auto container = resource<ContainerResource>(coh);
        require_type(oid, daos_is_array(oid),
                     "that can be created: make its id with daos_array_generate_oid(..., true, ...)");
        auto array = open_with(container, oid, DAOS_OO_RW, cell_size, chunk_size);
        return [=, moment = array->writing(th)] {
            array->run(moment,
                       [&](store::Container& in) { in.array_create(array->oid(), array->attributes()); });
            *oh = insert_handle(array);
        };
    });
}

int daos_array_open(daos_handle_t coh, daos_obj_id_t oid, daos_handle_t th, unsigned int mode,
                    daos_size_t* cell_size, daos_size_t* chunk_size, daos_handle_t* oh, daos_event_t* ev)
{
    return call("daos_array_open", ev, [=] {
        require(oh, "oh");
        require(cell_size, "cell_size");
        require(chunk_size, "chunk_size");
        auto container = resource<ContainerResource>(coh);
        require_type(oid, type_number(oid) == DAOS_OT_ARRAY,
                     "that keeps its attributes: open it with daos_array_open_with_attr");
        const auto object = std::make_shared<ObjectResource>(container, oid, mode);
        return [=, epoch = object->reading(th)] {
            const auto found = object->run(
                epoch, [&](store::Container& in) { return in.array_attributes(object->oid(), epoch); });
            if (!found)
                throw Error(-DER_NONEXIST,
                            "there is no array at " + object->name() + ": create it with daos_array_create");
            auto array = open_with(object->parent(), oid, mode, found->cell_size, found->chunk_size);
            *cell_size = found->cell_size;
            *chunk_size = found->chunk_size;
            *oh = insert_handle(std::move(array));
        };
    });
}

int daos_array_open_with_attr(daos_handle_t coh, daos_obj_id_t oid, daos_handle_t, unsigned int mode,
                              daos_size_t cell_size, daos_size_t chunk_size, daos_handle_t* oh,
                              daos_event_t* ev)
{
    return call("daos_array_open_with_attr", ev, [=] {
        require(oh, "oh");
        auto container = resource<ContainerResource>(coh);
        require_type(oid, daos_is_array(oid) && type_number(oid) != DAOS_OT_ARRAY,
                     "that is opened with attributes: type DAOS_OT_ARRAY is opened with daos_array_open");
        *oh = insert_handle(open_with(std::move(container), oid, mode, cell_size, chunk_size));
    });
}

int daos_array_close(daos_handle_t oh, daos_event_t* ev)
{
    return call("daos_array_close", ev, [=] { close_handle(oh, Kind::array); });
}

int daos_array_destroy(daos_handle_t oh, daos_handle_t th, daos_event_t* ev)
{
    return call("daos_array_destroy", ev, [=] { return punch<ArrayResource>(oh, th); });
}

int daos_array_local2global(daos_handle_t oh, d_iov_t* glob)
{
    return call("daos_array_local2global", [&] { put_global(describe(*resource<ArrayResource>(oh)), glob); });
}

int daos_array_global2local(daos_handle_t coh, d_iov_t glob, unsigned int mode, daos_handle_t* oh)
{
    return call("daos_array_global2local", [&] {
        require(oh, "oh");
        auto container = resource<ContainerResource>(coh);
        const auto handle = get_global(glob, Kind::array);
        if (handle.container != container->uuid())
            invalid("the global handle is not for an array in " + container->name());
        *oh = insert_handle(open_with(std::move(container), handle.oid, mode != 0 ? mode : handle.mode,
                                      handle.attributes.cell_size, handle.attributes.chunk_size));
    });
}

int daos_array_read(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, d_sg_list_t* sgl,
                    daos_event_t* ev)
{
    return call("daos_array_read", ev, [=] {
        auto array = resource<ArrayResource>(oh);
        const auto epoch = array->reading(th);
        ReadRequest request(*array, iod, sgl);
        sgl->sg_nr_out = sgl->sg_nr;
        // As in DAOS, `iod` must stay until the event completes only for byte arrays, or where the caller
        // asked.
        const bool unwanted = iod->arr_nr_read == STEPSTORE_ARRAY_UNTOLD;
        const bool tell =
            !ev || type_number(daos_obj_id_t{array->oid().lo, array->oid().hi}) == DAOS_OT_ARRAY_BYTE ||
            iod->arr_nr_read == STEPSTORE_ARRAY_TELL;
        return [=, array = std::move(array), request = std::move(request)] {
            const auto result = array->run(epoch, [&](store::Container& in) {
                return in.array_read(array->oid(), array->attributes(), request.ranges.all(),
                                     request.memory.all(), epoch, array->verify(),
                                     tell && !unwanted ? store::Ends::told : store::Ends::untold);
            });
            if (!tell || unwanted) return;
            iod->arr_nr_short_read = result.cells_short;
            iod->arr_nr_read = request.cells - result.cells_short;
        };
    });
}

int daos_array_write(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, d_sg_list_t* sgl,
                     daos_event_t* ev)
{
    return call("daos_array_write", ev, [=] {
        auto array = resource<ArrayResource>(oh);
        auto moment = array->writing(th);
        WriteRequest request(*array, iod, sgl, ev != nullptr);
        return [=, array = std::move(array), request = std::move(request), moment = std::move(moment)] {
            array->run(moment, [&](store::Container& in) {
                in.array_write(array->oid(), array->attributes(), request.ranges.all(), request.memory.all());
            });
        };
    });
}

int daos_array_punch(daos_handle_t oh, daos_handle_t th, daos_array_iod_t* iod, daos_event_t* ev)
{
    return call("daos_array_punch", ev, [=] {
        auto array = resource<ArrayResource>(oh);
        return [=, moment = array->writing(th), ranges = request_ranges(iod)] {
            array->run(moment, [&](store::Container& in) {
                in.array_punch(array->oid(), array->attributes(), ranges.all());
            });
        };
    });
}

int daos_array_get_size(daos_handle_t oh, daos_handle_t th, daos_size_t* size, daos_event_t* ev)
{
    return call("daos_array_get_size", ev, [=] {
        auto array = resource<ArrayResource>(oh);
        require(size, "size");
        return [=, epoch = array->reading(th)] {
            *size = array->run(epoch, [&](store::Container& in) {
                return in.array_size(array->oid(), array->attributes(), epoch);
            });
        };
    });
}

int daos_array_set_size(daos_handle_t oh, daos_handle_t th, daos_size_t size, daos_event_t* ev)
{
    return call("daos_array_set_size", ev, [=] {
        auto array = resource<ArrayResource>(oh);
        return [=, moment = array->writing(th)] {
            array->run(moment, [&](store::Container& in) {
                in.array_set_size(array->oid(), array->attributes(), size);
            });
        };
    });
}

int daos_array_stat(daos_handle_t oh, daos_handle_t th, daos_array_stbuf_t* stbuf, daos_event_t* ev)
{
    return call("daos_array_stat", ev, [=] {
        auto array = resource<ArrayResource>(oh);
        require(stbuf, "stbuf");
        return [=, epoch = array->reading(th)] {
            array->run(epoch, [&](store::Container& in) {
                const store::ArrayStatus status = in.array_status(array->oid(), array->attributes(), epoch);
                stbuf->st_size = status.cells;
                stbuf->st_max_epoch = status.last_update;
            });
        };
    });
}

int daos_array_get_attr(daos_handle_t oh, daos_size_t* chunk_size, daos_size_t* cell_size)
{
    return call("daos_array_get_attr", [&] {
        require(chunk_size, "chunk_size");
        require(cell_size, "cell_size");
        const auto array = resource<ArrayResource>(oh);
        *chunk_size = array->attributes().chunk_size;
        *cell_size = array->attributes().cell_size;
    });
}

} // extern "C"

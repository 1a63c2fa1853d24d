// dfs_: the data of files.
#include "dfs/file_system.h"

#include <algorithm>
#include <span>

using namespace stepstore::dfs;

namespace {

const dfs_obj& readable_file(dfs_obj_t* obj)
{
    const dfs_obj& of = file(obj);
    if ((of.flags & O_ACCMODE) == O_WRONLY)
        fail(EPERM, quoted(of.at->name) + " was opened for writing alone");
    return of;
}

const dfs_obj& writable_file(dfs_t* dfs, dfs_obj_t* obj)
{
    writable(dfs);
    const dfs_obj& of = file(obj);
    if ((of.flags & O_ACCMODE) == O_RDONLY)
        fail(EPERM, quoted(of.at->name) + " was opened for reading alone");
    return of;
}

std::uint64_t bytes_of(const d_sg_list_t& list)
{
    if (list.sg_nr > 0) require(list.sg_iovs, "sgl->sg_iovs");
    std::uint64_t bytes = 0;
    for (const d_iov_t& piece : std::span(list.sg_iovs, list.sg_nr))
        if (__builtin_add_overflow(bytes, piece.iov_len, &bytes)) fail(EINVAL, "sgl has 2^64 bytes or more");
    return bytes;
}

daos_array_iod_t ranges_of(const dfs_iod_t& iod)
{
    daos_array_iod_t ranges{};
    ranges.arr_nr = iod.iod_nr;
    ranges.arr_rgs = iod.iod_rgs;
    return ranges;
}

// What a read in flight needs; it belongs to the event's callback.
struct Reading {
    daos_range_t range{};
    daos_array_iod_t ranges{};
    daos_size_t* read_size = nullptr;
};

int end_reading(void* argument, daos_event_t*, int code)
{
    const std::unique_ptr<Reading> reading(static_cast<Reading*>(argument));
    if (code == 0 && reading->read_size) *reading->read_size = reading->ranges.arr_nr_read;
    return 0;
}

void read(const ::dfs& fs, const dfs_obj& of, daos_array_iod_t ranges, d_sg_list_t& list,
          daos_size_t* read_size, daos_event_t* event)
{
    const auto what = [&] { return "reading " + quoted(of.at->name); };
    if (!event) {
        require_done(daos_array_read(of.handle.get(), fs.th, &ranges, &list, nullptr), what);
        *read_size = ranges.arr_nr_read;
        return;
    }
    auto made = std::make_unique<Reading>();
    made->ranges = ranges;
    if (ranges.arr_nr == 1) {
        require(ranges.arr_rgs, "iod->iod_rgs");
        made->range = *ranges.arr_rgs;
        made->ranges.arr_rgs = &made->range;
    }
    made->read_size = read_size;
    require_done(daos_event_errno_rc(event), what);
    require_done(daos_event_register_comp_cb(event, end_reading, made.get()), what);
    Reading* const reading = made.release();
    const int code = daos_array_read(of.handle.get(), fs.th, &reading->ranges, &list, event);
    if (code != 0) reading->read_size = nullptr; // the event may still have the callback: of another launch
    require_done(code, what);
}

void write(const dfs_obj& of, daos_array_iod_t ranges, d_sg_list_t& list, daos_event_t* event)
{
    if (event) require_done(daos_event_errno_rc(event), "writing");
    require_done(daos_array_write(of.handle.get(), DAOS_TX_NONE, &ranges, &list, event),
                 [&] { return "writing " + quoted(of.at->name); });
}

} // namespace

extern "C" {

int dfs_read(dfs_t* dfs, dfs_obj_t* obj, d_sg_list_t* sgl, daos_off_t off, daos_size_t* read_size,
             daos_event_t* ev)
{
    return run("dfs_read", [&] {
        const ::dfs& fs = file_system(dfs);
        const dfs_obj& of = readable_file(obj);
        require(sgl, "sgl");
        require(read_size, "read_size");
        daos_range_t range{off, bytes_of(*sgl)};
        daos_array_iod_t ranges{};
        ranges.arr_nr = 1;
        ranges.arr_rgs = &range;
        read(fs, of, ranges, *sgl, read_size, ev);
    });
}

int dfs_readx(dfs_t* dfs, dfs_obj_t* obj, dfs_iod_t* iod, d_sg_list_t* sgl, daos_size_t* read_size,
              daos_event_t* ev)
{
    return run("dfs_readx", [&] {
        const ::dfs& fs = file_system(dfs);
        const dfs_obj& of = readable_file(obj);
        require(iod, "iod");
        require(sgl, "sgl");
        require(read_size, "read_size");
        d_sg_list_t nothing{};
        read(fs, of, ranges_of(*iod), iod->iod_nr == 0 ? nothing : *sgl, read_size, ev);
    });
}

int dfs_write(dfs_t* dfs, dfs_obj_t* obj, d_sg_list_t* sgl, daos_off_t off, daos_event_t* ev)
{
    return run("dfs_write", [&] {
        const dfs_obj& of = writable_file(dfs, obj);
        d_sg_list_t nothing{};
        d_sg_list_t& list = sgl ? *sgl : nothing;
        daos_range_t range{off, bytes_of(list)};
        daos_array_iod_t ranges{};
        ranges.arr_nr = 1;
        ranges.arr_rgs = &range;
        write(of, ranges, list, ev);
    });
}

int dfs_writex(dfs_t* dfs, dfs_obj_t* obj, dfs_iod_t* iod, d_sg_list_t* sgl, daos_event_t* ev)
{
    return run("dfs_writex", [&] {
        const dfs_obj& of = writable_file(dfs, obj);
        require(iod, "iod");
        d_sg_list_t nothing{};
        if (iod->iod_nr > 0) require(sgl, "sgl");
        write(of, ranges_of(*iod), iod->iod_nr == 0 ? nothing : *sgl, ev);
    });
}

int dfs_get_size(dfs_t* dfs, dfs_obj_t* obj, daos_size_t* size)
{
    return run("dfs_get_size", [&] {
        const ::dfs& fs = file_system(dfs);
        require(size, "size");
        require_done(daos_array_get_size(file(obj).handle.get(), fs.th, size, nullptr), "asking for a size");
    });
}

int dfs_get_size_by_oid(dfs_t* dfs, daos_obj_id_t oid, daos_size_t chunk_size, daos_size_t* size)
{
    return run("dfs_get_size_by_oid", [&] {
        const ::dfs& fs = file_system(dfs);
        require(size, "size");
        if (daos_obj_id2type(oid) != DAOS_OT_ARRAY_BYTE) fail(EINVAL, "the object is no file");
        const Handle handle = Handle::array(fs.container, oid, fs.th, DAOS_OO_RO,
                                            chunk_size != 0 ? chunk_size : fs.attributes.da_chunk_size);
        require_done(daos_array_get_size(handle.get(), fs.th, size, nullptr), "asking for a size");
    });
}

int dfs_punch(dfs_t* dfs, dfs_obj_t* obj, daos_off_t offset, daos_size_t len)
{
    return run("dfs_punch", [&] {
        const daos_handle_t oh = writable_file(dfs, obj).handle.get();
        daos_size_t size = 0;
        const daos_off_t end = len > DFS_MAX_FSIZE - offset ? DFS_MAX_FSIZE : offset + len;
        if (len != DFS_MAX_FSIZE) {
            require_done(daos_array_get_size(oh, DAOS_TX_NONE, &size, nullptr), "asking for a size");
            if (size <= offset || len == 0) return;
        }
        if (len == DFS_MAX_FSIZE || size <= end) {
            require_done(daos_array_set_size(oh, DAOS_TX_NONE, offset, nullptr), "ending a file");
            return;
        }
        daos_range_t range{offset, len};
        daos_array_iod_t ranges{};
        ranges.arr_nr = 1;
        ranges.arr_rgs = &range;
        require_done(daos_array_punch(oh, DAOS_TX_NONE, &ranges, nullptr), "making a hole");
    });
}

int dfs_get_file_oh(dfs_obj_t* obj, daos_handle_t* oh)
{
    return run("dfs_get_file_oh", [&] {
        require(oh, "oh");
        *oh = file(obj).handle.get();
    });
}

int dfs_get_chunk_size(dfs_obj_t* obj, daos_size_t* chunk_size)
{
    return run("dfs_get_chunk_size", [&] {
        require(chunk_size, "chunk_size");
        daos_size_t cell = 0;
        require_done(daos_array_get_attr(file(obj).handle.get(), chunk_size, &cell), "asking for a chunk");
    });
}

} // extern "C"

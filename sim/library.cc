#include "library.h"

#include "events.h"
#include "store/placement.h"
#include "world.h"

#include <unordered_map>

namespace stepstore::sim {

namespace {

// ---- objects that are open

struct OpenObject {
    std::uint64_t container; // by its label
    ObjectId oid;
    store::Placement placement;
    std::uint64_t chunk_bytes; // of an array
    std::uint64_t cell_bytes;

    std::uint64_t target_of(Bytes dkey) const { return placement.group(placement.group_of(dkey)).targets[0]; }
    std::uint64_t target_of_chunk(std::uint64_t chunk) const
    {
        return placement.group(chunk_group(chunk, placement.groups())).targets[0];
    }
    std::uint64_t target_of_key(std::string_view key) const { return target_of(as_bytes(key)); }

private:
    static Bytes as_bytes(std::string_view text)
    {
        return std::as_bytes(std::span(text.data(), text.size()));
    }
};

std::unordered_map<std::uint64_t, OpenObject>& open_objects()
{
    static std::unordered_map<std::uint64_t, OpenObject> objects;
    return objects;
}

const OpenObject* opened(daos_handle_t handle)
{
    const auto found = open_objects().find(handle.cookie);
    return found == open_objects().end() ? nullptr : &found->second;
}

// The containers that are open: checksums of their labels.
std::unordered_map<std::uint64_t, std::uint64_t>& open_containers()
{
    static std::unordered_map<std::uint64_t, std::uint64_t> containers;
    return containers;
}

void note_opened(int code, daos_handle_t container, daos_obj_id_t oid, const daos_handle_t* handle,
                 std::uint64_t cell, std::uint64_t chunk)
{
    if (code != 0) return;
    const auto targets = static_cast<unsigned>(World::current().machine().all_targets());
    open_objects().insert_or_assign(handle->cookie, OpenObject{open_containers()[container.cookie],
                                                               {oid.hi, oid.lo},
                                                               store::Placement(0, {oid.hi, oid.lo}, targets),
                                                               cell * chunk,
                                                               cell});
}

const Library& real()
{
    static const Library library = Library::ours();
    return library;
}

World& world()
{
    return World::current();
}

// ---- calls that take no time, or that of the pool service

template <auto Member>
struct Call;
template <class... Parameters, int (*Library::*Member)(Parameters...)>
struct Call<Member> {
    static int by_pool_service(Parameters... parameters)
    {
        world().storage().control(world().client());
        return (real().*Member)(parameters...);
    }
};

// The simulated targets, in place of those of the store below.
int query_pool(daos_handle_t pool, d_rank_list_t** ranks, daos_pool_info_t* info, daos_prop_t* properties,
               daos_event_t* event)
{
    world().storage().control(world().client());
    const int code = real().pool_query(pool, ranks, info, properties, event);
    if (code == 0 && info != nullptr)
        info->pi_ntargets = static_cast<std::uint32_t>(world().machine().all_targets());
    return code;
}

int open_container(daos_handle_t pool, const char* label, unsigned flags, daos_handle_t* handle,
                   daos_cont_info_t* info, daos_event_t* event)
{
    world().storage().control(world().client());
    const int code = real().cont_open(pool, label, flags, handle, info, event);
    const std::string_view name = label;
    if (code == 0)
        open_containers()[handle->cookie] = checksum(std::as_bytes(std::span(name.data(), name.size())));
    return code;
}

int close_container(daos_handle_t handle, daos_event_t* event)
{
    open_containers().erase(handle.cookie);
    return real().cont_close(handle, event);
}

// What was acknowledged is on the medium.
int sync_nothing(daos_handle_t)
{
    return 0;
}

int close_kv(daos_handle_t handle, daos_event_t* event)
{
    open_objects().erase(handle.cookie);
    return real().kv_close(handle, event);
}

int close_array(daos_handle_t handle, daos_event_t* event)
{
    open_objects().erase(handle.cookie);
    return real().array_close(handle, event);
}

int open_kv(daos_handle_t container, daos_obj_id_t oid, unsigned mode, daos_handle_t* handle,
            daos_event_t* event)
{
    const int code = real().kv_open(container, oid, mode, handle, event);
    note_opened(code, container, oid, handle, 1, 1);
    return code;
}

int open_array_with_attributes(daos_handle_t container, daos_obj_id_t oid, daos_handle_t transaction,
                               unsigned mode, daos_size_t cell, daos_size_t chunk, daos_handle_t* handle,
                               daos_event_t* event)
{
    const int code =
        real().array_open_with_attr(container, oid, transaction, mode, cell, chunk, handle, event);
    note_opened(code, container, oid, handle, cell, chunk);
    return code;
}

int create_snapshot(daos_handle_t container, daos_epoch_t* epoch, char* name, daos_event_t* event)
{
    world().storage().control(world().client());
    world().storage().keep_versions();
    return real().cont_create_snap(container, epoch, name, event);
}

// An id whose class spreads over the simulated targets. The store below has fewer, and takes ids with more.
int generate_oid(daos_handle_t container, daos_obj_id_t* oid, daos_otype_t type, daos_oclass_id_t oclass,
                 daos_oclass_hints_t hints, std::uint32_t arguments)
{
    constexpr std::uint32_t groups_mask = (1U << OC_REDUN_SHIFT) - 1;
    const std::uint64_t targets = world().machine().all_targets();
    const std::uint32_t groups = oclass == OC_UNKNOWN ? MAX_NUM_GROUPS : oclass & groups_mask;
    if (groups != MAX_NUM_GROUPS && groups > targets) return -DER_INVAL;
    const daos_oclass_id_t spread_over_all = (oclass & ~groups_mask) | MAX_NUM_GROUPS;
    const int code = real().obj_generate_oid(
        container, oid, type, oclass == OC_UNKNOWN ? oclass : spread_over_all, hints, arguments);
    if (code != 0) return code;
    const std::uint64_t wanted = std::min<std::uint64_t>(groups, targets);
    oid->hi = (oid->hi & ~OID_FMT_META_MASK) | wanted << OID_FMT_META_SHIFT;
    return 0;
}

// The caller's own work on a call, and then the rest of it: at once, or beside the caller. Memory that is not
// sent inline is registered, once for a call.
template <class Rest>
int carry_out(daos_event_t* event, bool is_inline, Rest rest)
{
    Client& client = world().client();
    world().storage().work(client, world().machine().call + (is_inline ? 0 : world().machine().registration));
    return launch(event, [rest, &client] { return rest(client); });
}

// ---- key-value objects

int put(daos_handle_t handle, daos_handle_t transaction, std::uint64_t flags, const char* key,
        daos_size_t size, const void* value, daos_event_t* event)
{
    return carry_out(event, size <= world().machine().inline_put, [=](Client& client) {
        const OpenObject* object = opened(handle);
        if (object == nullptr) return -DER_NO_HDL;
        int code = 0;
        const Machine& machine = world().machine();
        world().storage().send(client, {.target = object->target_of_key(key),
                                        .service = machine.kv_put,
                                        .sent = size,
                                        .received = 0,
                                        .inline_up_to = machine.inline_put,
                                        .serve = [&]() -> std::size_t {
                                            code = real().kv_put(handle, transaction, flags, key, size, value,
                                                                 nullptr);
                                            return 0;
                                        }});
        return code;
    });
}

int get(daos_handle_t handle, daos_handle_t transaction, std::uint64_t flags, const char* key,
        daos_size_t* size, void* into, daos_event_t* event)
{
    const std::size_t room = into == nullptr || *size == DAOS_REC_ANY ? 0 : *size;
    return carry_out(event, room <= world().machine().inline_get, [=](Client& client) {
        const OpenObject* object = opened(handle);
        if (object == nullptr) return -DER_NO_HDL;
        int code = 0;
        const Machine& machine = world().machine();
        world().storage().send(
            client, {.target = object->target_of_key(key),
                     .service = machine.kv_get,
                     .sent = 0,
                     .received = room,
                     .inline_up_to = machine.inline_get,
                     .serve = [&]() -> std::size_t {
                         code = real().kv_get(handle, transaction, flags, key, size, into, nullptr);
                         return code == 0 && room != 0 ? std::min<std::size_t>(*size, room) : 0;
                     }});
        return code;
    });
}

int remove(daos_handle_t handle, daos_handle_t transaction, std::uint64_t flags, const char* key,
           daos_event_t* event)
{
    return carry_out(event, true, [=](Client& client) {
        const OpenObject* object = opened(handle);
        if (object == nullptr) return -DER_NO_HDL;
        int code = 0;
        world().storage().send(client, {.target = object->target_of_key(key),
                                        .service = world().machine().kv_put,
                                        .serve = [&]() -> std::size_t {
                                            code = real().kv_remove(handle, transaction, flags, key, nullptr);
                                            return 0;
                                        }});
        return code;
    });
}

// The comparison is the target's: one request, as a put.
int put_if(daos_handle_t handle, daos_handle_t transaction, const char* key, daos_size_t expected_size,
           const void* expected, daos_size_t size, const void* value)
{
    const Machine& machine = world().machine();
    const std::size_t sent = expected_size + size;
    return carry_out(nullptr, sent <= machine.inline_put, [=, &machine](Client& client) {
        const OpenObject* object = opened(handle);
        if (object == nullptr) return -DER_NO_HDL;
        int code = 0;
        world().storage().send(client, {.target = object->target_of_key(key),
                                        .service = machine.kv_put,
                                        .sent = sent,
                                        .received = 0,
                                        .inline_up_to = machine.inline_put,
                                        .serve = [&]() -> std::size_t {
                                            code = real().kv_put_if(handle, transaction, key, expected_size,
                                                                    expected, size, value);
                                            return 0;
                                        }});
        return code;
    });
}

// One request to each target that may hold keys.
void ask_all_targets(Client& client, const OpenObject& object, double service)
{
    std::vector<Rpc> rpcs;
    for (unsigned group = 0; group < object.placement.groups(); ++group)
        rpcs.push_back({.target = object.placement.group(group).targets[0], .service = service});
    world().storage().send_all(client, std::move(rpcs));
}

template <auto Member>
struct OnAllTargets;
template <class... Parameters, int (*Library::*Member)(daos_handle_t, Parameters...)>
struct OnAllTargets<Member> {
    static int call(daos_handle_t handle, Parameters... parameters)
    {
        const OpenObject* object = opened(handle);
        if (object == nullptr) return -DER_NO_HDL;
        spend(world().machine().call);
        ask_all_targets(world().client(), *object, world().machine().kv_get);
        return (real().*Member)(handle, parameters...);
    }
};

// ---- arrays

// The bytes of a request that lie in one chunk.
struct InChunk {
    std::uint64_t first = 0; // byte of the array
    std::size_t bytes = 0;
    std::size_t extents = 0;
};

std::map<std::uint64_t, InChunk> chunks_of(const OpenObject& object, const daos_array_iod_t& request)
{
    std::map<std::uint64_t, InChunk> chunks;
    for (daos_size_t i = 0; i < request.arr_nr; ++i) {
        std::uint64_t at = request.arr_rgs[i].rg_idx * object.cell_bytes;
        const std::uint64_t end = at + request.arr_rgs[i].rg_len * object.cell_bytes;
        while (at < end) {
            const std::uint64_t chunk = at / object.chunk_bytes;
            const std::uint64_t until = std::min(end, (chunk + 1) * object.chunk_bytes);
            InChunk& in = chunks[chunk];
            if (in.extents == 0) in.first = at;
            in.bytes += until - at;
            in.extents += world().storage().extents_in(object.oid, at, until);
            at = until;
        }
    }
    return chunks;
}

// What a target has to walk over: versions of an extent that snapshots keep. Where there are no snapshots, it
// has removed the versions in the background.
double overwriting(const OpenObject& object, const InChunk& in)
{
    return static_cast<double>(world().storage().overwrite(object.oid, in.first)) *
           world().machine().overwritten;
}

enum class Direction : std::uint8_t { write, read };

void transfer_chunks(Client& client, const OpenObject& object, const daos_array_iod_t& request,
                     Direction direction)
{
    const Machine& machine = world().machine();
    const bool writes = direction == Direction::write;
    std::vector<Rpc> rpcs;
    for (const auto& [chunk, in] : chunks_of(object, request)) {
        if (writes) world().storage().note_extent(object.oid, in.first);
        rpcs.push_back({.target = object.target_of_chunk(chunk),
                        .service = (writes ? machine.array_write : machine.array_read) +
                                   static_cast<double>(in.extents - 1) * machine.further_extent +
                                   (writes ? overwriting(object, in) : 0),
                        .sent = writes ? in.bytes : 0,
                        .received = writes ? 0 : in.bytes,
                        .inline_up_to = machine.inline_put});
    }
    if (!rpcs.empty()) world().storage().send_all(client, std::move(rpcs));
}

// What is kept of a large value in the place of its bytes (contents.h).
std::optional<Contents::Value> marked_value(const daos_array_iod_t& request, const d_sg_list_t& memory)
{
    if (request.arr_nr != 1 || memory.sg_nr != 1) return std::nullopt;
    const d_iov_t& piece = memory.sg_iovs[0];
    if (!world().contents().takes(request.arr_rgs[0].rg_idx, piece.iov_len)) return std::nullopt;
    return Contents::Value{piece.iov_len, Contents::mark_of(piece.iov_buf)};
}

// Only of a value as a whole.
int give_mark(const Contents::Value& value, daos_array_iod_t& request, const d_sg_list_t& memory)
{
    const daos_range_t& range = request.arr_rgs[0];
    if (request.arr_nr != 1 || range.rg_idx != 0 || range.rg_len != value.length || memory.sg_nr != 1)
        return -DER_NOSYS;
    std::memcpy(memory.sg_iovs[0].iov_buf, value.mark.data(), value.mark.size());
    request.arr_nr_read = value.length;
    request.arr_nr_short_read = 0;
    return 0;
}

int write(daos_handle_t handle, daos_handle_t transaction, daos_array_iod_t* request, d_sg_list_t* memory,
          daos_event_t* event)
{
    // The memory is its caller's again before a call in the background has ended.
    const auto marked = marked_value(*request, *memory);
    return carry_out(event, false, [=](Client& client) {
        const OpenObject* object = opened(handle);
        if (object == nullptr) return -DER_NO_HDL;
        transfer_chunks(client, *object, *request, Direction::write);
        if (marked) {
            world().contents().put(object->container, object->oid, *marked);
            return 0;
        }
        return real().array_write(handle, transaction, request, memory, nullptr);
    });
}

int read(daos_handle_t handle, daos_handle_t transaction, daos_array_iod_t* request, d_sg_list_t* memory,
         daos_event_t* event)
{
    return carry_out(event, false, [=](Client& client) {
        const OpenObject* object = opened(handle);
        if (object == nullptr) return -DER_NO_HDL;
        transfer_chunks(client, *object, *request, Direction::read);
        if (const auto* value = world().contents().find(object->container, object->oid))
            return give_mark(*value, *request, *memory);
        return real().array_read(handle, transaction, request, memory, nullptr);
    });
}

void replace_objects(Library& library)
{
    library.pool_query = &query_pool;
    library.cont_open = &open_container;
    library.cont_close = &close_container;
    library.pool_sync = &sync_nothing;
    library.pool_sync_own = &sync_nothing;
    library.cont_create_snap = &create_snapshot;
    library.obj_generate_oid = &generate_oid;
    library.kv_open = &open_kv;
    library.kv_close = &close_kv;
    library.kv_put = &put;
    library.kv_get = &get;
    library.kv_get_many = nullptr; // as a DAOS system's
    library.kv_remove = &remove;
    library.kv_put_if = &put_if;
    library.kv_list = &OnAllTargets<&Library::kv_list>::call;
    library.kv_destroy = &OnAllTargets<&Library::kv_destroy>::call;
    library.array_open_with_attr = &open_array_with_attributes;
    library.array_close = &close_array;
    library.array_write = &write;
    library.array_read = &read;
    library.array_get_size = &OnAllTargets<&Library::array_get_size>::call;
    library.array_set_size = &OnAllTargets<&Library::array_set_size>::call;
    library.array_punch = &OnAllTargets<&Library::array_punch>::call;
    library.array_destroy = &OnAllTargets<&Library::array_destroy>::call;
}

} // namespace

Library simulated_library()
{
    Library library = real();
#define STEPSTORE_BY_POOL_SERVICE(member) library.member = &Call<&Library::member>::by_pool_service;
    STEPSTORE_BY_POOL_SERVICE(pool_connect)
    STEPSTORE_BY_POOL_SERVICE(cont_create_with_label)
    STEPSTORE_BY_POOL_SERVICE(cont_destroy)
    STEPSTORE_BY_POOL_SERVICE(cont_alloc_oids)
    STEPSTORE_BY_POOL_SERVICE(cont_list_snap)
    STEPSTORE_BY_POOL_SERVICE(cont_destroy_snap)
#undef STEPSTORE_BY_POOL_SERVICE
    replace_events(library);
    replace_objects(library);
    return library;
}

} // namespace stepstore::sim

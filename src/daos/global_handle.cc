// Bytes of a global handle, numbers little-endian:
//   - magic (4) "SGH1", kind (4), access (4), mode (4), pool uuid (16), container uuid (16)
//   - object id, hi (8) and lo (8), cell size (8), chunk size (8)
//   - length of the pool's path (8), the path, checksum of all before (8)
#include "daos/global_handle.h"

#include "base/record.h"

#include <cstring>
#include <vector>

namespace stepstore::daos {
namespace {

constexpr std::uint32_t magic = 0x31484753; // "SGH1"
constexpr std::size_t fixed_size = 88;

std::vector<std::byte> encode(const GlobalHandle& handle)
{
    std::vector<std::byte> bytes(fixed_size + handle.path.size() + checksum_size);
    std::byte* at = bytes.data();
    const auto put = [&at](auto number) {
        store_little(at, number);
        at += sizeof number;
    };
    const auto copy = [&at](const void* from, std::size_t size) {
        std::memcpy(at, from, size);
        at += size;
    };
    put(magic);
    put(static_cast<std::uint32_t>(handle.kind));
    put(static_cast<std::uint32_t>(handle.access));
    put(handle.mode);
    copy(handle.pool.data(), handle.pool.size());
    copy(handle.container.data(), handle.container.size());
    put(handle.oid.hi);
    put(handle.oid.lo);
    put(handle.attributes.cell_size);
    put(handle.attributes.chunk_size);
    put(std::uint64_t{handle.path.size()});
    copy(handle.path.data(), handle.path.size());
    seal_end(bytes);
    return bytes;
}

GlobalHandle decode(Bytes bytes)
{
    if (bytes.size() < fixed_size + checksum_size || load_little<std::uint32_t>(bytes.data()) != magic)
        invalid("these bytes are not a global handle");
    const auto unsealed = unseal_end(bytes);
    if (!unsealed) invalid("the global handle is damaged");
    const Bytes body = *unsealed;
    const std::byte* at = body.data() + 4;
    const auto get = [&at]<class T>(T& number) {
        number = load_little<T>(at);
        at += sizeof number;
    };
    const auto copy = [&at](void* into, std::size_t size) {
        std::memcpy(into, at, size);
        at += size;
    };
    GlobalHandle handle;
    std::uint32_t kind = 0;
    std::uint32_t access = 0;
    std::uint64_t path_size = 0;
    get(kind);
    get(access);
    get(handle.mode);
    copy(handle.pool.data(), handle.pool.size());
    copy(handle.container.data(), handle.container.size());
    get(handle.oid.hi);
    get(handle.oid.lo);
    get(handle.attributes.cell_size);
    get(handle.attributes.chunk_size);
    get(path_size);
    if (path_size != body.size() - fixed_size) invalid("the global handle is damaged");
    handle.kind = static_cast<Kind>(kind);
    handle.access = access == 0 ? store::Access::read_only : store::Access::read_write;
    handle.path = as_text(body.subspan(fixed_size));
    return handle;
}

void describe_object(GlobalHandle& handle, const ObjectResource& object, Kind kind)
{
    handle.kind = kind;
    handle.oid = {.lo = object.oid().lo, .hi = object.oid().hi};
    handle.mode = object.mode();
}

} // namespace

GlobalHandle describe(PoolResource& pool)
{
    GlobalHandle handle;
    handle.kind = Kind::pool;
    handle.pool = pool.uuid();
    handle.path = pool.path();
    handle.access = pool.access();
    return handle;
}

GlobalHandle describe(ContainerResource& container)
{
    GlobalHandle handle = describe(container.pool());
    handle.kind = Kind::container;
    handle.container = container.uuid();
    handle.access = container.access();
    return handle;
}

GlobalHandle describe(ArrayResource& array)
{
    GlobalHandle handle = describe(*array.parent());
    describe_object(handle, array, Kind::array);
    handle.attributes = array.attributes();
    return handle;
}

GlobalHandle describe(KeyValueResource& object)
{
    GlobalHandle handle = describe(*object.parent());
    describe_object(handle, object, Kind::key_value);
    return handle;
}

void put_global(const GlobalHandle& handle, d_iov_t* into)
{
    require(into, "the memory for the global handle");
    if (into->iov_buf && (into->iov_buf_len == 0 || into->iov_buf_len < into->iov_len))
        invalid("the memory for the global handle is smaller (iov_buf_len) than what is in it (iov_len)");
    const auto bytes = encode(handle);
    const std::size_t room = into->iov_buf_len;
    into->iov_buf_len = !into->iov_buf || room < bytes.size() ? bytes.size() : room;
    if (!into->iov_buf) return;
    if (room < bytes.size())
        throw Error(-DER_TRUNC, "the global handle needs " + std::to_string(bytes.size()) + " bytes, and " +
                                    std::to_string(room) + " were given: give more memory");
    std::memcpy(into->iov_buf, bytes.data(), bytes.size());
    into->iov_len = bytes.size();
}

GlobalHandle get_global(const d_iov_t& from, Kind kind)
{
    require(from.iov_buf, "the global handle");
    if (from.iov_len == 0 || from.iov_len > from.iov_buf_len)
        invalid("the global handle has no bytes (iov_len)");
    GlobalHandle handle = decode({static_cast<const std::byte*>(from.iov_buf), from.iov_len});
    if (handle.kind != kind) invalid(std::string("the global handle is not that of a ") + kind_name(kind));
    return handle;
}

} // namespace stepstore::daos

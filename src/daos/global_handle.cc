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
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(magic);
    to.fixed(static_cast<std::uint32_t>(handle.kind));
    to.fixed(static_cast<std::uint32_t>(handle.access));
    to.fixed(handle.mode);
    to.bytes(std::as_bytes(std::span(handle.pool)));
    to.bytes(std::as_bytes(std::span(handle.container)));
    for (const std::uint64_t number : {handle.oid.hi, handle.oid.lo, handle.attributes.cell_size,
                                       handle.attributes.chunk_size, handle.path.size()})
        to.fixed(number);
    to.bytes(as_bytes(handle.path));
    append_checksum(bytes);
    return bytes;
}

GlobalHandle decode(Bytes bytes)
{
    if (bytes.size() < fixed_size + checksum_size || load_little<std::uint32_t>(bytes.data()) != magic)
        invalid("these bytes are not a global handle");
    const auto body = unseal_end(bytes);
    if (!body) invalid("the global handle is damaged");
    WireReader from(body->subspan(sizeof magic), "the global handle");
    const auto uuid = [&from](store::Uuid& into) {
        std::memcpy(into.data(), from.bytes(into.size()).data(), into.size());
    };
    GlobalHandle handle;
    handle.kind = static_cast<Kind>(from.fixed<std::uint32_t>());
    handle.access = from.fixed<std::uint32_t>() == 0 ? store::Access::read_only : store::Access::read_write;
    handle.mode = from.fixed<std::uint32_t>();
    uuid(handle.pool);
    uuid(handle.container);
    for (auto* number :
         {&handle.oid.hi, &handle.oid.lo, &handle.attributes.cell_size, &handle.attributes.chunk_size})
        *number = from.fixed<std::uint64_t>();
    if (from.fixed<std::uint64_t>() != from.left()) invalid("the global handle is damaged");
    handle.path = as_text(from.bytes(from.left()));
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

#include "dfs/layout.h"

#include "dfs/failure.h"

#include <bit>
#include <cstring>

namespace stepstore::dfs {
namespace {

static_assert(std::endian::native == std::endian::little, "DAOS's layout is of little-endian machines");
static_assert(sizeof(mode_t) == 4 && sizeof(uid_t) == 4 && sizeof(gid_t) == 4 && sizeof(daos_obj_id_t) == 16);
static_assert(offsetof(daos_obj_id_t, lo) == 0 && offsetof(daos_obj_id_t, hi) == 8);

constexpr std::int64_t nanoseconds_of_second = 1'000'000'000;

template <class T>
void put(InodeBytes& bytes, std::size_t offset, const T& value)
{
    std::memcpy(&bytes[offset], &value, sizeof value);
}

template <class T>
T get(const InodeBytes& bytes, std::size_t offset)
{
    T value;
    std::memcpy(&value, &bytes[offset], sizeof value);
    return value;
}

timespec time_at(const InodeBytes& bytes, std::size_t seconds, std::size_t nanoseconds)
{
    return {.tv_sec = get<std::int64_t>(bytes, seconds), .tv_nsec = get<std::int64_t>(bytes, nanoseconds)};
}

bool is_time(const timespec& time)
{
    return time.tv_nsec >= 0 && time.tv_nsec < nanoseconds_of_second;
}

[[noreturn]] void damaged(const std::string& name, const std::string& why)
{
    fail(EIO, "the entry " + quoted(name) + " is damaged: " + why +
                  "; dfs_remove() with force takes it out of its directory");
}

} // namespace

InodeBytes encode(const Inode& inode)
{
    InodeBytes bytes{};
    put(bytes, at::mode, inode.mode);
    put(bytes, at::oid, inode.oid);
    put<std::int64_t>(bytes, at::modified, inode.modified.tv_sec);
    put<std::int64_t>(bytes, at::changed, inode.changed.tv_sec);
    put(bytes, at::chunk_size, inode.chunk_size);
    put(bytes, at::object_class, inode.object_class);
    put<std::int64_t>(bytes, at::modified_nanoseconds, inode.modified.tv_nsec);
    put<std::int64_t>(bytes, at::changed_nanoseconds, inode.changed.tv_nsec);
    put(bytes, at::user, inode.user);
    put(bytes, at::group, inode.group);
    put(bytes, at::size, inode.size);
    put(bytes, at::epoch, inode.epoch);
    return bytes;
}

Inode decode(const InodeBytes& bytes, std::size_t present, const std::string& name)
{
    if (present != at::end)
        damaged(name, "its inode has " + std::to_string(present) + " bytes, not " + std::to_string(at::end));
    Inode inode;
    inode.mode = get<mode_t>(bytes, at::mode);
    inode.oid = get<daos_obj_id_t>(bytes, at::oid);
    inode.modified = time_at(bytes, at::modified, at::modified_nanoseconds);
    inode.changed = time_at(bytes, at::changed, at::changed_nanoseconds);
    inode.chunk_size = get<std::uint64_t>(bytes, at::chunk_size);
    inode.object_class = get<daos_oclass_id_t>(bytes, at::object_class);
    inode.user = get<uid_t>(bytes, at::user);
    inode.group = get<gid_t>(bytes, at::group);
    inode.size = get<std::uint64_t>(bytes, at::size);
    inode.epoch = get<std::uint64_t>(bytes, at::epoch);
    if (!inode.is_directory() && !inode.is_file() && !inode.is_link())
        damaged(name, "its mode is " + std::to_string(inode.mode) +
                          ", which is no directory, file or symbolic link");
    const auto type = static_cast<unsigned>((inode.oid.hi & OID_FMT_TYPE_MASK) >> OID_FMT_TYPE_SHIFT);
    const unsigned expected = inode.is_file() ? DAOS_OT_ARRAY_BYTE : DAOS_OT_MULTI_HASHED;
    if (type != expected)
        damaged(name, "its object has type " + std::to_string(type) + ", not " + std::to_string(expected));
    if ((inode.oid.hi & OID_FMT_CLASS_MASK) == 0 || daos_obj_id2grp_nr(inode.oid) == 0)
        damaged(name, "its object has no class");
    const bool is_reserved = inode.oid.lo == 0 && (inode.oid.hi & UINT32_MAX) <= root_hi;
    if (is_reserved && name != root_name) damaged(name, "its object is the superblock or the root");
    if (inode.chunk_size >> 63 != 0)
        damaged(name, "its chunk size is " + std::to_string(inode.chunk_size) + " bytes");
    if (inode.is_link() && (inode.size == 0 || inode.size >= DFS_MAX_PATH))
        damaged(name, "the target of the link has " + std::to_string(inode.size) + " bytes");
    if (!is_time(inode.modified) || !is_time(inode.changed))
        damaged(name, "a time has more nanoseconds than a second has");
    return inode;
}

bool is_name(std::string_view name)
{
    return !name.empty() && name.size() <= DFS_MAX_NAME && name != "." && name != ".." &&
           name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::string name_of(const char* name)
{
    require(name, "name");
    std::string given(name, strnlen(name, DFS_MAX_NAME + 1));
    if (!is_name(given))
        fail(EINVAL, quoted(given) +
                         " is no name of an entry: give 1 to 255 bytes without '/' that are not '.' or '..'");
    return given;
}

timespec now()
{
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time;
}

} // namespace stepstore::dfs

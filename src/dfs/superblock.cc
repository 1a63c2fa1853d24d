#include "dfs/superblock.h"

#include "dfs/request.h"

#include <algorithm>
#include <cstring>
#include <strings.h>

namespace stepstore::dfs {
namespace {

constexpr std::uint32_t mode_bit = DFS_BALANCED; // the rest of the stored mode says nothing

void require_relaxed(std::uint32_t mode)
{
    if ((mode & mode_bit) != DFS_RELAXED)
        fail(ENOTSUP, "DFS_BALANCED needs transactions that write, which are not there: use DFS_RELAXED");
}

bool is(const std::string& text, const char* word)
{
    return ::strcasecmp(text.c_str(), word) == 0;
}

void parse_hint(const std::string& hint, bool has_copies, daos_oclass_hints_t& directories,
                daos_oclass_hints_t& files)
{
    const auto colon = hint.find(':');
    const std::string kind = hint.substr(0, colon);
    const std::string spread = colon == std::string::npos ? "" : hint.substr(colon + 1);
    const bool of_file = is(kind, "file");
    const bool is_known = of_file || is(kind, "dir") || is(kind, "directory");
    if (!is_known || (!is(spread, "single") && !is(spread, "max")))
        fail(EINVAL,
             "the hint " + quoted(hint) + " is not one: use file:single, file:max, dir:single or dir:max");
    unsigned bits = is(spread, "max") ? DAOS_OCH_SHD_MAX : DAOS_OCH_SHD_TINY;
    if (has_copies) bits |= DAOS_OCH_RDD_RP;
    (of_file ? files : directories) = static_cast<daos_oclass_hints_t>(bits);
}

struct Values {
    std::uint64_t magic = magic_value;
    std::uint16_t version = superblock_version;
    std::uint16_t layout = layout_version;
    dfs_attr_t attributes{};
};

// All but the hints. In the order of value_of()'s numbers.
void add_numbers(Request& request, const Values& values)
{
    const dfs_attr_t& of = values.attributes;
    request.single(magic_akey, &values.magic, sizeof values.magic);
    request.single(superblock_version_akey, &values.version, sizeof values.version);
    request.single(layout_version_akey, &values.layout, sizeof values.layout);
    request.single(chunk_size_akey, &of.da_chunk_size, sizeof of.da_chunk_size);
    request.single(mode_akey, &of.da_mode, sizeof of.da_mode);
    request.single(class_akey, &of.da_oclass_id, sizeof of.da_oclass_id);
    request.single(directory_class_akey, &of.da_dir_oclass_id, sizeof of.da_dir_oclass_id);
    request.single(file_class_akey, &of.da_file_oclass_id, sizeof of.da_file_oclass_id);
}

template <class T>
T value_of(const Request& request, unsigned i, const T& value, std::string_view akey)
{
    if (request.filled(i) != sizeof(T))
        fail(EIO, "the superblock is damaged: " + std::string(akey) + " has " +
                      std::to_string(request.filled(i)) + " bytes");
    return value;
}

} // namespace

dfs_attr_t stored_attributes(const dfs_attr_t* given)
{
    dfs_attr_t stored{};
    if (given) {
        stored = *given;
        if (strnlen(given->da_hints, sizeof given->da_hints) == sizeof given->da_hints)
            fail(EINVAL,
                 "the hints are longer than " + std::to_string(DAOS_CONT_HINT_MAX_LEN - 1) + " bytes");
    }
    require_relaxed(stored.da_mode);
    stored.da_props = nullptr;
    stored.da_id = 0;
    if (stored.da_dir_oclass_id == 0) stored.da_dir_oclass_id = stored.da_oclass_id;
    if (stored.da_file_oclass_id == 0) stored.da_file_oclass_id = stored.da_oclass_id;
    if (stored.da_chunk_size == 0) stored.da_chunk_size = DFS_DEFAULT_CHUNK_SIZE;
    if (stored.da_chunk_size >> 63 != 0) fail(EINVAL, "a chunk has 2^63 bytes or more");
    return stored;
}

void parse_hints(const char* text, bool has_copies, daos_oclass_hints_t& directories,
                 daos_oclass_hints_t& files)
{
    directories = files = 0;
    std::string_view rest(text);
    while (!rest.empty()) {
        const auto end = std::min(rest.find(','), rest.size());
        parse_hint(std::string(rest.substr(0, end)), has_copies, directories, files);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

daos_obj_id_t reserved_oid(daos_handle_t pool, std::uint64_t hi, const dfs_attr_t& attributes,
                           bool has_copies)
{
    daos_oclass_hints_t directories, files;
    parse_hints(attributes.da_hints, has_copies, directories, files);
    const auto wanted = attributes.da_dir_oclass_id;
    std::uint64_t redundancy = has_copies ? OR_RP_2 : OR_RP_1;
    std::uint64_t groups = (directories & DAOS_OCH_SHD_MAX) != 0 ? MAX_NUM_GROUPS : 1;
    if (wanted != 0) {
        redundancy = wanted >> OC_REDUN_SHIFT;
        groups = wanted & ((1U << OC_REDUN_SHIFT) - 1);
    }
    if (redundancy != OR_RP_1 && redundancy != OR_RP_2)
        fail(EINVAL, "directories of object class " + std::to_string(wanted) +
                         " are not stored: use one with one copy (S1 ... SX) or two (RP_2G1 ... RP_2GX)");
    if (groups == MAX_NUM_GROUPS) {
        daos_pool_info_t info{};
        require_done(daos_pool_query(pool, nullptr, &info, nullptr, nullptr),
                     "asking for the targets of the pool");
        groups = std::max<std::uint64_t>(1, info.pi_ntargets / (redundancy == OR_RP_2 ? 2 : 1));
    }
    return {.lo = 0, .hi = hi | redundancy << OID_FMT_CLASS_SHIFT | groups << OID_FMT_META_SHIFT};
}

void make_superblock(daos_handle_t container, daos_obj_id_t superblock, daos_obj_id_t root,
                     const dfs_attr_t& attributes)
{
    const Handle handle = Handle::object(container, superblock, DAOS_OO_RW);
    Values values;
    values.attributes = attributes;
    Request request;
    add_numbers(request, values);
    if (attributes.da_hints[0] != '\0')
        request.single(hints_akey, attributes.da_hints, std::strlen(attributes.da_hints) + 1);
    // The root comes first: a superblock without a root would be a file system that nobody can mount or mend.
    Entry entry;
    entry.inode.mode = S_IFDIR | 0755;
    entry.inode.oid = root;
    entry.inode.modified = entry.inode.changed = now();
    entry.inode.user = ::geteuid();
    entry.inode.group = ::getegid();
    insert({handle.get(), root_name}, entry);
    require_done(request.update(handle.get(), DAOS_COND_DKEY_INSERT, superblock_dkey),
                 "making the superblock");
}

dfs_attr_t read_superblock(daos_handle_t superblock)
{
    Values values; // as fetched
    dfs_attr_t& found = values.attributes;
    Request request;
    add_numbers(request, values);
    request.single(hints_akey, found.da_hints, sizeof found.da_hints);
    const int code = request.fetch(superblock, DAOS_TX_NONE, 0, superblock_dkey);
    if (code == -DER_REC2BIG) fail(EIO, "the superblock is damaged: a value is too long");
    require_done(code, "reading the superblock");
    if (request.iods()[0].iod_size == 0)
        fail(ENOENT, "the container has no file system: make it with dfs_cont_create()");
    if (value_of(request, 0, values.magic, magic_akey) != magic_value)
        fail(EINVAL, "the superblock has a wrong magic number: this is no file system");
    if (value_of(request, 1, values.version, superblock_version_akey) > superblock_version ||
        value_of(request, 2, values.layout, layout_version_akey) != layout_version)
        fail(EINVAL, "the file system has superblock version " + std::to_string(values.version) +
                         " and layout version " + std::to_string(values.layout) +
                         ", and this library knows 2 and 3: use DAOS's tools to change it");
    value_of(request, 3, found.da_chunk_size, chunk_size_akey);
    value_of(request, 4, found.da_mode, mode_akey);
    require_relaxed(found.da_mode);
    if (found.da_chunk_size == 0) found.da_chunk_size = DFS_DEFAULT_CHUNK_SIZE;
    if (found.da_chunk_size >> 63 != 0)
        fail(EIO, "the superblock is damaged: its chunk size is " + std::to_string(found.da_chunk_size));
    found.da_hints[sizeof found.da_hints - 1] = '\0';
    return found;
}

} // namespace stepstore::dfs

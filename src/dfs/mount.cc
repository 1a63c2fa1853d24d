#include "dfs/mount.h"

#include "dfs/superblock.h"

#include <cstring>

namespace stepstore::dfs {
namespace {

// The properties of a container that say how its file system is found.
struct Facts {
    daos_obj_id_t superblock{};
    daos_obj_id_t root{};
    bool has_copies = false; // of each object
    bool is_copy = false;    // the container is one
};

// A container that was copied object by object has no properties. Its superblock is where directories of a
// file system usually are: on one target, or on all.
std::optional<Facts> facts_of_copy(daos_handle_t pool, daos_handle_t container)
{
    for (const daos_oclass_id_t oclass : {OC_S1, OC_RP_2G1, OC_SX, OC_RP_2GX}) {
        dfs_attr_t guess{};
        guess.da_dir_oclass_id = oclass;
        const daos_obj_id_t superblock = reserved_oid(pool, superblock_hi, guess, false);
        daos_handle_t handle{};
        if (daos_obj_open(container, superblock, DAOS_OO_RO, &handle, nullptr) != 0)
            continue; // of no such class
        const bool is_there = has_entries(DAOS_TX_NONE, handle);
        daos_obj_close(handle, nullptr);
        if (is_there)
            return Facts{superblock, reserved_oid(pool, root_hi, guess, false),
                         daos_obj_id2ord(superblock) != OR_RP_1, true};
    }
    return std::nullopt;
}

Facts facts_of(daos_handle_t pool, daos_handle_t container)
{
    struct Freed {
        daos_prop_t* list = daos_prop_alloc(3);
        ~Freed() { daos_prop_free(list); }
    } properties;
    if (!properties.list) throw std::bad_alloc();
    daos_prop_entry* const entries = properties.list->dpp_entries;
    entries[0].dpe_type = DAOS_PROP_CO_LAYOUT_TYPE;
    entries[1].dpe_type = DAOS_PROP_CO_ROOTS;
    entries[2].dpe_type = DAOS_PROP_CO_REDUN_FAC;
    require_done(daos_cont_query(container, nullptr, properties.list, nullptr),
                 "asking for the container's properties");
    if (entries[0].dpe_val == DAOS_PROP_CO_LAYOUT_UNKNOWN)
        if (const auto found = facts_of_copy(pool, container)) return *found;
    if (entries[0].dpe_val != DAOS_PROP_CO_LAYOUT_POSIX)
        fail(EINVAL, "the container is not of the layout POSIX: make one with dfs_cont_create()");
    Facts facts;
    if (daos_prop_is_set(&entries[1]) && entries[1].dpe_val_ptr) {
        const auto* roots = static_cast<const daos_prop_co_roots*>(entries[1].dpe_val_ptr);
        facts.superblock = roots->cr_oids[0];
        facts.root = roots->cr_oids[1];
    }
    if (daos_obj_id_is_nil(facts.superblock) || daos_obj_id_is_nil(facts.root))
        fail(EIO, "the container does not say which objects its superblock and its root are "
                  "(DAOS_PROP_CO_ROOTS): make it with dfs_cont_create()");
    facts.has_copies = entries[2].dpe_val > 0;
    return facts;
}

void open_root(::dfs& fs, daos_obj_id_t oid, int flags)
{
    const auto entry = fetch(fs.th, {fs.superblock.get(), root_name});
    if (!entry || !entry->inode.is_directory())
        fail(EIO, "the superblock is damaged: it has no entry of the root");
    if (!same(entry->inode.oid, oid))
        fail(EIO, "the superblock is damaged: its root is another object than the container says");
    fs.root.fs = &fs;
    fs.root.mode = entry->inode.mode;
    fs.root.flags = flags;
    fs.root.at = level(oid, std::string(root_name), nullptr);
    fs.root.object_class = entry->inode.object_class;
    fs.root.chunk_size = entry->inode.chunk_size;
    fs.root.handle = Handle::object(fs.container, oid, mode_of(flags));
}

// The properties of a new container: those given, and those of a file system.
struct Properties {
    std::vector<daos_prop_entry> entries;
    daos_prop_co_roots roots{};
    bool has_copies = false;

    Properties(const daos_prop_t* given, const char* label)
    {
        if (given && given->dpp_nr > 0) {
            require(given->dpp_entries, "the list of properties");
            for (std::uint32_t i = 0; i < given->dpp_nr; ++i) {
                const daos_prop_entry& entry = given->dpp_entries[i];
                const bool is_ours = entry.dpe_type == DAOS_PROP_CO_ROOTS ||
                                     entry.dpe_type == DAOS_PROP_CO_LAYOUT_TYPE ||
                                     (label && entry.dpe_type == DAOS_PROP_CO_LABEL);
                if (entry.dpe_type == DAOS_PROP_CO_REDUN_FAC) has_copies = entry.dpe_val > 0;
                if (!is_ours) entries.push_back(entry);
            }
        }
        add(DAOS_PROP_CO_LAYOUT_TYPE).dpe_val = DAOS_PROP_CO_LAYOUT_POSIX;
        add(DAOS_PROP_CO_ROOTS).dpe_val_ptr = &roots;
        if (label) add(DAOS_PROP_CO_LABEL).dpe_str = const_cast<char*>(label); // only read
    }
    daos_prop_entry& add(std::uint32_t type)
    {
        daos_prop_entry& entry = entries.emplace_back();
        entry = {};
        entry.dpe_type = type;
        return entry;
    }
};

} // namespace

std::unique_ptr<::dfs> mount(daos_handle_t pool, daos_handle_t container, int flags, daos_epoch_t epoch)
{
    if ((flags & DFS_BALANCED) != 0)
        fail(ENOTSUP, "DFS_BALANCED needs transactions that write, which are not there: mount without it");
    const int access = epoch == DAOS_EPOCH_MAX ? flags & O_ACCMODE : O_RDONLY;
    if (access != O_RDONLY && access != O_RDWR)
        fail(EINVAL, "a file system is mounted with O_RDONLY or O_RDWR");
    const Facts facts = facts_of(pool, container);
    auto fs = std::make_unique<::dfs>();
    fs->pool = pool;
    fs->container = container;
    fs->access = access;
    fs->is_copy = facts.is_copy;
    fs->superblock_oid = facts.superblock;
    if (epoch != DAOS_EPOCH_MAX)
        require_done(daos_tx_open_snap(container, epoch, &fs->th, nullptr), "opening the snapshot");
    fs->superblock = Handle::object(container, facts.superblock, mode_of(access));
    fs->attributes = read_superblock(fs->superblock.get());
    parse_hints(fs->attributes.da_hints, facts.has_copies, fs->directory_hints, fs->file_hints);
    open_root(*fs, facts.root, access);
    return fs;
}

daos_epoch_t snapshot_epoch(daos_handle_t container, daos_epoch_t epoch, const char* name)
{
    if (epoch == DAOS_EPOCH_MAX) fail(EINVAL, "the epoch is of no snapshot");
    if (epoch != 0) return epoch;
    require(name, "the name of the snapshot");
    int count = 0;
    daos_anchor_t anchor{};
    require_done(daos_cont_list_snap(container, &count, nullptr, nullptr, &anchor, nullptr),
                 "listing snapshots");
    const auto room = static_cast<std::size_t>(count);
    std::vector<daos_epoch_t> epochs(room);
    std::vector<std::array<char, DAOS_SNAPSHOT_MAX_LEN>> texts(room);
    std::vector<char*> names;
    for (auto& text : texts)
        names.push_back(text.data());
    anchor = {};
    require_done(daos_cont_list_snap(container, &count, epochs.data(), names.data(), &anchor, nullptr),
                 "listing snapshots");
    for (std::size_t i = 0; i < std::min(room, static_cast<std::size_t>(count)); ++i)
        if (std::strncmp(names[i], name, DAOS_SNAPSHOT_MAX_LEN) == 0) return epochs[i];
    fail(ENOENT, "there is no snapshot " + quoted(name));
}

std::string text_of(const Uuid& uuid)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits[uuid[i] >> 4];
        text += digits[uuid[i] & 15];
    }
    return text;
}

Made make(daos_handle_t pool, const char* label, const dfs_attr_t* attributes)
{
    const dfs_attr_t stored = stored_attributes(attributes);
    Properties properties(attributes ? attributes->da_props : nullptr, label);
    properties.roots.cr_oids[0] = reserved_oid(pool, superblock_hi, stored, properties.has_copies);
    properties.roots.cr_oids[1] = reserved_oid(pool, root_hi, stored, properties.has_copies);
    daos_prop_t list{static_cast<std::uint32_t>(properties.entries.size()), 0, properties.entries.data()};
    Made made{};
    uuid_t uuid;
    require_done(daos_cont_create(pool, &uuid, &list, nullptr), "making the container");
    std::memcpy(made.uuid.data(), uuid, sizeof uuid);
    const std::string name = text_of(made.uuid);
    try {
        require_done(daos_cont_open(pool, name.c_str(), DAOS_COO_RW, &made.container, nullptr, nullptr),
                     "opening the new container");
        make_superblock(made.container, properties.roots.cr_oids[0], properties.roots.cr_oids[1], stored);
    } catch (...) { // nobody else knows it: it has no superblock
        if (daos_handle_is_valid(made.container)) daos_cont_close(made.container, nullptr);
        daos_cont_destroy(pool, name.c_str(), 1, nullptr);
        throw;
    }
    return made;
}

} // namespace stepstore::dfs

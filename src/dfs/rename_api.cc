// dfs_: entries are removed and renamed.
#include "dfs/rename.h"

#include <cstdio>

using namespace stepstore::dfs;

namespace {

Spot spot_in(::dfs& fs, dfs_obj_t* parent, const char* name)
{
    const dfs_obj& in = directory(fs, parent);
    return {in.at, in.handle.get(), name_of(name)};
}

} // namespace

extern "C" {

int dfs_remove(dfs_t* dfs, dfs_obj_t* parent, const char* name, bool force, daos_obj_id_t* oid)
{
    return run("dfs_remove", [&] {
        ::dfs& fs = writable(dfs);
        const auto removed = remove(fs, spot_in(fs, parent, name), force);
        if (oid) *oid = removed;
    });
}

int dfs_move(dfs_t* dfs, dfs_obj_t* parent, const char* name, dfs_obj_t* new_parent, const char* new_name,
             daos_obj_id_t* oid)
{
    return run("dfs_move", [&] {
        ::dfs& fs = writable(dfs);
        const auto replaced = move(fs, spot_in(fs, parent, name), spot_in(fs, new_parent, new_name));
        if (oid && !daos_obj_id_is_nil(replaced)) *oid = replaced;
    });
}

int dfs_rename(dfs_t* dfs, dfs_obj_t* parent, const char* name, dfs_obj_t* new_parent, const char* new_name,
               unsigned flags)
{
    return run("dfs_rename", [&] {
        ::dfs& fs = writable(dfs);
        const Spot from = spot_in(fs, parent, name), to = spot_in(fs, new_parent, new_name);
        switch (flags) {
        case 0:
        case RENAME_NOREPLACE: move(fs, from, to, flags == 0); break;
        case RENAME_EXCHANGE:
            for (const Spot* spot : {&from, &to})
                settled(fs, *spot); // ENOENT
            exchange(fs, from, to, new_oid(fs, 0, false));
            break;
        default: fail(EINVAL, "the flags are not 0, RENAME_NOREPLACE or RENAME_EXCHANGE");
        }
    });
}

int dfs_exchange(dfs_t* dfs, dfs_obj_t* parent1, const char* name1, dfs_obj_t* parent2, const char* name2)
{
    return run("dfs_exchange", [&] {
        ::dfs& fs = writable(dfs);
        exchange(fs, spot_in(fs, parent1, name1), spot_in(fs, parent2, name2), new_oid(fs, 0, false));
    });
}

} // extern "C"

// dfs_: classes and chunks of objects, as they are and as new ones get them.
#include "dfs/superblock.h"

using namespace stepstore::dfs;

namespace {

daos_oclass_id_t class_by(daos_handle_t container, bool of_file, daos_oclass_hints_t hints)
{
    daos_obj_id_t oid{1, 2};
    require_done(daos_obj_generate_oid(container, &oid, of_file ? DAOS_OT_ARRAY_BYTE : DAOS_OT_MULTI_HASHED,
                                       0, hints, 0),
                 "asking for the class of new objects");
    return daos_obj_id2class(oid);
}

daos_oclass_id_t class_or_default(const ::dfs& fs, daos_oclass_id_t oclass, bool of_file)
{
    if (oclass != 0) return oclass;
    return class_by(fs.container, of_file, of_file ? fs.file_hints : fs.directory_hints);
}

} // namespace

extern "C" {

int dfs_query(dfs_t* dfs, dfs_attr_t* attr)
{
    return run("dfs_query", [&] {
        require(attr, "attr");
        dfs_attr_t known = file_system(dfs).attributes;
        known.da_dir_oclass_id = class_or_default(*dfs, known.da_dir_oclass_id, false);
        known.da_file_oclass_id = class_or_default(*dfs, known.da_file_oclass_id, true);
        *attr = known;
    });
}

int dfs_obj_get_info(dfs_t* dfs, dfs_obj_t* obj, dfs_obj_info_t* info)
{
    return run("dfs_obj_get_info", [&] {
        require(info, "info");
        ::dfs& fs = file_system(dfs);
        const dfs_obj& of = object(obj);
        dfs_obj_info_t known{};
        known.doi_oid = of.oid();
        if (!S_ISLNK(of.mode)) known.doi_oclass_id = daos_obj_id2class(of.oid());
        if (S_ISDIR(of.mode)) {
            const daos_oclass_id_t own = of.object_class;
            known.doi_dir_oclass_id =
                class_or_default(fs, own != 0 ? own : fs.attributes.da_dir_oclass_id, false);
            known.doi_file_oclass_id =
                class_or_default(fs, own != 0 ? own : fs.attributes.da_file_oclass_id, true);
            const std::uint64_t chunk = of.chunk_size;
            known.doi_chunk_size = chunk != 0 ? chunk : fs.attributes.da_chunk_size;
        } else if (S_ISREG(of.mode)) {
            daos_size_t cell = 0;
            require_done(daos_array_get_attr(of.handle.get(), &known.doi_chunk_size, &cell),
                         "asking for a chunk");
        }
        *info = known;
    });
}

int dfs_suggest_oclass(dfs_t* dfs, const char* hint, daos_oclass_id_t* cid)
{
    return run("dfs_suggest_oclass", [&] {
        const ::dfs& fs = file_system(dfs);
        require(hint, "hint");
        require(cid, "cid");
        if (strnlen(hint, DAOS_CONT_HINT_MAX_LEN) == DAOS_CONT_HINT_MAX_LEN)
            fail(EINVAL, "the hint is too long");
        daos_oclass_hints_t directories, files;
        parse_hints(hint, daos_obj_id2ord(fs.superblock_oid) != OR_RP_1, directories, files);
        if ((directories == 0) == (files == 0)) fail(EINVAL, "give one hint: of files, or of directories");
        *cid = class_by(fs.container, files != 0, files != 0 ? files : directories);
    });
}

} // extern "C"

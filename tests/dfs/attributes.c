/* Extended attributes; connections, and handles for other processes. */
#include "files.h"

#include <sys/xattr.h>

static void attributes(dfs_t* fs)
{
    dfs_obj_t* const obj = opened(fs, NULL, "f", S_IFREG | 0600, O_CREAT | O_RDWR);
    static char value[DFS_MAX_XATTR_LEN + 1], out[DFS_MAX_XATTR_LEN];
    char name[DFS_MAX_XATTR_NAME + 2], list[1024];
    daos_size_t size = 0;
    memset(value, 'v', sizeof value);
    memset(name, 'n', sizeof name);
    name[DFS_MAX_XATTR_NAME + 1] = '\0';
    CHECK_ERRNO(dfs_getxattr(fs, obj, "user.a", NULL, &size), ENODATA);
    CHECK_ERRNO(dfs_removexattr(fs, obj, "user.a"), ENODATA);
    CHECK_ERRNO(dfs_setxattr(fs, obj, "user.a", "1", 1, XATTR_REPLACE), ENOENT);
    CHECK_DONE(dfs_setxattr(fs, obj, "user.a", "1", 1, XATTR_CREATE));
    CHECK_ERRNO(dfs_setxattr(fs, obj, "user.a", "2", 1, XATTR_CREATE), EEXIST);
    CHECK_DONE(dfs_setxattr(fs, obj, "user.a", "22", 2, XATTR_REPLACE));
    CHECK_DONE(dfs_getxattr(fs, obj, "user.a", NULL, &size));
    CHECK_EQUAL(size, 2);
    size = 1;
    CHECK_ERRNO(dfs_getxattr(fs, obj, "user.a", out, &size), E2BIG);
    CHECK_EQUAL(size, 2);
    CHECK_DONE(dfs_getxattr(fs, obj, "user.a", out, &size));
    CHECK(memcmp(out, "22", 2) == 0);
    CHECK_ERRNO(dfs_setxattr(fs, obj, name, "1", 1, 0), EINVAL);
    CHECK_ERRNO(dfs_setxattr(fs, obj, "", "1", 1, 0), EINVAL);
    CHECK_ERRNO(dfs_setxattr(fs, obj, "b", "", 0, 0), EINVAL);
    CHECK_ERRNO(dfs_setxattr(fs, obj, "b", value, sizeof value, 0), EINVAL);
    name[DFS_MAX_XATTR_NAME] = '\0';
    CHECK_DONE(dfs_setxattr(fs, obj, name, value, DFS_MAX_XATTR_LEN, 0));
    size = sizeof out;
    CHECK_DONE(dfs_getxattr(fs, obj, name, out, &size));
    CHECK(size == DFS_MAX_XATTR_LEN && memcmp(out, value, size) == 0);
    size = 0;
    CHECK_DONE(dfs_listxattr(fs, obj, NULL, &size));
    CHECK_EQUAL(size, 7 + DFS_MAX_XATTR_NAME + 1);
    size = 7;
    memset(list, '?', sizeof list);
    CHECK_DONE(dfs_listxattr(fs, obj, list, &size));
    CHECK_EQUAL(size, 7 + DFS_MAX_XATTR_NAME + 1);
    CHECK(memcmp(list, "user.a\0?", 8) == 0);
    CHECK_DONE(dfs_removexattr(fs, obj, name));
    dfs_obj_t* const top = looked_up(fs, "/", O_RDWR);
    CHECK_DONE(dfs_setxattr(fs, top, "of the root", "1", 1, 0));
    CHECK_DONE(dfs_release(top));
    CHECK_DONE(dfs_release(obj));
    CHECK_DONE(dfs_remove(fs, NULL, "f", false, NULL));
    /* They go with their entry. */
    dfs_obj_t* const again = opened(fs, NULL, "f", S_IFREG | 0600, O_CREAT | O_RDWR);
    CHECK_ERRNO(dfs_getxattr(fs, again, "user.a", NULL, &size), ENODATA);
    CHECK_DONE(dfs_release(again));
}

static d_iov_t room_for(d_iov_t size)
{
    d_iov_t glob;
    d_iov_set(&glob, malloc(size.iov_buf_len), size.iov_buf_len);
    CHECK(glob.iov_buf != NULL);
    return glob;
}

static void handles(struct mounted const* mounted)
{
    d_iov_t glob = {0}, of_object = {0};
    dfs_t* other = NULL;
    dfs_obj_t* obj = opened(mounted->fs, NULL, "global", S_IFREG | 0600, O_CREAT | O_RDWR);
    dfs_obj_t* again = NULL;
    dfs_obj_t* twice = NULL;
    struct memory memory;
    struct stat status;
    CHECK_DONE(dfs_local2global(mounted->fs, &glob));
    glob = room_for(glob);
    --glob.iov_buf_len;
    CHECK_ERRNO(dfs_local2global(mounted->fs, &glob), ENOBUFS);
    CHECK_DONE(dfs_local2global(mounted->fs, &glob));
    CHECK_DONE(dfs_global2local(mounted->pool, mounted->container, 0, glob, &other));
    CHECK_DONE(dfs_obj_local2global(mounted->fs, obj, &of_object));
    of_object = room_for(of_object);
    CHECK_DONE(dfs_obj_local2global(mounted->fs, obj, &of_object));
    CHECK_DONE(dfs_obj_global2local(other, 0, of_object, &again));
    CHECK_DONE(dfs_write(other, again, memory_of(&memory, "shared", 6), 0, NULL));
    CHECK_DONE(dfs_dup(other, again, O_RDONLY, &twice));
    CHECK_ERRNO(dfs_write(other, twice, memory_of(&memory, "x", 1), 0, NULL), EPERM);
    CHECK_DONE(dfs_ostat(other, again, &status));
    CHECK_EQUAL(status.st_size, 6);
    CHECK(strcmp(text_of(mounted->fs, NULL, "global"), "shared") == 0);
    CHECK_DONE(dfs_release(obj));
    CHECK_DONE(dfs_release(again));
    CHECK_DONE(dfs_release(twice));
    /* Any byte of them damaged: an error or a handle, never a crash. */
    for (size_t i = 0; i < of_object.iov_len; ++i) {
        ((unsigned char*)of_object.iov_buf)[i] ^= 0xff;
        if (dfs_obj_global2local(other, 0, of_object, &again) == 0) CHECK_DONE(dfs_release(again));
        ((unsigned char*)of_object.iov_buf)[i] ^= 0xff;
    }
    of_object.iov_len = 3;
    CHECK_ERRNO(dfs_obj_global2local(other, 0, of_object, &again), EINVAL);
    CHECK_DONE(dfs_umount(other));
    free(glob.iov_buf);
    free(of_object.iov_buf);
}

static void connections(char const* path)
{
    dfs_t* fs = NULL;
    dfs_t* second = NULL;
    dfs_t* third = NULL;
    dfs_attr_t attr = {0};
    d_iov_t glob = {0};
    daos_handle_t pool, container;
    CHECK_ERRNO(dfs_connect(path, NULL, "made", O_RDWR | O_CREAT, NULL, &fs), EACCES);
    CHECK_DONE(dfs_init());
    CHECK_ERRNO(dfs_connect(path, NULL, "made", O_RDWR, NULL, &fs), ENOENT);
    strcpy(attr.da_hints, "file:max,dir:max");
    attr.da_chunk_size = 1 << 16;
    CHECK_DONE(dfs_connect(path, NULL, "made", O_RDWR | O_CREAT, &attr, &fs));
    CHECK_DONE(dfs_connect(path, NULL, "made", O_RDWR | O_CREAT, NULL, &second));
    memset(&attr, 0, sizeof attr);
    CHECK_DONE(dfs_query(second, &attr));
    CHECK_EQUAL(attr.da_chunk_size, 1 << 16);
    CHECK(strcmp(attr.da_hints, "file:max,dir:max") == 0);
    CHECK(attr.da_dir_oclass_id != 0 && attr.da_file_oclass_id != 0);
    daos_oclass_id_t cid = 0;
    CHECK_DONE(dfs_suggest_oclass(fs, "file:max", &cid));
    CHECK_EQUAL(cid, attr.da_file_oclass_id);
    CHECK_DONE(dfs_suggest_oclass(fs, "dir:single", &cid));
    CHECK_EQUAL(cid, OC_S1);
    CHECK_ERRNO(dfs_suggest_oclass(fs, "file:some", &cid), EINVAL);
    CHECK_ERRNO(dfs_suggest_oclass(fs, "", &cid), EINVAL);
    CHECK_ERRNO(dfs_suggest_oclass(fs, NULL, &cid), EINVAL);
    new_file(fs, NULL, "f", "text");
    CHECK(strcmp(text_of(second, NULL, "f"), "text") == 0);
    CHECK_ERRNO(dfs_umount(fs), EINVAL);
    CHECK_DONE(dfs_pool_get(fs, &pool));
    CHECK_DONE(dfs_cont_get(fs, &container));
    CHECK_ERRNO(dfs_disconnect(fs), EBUSY);
    CHECK_ERRNO(dfs_pool_put(fs, container), EINVAL);
    CHECK_DONE(dfs_pool_put(fs, pool));
    CHECK_ERRNO(dfs_pool_put(fs, pool), EINVAL);
    CHECK_DONE(dfs_cont_put(fs, container));
    CHECK_DONE(dfs_local2global_all(fs, &glob));
    glob = room_for(glob);
    CHECK_DONE(dfs_local2global_all(fs, &glob));
    CHECK_DONE(dfs_global2local_all(0, glob, &third));
    free(glob.iov_buf);
    CHECK(strcmp(text_of(third, NULL, "f"), "text") == 0);
    CHECK_DONE(dfs_mkdir(third, NULL, "d", 0700, 0));
    CHECK_DONE(dfs_disconnect(third));
    CHECK_DONE(dfs_connect(path, NULL, "made", O_RDONLY, NULL, &third));
    CHECK_ERRNO(dfs_mkdir(third, NULL, "e", 0700, 0), EPERM);
    CHECK_ERRNO(dfs_remove(third, NULL, "f", false, NULL), EPERM);
    CHECK_DONE(dfs_set_prefix(fs, "/mnt/here/"));
    dfs_obj_t* obj = NULL;
    CHECK_DONE(dfs_release(looked_up(fs, "/mnt/here/f", O_RDONLY)));
    CHECK_DONE(dfs_release(looked_up(fs, "/mnt/here", O_RDONLY)));
    CHECK_ERRNO(dfs_lookup(fs, "/mnt/heref", O_RDONLY, &obj, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_lookup(fs, "/f", O_RDONLY, &obj, NULL, NULL), EINVAL);
    CHECK_DONE(dfs_set_prefix(fs, NULL));
    CHECK_ERRNO(dfs_destroy(path, NULL, "made", 0, NULL), EBUSY);
    CHECK_DONE(dfs_disconnect(third));
    CHECK_DONE(dfs_disconnect(second));
    CHECK_DONE(dfs_disconnect(fs));
    CHECK_DONE(dfs_destroy(path, NULL, "made", 0, NULL));
    CHECK_ERRNO(dfs_destroy(path, NULL, "made", 0, NULL), ENOENT);
    CHECK_DONE(dfs_fini());
    CHECK_ERRNO(dfs_fini(), EINVAL);
}

static void refused(struct mounted const* mounted)
{
    dfs_attr_t attr = {0};
    daos_handle_t container;
    dfs_t* fs = NULL;
    uuid_t uuid;
    attr.da_mode = DFS_BALANCED;
    CHECK_ERRNO(dfs_cont_create(mounted->pool, &uuid, &attr, NULL, NULL), ENOTSUP);
    CHECK_ERRNO(dfs_mount(mounted->pool, mounted->container, O_RDWR | DFS_BALANCED, &fs), ENOTSUP);
    attr.da_mode = DFS_RELAXED;
    strcpy(attr.da_hints, "file:some");
    CHECK_ERRNO(dfs_cont_create(mounted->pool, &uuid, &attr, NULL, NULL), EINVAL);
    attr.da_hints[0] = '\0';
    attr.da_dir_oclass_id = OC_EC_2P1G1;
    CHECK_ERRNO(dfs_cont_create(mounted->pool, &uuid, &attr, NULL, NULL), EINVAL);
    CHECK_ERRNO(dfs_cont_create_with_label(mounted->pool, "files", NULL, &uuid, NULL, NULL), EEXIST);
    CHECK_OK(daos_cont_create_with_label(mounted->pool, "plain", NULL, NULL, NULL));
    CHECK_OK(daos_cont_open(mounted->pool, "plain", DAOS_COO_RW, &container, NULL, NULL));
    CHECK_ERRNO(dfs_mount(mounted->pool, container, O_RDWR, &fs), EINVAL);
    CHECK_OK(daos_cont_close(container, NULL));
    CHECK_ERRNO(dfs_mount(mounted->pool, DAOS_HDL_INVAL, O_RDWR, &fs), EINVAL);
}

/* Copies an object of dkeys and akeys, with values and arrays of bytes, into another container. */
static void copy_object(daos_handle_t from, daos_handle_t to, daos_obj_id_t oid)
{
    daos_handle_t source, target;
    daos_anchor_t dkeys = {0};
    CHECK_OK(daos_obj_open(from, oid, DAOS_OO_RO, &source, NULL));
    CHECK_OK(daos_obj_open(to, oid, DAOS_OO_RW, &target, NULL));
    while (!daos_anchor_is_eof(&dkeys)) {
        char dkey[300], akey[300], bytes[300];
        daos_key_desc_t described;
        uint32_t nr = 1;
        struct memory memory, of_value;
        daos_anchor_t akeys = {0};
        CHECK_OK(daos_obj_list_dkey(source, DAOS_TX_NONE, &nr, &described, memory_of(&memory, dkey, 300),
                                    &dkeys, NULL));
        if (nr == 0) continue;
        daos_key_t key;
        d_iov_set(&key, dkey, described.kd_key_len);
        while (!daos_anchor_is_eof(&akeys)) {
            nr = 1;
            CHECK_OK(daos_obj_list_akey(source, DAOS_TX_NONE, &key, &nr, &described,
                                        memory_of(&memory, akey, 300), &akeys, NULL));
            if (nr == 0) continue;
            daos_recx_t recx = {0, 88};
            daos_iod_t iod = {.iod_nr = 1, .iod_type = DAOS_IOD_SINGLE, .iod_size = DAOS_REC_ANY};
            d_iov_set(&iod.iod_name, akey, described.kd_key_len);
            bool const is_inode = described.kd_key_len == 9 && memcmp(akey, "DFS_INODE", 9) == 0;
            if (is_inode) {
                iod.iod_type = DAOS_IOD_ARRAY;
                iod.iod_recxs = &recx;
            }
            CHECK_OK(daos_obj_fetch(source, DAOS_TX_NONE, 0, &key, 1, &iod, memory_of(&of_value, bytes, 300),
                                    NULL, NULL));
            CHECK_OK(daos_obj_update(target, DAOS_TX_NONE, 0, &key, 1, &iod,
                                     memory_of(&of_value, bytes, is_inode ? 88 : iod.iod_size), NULL));
        }
    }
    CHECK_OK(daos_obj_close(source, NULL));
    CHECK_OK(daos_obj_close(target, NULL));
}

/* A container that was copied object by object has no properties, and is mounted nevertheless. */
static void copied(struct mounted const* mounted)
{
    daos_handle_t container;
    dfs_t* fs = NULL;
    struct stat status;
    dfs_obj_t* const top = looked_up(mounted->fs, "/", O_RDONLY);
    daos_obj_id_t oid;
    CHECK_DONE(dfs_obj2id(top, &oid));
    CHECK_DONE(dfs_release(top));
    CHECK_DONE(dfs_mkdir(mounted->fs, NULL, "of the copy", 0711, 0));
    CHECK_OK(daos_cont_create_with_label(mounted->pool, "copy", NULL, NULL, NULL));
    CHECK_OK(daos_cont_open(mounted->pool, "copy", DAOS_COO_RW, &container, NULL, NULL));
    copy_object(mounted->container, container, oid);
    oid.hi -= 1; /* the superblock */
    copy_object(mounted->container, container, oid);
    CHECK_DONE(dfs_mount(mounted->pool, container, O_RDWR, &fs));
    CHECK_DONE(dfs_stat(fs, NULL, "of the copy", &status));
    CHECK_EQUAL(status.st_mode, S_IFDIR | 0711);
    CHECK_DONE(dfs_mkdir(fs, NULL, "more", 0700, 0));
    CHECK_ERRNO(dfs_stat(mounted->fs, NULL, "more", &status), ENOENT);
    CHECK_DONE(dfs_umount(fs));
    CHECK_OK(daos_cont_close(container, NULL));
}

/* Pools in files do not store such objects, and say so. Nothing is left of the try. */
static void in_files(void)
{
    daos_handle_t pool, container;
    uuid_t uuid;
    CHECK(setenv("STEPSTORE_TEST_BACKEND", "files", 1) == 0);
    char const* const path = new_pool();
    CHECK(unsetenv("STEPSTORE_TEST_BACKEND") == 0);
    CHECK_OK(daos_pool_connect(path, NULL, DAOS_PC_RW, &pool, NULL, NULL));
    CHECK_ERRNO(dfs_cont_create_with_label(pool, "files", NULL, &uuid, NULL, NULL), ENOTSUP);
    CHECK(strstr(dfs_last_message(), "a file system needs a pool") != NULL);
    CHECK_RC(daos_cont_open(pool, "files", DAOS_COO_RW, &container, NULL, NULL), -DER_NONEXIST);
    CHECK_OK(daos_pool_disconnect(pool, NULL));
}

static void snapshot(struct mounted const* mounted)
{
    dfs_t* fs = NULL;
    daos_epoch_t epoch;
    new_file(mounted->fs, NULL, "kept", "before");
    CHECK_OK(daos_cont_create_snap(mounted->container, &epoch, (char[]){"then"}, NULL));
    CHECK_DONE(dfs_remove(mounted->fs, NULL, "kept", false, NULL));
    CHECK_DONE(dfs_mount_snap(mounted->pool, mounted->container, O_RDONLY, 0, "then", &fs));
    CHECK(strcmp(text_of(fs, NULL, "kept"), "before") == 0);
    CHECK_ERRNO(dfs_mkdir(fs, NULL, "d", 0700, 0), EPERM);
    CHECK_DONE(dfs_umount(fs));
    CHECK_ERRNO(dfs_mount_snap(mounted->pool, mounted->container, O_RDONLY, 0, "none", &fs), ENOENT);
    CHECK_ERRNO(dfs_mount_snap(mounted->pool, mounted->container, O_RDONLY, 0, NULL, &fs), EINVAL);
}

int main(void)
{
    struct mounted mounted = mount_new();
    char path[512];
    snprintf(path, sizeof path, "%s", mounted.path);
    attributes(mounted.fs);
    handles(&mounted);
    refused(&mounted);
    snapshot(&mounted);
    copied(&mounted);
    in_files();
    unmount(&mounted);
    connections(path);
    return 0;
}

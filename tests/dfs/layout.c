/* The bytes in the container, against what DAOS's libdfs 2.6 writes: keys, sizes and offsets are its own. */
#include "files.h"
#include "objects.h"

/* The types of the API are DAOS's own, byte for byte. */
_Static_assert(sizeof(dfs_attr_t) == 176 && offsetof(dfs_attr_t, da_props) == 24, "dfs_attr_t");
_Static_assert(offsetof(dfs_attr_t, da_mode) == 32 && offsetof(dfs_attr_t, da_hints) == 44, "dfs_attr_t");
_Static_assert(sizeof(dfs_iod_t) == 16 && sizeof(dfs_obj_info_t) == 40, "dfs_iod_t, dfs_obj_info_t");
_Static_assert(offsetof(dfs_obj_info_t, doi_dir_oclass_id) == 16, "dfs_obj_info_t");
_Static_assert(offsetof(dfs_obj_info_t, doi_oid) == 24, "dfs_obj_info_t");

static dfs_t* fs;
static daos_handle_t container;

/* The value of an akey; its size. */
static size_t value_of(daos_handle_t oh, char const* dkey, char const* akey, void* value, size_t room)
{
    daos_key_t key = text_key(dkey);
    daos_iod_t iod = single_of(akey, DAOS_REC_ANY);
    struct memory memory;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &key, 1, &iod, memory_of(&memory, value, room), NULL, NULL));
    return iod.iod_size;
}

static void expect_value(daos_handle_t oh, char const* akey, void const* bytes, size_t size)
{
    char found[256];
    CHECK_EQUAL(value_of(oh, "DFS_SB_METADATA", akey, found, sizeof found), size);
    CHECK(memcmp(found, bytes, size) == 0);
}

static void inode_of(daos_handle_t directory, char const* name, unsigned char inode[100])
{
    daos_key_t key = text_key(name);
    daos_recx_t recx = {0, 100};
    daos_iod_t iod = array_of("DFS_INODE", 1, 1, &recx);
    struct memory memory;
    memset(inode, 0xee, 100);
    CHECK_OK(daos_obj_fetch(directory, DAOS_TX_NONE, 0, &key, 1, &iod, memory_of(&memory, inode, 100), NULL,
                            NULL));
    CHECK_EQUAL(memory.piece.iov_len, 88); /* and no more is stored */
}

static uint64_t number_at(unsigned char const* bytes, size_t offset, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; ++i)
        number |= (uint64_t)bytes[offset + i] << (8 * i);
    return number;
}

static void superblock(daos_handle_t oh)
{
    expect_value(oh, "DFS_MAGIC", "\x50\xdf\x05\xda\x50\xdf\x05\xda", 8);
    expect_value(oh, "DFS_SB_VERSION", "\2\0", 2);
    expect_value(oh, "DFS_LAYOUT_VERSION", "\3\0", 2);
    expect_value(oh, "DFS_CHUNK_SIZE", "\0\0\2\0\0\0\0\0", 8);
    expect_value(oh, "DFS_OBJ_CLASS", "\0\0\0\0", 4);
    expect_value(oh, "DFS_DIR_OBJ_CLASS", "\1\0\0\1", 4);      /* S1 */
    expect_value(oh, "DFS_FILE_OBJ_CLASS", "\xff\xff\0\1", 4); /* SX */
    expect_value(oh, "DFS_MODE", "\0\0\0\0", 4);
    expect_value(oh, "DFS_HINTS", "file:max", 9);
}

static void entries(daos_handle_t super, daos_obj_id_t root)
{
    unsigned char inode[100];
    daos_handle_t oh;
    dfs_obj_t* obj = NULL;
    daos_obj_id_t oid;
    inode_of(super, "/", inode);
    CHECK_EQUAL(number_at(inode, 0, 4), 040755);
    CHECK_EQUAL(number_at(inode, 4, 8), root.lo);
    CHECK_EQUAL(number_at(inode, 12, 8), root.hi);

    CHECK_OK(daos_obj_open(container, root, DAOS_OO_RW, &oh, NULL));
    CHECK_DONE(dfs_open(fs, NULL, "file", S_IFREG | 0640, O_CREAT | O_RDWR, OC_S2, 4096, NULL, &obj));
    CHECK_DONE(dfs_obj2id(obj, &oid));
    struct stat status = {0};
    status.st_mtim.tv_sec = 0x0102030405;
    status.st_mtim.tv_nsec = 0x060708;
    status.st_uid = 0x11121314;
    status.st_gid = 0x21222324;
    struct memory memory;
    CHECK_DONE(dfs_write(fs, obj, memory_of(&memory, "0123456789", 10), 4090, NULL));
    CHECK_DONE(dfs_osetattr(fs, obj, &status, DFS_SET_ATTR_MTIME | DFS_SET_ATTR_UID | DFS_SET_ATTR_GID));
    inode_of(oh, "file", inode);
    CHECK_EQUAL(number_at(inode, 0, 4), 0100640);
    CHECK_EQUAL(number_at(inode, 4, 8), oid.lo);
    CHECK_EQUAL(number_at(inode, 12, 8), oid.hi);
    CHECK_EQUAL(oid.hi >> 56, 13); /* DAOS_OT_ARRAY_BYTE */
    CHECK_EQUAL(daos_obj_id2class(oid), OC_S2);
    CHECK_EQUAL(number_at(inode, 20, 8), 0x0102030405);
    CHECK_EQUAL(number_at(inode, 28, 8), status.st_ctim.tv_sec);
    CHECK_EQUAL(number_at(inode, 36, 8), 4096);
    CHECK_EQUAL(number_at(inode, 44, 4), 0);
    CHECK_EQUAL(number_at(inode, 48, 8), 0x060708);
    CHECK_EQUAL(number_at(inode, 56, 8), status.st_ctim.tv_nsec);
    CHECK_EQUAL(number_at(inode, 64, 4), 0x11121314);
    CHECK_EQUAL(number_at(inode, 68, 4), 0x21222324);
    CHECK_EQUAL(number_at(inode, 72, 8), 0);
    daos_handle_t array;
    daos_array_stbuf_t written;
    CHECK_DONE(dfs_get_file_oh(obj, &array));
    CHECK_OK(daos_array_stat(array, DAOS_TX_NONE, &written, NULL));
    CHECK_EQUAL(number_at(inode, 80, 8), written.st_max_epoch);
    CHECK_DONE(dfs_setxattr(fs, obj, "user.a", "value", 5, 0));
    char value[64];
    CHECK_EQUAL(value_of(oh, "file", "x:user.a", value, sizeof value), 5);
    CHECK(memcmp(value, "value", 5) == 0);
    CHECK_DONE(dfs_release(obj));

    /* The data: chunk n is dkey n + 1, with the array under akey "0". */
    daos_handle_t chunks;
    CHECK_OK(daos_obj_open(container, oid, DAOS_OO_RO, &chunks, NULL));
    uint64_t number = 1;
    daos_key_t key = key_of(&number, sizeof number);
    daos_recx_t recx = {4090, 6};
    daos_iod_t iod = array_of("0", 1, 1, &recx);
    CHECK_OK(
        daos_obj_fetch(chunks, DAOS_TX_NONE, 0, &key, 1, &iod, memory_of(&memory, value, 6), NULL, NULL));
    CHECK(memcmp(value, "012345", 6) == 0);
    number = 2;
    recx = (daos_recx_t){0, 4};
    CHECK_OK(
        daos_obj_fetch(chunks, DAOS_TX_NONE, 0, &key, 1, &iod, memory_of(&memory, value, 4), NULL, NULL));
    CHECK(memcmp(value, "6789", 4) == 0);
    CHECK_OK(daos_obj_close(chunks, NULL));

    new_link(fs, NULL, "link", "some/target");
    inode_of(oh, "link", inode);
    CHECK_EQUAL(number_at(inode, 0, 4), 0120777);
    CHECK_EQUAL(number_at(inode, 72, 8), 11);
    CHECK_EQUAL(value_of(oh, "link", "DFS_SLINK", value, sizeof value), 11);
    CHECK(memcmp(value, "some/target", 11) == 0);
    CHECK_OK(daos_obj_close(oh, NULL));
}

/* As DAOS would have written it. */
static void made_by_others(daos_obj_id_t root)
{
    unsigned char inode[88] = {0};
    daos_obj_id_t oid = {77, 5};
    daos_handle_t oh, array;
    uint32_t const mode = S_IFREG | 0604;
    uint64_t const chunk = 1 << 20, seconds = 1000;
    struct memory memory;
    struct stat status;
    CHECK_OK(daos_obj_generate_oid(container, &oid, DAOS_OT_ARRAY_BYTE, OC_S1, 0, 0));
    memcpy(inode, &mode, 4);
    memcpy(inode + 4, &oid, 16);
    memcpy(inode + 20, &seconds, 8);
    memcpy(inode + 36, &chunk, 8);
    CHECK_OK(daos_obj_open(container, root, DAOS_OO_RW, &oh, NULL));
    daos_key_t key = text_key("foreign");
    daos_recx_t recx = {0, sizeof inode};
    daos_iod_t iod = array_of("DFS_INODE", 1, 1, &recx);
    CHECK_OK(
        daos_obj_update(oh, DAOS_TX_NONE, 0, &key, 1, &iod, memory_of(&memory, inode, sizeof inode), NULL));
    CHECK_OK(daos_obj_close(oh, NULL));
    CHECK_DONE(dfs_stat(fs, NULL, "foreign", &status));
    CHECK(status.st_mode == mode && status.st_mtim.tv_sec == 1000 && status.st_size == 0);
    CHECK_OK(daos_array_open_with_attr(container, oid, DAOS_TX_NONE, DAOS_OO_RW, 1, chunk, &array, NULL));
    struct request request;
    CHECK_OK(daos_array_write(array, DAOS_TX_NONE, request_of(&request, 0, 5), memory_of(&memory, "hello", 5),
                              NULL));
    CHECK_OK(daos_array_close(array, NULL));
    CHECK(strcmp(text_of(fs, NULL, "foreign"), "hello") == 0);
}

int main(void)
{
    daos_handle_t pool, super;
    dfs_attr_t attr = {.da_chunk_size = 1 << 17,
                       .da_dir_oclass_id = OC_S1,
                       .da_file_oclass_id = OC_SX,
                       .da_hints = "file:max"};
    uuid_t uuid;
    char const* const path = new_pool();
    CHECK_OK(daos_init());
    CHECK_OK(daos_pool_connect(path, NULL, DAOS_PC_RW, &pool, NULL, NULL));
    CHECK_DONE(dfs_cont_create(pool, &uuid, &attr, &container, &fs));
    daos_prop_t* const properties = daos_prop_alloc(2);
    properties->dpp_entries[0].dpe_type = DAOS_PROP_CO_LAYOUT_TYPE;
    properties->dpp_entries[1].dpe_type = DAOS_PROP_CO_ROOTS;
    CHECK_OK(daos_cont_query(container, NULL, properties, NULL));
    CHECK_EQUAL(properties->dpp_entries[0].dpe_val, DAOS_PROP_CO_LAYOUT_POSIX);
    struct daos_prop_co_roots const roots =
        *(struct daos_prop_co_roots*)properties->dpp_entries[1].dpe_val_ptr;
    daos_prop_free(properties);
    /* lo 0; hi 0 and 1, of type 0 and class S1. */
    CHECK(roots.cr_oids[0].lo == 0 && roots.cr_oids[0].hi == 0x0001000100000000);
    CHECK(roots.cr_oids[1].lo == 0 && roots.cr_oids[1].hi == 0x0001000100000001);
    CHECK(daos_obj_id_is_nil(roots.cr_oids[2]) && daos_obj_id_is_nil(roots.cr_oids[3]));
    CHECK_OK(daos_obj_open(container, roots.cr_oids[0], DAOS_OO_RO, &super, NULL));
    superblock(super);
    entries(super, roots.cr_oids[1]);
    made_by_others(roots.cr_oids[1]);
    CHECK_OK(daos_obj_close(super, NULL));
    CHECK_DONE(dfs_umount(fs));
    CHECK_OK(daos_cont_close(container, NULL));
    CHECK_OK(daos_pool_disconnect(pool, NULL));
    CHECK_OK(daos_fini());
    return 0;
}

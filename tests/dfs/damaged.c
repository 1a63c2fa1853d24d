/* Entries that are damaged, or that somebody has forged: errors, and a way to be rid of them. */
#include "files.h"
#include "objects.h"

static dfs_t* fs;
static daos_handle_t root;

static void put_array(char const* dkey, char const* akey, uint64_t index, void const* bytes, size_t size)
{
    daos_key_t key = text_key(dkey);
    daos_recx_t recx = {index, size};
    daos_iod_t iod = array_of(akey, 1, 1, &recx);
    struct memory memory;
    CHECK_OK(daos_obj_update(root, DAOS_TX_NONE, 0, &key, 1, &iod,
                             memory_of(&memory, (void*)(uintptr_t)bytes, size), NULL));
}

static void put_value(char const* dkey, char const* akey, void const* bytes, size_t size)
{
    daos_key_t key = text_key(dkey);
    daos_iod_t iod = single_of(akey, size);
    struct memory memory;
    CHECK_OK(daos_obj_update(root, DAOS_TX_NONE, 0, &key, 1, &iod,
                             memory_of(&memory, (void*)(uintptr_t)bytes, size), NULL));
}

/* All that may be asked of an entry fails with EIO, also in a listing; what is around it does not. */
static void expect_damaged(char const* name)
{
    char path[300];
    struct stat status;
    dfs_obj_t* obj = NULL;
    dfs_obj_t* top = NULL;
    daos_anchor_t anchor = {0};
    struct dirent entries[16];
    struct stat statuses[16];
    uint32_t nr = 16;
    snprintf(path, sizeof path, "/%s", name);
    CHECK_ERRNO(dfs_stat(fs, NULL, name, &status), EIO);
    CHECK(strlen(dfs_last_message()) > 20);
    CHECK_ERRNO(dfs_lookup(fs, path, O_RDONLY | O_NOFOLLOW, &obj, NULL, NULL), EIO);
    CHECK_ERRNO(dfs_lookup_rel(fs, NULL, name, O_RDONLY, &obj, NULL, NULL), EIO);
    CHECK_ERRNO(dfs_open(fs, NULL, name, S_IFREG, O_RDWR, 0, 0, NULL, &obj), EIO);
    CHECK_ERRNO(dfs_open(fs, NULL, name, S_IFREG, O_RDWR | O_CREAT, 0, 0, NULL, &obj), EIO);
    CHECK_ERRNO(dfs_move(fs, NULL, name, NULL, "elsewhere", NULL), EIO);
    CHECK_ERRNO(dfs_move(fs, NULL, "whole", NULL, name, NULL), EIO);
    CHECK_ERRNO(dfs_exchange(fs, NULL, "whole", NULL, name), EIO);
    CHECK_ERRNO(dfs_access(fs, NULL, name, F_OK), EIO);
    CHECK_ERRNO(dfs_chmod(fs, NULL, name, 0600), EIO);
    CHECK_ERRNO(dfs_remove(fs, NULL, name, false, NULL), EIO);
    CHECK_DONE(dfs_lookup(fs, "/", O_RDONLY, &top, NULL, NULL));
    CHECK_ERRNO(dfs_readdirplus(fs, top, &anchor, &nr, entries, statuses), EIO);
    memset(&anchor, 0, sizeof anchor);
    nr = 16;
    CHECK_DONE(dfs_readdir(fs, top, &anchor, &nr, entries));
    CHECK_EQUAL(nr, 2);
    CHECK_DONE(dfs_release(top));
    CHECK(strcmp(text_of(fs, NULL, "whole"), "text") == 0);
    CHECK_DONE(dfs_remove(fs, NULL, name, true, NULL));
    CHECK_ERRNO(dfs_stat(fs, NULL, name, &status), ENOENT);
}

static void fields(void)
{
    struct {
        size_t offset;
        uint64_t value;
        size_t size;
    } const forged[] = {
        {0, 0, 4},              /* no kind */
        {0, 0170000, 4},        /* all kinds */
        {0, S_IFDIR | 0700, 4}, /* another kind than its object */
        {0, S_IFIFO | 0600, 4},
        {12, 0, 8},                  /* an object of no type of a file */
        {12, 0x0b00000000000005, 8}, /* an array that keeps its attributes */
        {12, 0xff00000000000005, 8},
        {12, 0x0d00000200000005, 8}, /* no class */
        {12, 0x0d01000000000005, 8}, /* of no groups */
        {36, UINT64_MAX, 8},         /* chunk size */
        {48, 1000000000, 8},         /* nanoseconds */
        {56, UINT64_MAX, 8},
    };
    for (size_t i = 0; i < sizeof forged / sizeof *forged; ++i) {
        new_file(fs, NULL, "bad", "lost");
        put_array("bad", "DFS_INODE", forged[i].offset, &forged[i].value, forged[i].size);
        expect_damaged("bad");
    }
    /* Parts of an inode; none; and something else in its place. */
    put_array("bad", "DFS_INODE", 0, "\200\201\0\0", 4);
    expect_damaged("bad");
    put_value("bad", "x:attribute", "1", 1);
    expect_damaged("bad");
    put_value("bad", "DFS_INODE", "a value", 7);
    expect_damaged("bad");
}

static void links(void)
{
    uint64_t const sizes[] = {0, 1, 4, 6, 4096, UINT64_MAX, 1ULL << 40};
    static char const longest[5000] = {'x'};
    dfs_obj_t* obj = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        new_link(fs, NULL, "bad", "whole");
        put_array("bad", "DFS_INODE", 72, &sizes[i], 8);
        CHECK_ERRNO(dfs_lookup(fs, "/bad", O_RDONLY | O_NOFOLLOW, &obj, NULL, NULL), EIO);
        CHECK_ERRNO(dfs_remove(fs, NULL, "bad", false, NULL), EIO);
        CHECK_DONE(dfs_remove(fs, NULL, "bad", true, NULL));
    }
    new_link(fs, NULL, "bad", "whole");
    put_value("bad", "DFS_SLINK", longest, sizeof longest);
    CHECK_ERRNO(dfs_lookup(fs, "/bad", O_RDONLY, &obj, NULL, NULL), EIO);
    put_value("bad", "DFS_SLINK", "wh\0le", 5);
    CHECK_ERRNO(dfs_lookup(fs, "/bad", O_RDONLY, &obj, NULL, NULL), EIO);
    CHECK_DONE(dfs_remove(fs, NULL, "bad", true, NULL));
}

/* A directory that is within itself is looked up as long as a path is, and removed. */
static void circles(void)
{
    dfs_obj_t* const a = new_directory(fs, NULL, "a");
    dfs_obj_t* const b = new_directory(fs, a, "b");
    daos_obj_id_t oid;
    daos_handle_t const kept = root;
    CHECK_DONE(dfs_obj2id(a, &oid));
    daos_obj_id_t of_b;
    CHECK_DONE(dfs_obj2id(b, &of_b));
    daos_handle_t container;
    CHECK_DONE(dfs_cont_get(fs, &container));
    CHECK_OK(daos_obj_open(container, oid, DAOS_OO_RW, &root, NULL));
    put_array("b", "DFS_INODE", 4, &oid, sizeof oid); /* a/b is a */
    CHECK_DONE(dfs_release(looked_up(fs, "/a/b/b/b/b/b/b", O_RDONLY)));
    CHECK_ERRNO(dfs_remove(fs, NULL, "a", true, NULL), EIO);
    put_array("b", "DFS_INODE", 4, &of_b, sizeof of_b);
    CHECK_OK(daos_obj_close(root, NULL));
    root = kept;
    CHECK_DONE(dfs_cont_put(fs, container));
    CHECK_DONE(dfs_release(a));
    CHECK_DONE(dfs_release(b));
    CHECK_DONE(dfs_remove(fs, NULL, "a", true, NULL));
}

static void names(void)
{
    char longest[300];
    char const* const forged[] = {"a/b", "..", ".", longest};
    dfs_obj_t* const top = looked_up(fs, "/", O_RDONLY);
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i < sizeof forged / sizeof *forged; ++i) {
        struct dirent entries[16];
        daos_anchor_t anchor = {0};
        uint32_t nr = 16;
        put_value(forged[i], "DFS_INODE", "x", 1);
        CHECK_ERRNO(dfs_readdir(fs, top, &anchor, &nr, entries), EIO);
        memset(&anchor, 0, sizeof anchor);
        nr = 16;
        CHECK_ERRNO(dfs_iterate(fs, top, &anchor, &nr, 10000, NULL, NULL), EIO);
        daos_key_t key = text_key(forged[i]);
        CHECK_OK(daos_obj_punch_dkeys(root, DAOS_TX_NONE, 0, 1, &key, NULL));
    }
    CHECK_DONE(dfs_release(top));
}

static void marks(void)
{
    struct stat status;
    char mark[280];
    memset(mark, 0, sizeof mark);
    size_t const sizes[] = {1, 17, 18, 100, 272, 280};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        new_file(fs, NULL, "bad", "text");
        put_value("bad", "STEPSTORE_MOVE", mark, sizes[i]);
        CHECK_DONE(dfs_stat(fs, NULL, "bad", &status)); /* does not look at it */
        CHECK_ERRNO(dfs_remove(fs, NULL, "bad", false, NULL), EIO);
        CHECK_ERRNO(dfs_move(fs, NULL, "bad", NULL, "else", NULL), EIO);
        CHECK_DONE(dfs_remove(fs, NULL, "bad", true, NULL));
    }
}

static void superblocks(struct mounted* mounted, daos_obj_id_t oid)
{
    struct {
        char const* akey;
        char const* value;
        size_t size;
        int expected;
    } const forged[] = {
        {"DFS_MAGIC", "\1\2\3\4\5\6\7\10", 8, EINVAL}, {"DFS_MAGIC", "\1", 1, EIO},
        {"DFS_MAGIC", "\1\2\3\4\5\6\7\10\11", 9, EIO}, {"DFS_SB_VERSION", "\3\0", 2, EINVAL},
        {"DFS_LAYOUT_VERSION", "\2\0", 2, EINVAL},     {"DFS_LAYOUT_VERSION", "\4\0", 2, EINVAL},
        {"DFS_CHUNK_SIZE", "\1\0\0\0", 4, EIO},        {"DFS_CHUNK_SIZE", "\0\0\0\0\0\0\0\200", 8, EIO},
        {"DFS_MODE", "\4\0\0\0", 4, ENOTSUP},          {"DFS_HINTS", "nonsense", 9, EINVAL},
    };
    dfs_t* again = NULL;
    CHECK_OK(daos_obj_close(root, NULL));
    CHECK_OK(daos_obj_open(mounted->container, oid, DAOS_OO_RW, &root, NULL));
    for (size_t i = 0; i < sizeof forged / sizeof *forged; ++i) {
        char kept[64];
        daos_key_t key = text_key("DFS_SB_METADATA");
        daos_iod_t iod = single_of(forged[i].akey, DAOS_REC_ANY);
        struct memory memory;
        CHECK_OK(daos_obj_fetch(root, DAOS_TX_NONE, 0, &key, 1, &iod, memory_of(&memory, kept, sizeof kept),
                                NULL, NULL));
        put_value("DFS_SB_METADATA", forged[i].akey, forged[i].value, forged[i].size);
        CHECK_ERRNO(dfs_mount(mounted->pool, mounted->container, O_RDWR, &again), forged[i].expected);
        if (iod.iod_size != 0) {
            put_value("DFS_SB_METADATA", forged[i].akey, kept, iod.iod_size);
        } else {
            daos_key_t akey = text_key(forged[i].akey);
            CHECK_OK(daos_obj_punch_akeys(root, DAOS_TX_NONE, 0, &key, 1, &akey, NULL));
        }
    }
    CHECK_DONE(dfs_mount(mounted->pool, mounted->container, O_RDWR, &again));
    CHECK_DONE(dfs_umount(again));
    daos_key_t key = text_key("/");
    CHECK_OK(daos_obj_punch_dkeys(root, DAOS_TX_NONE, 0, 1, &key, NULL));
    CHECK_ERRNO(dfs_mount(mounted->pool, mounted->container, O_RDWR, &again), EIO);
    key = text_key("DFS_SB_METADATA");
    CHECK_OK(daos_obj_punch_dkeys(root, DAOS_TX_NONE, 0, 1, &key, NULL));
    CHECK_ERRNO(dfs_mount(mounted->pool, mounted->container, O_RDWR, &again), ENOENT);
    CHECK_OK(daos_obj_close(root, NULL));
}

int main(void)
{
    struct mounted mounted = mount_new();
    fs = mounted.fs;
    dfs_obj_t* const top = looked_up(fs, "/", O_RDWR);
    daos_obj_id_t oid;
    CHECK_DONE(dfs_obj2id(top, &oid));
    CHECK_DONE(dfs_release(top));
    CHECK_OK(daos_obj_open(mounted.container, oid, DAOS_OO_RW, &root, NULL));
    new_file(fs, NULL, "whole", "text");
    fields();
    CHECK_OK(daos_obj_punch_dkeys(root, DAOS_TX_NONE, 0, 1, (daos_key_t[]){text_key("bad")}, NULL));
    links();
    circles();
    names();
    marks();
    oid.hi -= 1; /* the superblock */
    superblocks(&mounted, oid);
    unmount(&mounted);
    return 0;
}

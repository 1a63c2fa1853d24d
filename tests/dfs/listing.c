/* Listing a directory with many entries: each comes once, in parts of any size, also while others change. */
#include "files.h"

enum { many = 5000 };

static unsigned char seen[many];

static void see(char const* name)
{
    unsigned number = many;
    CHECK(sscanf(name, "entry-%u", &number) == 1 && number < many);
    CHECK_EQUAL(seen[number], 0);
    seen[number] = 1;
}

static void expect_all(void)
{
    for (unsigned i = 0; i < many; ++i)
        CHECK_EQUAL(seen[i], 1);
    memset(seen, 0, sizeof seen);
}

static int fill(dfs_t* fs, dfs_obj_t* obj, const char name[], void* arg)
{
    CHECK(fs && obj);
    see(name);
    ++*(unsigned*)arg;
    return 0;
}

static int stop(dfs_t* fs, dfs_obj_t* obj, const char name[], void* arg)
{
    (void)fs;
    (void)obj;
    (void)name;
    return ++*(unsigned*)arg == 3 ? 77 : 0;
}

/* How many entries a listing from this name on gives; *first: the first of them. */
static unsigned count_from(dfs_t* fs, dfs_obj_t* d, char const* name, char first[NAME_MAX + 1])
{
    static struct dirent entries[1000];
    daos_anchor_t anchor;
    memset(&anchor, 0xee, sizeof anchor);
    CHECK_DONE(dfs_dir_anchor_set(d, name, &anchor));
    unsigned count = 0;
    while (!daos_anchor_is_eof(&anchor)) {
        uint32_t nr = 1000;
        CHECK_DONE(dfs_readdir(fs, d, &anchor, &nr, entries));
        if (count == 0 && nr > 0) strcpy(first, entries[0].d_name);
        count += nr;
    }
    return count;
}

/* A listing goes on from an entry by its name, also if it was removed meanwhile. */
static void from_a_name(dfs_t* fs, dfs_obj_t* d)
{
    static struct dirent entries[many];
    char first[NAME_MAX + 1];
    daos_anchor_t anchor = {0};
    uint32_t nr = many;
    CHECK_DONE(dfs_readdir(fs, d, &anchor, &nr, entries));
    CHECK_EQUAL(nr, many);
    for (unsigned i = 0; i < many; i += 499) {
        CHECK_EQUAL(count_from(fs, d, entries[i].d_name, first), many - i);
        CHECK_EQUAL(strcmp(first, entries[i].d_name), 0);
    }
    CHECK_DONE(dfs_remove(fs, d, entries[50].d_name, false, NULL));
    CHECK_EQUAL(count_from(fs, d, entries[50].d_name, first), many - 51);
    CHECK_EQUAL(strcmp(first, entries[51].d_name), 0);
    CHECK_DONE(dfs_mkdir(fs, d, entries[50].d_name, 0700, 0));

    dfs_obj_t* file = NULL;
    CHECK_DONE(dfs_open(fs, NULL, "file", S_IFREG | 0600, O_CREAT | O_RDWR, 0, 0, NULL, &file));
    CHECK_ERRNO(dfs_dir_anchor_set(file, "name", &anchor), EINVAL);
    CHECK_DONE(dfs_release(file));
    CHECK_ERRNO(dfs_dir_anchor_set(NULL, "name", &anchor), EINVAL);
    CHECK_ERRNO(dfs_dir_anchor_set(d, NULL, &anchor), EINVAL);
    CHECK_ERRNO(dfs_dir_anchor_set(d, "a/b", &anchor), EINVAL);
    CHECK_ERRNO(dfs_dir_anchor_set(d, "name", NULL), EINVAL);
}

int main(void)
{
    struct mounted mounted = mount_new();
    dfs_t* const fs = mounted.fs;
    dfs_obj_t* const d = new_directory(fs, NULL, "d");
    uint32_t const sizes[] = {1, 7, 100, 10000};
    static struct dirent entries[10000];
    static struct stat statuses[10000];
    daos_anchor_t anchor = {0};
    uint32_t nr = 10;
    CHECK_DONE(dfs_readdir(fs, d, &anchor, &nr, entries));
    CHECK_EQUAL(nr, 0);
    CHECK(daos_anchor_is_eof(&anchor));
    for (unsigned i = 0; i < many; ++i) {
        char name[32];
        snprintf(name, sizeof name, "entry-%u", i);
        CHECK_DONE(dfs_mkdir(fs, d, name, 0700, 0));
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        memset(&anchor, 0, sizeof anchor);
        while (!daos_anchor_is_eof(&anchor)) {
            nr = sizes[i];
            CHECK_DONE(dfs_readdir(fs, d, &anchor, &nr, entries));
            CHECK(nr <= sizes[i]);
            CHECK(nr == sizes[i] || daos_anchor_is_eof(&anchor));
            for (uint32_t n = 0; n < nr; ++n)
                see(entries[n].d_name);
        }
        expect_all();
    }
    memset(&anchor, 0, sizeof anchor);
    while (!daos_anchor_is_eof(&anchor)) {
        nr = 1000;
        CHECK_DONE(dfs_readdirplus(fs, d, &anchor, &nr, entries, statuses));
        for (uint32_t n = 0; n < nr; ++n) {
            see(entries[n].d_name);
            CHECK_EQUAL(statuses[n].st_mode, S_IFDIR | 0700);
        }
    }
    expect_all();
    memset(&anchor, 0, sizeof anchor);
    unsigned filled = 0;
    while (!daos_anchor_is_eof(&anchor)) {
        nr = 900;
        unsigned const before = filled;
        CHECK_DONE(dfs_iterate(fs, d, &anchor, &nr, 100000, fill, &filled));
        CHECK_EQUAL(nr, filled - before);
    }
    CHECK_EQUAL(filled, many);
    expect_all();
    memset(&anchor, 0, sizeof anchor);
    nr = 100;
    filled = 0;
    CHECK_ERRNO(dfs_iterate(fs, d, &anchor, &nr, 100000, stop, &filled), 77);
    memset(&anchor, 0, sizeof anchor);
    nr = 100;
    CHECK_ERRNO(dfs_iterate(fs, d, &anchor, &nr, 254, fill, &filled), EINVAL);
    uint32_t parts = 8;
    daos_anchor_t anchors[8];
    CHECK_DONE(dfs_obj_anchor_split(d, &parts, anchors));
    CHECK_EQUAL(parts, 1);
    CHECK_DONE(dfs_obj_anchor_set(d, 0, &anchors[0]));
    CHECK_ERRNO(dfs_obj_anchor_set(d, 1, &anchors[0]), EINVAL);

    from_a_name(fs, d);

    /* Every second entry goes while it is listed: the others come once. */
    memset(&anchor, 0, sizeof anchor);
    unsigned found = 0;
    while (!daos_anchor_is_eof(&anchor)) {
        nr = 64;
        CHECK_DONE(dfs_readdir(fs, d, &anchor, &nr, entries));
        for (uint32_t n = 0; n < nr; ++n, ++found) {
            see(entries[n].d_name);
            if (found % 2 == 0) CHECK_DONE(dfs_remove(fs, d, entries[n].d_name, false, NULL));
        }
    }
    expect_all();
    CHECK_DONE(dfs_release(d));
    CHECK_DONE(dfs_remove(fs, NULL, "d", true, NULL));
    unmount(&mounted);
    return 0;
}

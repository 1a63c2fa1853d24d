/* Threads that use one file system, one directory and one file at once. */
#include "files.h"

enum { threads = 4, each = 150 };

static dfs_t* fs;
static dfs_obj_t* directory;
static dfs_obj_t* common;

static void* work(void* argument)
{
    unsigned thread = *(unsigned*)argument;
    for (unsigned i = 0; i < each; ++i) {
        char name[32], other[32], text[16];
        struct stat status;
        struct memory memory;
        daos_size_t size = 0;
        dfs_obj_t* obj = NULL;
        snprintf(name, sizeof name, "%u-%u", thread, i);
        snprintf(other, sizeof other, "%u+%u", thread, i);
        new_file(fs, directory, name, "text");
        CHECK_DONE(dfs_lookup_rel(fs, directory, name, O_RDONLY, &obj, NULL, &status));
        CHECK_EQUAL(status.st_size, 4);
        CHECK_DONE(dfs_read(fs, obj, memory_of(&memory, text, sizeof text), 0, &size, NULL));
        CHECK(size == 4 && memcmp(text, "text", 4) == 0);
        CHECK_DONE(dfs_release(obj));
        CHECK_DONE(dfs_write(fs, common, memory_of(&memory, &thread, 4),
                             ((daos_off_t)i * threads + thread) * 4, NULL));
        if (i % 3 == 0) CHECK_DONE(dfs_move(fs, directory, name, NULL, other, NULL));
        if (i % 3 == 1) CHECK_DONE(dfs_remove(fs, directory, name, false, NULL));
        CHECK_ERRNO(dfs_stat(fs, directory, name, &status), i % 3 == 2 ? 0 : ENOENT);
        CHECK(strstr(dfs_last_message(), i % 3 == 2 ? "" : name) != NULL); /* of its own thread */
    }
    return NULL;
}

int main(void)
{
    struct mounted mounted = mount_new();
    pthread_t running[threads];
    unsigned numbers[threads];
    static struct dirent entries[threads * each + 10];
    static uint32_t words[threads * each];
    uint32_t nr = threads * each + 10;
    daos_anchor_t anchor = {0};
    struct memory memory;
    daos_size_t size = 0;
    fs = mounted.fs;
    directory = new_directory(fs, NULL, "d");
    common = opened(fs, NULL, "common", S_IFREG | 0600, O_CREAT | O_RDWR);
    for (unsigned i = 0; i < threads; ++i) {
        numbers[i] = i;
        CHECK(pthread_create(&running[i], NULL, work, &numbers[i]) == 0);
    }
    for (unsigned i = 0; i < threads; ++i)
        CHECK(pthread_join(running[i], NULL) == 0);
    CHECK_DONE(dfs_readdir(fs, directory, &anchor, &nr, entries));
    CHECK_EQUAL(nr, threads * each / 3);
    CHECK_DONE(dfs_read(fs, common, memory_of(&memory, words, sizeof words), 0, &size, NULL));
    CHECK_EQUAL(size, sizeof words);
    for (unsigned i = 0; i < threads * each; ++i)
        CHECK_EQUAL(words[i], i % threads);
    CHECK_DONE(dfs_release(common));
    CHECK_DONE(dfs_release(directory));
    unmount(&mounted);
    return 0;
}

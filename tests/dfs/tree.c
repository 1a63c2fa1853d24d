/* Makes, changes and lists the files of a container, by calls that every libdfs has: for tests of copies.
 * tree make|change|list POOL CONTAINER. list prints all that libdfs tells of each entry, sorted by path. */
#define _GNU_SOURCE
#include <daos.h>
#include <daos_fs.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DO(call)                                                                                             \
    do {                                                                                                     \
        int const rc_ = (call);                                                                              \
        if (rc_ != 0) {                                                                                      \
            fprintf(stderr, "%s:%d: %s: %d (%s)\n", __FILE__, __LINE__, #call, rc_, strerror(rc_));          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { mebi = 1 << 20, piece = 4 * mebi };

static dfs_t* fs;

/* ---- making */
static dfs_obj_t* opened(dfs_obj_t* parent, char const* name, mode_t mode, int flags, daos_size_t chunk)
{
    dfs_obj_t* obj = NULL;
    DO(dfs_open(fs, parent, name, mode, flags, 0, chunk, NULL, &obj));
    return obj;
}

static void write_at(dfs_obj_t* obj, uint64_t offset, size_t size, unsigned seed)
{
    unsigned char* const bytes = malloc(size);
    d_iov_t iov;
    d_sg_list_t list = {.sg_nr = 1, .sg_iovs = &iov};
    if (!bytes) abort();
    for (size_t i = 0; i < size; ++i)
        bytes[i] = (unsigned char)((i * 31 + seed + (i >> 11)) % 251 + 1);
    d_iov_set(&iov, bytes, size);
    DO(dfs_write(fs, obj, &list, offset, NULL));
    free(bytes);
}

static void file(dfs_obj_t* parent, char const* name, mode_t mode, daos_size_t chunk, size_t size)
{
    dfs_obj_t* const obj = opened(parent, name, S_IFREG | mode, O_CREAT | O_EXCL | O_RDWR, chunk);
    if (size > 0) write_at(obj, 0, size, (unsigned)size);
    DO(dfs_release(obj));
}

static void symlink_to(dfs_obj_t* parent, char const* name, char const* target)
{
    dfs_obj_t* obj = NULL;
    DO(dfs_open(fs, parent, name, S_IFLNK | 0777, O_CREAT | O_EXCL | O_RDWR, 0, 0, target, &obj));
    DO(dfs_release(obj));
}

static void set_time(char const* path, time_t seconds, long nanoseconds)
{
    dfs_obj_t* obj = NULL;
    struct stat status;
    DO(dfs_lookup(fs, path, O_RDWR | O_NOFOLLOW, &obj, NULL, NULL));
    memset(&status, 0, sizeof status);
    status.st_mtim.tv_sec = seconds;
    status.st_mtim.tv_nsec = nanoseconds;
    DO(dfs_osetattr(fs, obj, &status, DFS_SET_ATTR_MTIME));
    DO(dfs_release(obj));
}

static void attribute(char const* path, char const* name, void const* value, size_t size)
{
    dfs_obj_t* obj = NULL;
    DO(dfs_lookup(fs, path, O_RDWR, &obj, NULL, NULL));
    DO(dfs_setxattr(fs, obj, name, value, size, 0));
    DO(dfs_release(obj));
}

static void make(void)
{
    static char const everything[] = "\1\2\xff\xfe\r\n\t \"'\\%*?~";
    char longest[DFS_MAX_NAME + 1];
    dfs_obj_t* const d = opened(NULL, "d", S_IFDIR | 0750, O_CREAT | O_EXCL | O_RDWR, 0);
    dfs_obj_t* const deep = opened(d, "deep", S_IFDIR | 0711, O_CREAT | O_EXCL | O_RDWR, 0);
    dfs_obj_t* obj;
    DO(dfs_mkdir(fs, NULL, "empty", 0700, 0));
    file(NULL, "none", 0600, 0, 0);
    file(NULL, "one", 0644, 0, 1);
    file(d, "odd", 0444, 0, mebi + 1);
    file(d, "large", 0640, 0, 20 * mebi);
    file(deep, "small chunks", 0604, 4096, 100000);
    obj = opened(deep, "sparse", S_IFREG | 0600, O_CREAT | O_EXCL | O_RDWR, 1 << 16);
    write_at(obj, 5 * mebi + 3, 1000, 7);
    write_at(obj, 40 * (uint64_t)mebi, 10, 8);
    struct stat longer = {.st_size = 50 * (off_t)mebi + 1}; /* than its data */
    DO(dfs_osetattr(fs, obj, &longer, DFS_SET_ATTR_SIZE));
    DO(dfs_release(obj));
    obj = opened(deep, "cut", S_IFREG | 0600, O_CREAT | O_EXCL | O_RDWR, 0);
    write_at(obj, 0, 3 * mebi, 9);
    DO(dfs_punch(fs, obj, 0, DFS_MAX_FSIZE));
    DO(dfs_release(obj));
    file(d, everything, 0600, 0, 17);
    memset(longest, 'n', sizeof longest);
    longest[DFS_MAX_NAME] = '\0';
    file(d, longest, 0600, 0, 5);
    symlink_to(NULL, "link", "d/deep");
    symlink_to(deep, "dangling", "../../none of it/\xff");
    attribute("/one", "user.text", "a value", 7);
    attribute("/d", "user.bytes", "\0\1\xff", 3);
    attribute("/", "of the root", "1", 1);
    file(NULL, "old", 0600, 0, 300);
    DO(dfs_move(fs, NULL, "old", deep, "moved", NULL));
    file(NULL, "x", 0600, 0, 11);
    file(d, "y", 0600, 0, 22);
    DO(dfs_exchange(fs, NULL, "x", d, "y"));
    DO(dfs_release(deep));
    DO(dfs_release(d));
    set_time("/one", 1000000000, 123456789);
    set_time("/d/deep", 1100000000, 7);
    set_time("/empty", 1200000000, 0);
    set_time("/none", 5, 6);
}

/* What others do to it afterwards. */
static void change(void)
{
    dfs_obj_t* d = NULL;
    dfs_obj_t* obj = NULL;
    DO(dfs_lookup(fs, "/d", O_RDWR, &d, NULL, NULL));
    file(d, "added", 0622, 1 << 17, 3 * mebi + 5);
    DO(dfs_lookup(fs, "/d/large", O_RDWR, &obj, NULL, NULL));
    write_at(obj, 10 * mebi - 50, 100, 3);
    DO(dfs_release(obj));
    DO(dfs_lookup(fs, "/one", O_RDWR, &obj, NULL, NULL));
    write_at(obj, 1, 10, 4); /* its time is no longer the one that was set */
    DO(dfs_removexattr(fs, obj, "user.text"));
    DO(dfs_setxattr(fs, obj, "user.other", "of DAOS", 7, 0));
    DO(dfs_release(obj));
    DO(dfs_remove(fs, NULL, "x", false, NULL));
    DO(dfs_remove(fs, NULL, "empty", false, NULL));
    DO(dfs_mkdir(fs, d, "new", 0701, 0));
    DO(dfs_move(fs, d, "odd", NULL, "none", NULL)); /* over a file */
    DO(dfs_move(fs, d, "deep", NULL, "no longer deep", NULL));
    symlink_to(d, "to one", "../one");
    DO(dfs_chmod(fs, d, "y", 0755));
    DO(dfs_release(d));
    set_time("/d/added", 1300000000, 999999999);
}

/* ---- listing */
static void text(char const* bytes, size_t size)
{
    for (size_t i = 0; i < size; ++i) {
        unsigned char const c = (unsigned char)bytes[i];
        if (c > ' ' && c < 0x7f && c != '\\')
            putchar(c);
        else
            printf("\\x%02x", c);
    }
}

static uint64_t hash_of(dfs_obj_t* obj, uint64_t size)
{
    uint64_t hash = 14695981039346656037u;
    unsigned char* const bytes = malloc(piece);
    if (!bytes) abort();
    for (uint64_t at = 0; at < size; at += piece) {
        daos_size_t got = 0;
        d_iov_t iov;
        d_sg_list_t list = {.sg_nr = 1, .sg_iovs = &iov};
        d_iov_set(&iov, bytes, piece);
        DO(dfs_read(fs, obj, &list, at, &got, NULL));
        for (daos_size_t i = 0; i < got; ++i)
            hash = (hash ^ bytes[i]) * 1099511628211u;
    }
    free(bytes);
    return hash;
}

static int by_text(void const* a, void const* b)
{
    return strcmp(*(char* const*)a, *(char* const*)b);
}

static void print_attributes(dfs_obj_t* obj)
{
    char names[4096], value[4096];
    char* sorted[64];
    daos_size_t size = sizeof names;
    size_t count = 0;
    DO(dfs_listxattr(fs, obj, names, &size));
    for (daos_size_t at = 0; at < size && count < 64; at += strlen(names + at) + 1)
        sorted[count++] = names + at;
    qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 0; i < count; ++i) {
        daos_size_t bytes = sizeof value;
        DO(dfs_getxattr(fs, obj, sorted[i], value, &bytes));
        putchar(' ');
        text(sorted[i], strlen(sorted[i]));
        putchar('=');
        text(value, bytes);
    }
}

static void list(dfs_obj_t* obj, char const* path);

static void list_inside(dfs_obj_t* directory, char const* path)
{
    daos_anchor_t anchor = {0};
    char** names = NULL;
    size_t count = 0;
    while (!daos_anchor_is_eof(&anchor)) {
        struct dirent entries[16];
        uint32_t nr = 16;
        DO(dfs_readdir(fs, directory, &anchor, &nr, entries));
        names = realloc(names, (count + nr + 1) * sizeof *names);
        for (uint32_t i = 0; i < nr; ++i)
            names[count++] = strdup(entries[i].d_name);
    }
    if (count > 0) qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; ++i) {
        char* below = NULL;
        dfs_obj_t* obj = NULL;
        if (asprintf(&below, "%s/%s", path, names[i]) < 0) abort();
        DO(dfs_lookup_rel(fs, directory, names[i], O_RDONLY | O_NOFOLLOW, &obj, NULL, NULL));
        list(obj, below);
        DO(dfs_release(obj));
        free(below);
        free(names[i]);
    }
    free(names);
}

static void list(dfs_obj_t* obj, char const* path)
{
    struct stat status;
    DO(dfs_ostat(fs, obj, &status));
    text(path, strlen(path));
    printf(" %o %u %u %lld.%09ld", status.st_mode, status.st_uid, status.st_gid,
           (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    if (S_ISREG(status.st_mode)) {
        daos_size_t chunk = 0;
        DO(dfs_get_chunk_size(obj, &chunk));
        printf(" %llu bytes, chunk %llu, hash %016llx", (unsigned long long)status.st_size,
               (unsigned long long)chunk, (unsigned long long)hash_of(obj, (uint64_t)status.st_size));
    }
    if (S_ISLNK(status.st_mode)) {
        char target[4096];
        daos_size_t size = sizeof target;
        DO(dfs_get_symlink_value(obj, target, &size));
        printf(" -> ");
        text(target, strlen(target));
    }
    print_attributes(obj);
    putchar('\n');
    if (S_ISDIR(status.st_mode)) list_inside(obj, path);
}

int main(int argc, char** argv)
{
    dfs_obj_t* top = NULL;
    if (argc != 4) return 2;
    int const reads = strcmp(argv[1], "list") == 0;
    DO(dfs_init());
    DO(dfs_connect(argv[2], NULL, argv[3], reads ? O_RDONLY : O_RDWR | O_CREAT, NULL, &fs));
    if (reads) {
        DO(dfs_lookup(fs, "/", O_RDONLY, &top, NULL, NULL));
        list(top, "");
        DO(dfs_release(top));
    } else if (strcmp(argv[1], "make") == 0) {
        make();
    } else {
        change();
    }
    DO(dfs_disconnect(fs));
    DO(dfs_fini());
    return 0;
}

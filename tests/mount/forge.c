/* forge POOL: puts into the file system `files` of a pool what no caller of libdfs could have made, and files
 * with names and targets that a careless program trips over. */
#include "files.h"
#include "objects.h"

enum { inode_size = 88 };

static struct mounted mounted;

static daos_handle_t opened_object(char const* path)
{
    dfs_obj_t* const obj = looked_up(mounted.fs, path, O_RDONLY);
    daos_obj_id_t oid;
    daos_handle_t oh;
    CHECK_DONE(dfs_obj2id(obj, &oid));
    CHECK_DONE(dfs_release(obj));
    CHECK_OK(daos_obj_open(mounted.container, oid, DAOS_OO_RW, &oh, NULL));
    return oh;
}

static void get_inode(daos_handle_t oh, char const* name, char* inode)
{
    daos_key_t key = text_key(name);
    daos_recx_t recx = {0, inode_size};
    daos_iod_t iod = array_of("DFS_INODE", 1, 1, &recx);
    struct memory memory;
    CHECK_OK(daos_obj_fetch(oh, DAOS_TX_NONE, 0, &key, 1, &iod, memory_of(&memory, inode, inode_size), NULL,
                            NULL));
}

static void put_bytes(daos_handle_t oh, char const* name, uint64_t offset, void const* bytes, size_t size)
{
    daos_key_t key = text_key(name);
    daos_recx_t recx = {offset, size};
    daos_iod_t iod = array_of("DFS_INODE", 1, 1, &recx);
    struct memory memory;
    CHECK_OK(daos_obj_update(oh, DAOS_TX_NONE, 0, &key, 1, &iod,
                             memory_of(&memory, (void*)(uintptr_t)bytes, size), NULL));
}

static void number_in(daos_handle_t oh, char const* name, uint64_t offset, uint64_t value, size_t size)
{
    put_bytes(oh, name, offset, &value, size);
}

int main(int argc, char** argv)
{
    if (argc != 2) return 2;
    static char inode[inode_size];
    static char longest[256];
    mounted = mount_again(argv[1]);
    dfs_t* const fs = mounted.fs;
    daos_handle_t const root = opened_object("/");
    new_file(fs, NULL, "whole", "text");

    new_file(fs, NULL, "no kind", "lost");
    number_in(root, "no kind", 0, 0, 4);
    new_file(fs, NULL, "large chunks", "text");
    number_in(root, "large chunks", 36, UINT64_MAX >> 1, 8);
    new_file(fs, NULL, "late", "text");
    number_in(root, "late", 20, UINT64_MAX >> 1, 8);
    new_link(fs, NULL, "long link", "x");
    number_in(root, "long link", 72, 1ULL << 40, 8);
    put_bytes(root, "short inode", 0, "\200\201\0\0", 4);

    /* A directory within itself, and a link that is the same object as a directory. */
    CHECK_DONE(dfs_release(new_directory(fs, NULL, "circle")));
    daos_handle_t const circle = opened_object("/circle");
    get_inode(root, "circle", inode);
    put_bytes(circle, "circle", 0, inode, inode_size);
    CHECK_DONE(dfs_release(new_directory(fs, NULL, "directory")));
    new_link(fs, NULL, "same object", "whole");
    get_inode(root, "directory", inode);
    put_bytes(root, "same object", 4, inode + 4, 16);

    /* Two names of one file, as a program leaves them that dies in a rename. */
    new_file(fs, NULL, "one name", "text");
    get_inode(root, "one name", inode);
    put_bytes(root, "two names", 0, inode, inode_size);

    /* Names. */
    memset(longest, 'n', sizeof longest - 1);
    new_file(fs, NULL, longest, "text");
    new_file(fs, NULL, "line\nand \033[2J \377", "text");
    new_link(fs, NULL, "escape", "\033]52;c;cm0gLXJmIH4=\007");
    new_link(fs, NULL, "outside", "../../../../etc/passwd");
    CHECK_DONE(dfs_release(new_directory(fs, NULL, "no names")));
    daos_handle_t const no_names = opened_object("/no names");
    put_bytes(no_names, "a/b", 0, inode, inode_size);
    put_bytes(no_names, "..", 0, inode, inode_size);

    CHECK_OK(daos_obj_close(no_names, NULL));
    CHECK_OK(daos_obj_close(circle, NULL));
    CHECK_OK(daos_obj_close(root, NULL));
    unmount(&mounted);
    return 0;
}

/* The C interface of blobs: C99. Argument: the location of a pool that does not exist yet. */
#include "arrays/check.h"
#include "stepstore/blobs.h"

#include <daos_errno.h>

void end_all(void)
{
    exit(1);
}

enum { LARGE = 100000 };
static char large[LARGE], into[2 * LARGE];

static void values_come_back(stepstore_blobs blobs)
{
    struct stepstore_blob_info info;
    uint64_t size = sizeof into;
    CHECK_OK(stepstore_blob_put(blobs, "model/grid", "12345", 5, STEPSTORE_BLOB_REPLACE));
    CHECK_OK(stepstore_blob_put(blobs, "model/state", large, LARGE, STEPSTORE_BLOB_NEW));
    CHECK_ERROR(stepstore_blob_put(blobs, "model/state", "x", 1, STEPSTORE_BLOB_NEW), -DER_EXIST,
                "blob 'model/state'");
    CHECK_OK(stepstore_blob_get(blobs, "model/state", 0, into, &size));
    CHECK(size == LARGE && memcmp(into, large, LARGE) == 0);
    size = 100;
    CHECK_OK(stepstore_blob_get(blobs, "model/state", LARGE - 3, into, &size));
    CHECK(size == 3 && memcmp(into, large + LARGE - 3, 3) == 0);
    size = 100;
    CHECK_OK(stepstore_blob_get(blobs, "model/state", UINT64_MAX, into, &size));
    CHECK(size == 0);
    CHECK_OK(stepstore_blob_put(blobs, "model/grid", "678", 3, STEPSTORE_BLOB_APPEND));
    CHECK_OK(stepstore_blob_stat(blobs, "model/grid", &info));
    CHECK(info.size == 8 && info.modified > 0);
    CHECK_ERROR(stepstore_blob_stat(blobs, "none", &info), -DER_NONEXIST, "there is no blob 'none'");
}

static void names_are_sorted(stepstore_blobs blobs)
{
    stepstore_names names = 0;
    int64_t count = 0;
    CHECK_OK(stepstore_blob_rename(blobs, "model/grid", "a"));
    CHECK_OK(stepstore_blob_copy(blobs, "a", blobs, "b"));
    CHECK_OK(stepstore_blob_list(blobs, NULL, &names));
    CHECK_OK(stepstore_names_count(names, &count));
    CHECK(count == 3 && strcmp(stepstore_names_get(names, 2), "model/state") == 0);
    CHECK_OK(stepstore_names_free(&names));
    CHECK_OK(stepstore_blob_list_folder(blobs, "", &names));
    CHECK_OK(stepstore_names_count(names, &count));
    CHECK(count == 3 && strcmp(stepstore_names_get(names, 2), "model/") == 0);
    CHECK_OK(stepstore_names_free(&names));
    CHECK_OK(stepstore_blob_remove(blobs, "b"));
    CHECK_ERROR(stepstore_blob_remove(blobs, "b"), -DER_NONEXIST, "'b'");
}

static void a_blob_is_written_and_read_in_pieces(stepstore_blobs blobs)
{
    stepstore_blob_writer writer = 0;
    stepstore_blob_reader reader = 0;
    uint64_t size = 0;
    CHECK_OK(stepstore_blob_writer_open(blobs, "pieces", STEPSTORE_BLOB_NEW, &writer));
    CHECK_OK(stepstore_blob_writer_put(writer, large, LARGE));
    CHECK_OK(stepstore_blob_writer_put(writer, "end", 3));
    CHECK_ERROR(stepstore_blob_reader_open(blobs, "pieces", &reader, &size), -DER_NONEXIST, "'pieces'");
    CHECK_OK(stepstore_blob_writer_close(&writer));
    CHECK(writer == 0);
    CHECK_ERROR(stepstore_blob_writer_close(&writer), -DER_NO_HDL, "not a writer of a blob");
    CHECK_OK(stepstore_blob_reader_open(blobs, "pieces", &reader, &size));
    CHECK(size == LARGE + 3);
    CHECK_OK(stepstore_blob_writer_open(blobs, "pieces", STEPSTORE_BLOB_REPLACE, &writer));
    CHECK_OK(stepstore_blob_writer_discard(&writer));
    size = 3;
    CHECK_OK(stepstore_blob_reader_get(reader, LARGE, into, &size));
    CHECK(size == 3 && memcmp(into, "end", 3) == 0);
    CHECK_OK(stepstore_blob_put(blobs, "pieces", "", 0, STEPSTORE_BLOB_REPLACE));
    CHECK_ERROR(stepstore_blob_reader_get(reader, 0, into, &size), -DER_NONEXIST, "was replaced");
    CHECK_OK(stepstore_blob_reader_close(&reader));
}

static void arguments_are_checked(stepstore_blobs blobs, const char* location)
{
    stepstore_blobs reading = 0;
    uint64_t size = 1;
    CHECK_ERROR(stepstore_blob_put(0, "a", "", 0, 0), -DER_NO_HDL, "not an open location of blobs");
    CHECK_ERROR(stepstore_blob_put(blobs, NULL, "", 0, 0), -DER_INVAL, "null pointer");
    CHECK_ERROR(stepstore_blob_put(blobs, "", "", 0, 0), -DER_INVAL, "empty");
    CHECK_ERROR(stepstore_blob_put(blobs, "a", NULL, 1, 0), -DER_INVAL, "null pointer");
    CHECK_ERROR(stepstore_blob_put(blobs, "a", "", 0, 7), -DER_INVAL, "STEPSTORE_BLOB_APPEND");
    CHECK_ERROR(stepstore_blob_get(blobs, "a", 0, NULL, &size), -DER_INVAL, "null pointer");
    CHECK_ERROR(stepstore_blobs_open(location, 5, 0, &reading), -DER_INVAL, "STEPSTORE_WRITE");
    CHECK_OK(stepstore_blobs_open(location, STEPSTORE_READ, 0, &reading));
    CHECK(stepstore_blob_put(reading, "a", "", 0, 0) == -DER_NO_PERM);
    CHECK_OK(stepstore_blobs_close(&reading));
}

int main(int argc, char** argv)
{
    stepstore_blobs blobs = 0;
    int i;
    if (argc != 2) return 2;
    for (i = 0; i < LARGE; ++i)
        large[i] = (char)(i * 7 + i / 251);
    CHECK_ERROR(stepstore_blobs_open(argv[1], STEPSTORE_READ, 0, &blobs), -DER_NONEXIST, argv[1]);
    CHECK_OK(stepstore_blobs_open(argv[1], STEPSTORE_WRITE, 0, &blobs));
    values_come_back(blobs);
    names_are_sorted(blobs);
    a_blob_is_written_and_read_in_pieces(blobs);
    arguments_are_checked(blobs, argv[1]);
    CHECK_OK(stepstore_blobs_close(&blobs));
    return 0;
}

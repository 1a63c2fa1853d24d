/* The C interface in one process: C99, no MPI. Argument: a directory that does not exist yet. */
#include "check.h"

#include <daos_errno.h>

void end_all(void)
{
    exit(1);
}

static void handles_are_checked(const char* location)
{
    stepstore_arrays store = 0, copy;
    stepstore_request request = 0;
    stepstore_names names = 0;
    int done = 0;
    CHECK_ERROR(stepstore_arrays_sync(0), -DER_NO_HDL, "0 is not an open location");
    CHECK_ERROR(stepstore_arrays_sync(12345), -DER_NO_HDL, "never opened");
    CHECK_OK(stepstore_arrays_open(location, STEPSTORE_WRITE, NULL, NULL, &store));
    copy = store;
    CHECK_ERROR(stepstore_test(store, &done), -DER_NO_HDL, "is not a request");
    CHECK_OK(stepstore_array_list(store, &names));
    CHECK_ERROR(stepstore_arrays_sync(names), -DER_NO_HDL, "is not an open location");
    CHECK_OK(stepstore_names_free(&names));
    CHECK(names == 0);
    CHECK_OK(stepstore_wait(&request)); /* none: nothing to do */
    CHECK_OK(stepstore_arrays_close(&store));
    CHECK(store == 0);
    CHECK_ERROR(stepstore_arrays_close(&copy), -DER_NO_HDL, "was closed");
    CHECK_ERROR(stepstore_arrays_close(NULL), -DER_INVAL, "null pointer");
}

static void null_pointers_are_refused(const char* location)
{
    const int64_t shape[] = {2}, start[] = {0};
    const double data[] = {1, 2};
    stepstore_arrays store = 0;
    struct stepstore_array_info info;
    struct stepstore_open_options options = {0};
    struct stepstore_array_options wrong = {0};
    int64_t bytes = 0;
    CHECK_ERROR(stepstore_arrays_open(NULL, STEPSTORE_WRITE, NULL, NULL, &store), -DER_INVAL, "location");
    CHECK_ERROR(stepstore_arrays_open(location, 7, NULL, NULL, &store), -DER_INVAL, "the mode is 7");
    CHECK_ERROR(stepstore_arrays_open(location, STEPSTORE_WRITE, NULL, NULL, NULL), -DER_INVAL, "store");
    options.order = 2;
    CHECK_ERROR(stepstore_arrays_open(location, STEPSTORE_WRITE, NULL, &options, &store), -DER_INVAL,
                "order is 2");
    options.order = 0;
    options.reserved[3] = 1;
    CHECK_ERROR(stepstore_arrays_open(location, STEPSTORE_WRITE, NULL, &options, &store), -DER_INVAL,
                "reserved");
    CHECK_ERROR(stepstore_arrays_open_fortran(location, STEPSTORE_WRITE, 0, NULL, &store), -DER_NOSYS, "MPI");
    CHECK_OK(stepstore_arrays_open(location, STEPSTORE_WRITE, NULL, NULL, &store));
    CHECK_ERROR(
        stepstore_write_array(store, NULL, STEPSTORE_REAL64, 1, shape, start, shape, data, NULL, NULL, NULL),
        -DER_INVAL, "name of the array is a null pointer");
    CHECK_ERROR(
        stepstore_write_array(store, "x", STEPSTORE_REAL64, 1, NULL, start, shape, data, NULL, NULL, NULL),
        -DER_INVAL, "shape is a null pointer");
    CHECK_ERROR(
        stepstore_write_array(store, "x", STEPSTORE_REAL64, 9, shape, start, shape, data, NULL, NULL, NULL),
        -DER_INVAL, "ndim is 9");
    CHECK_ERROR(
        stepstore_write_array(store, "x", STEPSTORE_REAL64, -1, shape, start, shape, data, NULL, NULL, NULL),
        -DER_INVAL, "ndim is -1");
    CHECK_ERROR(stepstore_write_array(store, "x", 11, 1, shape, start, shape, data, NULL, NULL, NULL),
                -DER_INVAL, "no element type");
    CHECK_ERROR(stepstore_write_array(store, "x", 0, 1, shape, start, shape, data, NULL, NULL, NULL),
                -DER_INVAL, "no element type");
    wrong.checksum = 2;
    CHECK_ERROR(
        stepstore_write_array(store, "x", STEPSTORE_REAL64, 1, shape, start, shape, data, NULL, &wrong, NULL),
        -DER_INVAL, "checksum");
    CHECK_ERROR(stepstore_array_inquire(store, NULL, &info), -DER_INVAL, "empty");
    CHECK_ERROR(stepstore_array_inquire(store, "x", NULL), -DER_INVAL, "info");
    CHECK_ERROR(stepstore_array_inquire(store, "x", &info), -DER_NONEXIST, "there is no array 'x'");
    CHECK_ERROR(stepstore_attribute_set_text(store, "", "a", NULL), -DER_INVAL, "values");
    CHECK_ERROR(stepstore_attribute_set(store, "", "a", STEPSTORE_INT8, -1, data), -DER_INVAL, "count is -1");
    CHECK_ERROR(stepstore_attribute_set(store, "", "a", STEPSTORE_INT64, INT64_MAX, data), -DER_INVAL,
                "1 MiB");
    CHECK_ERROR(stepstore_attribute_get(store, "", "a", NULL, NULL, NULL, &bytes), -DER_NONEXIST,
                "no attribute 'a'");
    CHECK_OK(stepstore_arrays_close(&store));
}

static void arrays_and_attributes(const char* location)
{
    const int64_t shape[] = {2, 3}, start[] = {0, 0}, at[] = {1, 2}, one[] = {1, 1};
    const char words[2][3][8] = {{"one", "two", "three"}, {"four", "five", "six"}};
    const stepstore_type text = STEPSTORE_CHARACTER_OF(8);
    const float levels[] = {1.5F, 2.5F};
    struct stepstore_array_info info;
    stepstore_arrays store = 0;
    stepstore_request request = 0;
    stepstore_names names = 0;
    stepstore_type type = 0;
    int64_t count = 0, bytes = 0;
    char word[8], value[16];
    float back[2] = {0};
    int done = 0, rank = -1, size = -1;

    CHECK_OK(stepstore_arrays_open(location, STEPSTORE_WRITE, NULL, NULL, &store));
    CHECK_OK(stepstore_arrays_group(store, &rank, &size));
    CHECK(rank == 0 && size == 1);
    CHECK_OK(
        stepstore_write_array(store, "words", text, 2, shape, start, shape, words, NULL, NULL, &request));
    CHECK(request != 0);
    while (!done)
        CHECK_OK(stepstore_test(request, &done));
    CHECK_OK(stepstore_wait(&request));
    CHECK(request == 0);
    CHECK_OK(stepstore_read_array(store, "words", text, 2, shape, at, one, word, NULL, NULL));
    CHECK(strcmp(word, "six") == 0);
    CHECK_OK(stepstore_array_inquire(store, "words", &info));
    CHECK(info.type == text && info.ndim == 2 && info.shape[0] == 2 && info.shape[1] == 3 &&
          info.shape[2] == 0);
    CHECK(info.element_size == 8 && info.order == STEPSTORE_ROW_MAJOR && info.append_dimension == -1);
    CHECK(strcmp(info.object_class, "SX") == 0 && info.chunk_size == 1 << 20 && info.version == 1);

    CHECK_OK(stepstore_attribute_set(store, "words", "levels", STEPSTORE_REAL32, 2, levels));
    CHECK_OK(stepstore_attribute_set_text(store, "words", "units", "1"));
    CHECK_OK(stepstore_attribute_set_text(store, "words", "empty", ""));
    CHECK_OK(stepstore_attribute_get(store, "words", "levels", &type, &count, NULL, &bytes));
    CHECK(type == STEPSTORE_REAL32 && count == 2 && bytes == 8);
    CHECK_OK(stepstore_attribute_get(store, "words", "levels", NULL, NULL, back, &bytes));
    CHECK(back[0] == 1.5F && back[1] == 2.5F);
    bytes = 7;
    CHECK_ERROR(stepstore_attribute_get(store, "words", "levels", NULL, NULL, back, &bytes), -DER_TRUNC,
                "room for 7");
    CHECK(bytes == 8);
    bytes = sizeof value;
    CHECK_OK(stepstore_attribute_get(store, "words", "units", &type, &count, value, &bytes));
    CHECK(type == STEPSTORE_CHARACTER_OF(1) && count == 1 && bytes == 1 && value[0] == '1');
    CHECK_OK(stepstore_attribute_get(store, "words", "empty", &type, &count, NULL, &bytes));
    CHECK(count == 0 && bytes == 0);
    CHECK_OK(stepstore_attribute_list(store, "words", &names));
    CHECK_OK(stepstore_names_count(names, &count));
    CHECK(count == 3 && strcmp(stepstore_names_get(names, 0), "empty") == 0);
    CHECK(strcmp(stepstore_names_get(names, 2), "units") == 0 && stepstore_names_get(names, 3) == NULL);
    CHECK(stepstore_names_get(names, -1) == NULL);
    CHECK_OK(stepstore_names_free(&names));
    CHECK_OK(stepstore_attribute_remove(store, "words", "units"));

    CHECK_OK(stepstore_arrays_sync(store));
    CHECK_OK(stepstore_array_remove(store, "words"));
    CHECK_OK(stepstore_array_list(store, &names));
    CHECK_OK(stepstore_names_count(names, &count));
    CHECK(count == 0);
    CHECK_OK(stepstore_names_free(&names));
    CHECK_OK(stepstore_arrays_close(&store));
}

static void appends(const char* location)
{
    const int64_t slab[] = {1, 3}, start[] = {0, 0};
    struct stepstore_array_info info;
    stepstore_arrays store = 0;
    const int64_t no_rows[] = {0, 3};
    int32_t all[4][3];
    int step, i;
    CHECK_OK(stepstore_arrays_open(location, STEPSTORE_WRITE, NULL, NULL, &store));
    CHECK_OK(stepstore_write_array(store, "series", STEPSTORE_INT32, 2, no_rows, start, no_rows, NULL, NULL,
                                   NULL, NULL));
    CHECK_OK(stepstore_array_inquire(store, "series", &info));
    CHECK(info.ndim == 2 && info.shape[0] == 0 && info.shape[1] == 3 && info.blocks == 0);
    CHECK_OK(
        stepstore_read_array(store, "series", STEPSTORE_INT32, 2, info.shape, NULL, NULL, NULL, NULL, NULL));
    for (step = 0; step < 4; ++step) {
        const int32_t values[] = {step, 10 + step, 20 + step};
        if (step < 2)
            CHECK_OK(stepstore_append_array(store, "series", 0, STEPSTORE_INT32, 2, slab, start, slab, values,
                                            NULL, NULL, NULL));
        else
            CHECK_OK(stepstore_append_object(store, "series", 0, STEPSTORE_INT32, 2, slab, start, slab,
                                             values, NULL, NULL, NULL));
    }
    CHECK_OK(stepstore_array_inquire(store, "series", &info));
    CHECK(info.shape[0] == 4 && info.append_dimension == 0 && info.blocks == 4 && info.version == 5);
    CHECK_OK(
        stepstore_read_array(store, "series", STEPSTORE_INT32, 2, info.shape, NULL, NULL, all, NULL, NULL));
    for (step = 0; step < 4; ++step)
        for (i = 0; i < 3; ++i)
            CHECK(all[step][i] == 10 * i + step);
    CHECK_OK(stepstore_arrays_close(&store));
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    CHECK(strcmp(stepstore_arrays_message(), "") == 0);
    handles_are_checked(argv[1]);
    null_pointers_are_refused(argv[1]);
    arrays_and_attributes(argv[1]);
    appends(argv[1]);
    return 0;
}

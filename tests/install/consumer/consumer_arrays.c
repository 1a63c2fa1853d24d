#include <stdio.h>
#include <stepstore/arrays.h>

int main(int argc, char** argv)
{
    const int64_t shape[] = {5}, start[] = {0};
    const char hello[] = "hello";
    char value[6] = {0};
    stepstore_arrays store = 0;

    (void)argc;
    if (stepstore_arrays_open(argv[1], STEPSTORE_WRITE, NULL, NULL, &store) != 0 ||
        stepstore_write_array(store, "word", STEPSTORE_CHARACTER, 1, shape, start, shape, hello, NULL, NULL,
                              NULL) != 0 ||
        stepstore_read_array(store, "word", STEPSTORE_CHARACTER, 1, shape, NULL, NULL, value, NULL, NULL) !=
            0 ||
        stepstore_arrays_close(&store) != 0) {
        fprintf(stderr, "failed: %s\n", stepstore_arrays_message());
        return 1;
    }
    printf("array: %s\n", value);
    return 0;
}

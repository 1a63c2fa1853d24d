#include <stdio.h>
#include <stepstore/arrays.h>

int main(int argc, char** argv)
{
    const int64_t shape[2] = {2, 3}, start[2] = {0, 0};
    const double values[2][3] = {{1, 2, 3}, {4, 5, 6}};
    stepstore_arrays store = 0;
    if (argc != 2 || stepstore_arrays_open(argv[1], STEPSTORE_WRITE, NULL, NULL, &store) != 0 ||
        stepstore_write_array(store, "values", STEPSTORE_REAL64, 2, shape, start, shape, values, NULL, NULL,
                              NULL) != 0 ||
        stepstore_arrays_close(&store) != 0) {
        fprintf(stderr, "failed: %s\n", stepstore_arrays_message());
        return 1;
    }
    return 0;
}

// The heat equation on a plate that is divided in blocks among the ranks. Each output is appended to one
// array along time: temperature[time][row][column].
//
// mpirun -n 4 heat LOCATION [ARRAY [OUTPUTS]]
#include "plate.h"

#include <stdio.h>
#include <stdlib.h>
#include <stepstore/arrays.h>

enum { ROWS = 60, COLUMNS = 90, UPDATES_PER_OUTPUT = 20 };

// All ranks get the same code and text. So all of them leave, and one of them says why.
static void check(int code, const char* what, const Plate* plate)
{
    if (code == 0) return;
    if (plate->rank == 0) fprintf(stderr, "heat: %s: %s\n", what, stepstore_arrays_message());
    MPI_Finalize();
    exit(1);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 2) {
        fprintf(stderr, "usage: heat LOCATION [ARRAY [OUTPUTS]]\n");
        MPI_Finalize();
        return 2;
    }
    const char* name = argc > 2 ? argv[2] : "temperature";
    const int outputs = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 5;

    Plate plate;
    plate_make(&plate, MPI_COMM_WORLD, ROWS, COLUMNS);
    stepstore_arrays store;
    check(stepstore_arrays_open(argv[1], STEPSTORE_WRITE, &plate.comm, NULL, &store), "open", &plate);

    // The slab of one output, and this rank's block of it.
    const int64_t shape[3] = {1, ROWS, COLUMNS};
    const int64_t start[3] = {0, (int64_t)plate.start[0], (int64_t)plate.start[1]};
    const int64_t count[3] = {1, (int64_t)plate.count[0], (int64_t)plate.count[1]};
    // The block lies inside its halo: one row is count[1] + 2 elements long.
    const int64_t width = count[2] + 2, cell = sizeof(double);
    const int64_t strides[3] = {cell, width * cell, cell};
    for (int output = 0; output < outputs; ++output) {
        if (output > 0) plate_advance(&plate, UPDATES_PER_OUTPUT);
        check(stepstore_append_array(store, name, 0, STEPSTORE_REAL64, 3, shape, start, count,
                                     plate.now + width + 1, strides, NULL, NULL),
              "append", &plate);
    }
    check(stepstore_attribute_set_text(store, name, "unit", "degree Celsius"), "set the unit", &plate);
    check(stepstore_arrays_close(&store), "close", &plate);
    if (plate.rank == 0) printf("%d outputs\n", outputs);
    plate_free(&plate);
    MPI_Finalize();
    return 0;
}

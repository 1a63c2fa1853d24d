// Reads the output of heat, with any number of ranks: each takes its block of every output. Prints the
// largest temperature of each output, and a mark of all of its bits.
//
// mpirun -n 2 heat_read LOCATION [ARRAY]
#include "plate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <stepstore/arrays.h>

static void check(int code, const char* what, const Plate* plate)
{
    if (code == 0) return;
    if (plate->rank == 0) fprintf(stderr, "heat_read: %s: %s\n", what, stepstore_arrays_message());
    MPI_Finalize();
    exit(1);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 2) {
        fprintf(stderr, "usage: heat_read LOCATION [ARRAY]\n");
        MPI_Finalize();
        return 2;
    }
    const char* name = argc > 2 ? argv[2] : "temperature";
    Plate plate = {.comm = MPI_COMM_WORLD};
    MPI_Comm_rank(MPI_COMM_WORLD, &plate.rank);
    const MPI_Comm world = MPI_COMM_WORLD;
    stepstore_arrays store;
    check(stepstore_arrays_open(argv[1], STEPSTORE_READ, &world, NULL, &store), "open", &plate);
    struct stepstore_array_info info;
    check(stepstore_array_inquire(store, name, &info), "inquire", &plate);
    char unit[64] = "";
    int64_t bytes = sizeof unit - 1;
    check(stepstore_attribute_get(store, name, "unit", NULL, NULL, unit, &bytes), "get the unit", &plate);
    unit[bytes] = 0;

    // Divides the plate as a program with this number of ranks would.
    plate_make(&plate, MPI_COMM_WORLD, (uint64_t)info.shape[1], (uint64_t)info.shape[2]);
    double* block = malloc(plate.count[0] * plate.count[1] * sizeof(double));
    for (int64_t time = 0; time < info.shape[0]; ++time) {
        const int64_t start[3] = {time, (int64_t)plate.start[0], (int64_t)plate.start[1]};
        const int64_t count[3] = {1, (int64_t)plate.count[0], (int64_t)plate.count[1]};
        check(stepstore_read_array(store, name, STEPSTORE_REAL64, 3, NULL, start, count, block, NULL, NULL),
              "read", &plate);
        const FieldMarks marks = field_marks(block, plate.shape, plate.start, plate.count, plate.comm);
        if (plate.rank == 0)
            printf("output %" PRId64 ": at most %.6f %s, mark %" PRId64 "\n", time, marks.largest, unit,
                   marks.mark);
    }
    check(stepstore_arrays_close(&store), "close", &plate);
    free(block);
    plate_free(&plate);
    MPI_Finalize();
    return 0;
}

// A wave in a box with walls, divided in slabs among the ranks. It is stored half-way, and a second program
// with another number of ranks goes on from there.
//
// mpirun -n 4 checkpoint LOCATION run      computes 20 steps; stores a checkpoint after 10, and the end
// mpirun -n 3 checkpoint LOCATION restart  goes on from the checkpoint, and compares its end with the other
//
// A checkpoint is three arrays. It is valid when the location's attribute `last_checkpoint` names it. This
// is set last, so a program that dies before leaves the previous checkpoint.
#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stepstore/arrays.h>
#include <string.h>

enum { NX = 18, NY = 14, NZ = 24, HALF = 10, END = 20 };
enum { PLANE = (NY + 2) * (NX + 2) };
static const int64_t shape[3] = {NZ, NY, NX};
// The cells lie in a halo of zeroes.
static const int64_t cell_strides[3] = {PLANE * sizeof(double), (NX + 2) * sizeof(double), sizeof(double)};

typedef struct {
    int rank, ranks;
    int64_t start[3], count[3];        // of this rank's slab
    double *previous, *current, *next; // (count[0] + 2) planes
    bool* wall;                        // count[0] x NY x NX
} Box;

static size_t at(int64_t z, int64_t y, int64_t x) // of the slab; -1 is the halo
{
    return (size_t)((z + 1) * PLANE + (y + 1) * (NX + 2) + x + 1);
}

static void check(int code, const char* what, const Box* box)
{
    if (code == 0) return;
    if (box->rank == 0) fprintf(stderr, "checkpoint: %s: %s\n", what, stepstore_arrays_message());
    MPI_Finalize();
    exit(1);
}

static Box make_box(void)
{
    Box box = {.start = {0, 0, 0}, .count = {0, NY, NX}};
    MPI_Comm_rank(MPI_COMM_WORLD, &box.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &box.ranks);
    box.start[0] = (int64_t)NZ * box.rank / box.ranks;
    box.count[0] = (int64_t)NZ * (box.rank + 1) / box.ranks - box.start[0];
    const size_t cells = (size_t)(box.count[0] + 2) * PLANE;
    box.previous = calloc(cells, sizeof(double));
    box.current = calloc(cells, sizeof(double));
    box.next = calloc(cells, sizeof(double));
    box.wall = calloc(cells, sizeof(bool));
    return box;
}

static void begin(Box* box)
{
    for (int64_t z = 0; z < box->count[0]; ++z) {
        for (int64_t y = 0; y < NY; ++y) {
            for (int64_t x = 0; x < NX; ++x) {
                const int64_t plane = box->start[0] + z;
                const bool wall = (7 * x + 3 * y + plane) % 11 == 0;
                box->wall[(z * NY + y) * NX + x] = wall;
                const double height = (double)((x + 1) * (NX - x) * (y + 1) * (NY - y) * (plane + 1));
                box->previous[at(z, y, x)] = box->current[at(z, y, x)] = wall ? 0 : height / 1000;
            }
        }
    }
}

// Planes at the edges of the slab go to the neighbours.
static void exchange(const Box* box)
{
    const int below = box->rank == 0 ? MPI_PROC_NULL : box->rank - 1;
    const int above = box->rank == box->ranks - 1 ? MPI_PROC_NULL : box->rank + 1;
    double* cells = box->current;
    MPI_Sendrecv(cells + PLANE, PLANE, MPI_DOUBLE, below, 0, cells + (box->count[0] + 1) * PLANE, PLANE,
                 MPI_DOUBLE, above, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(cells + box->count[0] * PLANE, PLANE, MPI_DOUBLE, above, 1, cells, PLANE, MPI_DOUBLE, below,
                 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void advance(Box* box)
{
    exchange(box);
    for (int64_t z = 0; z < box->count[0]; ++z) {
        for (int64_t y = 0; y < NY; ++y) {
            for (int64_t x = 0; x < NX; ++x) {
                const double* u = box->current + at(z, y, x);
                const double around = u[-1] + u[1] + u[-(NX + 2)] + u[NX + 2] + u[-PLANE] + u[PLANE];
                box->next[at(z, y, x)] = box->wall[(z * NY + y) * NX + x]
                                             ? 0
                                             : 2 * *u - box->previous[at(z, y, x)] + 0.1 * (around - 6 * *u);
            }
        }
    }
    double* oldest = box->previous;
    box->previous = box->current;
    box->current = box->next;
    box->next = oldest;
}

// The array NAME-STEP of three that make a state.
static const char* array_name(const char* name, int64_t step)
{
    static char text[64];
    snprintf(text, sizeof text, "%s-%" PRId64, name, step);
    return text;
}

// The transfers run side by side; each array appears when its request is complete.
static void store_state(stepstore_arrays store, const Box* box, int64_t step)
{
    stepstore_request requests[3];
    check(stepstore_write_array(store, array_name("previous", step), STEPSTORE_REAL64, 3, shape, box->start,
                                box->count, box->previous + at(0, 0, 0), cell_strides, NULL, &requests[0]),
          "write", box);
    check(stepstore_write_array(store, array_name("current", step), STEPSTORE_REAL64, 3, shape, box->start,
                                box->count, box->current + at(0, 0, 0), cell_strides, NULL, &requests[1]),
          "write", box);
    check(stepstore_write_object(store, array_name("wall", step), STEPSTORE_LOGICAL8, 3, shape, box->start,
                                 box->count, box->wall, NULL, NULL, &requests[2]),
          "write", box);
    for (int i = 0; i < 3; ++i)
        check(stepstore_wait(&requests[i]), "wait", box);
}

static void load_state(stepstore_arrays store, Box* box, int64_t step)
{
    check(stepstore_read_array(store, array_name("previous", step), STEPSTORE_REAL64, 3, shape, box->start,
                               box->count, box->previous + at(0, 0, 0), cell_strides, NULL),
          "read", box);
    check(stepstore_read_array(store, array_name("current", step), STEPSTORE_REAL64, 3, shape, box->start,
                               box->count, box->current + at(0, 0, 0), cell_strides, NULL),
          "read", box);
    check(stepstore_read_array(store, array_name("wall", step), STEPSTORE_LOGICAL8, 3, shape, box->start,
                               box->count, box->wall, NULL, NULL),
          "read", box);
}

static int run(stepstore_arrays store, Box* box)
{
    begin(box);
    for (int64_t step = 1; step <= END; ++step) {
        advance(box);
        if (step != HALF && step != END) continue;
        store_state(store, box, step);
        if (step == HALF)
            check(stepstore_attribute_set(store, "", "last_checkpoint", STEPSTORE_INT64, 1, &step),
                  "set last_checkpoint", box);
    }
    if (box->rank == 0) printf("stored a checkpoint after %d steps, and the end after %d\n", HALF, END);
    return 0;
}

static int restart(stepstore_arrays store, Box* box)
{
    int64_t step = 0, bytes = sizeof step;
    check(stepstore_attribute_get(store, "", "last_checkpoint", NULL, NULL, &step, &bytes),
          "get last_checkpoint", box);
    load_state(store, box, step);
    const int64_t from = step;
    while (step++ < END)
        advance(box);
    Box other = make_box();
    load_state(store, &other, END);
    int differs = 0;
    for (int64_t z = 0; z < box->count[0]; ++z)
        for (int64_t y = 0; y < NY; ++y)
            for (int64_t x = 0; x < NX; ++x)
                differs |= box->current[at(z, y, x)] != other.current[at(z, y, x)];
    int any = 0, mine = differs != 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    if (box->rank == 0)
        printf("from step %" PRId64 " on %d ranks: %s\n", from, box->ranks,
               any ? "the end is another one" : "the same end, bit for bit");
    return any;
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    const bool runs = argc == 3 && strcmp(argv[2], "run") == 0;
    if (!runs && (argc != 3 || strcmp(argv[2], "restart") != 0)) {
        fprintf(stderr, "usage: checkpoint LOCATION run|restart\n");
        MPI_Finalize();
        return 2;
    }
    Box box = make_box();
    const MPI_Comm world = MPI_COMM_WORLD;
    stepstore_arrays store;
    check(stepstore_arrays_open(argv[1], runs ? STEPSTORE_WRITE : STEPSTORE_READ, &world, NULL, &store),
          "open", &box);
    const int status = runs ? run(store, &box) : restart(store, &box);
    check(stepstore_arrays_close(&store), "close", &box);
    MPI_Finalize();
    return status;
}

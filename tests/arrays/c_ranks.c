/* The C interface over MPI. Arguments: a case, a directory that does not exist yet. */
#include "check.h"

#include <daos_errno.h>
#include <mpi.h>

static int rank, size;

void end_all(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static stepstore_arrays open_store(const char* location, int mode, MPI_Comm comm, uint32_t order)
{
    struct stepstore_open_options options = {0};
    stepstore_arrays store = 0;
    options.order = order;
    options.timeout_seconds = 60;
    CHECK_OK(stepstore_arrays_open(location, mode, &comm, &options, &store));
    return store;
}

/* Rank r of n has these rows of so many. */
static int64_t first_row(int64_t rows, int r, int n)
{
    return rows * r / n;
}

enum { ROWS = 37, COLUMNS = 11 };

static void write_rows(stepstore_arrays store, int r, int n, double add)
{
    const int64_t from = first_row(ROWS, r, n), to = first_row(ROWS, r + 1, n);
    const int64_t shape[] = {ROWS, COLUMNS}, start[] = {from, 0}, count[] = {to - from, COLUMNS};
    double data[ROWS * COLUMNS];
    int64_t i;
    for (i = 0; i < count[0] * COLUMNS; ++i)
        data[i] = (double)(from * COLUMNS + i) + add;
    CHECK_OK(
        stepstore_write_array(store, "T", STEPSTORE_REAL64, 2, shape, start, count, data, NULL, NULL, NULL));
    CHECK_OK(
        stepstore_write_object(store, "U", STEPSTORE_REAL64, 2, shape, start, count, data, NULL, NULL, NULL));
}

/* By columns, and in the other order; what rows were written by any number of ranks. */
static void read_columns(stepstore_arrays store, const char* name, int r, int n, double add)
{
    const int64_t from = first_row(COLUMNS, r, n), to = first_row(COLUMNS, r + 1, n);
    const int64_t shape[] = {COLUMNS, ROWS}, start[] = {from, 0}, count[] = {to - from, ROWS};
    double data[COLUMNS * ROWS];
    int64_t row, column;
    CHECK_OK(stepstore_read_array(store, name, STEPSTORE_REAL64, 2, shape, start, count, data, NULL, NULL));
    for (row = 0; row < ROWS; ++row) /* column-major: the first dimension lies together */
        for (column = 0; column < count[0]; ++column)
            CHECK(data[row * count[0] + column] == (double)(row * COLUMNS + from + column) + add);
}

static void round_trip(const char* location)
{
    stepstore_arrays store = open_store(location, STEPSTORE_WRITE, MPI_COMM_WORLD, STEPSTORE_ROW_MAJOR);
    MPI_Comm half;
    write_rows(store, rank, size, 0);
    write_rows(store, rank, size, 0.5);
    CHECK_OK(stepstore_arrays_close(&store));
    store = open_store(location, STEPSTORE_READ, MPI_COMM_WORLD, STEPSTORE_COLUMN_MAJOR);
    read_columns(store, "T", rank, size, 0.5);
    read_columns(store, "U", rank, size, 0.5);
    CHECK_OK(stepstore_arrays_close(&store));

    /* Restarted on half as many ranks, by the communicator's Fortran handle. */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (rank % 2 == 0) {
        struct stepstore_open_options options = {0};
        int r, n;
        options.order = STEPSTORE_COLUMN_MAJOR;
        CHECK_OK(stepstore_arrays_open_fortran(location, STEPSTORE_READ, (int)MPI_Comm_c2f(half), &options,
                                               &store));
        CHECK_OK(stepstore_arrays_group(store, &r, &n));
        CHECK(n == (size + 1) / 2);
        read_columns(store, "U", r, n, 0.5);
        CHECK_OK(stepstore_arrays_close(&store));
    }
    MPI_Comm_free(&half);
}

static void requests(const char* location)
{
    stepstore_arrays store = open_store(location, STEPSTORE_WRITE, MPI_COMM_WORLD, STEPSTORE_ROW_MAJOR);
    enum { MANY = 3, EACH = 100000 };
    const int64_t shape[] = {EACH * (int64_t)size}, start[] = {EACH * (int64_t)rank}, count[] = {EACH};
    const char* names[] = {"a", "b", "c"};
    stepstore_request pending[MANY];
    int32_t* data[MANY];
    int i, j, done;
    for (i = 0; i < MANY; ++i) {
        data[i] = malloc(EACH * sizeof *data[i]);
        for (j = 0; j < EACH; ++j)
            data[i][j] = i * 1000 + rank;
        CHECK_OK(stepstore_write_array(store, names[i], STEPSTORE_INT32, 1, shape, start, count, data[i],
                                       NULL, NULL, &pending[i]));
    }
    for (i = 0; i < MANY; ++i)
        CHECK_OK(stepstore_wait(&pending[i]));
    for (i = 0; i < MANY; ++i) {
        const int64_t other[] = {EACH * (int64_t)((rank + 1) % size)};
        memset(data[i], 0, EACH * sizeof *data[i]);
        CHECK_OK(stepstore_read_array(store, names[i], STEPSTORE_INT32, 1, shape, other, count, data[i], NULL,
                                      &pending[i]));
    }
    CHECK_OK(stepstore_test(pending[0], &done));
    for (i = 0; i < MANY; ++i) {
        CHECK_OK(stepstore_wait(&pending[i]));
        for (j = 0; j < EACH; ++j)
            CHECK(data[i][j] == i * 1000 + (rank + 1) % size);
        free(data[i]);
    }
    CHECK_OK(stepstore_arrays_close(&store));
}

/* All ranks get the same error, and can go on. */
static void errors(const char* location)
{
    stepstore_arrays store = open_store(location, STEPSTORE_WRITE, MPI_COMM_WORLD, STEPSTORE_ROW_MAJOR);
    const int64_t shape[] = {size}, start[] = {rank}, wrong[] = {rank == size - 1 ? 0 : rank}, count[] = {1};
    const double data = rank;
    double back = -1;
    CHECK_ERROR(
        stepstore_write_array(store, "T", STEPSTORE_REAL64, 1, shape, wrong, count, &data, NULL, NULL, NULL),
        -DER_INVAL, "overlap in [0:1]");
    CHECK_ERROR(rank == 1 ? stepstore_read_array(store, "T", STEPSTORE_REAL64, 1, NULL, start, count, &back,
                                                 NULL, NULL)
                          : stepstore_write_array(store, "T", STEPSTORE_REAL64, 1, shape, start, count, &data,
                                                  NULL, NULL, NULL),
                -DER_MISMATCH, "rank 0 calls write_array 'T' and rank 1 calls read_array 'T'");
    CHECK_ERROR(stepstore_write_array(store, rank == 1 ? NULL : "T", STEPSTORE_REAL64, 1, shape, start, count,
                                      &data, NULL, NULL, NULL),
                -DER_MISMATCH, "rank 1 calls write_array ''");
    CHECK_OK(
        stepstore_write_array(store, "T", STEPSTORE_REAL64, 1, shape, start, count, &data, NULL, NULL, NULL));
    CHECK_OK(stepstore_read_array(store, "T", STEPSTORE_REAL64, 1, shape, start, count, &back, NULL, NULL));
    CHECK(back == rank);
    CHECK_OK(stepstore_arrays_close(&store));
}

static void no_communicators(const char* location)
{
    stepstore_arrays store = 0;
    MPI_Comm comm = MPI_COMM_NULL, freed, between, mine;
    CHECK_ERROR(stepstore_arrays_open(location, STEPSTORE_WRITE, &comm, NULL, &store), -DER_INVAL,
                "MPI_COMM_NULL");
    CHECK_ERROR(stepstore_arrays_open_fortran(location, STEPSTORE_WRITE, 1234567, NULL, &store), -DER_INVAL,
                "communicator");
    CHECK_ERROR(stepstore_arrays_open_fortran(location, STEPSTORE_WRITE, -5, NULL, &store), -DER_INVAL,
                "communicator");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    freed = comm;
    MPI_Comm_free(&comm);
    CHECK_ERROR(stepstore_arrays_open(location, STEPSTORE_WRITE, &freed, NULL, &store), -DER_INVAL,
                "communicator is none");
    memset(&comm, 0x5a, sizeof comm); /* never set */
    CHECK_ERROR(stepstore_arrays_open(location, STEPSTORE_WRITE, &comm, NULL, &store), -DER_INVAL,
                "communicator is none");
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &between);
    CHECK_ERROR(stepstore_arrays_open(location, STEPSTORE_WRITE, &between, NULL, &store), -DER_INVAL,
                "joins two groups");
    MPI_Comm_free(&between);
    MPI_Comm_free(&mine);
    CHECK(store == 0);
}

/* All but rank 1 open. */
static void a_rank_does_not_open(const char* location)
{
    struct stepstore_open_options options = {0};
    stepstore_arrays store = 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    options.timeout_seconds = 1;
    if (rank != 1)
        CHECK_ERROR(stepstore_arrays_open(location, STEPSTORE_WRITE, &comm, &options, &store), -DER_TIMEDOUT,
                    "timeout_seconds");
    CHECK(store == 0);
}

/* A rank that ends its program is missed by the others. */
static void a_rank_ends(const char* location)
{
    stepstore_arrays store = open_store(location, STEPSTORE_WRITE, MPI_COMM_WORLD, STEPSTORE_ROW_MAJOR);
    const int64_t shape[] = {size}, start[] = {rank}, count[] = {1};
    const double data = rank;
    if (rank == 1) {
        CHECK_ERROR(stepstore_arrays_close(&store), -DER_MISMATCH, "rank 1 calls close");
    } else {
        CHECK_ERROR(stepstore_write_array(store, "T", STEPSTORE_REAL64, 1, shape, start, count, &data, NULL,
                                          NULL, NULL),
                    -DER_MISMATCH, "rank 1 calls close");
        CHECK_ERROR(stepstore_array_remove(store, "T"), -DER_CANCELED, "rank 1");
        CHECK_ERROR(stepstore_arrays_close(&store), -DER_CANCELED, "lost each other");
    }
    CHECK(store == 0);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3);
    if (strcmp(argv[1], "round_trip") == 0)
        round_trip(argv[2]);
    else if (strcmp(argv[1], "requests") == 0)
        requests(argv[2]);
    else if (strcmp(argv[1], "errors") == 0)
        errors(argv[2]);
    else if (strcmp(argv[1], "no_communicators") == 0)
        no_communicators(argv[2]);
    else if (strcmp(argv[1], "a_rank_does_not_open") == 0)
        a_rank_does_not_open(argv[2]);
    else if (strcmp(argv[1], "a_rank_ends") == 0)
        a_rank_ends(argv[2]);
    else
        CHECK(!"a known case");
    MPI_Finalize();
    return 0;
}

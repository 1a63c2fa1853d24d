#include "plate.h"

#include <stdlib.h>
#include <string.h>

static const double diffusion = 0.2, cold = 20, hot = 100;

static void divide(const uint64_t* shape, const int* grid, const int* place, uint64_t* start, uint64_t* count)
{
    for (int i = 0; i < 2; ++i) {
        const uint64_t parts = (uint64_t)grid[i], part = (uint64_t)place[i];
        start[i] = shape[i] * part / parts;
        count[i] = shape[i] * (part + 1) / parts - start[i];
    }
}

void plate_make(Plate* plate, MPI_Comm world, uint64_t rows, uint64_t columns)
{
    int grid[2] = {0, 0}, place[2];
    const int periodic[2] = {0, 0};
    MPI_Comm_size(world, &plate->ranks);
    MPI_Dims_create(plate->ranks, 2, grid);
    MPI_Cart_create(world, 2, grid, periodic, 0, &plate->comm);
    MPI_Comm_rank(plate->comm, &plate->rank);
    MPI_Cart_coords(plate->comm, plate->rank, 2, place);
    plate->shape[0] = rows;
    plate->shape[1] = columns;
    divide(plate->shape, grid, place, plate->start, plate->count);
    const size_t cells = (plate->count[0] + 2) * (plate->count[1] + 2);
    plate->now = malloc(cells * sizeof(double));
    plate->next = malloc(cells * sizeof(double));
    for (size_t i = 0; i < cells; ++i)
        plate->now[i] = cold;
    const size_t width = plate->count[1] + 2;
    if (place[1] == 0)
        for (size_t row = 0; row < plate->count[0] + 2; ++row)
            plate->now[row * width] = hot;
    memcpy(plate->next, plate->now, cells * sizeof(double));
}

void plate_free(Plate* plate)
{
    free(plate->now);
    free(plate->next);
    MPI_Comm_free(&plate->comm);
}

// The edges of the block go into the halos of the neighbours. Halos at the edge of the plate stay.
static void exchange(const Plate* plate)
{
    const int rows = (int)plate->count[0], columns = (int)plate->count[1];
    const size_t height = plate->count[0], width = plate->count[1] + 2;
    double* cells = plate->now;
    MPI_Datatype column;
    MPI_Type_vector(rows, 1, columns + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    int above, below, left, right;
    MPI_Cart_shift(plate->comm, 0, 1, &above, &below);
    MPI_Cart_shift(plate->comm, 1, 1, &left, &right);
    MPI_Sendrecv(cells + width + 1, columns, MPI_DOUBLE, above, 0, cells + (height + 1) * width + 1, columns,
                 MPI_DOUBLE, below, 0, plate->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(cells + height * width + 1, columns, MPI_DOUBLE, below, 1, cells + 1, columns, MPI_DOUBLE,
                 above, 1, plate->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(cells + width + 1, 1, column, left, 2, cells + width + columns + 1, 1, column, right, 2,
                 plate->comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(cells + width + columns, 1, column, right, 3, cells + width, 1, column, left, 3, plate->comm,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
}

void plate_advance(Plate* plate, int updates)
{
    const size_t rows = plate->count[0], columns = plate->count[1], width = columns + 2;
    for (int i = 0; i < updates; ++i) {
        exchange(plate);
        for (size_t row = 1; row <= rows; ++row) {
            for (size_t column = 1; column <= columns; ++column) {
                const double* cell = plate->now + row * width + column;
                plate->next[row * width + column] =
                    *cell + diffusion * (cell[-1] + cell[1] + *(cell - width) + cell[width] - 4 * *cell);
            }
        }
        for (size_t row = 1; row <= rows; ++row)
            memcpy(plate->now + row * width + 1, plate->next + row * width + 1, columns * sizeof(double));
    }
}

void plate_block(const Plate* plate, double* block)
{
    const size_t columns = plate->count[1];
    for (size_t row = 0; row < plate->count[0]; ++row)
        memcpy(block + row * columns, plate->now + (row + 1) * (columns + 2) + 1, columns * sizeof(double));
}

FieldMarks field_marks(const double* block, const uint64_t* shape, const uint64_t* start,
                       const uint64_t* count, MPI_Comm comm)
{
    double largest = -1e300;
    uint64_t mark = 0;
    for (uint64_t row = 0; row < count[0]; ++row) {
        for (uint64_t column = 0; column < count[1]; ++column) {
            const double value = block[row * count[1] + column];
            const unsigned turn = (unsigned)(((start[0] + row) * shape[1] + start[1] + column) % 64);
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            mark ^= turn == 0 ? bits : bits << turn | bits >> (64 - turn);
            if (value > largest) largest = value;
        }
    }
    FieldMarks all;
    MPI_Allreduce(&largest, &all.largest, 1, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(&mark, &all.mark, 1, MPI_INT64_T, MPI_BXOR, comm);
    return all;
}

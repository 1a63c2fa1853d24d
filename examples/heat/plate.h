// A square plate whose left edge is hot, divided in blocks among the ranks: the numerics of the example. It
// knows nothing of storage.
#pragma once

#include <mpi.h>
#include <stdint.h>

typedef struct {
    MPI_Comm comm; // the ranks as a grid, rows x columns
    int rank, ranks;
    uint64_t shape[2], start[2], count[2]; // of the plate and of this rank's block: rows, columns
    double *now, *next;                    // (count[0] + 2) x (count[1] + 2): a halo of one cell all around
} Plate;

void plate_make(Plate* plate, MPI_Comm world, uint64_t rows, uint64_t columns);
void plate_free(Plate* plate);
void plate_advance(Plate* plate, int updates);
// The block without its halo, into count[0] x count[1] doubles.
void plate_block(const Plate* plate, double* block);

// Two numbers that a field has in any decomposition, of the block at `start` with `count` rows and columns:
// its largest element, and a mark of all bits and places.
typedef struct {
    double largest;
    int64_t mark;
} FieldMarks;
FieldMarks field_marks(const double* block, const uint64_t* shape, const uint64_t* start,
                       const uint64_t* count, MPI_Comm comm);

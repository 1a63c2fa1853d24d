/* Stands for another MPI library than Stepstore was built with: initialised, and of another name
 * (libmpi.so.12 is MPICH's). */
#define EXPORT __attribute__((visibility("default")))
EXPORT int MPI_Initialized(int* flag);
EXPORT int MPI_Finalized(int* flag);

int MPI_Initialized(int* flag)
{
    *flag = 1;
    return 0;
}

int MPI_Finalized(int* flag)
{
    *flag = 0;
    return 0;
}

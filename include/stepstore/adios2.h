/*
 * For programs that hand an engine in ADIOS2 a communicator. Exported by libstepstore_adios2.so, the library
 * that ADIOS2 loads: link to it, or find the function with dlsym().
 *
 * ADIOS2 does not give a plugin the communicator of its ADIOS object. By itself the plugin forms one group of
 * the ranks of MPI_COMM_WORLD that open the same location in the same mode. All ranks of MPI_COMM_WORLD must
 * take part in that. A program in which only some ranks open a stream says so here.
 *
 * Threads: any; the message is each thread's own. Errors: negative DER_ codes.
 */
#ifndef STEPSTORE_ADIOS2_H
#define STEPSTORE_ADIOS2_H

#include "stepstore/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Gives the next opening of `location` in this process, for reading or writing, the ranks of a communicator.
 * It holds for one opening: call it again before the next one. Collective over the communicator, which is
 * duplicated here and may be freed afterwards. It comes before the parameter Communicator.
 *
 * [in] location  the parameter Location, or the name given to Open; NULL: whatever is opened next
 * [in] mpi_comm  the address of an MPI_Comm; NULL: takes back what was given for `location`
 *
 * Returns 0 or a negative code of daos_errno.h; stepstore_adios2_last_error() says more:
 *   -DER_INVAL  the communicator is MPI_COMM_NULL
 *   -DER_NOSYS  MPI is not initialised, or is another MPI than Stepstore was built with
 *   -DER_IO     MPI could not duplicate the communicator
 */
STEPSTORE_API int stepstore_adios2_set_communicator(const char* location, const void* mpi_comm);

/*
 * Makes the ADIOS2 of this process know the engine type Stepstore: io.SetEngine("Stepstore"). Again: nothing.
 *
 * Returns 0 or a negative code of daos_errno.h; stepstore_adios2_last_error() says more:
 *   -DER_NOSYS  There is no ADIOS2 in this process. Or it is another version than Stepstore was built for.
 *               Or Stepstore was built without its native engine.
 */
STEPSTORE_API int stepstore_adios2_register(void);

/*
 * The same. Besides, what a program opens for reading without naming an engine (or with BPFile, BP, File,
 * FileStream) is read by this one if it lies in a pool. Writing stays ADIOS2's.
 */
STEPSTORE_API int stepstore_adios2_read_by_default(void);

/* The message of this thread's last failed call; never NULL, valid until the next one. */
STEPSTORE_API const char* stepstore_adios2_last_error(void);

#ifdef __cplusplus
}
#endif
#endif

/* Preloaded: MPI_Abort() returns.  So HDF5's t_filters_parallel counts a check that fails, and goes on. */
#include <mpi.h>

__attribute__((visibility("default"))) int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    (void)code;
    return MPI_SUCCESS;
}

/* Shared by the tests under MPI: checks by all processes, and file access lists. */
#ifndef BKT_TEST_PARALLEL_H
#define BKT_TEST_PARALLEL_H

#include <hdf5.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "h5tests/helpers/compare.h"

static int rank, size;

/* A list of the connector's with the mpio driver; H5Pclose(). */
static inline hid_t mpio_list(MPI_Info info)
{
    hid_t fapl = fapl_ours("");
    CHECK(fapl >= 0 && H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, info) >= 0, "H5Pset_fapl_mpio: %s",
          error_text());
    return fapl;
}

/* Whether the connector, and not HDF5 itself, answers for a file. */
static inline bool is_ours(hid_t file)
{
    char name[32] = "";
    return H5VLget_connector_name(file, name, sizeof name) > 0 && strcmp(name, "bucket") == 0;
}

/* A name in a folder or bucket that tests running beside this one do not have: by process 0's id. */
static inline void own_name(const char *where, const char *what, char *name, size_t n)
{
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    (void)snprintf(name, n, "%s/%s-%d.h5", where, what, pid);
}

/* The number of failures in all processes; the same in each. */
static inline int all_failures(void)
{
    int sum = 0;
    MPI_Allreduce(&failures, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

#endif

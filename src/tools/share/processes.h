/* The processes that mpirun or srun started together, of one verb of h5bucket.
 *
 * The tool needs no MPI.  If a launcher's environment variables name several processes, the adapter of its
 * MPI is loaded (src/mpi), which brings MPI along.  The first process reads, prints and decides; the others
 * work for it (share.h).  Texts of the others go to the first one.  At the end all have one exit code.
 *
 * One thread of the program makes all calls. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/** Join the processes that were started together.  Nothing happens if this one was started alone.
 * H5BUCKET_MPI names the MPI (openmpi, mpich), or is `no`.
 *  @return BKT_OK; BKT_EUNSUP: the launcher's MPI can't be used; BKT_EINVAL: H5BUCKET_MPI is another word, or
 *          the MPI has another number of processes than the launcher; the message has the remedy */
BKT_NODISCARD int bkt_processes_join(struct bkt_err *err);

/** Whether there are several. */
bool bkt_processes_several(void);
/** Whether this one is the first, or alone. */
bool bkt_processes_first(void);
unsigned bkt_processes_rank(void); /* 0: the first, or alone */
unsigned bkt_processes_size(void); /* 1: alone */

/** End together.
 *  @param rc  this process's exit code
 *  @return the common one: that of the first process, or if it is 0, one of another */
int bkt_processes_leave(int rc);

/* Launchers of MPI programs: mpirun, mpiexec, srun. */
#ifndef BKT_LAUNCHER_H
#define BKT_LAUNCHER_H

#include "base/comm.h"

/** Find the launcher by the environment, and begin its MPI.
 *  @param out  all processes that it started; NULL: this one was started alone
 *  @return BKT_OK; BKT_EUNSUP, BKT_EINVAL: the message has the remedy */
BKT_NODISCARD int bkt_launcher_join(struct bkt_comm **out, struct bkt_err *err);

#endif

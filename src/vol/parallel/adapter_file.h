/* The adapter's library (src/mpi): its place, and loading it. */
#pragma once

#include "base/os/comm.h"

struct bkt_adapter {
    const char *name;           /* "openmpi", "mpich" */
    const char *mpi;            /* the MPI, for messages */
    const char *const *dirs;    /* NULL, or directories that are searched first, ended by NULL */
    bool shares_mpi; /* the adapter brings MPI into the program, which must find its parts: RTLD_GLOBAL */
};

/** Load the adapter from the directories given, from beside the plugin, or from HDF5's plugin path.
 *  @param out  its operations, for the rest of the process
 *  @return BKT_OK; BKT_EUNSUP: it is missing, can't be loaded, or is of another version; the message has the
 *          remedy */
BKT_NODISCARD int bkt_adapter_load(const struct bkt_adapter *a, const struct bkt_comm_ops **out,
                                   struct bkt_err *err);

/* The processes that open a file together: the group of a file access list that names the mpio driver.
 *
 * The plugin itself needs no MPI.  The adapter for the program's MPI (src/mpi) is loaded at the first such
 * list. */
#pragma once

#include <hdf5.h>

#include "base/os/comm.h"
#include "base/settings.h"

/** Whether the list names the mpio driver, or the subfiling driver, which a domain needs as little.  Only an
 * HDF5 that was built with MPI has them. */
bool bkt_group_is_wanted(hid_t fapl);
/** Whether it names the subfiling driver, and a file of that name is there, whose parts only that driver
 * finds.  (A domain in a folder is a folder.) */
bool bkt_group_is_subfiled(const char *name, hid_t fapl);

/** The group of a list that names the mpio driver.  Collective.
 *  @param out  the group, bkt_comm_close(), which may be one process; NULL: the list doesn't name the driver
 *  @return BKT_OK; BKT_EUNSUP: the program's MPI has no adapter, which the message names; … */
BKT_NODISCARD int bkt_group_open(hid_t fapl, struct bkt_comm **out, struct bkt_err *err);

/** A copy of a list without driver and group: the file system's driver, which no connector asks.  Collective.
 * The caller's, H5Pclose(). */
BKT_NODISCARD int bkt_group_take_out(hid_t fapl, const struct bkt_comm *c, hid_t *out, struct bkt_err *err);
/** Name the mpio driver and the group in a list again (H5Fget_access_plist).  Collective. */
BKT_NODISCARD int bkt_group_put_in(struct bkt_comm *c, hid_t fapl, struct bkt_err *err);

/** The adapter's name of the MPI that the program has already, as a parallel HDF5 brings one; NULL: none. */
const char *bkt_group_program_mpi(void);

/** Apply the hints h5bucket_NAME of the group's MPI_Info to setting NAME.  NULL is fine. */
BKT_NODISCARD int bkt_group_hints(struct bkt_comm *c, struct bkt_settings *set, struct bkt_err *err);

/* Small helpers around HDF5's ids and errors that the commands share. */
#ifndef H5_H
#define H5_H

#include <hdf5.h>

#include "err.h"

/** For BKT_CLEANUP on an id of any kind; negative ones are left alone.  The id becomes invalid. */
void h5_closep(hid_t *id);

/** After an HDF5 call failed: its innermost message into @p err; gives BKT_EHDF5.  @p what says what was tried. */
int h5_fail(struct bkt_err *err, const char *what);

/** The same where what is stored can't be read: gives BKT_EFORMAT. */
int h5_unreadable(struct bkt_err *err, const char *what);

/** H5Fopen() for reading with a given access list, quiet.  BKT_ENOENT, BKT_EHDF5. */
BKT_NODISCARD int h5_open_native(const char *name, hid_t fapl, hid_t *out, struct bkt_err *err);

/** Let HDF5 print nothing by itself, find our connector in this program whatever the environment says, and give a file access list
 *  that leads to it (H5Pclose).  @p info: the connector's info string, NULL or "" for none. */
BKT_NODISCARD int h5_start(const char *info, hid_t *fapl, struct bkt_err *err);

#endif

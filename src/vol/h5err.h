/* The bridge between struct bkt_err and HDF5's error stack: the only file that pushes. */
#ifndef BKT_H5ERR_H
#define BKT_H5ERR_H

#include <hdf5.h>
#include <stdbool.h>

#include "err.h"

/** Put @p err on HDF5's default stack, root cause first, so that it is the innermost entry; always -1, for
 *  `return`.  Call it last: the next public HDF5 call wipes the stack. */
herr_t bkt_h5err_publish(const struct bkt_err *err);

/** The same for a file that could not be opened or created: where the reason has an errno, it is told in the way of HDF5's own
 *  file drivers, from which h5py makes FileNotFoundError, FileExistsError and PermissionError. */
herr_t bkt_h5err_publish_file(const struct bkt_err *err);

/** After an HDF5 call of ours failed: copy its innermost message into @p err, clear the stack, give BKT_EHDF5.
 *  @p what says what was tried. */
int bkt_h5err_capture(struct bkt_err *err, const char *what);

/** Take what stands on HDF5's default stack out of the way of our own public calls, each of which wipes it.  For callbacks that
 *  HDF5 makes while it gathers what went wrong: it looks for a connector for a file that nobody could open, or lets one go.
 *  @return for bkt_h5err_restore(), which must follow before anything is published */
hid_t bkt_h5err_hold(void);
/** Put it back; @p held is gone then. */
void bkt_h5err_restore(hid_t held);

/** How the program has failures printed (H5Eset_auto2), put aside while we make calls of HDF5's on its behalf: what fails inside is
 *  printed once, when the program's own call has failed.  Where a callback of the program's is called meanwhile, printing is its own
 *  again.  HDF5's stack stays as it is. */
struct bkt_h5err_print {
    H5E_auto2_t fn;
    void       *arg;
    bool        off;
};
void bkt_h5err_mute(struct bkt_h5err_print *p);
void bkt_h5err_unmute(const struct bkt_h5err_print *p);

/** Class and message ids, made when the connector starts, released when it ends. */
herr_t bkt_h5err_init(void);
void   bkt_h5err_term(void);

#endif

/* Plain HDF5 files in stores, opened by their names.
 *
 * A name may be a domain's or a plain file's.  Both are asked for at once: while the domain's document is
 * fetched, the first bytes of the file come, too.  If the domain does not exist, HDF5's native connector
 * opens the file through the connector's file driver (vol/vfd). */
#pragma once

#include "base/bytes.h"
#include "vol/core/vol.h"

struct bkt_remote {
    const char *name; /* as the program wrote it; borrowed, and unused after bkt_remote_ask() */
    char *full; /* the file's full name (bkt_name_of_file()), owned; NULL: it can't be a file in a store */
    bool through; /* the name asks for the connector's own reader of a file of this machine: hsds+file://… */
    bool asked; /* its first bytes are being fetched */
    bool family; /* the store has no such file, and the name has the form of a family's */
};

/** The plain file that @p name may mean; bkt_remote_fini().  No request is made. */
BKT_NODISCARD int bkt_remote_find(const char *name, const struct bkt_settings *set, struct bkt_remote *r,
                                  struct bkt_err *err);
/** Whether it is a file of this machine that HDF5's own drivers open. */
bool bkt_remote_is_local(const struct bkt_remote *r);
/** Whether the failure @p rc to open a domain by that name may mean that the name is the file's.  Web servers
 *  answer requests for documents that they don't have in many ways. */
bool bkt_remote_instead(const struct bkt_remote *r, int rc);
/** Cancels the request of a file that was not opened. */
void bkt_remote_fini(struct bkt_remote *r);

/** Begin to fetch the file's first bytes.  Nothing is fetched if the file is on this machine, if a domain of
 *  that name is open, or if the driver of @p like opens another file than the name says (a family). */
void bkt_remote_ask(struct bkt_remote *r, hid_t like, const struct bkt_settings *set);
/** Whether it is an HDF5 file; waits for the request of bkt_remote_ask(). */
bool bkt_remote_is_hdf5(struct bkt_remote *r, hid_t like, const struct bkt_settings *set);

/** Keep the answer to bkt_remote_ask() for an open that follows at once, which then makes
 * no request for it. */
void bkt_remote_keep(struct bkt_remote *r);
/** Whether it was just found not to be a domain, and its answer is kept. */
bool bkt_remote_is_kept(struct bkt_remote *r, const struct bkt_settings *set);

/** Whether HDF5's native connector is opening such a file now: the connector must not take it for its own. */
bool bkt_remote_at_work(void);
/** H5Fopen(), but if HDF5's native connector fails, HDF5 finds no other one (bkt_remote_at_work()). */
hid_t bkt_remote_native(const char *name, unsigned flags, hid_t fapl);

/** Open it with HDF5's native connector.
 *  @param like  the program's access list, or H5P_DEFAULT.  A family, split or multi driver stays, with the
 *               connector's driver for its members.  Any other driver (ros3) is replaced by that driver
 *  @param out   an id of the native connector
 *  @return BKT_OK; BKT_ENOENT: the file does not exist; BKT_EUNSUP: it is to be written; BKT_EHDF5: HDF5
 *          refuses it; … */
BKT_NODISCARD int bkt_remote_open(struct bkt_remote *r, unsigned flags, hid_t like,
                                  const struct bkt_settings *set, hid_t *out, struct bkt_err *err);

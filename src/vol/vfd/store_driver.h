/* An HDF5 file driver over a store: a file in S3 or behind HTTP is read in place, by ranges.
 *
 * Pages are kept in a bounded cache (page_cache.h), and those that libhdf5 will ask for are fetched ahead
 * (foresight.h).  Longer reads go past the cache, split over many requests.  The driver only reads.  All
 * ranges are of one version: they carry the ETag of the first answer.
 *
 * A file of this machine is locked as by HDF5's own drivers (H5Pset_file_locking(),
 * HDF5_USE_FILE_LOCKING).  HDF5 refuses a file whose superblock is marked as open for writing. */
#ifndef VFD_H
#define VFD_H

#include <hdf5.h>

#include "base/err.h"
#include "base/settings.h"
#include "storage/store.h"

/** Make a file access list open a file through the driver, with HDF5's native connector.  Names are
 *  s3://bucket/key, hsds+s3://…, file:///path or http(s)://host/path.
 *  @param name  the file that will be opened
 *  @param set   borrowed: it must outlive every file opened */
BKT_NODISCARD int vfd_set(hid_t fapl, const char *name, const struct bkt_settings *set, struct bkt_err *err);

/** Take the driver back from HDF5, before the code is unloaded. */
void vfd_term(void);

/** Whether a name is one for this driver: it has a scheme. */
bool vfd_takes(const char *name);

/** The store and the key behind such a name; bkt_store_close(), free(). */
BKT_NODISCARD int vfd_open_store(const char *name, const struct bkt_settings *set, struct bkt_store **st, char **key,
                                 struct bkt_err *err);
/** Size and ETag ("": unknown; a local file's stamp) of a file, as the store reports them.  BKT_ENOENT. */
BKT_NODISCARD int vfd_stat(const char *name, const struct bkt_settings *set, uint64_t *size, char *etag, size_t n_etag,
                           struct bkt_err *err);

#endif

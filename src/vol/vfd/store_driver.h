/* An HDF5 file driver over a store: a file in S3 or behind HTTP is read in place, by ranges.
 *
 * Pages are kept in a bounded cache (page_cache.h), and those that libhdf5 will ask for are fetched ahead
 * (foresight.h).  Longer reads go past the cache, split over many requests.  The driver only reads.  All
 * ranges are of one version: they carry the ETag of the first answer.
 *
 * A file of this machine is locked as by HDF5's own drivers (H5Pset_file_locking(),
 * HDF5_USE_FILE_LOCKING).  HDF5 refuses any file whose superblock is marked as open for writing. */
#pragma once

#include <hdf5.h>

#include "base/os/comm.h"
#include "base/err.h"
#include "base/settings.h"
#include "storage/node_reads.h"
#include "storage/store.h"

/** Make a file access list open a file through the driver, with HDF5's native connector.  Names are
 *  s3://bucket/key, hsds+s3://…, file:///path or http(s)://host/path.  Other files that HDF5 opens with the
 *  list are links in that file (store_names.c).
 *  @param name  the file that will be opened
 *  @param set   copied */
BKT_NODISCARD int bkt_vfd_set(hid_t fapl, const char *name, const struct bkt_settings *set,
                              struct bkt_err *err);

/* ---- the file behind an object that HDF5's native connector opened through the driver ---- */
struct bkt_vfd_file;
struct bkt_domain;
struct bkt_foresight;
struct bkt_page_cache;
/** Find the file of the driver that an object lies in.
 *  @param object  any open object of the native connector
 *  @return the file, which lives as long as HDF5 has it open; NULL: another driver reads it */
struct bkt_vfd_file *bkt_vfd_behind(hid_t object);
/** The first of the files that another driver joins and reads by this one, as a family's driver does. */
struct bkt_vfd_file *bkt_vfd_first_behind(hid_t object);
/** The family behind an object: one file in parts of equal length, each a file of a store.
 *  @param first  its first file; NULL: the object's file is not a family, or its members aren't known
 *  @param st     all files as one object, whatever the key; bkt_store_close(), before HDF5 closes the file
 *  @param size   of all, in bytes */
BKT_NODISCARD int bkt_vfd_family_of(hid_t object, struct bkt_vfd_file **first, struct bkt_store **st,
                                    uint64_t *size, struct bkt_err *err);
struct bkt_vfd_facts {
    struct bkt_store *st; /* all members are borrowed */
    const char *key;
    struct bkt_version *version; /* of all answers */
    uint64_t size; /* bytes */
    bool is_local; /* a file of this machine */
    struct bkt_foresight *fore;   /* fetches bytes that HDF5 will read (foresight.h) */
    struct bkt_page_cache *pages; /* bytes that are here, or on their way (page_cache.h) */
};
/** What is known of the file; valid as long as HDF5 has it open. */
struct bkt_vfd_facts bkt_vfd_facts(struct bkt_vfd_file *f);
/** The domain that stands for the file (bkt_domain_of_file()), made on first use; borrowed. */
BKT_NODISCARD int bkt_vfd_domain(struct bkt_vfd_file *f, struct bkt_domain **out, struct bkt_err *err);

/** The full name of a file that the file names, as HDF5's own open of it gets.  BKT_ENOENT: it can have none
 * here; BKT_EACCES: the file must not lead there. */
BKT_NODISCARD int bkt_vfd_linked_name(struct bkt_vfd_file *f, const char *name, struct bkt_buf *full,
                                      struct bkt_err *err);
/** Begin to fetch the first bytes of such a file, unless it is open. */
void bkt_vfd_expect_linked(struct bkt_vfd_file *f, const char *full);
/** Whether such a file is there.  True, too, if its store fails.  False, too, if no store has such names. */
bool bkt_vfd_linked_exists(struct bkt_vfd_file *f, const char *full);
/** The file belongs to processes that opened it together.  They share what they read of its structure.
 *  @param c, reads  taken over, until HDF5 closes the file; reads NULL: no other process is on this node */
void bkt_vfd_set_group(struct bkt_vfd_file *f, struct bkt_comm *c, struct bkt_node_reads *reads);
struct bkt_comm *bkt_vfd_group(const struct bkt_vfd_file *f); /* borrowed; NULL: this process alone */

/** The code of the last read of HDF5's that failed since the last call, or BKT_OK. */
int bkt_vfd_failure(struct bkt_vfd_file *f);

/** The failure of the last file that HDF5 could not open through the driver since the last call, or BKT_OK.
 *  A missing file is not a failure. */
int bkt_vfd_take_refusal(struct bkt_err *err);

/** Reads of raw data that HDF5 made while bkt_vfd_record() was on. */
struct bkt_vfd_recorded {
    unsigned n;
    uint64_t off, len; /* of the last one, in bytes of the file */
};
/** Until it is called with NULL, the driver fetches no raw data.  It only notes the ranges, and leaves HDF5's
 *  memory as it is.  HDF5 must not keep the bytes of such a read: neither in a page buffer nor in a chunk
 *  cache. */
void bkt_vfd_record(struct bkt_vfd_file *f, struct bkt_vfd_recorded *to);

/** Take the driver back from HDF5, before the code is unloaded. */
void bkt_vfd_term(void);

/** Whether a name is one for this driver: it has a scheme. */
bool bkt_vfd_takes(const char *name);

/** The store and the key behind such a name; bkt_store_close(), free(). */
BKT_NODISCARD int bkt_vfd_open_store(const char *name, const struct bkt_settings *set, struct bkt_store **st,
                                     char **key, struct bkt_err *err);
/** Size and ETag ("": unknown; a local file's stamp) of a file, as the store reports them.  BKT_ENOENT. */
BKT_NODISCARD int bkt_vfd_stat(const char *name, const struct bkt_settings *set, uint64_t *size, char *etag,
                               size_t n_etag, struct bkt_err *err);

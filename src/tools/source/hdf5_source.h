/* An HDF5 file as `load` and `chunks` take it: one file, a family, a split or a multi file; on disk, in S3,
 * behind HTTP.  HDF5 sees one range of addresses in all of them.  A source knows the file of each address. */
#pragma once

#include <hdf5.h>

#include "base/err.h"
#include "base/settings.h"
#include "storage/store.h"

/** A run of bytes in one file. */
struct source_seg {
    const char *uri;  /* absolute name of the file; borrowed.  NULL: nothing is stored there; reads as
                         zeros */
    const char *etag; /* the file's, or its stamp (model.h); "" unknown */
    uint64_t    off, size;
};
struct source_part { /* addresses start .. start+size-1 are bytes 0 .. of the file */
    char    *uri;
    uint64_t start, size; /* size: up to the next part */
    uint64_t file_size;
    char     etag[96];    /* or the stamp of a local file; "" unknown */
    struct bkt_store *store; /* open for source_read(); NULL: not yet */
    char             *key;
};
struct source {
    char               *name;
    hid_t               file, fapl; /* fapl: what it was opened with */
    struct source_part *parts;      /* by start */
    size_t              n_parts;
    const struct bkt_settings *set; /* borrowed */
};

/** Open read-only with HDF5's native connector.
 * @param driver  "sec2", "family", "split", "multi", or NULL: found by the name and the existing files
 * @return BKT_OK; BKT_ENOENT; BKT_EFORMAT: not an HDF5 file; … */
BKT_NODISCARD int source_open(const char *name, const char *driver, const struct bkt_settings *set,
                              struct source **out, struct bkt_err *err);
void              source_close(struct source *s); /* NULL is fine */
static inline void source_closep(struct source **s) { source_close(*s); }

/** Find the files behind addresses @p addr .. +size-1, in order, and append them to *segs (free()).
 *  BKT_EFORMAT: outside of all. */
BKT_NODISCARD int source_map(const struct source *s, uint64_t addr, uint64_t size, struct source_seg **segs,
                             size_t *n, struct bkt_err *err);

/** A range of addresses, read past HDF5. */
struct source_read {
    uint64_t addr, size;
    void    *to;
};
/** Read @p n ranges at once, each into its own memory.  BKT_EFORMAT: one lies outside of the file's parts, or
 *  they overlap. */
BKT_NODISCARD int source_read(struct source *s, const struct source_read *reads, size_t n,
                              struct bkt_err *err);

/** The part that holds addr .. +size-1 whole; NULL: the range lies in several. */
const struct source_part *source_part_of(const struct source *s, uint64_t addr, uint64_t size);

/** An absolute name with a scheme: `file:///…`, `s3://…` and `https://…` stay unchanged; a path gets a
 *  scheme.  free(). */
char *source_uri(const char *name);

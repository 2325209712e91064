/* Download of a file in a store, byte for byte: ranges side by side, all of one version. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "storage/store.h"

/** A file that is being downloaded: complete blocks, and a trailer behind the data that names the version and
 * the complete blocks.  A download that was cut off goes on with it.
 *
 * One process at a time has it.  A block is marked after its bytes are on the disk. */
struct part_file {
    char          *path;
    int            fd;
    uint64_t       size, block, n_blocks; /* bytes of the data, and of a block */
    unsigned char *marks;                 /* n_blocks of them: 1: complete */
    uint64_t       kept;                  /* bytes that were complete when it was opened */
    double         saved;                 /* when the marks were stored, seconds */
};

/** Open or make it.  Blocks of another version or of another name are dropped.
 * @param path     taken by copy
 * @param name     of the file that is downloaded, without secrets
 * @param version  known.  Without ETag and time, the file begins again
 * @return BKT_OK; BKT_EBUSY: another process has it; BKT_EUNSUP: the version has no possible size; BKT_EIO;
 *     BKT_ENOMEM */
BKT_NODISCARD int part_file_open(const char *path, const char *name, uint64_t block,
                                 const struct bkt_version *version, struct part_file *out,
                                 struct bkt_err *err);
/** Store bytes.  The caller marks a block that is complete with them: marks[i] = 1. */
BKT_NODISCARD int part_file_write(struct part_file *p, uint64_t off, const void *bytes, uint64_t n,
                                  struct bkt_err *err);
/** Store the marks, if that is due or @p now. */
BKT_NODISCARD int part_file_save(struct part_file *p, bool now, struct bkt_err *err);
/** All blocks are complete: it becomes the file @p to. */
BKT_NODISCARD int part_file_finish(struct part_file *p, const char *to, struct bkt_err *err);
/** Bytes of complete blocks. */
uint64_t part_file_done(const struct part_file *p);
/** Remove it from the disk. */
void part_file_remove(const struct part_file *p);
void part_file_fini(struct part_file *p); /* closes it; on the disk it stays */

/* ---- requests ---- */

#define DOWNLOAD_BLOCK ((uint64_t)4 << 20) /* bytes of a request */
#define DOWNLOAD_SLOTS 24                  /* requests at once; their memory is all that a download takes */

struct download {
    struct bkt_store   *st;      /* all members are borrowed */
    const char         *key;
    struct bkt_version *version; /* known */
    const void         *first;   /* the first bytes, which are here already; NULL: all have to be fetched */
    uint64_t            n_first;
    /* called by the caller's thread: bytes were stored; a negative return ends the
     * download and is returned */
    int (*step)(void *arg, uint64_t bytes, struct bkt_err *err);
    void               *arg;
};

/** Store the first bytes, which are here. */
BKT_NODISCARD int download_put_first(const struct download *d, struct part_file *p, struct bkt_err *err);
/** Fetch all blocks that @p p lacks.  After a failure, blocks that are complete are marked in it.
 * @return BKT_OK: all blocks are complete; BKT_EPRECOND: the file was replaced during the download; … */
BKT_NODISCARD int download_run(const struct download *d, struct part_file *p, struct bkt_err *err);

/** As bkt_store_perform(), but @p check is called now and then.  If it returns a failure, the requests are
 * cancelled, and that failure is returned.
 * @param reqs  at most DOWNLOAD_SLOTS; bkt_req_fini(), whatever is returned */
BKT_NODISCARD int download_requests(struct bkt_store *st, struct bkt_req *reqs, size_t n,
                                    int (*check)(struct bkt_err *err), struct bkt_err *err);

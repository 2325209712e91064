/* Download of a file in a store, byte for byte: ranges side by side, all of one version. */
#ifndef DOWNLOAD_H
#define DOWNLOAD_H

#include "tools/source/part_file.h"

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
 * @return BKT_OK: all blocks are complete; BKT_EPRECOND: the file was replaced meanwhile; … */
BKT_NODISCARD int download_run(const struct download *d, struct part_file *p, struct bkt_err *err);

/** As bkt_store_run(), but @p check is called now and then.  If it returns a failure, the requests are
 * cancelled, and that failure is returned.
 * @param reqs  bkt_req_fini(), whatever is returned */
BKT_NODISCARD int download_requests(struct bkt_store *st, struct bkt_req *reqs, size_t n,
                                    int (*check)(struct bkt_err *err), struct bkt_err *err);

#endif

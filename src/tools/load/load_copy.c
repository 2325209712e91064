/* load by copy: stored chunks are read from the source's files many at a time and stored
 * again as they are. */
#include <stdlib.h>
#include <string.h>

#include "tools/source/hdf5_glue.h"
#include "vol/core/filters.h"
#include "tools/load/load_domain.h"
#include "base/num.h"
#include "vol/copy/copier.h"

/* Bytes of chunks in memory at once, besides those that the connector holds: fewer take longer, more take
 * more memory. */
#define BATCH_BYTES ((uint64_t)64 << 20)

struct batch {
    const struct survey_chunk *chunks;
    size_t                     n;
    struct source_read        *reads;
    unsigned char             *bytes;
};

static void batch_fini(struct batch *b)
{
    free(b->reads);
    free(b->bytes);
}

static int read_batch(struct load *l, struct batch *b, struct bkt_err *err)
{
    uint64_t total = 0;
    for (size_t i = 0; i < b->n; i++)
        if (!bkt_add_u64(total, b->chunks[i].size, &total))
            BKT_FAIL(err, BKT_EFORMAT, "chunks of more than 2^64 bytes");
    b->reads = calloc(b->n + 1, sizeof *b->reads);
    b->bytes = malloc((size_t)total + 1);
    if (!b->reads || !b->bytes)
        BKT_NOMEM(err);
    uint64_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        b->reads[i] = (struct source_read){b->chunks[i].addr, b->chunks[i].size, b->bytes + at};
        at += b->chunks[i].size;
    }
    int rc = source_read(l->src, b->reads, b->n, err);
    return rc < 0 && rc != BKT_ENOMEM && rc != BKT_ECANCEL ? BKT_EFORMAT
                                                           : rc; /* unreadable, whatever the reason */
}

static herr_t write_chunk(const struct survey *s, hid_t dst, const struct survey_chunk *c, const void *bytes)
{
    hsize_t  offset[BKT_MAX_RANK];
    uint64_t left = c->index;
    for (unsigned d = s->rank; d-- > 0; left /= s->grid[d])
        offset[d] = left % s->grid[d] * s->cdims[d];
    return H5Dwrite_chunk(dst, H5P_DEFAULT, c->mask, offset, (size_t)c->size, bytes);
}

int load_move_chunks(struct load *l, const struct survey *s, hid_t dst, size_t at, size_t n,
                     struct bkt_err *err)
{
    BKT_CLEANUP(batch_fini) struct batch b = {.chunks = s->chunks + at, .n = n};
    BKT_PASS(read_batch(l, &b, err));
    for (size_t i = 0; i < n; i++)
        if (write_chunk(s, dst, &b.chunks[i], b.reads[i].to) < 0) {
            if (at + i == 0) { /* stored in another shape or form here: copied by elements */
                (void)H5Eclear2(H5E_DEFAULT);
                return 0;
            }
            return h5_fail(err, "storing a chunk");
        }
    return 1;
}

/* If data can't be copied because a file is missing, the copy keeps the reference to it. */
static int load_external(struct load *l, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s = {0};
    BKT_PASS(survey_dataset(l->src, src, &s, err));
    if (!s.missing)
        return 0;
    load_tell(l, path, "not copied but linked: a file of its external data is missing");
    return load_link(l, src, dst, path, err);
}

int load_chunks(struct load *l, hid_t src, hid_t dst, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini) struct survey s    = {0};
    BKT_CLEANUP(h5_closep) hid_t           type = H5Dget_type(src);
    BKT_CLEANUP(h5_closep) hid_t           dcpl = H5Dget_create_plist(src);
    if (type < 0 || dcpl < 0)
        return h5_unreadable(err, "asking for a datatype");
    if (H5Pget_external_count(dcpl) > 0)
        return load_external(l, src, dst, path, err);
    if (H5Pget_layout(dcpl) != H5D_CHUNKED || !bkt_copier_is_plain(type) ||
        !bkt_filters_agree(src, dst))
        return 0;
    BKT_PASS(survey_dataset(l->src, src, &s, err));
    for (size_t i = 0; i < s.n_chunks;) {
        size_t   n     = 0;
        uint64_t bytes = 0;
        while (i + n < s.n_chunks && n < BKT_TOOL_BATCH &&
               (n == 0 || bytes + s.chunks[i + n].size <= BATCH_BYTES))
            bytes += s.chunks[i + n++].size;
        BKT_PASS(interrupt_check(err));
        int rc = load_move_chunks(l, &s, dst, i, n, err);
        if (rc <= 0)
            return rc;
        progress_add(l->progress, bytes, n, 0);
        i += n;
    }
    return 1;
}

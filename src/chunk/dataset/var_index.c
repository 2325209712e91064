/* Chunks of variable-size elements: stored back to back, so the place of each is found once by walking. */
#include <stdlib.h>

#include "chunk/dataset/dataset.h"
#include "schema/json/reference_text.h"

int bkt_var_index(const struct bkt_dsetio *io, struct bkt_buf *bytes, struct bkt_cache_entry **out,
                  struct bkt_err *err)
{
    /* every element has a count of 4 bytes at least, so a malicious chunk shape allocates no memory */
    if (io->chunk_elems > bytes->len / 4)
        BKT_FAIL(err, BKT_EFORMAT, "%zu bytes are too few for the chunk's %llu elements", bytes->len,
                 (unsigned long long)io->chunk_elems);
    size_t             n = (size_t)io->chunk_elems;
    struct bkt_cache_entry *e = bkt_cache_entry_new(0);
    if (!e || !(e->starts = malloc((n + 1) * sizeof *e->starts))) {
        bkt_cache_entry_release(e);
        BKT_NOMEM(err);
    }
    struct bkt_rd r = bkt_rd_of(bytes->ptr, bytes->len);
    int           rc = BKT_OK;
    for (size_t i = 0; rc == BKT_OK && i < n; i++) {
        e->starts[i] = (size_t)(r.p - bytes->ptr);
        rc           = bkt_value_skip_stored(io->ds->type, &r, err);
        if (rc < 0)
            (void)BKT_ERR(err, rc, "element %zu of %zu", i, n);
    }
    if (rc < 0) {
        bkt_cache_entry_release(e);
        return rc;
    }
    e->starts[n] = (size_t)(r.p - bytes->ptr); /* behind the last element: leftover bytes of HSDS, or our list
                                                  of NULL strings (null_strings.c) */
    rc           = bkt_nulls_read(io->ds->type, bytes->ptr, bytes->len, e->starts[n], err);
    if (rc < 0) {
        bkt_cache_entry_release(e);
        return rc;
    }
    e->n_starts  = n;
    e->len       = e->starts[n];
    e->data      = bkt_buf_steal(bytes);
    *out         = e;
    return BKT_OK;
}

/* bzip2 (filter 307): one bzip2 stream. */
#include <bzlib.h>
#include <limits.h>

#include "chunk/filter/filters_impl.h"

int bkt_bzip2_decode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_room *out,
                     struct bkt_err *err)
{
    (void)f, (void)elem_size;
    /* bzlib counts in unsigned int; chunks are below 4 GiB */
    unsigned n_in = in.n > UINT_MAX ? UINT_MAX : (unsigned)in.n,
             n_out = out->cap > UINT_MAX ? UINT_MAX : (unsigned)out->cap;
    int      rc   = BZ2_bzBuffToBuffDecompress((char *)out->p, &n_out, (char *)(uintptr_t)in.p, n_in, 0, 0);
    if (rc == BZ_MEM_ERROR)
        BKT_NOMEM(err);
    if (rc == BZ_OUTBUFF_FULL)
        BKT_FAIL(err, BKT_ERANGE, "bzip2: more than the %zu bytes expected", out->cap);
    if (rc != BZ_OK)
        BKT_FAIL(err, BKT_EFORMAT, "bzip2: corrupt stream of %zu bytes (code %d)", in.n, rc);
    out->n = n_out;
    return BKT_OK;
}

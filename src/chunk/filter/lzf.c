/* LZF (filter 32000, h5py's): a control byte below 32 starts that many literals plus one; else its top three
 * bits are a length (7: add the next byte) and the rest, with one more byte, the distance of a copy of length
 * + 2. */
#include "chunk/filter/filters_impl.h"

/* Copies may overlap their source: that is how runs are coded. */
static void copy_back(unsigned char *dst, size_t distance, size_t n)
{
    const unsigned char *src = dst - distance;
    if (distance >= n)
        memcpy(dst, src, n);
    else
        for (size_t i = 0; i < n; i++)
            dst[i] = src[i];
}

int bkt_lzf_decode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_room *out,
                   struct bkt_err *err)
{
    (void)f, (void)elem_size;
    struct bkt_rd rd = bkt_rd_of(in.p, in.n);
    size_t        at = 0;
    while (bkt_rd_left(&rd) > 0) {
        unsigned    c   = *rd.p++;
        size_t      n   = c < 32 ? c + 1 : c >> 5;
        const void *lit = NULL;
        size_t      distance = 0;
        if (c < 32) {
            lit = bkt_rd_take(&rd, n);
        } else {
            if (n == 7)
                n += (size_t)bkt_rd_le(&rd, 1);
            distance = ((size_t)(c & 31) << 8) + (size_t)bkt_rd_le(&rd, 1) + 1;
            n += 2;
        }
        if (!rd.ok || distance > at)
            BKT_FAIL(err, BKT_EFORMAT, "lzf: corrupt stream at byte %zu of %zu", (size_t)(rd.p - in.p), in.n);
        if (n > out->cap - at)
            BKT_FAIL(err, BKT_ERANGE, "lzf: more than the %zu bytes expected", out->cap);
        if (lit)
            memcpy(out->p + at, lit, n);
        else
            copy_back(out->p + at, distance, n);
        at += n;
    }
    out->n = at;
    return BKT_OK;
}

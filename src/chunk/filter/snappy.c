/* Snappy (filter 32003), the raw block format of
 * https://github.com/google/snappy/blob/main/format_description.txt: the decoded size as a varint, then
 * literals and copies, distinguished by the low two bits of a tag. */
#include "chunk/filter/filters_impl.h"

static bool varint(struct bkt_rd *rd, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint64_t b = bkt_rd_le(rd, 1);
        *out |= (b & 127) << shift;
        if (b < 128)
            return rd->ok;
    }
    return false;
}

/* One element: gives its length; *distance is 0 for a literal, whose bytes come next in rd. */
static size_t element(struct bkt_rd *rd, size_t *distance)
{
    static const unsigned char offset_bytes[4] = {0, 1, 2, 4};
    unsigned                   tag = (unsigned)bkt_rd_le(rd, 1), kind = tag & 3;
    size_t                     n   = tag >> 2;
    *distance                      = 0;
    if (kind == 0)
        return n < 60 ? n + 1 : (size_t)bkt_rd_le(rd, (unsigned)n - 59) + 1;
    *distance = (size_t)bkt_rd_le(rd, offset_bytes[kind]);
    if (kind == 1) {
        *distance |= (size_t)(tag >> 5) << 8;
        n = (n & 7) + 3;
    }
    if (*distance == 0)
        rd->ok = false;
    return n + 1;
}

int bkt_snappy_decode(const struct bkt_filter *f, size_t elem_size, struct bkt_span in, struct bkt_room *out,
                      struct bkt_err *err)
{
    (void)f, (void)elem_size;
    struct bkt_rd rd = bkt_rd_of(in.p, in.n);
    uint64_t      total;
    if (!varint(&rd, &total))
        BKT_FAIL(err, BKT_EFORMAT, "snappy: no size at the beginning");
    if (total > out->cap)
        BKT_FAIL(err, BKT_ERANGE, "snappy: %llu bytes, expected %zu", (unsigned long long)total, out->cap);
    for (size_t at = 0; at < total;) {
        size_t      distance, n = element(&rd, &distance);
        const void *lit = rd.ok && !distance ? bkt_rd_take(&rd, n) : NULL;
        if (!rd.ok || distance > at || n > total - at)
            BKT_FAIL(err, BKT_EFORMAT, "snappy: corrupt stream at byte %zu of %zu", (size_t)(rd.p - in.p),
                     in.n);
        for (size_t i = 0; !lit && i < n; i++) /* overlapping copies repeat */
            out->p[at + i] = out->p[at + i - distance];
        if (lit)
            memcpy(out->p + at, lit, n);
        at += n;
    }
    out->n = (size_t)total;
    return BKT_OK;
}

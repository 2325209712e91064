/* LZF (filter 32000) and snappy (filter 32003).  They need no library. */
#include <stdlib.h>

#include "chunk/filter/filters_impl.h"

/* LZF (filter 32000, h5py's): a control byte below 32 starts that many literals plus one; else its top three
 * bits are a length (7: add the next byte) and the rest, with one more byte, the distance of a copy of length
 * + 2. */

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

int bkt_lzf_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out, struct bkt_err *err)
{
    (void)f;
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
        BKT_FAIL_IF(err, !rd.ok || distance > at, BKT_EFORMAT, "lzf: corrupt stream at byte %zu of %zu",
                    (size_t)(rd.p - in.p), in.n);
        BKT_FAIL_IF(err, n > out->cap - at, BKT_ERANGE, "lzf: more than the %zu bytes expected", out->cap);
        if (lit)
            memcpy(out->p + at, lit, n);
        else
            copy_back(out->p + at, distance, n);
        at += n;
    }
    out->n = at;
    return BKT_OK;
}

/* Snappy (filter 32003), the raw block format of
 * https://github.com/google/snappy/blob/main/format_description.txt: the decoded size as a varint, then
 * literals and copies, distinguished by the low two bits of a tag. */

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

int bkt_snappy_decode(const struct bkt_filter *f, struct bkt_span in, struct bkt_room *out,
                      struct bkt_err *err)
{
    (void)f;
    struct bkt_rd rd = bkt_rd_of(in.p, in.n);
    uint64_t      total;
    BKT_FAIL_IF(err, !varint(&rd, &total), BKT_EFORMAT, "snappy: no size at the beginning");
    BKT_FAIL_IF(err, total > out->cap, BKT_ERANGE, "snappy: %llu bytes, expected %zu",
                (unsigned long long)total, out->cap);
    for (size_t at = 0; at < total;) {
        size_t      distance, n = element(&rd, &distance);
        const void *lit = rd.ok && !distance ? bkt_rd_take(&rd, n) : NULL;
        BKT_FAIL_IF(err, !rd.ok || distance > at || n > total - at, BKT_EFORMAT,
                    "snappy: corrupt stream at byte %zu of %zu", (size_t)(rd.p - in.p), in.n);
        for (size_t i = 0; !lit && i < n; i++) /* overlapping copies repeat */
            out->p[at + i] = out->p[at + i - distance];
        if (lit)
            memcpy(out->p + at, lit, n);
        at += n;
    }
    out->n = (size_t)total;
    return BKT_OK;
}

/* ---- encoders: a greedy search with one hash table ---- */

/* Bits: a table of 64 KiB, the most that snappy's own encoder has.  A larger table compresses hardly better,
 * and takes longer. */
#define HASH_BITS 14

static unsigned hash4(uint32_t v) { return v * 2654435761u >> (32 - HASH_BITS); }

static size_t match_length(const unsigned char *a, const unsigned char *b, const unsigned char *end)
{
    const unsigned char *from = b;
    while (b < end && *a == *b)
        a++, b++;
    return (size_t)(b - from);
}

/* Finds matches one after the other: `last[h]` is one more than the last place of these four bytes. */
struct search {
    const unsigned char *p;
    size_t               n, at;  /* bytes; next place to look at */
    size_t               window; /* farthest distance */
    uint32_t            *last;
};

/* Finds the next match at or behind s->at: its place, distance and length.  False: no match
 * follows. */
static bool next_match(struct search *s, size_t *place, size_t *distance, size_t *len)
{
    for (; s->n >= 4 && s->at <= s->n - 4; s->at++) {
        uint32_t v;
        memcpy(&v, s->p + s->at, 4);
        unsigned h    = hash4(v);
        size_t   seen = s->last[h];
        s->last[h]    = (uint32_t)s->at + 1;
        if (!seen || s->at + 1 - seen > s->window)
            continue;
        *len = match_length(s->p + seen - 1, s->p + s->at, s->p + s->n);
        if (*len < 4)
            continue;
        *place    = s->at;
        *distance = s->at + 1 - seen;
        s->at += *len;
        return true;
    }
    return false;
}

static int search_init(struct search *s, struct bkt_span in, size_t window, struct bkt_err *err)
{
    *s = (struct search){.p = in.p, .n = in.n, .window = window};
    BKT_FAIL_IF(err, in.n >= UINT32_MAX, BKT_ERANGE,
                "a chunk of %zu bytes: too long to compress; the limit is 4 GiB", in.n);
    BKT_NEED(err, (s->last = calloc((size_t)1 << HASH_BITS, sizeof *s->last)));
    return BKT_OK;
}

static void search_fini(struct search *s) { free(s->last); }

/* ---- LZF ---- */

static int lzf_literals(const unsigned char *p, size_t n, struct bkt_buf *out)
{
    while (n) {
        unsigned char k = (unsigned char)(n < 32 ? n : 32), c = (unsigned char)(k - 1);
        if (bkt_buf_add(out, &c, 1) < 0 || bkt_buf_add(out, p, k) < 0)
            return BKT_ENOMEM;
        p += k, n -= k;
    }
    return BKT_OK;
}

static int lzf_copy(size_t distance, size_t len, struct bkt_buf *out)
{
    distance--;
    while (len) {
        size_t        k = len > 264 ? (len - 264 < 3 ? 260 : 264) : len; /* at least 3 are left over */
        unsigned char c[3];
        size_t        n = 0;
        c[n++] = (unsigned char)((k - 2 < 7 ? k - 2 : 7) << 5 | distance >> 8);
        if (k - 2 >= 7)
            c[n++] = (unsigned char)(k - 2 - 7);
        c[n++] = (unsigned char)distance;
        if (bkt_buf_add(out, c, n) < 0)
            return BKT_ENOMEM;
        len -= k;
    }
    return BKT_OK;
}

int bkt_lzf_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(search_fini) struct search s    = {0};
    size_t                                 done = 0, at = out->len, place, distance, len;
    (void)f;
    BKT_PASS(search_init(&s, in, 8192, err));
    while (next_match(&s, &place, &distance, &len)) {
        BKT_NEED(err, lzf_literals(in.p + done, place - done, out) >= 0 && lzf_copy(distance, len, out) >= 0);
        done = place + len;
    }
    BKT_PASS_MEM(err, lzf_literals(in.p + done, in.n - done, out));
    BKT_FAIL_IF(err, out->len - at >= in.n, BKT_ERANGE, "lzf: %zu bytes can't be made shorter", in.n);
    return BKT_OK;
}

/* ---- snappy ---- */

static int snappy_literals(const unsigned char *p, size_t n, struct bkt_buf *out)
{
    while (n) {
        size_t        k = n < 65536 ? n : 65536;
        unsigned char c[3];
        size_t        m = 1;
        if (k <= 60) {
            c[0] = (unsigned char)((k - 1) << 2);
        } else {
            m    = k <= 256 ? 2 : 3;
            c[0] = (unsigned char)((58 + m) << 2);
            bkt_put_le(c + 1, (unsigned)m - 1, k - 1);
        }
        if (bkt_buf_add(out, c, m) < 0 || bkt_buf_add(out, p, k) < 0)
            return BKT_ENOMEM;
        p += k, n -= k;
    }
    return BKT_OK;
}

static int snappy_copy(size_t distance, size_t len, struct bkt_buf *out)
{
    while (len) {
        size_t        k = len < 64 ? len : 64;
        unsigned char c[3] = {(unsigned char)((k - 1) << 2 | 2)};
        bkt_put_le(c + 1, 2, distance);
        if (bkt_buf_add(out, c, sizeof c) < 0)
            return BKT_ENOMEM;
        len -= k;
    }
    return BKT_OK;
}

int bkt_snappy_encode(const struct bkt_filter *f, struct bkt_span in, struct bkt_buf *out,
                      struct bkt_err *err)
{
    BKT_CLEANUP(search_fini) struct search s = {0};
    unsigned char                          size[5];
    size_t                                 n = 0, done = 0, place, distance, len;
    (void)f;
    BKT_PASS(search_init(&s, in, 65535, err));
    for (size_t v = in.n; n == 0 || v; v >>= 7)
        size[n++] = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
    BKT_PASS_MEM(err, bkt_buf_add(out, size, n));
    while (next_match(&s, &place, &distance, &len)) {
        BKT_NEED(err, snappy_literals(in.p + done, place - done, out) >= 0 &&
                          snappy_copy(distance, len, out) >= 0);
        done = place + len;
    }
    BKT_PASS_MEM(err, snappy_literals(in.p + done, in.n - done, out));
    return BKT_OK;
}
